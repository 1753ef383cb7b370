//! Membership-change messages: records this client writes from what it validated
//! (GMOD-034, DMS-011). They are never content a member sent.

use crate::base::{InboxId, InstallationId, MessageId, Nanos, SequenceId, sha256};
use crate::dm::thread::repeats;
use crate::engine::event::Event;
use crate::engine::state::{GroupCtx, ThreadCtx};
use crate::engine::unit::Unit;
use crate::store::rows::{MessageKind, MessageRow, MessageStatus, TranscriptRow};
use crate::wire::{ContentType, EncodedContent, GroupUpdated, content_type, message_id};

/// Where a transcript comes from.
pub struct Source {
    /// Makes the message id (GMOD-034).
    pub key: String,
    /// Who made the change.
    pub sender: (InboxId, InstallationId),
    /// The commit's place in the topic.
    pub at: (SequenceId, Nanos),
}

/// Stores the transcript as a message, unless the thread has shown an equal add before (DMS-011).
pub fn record(
    ctx: &GroupCtx,
    thread: &mut ThreadCtx,
    update: &GroupUpdated,
    source: &Source,
    unit: &mut Unit,
) {
    let content = EncodedContent::group_updated(update).encode();
    let id = message_id(ctx.row.id, &source.key, &content);
    if ctx.row.dm.is_some() && repeated(thread, update, id, unit) {
        return;
    }
    let (sender_inbox, sender_installation) = source.sender;
    let (sequence_id, sent_ns) = source.at;
    let row = MessageRow {
        id,
        thread: ctx.row.thread(),
        group: ctx.row.id,
        delivery: Some(unit.next_delivery()),
        sent_ns,
        inserted_ns: unit.tick(),
        sequence_id,
        kind: MessageKind::MembershipChange,
        status: MessageStatus::Published,
        sender_inbox,
        sender_installation,
        content_type: ContentType::xmtp(content_type::GROUP_UPDATED, 1, 0).into(),
        content,
        expires_ns: None,
    };
    unit.changes.put(&row);
    unit.transcripts.push(id);
    unit.events.push(Event::Message { row: Box::new(row), consent: thread.state() });
}

/// A transcript of the step is stored already: an archive brought it before its commit was read. What
/// was validated here takes its place, under the number it was given once (PROC-024), and is not told
/// again.
pub fn keep_number(stored: &MessageRow, unit: &mut Unit) {
    let MessageRow { id, delivery, inserted_ns, .. } = *stored;
    let Some(own) = unit.stored(id).filter(|_| delivery.is_some()) else { return };
    unit.changes.put(&MessageRow { delivery, inserted_ns, ..own });
    unit.events.retain(|event| !matches!(event, Event::Message { row, .. } if row.id == id));
}

/// Whether a DM has shown an equal add before (DMS-011); if not, `message` shows it.
pub fn repeated(thread: &mut ThreadCtx, update: &GroupUpdated, message: MessageId, unit: &mut Unit) -> bool {
    let adds = !update.added.is_empty();
    if !adds {
        return false;
    }
    let shown = thread.transcripts.iter().filter_map(|row| GroupUpdated::decode(&row.payload).ok());
    let shown: Vec<_> = shown.collect();
    if repeats(update, adds, shown.iter()) {
        return true;
    }
    let payload = update.encode();
    let row = TranscriptRow { thread: thread.id, hash: sha256(&payload), message, payload };
    unit.changes.put(&row);
    thread.transcripts.push(row);
    false
}
