//! Which proposals are used at all, and who may send them (GMOD-001, 002, 003).
//!
//! Choices: a commit with several unsupported proposals is rejected when the table rejects any of
//! them, since no version of this client could apply it. A received Add whose key package has a
//! bounded lifetime is rejected for good, so that the verdict does not hang on a member's clock.
//! GMOD-003 binds inline Updates and the committer's path leaf as well.

use super::verdict::{Check, Verdict};
use crate::base::InboxId;
use crate::mls::facts::{LeafFacts, ProposalFacts, ProposalKind, SenderFacts, UnsupportedKind};

/// Where a proposal was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Published on its own.
    Standalone,
    /// Inside a commit, inline or by reference.
    Commit,
}

/// The unsupported-proposal table (GMOD-001).
pub fn unsupported(kind: UnsupportedKind, place: Place) -> Verdict {
    match (kind, place) {
        (UnsupportedKind::PreSharedKey, Place::Commit) => {
            Verdict::rejected("GMOD-001", "the commit carries a pre-shared key proposal")
        }
        _ => Verdict::Held {
            code: Verdict::UNSUPPORTED_PROPOSAL,
            reason: format!("a {kind:?} proposal needs a newer version of this client"),
        },
    }
}

/// The sender is a member whose leaf is in the group; gives that leaf and its inbox (GMOD-002).
pub(super) fn member<'a>(sender: &'a SenderFacts, leaves: &[LeafFacts]) -> Check<(&'a LeafFacts, InboxId)> {
    match sender {
        SenderFacts::Member(leaf) if leaves.contains(leaf) => match leaf.inbox {
            Some(inbox) => Ok((leaf, inbox)),
            None => Err(Verdict::rejected("GMOD-002", "the sender's credential names no inbox")),
        },
        _ => Err(Verdict::rejected("GMOD-002", "the sender is not a member of the group")),
    }
}

/// Every proposal is of a kind in use (GMOD-001), and no Add depends on a clock.
pub(super) fn supported(proposals: &[ProposalFacts], place: Place) -> Check {
    let mut held = None;
    for proposal in proposals {
        match &proposal.kind {
            ProposalKind::Unsupported(kind) => match unsupported(*kind, place) {
                hold @ Verdict::Held { .. } => held = held.or(Some(hold)),
                rejected => return Err(rejected),
            },
            ProposalKind::Add { bounded_lifetime: true, .. } => {
                let reason = "an added key package expires, so members' clocks could disagree about it";
                return Err(Verdict::rejected("lifetime", reason));
            }
            _ => {}
        }
    }
    held.map_or(Ok(()), Err)
}

/// A replaced leaf still names its owner's inbox (GMOD-003).
pub(super) fn same_inbox(owner: InboxId, leaf: &LeafFacts) -> Check {
    if leaf.inbox == Some(owner) {
        return Ok(());
    }
    Err(Verdict::rejected("GMOD-003", "an updated leaf names another inbox than its owner's"))
}
