use super::fixture::*;
use crate::commit::cleanup;
use crate::members::tests::{inbox, members};
use crate::meta::component::*;
use crate::meta::{
    Base, Dictionary, Entry, MapMutation, Policy, SetMutation, encode_inbox_map, encode_inbox_set,
    encode_map_delta, encode_set_delta,
};
use crate::mls::facts::{GroupFacts, ProposalFacts};
use crate::policy::{ADMINS_ONLY, Row, registry_of};

fn cleaned(group: &GroupFacts, by: u8, removed: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut after = Dictionary::new(&group.dictionary).members().unwrap();
    after.retain(|member| !set(removed).contains(member));
    cleanup(&group.dictionary, inbox(by), &set(removed), &after).unwrap()
}

fn delete(of: u8) -> Vec<u8> {
    encode_map_delta(&[MapMutation::Delete(inbox_key(of))])
}

#[test]
fn gmod_039_names_and_roles_of_a_removed_inbox_are_deleted() {
    let role = encode_set_delta(&[SetMutation::Remove(inbox_key(2))]);
    assert_eq!(cleaned(&group(), 1, &[2]), [(ADMIN_LIST, role), (USER_DISPLAY_NAME, delete(2))]);
}

#[test]
fn gmod_039_only_keys_that_are_there_are_deleted() {
    assert_eq!(cleaned(&group(), 1, &[3]), [(USER_DISPLAY_NAME, delete(3))]);
    let mut nameless = group();
    nameless.dictionary.remove(&USER_DISPLAY_NAME);
    assert_eq!(cleaned(&nameless, 1, &[3]), []);
    assert_eq!(cleaned(&group(), 1, &[]), []);
}

#[test]
fn gmod_039_a_forbidden_delete_is_left_out_alone() {
    // An admin may remove an inbox but not take its admin role away.
    assert_eq!(cleaned(&group(), 2, &[3]), [(USER_DISPLAY_NAME, delete(3))]);
    let mut two_admins = group();
    two_admins.dictionary.insert(ADMIN_LIST, encode_inbox_set(&[inbox(2), inbox(3)]));
    assert_eq!(cleaned(&two_admins, 2, &[3]), [(USER_DISPLAY_NAME, delete(3))]);
    let closed = |row: &Row| match row.component {
        USER_DISPLAY_NAME => Row { delete: Base::Deny, ..*row },
        _ => *row,
    };
    let rows: Vec<_> = ADMINS_ONLY.iter().map(closed).collect();
    two_admins.dictionary.insert(COMPONENT_REGISTRY, registry_of(&rows));
    assert_eq!(cleaned(&two_admins, 2, &[3]), []);
}

#[test]
fn gmod_039_application_maps_by_inbox_are_cleaned_and_membership_is_not() {
    let by = first();
    let entry = Entry {
        type_number: ComponentType::MapInboxBytes as i32,
        insert: Policy::Base(Base::Allow),
        update: Policy::Base(Base::Allow),
        delete: Policy::Base(Base::Allow),
    };
    let register = MapMutation::Insert(crate::meta::Key::Component(0xc001), entry.encode());
    let registered = commit(group(), &by, vec![mutate(&by, COMPONENT_REGISTRY, register)]);
    registered.applies();
    let mut group = GroupFacts { dictionary: registered.commit.dictionary_after, ..group() };
    group.dictionary.insert(0xc001, encode_inbox_map(&[(inbox(3), vec![1])].into()));
    assert_eq!(cleaned(&group, 1, &[3]), [(USER_DISPLAY_NAME, delete(3)), (0xc001, delete(3))]);
}

/// A removal of inbox 3 by inbox 1, with or without cleanup.
fn removal(cleanup: Vec<ProposalFacts>) -> Case {
    let by = first();
    let after = members(&[(1, 10, &[]), (2, 20, &[])]);
    let mut proposals = vec![enrol(&by, &entries(), &after), remove(&by, third())];
    proposals.extend(cleanup);
    commit(group(), &by, proposals)
}

#[test]
fn gmod_039_a_receiver_accepts_a_removal_with_and_without_cleanup() {
    let deletes = cleaned(&group(), 1, &[3]);
    let inline = deletes.into_iter().map(|(component, delta)| write(&first(), component, delta));
    removal(inline.collect()).applies();
    removal(vec![]).applies();
}

#[test]
fn gmod_039_a_forbidden_cleanup_is_still_a_forbidden_write() {
    let role = mutate(&first(), USER_DISPLAY_NAME, MapMutation::Delete(inbox_key(2)));
    assert_eq!(removal(vec![role]).rejected(), "PERM-011");
}
