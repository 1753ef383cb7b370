use super::*;

const WELCOME: SequenceId = SequenceId(60);

fn own() -> (InboxId, InstallationId) {
    (inbox(2), key(21))
}

fn refused(join: &JoinFacts, known: &States) -> JoinError {
    check_join(join, own(), WELCOME, known).unwrap_err()
}

fn with_members(join: JoinFacts, entries: &Members) -> JoinFacts {
    let group = GroupFacts { dictionary: dictionary(entries), ..join.group.clone() };
    JoinFacts { group, ..join }
}

#[test]
fn gmod_009_a_placed_or_failed_installation_is_accounted_for() {
    let (before, after) = (members(&[(1, 10, &[])]), members(&[(1, 10, &[]), (2, 20, &[22])]));
    let known = states(&[(2, 20, &[21, 22])]);
    assert_eq!(unaccounted(&before, &after, &keys(&[11, 21]), &known), Ok(vec![]));
}

#[test]
fn gmod_009_an_omitted_installation_is_named() {
    let (before, after) = (members(&[(1, 10, &[])]), members(&[(1, 15, &[]), (2, 20, &[22])]));
    let known = states(&[(1, 15, &[11, 12]), (2, 20, &[21, 22])]);
    let open = unaccounted(&before, &after, &keys(&[11]), &known).unwrap();
    assert_eq!(open, [(inbox(1), key(12)), (inbox(2), key(21))]);
    // Listing it under another inbox does not account for it.
    let elsewhere = members(&[(1, 15, &[21]), (2, 20, &[22])]);
    let open = unaccounted(&before, &elsewhere, &keys(&[11, 12]), &known).unwrap();
    assert_eq!(open, [(inbox(2), key(21))]);
}

#[test]
fn gmod_009_inboxes_the_commit_leaves_alone_are_not_asked() {
    let entries = members(&[(1, 10, &[])]);
    assert_eq!(unaccounted(&entries, &entries, &keys(&[]), &States::default()), Ok(vec![]));
}

#[test]
fn join_053_a_complete_membership_is_joined() {
    let (join, known) = valid_join();
    let got = check_join(&join, own(), WELCOME, &known);
    assert_eq!(got, Ok(members(&[(1, 10, &[13]), (2, 20, &[])])));
}

#[test]
fn join_053_an_installation_neither_placed_nor_failed_refuses_the_welcome() {
    let (join, _) = valid_join();
    let known = states(&[(1, 10, &[11, 12, 13, 14]), (2, 20, &[21])]);
    let error = refused(&join, &known);
    assert_eq!((error.clone(), error.id()), (JoinError::Unaccounted(inbox(1)), "JOIN-053"));
}

#[test]
fn gmod_007_an_entry_at_0_refuses_the_welcome() {
    let (join, known) = valid_join();
    let join = with_members(join, &members(&[(1, 0, &[13]), (2, 20, &[])]));
    assert!(matches!(refused(&join, &known), JoinError::EntryRange { .. }));
}

#[test]
fn gmod_007_an_entry_not_before_the_anchor_refuses_the_welcome() {
    let (join, known) = valid_join();
    for at in [50, 55, 60] {
        let join = with_members(join.clone(), &members(&[(1, at, &[13]), (2, 20, &[])]));
        assert!(matches!(refused(&join, &known), JoinError::EntryRange { .. }));
    }
}

#[test]
fn join_037_the_anchor_lies_before_the_welcome() {
    let (join, known) = valid_join();
    for anchor in [0, 60, 61] {
        let join = JoinFacts { anchor, ..join.clone() };
        assert!(matches!(refused(&join, &known), JoinError::Anchor { .. }));
    }
}

#[test]
fn join_049_a_leaf_outside_its_inboxs_state_refuses_the_welcome() {
    let (join, _) = valid_join();
    let known = states(&[(1, 10, &[11, 13]), (2, 20, &[21, 12])]);
    // Key 12 is an installation of inbox 2, yet its leaf names inbox 1.
    assert_eq!(refused(&join, &known), JoinError::ForeignLeaf(1));
}

#[test]
fn join_049_a_leaf_of_a_non_member_or_without_credential_refuses_the_welcome() {
    let (join, known) = valid_join();
    for stranger in [Some(inbox(3)), None] {
        let mut join = join.clone();
        join.group.leaves[1].inbox = stranger;
        assert_eq!(refused(&join, &known), JoinError::ForeignLeaf(1));
    }
}

#[test]
fn join_049_an_installation_with_two_leaves_refuses_the_welcome() {
    let (mut join, known) = valid_join();
    join.group.leaves.push(leaf(3, 1, 11));
    assert_eq!(refused(&join, &known), JoinError::RepeatedLeaf(3));
}

#[test]
fn join_058_the_own_leaf_is_there() {
    let (join, known) = valid_join();
    let mut gone = join.clone();
    gone.group.leaves.pop();
    assert_eq!(refused(&gone, &known), JoinError::OwnLeaf);
    let other = JoinFacts { own: leaf(1, 1, 12), ..join };
    assert_eq!(refused(&other, &known), JoinError::OwnLeaf);
}

#[test]
fn gmod_013_an_unresolved_state_is_asked_for_and_not_refused() {
    let (join, _) = valid_join();
    let error = refused(&join, &states(&[(1, 10, &[11, 12, 13])]));
    assert_eq!(error, JoinError::Needed(reference(2, 20)));
}

#[test]
fn gmod_014_a_state_never_published_refuses_the_welcome() {
    let (join, mut known) = valid_join();
    known.insert(reference(2, 20), Resolution::Unpublished);
    let error = refused(&join, &known);
    assert_eq!((error.clone(), error.id()), (JoinError::Unpublished(reference(2, 20)), "GMOD-014"));
}

#[test]
fn gmod_005_an_unreadable_component_refuses_the_welcome() {
    let (mut join, known) = valid_join();
    join.group.dictionary.clear();
    assert_eq!(refused(&join, &known).id(), "GMOD-005");
}
