//! Small builders, then the tests of each file.

mod account;
mod diff;
mod entry;

use crate::base::Set;

use super::*;
use crate::base::{GroupId, InboxId, InstallationId, SequenceId};
use crate::meta::component::GROUP_MEMBERSHIP;
use crate::mls::facts::{GroupFacts, JoinFacts, LeafFacts, RawDictionary};

pub(crate) fn inbox(n: u8) -> InboxId {
    InboxId([n; 32])
}

pub(crate) fn key(n: u8) -> InstallationId {
    InstallationId([n; 32])
}

pub(crate) fn keys(of: &[u8]) -> Set<InstallationId> {
    of.iter().map(|n| key(*n)).collect()
}

pub(crate) fn leaf(index: u32, of: u8, installation: u8) -> LeafFacts {
    LeafFacts { index, inbox: Some(inbox(of)), installation: key(installation) }
}

/// Members as (inbox, sequence id, failed installations).
pub(crate) fn members(of: &[(u8, u64, &[u8])]) -> Members {
    let entry = |at, failed: &[u8]| Entry { sequence_id: SequenceId(at), failed: keys(failed) };
    Members(of.iter().map(|(id, at, failed)| (inbox(*id), entry(*at, failed))).collect())
}

pub(crate) fn reference(of: u8, at: u64) -> Reference {
    Reference { inbox: inbox(of), sequence_id: SequenceId(at) }
}

/// States as (inbox, sequence id, installations).
pub(crate) fn states(of: &[(u8, u64, &[u8])]) -> States {
    of.iter().map(|(id, at, of)| (reference(*id, *at), Resolution::Installations(keys(of)))).collect()
}

pub(crate) fn dictionary(members: &Members) -> RawDictionary {
    RawDictionary::from([(GROUP_MEMBERSHIP, members.encode())])
}

/// Inbox 1 (keys 11, 12 and failed 13) added inbox 2 (key 21) with the commit at 50.
pub(crate) fn valid_join() -> (JoinFacts, States) {
    let members = members(&[(1, 10, &[13]), (2, 20, &[])]);
    let leaves = vec![leaf(0, 1, 11), leaf(1, 1, 12), leaf(2, 2, 21)];
    let join = JoinFacts {
        group: GroupFacts { group_id: GroupId([7; 16]), epoch: 1, leaves, dictionary: dictionary(&members) },
        adder: leaf(0, 1, 11),
        own: leaf(2, 2, 21),
        anchor: 50,
    };
    (join, states(&[(1, 10, &[11, 12, 13]), (2, 20, &[21])]))
}
