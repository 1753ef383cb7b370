//! What happened to a group, from its topic and the transcripts of all who were there.

use std::collections::{BTreeMap, BTreeSet};

use dovetail::base::{GroupId, InboxId, InstallationId, SequenceId, Topic};
use dovetail::mls::{self, FrameKind};
use dovetail::store::rows::{GroupKind, MessageKind};
use dovetail::wire::{ClientEnvelope, EncodedContent, GroupUpdated};

use crate::common::dump::Dump;
use crate::device::Stay;
use crate::world::Sim;

/// A group from birth on.
pub struct History {
    pub group: GroupId,
    pub kind: GroupKind,
    pub creator: InboxId,
    /// Kind and epoch of everything in the topic that is an MLS message.
    pub frames: BTreeMap<SequenceId, (FrameKind, u64)>,
    /// Who changed what, by the position of the commit.
    pub changes: BTreeMap<SequenceId, (InstallationId, GroupUpdated)>,
}

/// Inboxes and roles at a moment.
#[derive(Clone, Default)]
pub struct Moment {
    pub members: BTreeSet<InboxId>,
    pub admins: BTreeSet<InboxId>,
    pub super_admins: BTreeSet<InboxId>,
}

impl Moment {
    fn apply(&mut self, update: &GroupUpdated) {
        let change = |set: &mut BTreeSet<InboxId>, added: &[InboxId], removed: &[InboxId]| {
            set.extend(added);
            set.retain(|inbox| !removed.contains(inbox));
        };
        change(&mut self.members, &update.added, &update.removed);
        change(&mut self.admins, &update.added_admins, &update.removed_admins);
        change(&mut self.super_admins, &update.added_super_admins, &update.removed_super_admins);
    }
}

impl History {
    /// Fails when two devices say different things about one commit, or one misses some.
    pub fn of(sim: &Sim, dumps: &[Dump], group: GroupId) -> Self {
        let row = dumps.iter().find_map(|dump| dump.groups().remove(&group)).expect("a group");
        let (frames, changes) = (BTreeMap::new(), BTreeMap::new());
        let mut history = Self { group, kind: row.kind, creator: row.creator, frames, changes };
        for envelope in sim.world.delivery.stored(Topic::Group(group)) {
            if let Ok(ClientEnvelope::GroupMessage { data, .. }) = ClientEnvelope::decode(&envelope.payload)
                && let Ok(frame) = mls::peek(&data)
            {
                history.frames.insert(envelope.sequence_id, (frame.kind, frame.epoch));
            }
        }
        if row.kind != GroupKind::Group {
            return history;
        }
        let told: Vec<_> = (0..dumps.len()).map(|at| transcripts(&dumps[at], sim, at, group)).collect();
        for (at, own) in told.iter().enumerate() {
            for (position, change) in own {
                let known = history.changes.entry(*position).or_insert_with(|| change.clone());
                let label = &sim.devices[at].label;
                assert_eq!(known, change, "{label} saw another change at {}", position.0);
            }
        }
        for (at, own) in told.iter().enumerate() {
            for stay in stays(sim, at, group) {
                for position in history.changes.keys().filter(|position| stay.has(**position)) {
                    let label = &sim.devices[at].label;
                    assert!(own.contains_key(position), "{label} missed the change at {}", position.0);
                }
            }
        }
        history
    }

    /// How the group was after each change from `from` to `until`, first as it was at `from`.
    pub fn moments(&self, from: SequenceId, until: SequenceId) -> Vec<Moment> {
        let mut moment = Moment::default();
        moment.members.insert(self.creator);
        moment.super_admins.insert(self.creator);
        self.changes.range(..=from).for_each(|(_, (_, update))| moment.apply(update));
        let mut moments = vec![moment.clone()];
        for (position, (_, update)) in &self.changes {
            if *position > from && *position <= until {
                moment.apply(update);
                moments.push(moment.clone());
            }
        }
        moments
    }

    /// Where a setting took this value.
    pub fn taken(&self, value: &str) -> Option<SequenceId> {
        let says = |update: &GroupUpdated| {
            update.field_changes.iter().any(|change| change.new_value.as_deref() == Some(value))
        };
        self.changes.iter().find(|(_, (_, update))| says(update)).map(|(position, _)| *position)
    }

    /// The epoch a device joined in with this stay.
    pub fn first_epoch(&self, stay: &Stay) -> u64 {
        if stay.anchor == SequenceId(0) { 0 } else { self.frames[&stay.anchor].1 + 1 }
    }
}

impl Stay {
    /// True when the position lies within it.
    pub fn has(&self, position: SequenceId) -> bool {
        position > self.anchor && self.end.is_none_or(|end| position <= end)
    }
}

pub fn stays(sim: &Sim, device: usize, group: GroupId) -> Vec<Stay> {
    sim.devices[device].stays.borrow().get(&group).cloned().unwrap_or_default()
}

/// The changes a device has shown, but for its own joins. Whether somebody left or was removed
/// depends on who saw the request, so that is one here.
fn transcripts(
    dump: &Dump,
    sim: &Sim,
    device: usize,
    group: GroupId,
) -> BTreeMap<SequenceId, (InstallationId, GroupUpdated)> {
    let joined = |position| stays(sim, device, group).iter().any(|stay| stay.anchor == position);
    let mut found = BTreeMap::new();
    for row in dump.messages().into_values() {
        if row.group != group || row.kind != MessageKind::MembershipChange || joined(row.sequence_id) {
            continue;
        }
        let content = EncodedContent::decode(&row.content).expect("content").content;
        let mut update = GroupUpdated::decode(&content).expect("a transcript");
        update.removed.append(&mut update.left);
        update.removed.sort_unstable();
        let old = found.insert(row.sequence_id, (row.sender_installation, update));
        assert!(old.is_none(), "two transcripts of one commit");
    }
    found
}
