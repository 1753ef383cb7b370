use super::*;

fn pairs(of: &[(u8, u8)]) -> Set<(InboxId, InstallationId)> {
    of.iter().map(|(id, installation)| (inbox(*id), key(*installation))).collect()
}

#[test]
fn gmod_010_an_added_inbox_may_add_all_its_installations() {
    let (before, after) = (members(&[(1, 10, &[])]), members(&[(1, 10, &[]), (2, 20, &[])]));
    let got = expected(&before, &after, &states(&[(2, 20, &[21, 22])])).unwrap();
    assert_eq!(got, Expected { additions: pairs(&[(2, 21), (2, 22)]), removals: keys(&[]) });
}

#[test]
fn gmod_010_a_raised_entry_may_add_what_is_new() {
    let (before, after) = (members(&[(1, 10, &[])]), members(&[(1, 15, &[])]));
    let known = states(&[(1, 10, &[11, 12]), (1, 15, &[12, 13])]);
    let got = expected(&before, &after, &known).unwrap();
    assert_eq!(got, Expected { additions: pairs(&[(1, 13)]), removals: keys(&[11]) });
}

#[test]
fn gmod_010_the_creators_first_raise_has_no_previous_state() {
    let (before, after) = (members(&[(1, 0, &[])]), members(&[(1, 10, &[])]));
    let got = expected(&before, &after, &states(&[(1, 10, &[11, 12])])).unwrap();
    assert_eq!(got, Expected { additions: pairs(&[(1, 11), (1, 12)]), removals: keys(&[]) });
}

#[test]
fn gmod_011_a_removed_inbox_loses_all_previous_installations() {
    let (before, after) = (members(&[(1, 10, &[]), (2, 20, &[])]), members(&[(1, 10, &[])]));
    let got = expected(&before, &after, &states(&[(2, 20, &[21, 22])])).unwrap();
    assert_eq!(got, Expected { additions: pairs(&[]), removals: keys(&[21, 22]) });
}

#[test]
fn gmod_011_an_unchanged_entry_calls_for_nothing_and_needs_no_state() {
    let before = members(&[(1, 10, &[])]);
    let after = members(&[(1, 10, &[19])]);
    assert_eq!(expected(&before, &after, &States::default()), Ok(Expected::default()));
}

#[test]
fn gmod_013_a_state_that_is_not_resolved_is_asked_for() {
    let (before, after) = (members(&[(1, 10, &[])]), members(&[(1, 15, &[])]));
    let got = expected(&before, &after, &states(&[(1, 10, &[])])).unwrap_err();
    assert_eq!(got, Unresolved::Needed(reference(1, 15)));
}

#[test]
fn gmod_014_a_state_never_published_is_told_apart() {
    let (before, after) = (members(&[(1, 10, &[])]), members(&[(1, 15, &[])]));
    let mut known = states(&[(1, 10, &[])]);
    known.insert(reference(1, 15), Resolution::Unpublished);
    let got = expected(&before, &after, &known).unwrap_err();
    assert_eq!(got, Unresolved::Unpublished(reference(1, 15)));
}

#[test]
fn gmod_013_a_commit_needs_both_ends_of_each_change_and_its_signers() {
    let before = members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[]), (4, 0, &[])]);
    let after = members(&[(1, 15, &[]), (2, 20, &[]), (4, 40, &[]), (5, 50, &[])]);
    let needed = references::of_commit(&before, &after, [inbox(2), inbox(9)]);
    let named = [(1, 10), (1, 15), (2, 20), (3, 30), (4, 40), (5, 50)];
    assert_eq!(needed, named.map(|(id, at)| reference(id, at)).into());

    let known = states(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[]), (4, 40, &[])]);
    assert_eq!(known.missing(&needed), [reference(1, 15), reference(5, 50)].into());
}

#[test]
fn gmod_013_references_at_0_need_nothing() {
    let created = members(&[(1, 0, &[])]);
    assert!(references::of_commit(&created, &created, [inbox(1)]).is_empty());
    assert!(references::of_join(&created).is_empty());
    let joined = members(&[(1, 10, &[]), (2, 20, &[])]);
    assert_eq!(references::of_join(&joined), [reference(1, 10), reference(2, 20)].into());
}

#[test]
fn gmod_011_failed_installations_are_listed_now_or_listed_before_without_a_leaf() {
    let before = members(&[(1, 10, &[12, 13])]);
    let after = members(&[(1, 10, &[14])]);
    let got = failed(&before, &after, &[leaf(0, 1, 11), leaf(1, 1, 12)]);
    assert_eq!(got, keys(&[13, 14]));
    // Listed after the commit counts even when the key has a leaf.
    assert_eq!(failed(&after, &after, &[leaf(0, 1, 14)]), keys(&[14]));
}
