//! Messages about messages: what reactions, edits and deletions come to (PROC-037).
//!
//! Each is stored as the message it is, with a row that finds it by its target. What follows is
//! folded anew from those that may count, so that it does not hang on the order they came in. A
//! deletion is more than a view: it takes the content off the disk, in the unit that has both
//! ([`super::judge`]).
//!
//! Any member can say any number of things about a message. The rows lie so that what counts is
//! found by a read with a limit, whatever else was said: the first deletion, the last edit, the
//! newest [`REACTIONS`] reactions.
//!
//! Choices where the texts are silent: of several valid deletions the first in the thread's order
//! names who took the message back; an edit counts in the whole thread, comes from the sender alone
//! and rewrites what can be taken back; a message taken back shows neither edits nor reactions.

use crate::base::{MessageId, Nanos};
use crate::engine::state::ThreadCtx;
use crate::engine::unit::Unit;
use crate::store::rows::{
    AnnotationRow, ContentTypeView, Hangs, MessageKind, MessageRow, MessageStatus, Row,
};
use crate::store::{Read, Table, after_prefix};
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

/// So many reactions of a message are shown, the newest. Those that take one back count.
pub const REACTIONS: u32 = 500;

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
/// step ([`super::judge`]), for which [`Unit::judged`] names the targets.
pub fn note(row: &MessageRow, by_super_admin: bool, thread: &mut ThreadCtx, unit: &mut Unit) {
    if row.kind != MessageKind::Application || matches!(row.status, MessageStatus::Failed(_)) {
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
    let Some((target, content, relation)) = said(row) else { return };
    let hangs = match relation {
        Relation::Deletion if by_super_admin => Hangs::TakenByAdmin,
        Relation::Deletion => Hangs::Taken,
        // It rewrites nothing, whatever it is about.
        Relation::Edit if edited(&content).is_none() => return,
        Relation::Edit => Hangs::Edit,
        Relation::Reaction => Hangs::Reaction,
    };
    unit.changes.put(&AnnotationRow::new(target, hangs, row));
    // A deletion at its place works on its target, now or when that comes.
    if !published || relation != Relation::Deletion {
        look_for(hangs, thread, unit);
    }
    if published && relation != Relation::Reaction {
        unit.judged.push(target);
    }
}

/// Takes a message off its target, because it moves, goes or never left.
pub fn take_off(row: &MessageRow, unit: &mut Unit) {
    let Some((target, _, relation)) = said(row) else { return };
    let hangs: &[Hangs] = match relation {
        Relation::Deletion => &[Hangs::TakenByAdmin, Hangs::Taken],
        Relation::Edit => &[Hangs::Edit],
        Relation::Reaction => &[Hangs::Reaction],
    };
    for hangs in hangs {
        unit.changes.delete(Table::Annotations, AnnotationRow::new(target, *hangs, row).key());
    }
}

/// What a message is about, its content, and what it does to it.
fn said(row: &MessageRow) -> Option<(MessageId, EncodedContent, Relation)> {
    let relation = relation(&row.content_type).filter(|_| row.kind == MessageKind::Application)?;
    let content = EncodedContent::decode(&row.content).ok()?;
    Some((about::target(&content)?, content, relation))
}

/// From now on, reads of a thread's messages look for these.
pub(super) fn look_for(hangs: Hangs, thread: &mut ThreadCtx, unit: &mut Unit) {
    if thread.notes.kinds & hangs.bit() == 0 {
        thread.notes.kinds |= hangs.bit();
        put_notes(thread, unit);
    }
}

/// The reads of what hangs on a message, of these kinds ([`NotesRow::kinds`]).
///
/// [`NotesRow::kinds`]: crate::store::rows::NotesRow::kinds
pub fn hanging(target: &MessageRow, kinds: u8) -> Vec<Read> {
    let read = |hangs: &Hangs| {
        let (descending, limit) = match hangs {
            Hangs::TakenByAdmin | Hangs::Taken => (false, 1),
            Hangs::Edit => (true, 1),
            Hangs::Reaction => (true, REACTIONS),
        };
        stretch(AnnotationRow::counting(target, *hangs), descending, limit)
    };
    Hangs::ALL.iter().filter(|hangs| kinds & hangs.bit() != 0).map(read).collect()
}

/// The read of annotations with a prefix.
pub fn stretch(prefix: Vec<u8>, descending: bool, limit: u32) -> Read {
    Read::Range {
        table: Table::Annotations,
        index: None,
        to: after_prefix(&prefix),
        from: Some(prefix),
        descending,
        limit: Some(limit),
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

pub(super) fn put_notes(thread: &mut ThreadCtx, unit: &mut Unit) {
    unit.changes.put_checked(&thread.notes, thread.notes_revision);
    thread.notes_revision += 1;
}

/// Whether a deletion or an edit counts for `target`. A message that was given up says nothing, nor
/// does one of another conversation; of the deletions only those of the target's own group count, by
/// its sender or a super admin (PROC-037).
pub(super) fn counts(target: &MessageRow, Said { row, by_super_admin }: &Said) -> bool {
    let own = row.sender_inbox == target.sender_inbox;
    let by_right = match relation(&row.content_type) {
        Some(Relation::Deletion) => row.group == target.group && (own || *by_super_admin),
        Some(Relation::Edit) => own,
        _ => false,
    };
    by_right && is_content(&target.content_type) && target.is_sent() && is_said(target, row)
}

fn is_said(target: &MessageRow, row: &MessageRow) -> bool {
    let failed = matches!(row.status, MessageStatus::Failed(_));
    row.thread == target.thread && row.kind == MessageKind::Application && !failed
}

/// What `said`, in any order, comes to for `target`.
pub fn fold<'a>(target: &MessageRow, said: impl Iterator<Item = &'a Said>) -> Folded<'a> {
    let mut folded = Folded::default();
    for one in said {
        let (row, place) = (&one.row, one.row.sort_key());
        match relation(&row.content_type) {
            Some(Relation::Reaction) if is_said(target, row) => folded.reactions.push(row),
            Some(Relation::Deletion)
                if counts(target, one) && folded.deletion.is_none_or(|known| known.sort_key() > place) =>
            {
                folded.deletion = Some(row);
            }
            Some(Relation::Edit)
                if counts(target, one)
                    && folded.edit.as_ref().is_none_or(|(known, ..)| known.sort_key() < place) =>
            {
                let content = EncodedContent::decode(&row.content).ok();
                if let Some((bytes, of)) = content.as_ref().and_then(edited) {
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
fn edited(edit: &EncodedContent) -> Option<(Vec<u8>, ContentTypeView)> {
    let (bytes, content) = about::edited(edit)?;
    let of = ContentTypeView::from(content.content_type);
    is_content(&of).then_some((bytes, of))
}

#[cfg(test)]
#[path = "tests/annotations.rs"]
mod tests;
