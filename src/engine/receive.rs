//! One envelope of a group's topic, in order: applied, rejected for good, held, or waiting for an
//! identity look-up (PROC-011, PROC-012, GMOD-016, GMOD-021).
//!
//! The order of judgement: a floor above us pauses; an own envelope is known by its hash before MLS
//! sees it; a PublicMessage is refused; then MLS opens the message, and what it opened is judged.
//! A step that does not apply goes back to the savepoint before it; when the message was authentic
//! the ratchet step alone is kept.

use crate::base::{InstallationId, Map, MessageId, SequenceId, Set, Version};
use crate::commit::Verdict;
use crate::commit::kinds::{Place, unsupported};
use crate::delivery::Incoming;
use crate::engine::event::Event;
use crate::engine::state::{GroupCtx, Me, ThreadCtx};
use crate::engine::unit::Unit;
use crate::engine::{application, commits, settle};
use crate::members::{Reference, States};
use crate::mls::{self, FrameKind, OpenError, Opened};
use crate::store::rows::{EnvelopeRow, EnvelopeState, GroupState, Hold, MessageRow, Operation};
use crate::wire::ClientEnvelope;

/// The code of a hold for identity state that the service does not show.
pub const IDENTITY: &str = Verdict::IDENTITY;
/// The code of a pause.
const FLOOR: &str = "floor";

/// What became of an envelope.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// Its effects are in the unit.
    Applied,
    /// Seen before; nothing to do.
    Repeated,
    /// Refused for good: requirement id or code, and a sentence.
    Rejected(String, String),
    /// Its position waits: code and sentence.
    Held(String, String),
    /// Identity states to fetch first; nothing opened was kept.
    Needs(Set<Reference>),
    /// The message's id is taken: by which row has to be looked up first.
    NeedsMessage(MessageId),
}

/// What a step knows besides the group.
pub struct Known<'a> {
    /// Who we are.
    pub me: &'a Me,
    /// Those of the identity states asked for that are known here.
    pub identity: &'a dyn Fn(&Set<Reference>) -> States,
    /// Identity states that a commit will need are asked for before it is worked through. Without,
    /// only by one that passes whatever can be decided before.
    pub early: bool,
    /// Message rows looked up so far; `None` for an id that is free.
    pub messages: &'a Map<MessageId, Option<MessageRow>>,
    /// Whether an own device is revoked, as far as the own inbox's log was read.
    pub lost: &'a dyn Fn(InstallationId) -> bool,
    /// Hashes of own bytes met before.
    pub echoes: &'a Set<[u8; 32]>,
    /// Look every message id up before it is inserted: an insert of this step hit a taken one.
    pub careful: bool,
}

/// Processes one envelope and moves the position behind it unless it has to wait.
pub fn receive(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    envelope: &Incoming,
    unit: &mut Unit,
) -> Outcomes {
    let outcome = judge(ctx, thread, known, envelope, unit);
    match &outcome {
        Outcomes::Applied | Outcomes::Repeated => release(ctx, envelope.sequence_id, unit),
        Outcomes::Rejected(code, reason) => {
            record_rejection(envelope, code, reason, unit);
            release(ctx, envelope.sequence_id, unit);
        }
        Outcomes::Held(code, detail) => hold(ctx, code, detail, envelope.sequence_id, unit),
        Outcomes::Needs(_) | Outcomes::NeedsMessage(_) => {}
    }
    outcome
}

/// The group waits at an envelope; whoever looks at the conversation is told why (PROC-012).
pub fn hold(ctx: &mut GroupCtx, code: &str, detail: &str, at: SequenceId, unit: &mut Unit) {
    let hold = Hold { code: code.to_owned(), detail: detail.to_owned(), sequence_id: at };
    if ctx.row.hold.as_ref() != Some(&hold) {
        let new = |hold: &Hold| ctx.row.hold.as_ref().is_none_or(|old| old.code != hold.code);
        if let Some(floor) = paused_for(&hold).filter(|_| new(&hold)) {
            let (group, thread, floor) = (ctx.row.id, ctx.row.thread(), floor.to_owned());
            unit.events.push(Event::Paused { group, thread, floor });
        }
        ctx.row_mut().hold = Some(hold);
        ctx.announce(unit);
    }
}

fn release(ctx: &mut GroupCtx, at: SequenceId, unit: &mut Unit) {
    ctx.advance(at);
    if ctx.row.hold.is_some() {
        ctx.row_mut().hold = None;
        ctx.announce(unit);
    }
}

/// Keeps a terminal rejection with its reason, without the payload.
pub fn record_rejection(envelope: &Incoming, code: &str, reason: &str, unit: &mut Unit) {
    unit.changes.put(&EnvelopeRow {
        topic: envelope.topic,
        sequence_id: envelope.sequence_id,
        server_ns: envelope.server_ns,
        hash: envelope.hash,
        payload: Vec::new(),
        state: EnvelopeState::Rejected(code.to_owned(), reason.to_owned()),
        received_ns: unit.now,
    });
}

fn judge(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    envelope: &Incoming,
    unit: &mut Unit,
) -> Outcomes {
    if ctx.row.state != GroupState::Active || ctx.mls.is_none() {
        return reject("group.not_a_member", "received after the own removal");
    }
    // Before anything is read of it: what this version takes for noise, a newer one may know.
    if let Some(floor) = above(&ctx.row.settings.floor, &known.me.version) {
        return paused(&floor);
    }
    let data = match ClientEnvelope::decode(&envelope.payload) {
        Ok(ClientEnvelope::GroupMessage { data, .. }) => data,
        Ok(_) => return reject("PROC-011", "not a group message"),
        Err(error) => return reject("PROC-011", &error.to_string()),
    };
    let frame = match mls::peek(&data) {
        Ok(frame) => frame,
        Err(error) => return reject("PROC-011", &error.to_string()),
    };
    if frame.group_id != ctx.row.id {
        return reject("PROC-011", "names another group");
    }
    if let Some(attempt) = ctx.attempts.get(&envelope.hash).cloned() {
        return own(ctx, thread, known, &attempt, envelope, unit);
    }
    if known.echoes.contains(&envelope.hash) {
        return Outcomes::Repeated;
    }
    if frame.kind == FrameKind::Public {
        return reject("GMOD-002", "sent without membership encryption");
    }
    open(ctx, thread, known, (&data, frame.epoch), envelope, unit)
}

/// An envelope whose bytes we handed out ourselves.
fn own(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    attempt: &crate::store::rows::AttemptRow,
    envelope: &Incoming,
    unit: &mut Unit,
) -> Outcomes {
    let at = (envelope.sequence_id, envelope.server_ns);
    if attempt.commit {
        return commits::own(ctx, thread, known, attempt, at, unit);
    }
    let row = match ctx.intents.get(&attempt.intent).map(|intent| &intent.operation) {
        Some(Operation::Send { message, .. }) => match known.messages.get(message) {
            None => return Outcomes::NeedsMessage(*message),
            Some(row) => row.clone(),
        },
        // Whom a commit before it added cannot read it: it is told again.
        Some(Operation::Tell { .. }) if attempt.epoch < ctx.row.epoch => {
            settle::unreadable(ctx, attempt, unit);
            return Outcomes::Applied;
        }
        // The echo of something already settled.
        _ => None,
    };
    if attempt.epoch + (mls::profile::MAX_PAST_EPOCHS as u64) < ctx.row.epoch {
        settle::unreadable(ctx, attempt, unit);
        return reject("PROC-011", "an own message no member could still read here; it is encrypted again");
    }
    settle::message(ctx, thread, attempt, row, at, unit);
    Outcomes::Applied
}

fn open(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    (data, epoch): (&[u8], u64),
    envelope: &Incoming,
    unit: &mut Unit,
) -> Outcomes {
    let Some(state) = ctx.mls.as_mut() else { return reject("group.not_a_member", "no longer a member") };
    let savepoint = state.scratch.savepoint();
    let at = (envelope.sequence_id, envelope.server_ns);
    let outcome = match mls::open(&state.scratch, &mut state.group, data) {
        // One stay in the group ends with its removal: what was sent in it and comes after that is
        // given up by its sender, whether or not the sender was added again.
        Ok(Opened::Application { gone: true, .. }) => reject("PROC-011", application::GONE),
        Ok(Opened::Application { sender, plaintext, .. }) => {
            application::receive(ctx, thread, known, (&sender, &plaintext), at, unit)
        }
        Ok(Opened::Proposal(facts, pending)) => commits::proposal(ctx, known, &facts, pending),
        Ok(Opened::Commit(opened)) => commits::foreign(ctx, thread, known, opened, at, unit),
        Err(error) => {
            restore(ctx, &savepoint, false);
            return refused(ctx, error, (epoch, frame_is_application(data)), unit);
        }
    };
    match &outcome {
        Outcomes::Applied | Outcomes::Repeated => {}
        Outcomes::Rejected(..) => restore(ctx, &savepoint, true),
        Outcomes::Held(..) | Outcomes::Needs(_) | Outcomes::NeedsMessage(_) => {
            restore(ctx, &savepoint, false)
        }
    }
    outcome
}

fn frame_is_application(data: &[u8]) -> bool {
    mls::peek(data).is_ok_and(|frame| frame.kind == FrameKind::Application)
}

/// What OpenMLS refused to open.
fn refused(
    ctx: &mut GroupCtx,
    error: OpenError,
    (epoch, application): (u64, bool),
    unit: &mut Unit,
) -> Outcomes {
    match error {
        OpenError::Own => {
            // In our name and not from this database: its state was rolled back from outside.
            if epoch == ctx.row.epoch && !ctx.row.rolled_back {
                ctx.row_mut().rolled_back = true;
                ctx.add_intent(Operation::SelfUpdate, unit);
            }
            reject("PROC-011", "in our name, without an attempt of this database")
        }
        OpenError::WrongEpoch { .. } if epoch < ctx.row.epoch && !application => {
            reject("PROC-011", "a handshake message of a past epoch")
        }
        other => invalid(other),
    }
}

/// What follows from MLS refusing to open or to stage: it waits only where nothing is decided yet.
pub(super) fn invalid(error: OpenError) -> Outcomes {
    match error {
        OpenError::Unsupported(kind) => from_verdict(unsupported(kind, Place::Commit)),
        OpenError::BoundedLifetime => reject("lifetime", "an added key package expires"),
        OpenError::Scratch(error) => Outcomes::Held("storage".into(), error.to_string()),
        OpenError::Bug(what) => Outcomes::Held("bug".into(), what),
        other => reject("PROC-011", &other.to_string()),
    }
}

/// Goes back to `savepoint`; `ratchet` keeps the message secrets as they advanced.
fn restore(ctx: &mut GroupCtx, savepoint: &mls::Savepoint, ratchet: bool) {
    let id = ctx.row.id;
    let Some(state) = ctx.mls.as_mut() else { return };
    if ratchet {
        state.scratch.restore_keeping_ratchet(savepoint);
    } else {
        state.scratch.restore(savepoint);
    }
    // The group object may be ahead of the rows: read it again.
    if let Ok(Some(group)) = mls::Group::load(&state.scratch, id) {
        state.group = group;
    }
}

const PAUSED: &str = "the group requires version ";

/// A verdict of the rules as an outcome.
pub(super) fn from_verdict(verdict: Verdict) -> Outcomes {
    match verdict {
        Verdict::Applied => Outcomes::Applied,
        Verdict::Rejected { id, reason } => Outcomes::Rejected(id.to_owned(), reason),
        Verdict::Held { code, reason } => Outcomes::Held(code.to_owned(), reason),
        Verdict::Paused { floor } => paused(&floor),
    }
}

/// A group as loaded pauses while its committed floor is above `client`, though nothing new was met
/// in its topic: an older build of the app opened it. A newer one lifts that pause (GMOD-025).
pub fn pause_as_loaded(ctx: &mut GroupCtx, client: &Version) {
    let floor = above(&ctx.row.settings.floor, client);
    let at = ctx.position.processed;
    match (floor, &ctx.row.hold) {
        (Some(floor), None) => {
            let (code, detail) = (FLOOR.to_owned(), paused_sentence(&floor));
            ctx.row.hold = Some(Hold { code, detail, sequence_id: at });
        }
        // Behind the position nothing waits: it was no envelope that paused it.
        (None, Some(hold)) if hold.code == FLOOR && hold.sequence_id <= at => ctx.row.hold = None,
        _ => {}
    }
}

/// The floor, when it is above `client`; a malformed one never pauses (GMOD-025, GMOD-027).
pub(super) fn above(floor: &str, client: &Version) -> Option<String> {
    floor.parse::<Version>().ok().filter(|version| version > client).map(|version| version.to_string())
}

pub(super) fn paused(floor: &str) -> Outcomes {
    Outcomes::Held(FLOOR.to_owned(), paused_sentence(floor))
}

pub(super) fn paused_sentence(floor: &str) -> String {
    format!("{PAUSED}{floor} or later; update the app")
}

/// The version a paused group waits for: the floor that is, or the one a commit would set.
pub fn paused_for(hold: &Hold) -> Option<&str> {
    let (floor, _) = hold.detail.strip_prefix(PAUSED)?.split_once(' ')?;
    Some(floor)
}

pub(super) fn reject(code: &str, reason: &str) -> Outcomes {
    Outcomes::Rejected(code.to_owned(), reason.to_owned())
}
