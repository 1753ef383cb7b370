//! A commit or a proposal met in the topic, own or foreign: judged by the same rules, merged last
//! (GMOD-016, GMOD-019, GMOD-021, GMOD-036).

use crate::base::Gather as _;
use crate::base::Set;

use crate::base::{Nanos, SequenceId};
use crate::commit::{self, Ground, Verdict, transcript};
use crate::engine::event::Event;
use crate::engine::receive::{Known, Outcomes, from_verdict, invalid, reject};
use crate::engine::state::{GroupCtx, ThreadCtx};
use crate::engine::unit::Unit;
use crate::engine::{build, devices, leave, settle, transcripts, views};
use crate::members::{Members, Reference, references};
use crate::meta::{Op, next_dictionary};
use crate::mls::facts::{AppDataOp, CommitFacts, LeafFacts, ProposalFacts, RawDictionary, SenderFacts};
use crate::mls::{self, OpenedCommit, PendingProposal};
use crate::store::rows::{AttemptRow, GroupKind, GroupState, IntentRow, IntentState};

/// So many identity states are asked for early. A commit that wants more, as no usual one does, is
/// judged first as far as it can be.
const FORESEEN: usize = 64;

/// A commit of ours, read back.
pub fn own(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    attempt: &AttemptRow,
    at: (SequenceId, Nanos),
    unit: &mut Unit,
) -> Outcomes {
    if attempt.epoch < ctx.row.epoch {
        ctx.end_attempt(attempt.hash, unit);
        return reject("GMOD-036", "an own commit of a past epoch; the change is built again");
    }
    let Some(state) = ctx.mls.as_mut() else { return reject("group.not_a_member", "no longer a member") };
    let Some(facts) = mls::pending_facts(&state.group) else {
        return Outcomes::Held("bug".into(), "an own commit in flight is not pending in MLS".into());
    };
    match examine(&facts, known, at) {
        Outcomes::Applied => {}
        Outcomes::Rejected(code, reason) => {
            if let Err(error) = mls::clear_pending(&state.scratch, &mut state.group) {
                return Outcomes::Held("storage".into(), error.to_string());
            }
            ctx.end_attempt(attempt.hash, unit);
            settle::given_up(ctx, attempt.intent, build::refused(&code, &reason), unit);
            return Outcomes::Rejected(code, reason);
        }
        waiting => return waiting,
    }
    if let Err(error) = mls::merge_pending(&state.scratch, &mut state.group) {
        return Outcomes::Held("bug".into(), error.to_string());
    }
    applied(ctx, thread, known, (&facts, Some(attempt)), at, unit);
    Outcomes::Applied
}

/// A commit of another installation.
pub fn foreign(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    opened: OpenedCommit,
    at: (SequenceId, Nanos),
    unit: &mut Unit,
) -> Outcomes {
    let Some(state) = ctx.mls.as_mut() else { return reject("group.not_a_member", "no longer a member") };
    let before = state.group.dictionary();
    let after = match next_dictionary(&before, &operations(opened.app_data())) {
        Ok((after, _)) => after,
        Err(error) => return from_verdict(commit::refused_updates(&error)),
    };
    if known.early {
        let missing = foreseen(&before, &after, opened.committer(), known);
        if !missing.is_empty() && missing.len() <= FORESEEN {
            return Outcomes::Needs(missing);
        }
    }
    let staged = match mls::stage(&state.scratch, &state.group, opened, &after) {
        Ok(staged) => staged,
        Err(error) => return invalid(error),
    };
    match examine(staged.facts(), known, at) {
        Outcomes::Applied => {}
        other => return other,
    }
    let facts = match mls::merge(&state.scratch, &mut state.group, staged) {
        Ok(facts) => facts,
        Err(error) => return Outcomes::Held("bug".into(), error.to_string()),
    };
    applied(ctx, thread, known, (&facts, None), at, unit);
    Outcomes::Applied
}

/// The identity states a commit will be judged by, as far as its changes of the dictionary tell, that
/// are not known here.
fn foreseen(
    before: &RawDictionary,
    after: &RawDictionary,
    committer: &SenderFacts,
    known: &Known<'_>,
) -> Set<Reference> {
    let members = (Members::read(before), Members::read(after));
    let ((Ok(before), Ok(after)), SenderFacts::Member(leaf)) = (members, committer) else {
        return Set::new();
    };
    let needed = references::of_commit(&before, &after, leaf.inbox);
    (known.identity)(&needed).missing(&needed)
}

/// The checks every commit passes before it is merged, whoever built it. Identity state is asked
/// for only by a commit that passes whatever can be decided without it.
fn examine(facts: &CommitFacts, known: &Known<'_>, at: (SequenceId, Nanos)) -> Outcomes {
    let needed = commit::needed(facts);
    let states = (known.identity)(&needed);
    let ground = Ground { position: at.0, states: &states, client: &known.me.version };
    match commit::judge(facts, &ground) {
        waits @ Verdict::Held { code: Verdict::IDENTITY, .. } => {
            let missing = states.missing(&needed);
            if missing.is_empty() { from_verdict(waits) } else { Outcomes::Needs(missing) }
        }
        verdict => from_verdict(verdict),
    }
}

/// What follows from a merged commit: of another installation, or the own one of an attempt.
fn applied(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    (facts, attempt): (&CommitFacts, Option<&AttemptRow>),
    at: (SequenceId, Nanos),
    unit: &mut Unit,
) {
    let leaving = ctx.row.leaving.iter().copied().gather();
    let (group, of) = (ctx.row.id, ctx.row.thread());
    let changed = transcript::changed(&facts.before.dictionary, &facts.dictionary_after);
    let shown = ctx.row.kind != GroupKind::Sync;
    if shown && !changed.is_empty() {
        unit.events.push(Event::SettingsChanged { group, thread: of, changed });
    }
    if let (true, Ok(Some(update)), SenderFacts::Member(by)) =
        (shown, transcript::of_commit(facts, &leaving), &facts.committer)
    {
        let (added, removed) = (update.added.clone(), [update.removed.as_slice(), &update.left].concat());
        if !added.is_empty() || !removed.is_empty() {
            unit.events.push(Event::MembersChanged { group, thread: of, added, removed });
        }
        let sender = (by.inbox.unwrap_or(known.me.inbox), by.installation);
        let source = transcripts::Source { key: at.1.0.to_string(), sender, at };
        transcripts::record(ctx, thread, &update, &source, unit);
    }
    if let Some(state) = &ctx.mls {
        let (after, authenticator) = (state.group.facts(), state.group.authenticator());
        let rolled_back_ends =
            facts.path_leaf.as_ref().is_some_and(|l| l.installation == known.me.installation);
        let row = ctx.row_mut();
        views::describe(row, &after, authenticator);
        row.rolled_back &= !rolled_back_ends;
        leave::settle(row, known.me.inbox);
    }
    if let Some(attempt) = attempt {
        settle::committed(ctx, attempt, at.0, unit);
    }
    let gone = |leaf: &LeafFacts| !facts.leaves_after.contains(leaf);
    if attempt.is_some() && facts.before.leaves != facts.leaves_after || facts.before.leaves.iter().any(gone)
    {
        devices::want_snapshot(ctx, unit);
    }
    // Asked of MLS: a commit that removes our leaf may add another one for this installation, which
    // we enter by its Welcome (GMOD-015).
    if ctx.mls.as_ref().is_some_and(|state| !state.group.is_active()) {
        removed(ctx, unit);
    }
    settle::rebuild_stale(ctx, unit);
    leave::serve(ctx, known.me, unit);
    ctx.announce(unit);
}

/// Own removal: history stays, every MLS row goes, nothing more is published but the Welcomes that
/// applied commits owe (GMOD-018).
fn removed(ctx: &mut GroupCtx, unit: &mut Unit) {
    ctx.row_mut().state = GroupState::Inactive;
    let (group, thread, left) = (ctx.row.id, ctx.row.thread(), ctx.row.left);
    unit.events.push(Event::Removed { group, thread, left });
    ctx.drop_mls(unit);
    // Welcomes owed for a commit that was applied still go out (GMOD-018).
    let cut_off = |intent: &&IntentRow| intent.operation.commits() && intent.state != IntentState::Committed;
    let ended: Vec<u64> = ctx.intents.values().filter(cut_off).map(|intent| intent.number).collect();
    let why = settle::removed_meanwhile;
    ended.into_iter().for_each(|number| ctx.finish_intent(number, Err(why()), unit));
}

fn operations(updates: &[(u16, AppDataOp)]) -> Vec<(u16, Op)> {
    let op = |op: &AppDataOp| match op {
        AppDataOp::Update(payload) => Op::Update(payload.clone()),
        AppDataOp::Remove => Op::Remove,
    };
    updates.iter().map(|(component, update)| (*component, op(update))).collect()
}

/// A standalone proposal: kept only after the checks of GMOD-019.
pub fn proposal(
    ctx: &mut GroupCtx,
    known: &Known<'_>,
    facts: &ProposalFacts,
    pending: PendingProposal,
) -> Outcomes {
    let Some(state) = ctx.mls.as_mut() else { return reject("group.not_a_member", "no longer a member") };
    match commit::judge_standalone(facts, &state.group.facts(), &known.me.version) {
        Verdict::Applied => {}
        verdict => return from_verdict(verdict),
    }
    match mls::keep_proposal(&state.scratch, &mut state.group, pending) {
        Ok(()) => Outcomes::Applied,
        Err(error) => Outcomes::Held("bug".into(), error.to_string()),
    }
}
