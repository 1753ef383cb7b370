//! From an app's content to a durable message, encrypted where the group is ready for it
//! (SEND-002, SEND-006, GMOD-025, GMOD-035).

use crate::base::{MessageId, Nanos, SequenceId, Topic, sha256};
use crate::consent::{Record, State};
use crate::engine::annotations;
use crate::engine::event::Event;
use crate::engine::state::{GroupCtx, Me, ThreadCtx};
use crate::engine::unit::Unit;
use crate::error::Error;
use crate::mls;
use crate::store::rows::{
    AttemptRow, ContentTypeView, GroupState, IntentState, MessageKind, MessageRow, MessageStatus, Operation,
    Outcome,
};
use crate::wire::content_type::{AUTHORITY, LEAVE_REQUEST};
use crate::wire::{ClientEnvelope, ContentType, EncodedContent, PlaintextV1, message_id};

/// Greatest size of an EncodedContent an app may send: it must fit, padded and framed, into one
/// envelope of 1 MiB.
pub const MAX_CONTENT: usize = 1024 * 1024 - 16 * 1024;

/// Content as checked for sending.
#[derive(Clone)]
pub struct Outbound {
    /// The serialised EncodedContent.
    pub bytes: Vec<u8>,
    /// Its type.
    pub content_type: ContentTypeView,
    /// Makes the message id with the content and group (SEND-002).
    pub key: String,
    /// Whether receivers are to be notified.
    pub push: bool,
}

impl Outbound {
    /// A leave request, which apps send through their own call only (GMOD-031).
    pub fn leave_request(bytes: Vec<u8>, key: String) -> Self {
        let content_type = ContentType::xmtp(LEAVE_REQUEST, 1, 0).into();
        Self { bytes, content_type, key, push: false }
    }
}

/// Reads an app's EncodedContent. Whether receivers are to be notified follows from the content
/// type.
///
/// # Errors
/// `input.value` when it does not decode, `message.too_large`, `message.empty`,
/// `content.reserved_type` (GMOD-035).
pub fn accept(bytes: Vec<u8>, key: String) -> Result<Outbound, Error> {
    if bytes.len() > MAX_CONTENT {
        let size = bytes.len();
        return Err(Error::new(
            "message.too_large",
            format!(
                "the message has {size} bytes, at most {MAX_CONTENT} fit; send a remote attachment instead"
            ),
        ));
    }
    let content = EncodedContent::decode(&bytes)
        .map_err(|_| Error::new("input.value", "the content is not an EncodedContent with a content type"))?;
    if content.content_type.is_transcript_type() {
        return Err(Error::new(
            "content.reserved_type",
            "membership-change transcripts are written by the client itself and are never sent",
        ));
    }
    if content.content_type.authority == AUTHORITY && content.content_type.type_id == LEAVE_REQUEST {
        return Err(Error::new(
            "content.reserved_type",
            "a leave request is sent with requestRemoval(), which checks whether leaving is possible",
        ));
    }
    if content.content_type == EncodedContent::text("").content_type && content.content.is_empty() {
        return Err(Error::new("message.empty", "there is no text to send"));
    }
    let push = content.content_type.pushes_by_default();
    Ok(Outbound { bytes, content_type: content.content_type.into(), key, push })
}

/// Fails with what stands in the way of writing in this group.
pub fn writable(ctx: &GroupCtx) -> Result<(), Error> {
    match &ctx.row.state {
        GroupState::Active => {}
        GroupState::Failed(code) if code == "dm.unknown_inbox" => {
            return Err(Error::new("dm.unknown_inbox", "the other inbox does not exist; check the inbox id"));
        }
        GroupState::Failed(code) => {
            return Err(Error::new("group.not_a_member", format!("this group never came to life ({code})")));
        }
        GroupState::Inactive | GroupState::Restored => {
            return Err(Error::new(
                "group.not_a_member",
                "this installation is not in the group; its history stays readable, ask a member to add you",
            ));
        }
    }
    match &ctx.row.hold {
        None => Ok(()),
        Some(hold) if hold.code == "floor" => Err(Error::new("group.paused", hold.detail.clone())),
        Some(hold) => Err(Error::new("group.held", hold.detail.clone())),
    }
}

/// Stores one message, and encrypts it at once when no commit of ours has to come first.
///
/// Returns its id. Nothing leaves before the unit is durable.
pub fn send(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    me: &Me,
    outbound: &Outbound,
    unit: &mut Unit,
) -> Result<MessageId, Error> {
    writable(ctx)?;
    let at = unit.tick();
    let mut row = own_row(ctx, me, outbound, at);
    row.inserted_ns = written_after(thread.decided(), at);
    let id = row.id;
    unit.changes.insert(&row);
    annotations::note(&row, ctx.row.settings.super_admins.contains(&me.inbox), thread, unit);
    // A message encrypted now would overtake those that still wait.
    let at_once = ready(ctx) && !has_waiting(ctx);
    let operation = Operation::Send { message: id, key: outbound.key.clone(), push: outbound.push };
    let number = ctx.add_intent(operation, unit);
    if at_once {
        encrypt(ctx, me, number, &outbound.bytes, unit)?;
    }
    unit.events.push(Event::Message { row: Box::new(row), consent: thread.state() });
    unit.changes.strict();
    Ok(id)
}

/// When a message counts as written: not before the block it answers, though that was made with a
/// clock that has been set back since ([`settle::blocked_since`]).
///
/// [`settle::blocked_since`]: crate::engine::settle::blocked_since
fn written_after(decided: Option<&Record>, at: Nanos) -> Nanos {
    let block = decided.filter(|record| record.state == State::Denied);
    block.map_or(at, |record| at.max(record.consented_at_ns))
}

/// True when a message can be encrypted now.
pub fn ready(ctx: &GroupCtx) -> bool {
    // Whoever was given a proposal commits before it sends (RFC 9420 section 12.4).
    let free = !ctx.row.rolled_back && !ctx.keeps_proposals();
    ctx.is_active() && ctx.row.hold.is_none() && free && !ctx.commit_wanted()
}

/// True when a message is stored and not encrypted.
fn has_waiting(ctx: &GroupCtx) -> bool {
    ctx.intents.values().any(|intent| {
        intent.state == IntentState::ToPublish && matches!(intent.operation, Operation::Send { .. })
    })
}

/// Encrypts the content of a waiting intent and stores the attempt.
pub fn encrypt(
    ctx: &mut GroupCtx,
    me: &Me,
    number: u64,
    content: &[u8],
    unit: &mut Unit,
) -> Result<(), Error> {
    let Some(mut intent) = ctx.intents.get(&number).cloned() else {
        return Err(Error::bug("encrypting for an intent that is gone"));
    };
    let (key, should_push) = match &intent.operation {
        Operation::Send { key, push, .. } => (key, *push),
        Operation::Tell { key, .. } => (key, false),
        _ => return Err(Error::bug("encrypting for an intent that sends nothing")),
    };
    let plaintext = PlaintextV1 { content: content.to_vec(), idempotency_key: key.clone() }.encode();
    let mls = ctx.mls.as_mut().ok_or_else(|| Error::bug("an active group without MLS state"))?;
    let data = mls::message(&mls.scratch, &mut mls.group, &me.keys, &plaintext).map_err(Error::bug)?;
    let payload = ClientEnvelope::GroupMessage { data, sender_hmac: Vec::new(), should_push }.encode();
    let hash = sha256(&payload);
    let (group, epoch) = (ctx.row.id, ctx.row.epoch);
    intent.state = IntentState::Published(hash);
    intent.builds += 1;
    ctx.put_intent(intent, unit);
    let attempt = AttemptRow {
        hash,
        intent: number,
        group,
        topic: Topic::Group(group),
        payload,
        epoch,
        commit: false,
        outcome: Outcome::Unknown,
    };
    ctx.put_attempt(attempt, unit);
    unit.changes.strict();
    Ok(())
}

fn own_row(ctx: &GroupCtx, me: &Me, outbound: &Outbound, at: Nanos) -> MessageRow {
    MessageRow {
        id: message_id(ctx.row.id, &outbound.key, &outbound.bytes),
        thread: ctx.row.thread(),
        group: ctx.row.id,
        delivery: None,
        sent_ns: at,
        inserted_ns: at,
        sequence_id: SequenceId::default(),
        kind: MessageKind::Application,
        status: MessageStatus::Unpublished,
        sender_inbox: me.inbox,
        sender_installation: me.installation,
        content_type: outbound.content_type.clone(),
        content: outbound.bytes.clone(),
        expires_ns: None,
    }
}
