//! An app deciding about a conversation, a DM, or an inbox (CONS-011, CONS-041, design section 8), and
//! what other devices of the inbox decided (CONS-010).

use crate::base::{GroupId, Nanos};
use crate::consent::{Entity, Record, State, app_act, inherit, merge};
use crate::engine::state::ThreadCtx;
use crate::engine::threads;
use crate::engine::unit::Unit;
use crate::store::Table;
use crate::store::rows::MessageRow;

/// Records a decision about the groups `named`, all at the same time, and relists the thread.
///
/// A DM handle names every group of its set, so that a blocked peer cannot come back through a
/// duplicate; `preferences.setConsentStates` names one.
pub fn decide(thread: &mut ThreadCtx, named: &[GroupId], state: State, unit: &mut Unit) {
    for group in named {
        let stored = thread.consents.get(group).copied();
        let record = app_act(Entity::Conversation(*group), state, unit.now);
        thread.consents.insert(*group, record);
        unit.put_consent(stored.as_ref(), record);
        unit.owe(record);
    }
    threads::refresh_consent(thread, unit);
    unit.changes.strict();
}

/// Records a decision about an entity no thread of this database belongs to: an inbox, or a
/// conversation that is not here yet. `stored` is its record with the row's revision.
///
/// No thread's revision guards this record, so its own does: a join in another tab finds out.
pub fn decide_apart(stored: Option<(Record, u64)>, entity: Entity, state: State, unit: &mut Unit) {
    if let Entity::Conversation(group) = entity {
        // Joined by another tab meanwhile, it would have a thread to keep in step.
        unit.changes.check(Table::Groups, group.as_bytes().to_vec(), 0);
    }
    let (stored, revision) = stored.map_or((None, 0), |(record, revision)| (Some(record), revision));
    let record = app_act(entity, state, unit.now);
    unit.put_consent_checked(stored.as_ref(), record, revision);
    unit.owe(record);
    unit.changes.strict();
}

/// Merges records of other own devices about groups of this thread, and relists it (CONS-010).
pub fn receive(thread: &mut ThreadCtx, received: &[(GroupId, Record)], unit: &mut Unit) {
    let before = unit.changes.writes.len();
    for (group, record) in received {
        let stored = thread.consents.get(group).copied();
        if let Some(record) = merge(stored.as_ref(), record) {
            thread.consents.insert(*group, record);
            unit.put_consent(stored.as_ref(), record);
        }
    }
    if unit.changes.writes.len() > before {
        for (stored, record) in spread(thread) {
            unit.put_consent(stored.as_ref(), record);
        }
        threads::refresh_consent(thread, unit);
    }
}

/// Gives every group of a DM's set that has no decision yet the newest one of the set, with its
/// time: what a group that comes later inherits (DMS-010), so that the result does not hang on which
/// came first. The records are in the thread then, each with the one it replaces.
pub fn spread(thread: &mut ThreadCtx) -> Vec<(Option<Record>, Record)> {
    let mut given = Vec::new();
    for group in groups_of(thread) {
        let stored = thread.consents.get(&group).copied();
        let open = stored.is_none_or(|record| record.consented_at_ns == Nanos(0));
        let newest = inherit(group, stored.as_ref(), &siblings(thread, group));
        if let Some(record) = newest.filter(|record| open && record.consented_at_ns > Nanos(0)) {
            thread.consents.insert(group, record);
            given.push((stored, record));
        }
    }
    given
}

/// Merges a record about an entity no thread of this database belongs to (CONS-010). It is found by
/// a later join. `unknown` is true for a conversation that is not here: it may come meanwhile.
pub fn receive_apart(stored: Option<(Record, u64)>, record: &Record, unknown: bool, unit: &mut Unit) {
    let (stored, revision) = stored.map_or((None, 0), |(record, revision)| (Some(record), revision));
    let Some(record) = merge(stored.as_ref(), record) else { return };
    if let (Entity::Conversation(group), true) = (record.entity, unknown) {
        unit.changes.check(Table::Groups, group.as_bytes().to_vec(), 0);
    }
    unit.put_consent_checked(stored.as_ref(), record, revision);
}

/// Messages of a group that wait and were written, by a clock that has been set back since, after a
/// block made `now`: as they are stored from then on, written before it ([`settle::blocked_since`]).
///
/// [`settle::blocked_since`]: crate::engine::settle::blocked_since
pub fn overtaken(waiting: &[MessageRow], group: GroupId, now: Nanos) -> impl Iterator<Item = MessageRow> {
    let behind = move |row: &&MessageRow| row.group == group && row.inserted_ns >= now;
    let before =
        move |row: &MessageRow| MessageRow { inserted_ns: Nanos(now.0.saturating_sub(1)), ..row.clone() };
    waiting.iter().filter(behind).map(before)
}

/// Every group of a thread.
pub fn groups_of(thread: &ThreadCtx) -> Vec<GroupId> {
    thread.row.iter().flat_map(|row| row.groups.iter().map(|entry| entry.group)).collect()
}

/// The records of the other groups of a thread.
pub fn siblings(thread: &ThreadCtx, group: GroupId) -> Vec<Record> {
    let others = groups_of(thread).into_iter().filter(|id| *id != group);
    others.filter_map(|id| thread.consents.get(&id).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DmId, InboxId, Map, ThreadId};
    use crate::store::rows::{CountersRow, GroupKind, NotesRow, ThreadGroup, ThreadRow};

    const FIRST: GroupId = GroupId([1; 16]);
    const LATER: GroupId = GroupId([2; 16]);

    fn record(group: GroupId, state: State, at: i64) -> Record {
        Record { entity: Entity::Conversation(group), state, consented_at_ns: Nanos(at) }
    }

    fn thread(consents: &[Record]) -> ThreadCtx {
        let id = ThreadId::Dm(DmId::of(InboxId([1; 32]), InboxId([2; 32])).unwrap());
        let entry =
            |group| ThreadGroup { group, restored: false, last_message_ns: None, created_ns: Nanos(1) };
        let groups = vec![entry(FIRST), entry(LATER)];
        let (consent, sort) = (State::Unknown, Nanos(1));
        let row = ThreadRow { id, kind: GroupKind::Dm, groups, winner: LATER, consent, sort };
        let mut records = Map::new();
        for record in consents {
            let Entity::Conversation(group) = record.entity else { unreachable!() };
            records.insert(group, *record);
        }
        ThreadCtx {
            id,
            row: Some(row),
            revision: 1,
            consents: records,
            transcripts: Vec::new(),
            notes: NotesRow::empty(id),
            notes_revision: 0,
        }
    }

    fn blocked_elsewhere(consents: &[Record]) -> ThreadCtx {
        let mut thread = thread(consents);
        let mut unit = Unit::new(Nanos(90), CountersRow::default(), 0);
        receive(&mut thread, &[(FIRST, record(FIRST, State::Denied, 50))], &mut unit);
        thread
    }

    #[test]
    fn dms_010_a_block_that_comes_after_the_copy_reaches_it_with_its_time() {
        for before in [vec![], vec![record(LATER, State::Allowed, 0)]] {
            let thread = blocked_elsewhere(&before);
            assert_eq!(thread.consents.get(&LATER), Some(&record(LATER, State::Denied, 50)));
            assert_eq!(thread.row.unwrap().consent, State::Denied, "the winner is the copy");
        }
    }

    #[test]
    fn dms_010_a_copy_with_a_decision_of_its_own_keeps_it() {
        for at in [10, 70] {
            let own = record(LATER, State::Allowed, at);
            assert_eq!(blocked_elsewhere(&[own]).consents.get(&LATER), Some(&own));
        }
    }
}
