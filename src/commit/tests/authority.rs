use super::fixture::*;
use crate::members::tests::{inbox, members};
use crate::meta::component::*;
use crate::meta::{Base, Entry, MapMutation, Policy, SetMutation, encode_inbox_set};
use crate::mls::facts::LeafFacts;

fn rename(by: &LeafFacts) -> crate::mls::facts::ProposalFacts {
    write(by, GROUP_NAME, b"crew".to_vec())
}

#[test]
fn gmod_021_a_setting_is_written_only_with_authority() {
    commit(group(), &second(), vec![rename(&second())]).applies();
    assert_eq!(commit(group(), &third(), vec![rename(&third())]).rejected(), "PERM-011");
}

#[test]
fn gmod_021_each_proposal_is_judged_by_its_proposer_not_its_committer() {
    // A plain member commits an admin's proposal.
    let lent = vec![by_reference(rename(&second()))];
    commit(group(), &third(), lent).applies();
    // A super admin's commit does not lend its authority to a plain member's proposal.
    let borrowed = vec![rename(&first()), by_reference(rename(&third()))];
    assert_eq!(commit(group(), &first(), borrowed).rejected(), "PERM-011");
}

#[test]
fn gmod_021_the_registry_before_the_commit_decides() {
    let by = first();
    let open = Entry {
        type_number: ComponentType::String as i32,
        insert: Policy::Base(Base::Allow),
        update: Policy::Base(Base::Allow),
        delete: Policy::Base(Base::Allow),
    };
    let opens = MapMutation::Update(crate::meta::Key::Component(GROUP_NAME), open.encode());
    let proposals = vec![mutate(&by, COMPONENT_REGISTRY, opens), by_reference(rename(&third()))];
    commit(group(), &by, proposals[..1].to_vec()).applies();
    assert_eq!(commit(group(), &by, proposals).rejected(), "PERM-011");
}

#[test]
fn gmod_021_roles_before_the_commit_decide() {
    let by = first();
    let promoted = mutate_set(&by, ADMIN_LIST, SetMutation::Insert(inbox_key(3)));
    let proposals = vec![promoted, by_reference(rename(&third()))];
    commit(group(), &by, proposals[..1].to_vec()).applies();
    assert_eq!(commit(group(), &by, proposals).rejected(), "PERM-011");
}

#[test]
fn gmod_021_lists_and_registry_are_for_super_admins() {
    let by = second();
    let admin = mutate_set(&by, ADMIN_LIST, SetMutation::Insert(inbox_key(3)));
    assert_eq!(commit(group(), &by, vec![admin]).rejected(), "PERM-011");
    let grab = mutate_set(&by, SUPER_ADMIN_LIST, SetMutation::Insert(inbox_key(2)));
    assert_eq!(commit(group(), &by, vec![grab]).rejected(), "PERM-005");
}

#[test]
fn gmod_021_leaf_proposals_need_authority_over_membership() {
    // A plain member enrols inbox 4: the membership update and the Add both lack authority.
    let after = members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[32]), (4, 40, &[])]);
    let by = third();
    let both = vec![add(&by, 4, 41), enrol(&by, &entries(), &after)];
    assert_eq!(commit(group(), &by, both).state(4, 40, &[41]).rejected(), "PERM-011");
    // The update comes from an admin; the Add still needs its own authority (PERM-015).
    let mixed = vec![add(&by, 4, 41), by_reference(enrol(&second(), &entries(), &after))];
    assert_eq!(commit(group(), &by, mixed).state(4, 40, &[41]).rejected(), "PERM-011");
    let lent = vec![by_reference(add(&second(), 4, 41)), by_reference(enrol(&second(), &entries(), &after))];
    commit(group(), &by, lent).state(4, 40, &[41]).applies();
}

#[test]
fn gmod_021_any_member_brings_another_up_to_date() {
    // Inbox 3, a plain member, refreshes inbox 2: additions and removals of installations whose
    // inbox stays are judged by the update policy.
    let after = members(&[(1, 10, &[]), (2, 25, &[]), (3, 30, &[32])]);
    let by = third();
    let proposals = vec![add(&by, 2, 22), remove(&by, second()), enrol(&by, &entries(), &after)];
    commit(group(), &by, proposals).state(2, 25, &[22]).applies();
}

#[test]
fn gmod_021_a_super_admin_is_never_removed() {
    let mut group = group();
    group.dictionary.insert(SUPER_ADMIN_LIST, encode_inbox_set(&[inbox(1), inbox(2)]));
    let after = members(&[(1, 10, &[]), (3, 30, &[32])]);
    let by = first();
    let proposals = vec![enrol(&by, &entries(), &after), remove(&by, second())];
    assert_eq!(commit(group.clone(), &by, proposals.clone()).rejected(), "PERM-003");
    // The entry alone is protected as well, whatever becomes of the leaves.
    let entry_only = commit(group.clone(), &by, proposals[..1].to_vec());
    assert_eq!(entry_only.rejected(), "PERM-003");
    // Giving up the role in the same commit does not help: committed lists decide.
    let mut same = proposals;
    same.push(mutate_set(&by, SUPER_ADMIN_LIST, SetMutation::Remove(inbox_key(2))));
    assert_eq!(commit(group, &by, same).rejected(), "PERM-003");
}

#[test]
fn gmod_021_the_last_super_admin_stays_one() {
    let by = first();
    let leave = || mutate_set(&by, SUPER_ADMIN_LIST, SetMutation::Remove(inbox_key(1)));
    assert_eq!(commit(group(), &by, vec![leave()]).rejected(), "PERM-004");
    let drop = drop_component(&by, SUPER_ADMIN_LIST);
    assert_eq!(commit(group(), &by, vec![drop]).rejected(), "PERM-004");
    let heir = mutate_set(&by, SUPER_ADMIN_LIST, SetMutation::Insert(inbox_key(2)));
    commit(group(), &by, vec![heir, leave()]).applies();
}

#[test]
fn dms_004_either_side_adds_the_other() {
    first_of_dm().applies();
    // The creator's other installation may do it too, once the creator's entry is raised.
    let mut grown = new_born_dm();
    let entry = members(&[(1, 10, &[])]);
    grown.dictionary.insert(GROUP_MEMBERSHIP, entry.encode());
    let after = members(&[(1, 10, &[]), (2, 20, &[])]);
    let by = first();
    let proposals = vec![add(&by, 2, 21), enrol(&by, &entry, &after)];
    commit(grown, &by, proposals).applies();
}

#[test]
fn dms_004_a_third_inbox_is_never_added() {
    let by = first();
    let created = members(&[(1, 0, &[])]);
    let third_only = members(&[(1, 10, &[]), (3, 30, &[])]);
    let proposals = vec![add(&by, 3, 31), enrol(&by, &created, &third_only)];
    assert_eq!(commit(new_born_dm(), &by, proposals).rejected(), "DMS-004");

    let with_peer = members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[])]);
    let proposals = vec![add(&by, 2, 21), enrol(&by, &created, &with_peer)];
    assert_eq!(commit(new_born_dm(), &by, proposals).rejected(), "DMS-004");
}

#[test]
fn dms_004_a_leaf_of_a_third_inbox_is_never_added() {
    let mut case = first_of_dm();
    case.commit.proposals.push(add(&first(), 3, 31));
    assert_eq!(case.rejected(), "DMS-004");
}

/// The DM after its first commit: both inboxes are members, with one leaf each.
fn full_dm() -> crate::mls::facts::GroupFacts {
    let mut group = new_born_dm();
    group.dictionary.insert(GROUP_MEMBERSHIP, members(&[(1, 10, &[]), (2, 20, &[])]).encode());
    group.leaves.push(second());
    group
}

#[test]
fn dms_004_members_of_a_dm_stay_members() {
    let by = second();
    let alone = members(&[(2, 20, &[])]);
    let both = members(&[(1, 10, &[]), (2, 20, &[])]);
    let proposals = vec![enrol(&by, &both, &alone), remove(&by, first())];
    assert_eq!(commit(full_dm(), &by, proposals).rejected(), "PERM-011");
    let admin = mutate_set(&by, ADMIN_LIST, SetMutation::Insert(inbox_key(2)));
    assert_eq!(commit(full_dm(), &by, vec![admin]).rejected(), "PERM-011");
    let grab = mutate_set(&by, SUPER_ADMIN_LIST, SetMutation::Insert(inbox_key(2)));
    assert_eq!(commit(full_dm(), &by, vec![grab]).rejected(), "PERM-005");
}

#[test]
fn dms_004_installations_of_members_change_under_the_update_policy() {
    let by = second();
    let both = members(&[(1, 10, &[]), (2, 20, &[])]);
    let raised = members(&[(1, 15, &[]), (2, 20, &[])]);
    let proposals = vec![add(&by, 1, 12), remove(&by, first()), enrol(&by, &both, &raised)];
    commit(full_dm(), &by, proposals).state(1, 15, &[12]).applies();
}
