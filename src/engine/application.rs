//! A decrypted application message (SEND-002, META-050, design section 8: a sender without a leaf
//! falls silent at once).

use crate::base::{MessageId, Nanos, SequenceId};
use crate::engine::event::Event;
use crate::engine::receive::{Known, Outcomes, reject};
use crate::engine::settle::{expiry, raise_activity};
use crate::engine::state::{GroupCtx, ThreadCtx};
use crate::engine::unit::Unit;
use crate::engine::{annotations, devices, leave};
use crate::mls::facts::LeafFacts;
use crate::store::rows::{ContentTypeView, GroupKind, MessageKind, MessageRow, MessageStatus};
use crate::wire::{ContentType, EncodedContent, PlaintextEnvelope, PlaintextV1, message_id};

/// Why a message of somebody who was removed is refused.
pub const GONE: &str = "the sender's installation is no longer in the group";

/// Stores the message at its place, or says why not.
pub fn receive(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    (sender, plaintext): (&LeafFacts, &[u8]),
    (at, server_ns): (SequenceId, Nanos),
    unit: &mut Unit,
) -> Outcomes {
    let Some(inbox) = sender.inbox else {
        return reject("PROC-011", "the sender's credential names no inbox");
    };
    let still_here = ctx
        .row
        .members
        .iter()
        .any(|member| member.inbox == inbox && member.installations.contains(&sender.installation));
    if !still_here {
        return reject("PROC-011", GONE);
    }
    let (content, key) = match PlaintextEnvelope::decode(plaintext) {
        Ok(PlaintextEnvelope::V1(PlaintextV1 { content, idempotency_key })) => (content, idempotency_key),
        // Device-sync payloads are consumed without becoming messages.
        Ok(_) => return Outcomes::Applied,
        Err(error) => return reject("PROC-011", &error.to_string()),
    };
    if ctx.row.kind == GroupKind::Sync {
        let ours = inbox == known.me.inbox && !(known.lost)(sender.installation);
        return devices::receive(ours, &content, unit);
    }
    let id = message_id(ctx.row.id, &key, &content);
    match taken(id, known, unit) {
        Err(unknown) => return unknown,
        Ok(Some(row)) if row.sender_inbox == inbox => return Outcomes::Repeated,
        Ok(Some(_)) => return reject("PROC-011", "another sender's message has this id"),
        Ok(None) => {}
    }
    let by_super_admin = ctx.row.settings.super_admins.contains(&inbox);
    let content_type = content_type(&content);
    let expires_ns = annotations::lasting(&content_type, expiry(&ctx.row.settings, server_ns));
    let row = MessageRow {
        id,
        thread: ctx.row.thread(),
        group: ctx.row.id,
        delivery: Some(unit.next_delivery()),
        sent_ns: server_ns,
        inserted_ns: unit.tick(),
        sequence_id: at,
        kind: MessageKind::Application,
        status: MessageStatus::Published,
        sender_inbox: inbox,
        sender_installation: sender.installation,
        content_type,
        content,
        expires_ns,
    };
    raise_activity(ctx, server_ns);
    if leave::is_request(&row.content_type) {
        leave::note(ctx, inbox);
        leave::serve(ctx, known.me, unit);
    }
    unit.changes.insert(&row);
    annotations::note(&row, by_super_admin, thread, unit);
    // MLS opens nothing this installation sent, so it is another's.
    let MessageRow { id, group, thread: of, expires_ns: expires, .. } = row;
    let content_type = Some(row.content_type.clone()).filter(|known| !known.type_id.is_empty());
    unit.events.push(Event::Received { id, group, thread: of, content_type, sender: inbox, expires });
    // What has disappeared while it was on its way is shown to nobody.
    if !row.is_gone(unit.now) {
        unit.events.push(Event::Message { row: Box::new(row), consent: thread.state() });
    }
    Outcomes::Applied
}

/// The stored row under an id: asked for first when nobody looked it up yet in a step that hit it.
fn taken(id: MessageId, known: &Known<'_>, unit: &Unit) -> Result<Option<MessageRow>, Outcomes> {
    if let Some(row) = unit.stored(id) {
        return Ok(Some(row));
    }
    match known.messages.get(&id) {
        Some(row) => Ok(row.clone()),
        None if known.careful => Err(Outcomes::NeedsMessage(id)),
        // Ids are hashes: the insert itself finds the rare one that is taken, and the step repeats.
        None => Ok(None),
    }
}

/// Content that does not decode keeps its bytes under an empty type (CTYPE-008).
fn content_type(content: &[u8]) -> ContentTypeView {
    let decoded = EncodedContent::decode(content).map(|content| content.content_type);
    decoded.unwrap_or(ContentType::new("", "", 0, 0)).into()
}
