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
/// one of its set, and the reset of a conversation that was left (`left`). What the groups of a DM
/// come to together may not.
pub fn agree(dumps: &[&Dump], left: &BTreeSet<GroupId>) {
    agree_but(dumps, left, &vec![BTreeSet::new(); dumps.len()]);
}

/// The same, where a device decided with a clock behind the record it had (`set_back`, for each
/// device): that decision is less than what the others hold, and a device that came later may have it
/// from there (CONS-011).
pub fn agree_but(dumps: &[&Dump], left: &BTreeSet<GroupId>, set_back: &[BTreeSet<Entity>]) {
    let decided = |dump: &Dump| {
        let mut decided = records(dump);
        decided.retain(|_, record| is_decision(record));
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
        if local {
            continue;
        }
        let of = |at: usize| own[at].get(&entity).copied();
        let rank = |record: &Option<Record>| record.map(|record| record.rank());
        let found: Vec<Option<Record>> = (0..own.len()).map(of).collect();
        let greatest = found.iter().copied().max_by_key(rank).flatten();
        let behind: Vec<Option<Record>> =
            (0..own.len()).filter(|at| set_back[*at].contains(&entity)).map(of).collect();
        // Or as one of those told it, to a device that was not there yet.
        let holds = |record: &Option<Record>| *record == greatest || behind.contains(record);
        assert!(found.iter().all(holds), "{entity:?}: {found:?}, set back: {behind:?}");
    }
    agree_on_threads(dumps, left, set_back);
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

/// Devices that hold the same groups of a conversation read the same decision out of their records,
/// unless a clock was behind there.
fn agree_on_threads(dumps: &[&Dump], left: &BTreeSet<GroupId>, set_back: &[BTreeSet<Entity>]) {
    let mut found: BTreeMap<Vec<GroupId>, Vec<Option<(Nanos, State)>>> = BTreeMap::new();
    let behind: BTreeSet<Entity> = set_back.iter().flatten().copied().collect();
    for dump in dumps {
        for thread in dump.threads().values() {
            let groups: Vec<GroupId> = thread.groups.iter().map(|entry| entry.group).collect();
            let apart =
                |group: &GroupId| left.contains(group) || behind.contains(&Entity::Conversation(*group));
            if !groups.iter().any(apart) {
                let decided = dump.decided(thread).filter(is_decision);
                found.entry(groups).or_default().push(decided.map(|record| record.rank()));
            }
        }
    }
    for (groups, decided) in found {
        assert!(decided.iter().all(|one| *one == decided[0]), "the thread of {groups:?}: {decided:?}");
    }
}

/// Defaults are none (CONS-022).
fn is_decision(record: &Record) -> bool {
    record.consented_at_ns > Nanos(0)
}

/// True for one of several groups of a DM.
fn stitched(dump: &Dump, group: GroupId) -> bool {
    dump.threads().values().any(|row| row.groups.len() > 1 && row.groups.iter().any(|one| one.group == group))
}
