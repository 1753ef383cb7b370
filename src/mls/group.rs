//! A loaded group and the questions that only read it.

use std::cell::OnceCell;
use std::fmt;

use openmls::prelude::tls_codec::Serialize as _;
use openmls::prelude::{GroupId as MlsGroupId, MlsGroup, Proposal};

use super::describe;
use super::facts::{GroupFacts, LeafFacts, ProposalFacts, RawDictionary};
use super::scratch::{Scratch, ScratchError};
use crate::base::GroupId;

/// The reference of a kept proposal, as commits name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProposalId(pub(super) Vec<u8>);

/// A group in memory. Its rows are in the [`Scratch`] it was loaded from; after the scratch was
/// restored, load it again.
pub struct Group {
    pub(super) id: GroupId,
    pub(super) mls: MlsGroup,
    /// All leaves, described when first asked for: a commit is described several times.
    leaves: OnceCell<Vec<LeafFacts>>,
}

impl Group {
    pub(super) fn new(id: GroupId, mls: MlsGroup) -> Self {
        Self { id, mls, leaves: OnceCell::new() }
    }

    /// Loads a group; `None` when the scratch has no complete state of it.
    pub fn load(scratch: &Scratch, id: GroupId) -> Result<Option<Self>, ScratchError> {
        let mls = MlsGroup::load(scratch, &MlsGroupId::from_slice(id.as_bytes()))?;
        Ok(mls.map(|mls| Self::new(id, mls)))
    }

    /// Its id.
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// Leaves, dictionary and epoch.
    pub fn facts(&self) -> GroupFacts {
        GroupFacts {
            group_id: self.id,
            epoch: self.epoch(),
            leaves: self.leaves.get_or_init(|| describe::leaves(&self.mls)).clone(),
            dictionary: self.dictionary(),
        }
    }

    /// Stands before whatever changes the tree.
    pub(super) fn moving(&mut self) -> &mut MlsGroup {
        self.leaves.take();
        &mut self.mls
    }

    /// The dictionary alone.
    pub fn dictionary(&self) -> RawDictionary {
        describe::dictionary(self.mls.extensions())
    }

    /// GroupContext.epoch.
    pub fn epoch(&self) -> u64 {
        self.mls.epoch().as_u64()
    }

    /// The epoch authenticator: equal at members that share the epoch's secrets.
    pub fn authenticator(&self) -> Vec<u8> {
        self.mls.epoch_authenticator().as_slice().to_vec()
    }

    /// False once a merged commit removed our leaf.
    pub fn is_active(&self) -> bool {
        self.mls.is_active()
    }

    /// Our leaf; `None` once it was removed.
    pub fn own_leaf(&self) -> Option<LeafFacts> {
        // Someone added by the commit that removed us may have our index.
        self.is_active().then(|| describe::leaf_at(&self.mls, self.mls.own_leaf_index().u32())).flatten()
    }

    /// True while an own commit waits to be read back.
    pub fn has_pending_commit(&self) -> bool {
        self.mls.pending_commit().is_some()
    }

    /// Proposals kept in this epoch, oldest first. While there are any, no message can be sent.
    pub fn kept_proposals(&self) -> Vec<(ProposalId, ProposalFacts)> {
        let described = self.mls.pending_proposals().map(|queued| {
            let id = ProposalId(queued.proposal_reference_ref().as_slice().to_vec());
            (id, describe::proposal(&self.mls, queued))
        });
        described.collect()
    }

    /// The key package of a kept Add; `None` for anything else.
    pub fn kept_package(&self, id: &ProposalId) -> Option<Vec<u8>> {
        let queued = self.mls.pending_proposals().find(|q| q.proposal_reference_ref().as_slice() == id.0)?;
        match queued.proposal() {
            Proposal::Add(add) => add.key_package().tls_serialize_detached().ok(),
            _ => None,
        }
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("id", &self.id).field("epoch", &self.epoch()).finish_non_exhaustive()
    }
}
