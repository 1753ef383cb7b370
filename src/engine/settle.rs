//! What an own envelope means once it is met in the topic, and what a new epoch means for what is
//! still to be sent (GMOD-016, GMOD-036, CONS-021).

use crate::base::{GroupId, InstallationId, Nanos, SequenceId};
use crate::consent::{Record, State, sending};
use crate::engine::event::Event;
use crate::engine::operations;
use crate::engine::state::{GroupCtx, ThreadCtx};
use crate::engine::unit::Unit;
use crate::engine::{annotations, consent};
use crate::error::Error;
use crate::store::rows::{
    AttemptRow, GroupKind, GroupRow, GroupState, IntentRow, IntentState, LeftOut, MessageRow, MessageStatus,
    SettingsView,
};

/// Attempts no intent names any more are kept for a late echo so many epochs.
const KEPT_EPOCHS: u64 = 3;

/// Puts an own message at its place: published, numbered, and counted as activity.
pub fn message(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    attempt: &AttemptRow,
    row: Option<MessageRow>,
    (at, server_ns): (SequenceId, Nanos),
    unit: &mut Unit,
) {
    ctx.end_attempt(attempt.hash, unit);
    ctx.end_intent(attempt.intent, unit);
    // Absent only when the app deleted it meanwhile; a second echo finds it published already.
    let Some(mut row) = row.filter(|row| row.status != MessageStatus::Published) else { return };
    let implied = implied(thread, &row, unit.now);
    annotations::take_off(&row, unit);
    let previous = std::mem::replace(&mut row.status, MessageStatus::Published);
    row.sent_ns = server_ns;
    row.sequence_id = at;
    row.delivery = Some(unit.next_delivery());
    row.expires_ns = annotations::lasting(&row.content_type, expiry(&ctx.row.settings, server_ns));
    raise_activity(ctx, server_ns);
    consent::put(thread, &implied, State::Allowed, unit);
    unit.changes.put(&row);
    annotations::note(&row, ctx.row.settings.super_admins.contains(&row.sender_inbox), thread, unit);
    unit.events.push(Event::MessageStatus {
        id: row.id,
        group: row.group,
        thread: row.thread,
        previous,
        status: MessageStatus::Published,
    });
    unit.events.push(Event::Message { row: Box::new(row), consent: thread.state() });
}

/// The groups that an unpublished message allows once it is published: every one of the set, unless
/// its own and the thread are allowed already, or the thread was blocked since it was written
/// (CONS-021, design section 8).
fn implied(thread: &ThreadCtx, message: &MessageRow, now: Nanos) -> Vec<GroupId> {
    let (decided, own) = (thread.decided(), message.group);
    let allowed = |record| sending(record, own, now).is_none();
    if allowed(decided) && allowed(thread.consent(own)) || blocked_since(decided, message) {
        return Vec::new();
    }
    consent::groups_of(thread)
}

/// A block the user made after writing an unpublished message is the later decision and stays,
/// however late the message leaves. One written over a block of a clock that was ahead carries that
/// block's time instead of its own, and one blocked with a clock that was set back a time before the
/// block ([`overtaken`]): any other block is a later one.
///
/// [`overtaken`]: crate::engine::consent::overtaken
pub fn blocked_since(decided: Option<&Record>, message: &MessageRow) -> bool {
    let Some(block) = decided.filter(|record| record.state == State::Denied) else { return false };
    let over_a_later_clock = message.inserted_ns != message.sent_ns;
    match over_a_later_clock {
        true => block.consented_at_ns != message.inserted_ns,
        false => block.consented_at_ns > message.inserted_ns,
    }
}

/// An own message met so many epochs behind that no member can read it there: it is encrypted again
/// under the same idempotency key.
pub fn unreadable(ctx: &mut GroupCtx, attempt: &AttemptRow, unit: &mut Unit) {
    ctx.end_attempt(attempt.hash, unit);
    let current = ctx.intents.get(&attempt.intent);
    if let Some(mut intent) = current.filter(|i| i.state == IntentState::Published(attempt.hash)).cloned() {
        intent.state = IntentState::ToPublish;
        ctx.put_intent(intent, unit);
    }
}

/// Retained activity only rises (DMS-013).
pub fn raise_activity(ctx: &mut GroupCtx, at: Nanos) {
    if ctx.row.last_message_ns.is_none_or(|known| at > known) {
        ctx.row_mut().last_message_ns = Some(at);
    }
}

/// When a message sent at `sent` disappears under the group's settings (META-050).
pub fn expiry(settings: &SettingsView, sent: Nanos) -> Option<Nanos> {
    let SettingsView { disappear_from_ns: from, disappear_in_ns: lasts, .. } = settings;
    (*from > 0 && *lasts > 0 && sent.0 >= *from).then(|| Nanos(sent.0.saturating_add(*lasts)))
}

/// An own commit was applied at `at`, and the row shows it: Welcomes it owes come next, otherwise
/// what is left of the operation.
pub fn committed(ctx: &mut GroupCtx, attempt: &AttemptRow, at: SequenceId, unit: &mut Unit) {
    ctx.end_attempt(attempt.hash, unit);
    let Some(mut intent) = ctx.intents.get(&attempt.intent).cloned() else { return };
    match &mut intent.welcome {
        Some(owed) => {
            owed.anchor = at;
            intent.state = IntentState::Committed;
            ctx.put_intent(intent, unit);
            unit.changes.strict();
        }
        None => completed(ctx, attempt.intent, unit),
    }
}

/// A commit of an operation is applied and owes nothing any more: the rest of a split one comes
/// next, otherwise it has ended. Whoever was removed meanwhile cannot do the rest.
pub fn completed(ctx: &mut GroupCtx, number: u64, unit: &mut Unit) {
    let Some(mut intent) = ctx.intents.get(&number).cloned() else { return };
    if operations::remaining(&ctx.row, &intent.operation, &intent.left_out).is_empty() {
        return ctx.finish_intent(number, Ok(()), unit);
    }
    if !ctx.is_active() {
        return ctx.finish_intent(number, Err(removed_meanwhile()), unit);
    }
    intent.state = IntentState::ToPublish;
    (intent.welcome, intent.builds) = (None, 0);
    ctx.put_intent(intent, unit);
    unit.changes.strict();
}

/// The epoch moved: an own commit in flight is built again on the new state (GMOD-036), unless
/// nothing is left to do. Its attempt stays a while, so that a late echo is known.
pub fn rebuild_stale(ctx: &mut GroupCtx, unit: &mut Unit) {
    let open = |intent: &&IntentRow| intent.operation.commits() && intent.state != IntentState::Committed;
    let waiting: Vec<IntentRow> = ctx.intents.values().filter(open).cloned().collect();
    for mut intent in waiting {
        if operations::is_done(&ctx.row, &intent.operation, &intent.left_out) {
            ctx.finish_intent(intent.number, Ok(()), unit);
            continue;
        }
        if let IntentState::Published(hash) = intent.state
            && ctx.attempts.get(&hash).is_none_or(|attempt| attempt.epoch < ctx.row.epoch)
        {
            intent.state = IntentState::ToPublish;
            intent.welcome = None;
            forget_left_out(&ctx.row, &mut intent.left_out);
            ctx.put_intent(intent, unit);
        }
    }
    forget_old_attempts(ctx, unit);
}

/// Keeps of those left out what commits that were applied left out: the next attempt finds the others
/// anew, or brings them in.
fn forget_left_out(row: &GroupRow, left_out: &mut LeftOut) {
    left_out.inboxes.clear();
    let known = |id: &InstallationId| {
        row.members.iter().any(|member| member.failed.contains(id) || member.installations.contains(id))
    };
    left_out.installations.retain(known);
}

/// What an operation ends with that own removal has cut off.
pub fn removed_meanwhile() -> Error {
    Error::new("group.not_a_member", "this installation was removed from the group meanwhile")
}

fn forget_old_attempts(ctx: &mut GroupCtx, unit: &mut Unit) {
    let named = |hash: &[u8; 32]| ctx.intents.values().any(|i| i.state == IntentState::Published(*hash));
    let old = ctx.attempts.values().filter(|a| a.epoch + KEPT_EPOCHS < ctx.row.epoch && !named(&a.hash));
    let old: Vec<[u8; 32]> = old.map(|attempt| attempt.hash).collect();
    old.into_iter().for_each(|hash| ctx.end_attempt(hash, unit));
}

/// A change of ours can never be made, and `why`. A DM that nobody else is in has failed with it:
/// its messages are given up, and `createDm` may try again.
pub fn given_up(ctx: &mut GroupCtx, intent: u64, why: Error, unit: &mut Unit) {
    let code = why.code;
    ctx.finish_intent(intent, Err(why), unit);
    unit.changes.strict();
    if ctx.row.kind != GroupKind::Dm || ctx.row.members.len() > 1 {
        return;
    }
    ctx.row_mut().state = GroupState::Failed(code.to_owned());
    ctx.drop_mls(unit);
    let changes = |intent: &&IntentRow| intent.operation.commits();
    let numbers: Vec<u64> = ctx.intents.values().filter(changes).map(|intent| intent.number).collect();
    numbers.into_iter().for_each(|number| ctx.end_intent(number, unit));
}
