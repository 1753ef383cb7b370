//! Which kept proposals of other members a commit takes along (GMOD-038).
//!
//! A proposer's membership changes stand or fall together: its updates of the membership component
//! with its Adds and Removes, since an Add without its entry, or an entry without its Add, is no
//! change a receiver accepts. Every other proposal stands alone. Units are tried oldest first; one
//! is taken when the commit with it passes every check of its receivers, accounts for every
//! installation (GMOD-009), and each key package in it is still the one its installation offers.
//! Those left out end with the epoch, and their authors may propose again.
//!
//! Choice: an obsolete Add is left out with its whole unit, and not replaced by one of our own.

use crate::base::Gather as _;
use crate::base::Set;

use super::{Ground, Verdict, judge, needed};
use crate::base::InboxId;
use crate::members::{Members, Reference, Unresolved, unaccounted};
use crate::meta::component::GROUP_MEMBERSHIP;
use crate::meta::{Op, next_dictionary};
use crate::mls::facts::{
    AppDataOp, CommitFacts, GroupFacts, LeafFacts, ProposalFacts, ProposalKind, RawDictionary, SenderFacts,
};

/// A kept proposal.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What it does and who made it.
    pub facts: ProposalFacts,
    /// False for an Add whose key package, fetched again, is another one or cannot be used, or whose
    /// installation its inbox has no more.
    pub current: bool,
}

/// Indices of the candidates to commit, ascending.
///
/// # Errors
/// The identity states that are needed first.
pub fn select(
    group: &GroupFacts,
    own: &LeafFacts,
    kept: &[Candidate],
    ground: &Ground<'_>,
) -> Result<Vec<usize>, Set<Reference>> {
    let mut selected: Vec<usize> = Vec::new();
    for unit in units(kept, own) {
        if !unit.iter().all(|at| kept.get(*at).is_some_and(|candidate| candidate.current)) {
            continue;
        }
        let mut tried: Vec<usize> = selected.iter().copied().chain(unit).collect();
        tried.sort_unstable();
        if passes(group, own, &pick(kept, &tried), ground)? {
            selected = tried;
        }
    }
    Ok(selected)
}

/// The group as the selected proposals leave it, for planning what comes on top. Added leaves have
/// no index yet.
pub fn virtually(group: &GroupFacts, selected: &[ProposalFacts]) -> Option<GroupFacts> {
    let dictionary = dictionary_after(group, selected)?;
    let gone: Set<u32> = selected
        .iter()
        .filter_map(|proposal| match &proposal.kind {
            ProposalKind::Remove { leaf: Some(leaf) } => Some(leaf.index),
            _ => None,
        })
        .gather();
    let mut leaves = group.leaves.clone();
    leaves.retain(|leaf| !gone.contains(&leaf.index));
    leaves.extend(added(selected).map(|leaf| LeafFacts { index: u32::MAX, ..leaf.clone() }));
    Some(GroupFacts { leaves, dictionary, ..group.clone() })
}

/// The leaves a list of proposals adds.
pub fn added(proposals: &[ProposalFacts]) -> impl Iterator<Item = &LeafFacts> {
    proposals.iter().filter_map(|proposal| match &proposal.kind {
        ProposalKind::Add { leaf, .. } => Some(leaf),
        _ => None,
    })
}

/// What stands or falls together, by its oldest member; nothing of the committer itself.
fn units(kept: &[Candidate], own: &LeafFacts) -> Vec<Vec<usize>> {
    let mut units: Vec<(Option<InboxId>, Vec<usize>)> = Vec::new();
    for (at, candidate) in kept.iter().enumerate() {
        let SenderFacts::Member(proposer) = &candidate.facts.proposer else { continue };
        if proposer == own {
            continue;
        }
        let owner = proposer.inbox.filter(|_| changes_membership(&candidate.facts.kind));
        match units.iter_mut().find(|(of, _)| owner.is_some() && *of == owner) {
            Some((_, unit)) => unit.push(at),
            None => units.push((owner, vec![at])),
        }
    }
    units.into_iter().map(|(_, unit)| unit).collect()
}

fn changes_membership(kind: &ProposalKind) -> bool {
    matches!(
        kind,
        ProposalKind::Add { .. }
            | ProposalKind::Remove { .. }
            | ProposalKind::AppData { component: GROUP_MEMBERSHIP, .. }
    )
}

fn pick(kept: &[Candidate], at: &[usize]) -> Vec<ProposalFacts> {
    at.iter().filter_map(|at| kept.get(*at)).map(|candidate| candidate.facts.clone()).collect()
}

fn passes(
    group: &GroupFacts,
    own: &LeafFacts,
    proposals: &[ProposalFacts],
    ground: &Ground<'_>,
) -> Result<bool, Set<Reference>> {
    let Some(commit) = commit_of(group, own, proposals) else { return Ok(false) };
    let missing = ground.states.missing(&needed(&commit));
    if !missing.is_empty() {
        return Err(missing);
    }
    if judge(&commit, ground) != Verdict::Applied {
        return Ok(false);
    }
    let members = (Members::read(&group.dictionary), Members::read(&commit.dictionary_after));
    let (Ok(before), Ok(after)) = members else { return Ok(false) };
    let leaves = commit.leaves_after.iter().map(|leaf| leaf.installation).gather();
    match unaccounted(&before, &after, &leaves, ground.states) {
        Ok(left_over) => Ok(left_over.is_empty()),
        Err(Unresolved::Needed(reference)) => Err(Set::from([reference])),
        Err(Unresolved::Unpublished(_)) => Ok(false),
    }
}

/// The commit that would carry just these proposals.
fn commit_of(group: &GroupFacts, own: &LeafFacts, proposals: &[ProposalFacts]) -> Option<CommitFacts> {
    let after = virtually(group, proposals)?;
    Some(CommitFacts {
        committer: SenderFacts::Member(own.clone()),
        proposals: proposals.to_vec(),
        path_leaf: Some(own.clone()),
        leaves_after: after.leaves,
        dictionary_after: after.dictionary,
        before: group.clone(),
        epoch_after: group.epoch + 1,
        context_otherwise_unchanged: true,
    })
}

fn dictionary_after(group: &GroupFacts, proposals: &[ProposalFacts]) -> Option<RawDictionary> {
    let updates: Vec<(u16, Op)> = proposals
        .iter()
        .filter_map(|proposal| match &proposal.kind {
            ProposalKind::AppData { component, op: AppDataOp::Update(payload) } => {
                Some((*component, Op::Update(payload.clone())))
            }
            ProposalKind::AppData { component, op: AppDataOp::Remove } => Some((*component, Op::Remove)),
            _ => None,
        })
        .collect();
    next_dictionary(&group.dictionary, &updates).ok().map(|(after, _)| after)
}
