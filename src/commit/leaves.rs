//! Leaf changes against identity state (GMOD-010, 011, 012, 014, 015).
//!
//! Choices: an added leaf is compared as the pair of inbox and key, so a key authorised by one
//! inbox cannot be placed under another; the exception for keys that are in the group already, and
//! the recovery exception, hold for the same pair only. Removed leaves are compared by key alone,
//! as GMOD-011 says. GMOD-012 is asked of the committer's present leaf and of its path leaf.

use crate::base::Gather as _;
use crate::base::Set;

use super::verdict::{Check, Verdict};
use crate::base::{InboxId, InstallationId, SequenceId};
use crate::members::{Members, States, Unresolved, expected, failed};
use crate::mls::facts::{CommitFacts, LeafFacts, ProposalKind};

type Pair = (InboxId, InstallationId);

/// Checks the leaves a commit adds and removes against what its membership change calls for.
pub(super) fn changes(
    commit: &CommitFacts,
    before: &Members,
    after: &Members,
    states: &States,
    super_admin: bool,
) -> Check {
    let mut added = added(commit)?;
    let removed_leaves = removed(commit)?;
    let mut expected = expected(before, after, states).map_err(unresolved)?;
    let mut failed = failed(before, after, &commit.before.leaves);
    let mut removed: Set<_> = removed_leaves.iter().map(|leaf| leaf.installation).gather();
    if super_admin {
        // GMOD-015: a leaf replaced by one of the same installation, then leaves of failed ones.
        let gone: Set<_> = removed_leaves.iter().filter_map(|leaf| pair(leaf)).gather();
        let replaced: Set<Pair> = added.intersection(&gone).copied().gather();
        added.retain(|pair| !replaced.contains(pair));
        removed.retain(|key| !replaced.iter().any(|(_, replaced)| replaced == key));
        let both: Set<_> = removed.intersection(&failed).copied().gather();
        removed.retain(|key| !both.contains(key));
        failed.retain(|key| !both.contains(key));
    }
    let present: Set<_> = commit.before.leaves.iter().filter_map(pair).gather();
    if added.iter().any(|pair| !expected.additions.contains(pair) && !present.contains(pair)) {
        let reason = "an added leaf is not authorised by the identity state its inbox is at";
        return Err(Verdict::rejected("GMOD-010", reason));
    }
    expected.removals.retain(|key| !failed.contains(key));
    if removed != expected.removals {
        let reason = "the removed leaves are not those the identity states call for";
        return Err(Verdict::rejected("GMOD-011", reason));
    }
    Ok(())
}

/// A leaf that signs belongs to its inbox at the state the commit references (GMOD-012).
pub(super) fn signing_key(
    leaf: &LeafFacts,
    commit: &CommitFacts,
    before: &Members,
    after: &Members,
    states: &States,
) -> Check {
    let refused = || {
        let reason = "a signing key does not belong to its inbox at the state the commit names";
        Verdict::rejected("GMOD-012", reason)
    };
    let (inbox, key) = pair(leaf).ok_or_else(refused)?;
    let referenced = after.get(inbox).ok_or_else(refused)?.sequence_id;
    let belongs = if referenced == SequenceId(0) {
        // The creator before its first identity reference.
        let placed = commit.before.leaves.iter().any(|leaf| pair(leaf) == Some((inbox, key)));
        placed && before.get(inbox).is_some_and(|entry| entry.sequence_id == SequenceId(0))
    } else {
        states.installations(inbox, referenced).map_err(unresolved)?.contains(&key)
    };
    if belongs { Ok(()) } else { Err(refused()) }
}

/// Leaves that replace their owner's in this commit: of Update proposals, and of the path.
pub(super) fn replacing(commit: &CommitFacts) -> impl Iterator<Item = &LeafFacts> {
    let updates = commit.proposals.iter().filter_map(|proposal| match &proposal.kind {
        ProposalKind::Update { leaf } => Some(leaf),
        _ => None,
    });
    updates.chain(&commit.path_leaf)
}

fn added(commit: &CommitFacts) -> Check<Set<Pair>> {
    let mut added = Set::new();
    for proposal in &commit.proposals {
        if let ProposalKind::Add { leaf, .. } = &proposal.kind {
            let reason = "an added leaf's credential names no inbox";
            added.insert(pair(leaf).ok_or_else(|| Verdict::rejected("GMOD-010", reason))?);
        }
    }
    Ok(added)
}

fn removed(commit: &CommitFacts) -> Check<Vec<&LeafFacts>> {
    let mut removed = Vec::new();
    for proposal in &commit.proposals {
        if let ProposalKind::Remove { leaf } = &proposal.kind {
            let reason = "a Remove names an index without a leaf";
            removed.push(leaf.as_ref().ok_or_else(|| Verdict::rejected("GMOD-011", reason))?);
        }
    }
    Ok(removed)
}

fn pair(leaf: &LeafFacts) -> Option<Pair> {
    leaf.inbox.map(|inbox| (inbox, leaf.installation))
}

fn unresolved(unresolved: Unresolved) -> Verdict {
    match unresolved {
        // GMOD-013: never decided on cached state alone.
        Unresolved::Needed(_) => Verdict::Held { code: Verdict::IDENTITY, reason: unresolved.to_string() },
        Unresolved::Unpublished(_) => Verdict::rejected("GMOD-014", unresolved),
    }
}
