//! What an own envelope means once it is met in the topic (GMOD-016, GMOD-036, CONS-021).

use crate::base::{Nanos, SequenceId};
use crate::consent::{Entity, sending};
use crate::engine::event::Event;
use crate::engine::state::{GroupCtx, ThreadCtx};
use crate::engine::unit::Unit;
use crate::store::rows::{AttemptRow, IntentState, MessageRow, MessageStatus, Operation, SettingsView};

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
    row.status = MessageStatus::Published;
    row.sent_ns = server_ns;
    row.sequence_id = at;
    row.delivery = Some(unit.next_delivery());
    row.expires_ns = expiry(&ctx.row.settings, server_ns);
    raise_activity(ctx, server_ns);
    let stored = thread.consents.get(&row.group).copied();
    if let Some(record) = sending(stored.as_ref(), row.group, unit.now) {
        debug_assert_eq!(record.entity, Entity::Conversation(row.group));
        thread.consents.insert(row.group, record);
        unit.put_consent(stored.as_ref(), record);
    }
    unit.changes.put(&row);
    unit.events.push(Event::MessageStatus {
        id: row.id,
        group: row.group,
        thread: row.thread,
        status: MessageStatus::Published,
    });
    unit.events.push(Event::Message { row: Box::new(row), consent: thread.state() });
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

/// An own commit was applied at `at`: Welcomes it owes come next, otherwise it is finished.
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
        None => ctx.end_intent(attempt.intent, unit),
    }
}

/// The epoch moved past an own commit in flight: it is built again on the new state (GMOD-036).
/// Its attempt stays until its late echo, or a refusal.
pub fn rebuild_stale(ctx: &mut GroupCtx, unit: &mut Unit) {
    let stale: Vec<_> = ctx
        .intents
        .values()
        .filter(|intent| !matches!(intent.operation, Operation::Send { .. }))
        .filter(|intent| match &intent.state {
            IntentState::Published(hash) => ctx.attempts.get(hash).is_none_or(|a| a.epoch < ctx.row.epoch),
            _ => false,
        })
        .cloned()
        .collect();
    for mut intent in stale {
        intent.state = IntentState::ToPublish;
        intent.welcome = None;
        ctx.put_intent(intent, unit);
    }
}
