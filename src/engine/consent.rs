//! An app deciding about a conversation, a DM, or an inbox (CONS-011, CONS-041, design section 8), and
//! what other devices of the inbox decided (CONS-010).
//!
//! Each group has a record of its own; the consent of a thread is read from all of them
//! ([`ThreadCtx::decided`]).

use crate::base::{GroupId, Nanos};
use crate::consent::{Entity, Record, State, app_act, merge};
use crate::engine::event::Event;
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
    let before = thread.state();
    put(thread, named, state, unit);
    threads::refresh_consent(thread, unit);
    tell(thread, before, unit);
    unit.changes.strict();
}

/// The records of a decision alone; the thread is still to be relisted.
pub fn put(thread: &mut ThreadCtx, named: &[GroupId], state: State, unit: &mut Unit) {
    for group in named {
        let stored = thread.consents.get(group).copied();
        let record = app_act(Entity::Conversation(*group), state, unit.now);
        thread.consents.insert(*group, record);
        unit.put_consent(stored.as_ref(), record);
        unit.owe(record);
    }
}

/// Tells that the consent of a thread is another than `before`, where no record of it changed its
/// state: a new time alone can put one above those of the other groups, and so can its group when
/// it is joined.
pub fn tell(thread: &ThreadCtx, before: State, unit: &mut Unit) {
    let now = thread.state();
    let says = |event: &Event| match event {
        Event::Consent { entity: Entity::Conversation(group), state } => {
            *state == now && thread.consents.contains_key(group)
        }
        _ => false,
    };
    if now != before
        && !unit.events.iter().any(says)
        && let Some(record) = thread.decided()
    {
        unit.events.push(Event::Consent { entity: record.entity, state: now });
    }
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
    let (before, written) = (thread.state(), unit.changes.writes.len());
    for (group, record) in received {
        let stored = thread.consents.get(group).copied();
        if let Some(record) = merge(stored.as_ref(), record) {
            thread.consents.insert(*group, record);
            unit.put_consent(stored.as_ref(), record);
        }
    }
    if unit.changes.writes.len() > written {
        threads::refresh_consent(thread, unit);
        tell(thread, before, unit);
    }
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
