use proptest::prelude::*;

use super::*;
use crate::meta::{Key, KeyKind, decode_map, encode_inbox_map};
use crate::meta::{apply_map_delta, decode_map_delta, encode_map_delta};

const COMMIT: SequenceId = SequenceId(100);

#[test]
fn gmod_005_the_component_round_trips() {
    let members = members(&[(1, 10, &[13]), (2, 0, &[])]);
    assert_eq!(Members::read(&dictionary(&members)), Ok(members));
}

#[test]
fn gmod_005_a_missing_or_malformed_component_is_refused() {
    assert_eq!(Members::read(&RawDictionary::new()), Err(MembersError::Component));
    for bytes in [vec![], vec![5], vec![0, 0]] {
        let broken = RawDictionary::from([(GROUP_MEMBERSHIP, bytes)]);
        assert_eq!(Members::read(&broken), Err(MembersError::Component));
    }
    assert_eq!(MembersError::Component.id(), "GMOD-005");
}

#[test]
fn gmod_005_an_entry_without_v1_is_refused() {
    for value in [vec![], vec![0x12, 0], vec![0x0a, 9]] {
        let map = encode_inbox_map(&[(inbox(1), value)].into());
        let broken = RawDictionary::from([(GROUP_MEMBERSHIP, map)]);
        assert_eq!(Members::read(&broken), Err(MembersError::Entry(inbox(1))));
    }
}

#[test]
fn gmod_005_a_failed_key_of_another_length_names_nobody() {
    let wire =
        crate::wire::MembershipEntry { sequence_id: 5, failed_installations: vec![vec![1; 31], vec![2; 32]] };
    let map = encode_inbox_map(&[(inbox(1), wire.encode())].into());
    let read = Members::read(&RawDictionary::from([(GROUP_MEMBERSHIP, map)]));
    assert_eq!(read, Ok(members(&[(1, 5, &[2])])));
}

#[test]
fn gmod_007_references_before_the_commit_pass() {
    let (before, after) = (members(&[(1, 0, &[])]), members(&[(1, 99, &[]), (2, 98, &[])]));
    assert_eq!(check_succession(&before, &after, COMMIT), Ok(()));
    // The creator's unchanged 0 is not an added entry.
    assert_eq!(check_succession(&before, &before, COMMIT), Ok(()));
}

#[test]
fn gmod_007_a_reference_at_or_after_the_commit_is_refused() {
    for at in [100, 101, u64::MAX] {
        let after = members(&[(1, at, &[])]);
        // Also when the commit did not touch the entry.
        for before in [members(&[(1, 5, &[])]), after.clone()] {
            let refused = check_succession(&before, &after, COMMIT).unwrap_err();
            assert_eq!(refused.id(), "GMOD-007");
        }
    }
}

#[test]
fn gmod_007_an_added_entry_at_0_is_refused() {
    let after = members(&[(1, 5, &[]), (2, 0, &[])]);
    let refused = check_succession(&members(&[(1, 5, &[])]), &after, COMMIT).unwrap_err();
    assert_eq!(refused, MembersError::AddedAtZero(inbox(2)));
    assert_eq!(refused.id(), "GMOD-007");
}

#[test]
fn gmod_008_a_lowered_sequence_id_is_refused() {
    let before = members(&[(1, 10, &[])]);
    for at in [0, 9] {
        let refused = check_succession(&before, &members(&[(1, at, &[])]), COMMIT).unwrap_err();
        assert_eq!(refused.id(), "GMOD-008");
    }
    for at in [10, 11] {
        assert_eq!(check_succession(&before, &members(&[(1, at, &[])]), COMMIT), Ok(()));
    }
}

fn any_members() -> impl Strategy<Value = Members> {
    let entry = (0u64..4, proptest::collection::btree_set(0u8..3, 0..3)).prop_map(|(at, failed)| Entry {
        sequence_id: SequenceId(at),
        failed: failed.into_iter().map(key).collect(),
    });
    proptest::collection::btree_map((0u8..5).prop_map(inbox), entry, 0..5)
        .prop_map(|entries| Members(entries.into_iter().collect()))
}

proptest! {
    #[test]
    fn gmod_005_mutations_lead_from_one_state_to_the_other(before in any_members(), after in any_members()) {
        let mutations = before.mutations(&after);
        let sent = decode_map_delta(KeyKind::Inbox, &encode_map_delta(&mutations)).unwrap();
        let start = decode_map(KeyKind::Inbox, &before.encode()).unwrap();
        let (end, changes) = apply_map_delta(&start, &sent).unwrap();
        prop_assert_eq!(end, decode_map(KeyKind::Inbox, &after.encode()).unwrap());
        prop_assert!(changes.windows(2).all(|pair| pair[0].key < pair[1].key));
        prop_assert!(changes.iter().all(|change| matches!(change.key, Key::Inbox(_))));
    }

    #[test]
    fn gmod_005_reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = Members::read(&RawDictionary::from([(GROUP_MEMBERSHIP, bytes)]));
    }
}
