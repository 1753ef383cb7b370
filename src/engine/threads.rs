//! The thread row and its line in the list, recomputed in the unit that changes any of its groups
//! (DMS-007, DMS-013).

use crate::base::GroupId;
use crate::consent::state_of;
use crate::dm::Candidate;
use crate::dm::thread::{Folded, fold};
use crate::engine::event::Event;
use crate::engine::state::ThreadCtx;
use crate::engine::unit::Unit;
use crate::store::Table;
use crate::store::rows::{GroupKind, GroupRow, GroupState, ListingRow, Row, ThreadGroup, ThreadRow};

/// Takes a group's present state into its thread and rewrites what follows from it. A sync group has
/// no thread.
pub fn refresh(thread: &mut ThreadCtx, group: &GroupRow, unit: &mut Unit) {
    if group.kind == GroupKind::Sync {
        return;
    }
    let mut groups = thread.row.as_ref().map(|row| row.groups.clone()).unwrap_or_default();
    groups.retain(|entry| entry.group != group.id);
    if let GroupState::Failed(_) = group.state {
        // It belongs to no thread any more, so nothing is inherited from it.
        thread.consents.remove(&group.id);
    } else {
        groups.push(ThreadGroup {
            group: group.id,
            restored: group.state == GroupState::Restored,
            last_message_ns: group.last_message_ns,
            created_ns: group.created_ns,
        });
        groups.sort_unstable_by_key(|entry| entry.group);
    }
    rewrite(thread, groups, group.kind, unit);
    retell(thread, unit);
}

/// A message can make its group the winner: what is told of the step is told by the state the thread
/// has after it, as a list shows it (CONS-042).
fn retell(thread: &ThreadCtx, unit: &mut Unit) {
    let state = thread.state();
    for event in &mut unit.events {
        if let Event::Message { row, consent } = event
            && row.thread == thread.id
        {
            *consent = state;
        }
    }
}

/// Whether the conversation is known by another group than this one. A restored placeholder is none
/// that one is in: joining over it, or beside it, is a first join (JOIN-080).
pub fn goes_on_elsewhere(thread: &ThreadCtx, group: GroupId) -> bool {
    let groups = thread.row.as_ref().map_or(&[][..], |row| &row.groups);
    groups.iter().any(|entry| entry.group != group && !entry.restored)
}

/// Rewrites the thread after one of its consent records changed.
pub fn refresh_consent(thread: &mut ThreadCtx, unit: &mut Unit) {
    if let Some(row) = &thread.row {
        let (groups, kind) = (row.groups.clone(), row.kind);
        rewrite(thread, groups, kind, unit);
    }
}

fn rewrite(thread: &mut ThreadCtx, groups: Vec<ThreadGroup>, kind: GroupKind, unit: &mut Unit) {
    let old = thread.row.take();
    let candidates: Vec<Candidate> = groups.iter().map(candidate).collect();
    let new = fold(&candidates).map(|Folded { winner, sort }| {
        // Decided anew from all records of the set: it does not matter in which order they came,
        // or before which groups.
        let consent = state_of(thread.greatest_of(&groups));
        ThreadRow { id: thread.id, kind, groups, winner, consent, sort }
    });
    if old == new {
        // The revision guards the records of the set too, so it moves even when the row does not.
        if let Some(row) = &new {
            unit.changes.put_checked(row, thread.revision);
            thread.revision += 1;
        }
        thread.row = new;
        return;
    }
    let (old_line, new_line) = (old.as_ref().map(line), new.as_ref().map(line));
    if let Some(old_line) = old_line.as_ref().filter(|old| new_line.as_ref().map(Row::key) != Some(old.key()))
    {
        unit.changes.delete(Table::Listing, old_line.key());
    }
    if let Some(new_line) = new_line.filter(|new| Some(new) != old_line.as_ref()) {
        unit.changes.put(&new_line);
    }
    match &new {
        Some(row) => {
            unit.changes.put_checked(row, thread.revision);
            thread.revision += 1;
        }
        None => {
            unit.changes.check(Table::Threads, thread.id.to_key(), thread.revision);
            unit.changes.delete(Table::Threads, thread.id.to_key());
            thread.revision = 0;
        }
    }
    thread.row = new;
}

fn candidate(entry: &ThreadGroup) -> Candidate {
    let ThreadGroup { group, restored, last_message_ns, created_ns } = *entry;
    Candidate { group, restored, last_message_ns, created_ns }
}

fn line(row: &ThreadRow) -> ListingRow {
    let ThreadRow { id, kind, winner, consent, sort, .. } = row.clone();
    ListingRow { consent, sort, thread: id, winner, kind }
}
