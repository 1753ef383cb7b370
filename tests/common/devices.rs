//! Devices of one inbox in tests: their sync groups, their records, what is still to be told.

use std::collections::{BTreeMap, BTreeSet};

use dovetail::base::{GroupId, Nanos};
use dovetail::client::SyncReport;
use dovetail::consent::{Entity, Record, State};
use dovetail::store::rows::{ConsentRow, GroupKind, OwedDecisionRow, SyncGroupsRow};

use super::User;
use super::dump::Dump;

impl User {
    /// Every sync group it has created or joined, in that order.
    pub fn sync_groups(&self) -> Vec<GroupId> {
        Dump::of(&self.store).rows::<SyncGroupsRow>().pop().unwrap_or_default().groups
    }

    /// The only one.
    pub fn sync_group(&self) -> GroupId {
        let groups = self.sync_groups();
        assert_eq!(groups.len(), 1, "sync groups");
        groups[0]
    }

    pub fn record(&self, entity: Entity) -> Option<Record> {
        records(&Dump::of(&self.store)).remove(&entity)
    }

    /// Decisions its other devices were not told of.
    pub fn owed(&self) -> Vec<Record> {
        Dump::of(&self.store).rows::<OwedDecisionRow>().into_iter().map(|row| row.0).collect()
    }

    /// Decides about one entity.
    pub fn set_consent(&self, entity: Entity, state: State) {
        self.call(move |client| async move { client.set_consent(entity, state).await }).expect("decided");
    }

    pub fn sync_devices(&self) -> SyncReport {
        self.call(|client| async move { client.sync_devices().await }).expect("synced")
    }
}

/// Every record, by entity.
pub fn records(dump: &Dump) -> BTreeMap<Entity, Record> {
    dump.rows::<ConsentRow>().into_iter().map(|row| (row.0.entity, row.0)).collect()
}

/// Fails unless devices of one inbox hold the same decisions.
///
/// Records that are made here alone may differ: defaults, what a group of a DM inherits from another
/// one of its set, and the reset of a conversation that was left (`left`).
pub fn agree(dumps: &[&Dump], left: &BTreeSet<GroupId>) {
    let decided = |dump: &Dump| {
        let mut decided = records(dump);
        decided.retain(|_, record| record.consented_at_ns > Nanos(0));
        decided
    };
    let own: Vec<_> = dumps.iter().map(|dump| decided(dump)).collect();
    let entities: BTreeSet<Entity> = own.iter().flat_map(|records| records.keys().copied()).collect();
    for entity in entities {
        let local = match entity {
            Entity::Conversation(group) => {
                left.contains(&group) || dumps.iter().any(|dump| stitched(dump, group))
            }
            Entity::Inbox(_) => false,
        };
        let found: Vec<_> = own.iter().map(|records| records.get(&entity)).collect();
        assert!(local || found.iter().all(|record| *record == found[0]), "{entity:?}: {found:?}");
    }
    for dump in dumps {
        let sync = dump.groups().into_values().filter(|row| row.kind == GroupKind::Sync);
        for group in sync {
            assert!(
                !records(dump).contains_key(&Entity::Conversation(group.id)),
                "a sync group has a record"
            );
        }
    }
}

/// True for one of several groups of a DM.
fn stitched(dump: &Dump, group: GroupId) -> bool {
    dump.threads().values().any(|row| row.groups.len() > 1 && row.groups.iter().any(|one| one.group == group))
}
