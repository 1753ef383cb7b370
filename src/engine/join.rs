//! A Welcome that was opened: judged whole before anything is written
//! (JOIN, DMS-003, DMS-008, DMS-010, DMS-015, CONS-022 to CONS-025).

use crate::base::Set;

use crate::base::{Nanos, SequenceId, ThreadId};
use crate::commit::transcript;
use crate::consent::{Entity, Join, State, start};
use crate::delivery::Incoming;
use crate::dm::{AdmissionError, Admitted, admit as admit_kind, check_activation};
use crate::engine::consent::{siblings, tell};
use crate::engine::event::Event;
use crate::engine::opening::OpenedJoin;
use crate::engine::receive::{Outcomes, above, paused};
use crate::engine::state::{GroupCtx, Me, MlsState, ThreadCtx};
use crate::engine::unit::Unit;
use crate::engine::{devices, threads, transcripts, views};
use crate::members::{self, JoinError, Members, Reference, States, references};
use crate::meta::{ConversationType, Dictionary};
use crate::mls::facts::JoinFacts;
use crate::store::rows::{GroupKind, GroupRow, GroupState, SettingsView};

/// The identity states the Welcome's membership names.
pub fn needed(facts: &JoinFacts) -> Set<Reference> {
    // A membership that cannot be read needs nothing: the Welcome is refused.
    Members::read(&facts.group.dictionary).map(|members| references::of_join(&members)).unwrap_or_default()
}

/// Joins what [`admit`] admitted as `kind`: the new group with its thread, consent and transcript in
/// `unit`.
///
/// `existing` is the row of a group with this id, when there is one. A sync group has none of the
/// three.
pub fn settle(
    me: &Me,
    (opened, kind): (OpenedJoin, GroupKind),
    existing: Option<(&GroupRow, u64)>,
    thread: &mut ThreadCtx,
    envelope: &Incoming,
    unit: &mut Unit,
) -> Result<GroupCtx, Outcomes> {
    let reject = |reason: String| Outcomes::Rejected("JOIN-060".into(), reason);
    let OpenedJoin { scratch, pending, facts, .. } = opened;
    let (anchor, adder) = (SequenceId(facts.anchor), facts.adder.clone());
    let adder_inbox = adder.inbox.ok_or_else(|| reject("the adder's credential names no inbox".into()))?;
    let dictionary = Dictionary::new(&facts.group.dictionary);
    let creator = dictionary.creator().map_err(|error| reject(error.to_string()))?;
    let group = pending
        .join(&scratch, existing.is_some())
        .map_err(|error| Outcomes::Rejected("JOIN".into(), error.to_string()))?;

    let mut row = GroupRow {
        id: facts.group.group_id,
        kind,
        dm: match thread.id {
            ThreadId::Dm(dm) => Some(dm),
            ThreadId::Group(_) => None,
        },
        state: GroupState::Active,
        adder: adder_inbox,
        creator,
        created_ns: existing.map_or(envelope.server_ns, |(row, _)| row.created_ns),
        joined_ns: unit.now,
        anchor,
        last_message_ns: existing.and_then(|(row, _)| row.last_message_ns),
        hold: None,
        epoch: 0,
        authenticator: Vec::new(),
        members: Vec::new(),
        settings: SettingsView::default(),
        rolled_back: false,
        last_intent: existing.map_or(0, |(row, _)| row.last_intent),
        leaving: Vec::new(),
        left: false,
    };
    views::describe(&mut row, &group.facts(), group.authenticator());
    let revision = existing.map_or(0, |(_, revision)| revision);
    if existing.is_some() {
        unit.changes
            .delete_prefix(crate::store::Table::Mls, &crate::store::rows::MlsPageRow::group_prefix(row.id));
    }
    let ctx = GroupCtx::fresh(row, revision, Some(MlsState { scratch, group }), anchor);
    if kind == GroupKind::Sync {
        // No app is told; other clients on the database begin to read it.
        let (group, thread, adder) = (ctx.row.id, thread.id, Some(adder_inbox));
        let (consent, duplicate) = (State::Unknown, false);
        unit.events.push(Event::Conversation { group, thread, kind, consent, duplicate, adder });
        return Ok(ctx);
    }
    // A commit may remove and add us at once: then the request is still pending.
    let left = existing.is_some_and(|(row, _)| row.left || row.leaving.contains(&me.inbox));
    let before = thread.row.as_ref().map(|_| thread.state());
    consent(me, &ctx, thread, (envelope.server_ns, left), unit);
    let duplicate = threads::goes_on_elsewhere(thread, ctx.row.id);
    threads::refresh(thread, &ctx.row, unit);
    if let Some(before) = before {
        tell(thread, before, unit);
    }
    let update = transcript::of_join(adder_inbox, me.inbox);
    let source = transcripts::Source {
        key: format!("{}_welcome_added", envelope.server_ns.0),
        sender: (adder_inbox, adder.installation),
        at: (anchor, envelope.server_ns),
    };
    transcripts::record(&ctx, thread, &update, &source, unit);
    let consent = thread.state();
    unit.events.push(Event::Conversation {
        group: ctx.row.id,
        thread: thread.id,
        kind,
        consent,
        duplicate,
        adder: Some(adder_inbox),
    });
    Ok(ctx)
}

/// Every check of a join, in order; nothing is written before the last. `existing` is the row of a
/// group with this id, when there is one.
pub fn admit(
    me: &Me,
    facts: &JoinFacts,
    existing: Option<(&GroupRow, u64)>,
    identity: &States,
    envelope: &Incoming,
) -> Result<GroupKind, Outcomes> {
    if existing.is_some_and(|(row, _)| row.state == GroupState::Active) {
        return Err(Outcomes::Repeated);
    }
    let reject = |id: &str, reason: String| Outcomes::Rejected(id.to_owned(), reason);
    let refused = |error: AdmissionError| reject(error.id(), error.to_string());
    let (kind, dm) = match admit_kind(facts, me.inbox).map_err(refused)? {
        Admitted::Dm(dm) => (GroupKind::Dm, Some(dm)),
        Admitted::Other(ConversationType::Group) => (GroupKind::Group, None),
        Admitted::Other(ConversationType::Sync) => {
            devices::admit(facts, me.inbox)?;
            (GroupKind::Sync, None)
        }
        Admitted::Other(_) => {
            return Err(reject("JOIN-060", "a kind of conversation this version does not know".into()));
        }
    };
    members::check_join(facts, (me.inbox, me.installation), envelope.sequence_id, identity).map_err(
        |error| match error {
            // All of them at once. What is refused without any was refused before (DMS-003).
            JoinError::Needed(_) => Outcomes::Needs(identity.missing(&needed(facts))),
            refused => reject(refused.id(), refused.to_string()),
        },
    )?;
    // A group's kind and pair are fixed for ever: a placeholder keeps its own (DMS-015), and so does
    // a group we left. Whoever knows its id could else move its history elsewhere.
    if let Some((row, _)) = existing {
        if (row.kind == GroupKind::Sync) != (kind == GroupKind::Sync) {
            return Err(reject("META-004", "the group is stored here as another kind".into()));
        }
        check_activation(row.dm, dm).map_err(|error| match row.state {
            GroupState::Restored => refused(error),
            _ => reject("META-004", error.to_string()),
        })?;
    }
    let dictionary = Dictionary::new(&facts.group.dictionary);
    match above(dictionary.floor_text().unwrap_or_default(), &me.version) {
        Some(floor) => Err(paused(&floor)),
        None => Ok(kind),
    }
}

/// The one record a join begins with (CONS-022 to CONS-025, DMS-010).
fn consent(
    me: &Me,
    ctx: &GroupCtx,
    thread: &mut ThreadCtx,
    (welcome_ns, left): (Nanos, bool),
    unit: &mut Unit,
) {
    let group = ctx.row.id;
    let stored = thread.consents.get(&group).copied();
    let record = start(&Join {
        group,
        own: me.inbox,
        creator: ctx.row.creator,
        adder: ctx.row.adder,
        stored: stored.as_ref(),
        siblings: &siblings(thread, group),
        left,
        welcome_ns,
    });
    if let Some(record) = record {
        debug_assert_eq!(record.entity, Entity::Conversation(group));
        thread.consents.insert(group, record);
        unit.put_consent(stored.as_ref(), record);
    }
}
