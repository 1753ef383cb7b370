//! What component updates do, and whether each proposer may do it (GMOD-019, GMOD-021, GMOD-026,
//! GMOD-030; META-064; PERM-003, 004, 009, 015; DMS-004).
//!
//! Choice: a proposal on its own is judged by structure and authority only. Whether its delta fits
//! the value it will meet is not known yet, since an earlier proposal of the same commit may change
//! that value; so a delta that does not fit the committed value is kept, judged by its mutation
//! tags, and judged again in its commit.

use crate::base::Set;

use super::floor;
use super::verdict::{Check, Verdict};
use crate::base::InboxId;
use crate::meta::component::{GROUP_MEMBERSHIP, MIN_SUPPORTED_PROTOCOL_VERSION, Shape};
use crate::meta::{
    Dictionary, Effect, Key, MapMutation, MetaError, Op, RegistryError, SetMutation, Write, decode_map_delta,
    decode_set_delta, next_dictionary,
};
use crate::mls::facts::{AppDataOp, LeafFacts, ProposalFacts, ProposalKind, RawDictionary};
use crate::policy::{Authority, Denial, LeafChange};

/// A proposal's inbox, beside the proposal.
pub(super) type Proposed<'a> = (InboxId, &'a ProposalFacts);

/// Checks that `after` is exactly what the component updates make of `before` (META-064), and
/// gives their effects. An effect's `proposal` counts component updates only.
pub(super) fn effects(
    proposals: &[Proposed<'_>],
    before: &RawDictionary,
    after: &RawDictionary,
) -> Check<Vec<Effect>> {
    let updates: Vec<_> = updates(proposals).map(|(_, component, op)| (component, as_op(op))).collect();
    let (expected, effects) = next_dictionary(before, &updates).map_err(|error| refused_updates(&error))?;
    if expected != *after {
        let reason = "the dictionary after the commit is not what its proposals say";
        return Err(Verdict::rejected("META-064", reason));
    }
    Ok(effects)
}

/// Judges every proposal of a commit by its proposer's own authority (PERM-009), from the
/// dictionary before the commit.
pub(super) fn commit(
    proposals: &[Proposed<'_>],
    effects: &[Effect],
    before: &RawDictionary,
    after: &RawDictionary,
) -> Check {
    let authority = committed(before)?;
    let members = members(before)?;
    let members_after = members_of(after)?;
    let proposers: Vec<_> = updates(proposals).map(|(proposer, ..)| proposer).collect();
    for effect in effects {
        let Some(proposer) = proposers.get(effect.proposal) else {
            return Err(Verdict::rejected("PERM-009", "a component update has no proposer"));
        };
        authority.judge_write(*proposer, effect, &members_after).map_err(denied)?;
    }
    for (proposer, proposal) in proposals {
        if let Some(change) = leaf_change(&proposal.kind) {
            authority.judge_leaf(*proposer, change, &members, &members_after).map_err(denied)?;
        }
    }
    floor_rises(proposals, before)?;
    authority.super_admins_stay(&members, &members_after).map_err(denied)?;
    authority.super_admins_remain(effects).map_err(denied)
}

/// Judges one proposal on its own against the committed state (GMOD-019).
pub(super) fn standalone(proposal: Proposed<'_>, committed_state: &RawDictionary) -> Check {
    let authority = committed(committed_state)?;
    let members = members(committed_state)?;
    let (proposer, facts) = proposal;
    match &facts.kind {
        ProposalKind::AppData { component, op } => {
            let effects = effects_alone(*component, op, committed_state)?;
            for effect in &effects {
                authority.judge_write(proposer, effect, &members).map_err(denied)?;
            }
            let mut staying = members.clone();
            let gone =
                |effect: &&Effect| effect.component == GROUP_MEMBERSHIP && effect.write == Write::Delete;
            for effect in effects.iter().filter(gone) {
                match &effect.key {
                    Some(key) => staying.retain(|inbox| key.inbox() != Some(*inbox)),
                    None => staying.clear(),
                }
            }
            authority.super_admins_stay(&members, &staying).map_err(denied)?;
            authority.super_admins_remain(&effects).map_err(denied)?;
            floor_rises(&[proposal], committed_state)
        }
        kind => match leaf_change(kind) {
            Some(change) => authority.judge_leaf(proposer, change, &members, &members).map_err(denied),
            None if matches!(kind, ProposalKind::Add { .. } | ProposalKind::Remove { .. }) => {
                Err(Verdict::rejected("PERM-015", "an Add or Remove names no installation of an inbox"))
            }
            None => Ok(()),
        },
    }
}

/// Whether the inbox is a super admin before the commit (PERM-001).
pub(super) fn is_super_admin(inbox: InboxId, before: &RawDictionary) -> Check<bool> {
    Ok(committed(before)?.roles.super_admins.contains(&inbox))
}

fn floor_rises(proposals: &[Proposed<'_>], before: &RawDictionary) -> Check {
    updates(proposals)
        .filter(|(_, component, _)| *component == MIN_SUPPORTED_PROTOCOL_VERSION)
        .try_for_each(|(.., op)| floor::only_rises(before, op))
}

fn updates<'a>(proposals: &'a [Proposed<'a>]) -> impl Iterator<Item = (InboxId, u16, &'a AppDataOp)> {
    proposals.iter().filter_map(|(proposer, proposal)| match &proposal.kind {
        ProposalKind::AppData { component, op } => Some((*proposer, *component, op)),
        _ => None,
    })
}

fn as_op(op: &AppDataOp) -> Op {
    match op {
        AppDataOp::Update(payload) => Op::Update(payload.clone()),
        AppDataOp::Remove => Op::Remove,
    }
}

fn leaf_change(kind: &ProposalKind) -> Option<LeafChange> {
    let inbox = |leaf: &LeafFacts| leaf.inbox;
    match kind {
        ProposalKind::Add { leaf, .. } => inbox(leaf).map(LeafChange::Add),
        ProposalKind::Remove { leaf } => leaf.as_ref().and_then(inbox).map(LeafChange::Remove),
        _ => None,
    }
}

/// The effects of a proposal whose commit is not known.
fn effects_alone(component: u16, op: &AppDataOp, committed: &RawDictionary) -> Check<Vec<Effect>> {
    let effect = |write, key| Effect { proposal: 0, component, write, key, old: None, new: None };
    match next_dictionary(committed, &[(component, as_op(op))]) {
        Ok((_, effects)) => Ok(effects),
        Err(MetaError::RemoveAbsent(_)) => Ok(vec![effect(Write::Delete, None)]),
        Err(error @ MetaError::Delta { .. }) => {
            let AppDataOp::Update(payload) = op else { return Err(refused_updates(&error)) };
            let tagged = tags(component, payload, committed).ok_or_else(|| refused_updates(&error))?;
            Ok(tagged.into_iter().map(|(write, key)| effect(write, key)).collect())
        }
        Err(error) => Err(refused_updates(&error)),
    }
}

/// The writes a delta names, whatever value it will meet.
fn tags(component: u16, payload: &[u8], committed: &RawDictionary) -> Option<Vec<(Write, Option<Key>)>> {
    let shape = Dictionary::new(committed).registry().ok()?.shape_of(component)?;
    match shape {
        Shape::Map { keys, .. } => {
            let tag = |mutation| match mutation {
                MapMutation::Insert(key, _) => (Write::Insert, Some(key)),
                MapMutation::Update(key, _) => (Write::Update, Some(key)),
                MapMutation::Delete(key) => (Write::Delete, Some(key)),
            };
            Some(decode_map_delta(keys, payload).ok()?.into_iter().map(tag).collect())
        }
        Shape::Set { keys } => {
            let tag = |mutation| match mutation {
                SetMutation::Insert(key) => (Write::Insert, Some(key)),
                SetMutation::Remove(key) => (Write::Delete, Some(key)),
                SetMutation::RemoveByHash(_) => (Write::Delete, None),
            };
            Some(decode_set_delta(keys, payload).ok()?.into_iter().map(tag).collect())
        }
        Shape::Scalar { .. } => None,
    }
}

fn committed(before: &RawDictionary) -> Check<Authority> {
    Authority::committed(Dictionary::new(before)).map_err(|error| Verdict::rejected("META-019", error))
}

fn members(before: &RawDictionary) -> Check<Set<InboxId>> {
    Dictionary::new(before).members().map_err(|error| Verdict::rejected("META-019", error))
}

fn members_of(after: &RawDictionary) -> Check<Set<InboxId>> {
    Dictionary::new(after).members().map_err(|error| Verdict::rejected("GMOD-005", error))
}

fn denied(denial: Denial) -> Verdict {
    let id = match denial {
        Denial::NotWritable(_) => "META-003",
        Denial::Immutable(_) => "META-004",
        Denial::SuperAdminOnly(_) => "PERM-005",
        Denial::Unregistered(_) => "PERM-012",
        Denial::Policy(_) => "PERM-011",
        Denial::Malformed(_) => "PERM-008",
        Denial::DmAddition => "DMS-004",
        Denial::SuperAdminRemoved => "PERM-003",
        Denial::LastSuperAdmin => "PERM-004",
    };
    Verdict::rejected(id, denial)
}

/// A list of component updates that makes no dictionary, whoever proposed it.
pub fn refused_updates(error: &MetaError) -> Verdict {
    let id = match error {
        MetaError::Reserved(_) | MetaError::NotAComponent(_) => "META-003",
        MetaError::UpdateAndRemove(_) | MetaError::RemovedTwice(_) | MetaError::RemoveAbsent(_) => "GMOD-030",
        MetaError::Immutable(_) => "META-004",
        MetaError::RegistryRemoved => "META-015",
        MetaError::Untyped(_) => "PERM-012",
        MetaError::Payload { .. } | MetaError::Delta { .. } => "META-013",
        MetaError::Value { .. } => "META-010",
        MetaError::Registry(RegistryError::Frozen(_)) => "META-015",
        MetaError::Registry(RegistryError::ActionPolicy(_)) => "PERM-017",
        MetaError::Registry(_) => "META-014",
        MetaError::Stored(_) => "META-019",
    };
    Verdict::rejected(id, error)
}
