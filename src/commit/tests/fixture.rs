//! A valid group and valid commits on it; tests break one thing at a time.
//!
//! The group has the admins-only policies. Inbox 1 is super admin, 2 admin, 3 plain member:
//! 1 at 10 with leaf 11, 2 at 20 with leaf 21, 3 at 30 with leaf 31 and failed 32.

use crate::base::Set;

use crate::base::{GroupId, InboxId, SequenceId, Version};
use crate::commit::{Ground, Verdict, judge};
use crate::members::tests::{inbox, keys, leaf, members, reference, states};
use crate::members::{Members, Resolution, States};
use crate::meta::component::*;
use crate::meta::{
    Key, MapMutation, NewConversation, Op, SetMutation, Settings, encode_inbox_map, encode_inbox_set,
    encode_map_delta, encode_set_delta, next_dictionary,
};
use crate::mls::facts::{
    AppDataOp, CommitFacts, GroupFacts, LeafFacts, ProposalFacts, ProposalKind, RawDictionary, SenderFacts,
};
use crate::policy::{ADMINS_ONLY, new_dm, new_group};

pub(super) const POSITION: SequenceId = SequenceId(100);

/// A commit and what it is judged by.
#[derive(Clone)]
pub(super) struct Case {
    pub commit: CommitFacts,
    pub states: States,
    pub position: SequenceId,
    pub client: &'static str,
}

impl Case {
    pub fn verdict(&self) -> Verdict {
        let client: Version = self.client.parse().unwrap();
        let ground = Ground { position: self.position, states: &self.states, client: &client };
        judge(&self.commit, &ground)
    }

    /// The requirement the commit is rejected for.
    pub fn rejected(&self) -> &'static str {
        match self.verdict() {
            Verdict::Rejected { id, .. } => id,
            other => panic!("not rejected: {other:?}"),
        }
    }

    pub fn applies(&self) {
        assert_eq!(self.verdict(), Verdict::Applied);
    }

    /// Adds what a reference resolves to.
    pub fn state(mut self, of: u8, at: u64, installations: &[u8]) -> Self {
        self.states.insert(reference(of, at), Resolution::Installations(keys(installations)));
        self
    }
}

/// The proposers of the group.
pub(super) fn first() -> LeafFacts {
    leaf(0, 1, 11)
}
pub(super) fn second() -> LeafFacts {
    leaf(2, 2, 21)
}
pub(super) fn third() -> LeafFacts {
    leaf(4, 3, 31)
}

pub(super) fn entries() -> Members {
    members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[32])])
}

fn newborn(settings: &Settings) -> NewConversation<'_> {
    NewConversation {
        creator: inbox(1),
        creator_entry: &[0x0a, 0],
        floor: "1.0.0",
        settings,
        commit_log_signer: None,
    }
}

pub(super) fn group() -> GroupFacts {
    let settings = Settings { name: Some("team".into()), ..Settings::default() };
    let mut dictionary = new_group(&newborn(&settings), ADMINS_ONLY).unwrap();
    dictionary.insert(GROUP_MEMBERSHIP, entries().encode());
    dictionary.insert(ADMIN_LIST, encode_inbox_set(&[inbox(2)]));
    let names = [(inbox(2), b"two".to_vec()), (inbox(3), b"three".to_vec())];
    dictionary.insert(USER_DISPLAY_NAME, encode_inbox_map(&names.into()));
    let leaves = vec![first(), second(), third()];
    GroupFacts { group_id: GroupId([7; 16]), epoch: 5, leaves, dictionary }
}

/// A DM that inbox 1 created with inbox 2 and that holds only the creator's leaf.
pub(super) fn new_born_dm() -> GroupFacts {
    let dictionary = new_dm(&newborn(&Settings::default()), inbox(2)).unwrap();
    GroupFacts { group_id: GroupId([8; 16]), epoch: 0, leaves: vec![first()], dictionary }
}

pub(super) fn proposal(by: &LeafFacts, kind: ProposalKind) -> ProposalFacts {
    ProposalFacts { kind, proposer: SenderFacts::Member(by.clone()), by_reference: false }
}

pub(super) fn by_reference(proposal: ProposalFacts) -> ProposalFacts {
    ProposalFacts { by_reference: true, ..proposal }
}

pub(super) fn add(by: &LeafFacts, of: u8, installation: u8) -> ProposalFacts {
    let leaf = leaf(0, of, installation);
    proposal(by, ProposalKind::Add { leaf, bounded_lifetime: false })
}

pub(super) fn remove(by: &LeafFacts, gone: LeafFacts) -> ProposalFacts {
    proposal(by, ProposalKind::Remove { leaf: Some(gone) })
}

pub(super) fn update(by: &LeafFacts, leaf: LeafFacts) -> ProposalFacts {
    proposal(by, ProposalKind::Update { leaf })
}

pub(super) fn write(by: &LeafFacts, component: u16, payload: Vec<u8>) -> ProposalFacts {
    let op = AppDataOp::Update(payload);
    proposal(by, ProposalKind::AppData { component, op })
}

pub(super) fn drop_component(by: &LeafFacts, component: u16) -> ProposalFacts {
    proposal(by, ProposalKind::AppData { component, op: AppDataOp::Remove })
}

pub(super) fn mutate(by: &LeafFacts, component: u16, mutation: MapMutation) -> ProposalFacts {
    write(by, component, encode_map_delta(&[mutation]))
}

pub(super) fn mutate_set(by: &LeafFacts, component: u16, mutation: SetMutation) -> ProposalFacts {
    write(by, component, encode_set_delta(&[mutation]))
}

/// The membership update that leads from one state to another.
pub(super) fn enrol(by: &LeafFacts, before: &Members, after: &Members) -> ProposalFacts {
    write(by, GROUP_MEMBERSHIP, encode_map_delta(&before.mutations(after)))
}

pub(super) fn inbox_key(of: u8) -> Key {
    Key::Inbox(inbox(of))
}

pub(super) fn set(of: &[u8]) -> Set<InboxId> {
    of.iter().map(|n| inbox(*n)).collect()
}

/// What the component updates of `proposals` make of a dictionary, or `before` when they are not
/// valid (tests that break them expect an earlier refusal).
fn dictionary_after(before: &RawDictionary, proposals: &[ProposalFacts]) -> RawDictionary {
    let update = |proposal: &ProposalFacts| match &proposal.kind {
        ProposalKind::AppData { component, op: AppDataOp::Update(payload) } => {
            Some((*component, Op::Update(payload.clone())))
        }
        ProposalKind::AppData { component, op: AppDataOp::Remove } => Some((*component, Op::Remove)),
        _ => None,
    };
    let updates: Vec<_> = proposals.iter().filter_map(update).collect();
    next_dictionary(before, &updates).map_or_else(|_| before.clone(), |(after, _)| after)
}

/// A commit by `by` on `before`, whose leaves and dictionary after it are what its proposals say.
pub(super) fn commit(before: GroupFacts, by: &LeafFacts, proposals: Vec<ProposalFacts>) -> Case {
    let mut leaves_after = before.leaves.clone();
    for proposal in &proposals {
        match &proposal.kind {
            ProposalKind::Remove { leaf } => leaves_after.retain(|kept| Some(kept) != leaf.as_ref()),
            ProposalKind::Add { leaf, .. } => {
                let index = 10 + u32::from(leaf.installation.0[0]);
                leaves_after.push(LeafFacts { index, ..leaf.clone() });
            }
            _ => {}
        }
    }
    let commit = CommitFacts {
        committer: SenderFacts::Member(by.clone()),
        dictionary_after: dictionary_after(&before.dictionary, &proposals),
        proposals,
        path_leaf: Some(by.clone()),
        leaves_after,
        epoch_after: before.epoch + 1,
        context_otherwise_unchanged: true,
        before,
    };
    let known = states(&[(1, 10, &[11]), (2, 20, &[21]), (3, 30, &[31, 32])]);
    Case { commit, states: known, position: POSITION, client: "2.0.0" }
}

/// Inbox 1 adds inbox 4 (41, failed 42), raises inbox 2 (22 for 21), removes inbox 3, renames the
/// group.
pub(super) fn busy() -> Case {
    let after = members(&[(1, 10, &[]), (2, 25, &[]), (4, 40, &[42])]);
    let by = first();
    let proposals = vec![
        add(&by, 2, 22),
        add(&by, 4, 41),
        enrol(&by, &entries(), &after),
        write(&by, GROUP_NAME, b"crew".to_vec()),
        remove(&by, second()),
        remove(&by, third()),
    ];
    commit(group(), &by, proposals).state(2, 25, &[22]).state(4, 40, &[41, 42])
}

/// A commit by inbox 2, an admin, that changes membership to `after` with `changes` beside it.
pub(super) fn by_admin(after: &Members, mut changes: Vec<ProposalFacts>) -> Case {
    changes.push(enrol(&second(), &entries(), after));
    commit(group(), &second(), changes)
}

/// The first commit of a new DM: the creator's entry is raised, 12 and the peer's 21 are added.
pub(super) fn first_of_dm() -> Case {
    let by = first();
    let created = members(&[(1, 0, &[])]);
    let after = members(&[(1, 10, &[]), (2, 20, &[])]);
    let proposals = vec![add(&by, 1, 12), add(&by, 2, 21), enrol(&by, &created, &after)];
    commit(new_born_dm(), &by, proposals).state(1, 10, &[11, 12])
}
