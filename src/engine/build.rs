//! Builds the commit of an operation on the group as it stands, and judges it as its receivers will
//! before a byte of it can leave (GMOD-006, GMOD-009, GMOD-016, GMOD-039).
//!
//! Whoever cannot be brought in is left out and named: the rest of the operation goes on
//! (JOIN-011). Adds that would make the commit or its Welcome too large are split over several
//! commits.

use crate::base::Gather as _;
use crate::base::{Map, Set};

use crate::base::{InboxId, InstallationId, SequenceId, Topic, sha256};
use crate::commit::{self, Candidate, Ground, Latest, PlanError, Verdict};
use crate::engine::operations::{self, Change};
use crate::engine::size::{self, Size};
use crate::engine::state::{GroupCtx, Me, MlsState};
use crate::engine::unit::Unit;
use crate::engine::{receive, settle, welcomes};
use crate::error::Error;
use crate::members::{Reference, States};
use crate::meta::component::GROUP_MEMBERSHIP;
use crate::mls::facts::{AppDataOp, GroupFacts, ProposalFacts, ProposalKind};
use crate::mls::{self, Addition, CommitPlan, ProposalId, SealError, SealedCommit};
use crate::store::rows::{AttemptRow, GroupKind, IntentRow, IntentState, LeftOut, Operation, Outcome};
use crate::wire::ClientEnvelope;

pub use crate::commit::added;

/// An operation that lost the race so many times is given up.
pub const MAX_BUILDS: u32 = 64;

/// A usable key package.
pub struct Package {
    /// What a commit adds it with.
    pub addition: Addition,
    /// The HPKE key its Welcome is wrapped to.
    pub init_key: Vec<u8>,
    /// Its installation can read Welcome pointers.
    pub pointers: bool,
}

/// What a commit is built from, fetched before.
#[derive(Default)]
pub struct Material {
    /// The latest identity update of each inbox concerned; one without does not exist.
    pub latest: Map<InboxId, SequenceId>,
    /// The states at those, and at the present entries.
    pub states: States,
    /// The latest identity update of each inbox that others propose to add.
    pub latest_of_kept: Map<InboxId, SequenceId>,
    /// Checked key packages.
    pub packages: Map<InstallationId, Package>,
}

/// What became of a build.
#[derive(Debug, PartialEq, Eq)]
pub enum Built {
    /// An attempt is stored, to be handed out.
    Attempt,
    /// There was nothing left to do, or it can never be done: the intent has ended.
    Ended,
    /// Identity states to fetch first.
    Needs(Set<Reference>),
}

/// Why there is no commit.
enum Refusal {
    Needs(Set<Reference>),
    /// The operation can never be done.
    Never(Error),
    /// Not now.
    Now(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Never(error)
    }
}

/// Kept proposals of others that a commit takes along, and the group as they leave it.
struct Taken {
    ids: Vec<ProposalId>,
    added: Vec<InstallationId>,
    group: GroupFacts,
}

/// A commit built on the scratch and found good; none when nothing is left to do.
struct Draft {
    sealed: Option<SealedCommit>,
    added: Vec<InstallationId>,
    left_out: LeftOut,
    size: Size,
}

/// Builds the commit of `number` and stores it as an attempt.
///
/// # Errors
/// `dm.no_installation`: not now. What can never be done ends the intent with its reason instead.
pub fn build(
    ctx: &mut GroupCtx,
    me: &Me,
    number: u64,
    material: &Material,
    unit: &mut Unit,
) -> Result<Built, Error> {
    let Some(intent) = ctx.intents.get(&number).cloned() else {
        return Err(Error::bug("building for an intent that is gone"));
    };
    let lone = ctx.row.kind == GroupKind::Dm;
    let mls = ctx.mls.as_mut().ok_or_else(|| Error::bug("an active group without MLS state"))?;
    let facts = mls.group.facts();
    match draft(mls, me, &intent, (&facts, lone), material) {
        Ok(draft) => Ok(store(ctx, intent, draft, (facts.epoch, material), unit)),
        Err(Refusal::Needs(references)) => Ok(Built::Needs(references)),
        Err(Refusal::Now(error)) => Err(error),
        Err(Refusal::Never(error)) => {
            settle::given_up(ctx, number, error, unit);
            Ok(Built::Ended)
        }
    }
}

/// A commit that its receivers will accept, pending on the scratch.
fn draft(
    mls: &mut MlsState,
    me: &Me,
    intent: &IntentRow,
    (facts, dm): (&GroupFacts, bool),
    material: &Material,
) -> Result<Draft, Refusal> {
    if intent.builds >= MAX_BUILDS {
        return Err(Refusal::Never(Error::new(
            "commit.contended",
            format!("the change was built {MAX_BUILDS} times and others were first each time; try again"),
        )));
    }
    let mut left_out = intent.left_out.clone();
    let mut change = operations::change(&intent.operation, facts, &left_out)?;
    let unknown: Vec<_> =
        change.add.iter().filter(|inbox| !material.latest.contains_key(inbox)).copied().collect();
    change.add.retain(|inbox| !unknown.contains(inbox));
    left_out.inboxes.extend(unknown);
    let mut taken = take_along(mls, me, facts, material)?;
    let mut wanted: Vec<InboxId> = change.add.iter().chain(&change.refresh).copied().collect();
    let mut take = wanted.len();
    loop {
        let later: Set<InboxId> = wanted.iter().skip(take).copied().gather();
        let savepoint = mls.scratch.savepoint();
        let drafted = seal(mls, me, (&change, &later), (&taken, dm), material, left_out.clone());
        // Judged while nothing of the whole was handed out.
        let drafted = match drafted {
            Ok(draft) if later.is_empty() && draft.size.can_never_be() => Err(Refusal::Never(size::full())),
            other => other,
        };
        if drafted.as_ref().is_ok_and(|draft| draft.size.fits(take)) {
            return drafted;
        }
        rewind(mls, &savepoint, facts)?;
        match &drafted {
            // Together with what others proposed it cannot be; by itself it may.
            Err(Refusal::Never(_)) if !taken.ids.is_empty() => {
                taken = Taken { ids: Vec::new(), added: Vec::new(), group: facts.clone() };
            }
            Err(_) => return drafted,
            Ok(draft) if take > 1 => {
                // A part of nobody but those would look like the end of it.
                wanted.retain(|inbox| !draft.left_out.inboxes.contains(inbox));
                take = take.min(wanted.len()).div_ceil(2);
            }
            Ok(_) => return Err(Refusal::Never(size::full())),
        }
    }
}

fn rewind(mls: &mut MlsState, savepoint: &mls::Savepoint, facts: &GroupFacts) -> Result<(), Refusal> {
    mls.scratch.restore(savepoint);
    let group = mls::Group::load(&mls.scratch, facts.group_id).map_err(Error::bug)?;
    mls.group = group.ok_or_else(|| Error::bug("a group that is gone after going back"))?;
    Ok(())
}

/// Selects what the commit takes along of what others proposed (GMOD-038).
fn take_along(mls: &MlsState, me: &Me, facts: &GroupFacts, material: &Material) -> Result<Taken, Refusal> {
    let kept = mls.group.kept_proposals();
    let nothing = Taken { ids: Vec::new(), added: Vec::new(), group: facts.clone() };
    let Some(own) = mls.group.own_leaf().filter(|_| !kept.is_empty()) else { return Ok(nothing) };
    let candidates: Vec<Candidate> = kept
        .iter()
        .map(|(id, facts)| Candidate { current: is_current(mls, id, facts, material), facts: facts.clone() })
        .collect();
    let ground = Ground { position: SequenceId(u64::MAX), states: &material.states, client: &me.version };
    let selected = commit::select(facts, &own, &candidates, &ground).map_err(Refusal::Needs)?;
    let chosen: Vec<_> = selected.iter().filter_map(|at| kept.get(*at)).cloned().collect();
    let (ids, proposals): (Vec<_>, Vec<_>) = chosen.into_iter().unzip();
    let Some(group) = commit::virtually(facts, &proposals) else { return Ok(nothing) };
    let added = commit::added(&proposals).map(|leaf| leaf.installation).collect();
    Ok(Taken { ids, added, group })
}

/// An Add is current while its installation belongs to its inbox and offers that very key package.
fn is_current(mls: &MlsState, id: &ProposalId, facts: &ProposalFacts, material: &Material) -> bool {
    let ProposalKind::Add { leaf, .. } = &facts.kind else { return true };
    let offered = material.packages.get(&leaf.installation).map(|package| package.addition.bytes());
    let newest = leaf
        .inbox
        .and_then(|inbox| material.states.installations(inbox, *material.latest_of_kept.get(&inbox)?).ok());
    newest.is_some_and(|keys| keys.contains(&leaf.installation))
        && offered.is_some()
        && offered == mls.group.kept_package(id).as_deref()
}

/// Plans, seals and judges one commit that makes a change but for what it does with the inboxes
/// that come `later`, on top of what it takes along.
fn seal(
    mls: &mut MlsState,
    me: &Me,
    (change, later): (&Change, &Set<InboxId>),
    (taken, dm): (&Taken, bool),
    material: &Material,
    mut left_out: LeftOut,
) -> Result<Draft, Refusal> {
    let facts = &taken.group;
    let usable = material.packages.keys().copied().gather();
    let (mut add, mut latest) = (change.add.clone(), material.latest.clone());
    add.retain(|inbox| !later.contains(inbox));
    latest.retain(|inbox, _| !later.contains(inbox));
    let wanted = Latest {
        add: &add,
        remove: &change.remove,
        latest: &latest,
        states: &material.states,
        usable: &usable,
    };
    let planned = commit::plan(facts, (me.inbox, me.installation), &wanted).map_err(unplanned)?;
    if dm && !planned.unreachable.is_empty() {
        let why = "the other inbox has no device that can be added now: none has a key package that is valid \
                   today by the clock here";
        return Err(Refusal::Now(Error::new("dm.no_installation", why)));
    }
    left_out.inboxes.extend(&planned.unreachable);
    let moved = planned.after.0.iter().filter(|(inbox, _)| add.contains(inbox));
    left_out.installations.extend(moved.flat_map(|(_, entry)| &entry.failed));
    let packages: Vec<(InstallationId, &Package)> = planned
        .adds
        .iter()
        .filter_map(|(_, id)| material.packages.get(id).map(|package| (*id, package)))
        .collect();
    let mut writes: Vec<(u16, Vec<u8>)> =
        planned.membership.into_iter().map(|delta| (GROUP_MEMBERSHIP, delta)).collect();
    if !change.remove.is_empty() {
        let after = planned.after.0.keys().copied().gather();
        let gone = commit::cleanup(&facts.dictionary, me.inbox, &change.remove, &after);
        writes.extend(gone.map_err(|error| Error::new("commit.rejected", error.to_string()))?);
    }
    writes.extend(change.writes.iter().cloned());
    let own_part = !packages.is_empty() || !planned.removes.is_empty() || !writes.is_empty();
    // What is taken along may be the very change that is wanted.
    if !own_part && !change.always && taken.ids.is_empty() {
        return Ok(Draft { sealed: None, added: Vec::new(), left_out, size: Size::default() });
    }
    let plan = CommitPlan {
        adds: packages.iter().map(|(_, package)| package.addition.clone()).collect(),
        removes: planned.removes,
        dictionary_after: operations::after(&facts.dictionary, &writes)?,
        app_data: writes.into_iter().map(|(id, delta)| (id, AppDataOp::Update(delta))).collect(),
        kept: taken.ids.clone(),
        force_self_update: true,
    };
    let sealed = mls::commit(&mls.scratch, &mut mls.group, &me.keys, plan).map_err(unsealed)?;
    judge(mls, me, &material.states)?;
    let added: Vec<_> = packages.iter().map(|(id, _)| *id).chain(taken.added.iter().copied()).collect();
    let of_one = planned.adds.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max().unwrap_or_default();
    let size = Size::of(&sealed, added.len().saturating_sub(of_one));
    Ok(Draft { sealed: Some(sealed), added, left_out, size })
}

/// Judges the pending commit as its receivers will. Its position is not known yet, only that it
/// lies behind every identity update it names.
fn judge(mls: &MlsState, me: &Me, states: &States) -> Result<(), Refusal> {
    let facts = mls::pending_facts(&mls.group).ok_or_else(|| Error::bug("a commit that is not pending"))?;
    let missing = states.missing(&commit::needed(&facts));
    if !missing.is_empty() {
        return Err(Refusal::Needs(missing));
    }
    let ground = Ground { position: SequenceId(u64::MAX), states, client: &me.version };
    match commit::judge(&facts, &ground) {
        Verdict::Applied => Ok(()),
        Verdict::Rejected { id, reason } => Err(Refusal::Never(refused(id, &reason))),
        Verdict::Paused { floor } => {
            Err(Refusal::Never(Error::new("group.paused", receive::paused_sentence(&floor))))
        }
        Verdict::Held { reason, .. } => Err(Refusal::Now(Error::new("group.held", reason))),
    }
}

/// A rule that refuses an own change, as an app is told: policies apart from everything else.
pub fn refused(id: &str, reason: &str) -> Error {
    let policy = id.starts_with("PERM-") || matches!(id, "DMS-004" | "META-003" | "META-004");
    let code = if policy { "group.permission_denied" } else { "commit.rejected" };
    Error::new(code, format!("{reason} ({id})"))
}

fn store(
    ctx: &mut GroupCtx,
    mut intent: IntentRow,
    draft: Draft,
    (epoch, material): (u64, &Material),
    unit: &mut Unit,
) -> Built {
    let Draft { sealed, added, left_out, .. } = draft;
    intent.left_out = left_out;
    let Some(sealed) = sealed else {
        let number = intent.number;
        ctx.put_intent(intent, unit);
        ctx.finish_intent(number, Ok(()), unit);
        return Built::Ended;
    };
    let envelope =
        ClientEnvelope::GroupMessage { data: sealed.bytes, sender_hmac: Vec::new(), should_push: false };
    let payload = envelope.encode();
    let hash = sha256(&payload);
    let packages: Vec<_> = added.iter().filter_map(|id| Some((*id, material.packages.get(id)?))).collect();
    intent.welcome = sealed.welcome.map(|welcome| welcomes::owe(welcome, &packages));
    intent.state = IntentState::Published(hash);
    intent.builds += 1;
    let (group, number) = (ctx.row.id, intent.number);
    ctx.put_intent(intent, unit);
    ctx.put_attempt(
        AttemptRow {
            hash,
            intent: number,
            group,
            topic: Topic::Group(group),
            payload,
            epoch,
            commit: true,
            outcome: Outcome::Unknown,
        },
        unit,
    );
    unit.changes.strict();
    Built::Attempt
}

fn unplanned(error: PlanError) -> Refusal {
    match &error {
        PlanError::Needed(reference) => Refusal::Needs(Set::from([*reference])),
        PlanError::UnknownInbox(_) => Refusal::Never(Error::new("dm.unknown_inbox", error.to_string())),
        PlanError::OwnInstallation => Refusal::Never(Error::new("group.not_a_member", error.to_string())),
        PlanError::OwnInbox => Refusal::Never(Error::new("group.self", error.to_string())),
        PlanError::Unpublished(_) | PlanError::Members(_) => {
            Refusal::Never(Error::new("commit.rejected", error.to_string()))
        }
        PlanError::Unaccounted(_) => Refusal::Never(Error::bug(error)),
    }
}

fn unsealed(error: SealError) -> Refusal {
    match &error {
        SealError::Invalid(_) => Refusal::Never(Error::new("commit.rejected", error.to_string())),
        SealError::KeyPackage(_) => Refusal::Now(Error::new("commit.rejected", error.to_string())),
        SealError::Inactive => Refusal::Never(Error::new("group.not_a_member", error.to_string())),
        // Wait for the one in flight.
        SealError::PendingCommit => Refusal::Now(Error::new("group.held", error.to_string())),
        _ => Refusal::Now(Error::bug(error)),
    }
}

/// Whether an operation adds nobody it was asked to add.
pub fn nobody_added(operation: &Operation, left_out: &LeftOut) -> bool {
    match operation {
        Operation::AddInboxes(inboxes) => {
            !inboxes.is_empty() && inboxes.iter().all(|inbox| left_out.inboxes.contains(inbox))
        }
        _ => false,
    }
}
