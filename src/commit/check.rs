//! The ordered checks on a received commit and on a proposal of its own (GMOD section 5).
//!
//! The order matters in three places: a floor that is unsupported already pauses before anything
//! else, one that the commit would set pauses after everything else (GMOD-022, GMOD-025); the
//! sender rule comes before the table of unsupported proposals; and whatever needs no identity
//! state comes before what does, so that a commit is never held for a look-up that cannot save it.

use crate::base::Set;

use super::authority::{self, Proposed};
use super::kinds::{self, Place};
use super::verdict::{Check, Verdict};
use super::{floor, leaves};
use crate::base::{SequenceId, Version};
use crate::members::{Members, MembersError, Reference, States, check_succession, references};
use crate::mls::facts::{CommitFacts, GroupFacts, ProposalFacts, ProposalKind, SenderFacts};

/// What a commit is judged by, beside itself.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// Its position in the group's topic.
    pub position: SequenceId,
    /// Identity states resolved so far; see [`needed`].
    pub states: &'a States,
    /// This client's version (GMOD-027).
    pub client: &'a Version,
}

/// The identity states [`judge`] asks for (GMOD-013). Resolve those that are missing, then judge;
/// a commit judged without them is held.
pub fn needed(commit: &CommitFacts) -> Set<Reference> {
    let members = (Members::read(&commit.before.dictionary), Members::read(&commit.dictionary_after));
    // A membership that cannot be read is rejected without any state.
    let (Ok(before), Ok(after)) = members else { return Set::new() };
    let committer = match &commit.committer {
        SenderFacts::Member(leaf) => leaf.inbox,
        SenderFacts::Outsider => None,
    };
    let signers = leaves::replacing(commit).filter_map(|leaf| leaf.inbox).chain(committer);
    references::of_commit(&before, &after, signers)
}

/// Judges a staged commit, received or read back (GMOD-016, GMOD-021).
pub fn judge(commit: &CommitFacts, ground: &Ground<'_>) -> Verdict {
    checked(commit, ground).err().unwrap_or(Verdict::Applied)
}

/// Judges a proposal published on its own, before it is kept for a later commit (GMOD-019).
pub fn judge_standalone(proposal: &ProposalFacts, group: &GroupFacts, client: &Version) -> Verdict {
    checked_standalone(proposal, group, client).err().unwrap_or(Verdict::Applied)
}

fn checked(commit: &CommitFacts, ground: &Ground<'_>) -> Check {
    let (dictionary, after) = (&commit.before.dictionary, &commit.dictionary_after);
    paused(floor::pause(dictionary, ground.client))?;

    let group = &commit.before.leaves;
    let (committer, inbox) = kinds::member(&commit.committer, group)?;
    let with_proposer = |proposal| proposed(proposal, &commit.before);
    let proposals = commit.proposals.iter().map(with_proposer).collect::<Check<Vec<_>>>()?;
    kinds::supported(&commit.proposals, Place::Commit)?;
    proposals.iter().try_for_each(|proposal| update_keeps_inbox(*proposal))?;
    commit.path_leaf.iter().try_for_each(|leaf| kinds::same_inbox(inbox, leaf))?;
    successor(commit)?;

    let effects = authority::effects(&proposals, dictionary, after)?;
    authority::commit(&proposals, &effects, dictionary, after)?;

    let members = Members::read(dictionary).map_err(entry)?;
    let members_after = Members::read(after).map_err(entry)?;
    check_succession(&members, &members_after, ground.position).map_err(entry)?;
    let super_admin = authority::is_super_admin(inbox, dictionary)?;
    leaves::changes(commit, &members, &members_after, ground.states, super_admin)?;
    for leaf in leaves::replacing(commit).chain([committer]) {
        leaves::signing_key(leaf, commit, &members, &members_after, ground.states)?;
    }
    paused(floor::pause(after, ground.client))
}

fn checked_standalone(proposal: &ProposalFacts, group: &GroupFacts, client: &Version) -> Check {
    paused(floor::pause(&group.dictionary, client))?;
    let proposed = proposed(proposal, group)?;
    kinds::supported(std::slice::from_ref(proposal), Place::Standalone)?;
    update_keeps_inbox(proposed)?;
    authority::standalone(proposed, &group.dictionary)
}

fn proposed<'a>(proposal: &'a ProposalFacts, group: &GroupFacts) -> Check<Proposed<'a>> {
    kinds::member(&proposal.proposer, &group.leaves).map(|(_, inbox)| (inbox, proposal))
}

fn update_keeps_inbox((proposer, proposal): Proposed<'_>) -> Check {
    match &proposal.kind {
        ProposalKind::Update { leaf } => kinds::same_inbox(proposer, leaf),
        _ => Ok(()),
    }
}

/// The commit makes the next epoch and changes no context extension but the dictionary.
fn successor(commit: &CommitFacts) -> Check {
    if commit.before.epoch.checked_add(1) != Some(commit.epoch_after) {
        return Err(Verdict::rejected("GMOD-021", "the commit does not lead to the next epoch"));
    }
    if !commit.context_otherwise_unchanged {
        let reason = "the commit changes a group-context extension other than the dictionary";
        return Err(Verdict::rejected("GMOD-021", reason));
    }
    Ok(())
}

fn paused(pause: Option<Verdict>) -> Check {
    pause.map_or(Ok(()), Err)
}

fn entry(error: MembersError) -> Verdict {
    Verdict::rejected(error.id(), error)
}
