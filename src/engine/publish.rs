//! The outbox of one group: what has to leave next, and what an answer means
//! (GMOD-004, GMOD-016, GMOD-018, GMOD-025, GMOD-036, SEND-007).
//!
//! | intent | next |
//! |---|---|
//! | an attempt without an outcome | hand out the very same bytes again |
//! | commit wanted, none in flight | build it on the present epoch |
//! | Committed | publish the Welcomes it owes |
//! | message not encrypted, no commit wanted | encrypt it |
//! | message not encrypted, proposals kept | want a commit that ends them |
//! | snapshot for the own devices | make a message of its next part |
//! | message for the own devices, a revoked one among them | remove that one first |
//! | message of a group that has ended | mark it as failed |

use crate::delivery::{Outgoing, Receipt};
use crate::engine::event::Event;
use crate::engine::state::GroupCtx;
use crate::engine::unit::Unit;
use crate::engine::{annotations, devices, leave, send, settle};
use crate::error::Error;
use crate::mls::{self};
use crate::store::rows::{
    AttemptRow, GroupKind, GroupState, IntentRow, IntentState, MessageRow, MessageStatus, Operation, Outcome,
};

/// Messages that leave in one request.
pub const BATCH: usize = 50;
/// Bytes that leave in one request.
pub const BATCH_BYTES: usize = 768 * 1024;

/// What the outbox of a group does next.
pub enum Work {
    /// Nothing to do.
    Nothing,
    /// Hand out these stored attempts, in one request.
    Publish(Vec<AttemptRow>),
    /// Build the commit of this intent: identity state and key packages are needed first.
    Build(u64),
    /// Encrypt the messages of these intents.
    Encrypt(Vec<u64>),
    /// Tell the own devices the next part of this snapshot.
    Snapshot(Box<IntentRow>),
    /// Messages wait behind kept proposals, or behind a state that was rolled back: a commit of ours
    /// ends those. It leaves proposals out, so that their authors may propose again.
    EndProposals,
    /// A device that was revoked is in the sync group: nothing is told before it is removed.
    RemoveLost,
    /// Mark the messages of these intents as failed, with the reason's code.
    GiveUp(Vec<u64>, String),
    /// Publish the Welcomes this intent owes.
    Welcomes(u64),
}

/// Looks at a group's intents and attempts, in order. `lost` says that a revoked device of the own
/// inbox is in this sync group.
pub fn next(ctx: &GroupCtx, lost: bool) -> Work {
    if let GroupState::Failed(code) = &ctx.row.state {
        return give_up(ctx, code);
    }
    if let Some(owed) = ctx.intents.values().find(|intent| intent.state == IntentState::Committed) {
        return Work::Welcomes(owed.number);
    }
    if ctx.row.kind == GroupKind::Sync && !devices::is_usable(&ctx.row) {
        return Work::Nothing;
    }
    if ctx.row.state == GroupState::Inactive {
        return give_up(ctx, "group.not_a_member");
    }
    if ctx.mls.is_none() {
        return Work::Nothing;
    }
    // A paused group publishes nothing but Welcomes it owes (GMOD-025).
    if ctx.row.hold.is_some() {
        return Work::Nothing;
    }
    let waiting = in_flight(ctx);
    if lost && waiting.iter().any(|attempt| !attempt.commit) {
        return Work::RemoveLost;
    }
    if !waiting.is_empty() {
        return Work::Publish(waiting);
    }
    if let Some(intent) = ctx.intents.values().find(|intent| intent.wants_commit()) {
        return match intent.state {
            IntentState::ToPublish => Work::Build(intent.number),
            // Accepted and not read back yet: the next read of the topic moves it on.
            _ => Work::Nothing,
        };
    }
    let waits = |intent: &&IntentRow| intent.state == IntentState::ToPublish;
    let waiting: Vec<&IntentRow> = ctx.intents.values().filter(waits).take(BATCH).collect();
    if waiting.is_empty() {
        return Work::Nothing;
    }
    if lost {
        return Work::RemoveLost;
    }
    if !send::ready(ctx) {
        // Also when the commit wanted for that before was given up.
        let ends = ctx.keeps_proposals() || ctx.row.rolled_back;
        return if ends { Work::EndProposals } else { Work::Nothing };
    }
    let sends = waiting.iter().filter(|intent| !devices::is_snapshot(intent));
    let sends: Vec<u64> = sends.map(|intent| intent.number).collect();
    match waiting.first().filter(|_| sends.is_empty()) {
        Some(snapshot) => Work::Snapshot(Box::new((*snapshot).clone())),
        None => Work::Encrypt(sends),
    }
}

/// Nothing leaves from this group any more: what waits in it never will.
fn give_up(ctx: &GroupCtx, code: &str) -> Work {
    let sends = ctx.intents.values().filter(|intent| !intent.operation.commits()).take(BATCH);
    let sends: Vec<u64> = sends.map(|intent| intent.number).collect();
    if sends.is_empty() { Work::Nothing } else { Work::GiveUp(sends, code.to_owned()) }
}

/// Attempts without an outcome, in the order of their intents: one commit, or a run of messages.
fn in_flight(ctx: &GroupCtx) -> Vec<AttemptRow> {
    let mut size = 0;
    let mut batch = Vec::new();
    for intent in ctx.intents.values() {
        let IntentState::Published(hash) = &intent.state else { continue };
        let Some(attempt) = ctx.attempts.get(hash).filter(|a| a.outcome == Outcome::Unknown) else {
            continue;
        };
        size += attempt.payload.len();
        if !batch.is_empty() && (attempt.commit || size > BATCH_BYTES || batch.len() == BATCH) {
            break;
        }
        let alone = attempt.commit;
        batch.push(attempt.clone());
        if alone {
            break;
        }
    }
    batch
}

/// Messages of an earlier epoch that the topic, read to its end, does not hold: whoever came in since
/// could not read them. They are encrypted again under the same idempotency key. The old attempt
/// stays, for a late echo.
pub fn reopen_outdated(ctx: &mut GroupCtx, unit: &mut Unit) {
    let now = ctx.row.epoch;
    reopen(ctx, |attempt| attempt.epoch < now, unit);
}

/// Messages that may not have left yet: they are encrypted again, for whoever is in the group then. Of
/// one that has left after all the own devices only hear twice.
pub fn withdraw(ctx: &mut GroupCtx, unit: &mut Unit) {
    reopen(ctx, |_| true, unit);
}

fn reopen(ctx: &mut GroupCtx, which: impl Fn(&AttemptRow) -> bool, unit: &mut Unit) {
    let open = |a: &&AttemptRow| !a.commit && a.outcome == Outcome::Unknown && which(a);
    let attempts: Vec<_> = ctx.attempts.values().filter(open).cloned().collect();
    for mut attempt in attempts {
        let current = ctx.intents.get(&attempt.intent);
        if let Some(mut intent) = current.filter(|i| i.state == IntentState::Published(attempt.hash)).cloned()
        {
            intent.state = IntentState::ToPublish;
            ctx.put_intent(intent, unit);
        }
        attempt.outcome = Outcome::Settled;
        ctx.put_attempt(attempt, unit);
        unit.changes.strict();
    }
}

/// The request of a batch of attempts.
pub fn request(attempts: &[AttemptRow]) -> Vec<Outgoing> {
    attempts
        .iter()
        .map(|a| Outgoing { topic: a.topic, payload: a.payload.clone(), identifiers: Vec::new() })
        .collect()
}

/// Notes that attempts were stored by the service. In memory only: a restart asks again.
pub fn accepted(ctx: &mut GroupCtx, attempts: &[AttemptRow], receipts: &[Receipt]) {
    for (attempt, receipt) in attempts.iter().zip(receipts) {
        if let Some(known) = ctx.attempts.get_mut(&attempt.hash) {
            known.outcome = Outcome::Accepted(receipt.sequence_id);
        }
    }
}

/// A definite refusal: the commit is dropped and its intent given up, a message becomes failed. What
/// is told to the own devices waits for another run.
///
/// `rows` is the row of a refused message.
pub fn refused(
    ctx: &mut GroupCtx,
    attempt: &AttemptRow,
    rows: Vec<MessageRow>,
    unit: &mut Unit,
) -> Result<(), Error> {
    ctx.end_attempt(attempt.hash, unit);
    unit.changes.strict();
    if attempt.commit {
        if let Some(mls) = ctx.mls.as_mut() {
            mls::clear_pending(&mls.scratch, &mut mls.group).map_err(Error::bug)?;
        }
        let why = "the delivery service refused the change for good";
        settle::given_up(ctx, attempt.intent, Error::new("delivery.refused", why), unit);
    } else if tells(ctx, attempt) {
        // The service may take it another time; the own devices are still to be told.
        settle::unreadable(ctx, attempt, unit);
    } else {
        ctx.end_intent(attempt.intent, unit);
        if let Some(request) = rows.iter().find(|row| leave::is_request(&row.content_type)) {
            leave::withdraw(ctx, request.sender_inbox);
        }
        rows.into_iter().for_each(|row| fail_message(row, "delivery.refused", unit));
    }
    Ok(())
}

/// True for a message to the own devices.
pub fn tells(ctx: &GroupCtx, attempt: &AttemptRow) -> bool {
    let intent = ctx.intents.get(&attempt.intent);
    intent.is_some_and(|intent| matches!(intent.operation, Operation::Tell { .. }))
}

/// Ends an intent whose message can never leave; the message says why.
pub fn give_up_message(
    ctx: &mut GroupCtx,
    number: u64,
    row: Option<MessageRow>,
    code: &str,
    unit: &mut Unit,
) {
    if let Some(IntentRow { state: IntentState::Published(hash), .. }) = ctx.intents.get(&number) {
        let hash = *hash;
        ctx.end_attempt(hash, unit);
    }
    ctx.end_intent(number, unit);
    if let Some(row) = row.filter(|row| row.status == MessageStatus::Unpublished) {
        if leave::is_request(&row.content_type) {
            leave::withdraw(ctx, row.sender_inbox);
        }
        fail_message(row, code, unit);
    }
    unit.changes.strict();
}

/// Ends everything a group still had to send; `rows` are the messages that never leave.
pub fn end_all(ctx: &mut GroupCtx, rows: Vec<MessageRow>, code: &str, unit: &mut Unit) {
    let numbers: Vec<u64> = ctx.intents.keys().copied().collect();
    numbers.into_iter().for_each(|number| ctx.end_intent(number, unit));
    let hashes: Vec<[u8; 32]> = ctx.attempts.keys().copied().collect();
    hashes.into_iter().for_each(|hash| ctx.end_attempt(hash, unit));
    rows.into_iter().for_each(|row| fail_message(row, code, unit));
    unit.changes.strict();
}

/// Marks a message as failed for good.
pub fn fail_message(mut row: MessageRow, code: &str, unit: &mut Unit) {
    annotations::take_off(&row, unit);
    let previous = std::mem::replace(&mut row.status, MessageStatus::Failed(code.to_owned()));
    let (id, group, thread, status) = (row.id, row.group, row.thread, row.status.clone());
    unit.changes.put(&row);
    unit.events.push(Event::MessageStatus { id, group, thread, previous, status });
}
