//! Plain descriptions of opened MLS content, free of OpenMLS types.
//!
//! `commit`, `dm` and `members` judge these; only `mls` makes them.

use crate::base::Map;

use crate::base::{GroupId, InboxId, InstallationId};

/// The app-data dictionary as stored: component id to raw value.
pub type RawDictionary = Map<u16, Vec<u8>>;

/// A leaf of the ratchet tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafFacts {
    /// Its index in the tree.
    pub index: u32,
    /// The inbox its credential names; `None` when the credential cannot be read.
    pub inbox: Option<InboxId>,
    /// Its signature key.
    pub installation: InstallationId,
}

/// A group at one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFacts {
    /// The MLS group id.
    pub group_id: GroupId,
    /// GroupContext.epoch.
    pub epoch: u64,
    /// All leaves.
    pub leaves: Vec<LeafFacts>,
    /// The dictionary.
    pub dictionary: RawDictionary,
}

/// Who sent a handshake message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderFacts {
    /// A member's leaf.
    Member(LeafFacts),
    /// An external sender, a new member, or a leaf that is not in the group (GMOD-002).
    Outsider,
}

/// What an AppDataUpdate does to its component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppDataOp {
    /// Payload: whole value or delta, by component type.
    Update(Vec<u8>),
    /// Removes the component.
    Remove,
}

/// A proposal kind XMTP does not use (GMOD-001).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnsupportedKind {
    /// GroupContextExtensions.
    GroupContextExtensions,
    /// PreSharedKey.
    PreSharedKey,
    /// ReInit.
    ReInit,
    /// ExternalInit.
    ExternalInit,
    /// SelfRemove.
    SelfRemove,
    /// AppEphemeral.
    AppEphemeral,
    /// Any other number; 0 when MLS refused the commit without saying which.
    Custom(u16),
}

/// What a proposal does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalKind {
    /// Adds an installation.
    Add {
        /// The leaf of the key package (index 0: not placed yet).
        leaf: LeafFacts,
        /// The key package's MLS lifetime is bounded, so members' clocks could disagree.
        bounded_lifetime: bool,
    },
    /// Removes a leaf.
    Remove {
        /// The leaf as it is before the commit; `None` for an index without a leaf.
        leaf: Option<LeafFacts>,
    },
    /// Replaces the proposer's own leaf.
    Update {
        /// The new leaf.
        leaf: LeafFacts,
    },
    /// Writes one component.
    AppData {
        /// Component id.
        component: u16,
        /// What it writes.
        op: AppDataOp,
    },
    /// Not one of the four kinds.
    Unsupported(UnsupportedKind),
}

/// A proposal and who made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalFacts {
    /// What it does.
    pub kind: ProposalKind,
    /// Who signed it.
    pub proposer: SenderFacts,
    /// Referenced by hash (published on its own before).
    pub by_reference: bool,
}

/// A staged commit, seen before it is merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFacts {
    /// Who committed.
    pub committer: SenderFacts,
    /// Proposals in commit order.
    pub proposals: Vec<ProposalFacts>,
    /// The committer's new leaf, when the commit has a path.
    pub path_leaf: Option<LeafFacts>,
    /// The group before the commit.
    pub before: GroupFacts,
    /// Leaves after the commit.
    pub leaves_after: Vec<LeafFacts>,
    /// The dictionary after the commit.
    pub dictionary_after: RawDictionary,
    /// Epoch after the commit.
    pub epoch_after: u64,
    /// The group-context extensions other than the dictionary are unchanged.
    pub context_otherwise_unchanged: bool,
}

/// A Welcome opened and not yet joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinFacts {
    /// The group as the Welcome describes it.
    pub group: GroupFacts,
    /// The leaf that signed the GroupInfo (JOIN-025).
    pub adder: LeafFacts,
    /// Our own leaf.
    pub own: LeafFacts,
    /// The commit's sequence id named by the Welcome's metadata (JOIN-036).
    pub anchor: u64,
}
