//! OpenMLS content as plain facts.

use crate::base::Gather as _;
use crate::base::{Map, Set};

use openmls::prelude::{
    AppDataUpdateOperation, Credential, Extension, Extensions, GroupContext, LeafNode, Lifetime, MlsGroup,
    Proposal, ProposalOrRefType, QueuedProposal, Sender, StagedCommit,
};
use openmls::treesync::LeafNodeSource;

use super::facts::{
    AppDataOp, CommitFacts, LeafFacts, ProposalFacts, ProposalKind, RawDictionary, SenderFacts,
    UnsupportedKind,
};
use super::group::Group;
use super::profile;
use crate::base::InstallationId;

/// A leaf. A signature key that is not 32 bytes passes no MLS check; should one turn up all the
/// same, the leaf names nobody and is refused by whoever asks for its inbox.
pub(super) fn leaf(index: u32, signature_key: &[u8], credential: &Credential) -> LeafFacts {
    match InstallationId::from_slice(signature_key) {
        Ok(installation) => LeafFacts { index, inbox: profile::inbox_of(credential), installation },
        Err(_) => LeafFacts { index, inbox: None, installation: InstallationId([0; 32]) },
    }
}

/// A leaf node at an index.
pub(super) fn leaf_node(index: u32, node: &LeafNode) -> LeafFacts {
    leaf(index, node.signature_key().as_slice(), node.credential())
}

/// The leaf at an index, if there is one.
pub(super) fn leaf_at(group: &MlsGroup, index: u32) -> Option<LeafFacts> {
    group.public_group().leaf(openmls::prelude::LeafNodeIndex::new(index)).map(|node| leaf_node(index, node))
}

/// A dictionary extension's content; empty when there is none.
pub(super) fn dictionary(extensions: &Extensions<GroupContext>) -> RawDictionary {
    let entries = extensions.app_data_dictionary().map(|d| d.dictionary().entries());
    entries.into_iter().flatten().map(|entry| (entry.id(), entry.data().to_vec())).gather()
}

/// All leaves, ascending by index.
pub(super) fn leaves(group: &MlsGroup) -> Vec<LeafFacts> {
    group.treesync().full_leaves().map(|(index, node)| leaf_node(index.u32(), node)).collect()
}

/// Who sent a handshake message.
pub(super) fn sender(group: &MlsGroup, sender: &Sender) -> SenderFacts {
    let leaf = match sender {
        Sender::Member(index) => leaf_at(group, index.u32()),
        _ => None,
    };
    leaf.map_or(SenderFacts::Outsider, SenderFacts::Member)
}

/// A proposal and who made it.
pub(super) fn proposal(group: &MlsGroup, queued: &QueuedProposal) -> ProposalFacts {
    let proposer = sender(group, queued.sender());
    ProposalFacts {
        kind: kind(group, queued.proposal(), &proposer),
        proposer,
        by_reference: queued.proposal_or_ref_type() == ProposalOrRefType::Reference,
    }
}

fn kind(group: &MlsGroup, proposal: &Proposal, proposer: &SenderFacts) -> ProposalKind {
    let unsupported = ProposalKind::Unsupported;
    match proposal {
        Proposal::Add(add) => {
            let node = add.key_package().leaf_node();
            ProposalKind::Add { leaf: leaf_node(0, node), bounded_lifetime: has_bounded_lifetime(node) }
        }
        Proposal::Remove(remove) => ProposalKind::Remove { leaf: leaf_at(group, remove.removed().u32()) },
        Proposal::Update(update) => {
            let index = match proposer {
                SenderFacts::Member(leaf) => leaf.index,
                SenderFacts::Outsider => 0,
            };
            ProposalKind::Update { leaf: leaf_node(index, update.leaf_node()) }
        }
        Proposal::AppDataUpdate(update) => {
            let (component, op) = app_data(update.component_id(), update.operation());
            ProposalKind::AppData { component, op }
        }
        Proposal::GroupContextExtensions(_) => unsupported(UnsupportedKind::GroupContextExtensions),
        Proposal::PreSharedKey(_) => unsupported(UnsupportedKind::PreSharedKey),
        Proposal::ReInit(_) => unsupported(UnsupportedKind::ReInit),
        Proposal::ExternalInit(_) => unsupported(UnsupportedKind::ExternalInit),
        Proposal::SelfRemove => unsupported(UnsupportedKind::SelfRemove),
        Proposal::AppEphemeral(_) => unsupported(UnsupportedKind::AppEphemeral),
        Proposal::Custom(custom) => unsupported(UnsupportedKind::Custom(custom.proposal_type())),
    }
}

/// True when a key package's leaf has a lifetime that clocks can disagree about.
pub(super) fn has_bounded_lifetime(node: &LeafNode) -> bool {
    lifetime(node).is_none_or(profile::is_bounded)
}

/// The lifetime of a leaf that comes from a key package.
pub(super) fn lifetime(node: &LeafNode) -> Option<&Lifetime> {
    match node.leaf_node_source() {
        LeafNodeSource::KeyPackage(lifetime) => Some(lifetime),
        _ => None,
    }
}

/// An AppDataUpdate's component and operation.
pub(super) fn app_data(component: u16, operation: &AppDataUpdateOperation) -> (u16, AppDataOp) {
    match operation {
        AppDataUpdateOperation::Update(data) => (component, AppDataOp::Update(data.as_slice().to_vec())),
        AppDataUpdateOperation::Remove => (component, AppDataOp::Remove),
    }
}

/// A staged commit against the group it applies to.
pub(super) fn commit(group: &Group, staged: &StagedCommit, committer: SenderFacts) -> CommitFacts {
    let before = &group.mls;
    let proposals: Vec<_> = staged.queued_proposals().map(|queued| proposal(before, queued)).collect();
    let path_leaf = match (&committer, staged.update_path_leaf_node()) {
        (SenderFacts::Member(leaf), Some(node)) => Some(leaf_node(leaf.index, node)),
        _ => None,
    };
    let after = staged.group_context();
    let before_facts = group.facts();
    CommitFacts {
        leaves_after: leaves_after(&before_facts.leaves, &proposals, path_leaf.as_ref()),
        dictionary_after: dictionary(after.extensions()),
        epoch_after: after.epoch().as_u64(),
        context_otherwise_unchanged: others(before.extensions()).eq(others(after.extensions())),
        committer,
        proposals,
        path_leaf,
        before: before_facts,
    }
}

/// Context extensions that only a GroupContextExtensions proposal could change.
fn others(extensions: &Extensions<GroupContext>) -> impl Iterator<Item = &Extension> {
    extensions.iter().filter(|extension| !matches!(extension, Extension::AppDataDictionary(_)))
}

/// The leaves a commit leaves behind: Updates, then Removes, then each Add at the leftmost free
/// index, then the committer's new leaf (RFC 9420 sections 7.7 and 12.4.2).
fn leaves_after(
    before: &[LeafFacts],
    proposals: &[ProposalFacts],
    path_leaf: Option<&LeafFacts>,
) -> Vec<LeafFacts> {
    let mut leaves: Map<u32, LeafFacts> = before.iter().map(|leaf| (leaf.index, leaf.clone())).gather();
    for proposal in proposals {
        if let ProposalKind::Update { leaf } = &proposal.kind {
            leaves.insert(leaf.index, leaf.clone());
        }
    }
    for proposal in proposals {
        match (&proposal.kind, &proposal.proposer) {
            (ProposalKind::Remove { leaf: Some(leaf) }, _)
            | (ProposalKind::Unsupported(UnsupportedKind::SelfRemove), SenderFacts::Member(leaf)) => {
                leaves.remove(&leaf.index);
            }
            _ => {}
        }
    }
    let mut free = 0;
    for proposal in proposals {
        if let ProposalKind::Add { leaf, .. } = &proposal.kind {
            while leaves.contains_key(&free) {
                free += 1;
            }
            leaves.insert(free, LeafFacts { index: free, ..leaf.clone() });
        }
    }
    leaves.extend(path_leaf.map(|leaf| (leaf.index, leaf.clone())));
    leaves.into_values().collect()
}

/// Components whose value differs between two dictionaries.
pub(super) fn changed_components(before: &RawDictionary, after: &RawDictionary) -> Set<u16> {
    let all = before.keys().chain(after.keys()).copied();
    all.filter(|id| before.get(id) != after.get(id)).gather()
}
