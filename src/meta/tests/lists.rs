//! GMOD-030, reserved and immutable ids, order (META-003, META-004, META-064).

use super::*;

#[test]
fn gmod_030_one_operation_kind_per_component() {
    let before = group();
    for list in [[set(GROUP_NAME, "x"), remove(GROUP_NAME)], [remove(GROUP_NAME), set(GROUP_NAME, "x")]] {
        assert_eq!(refused(&before, &list), MetaError::UpdateAndRemove(GROUP_NAME));
    }
    // The pair need not be adjacent.
    let apart = [set(GROUP_NAME, "x"), set(APP_SCALAR, "y"), remove(GROUP_NAME)];
    assert_eq!(refused(&before, &apart), MetaError::UpdateAndRemove(GROUP_NAME));
}

#[test]
fn gmod_030_a_component_is_removed_once() {
    let list = [remove(GROUP_NAME), remove(GROUP_NAME)];
    assert_eq!(refused(&group(), &list), MetaError::RemovedTwice(GROUP_NAME));
}

#[test]
fn gmod_030_only_what_is_there_is_removed() {
    assert_eq!(refused(&group(), &[remove(APP_SCALAR)]), MetaError::RemoveAbsent(APP_SCALAR));
    // An Update in the same list does not make it removable.
    let list = [set(APP_SCALAR, "x"), remove(APP_SCALAR)];
    assert!(next_dictionary(&group(), &list).is_err());
}

#[test]
fn gmod_030_valid_lists_pass() {
    let list = [remove(GROUP_NAME), set(APP_SCALAR, "1"), set(APP_SCALAR, "2")];
    let (after, effects) = next_dictionary(&group(), &list).unwrap();
    assert!(!after.contains_key(&GROUP_NAME));
    assert_eq!(after[&APP_SCALAR], b"2");
    assert_eq!(effects.iter().map(|e| e.proposal).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn meta_003_reserved_ids_are_never_written() {
    let mut before = group();
    before.insert(0xFF00, vec![1]);
    for list in [[set(0xFF00, "x")], [remove(0xFF00)]] {
        assert_eq!(refused(&before, &list), MetaError::Reserved(0xFF00));
    }
    assert_eq!(refused(&before, &[set(0x7FFF, "x")]), MetaError::NotAComponent(0x7FFF));
}

#[test]
fn meta_004_immutable_scalars_are_written_once() {
    let before = group();
    for list in [[set(CREATOR_INBOX_ID, inbox_bytes(&inbox(2)))], [remove(CONVERSATION_TYPE)]] {
        assert_eq!(refused(&before, &list), MetaError::Immutable(list[0].0));
    }
    let first = [set(ONESHOT_MESSAGE, "payload")];
    let (after, _) = next_dictionary(&before, &first).unwrap();
    assert_eq!(refused(&after, &first), MetaError::Immutable(ONESHOT_MESSAGE));
    let twice = [set(ONESHOT_MESSAGE, "a"), set(ONESHOT_MESSAGE, "b")];
    assert_eq!(refused(&before, &twice), MetaError::Immutable(ONESHOT_MESSAGE));
}

#[test]
fn meta_004_the_first_write_of_an_immutable_set_only_inserts() {
    let before = group();
    let insert = |n| SetMutation::Insert(Key::Inbox(inbox(n)));
    let (after, _) = next_dictionary(&before, &[set_delta(APP_FIXED_SET, &[insert(1), insert(2)])]).unwrap();
    let more = [set_delta(APP_FIXED_SET, &[insert(3)])];
    assert_eq!(refused(&after, &more), MetaError::Immutable(APP_FIXED_SET));
    let with_removal = [insert(1), SetMutation::Remove(Key::Inbox(inbox(1)))];
    assert_eq!(
        refused(&before, &[set_delta(APP_FIXED_SET, &with_removal)]),
        MetaError::Immutable(APP_FIXED_SET)
    );
}

#[test]
fn meta_030_a_dm_pair_is_two_inboxes() {
    let insert = |n| SetMutation::Insert(Key::Inbox(inbox(n)));
    let three = [insert(1), insert(2), insert(3)];
    for count in [0, 1, 3] {
        let list = [set_delta(DM_MEMBERS, &three[..count])];
        let expected = MetaError::Value { component: DM_MEMBERS, source: ValueError::NotAPair };
        assert_eq!(refused(&group(), &list), expected);
    }
    assert!(next_dictionary(&group(), &[set_delta(DM_MEMBERS, &three[..2])]).is_ok());
}

#[test]
fn meta_064_each_update_sees_the_one_before() {
    let key = || Key::Bytes(vec![1]);
    let insert = map_delta(APP_MAP, &[MapMutation::Insert(key(), vec![1])]);
    let update = map_delta(APP_MAP, &[MapMutation::Update(key(), vec![2])]);
    let (after, effects) = next_dictionary(&group(), &[insert.clone(), update.clone()]).unwrap();
    assert_eq!(after[&APP_MAP], encode_map(&Map::from([(key(), vec![2])])));
    assert_eq!(effects[1].old, Some(vec![1]));

    let absent = DeltaError::Absent(0);
    let expected = MetaError::Delta { component: APP_MAP, source: absent };
    assert_eq!(refused(&group(), &[update, insert.clone()]), expected);
    let present = MetaError::Delta { component: APP_MAP, source: DeltaError::Present(0) };
    assert_eq!(refused(&group(), &[insert.clone(), insert]), present);
}

#[test]
fn perm_010_registering_and_writing_takes_two_commits() {
    let register = MapMutation::Insert(Key::Component(0xC010), entry(2, Base::Allow).encode());
    let register = map_delta(COMPONENT_REGISTRY, &[register]);
    let write = set(0xC010, "x");
    let together = [register.clone(), write.clone()];
    assert_eq!(refused(&group(), &together), MetaError::Untyped(0xC010));
    let (after, _) = next_dictionary(&group(), &[register]).unwrap();
    assert!(next_dictionary(&after, &[write]).is_ok());
}

#[test]
fn perm_014_unknown_components_go_by_their_registered_type() {
    assert_eq!(refused(&group(), &[set(0xC0FF, "x")]), MetaError::Untyped(0xC0FF));
    assert_eq!(refused(&group(), &[set(APP_UNKNOWN, "x")]), MetaError::Untyped(APP_UNKNOWN));
    let mut stored = group();
    stored.insert(APP_UNKNOWN, vec![1]);
    assert_eq!(refused(&stored, &[remove(APP_UNKNOWN)]), MetaError::Untyped(APP_UNKNOWN));
    assert!(next_dictionary(&group(), &[set(APP_SCALAR, [0xff])]).is_ok());
    assert!(matches!(refused(&group(), &[set(APP_MAP, [0xff])]), MetaError::Payload { .. }));
}
