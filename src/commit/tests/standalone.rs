use super::fixture::*;
use crate::base::Version;
use crate::commit::{Verdict, judge_standalone};
use crate::members::tests::{inbox, leaf, members};
use crate::meta::component::*;
use crate::meta::{MapMutation, SetMutation, encode_inbox_set};
use crate::mls::facts::{GroupFacts, LeafFacts, ProposalFacts, ProposalKind, SenderFacts, UnsupportedKind};

fn on(group: &GroupFacts, proposal: &ProposalFacts) -> Verdict {
    let client: Version = "2.0.0".parse().unwrap();
    judge_standalone(proposal, group, &client)
}

fn kept(proposal: &ProposalFacts) {
    assert_eq!(on(&group(), proposal), Verdict::Applied);
}

fn rejected(proposal: &ProposalFacts) -> &'static str {
    rejected_on(&group(), proposal)
}

fn rejected_on(group: &GroupFacts, proposal: &ProposalFacts) -> &'static str {
    match on(group, proposal) {
        Verdict::Rejected { id, .. } => id,
        other => panic!("not rejected: {other:?}"),
    }
}

#[test]
fn gmod_002_a_standalone_proposal_comes_from_a_member() {
    let mut outside = write(&first(), GROUP_NAME, b"x".to_vec());
    outside.proposer = SenderFacts::Outsider;
    assert_eq!(rejected(&outside), "GMOD-002");
    assert_eq!(rejected(&write(&leaf(8, 1, 19), GROUP_NAME, b"x".to_vec())), "GMOD-002");
}

#[test]
fn gmod_001_every_unsupported_standalone_proposal_is_held() {
    for kind in [UnsupportedKind::PreSharedKey, UnsupportedKind::SelfRemove, UnsupportedKind::Custom(9)] {
        let verdict = on(&group(), &proposal(&first(), ProposalKind::Unsupported(kind)));
        assert!(matches!(verdict, Verdict::Held { code: "unsupported_proposal", .. }));
    }
}

#[test]
fn gmod_003_a_standalone_update_keeps_its_inbox() {
    kept(&update(&third(), third()));
    // Whether the key belongs to the inbox is judged in its commit.
    kept(&update(&third(), leaf(4, 3, 39)));
    assert_eq!(rejected(&update(&third(), leaf(4, 1, 31))), "GMOD-003");
}

#[test]
fn gmod_019_an_add_needs_authority() {
    kept(&add(&second(), 4, 41));
    assert_eq!(rejected(&add(&third(), 4, 41)), "PERM-011");
    // An installation of a member is the update policy's business.
    kept(&add(&third(), 2, 22));
}

#[test]
fn gmod_019_an_add_that_expires_is_refused() {
    let kind = ProposalKind::Add { leaf: leaf(0, 4, 41), bounded_lifetime: true };
    assert_eq!(rejected(&proposal(&second(), kind)), "lifetime");
}

#[test]
fn gmod_019_a_remove_needs_authority() {
    // As the commit is not known, a leaf of a present member counts as staying.
    kept(&remove(&third(), second()));
    let mut closed = group();
    closed.dictionary.insert(COMPONENT_REGISTRY, crate::policy::registry_of(&[]));
    assert_eq!(rejected_on(&closed, &remove(&third(), second())), "PERM-012");
}

#[test]
fn gmod_019_a_component_update_needs_structure_and_authority() {
    kept(&write(&second(), GROUP_NAME, b"crew".to_vec()));
    assert_eq!(rejected(&write(&third(), GROUP_NAME, b"crew".to_vec())), "PERM-011");
    assert_eq!(rejected(&write(&first(), GROUP_NAME, vec![0xff])), "META-010");
    assert_eq!(rejected(&write(&first(), GROUP_MEMBERSHIP, vec![7])), "META-013");
    assert_eq!(rejected(&write(&first(), 0xff01, vec![])), "META-003");
    assert_eq!(rejected(&write(&first(), CREATOR_INBOX_ID, vec![0; 33])), "META-004");
    assert_eq!(rejected(&drop_component(&first(), COMPONENT_REGISTRY)), "META-015");
}

#[test]
fn gmod_019_identity_and_leaf_sums_are_left_to_the_commit() {
    // Nothing resolves inbox 4 at 500, and no Add comes with it.
    let after = members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[32]), (4, 500, &[])]);
    kept(&enrol(&second(), &entries(), &after));
}

#[test]
fn gmod_019_a_delta_that_may_fit_later_is_judged_by_its_tags() {
    let rename = |by: &LeafFacts, of: u8| {
        mutate(by, USER_DISPLAY_NAME, MapMutation::Update(inbox_key(of), b"me".to_vec()))
    };
    // Inbox 1 has no name yet; an insert may come first in the same commit.
    kept(&rename(&first(), 1));
    assert_eq!(rejected(&rename(&second(), 1)), "PERM-011");
    let admin = |by: &LeafFacts| mutate_set(by, ADMIN_LIST, SetMutation::Remove(inbox_key(3)));
    kept(&admin(&first()));
    assert_eq!(rejected(&admin(&second())), "PERM-011");
    let hash = |by: &LeafFacts| mutate_set(by, ADMIN_LIST, SetMutation::RemoveByHash([9; 32]));
    kept(&hash(&first()));
    assert_eq!(rejected(&hash(&second())), "PERM-011");
    kept(&drop_component(&first(), GROUP_DESCRIPTION));
    assert_eq!(rejected(&drop_component(&second(), GROUP_DESCRIPTION)), "PERM-011");
}

#[test]
fn gmod_019_a_profile_of_a_member_is_not_deleted_on_its_own() {
    // PERM-027: the committed membership decides, and inbox 3 is still in it.
    let delete = mutate(&first(), USER_DISPLAY_NAME, MapMutation::Delete(inbox_key(3)));
    assert_eq!(rejected(&delete), "PERM-011");
    kept(&mutate(&third(), USER_DISPLAY_NAME, MapMutation::Delete(inbox_key(3))));
}

#[test]
fn gmod_019_a_super_admin_is_not_proposed_away() {
    let mut group = group();
    group.dictionary.insert(SUPER_ADMIN_LIST, encode_inbox_set(&[inbox(1), inbox(2)]));
    let after = members(&[(1, 10, &[]), (3, 30, &[32])]);
    let proposal = enrol(&first(), &entries(), &after);
    assert_eq!(rejected_on(&group, &proposal), "PERM-003");
    kept(&enrol(&first(), &entries(), &after));
}

#[test]
fn gmod_026_a_standalone_proposal_never_lowers_the_floor() {
    let floor = |to: &str| write(&first(), MIN_SUPPORTED_PROTOCOL_VERSION, to.as_bytes().to_vec());
    assert_eq!(rejected(&floor("0.9.0")), "GMOD-026");
    assert_eq!(rejected(&drop_component(&first(), MIN_SUPPORTED_PROTOCOL_VERSION)), "GMOD-026");
    // A proposed floor does not pause; only a committed one does.
    kept(&floor("9.0.0"));
}

#[test]
fn gmod_025_a_committed_floor_above_the_client_pauses_proposals_too() {
    let client: Version = "0.9.0".parse().unwrap();
    let verdict = judge_standalone(&update(&third(), third()), &group(), &client);
    assert_eq!(verdict, Verdict::Paused { floor: "1.0.0".into() });
}

#[test]
fn dms_004_a_standalone_addition_to_a_dm_names_the_other_inbox() {
    let dm = new_born_dm();
    assert_eq!(on(&dm, &add(&first(), 2, 21)), Verdict::Applied);
    assert_eq!(rejected_on(&dm, &add(&first(), 3, 31)), "DMS-004");
    let created = members(&[(1, 0, &[])]);
    let peer = members(&[(1, 0, &[]), (2, 20, &[])]);
    assert_eq!(on(&dm, &enrol(&first(), &created, &peer)), Verdict::Applied);
    let more = members(&[(1, 0, &[]), (2, 20, &[]), (3, 30, &[])]);
    assert_eq!(rejected_on(&dm, &enrol(&first(), &created, &more)), "DMS-004");
}

#[test]
fn gmod_019_no_proposal_empties_the_super_admin_list() {
    let by = first();
    let last = mutate_set(&by, SUPER_ADMIN_LIST, SetMutation::Remove(inbox_key(1)));
    assert_eq!(rejected(&last), "PERM-004");
    let mut two = group();
    two.dictionary.insert(SUPER_ADMIN_LIST, encode_inbox_set(&[inbox(1), inbox(2)]));
    assert_eq!(on(&two, &last), Verdict::Applied);
    // It may follow one that makes another super admin, which is not known yet.
    kept(&mutate_set(&by, SUPER_ADMIN_LIST, SetMutation::Remove(inbox_key(2))));
}

#[test]
fn gmod_019_no_proposal_removes_the_membership_of_a_super_admin() {
    assert_eq!(rejected(&drop_component(&second(), GROUP_MEMBERSHIP)), "PERM-003");
    let one = |of| mutate(&second(), GROUP_MEMBERSHIP, MapMutation::Delete(inbox_key(of)));
    assert_eq!(rejected(&one(1)), "PERM-003");
    kept(&one(3));
}

#[test]
fn gmod_019_an_add_or_remove_of_nobody_is_not_kept() {
    let nobody = proposal(&first(), ProposalKind::Remove { leaf: None });
    assert_eq!(rejected(&nobody), "PERM-015");
    let nameless = LeafFacts { inbox: None, ..leaf(0, 4, 41) };
    let kind = ProposalKind::Add { leaf: nameless, bounded_lifetime: false };
    assert_eq!(rejected(&proposal(&first(), kind)), "PERM-015");
}
