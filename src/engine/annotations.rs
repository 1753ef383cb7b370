//! Messages about messages: what reactions, edits and deletions come to (PROC-037).
//!
//! Each is stored as the message it is, with a row that finds it by its target. What follows is
//! folded anew from all of them, so that it does not hang on the order they came in. A deletion is
//! more than a view: it takes the content off the disk, in the unit that has both.
//!
//! Choices where the texts are silent: of several valid deletions the first in the thread's order
//! names who took the message back; an edit counts in the whole thread, comes from the sender alone
//! and rewrites what can be taken back; a message taken back shows neither edits nor reactions.

use crate::base::{MessageId, Nanos};
use crate::engine::event::Event;
use crate::engine::state::ThreadCtx;
use crate::engine::unit::Unit;
use crate::store::rows::{AnnotationRow, ContentTypeView, MessageKind, MessageRow, MessageStatus};
use crate::wire::about::{self, Relation};
use crate::wire::{EncodedContent, content_type};

/// What can be taken back and rewritten, of the standard authority (PROC-037).
const CONTENT: [&str; 8] = [
    content_type::TEXT,
    content_type::REPLY,
    "markdown",
    "attachment",
    "remoteStaticAttachment",
    "multiRemoteStaticAttachment",
    "transactionReference",
    "walletSendCalls",
];

/// So many messages that were taken back before they came are remembered in a thread. Beyond it
/// the oldest are forgotten: their content then stays stored, and is still shown to nobody.
const AWAITED: usize = 256;

/// A message about another one, with what its place in the group says of its sender.
pub struct Said {
    /// The message.
    pub row: MessageRow,
    /// Its sender was a super admin there.
    pub by_super_admin: bool,
}

/// What everything said about a message comes to.
#[derive(Default)]
pub struct Folded<'a> {
    /// The deletion that counts. Nothing else does then.
    pub deletion: Option<&'a MessageRow>,
    /// The edit that counts, with the content it gives.
    pub edit: Option<(&'a MessageRow, Vec<u8>, ContentTypeView)>,
    /// Reactions in the thread's order, those that take one back among them.
    pub reactions: Vec<&'a MessageRow>,
}

/// How a stored message relates to others.
pub fn relation(of: &ContentTypeView) -> Option<Relation> {
    Relation::of(&of.authority, &of.type_id)
}

/// When a message of this content goes, of which its group's settings say `set`. A deletion holds no
/// text and stays: what it took back could come again with an archive.
pub fn lasting(of: &ContentTypeView, set: Option<Nanos>) -> Option<Nanos> {
    set.filter(|_| relation(of) != Some(Relation::Deletion))
}

/// True for what can be taken back and rewritten.
fn is_content(of: &ContentTypeView) -> bool {
    of.authority == content_type::AUTHORITY && CONTENT.contains(&of.type_id.as_str())
}

/// Notes a message of a member that is being stored: received, own, read back or imported. Whatever
/// stores such a row calls this in the same unit.
///
/// What a deletion or an edit does to rows that are stored already is decided at the end of the
/// step ([`judge`]), for which [`Unit::judged`] names the targets.
pub fn note(row: &MessageRow, by_super_admin: bool, thread: &mut ThreadCtx, unit: &mut Unit) {
    if row.kind != MessageKind::Application {
        return;
    }
    let published = row.status == MessageStatus::Published;
    if published && thread.notes.awaited.contains(&row.id) {
        thread.notes.awaited.retain(|id| *id != row.id);
        put_notes(thread, unit);
        unit.judged.push(row.id);
    }
    let t = &row.content_type;
    if published && about::is_receipt(&t.authority, &t.type_id) {
        note_receipt(row, thread, unit);
    }
    let Some(relation) = relation(t) else { return };
    let content = EncodedContent::decode(&row.content).ok();
    let Some(target) = content.as_ref().and_then(about::target) else { return };
    unit.changes.put(&AnnotationRow { target, message: row.id, by_super_admin });
    if !thread.notes.annotated {
        thread.notes.annotated = true;
        put_notes(thread, unit);
    }
    if published && relation != Relation::Reaction {
        unit.judged.push(target);
    }
}

fn note_receipt(row: &MessageRow, thread: &mut ThreadCtx, unit: &mut Unit) {
    let known = thread.notes.read.iter_mut().find(|(inbox, _)| *inbox == row.sender_inbox);
    match known {
        Some((_, at)) if *at >= row.sent_ns => return,
        Some((_, at)) => *at = row.sent_ns,
        None => thread.notes.read.push((row.sender_inbox, row.sent_ns)),
    }
    put_notes(thread, unit);
}

fn put_notes(thread: &mut ThreadCtx, unit: &mut Unit) {
    unit.changes.put_checked(&thread.notes, thread.notes_revision);
    thread.notes_revision += 1;
}

/// What `said`, in any order, comes to for `target`. A message that was given up says nothing, nor
/// does one of another conversation; of the deletions only those of the target's own group count,
/// by its sender or a super admin (PROC-037).
pub fn fold<'a>(target: &MessageRow, said: impl Iterator<Item = &'a Said>) -> Folded<'a> {
    let mut folded = Folded::default();
    let content = is_content(&target.content_type) && target.is_sent();
    for Said { row, by_super_admin } in said {
        let counts = row.thread == target.thread && row.kind == MessageKind::Application;
        if !counts || matches!(row.status, MessageStatus::Failed(_)) {
            continue;
        }
        let own = row.sender_inbox == target.sender_inbox;
        let place = row.sort_key();
        match relation(&row.content_type) {
            Some(Relation::Reaction) => folded.reactions.push(row),
            Some(Relation::Deletion)
                if content
                    && row.group == target.group
                    && (own || *by_super_admin)
                    && folded.deletion.is_none_or(|known| known.sort_key() > place) =>
            {
                folded.deletion = Some(row);
            }
            Some(Relation::Edit)
                if content
                    && own
                    && folded.edit.as_ref().is_none_or(|(known, ..)| known.sort_key() < place) =>
            {
                if let Some((bytes, of)) = edited(row) {
                    folded.edit = Some((row, bytes, of));
                }
            }
            _ => {}
        }
    }
    folded.reactions.sort_unstable_by_key(|row| row.sort_key());
    if folded.deletion.is_some() || target.kind == MessageKind::Deleted {
        (folded.edit, folded.reactions) = (None, Vec::new());
    }
    folded
}

/// The content an edit gives; one that is not content is none.
fn edited(row: &MessageRow) -> Option<(Vec<u8>, ContentTypeView)> {
    let (bytes, content) = about::edited(&EncodedContent::decode(&row.content).ok()?)?;
    let of = ContentTypeView::from(content.content_type);
    is_content(&of).then_some((bytes, of))
}

/// Takes off the disk what valid deletions among `said` take back: the target's content, and that of
/// its edits. A target that is not at its place yet is awaited in its thread, if that is given.
pub fn judge(
    id: MessageId,
    target: Option<MessageRow>,
    said: &[Said],
    thread: Option<&mut ThreadCtx>,
    unit: &mut Unit,
) {
    let published = || said.iter().filter(|one| one.row.status == MessageStatus::Published);
    // What is still to be encrypted is needed until then.
    let Some(mut target) = target.filter(|row| row.status != MessageStatus::Unpublished) else {
        let Some(thread) = thread else { return };
        let deletes = |one: &Said| {
            relation(&one.row.content_type) == Some(Relation::Deletion) && one.row.thread == thread.id
        };
        if published().any(deletes) {
            wait_for(id, thread, unit);
        }
        return;
    };
    let (known, deletion) = (target.deleted_by(), fold(&target, published()).deletion);
    let edits = published()
        .filter(|one| one.row.kind == MessageKind::Application && one.row.thread == target.thread)
        .filter(|one| one.row.sender_inbox == target.sender_inbox)
        .filter(|one| relation(&one.row.content_type) == Some(Relation::Edit));
    let Some(by) = deletion.map(|row| row.sender_inbox).or(known) else {
        // An edit goes with what it rewrites: gone before, it would bring the first words back.
        for Said { row, .. } in edits.filter(|one| one.row.expires_ns != target.expires_ns) {
            unit.changes.put(&MessageRow { expires_ns: target.expires_ns, ..row.clone() });
        }
        return;
    };
    for Said { row, .. } in edits {
        let mut edit = row.clone();
        edit.delete(by);
        unit.changes.put(&edit);
    }
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

#[cfg(test)]
#[path = "tests/annotations.rs"]
mod tests;
