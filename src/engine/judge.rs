//! What edits and deletions do to stored messages, at the end of the step that stores either,
//! whichever came first (PROC-037).
//!
//! A valid deletion takes the target's content off the disk, and that of its edits. What is known to
//! count for nothing does not hang on the message, and stays in the history as the message it is.
//!
//! Whatever was said before, a step reads a bounded number of rows for each target: the first
//! deletion of each sort, and the edits of one sender, of which [`EDITS`] keep their content.

use crate::base::{InboxId, MessageId, Nanos};
use crate::engine::annotations::{Said, counts, fold, look_for, put_notes, relation, stretch};
use crate::engine::event::Event;
use crate::engine::state::ThreadCtx;
use crate::engine::unit::Unit;
use crate::store::rows::{AnnotationRow, Hangs, MessageRow, MessageStatus, Row};
use crate::store::{Read, Table};
use crate::wire::about::Relation;

/// So many messages that were taken back before they came are remembered in a thread. Beyond it
/// the oldest are forgotten: their content then stays stored, and is still shown to nobody.
pub const AWAITED: usize = 256;

/// So many edits of a message by one inbox keep their content, the newest: what rewrites a message so
/// often is more than the message, and all of it goes with it.
pub const EDITS: usize = 32;

/// A message that something was said about in a step, or that comes after it.
pub struct Case {
    id: MessageId,
    /// As it is at its place, if it is there.
    target: Option<MessageRow>,
    /// It is stored in this step.
    comes: bool,
    /// What this step says, as far as it may count.
    new: Vec<Said>,
}

impl Case {
    /// Looks at what a step adds, before anything else is read. What counts for nothing is taken off.
    pub fn new(id: MessageId, stored: Option<MessageRow>, unit: &mut Unit) -> Self {
        let own = unit.stored(id);
        let comes = own.is_some();
        // What is still to be encrypted is needed until then.
        let target = own.or(stored).filter(|row| row.status != MessageStatus::Unpublished);
        let mut new = Vec::new();
        for annotation in unit.annotations(id) {
            let Some(row) = annotation.message().and_then(|id| unit.stored(id)) else { continue };
            let said = Said { row, by_super_admin: annotation.by_super_admin() };
            if said.row.status != MessageStatus::Published || is(&said, Relation::Reaction) {
                continue;
            }
            match &target {
                Some(target) if !counts(target, &said) => {
                    unit.changes.delete(Table::Annotations, annotation.key());
                }
                _ => new.push(said),
            }
        }
        Self { id, target, comes, new }
    }

    /// What has to be known of what was said before.
    pub fn reads(&self) -> Vec<Read> {
        // What is not at its place yet sorts behind, under another byte.
        let placed = |mut prefix: Vec<u8>, descending, limit| {
            prefix.push(0);
            stretch(prefix, descending, limit)
        };
        let edits = |prefix| placed(prefix, true, EDITS as u32);
        let Some(target) = &self.target else {
            return said_by(self.id, &self.new).into_iter().map(|(prefix, _)| edits(prefix)).collect();
        };
        if !self.comes && self.new.is_empty() {
            return Vec::new();
        }
        let first = |hangs| placed(AnnotationRow::counting(target, hangs), false, 1);
        let mut reads = Vec::new();
        let known = target.deleted_by().is_some();
        if !known || self.new.iter().any(|one| is(one, Relation::Deletion)) {
            reads.extend([first(Hangs::TakenByAdmin), first(Hangs::Taken)]);
        }
        if !known {
            reads.push(edits(AnnotationRow::counting(target, Hangs::Edit)));
        }
        reads
    }
}

/// Does what all that was said comes to; `stored` is what [`Case::reads`] found.
pub fn judge(case: Case, stored: Vec<Said>, threads: &mut [ThreadCtx], unit: &mut Unit) {
    let Case { id, target, new, .. } = case;
    let mut said = new;
    for one in stored {
        if said.iter().all(|new| new.row.id != one.row.id) {
            said.push(one);
        }
    }
    let Some(target) = target else {
        for (_, edits) in said_by(id, &said) {
            trim(id, edits, unit);
        }
        for one in said.iter().filter(|one| is(one, Relation::Deletion)) {
            if let Some(thread) = threads.iter_mut().find(|thread| thread.id == one.row.thread) {
                let hangs = if one.by_super_admin { Hangs::TakenByAdmin } else { Hangs::Taken };
                look_for(hangs, thread, unit);
                wait_for(id, thread, unit);
            }
        }
        return;
    };
    let (known, deletion) = (target.deleted_by(), fold(&target, said.iter()).deletion);
    let edits = said.iter().filter(|one| is(one, Relation::Edit) && counts(&target, one));
    let edits: Vec<&MessageRow> = edits.map(|one| &one.row).collect();
    match deletion.map(|row| row.sender_inbox).or(known) {
        Some(by) => {
            edits.into_iter().for_each(|edit| take(id, edit, by, target.expires_ns, unit));
            take_back(target, known, by, unit);
        }
        None => {
            // An edit goes with what it rewrites: gone before, it would bring the first words back.
            for edit in trim(id, edits, unit).into_iter().filter(|one| one.expires_ns != target.expires_ns) {
                unit.changes.put(&MessageRow { expires_ns: target.expires_ns, ..edit.clone() });
            }
        }
    }
}

fn is(one: &Said, what: Relation) -> bool {
    relation(&one.row.content_type) == Some(what)
}

/// Edits about a message by who says so and in which conversation, with the prefix of each.
fn said_by(id: MessageId, said: &[Said]) -> Vec<(Vec<u8>, Vec<&MessageRow>)> {
    let mut found: Vec<(Vec<u8>, Vec<&MessageRow>)> = Vec::new();
    for Said { row, .. } in said.iter().filter(|one| is(one, Relation::Edit)) {
        let prefix = AnnotationRow::saying(id, row, Hangs::Edit);
        match found.iter_mut().find(|(known, _)| *known == prefix) {
            Some((_, edits)) => edits.push(row),
            None => found.push((prefix, vec![row])),
        }
    }
    found
}

/// Takes the oldest edits of one inbox, if they are too many; gives back those that stay.
fn trim<'a>(id: MessageId, mut edits: Vec<&'a MessageRow>, unit: &mut Unit) -> Vec<&'a MessageRow> {
    edits.sort_unstable_by_key(|edit| edit.sort_key());
    let stay = edits.split_off(edits.len().saturating_sub(EDITS));
    edits.into_iter().for_each(|edit| take(id, edit, edit.sender_inbox, edit.expires_ns, unit));
    stay
}

/// Takes the content of an edit, which hangs on nothing from then on.
fn take(id: MessageId, edit: &MessageRow, by: InboxId, expires_ns: Option<Nanos>, unit: &mut Unit) {
    unit.changes.delete(Table::Annotations, AnnotationRow::new(id, Hangs::Edit, edit).key());
    let mut edit = MessageRow { expires_ns, ..edit.clone() };
    edit.delete(by);
    unit.changes.put(&edit);
}

fn take_back(mut target: MessageRow, known: Option<InboxId>, by: InboxId, unit: &mut Unit) {
    if known != Some(by) {
        target.delete(by);
        unit.changes.put(&target);
    }
    if known.is_none() {
        let MessageRow { id, group, thread, .. } = target;
        unit.events.push(Event::MessageDeleted { id, group, thread, locally: false });
        unit.events.push(Event::Gone { row: Box::new(target) });
    }
}

fn wait_for(id: MessageId, thread: &mut ThreadCtx, unit: &mut Unit) {
    let awaited = &mut thread.notes.awaited;
    if awaited.contains(&id) {
        return;
    }
    if awaited.len() >= AWAITED {
        awaited.remove(0);
    }
    awaited.push(id);
    put_notes(thread, unit);
}
