//! Effects, registry changes, limits, untouched bytes, strictness under any input.

use proptest::prelude::*;

use super::*;

#[test]
fn effects_name_every_elementary_write() {
    let list = [
        set(GROUP_NAME, "new"),
        map_delta(
            GROUP_MEMBERSHIP,
            &[
                MapMutation::Insert(Key::Inbox(inbox(2)), vec![2]),
                MapMutation::Update(Key::Inbox(inbox(1)), vec![9]),
            ],
        ),
        set_delta(ADMIN_LIST, &[]),
        set_delta(SUPER_ADMIN_LIST, &[SetMutation::RemoveByHash(key_hash(&Key::Inbox(inbox(1))))]),
    ];
    let (after, effects) = next_dictionary(&group(), &list).unwrap();
    let seen: Vec<_> = effects.iter().map(|e| (e.proposal, e.component, e.write)).collect();
    assert_eq!(
        seen,
        [
            (0, GROUP_NAME, Write::Update),
            (1, GROUP_MEMBERSHIP, Write::Insert),
            (1, GROUP_MEMBERSHIP, Write::Update),
            (2, ADMIN_LIST, Write::Touch),
            (3, SUPER_ADMIN_LIST, Write::Delete),
        ]
    );
    assert_eq!((&effects[0].old, &effects[0].new), (&Some(b"old".to_vec()), &Some(b"new".to_vec())));
    assert_eq!(effects[0].key, None);
    assert_eq!(effects[1].key, Some(Key::Inbox(inbox(2))));
    assert_eq!((&effects[1].old, &effects[1].new), (&None, &Some(vec![2])));
    assert_eq!((&effects[2].old, &effects[2].new), (&Some(vec![1]), &Some(vec![9])));
    assert_eq!(effects[4].key, Some(Key::Inbox(inbox(1))));
    assert!(Dictionary::new(&after).super_admins().unwrap().is_empty());
}

#[test]
fn a_first_scalar_update_is_an_update_and_a_removal_one_delete() {
    let (_, effects) = next_dictionary(&group(), &[set(APP_SCALAR, "x"), remove(ADMIN_LIST)]).unwrap();
    assert_eq!((effects[0].write, &effects[0].old), (Write::Update, &None));
    assert_eq!((effects[1].write, &effects[1].key, &effects[1].new), (Write::Delete, &None, &None));
}

#[test]
fn meta_010_the_resulting_value_is_limited() {
    let expected = MetaError::Value { component: GROUP_NAME, source: ValueError::TooLong(100) };
    assert_eq!(refused(&group(), &[set(GROUP_NAME, "x".repeat(101))]), expected);
    let version =
        MetaError::Value { component: MIN_SUPPORTED_PROTOCOL_VERSION, source: ValueError::NotAVersion };
    assert_eq!(refused(&group(), &[set(MIN_SUPPORTED_PROTOCOL_VERSION, "next")]), version);
    let name = MapMutation::Insert(Key::Inbox(inbox(1)), vec![0xff]);
    let not_text = MetaError::Value { component: USER_DISPLAY_NAME, source: ValueError::NotText };
    assert_eq!(refused(&group(), &[map_delta(USER_DISPLAY_NAME, &[name])]), not_text);
}

#[test]
fn meta_012_a_stored_collection_that_is_not_ordered_cannot_be_changed() {
    let mut before = group();
    before.insert(APP_MAP, vec![6, 1, 2, 0, 1, 1, 0]);
    let insert = map_delta(APP_MAP, &[MapMutation::Insert(Key::Bytes(vec![7]), vec![])]);
    let unordered = DictionaryError::Malformed { component: APP_MAP, source: CodecError::Unordered.into() };
    assert_eq!(refused(&before, &[insert]), MetaError::Stored(unordered));
    // It passes through when nobody names it (META-017).
    let (after, _) = next_dictionary(&before, &[set(GROUP_NAME, "new")]).unwrap();
    assert_eq!(after[&APP_MAP], before[&APP_MAP]);
}

#[test]
fn meta_015_the_registry_stays() {
    assert_eq!(refused(&group(), &[remove(COMPONENT_REGISTRY)]), MetaError::RegistryRemoved);
}

#[test]
fn meta_016_untouched_registry_entries_keep_their_bytes() {
    let mut before = group();
    let mut raw = decode_map(KeyKind::Component, &before[&COMPONENT_REGISTRY]).unwrap();
    // An unknown field after a valid entry, and an entry nobody can read.
    raw.entry(Key::Component(APP_SCALAR)).or_default().extend([0x7a, 1, 9]);
    raw.insert(Key::Component(0xC0AA), vec![0xff]);
    before.insert(COMPONENT_REGISTRY, encode_map(&raw));
    let fresh = entry(2, Base::Deny).encode();
    let change = MapMutation::Insert(Key::Component(0xC0BB), fresh.clone());
    let (after, _) = next_dictionary(&before, &[map_delta(COMPONENT_REGISTRY, &[change])]).unwrap();
    raw.insert(Key::Component(0xC0BB), fresh);
    assert_eq!(after[&COMPONENT_REGISTRY], encode_map(&raw));
    // The unreadable entry can be repaired.
    let repair = MapMutation::Update(Key::Component(0xC0AA), entry(2, Base::Deny).encode());
    assert!(next_dictionary(&before, &[map_delta(COMPONENT_REGISTRY, &[repair])]).is_ok());
}

#[test]
fn perm_017_a_registry_change_keeps_action_policies_decidable() {
    let change = |mutation| refused(&group(), &[map_delta(COMPONENT_REGISTRY, &[mutation])]);
    let key = || Key::Component(GROUP_MEMBERSHIP);
    let expected = MetaError::Registry(RegistryError::ActionPolicy(GROUP_MEMBERSHIP));
    assert_eq!(change(MapMutation::Delete(key())), expected);
    let mut broken = entry(4, Base::Allow);
    broken.insert = Policy::Malformed;
    assert_eq!(change(MapMutation::Update(key(), broken.encode())), expected);
    let open = MapMutation::Update(Key::Component(ADMIN_LIST), entry(6, Base::Allow).encode());
    assert_eq!(change(open), MetaError::Registry(RegistryError::ActionPolicy(ADMIN_LIST)));
    let good = MapMutation::Update(key(), entry(4, Base::Deny).encode());
    assert!(next_dictionary(&group(), &[map_delta(COMPONENT_REGISTRY, &[good])]).is_ok());
}

#[test]
fn a_dictionary_without_registry_has_only_well_known_types() {
    let mut before = group();
    before.remove(&COMPONENT_REGISTRY);
    assert!(next_dictionary(&before, &[set(GROUP_NAME, "x")]).is_ok());
    assert_eq!(refused(&before, &[set(APP_SCALAR, "x")]), MetaError::Untyped(APP_SCALAR));
    before.insert(COMPONENT_REGISTRY, vec![9]);
    assert!(matches!(refused(&before, &[set(GROUP_NAME, "x")]), MetaError::Stored(_)));
}

fn ops() -> impl Strategy<Value = (u16, Op)> {
    let ids = prop::sample::select(vec![
        COMPONENT_REGISTRY,
        SUPER_ADMIN_LIST,
        GROUP_MEMBERSHIP,
        GROUP_NAME,
        DM_MEMBERS,
        APP_MAP,
        APP_SCALAR,
        APP_FIXED_SET,
        APP_UNKNOWN,
        0x1234,
        0xFFFF,
    ]);
    let key = || (0u8..3).prop_map(|n| Key::Bytes(vec![n]));
    let delta = prop_oneof![
        key().prop_map(|key| MapMutation::Insert(key, vec![1])),
        key().prop_map(|key| MapMutation::Update(key, vec![2])),
        key().prop_map(MapMutation::Delete),
    ];
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(delta, 0..3).prop_map(|delta| encode_map_delta(&delta)),
    ];
    (ids, prop_oneof![4 => payload.prop_map(Op::Update), 1 => Just(Op::Remove)])
}

proptest! {
    #[test]
    fn any_list_is_decided_and_a_valid_one_is_the_sum_of_its_updates(
        updates in prop::collection::vec(ops(), 0..5)
    ) {
        let before = group();
        if let Ok((after, effects)) = next_dictionary(&before, &updates) {
            // Folding the updates one by one gives the same bytes and writes.
            let mut folded = before.clone();
            let mut writes = Vec::new();
            for (index, update) in updates.iter().enumerate() {
                let (next, mut one) = next_dictionary(&folded, std::slice::from_ref(update)).unwrap();
                one.iter_mut().for_each(|effect| effect.proposal = index);
                writes.extend(one);
                folded = next;
            }
            prop_assert_eq!(&after, &folded);
            prop_assert_eq!(effects, writes);
            // Components nobody named keep their bytes.
            for (id, value) in &before {
                if updates.iter().all(|(named, _)| named != id) {
                    prop_assert_eq!(after.get(id), Some(value));
                }
            }
        }
    }
}
