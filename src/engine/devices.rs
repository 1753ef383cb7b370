//! The sync group of one inbox's devices: whom a Welcome to it may come from (SYNC-010), what is told
//! in it, and what a message of it means (facts 6.1, 6.2).
//!
//! A sync group is no conversation: it has no thread, no line in the list, no consent record, no
//! message rows, and no event names it. What is told in it is a list of consent records; telling
//! one twice changes nothing (CONS-010), so what is not certain is told again:
//! - A decision made here is owed until a message that holds it is stored ([`tell`]).
//! - Whoever adds a device to the group, or enters one with a device it did not meet in others, tells
//!   all that is stored with a time ([`want_snapshot`]), inherited and imported records too: the
//!   other one can read nothing older. Once a device is removed all others do: it may have been
//!   the one that still had to tell. That repeats what was told before, but never because it arrived.
//! - A message met behind a commit it was not encrypted for is told again: whom that commit added
//!   cannot read it.
//!
//! So whoever is in the group has read every decision, or is told it by who brought it in.

use crate::base::{InboxId, InstallationId};
use crate::consent::{Record, usable};
use crate::engine::receive::{Outcomes, reject};
use crate::engine::state::GroupCtx;
use crate::engine::unit::Unit;
use crate::members::Members;
use crate::mls::facts::JoinFacts;
use crate::store::rows::{GroupKind, GroupRow, GroupState, IntentRow, IntentState, Operation};
use crate::wire::{ConsentSave, EncodedContent, consents_of, preference_updates};

/// Whether a Welcome to a sync group is the own inbox's throughout: its adder, every leaf, every
/// membership entry (SYNC-010). Anyone else in it could decide for the user, and read what the user
/// decides.
pub fn admit(facts: &JoinFacts, own: InboxId) -> Result<(), Outcomes> {
    let members = Members::read(&facts.group.dictionary);
    let ours = facts.adder.inbox == Some(own)
        && facts.group.leaves.iter().all(|leaf| leaf.inbox == Some(own))
        && members.is_ok_and(|members| members.0.keys().all(|inbox| *inbox == own));
    match ours {
        true => Ok(()),
        false => Err(reject("SYNC-010", "a sync group that is not of the own inbox alone")),
    }
}

/// Whether decisions are told in it: we are in it, and nobody but the own inbox is. It was admitted
/// like that; a device that does what none should could have added others since.
pub fn is_usable(row: &GroupRow) -> bool {
    let ours = row.members.iter().all(|member| member.inbox == row.adder);
    row.kind == GroupKind::Sync && row.state == GroupState::Active && ours
}

/// True when a sync group holds a device that none of the groups `before` does, if there are any:
/// what was told in those did not reach it.
pub fn meets_others(row: &GroupRow, before: &[GroupRow]) -> bool {
    let knows = |device: &InstallationId| before.iter().any(|row| devices_in(row).any(|one| one == device));
    !before.is_empty() && !devices_in(row).all(knows)
}

fn devices_in(row: &GroupRow) -> impl Iterator<Item = &InstallationId> {
    row.members.iter().flat_map(|member| &member.installations)
}

/// Stores a message with these records. The outbox encrypts and publishes it.
pub fn tell(ctx: &mut GroupCtx, records: &[Record], key: String, unit: &mut Unit) {
    let content = preference_updates(records.iter().map(ConsentSave::from)).encode();
    ctx.add_intent(Operation::Tell { content, key }, unit);
    unit.changes.strict();
}

/// Wants everything told that is stored with a time, from the start. That includes all that is owed.
pub fn want_snapshot(ctx: &mut GroupCtx, unit: &mut Unit) {
    if !is_usable(&ctx.row) {
        return;
    }
    let operation = Operation::Snapshot { after: Vec::new() };
    match ctx.intents.values().find(|intent| is_snapshot(intent)).cloned() {
        Some(under_way) => ctx.put_intent(IntentRow { operation, ..under_way }, unit),
        None => _ = ctx.add_intent(operation, unit),
    }
    unit.settle_all_owed();
    unit.changes.strict();
}

/// Tells the next records of a snapshot that came to the key `reached`, or ends it.
pub fn go_on(
    ctx: &mut GroupCtx,
    mut snapshot: IntentRow,
    (records, key): (&[Record], String),
    reached: Option<Vec<u8>>,
    unit: &mut Unit,
) {
    if !records.is_empty() {
        tell(ctx, records, key, unit);
    }
    match reached {
        Some(after) => {
            snapshot.operation = Operation::Snapshot { after };
            ctx.put_intent(snapshot, unit);
        }
        None => ctx.end_intent(snapshot.number, unit),
    }
    unit.changes.strict();
}

/// True for what tells a snapshot.
pub fn is_snapshot(intent: &IntentRow) -> bool {
    matches!(intent.operation, Operation::Snapshot { .. })
}

/// Takes what is still to be told out of a group nothing is told in any more; true when there was
/// something.
pub fn give_up(ctx: &mut GroupCtx, unit: &mut Unit) -> bool {
    let tells = |intent: &&IntentRow| !intent.operation.commits();
    let left: Vec<IntentRow> = ctx.intents.values().filter(tells).cloned().collect();
    for intent in &left {
        if let IntentState::Published(hash) = intent.state {
            ctx.end_attempt(hash, unit);
        }
        ctx.end_intent(intent.number, unit);
    }
    !left.is_empty()
}

/// Reads a message of a sync group: its records are merged before the unit is committed. Unusable
/// ones are dropped one by one (CONS-003).
///
/// `ours` is false for whoever is no device of the inbox, or is one no more: a revoked device may
/// still be in the group, or have made it with a membership of the time before. It decides nothing.
pub fn receive(ours: bool, content: &[u8], unit: &mut Unit) -> Outcomes {
    if !ours {
        return Outcomes::Applied;
    }
    match EncodedContent::decode(content).and_then(|content| consents_of(&content)) {
        Ok(saves) => {
            unit.received.extend(usable(&saves));
            Outcomes::Applied
        }
        Err(error) => reject("PROC-011", &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{GroupId, Nanos};
    use crate::consent::{Entity, State};
    use crate::store::rows::CountersRow;

    #[test]
    fn cons_010_a_revoked_device_decides_nothing() {
        let entity = Entity::Conversation(GroupId([1; 16]));
        let record = Record { entity, state: State::Allowed, consented_at_ns: Nanos(i64::MAX) };
        let content = preference_updates([ConsentSave::from(&record)].into_iter()).encode();
        for (ours, merged) in [(true, vec![record]), (false, Vec::new())] {
            let mut unit = Unit::new(Nanos(1), CountersRow::default(), 0);
            assert!(matches!(receive(ours, &content, &mut unit), Outcomes::Applied));
            assert_eq!(unit.received, merged);
        }
    }
}
