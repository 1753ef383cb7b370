use super::fixture::*;
use crate::members::tests::{leaf, members, reference};
use crate::members::{Members, Resolution};
use crate::mls::facts::{LeafFacts, ProposalKind};

/// Inbox 2 raises inbox 3 to 35, where 33 takes the place of 31 (32 stays failed).
fn raised() -> Members {
    members(&[(1, 10, &[]), (2, 20, &[]), (3, 35, &[32])])
}

fn raise_third(changes: Vec<crate::mls::facts::ProposalFacts>) -> Case {
    by_admin(&raised(), changes).state(3, 35, &[32, 33])
}

fn swap() -> Vec<crate::mls::facts::ProposalFacts> {
    vec![add(&second(), 3, 33), remove(&second(), third())]
}

#[test]
fn gmod_010_expected_leaves_are_added() {
    raise_third(swap()).applies();
    // Receivers tolerate an installation that was neither added nor listed (known limitation).
    raise_third(vec![remove(&second(), third())]).applies();
}

#[test]
fn gmod_010_an_installation_nobody_authorised_is_refused() {
    let mut changes = swap();
    changes.push(add(&second(), 3, 34));
    assert_eq!(raise_third(changes).rejected(), "GMOD-010");
}

#[test]
fn gmod_010_an_installation_without_an_entry_change_is_refused() {
    let case = commit(group(), &second(), vec![add(&second(), 3, 32)]);
    assert_eq!(case.rejected(), "GMOD-010");
}

#[test]
fn gmod_010_a_key_is_added_only_under_the_inbox_that_authorised_it() {
    let mut changes = swap();
    changes[0] = add(&second(), 2, 33);
    assert_eq!(raise_third(changes).rejected(), "GMOD-010");
}

#[test]
fn gmod_010_a_leaf_without_inbox_is_refused() {
    let mut changes = swap();
    let leaf = LeafFacts { inbox: None, ..leaf(0, 3, 33) };
    changes[0] = proposal(&second(), ProposalKind::Add { leaf, bounded_lifetime: false });
    assert_eq!(raise_third(changes).rejected(), "GMOD-010");
}

#[test]
fn gmod_011_a_called_for_removal_must_be_made() {
    assert_eq!(raise_third(vec![add(&second(), 3, 33)]).rejected(), "GMOD-011");
}

#[test]
fn gmod_011_a_removal_nothing_calls_for_is_refused() {
    let mut changes = swap();
    changes.push(remove(&second(), first()));
    assert_eq!(raise_third(changes).rejected(), "GMOD-011");
    let evicted = commit(group(), &second(), vec![remove(&second(), third())]);
    assert_eq!(evicted.rejected(), "GMOD-011");
}

#[test]
fn gmod_011_a_removed_inbox_loses_every_leaf() {
    let after = members(&[(1, 10, &[]), (2, 20, &[])]);
    // 32 failed and never had a leaf, so it is exempt.
    by_admin(&after, vec![remove(&second(), third())]).applies();
    assert_eq!(by_admin(&after, vec![]).rejected(), "GMOD-011");
}

#[test]
fn gmod_011_an_installation_listed_as_failed_after_the_commit_is_exempt() {
    let after = members(&[(1, 10, &[]), (2, 20, &[]), (3, 35, &[31, 32])]);
    let kept = by_admin(&after, vec![add(&second(), 3, 33)]).state(3, 35, &[32, 33]);
    kept.applies();
    let gone = by_admin(&after, swap()).state(3, 35, &[32, 33]);
    assert_eq!(gone.rejected(), "GMOD-011");
}

#[test]
fn gmod_011_a_remove_of_an_empty_index_is_refused() {
    let mut changes = swap();
    changes.push(proposal(&second(), ProposalKind::Remove { leaf: None }));
    assert_eq!(raise_third(changes).rejected(), "GMOD-011");
}

#[test]
fn gmod_012_the_committers_key_belongs_to_its_inbox() {
    let revoked = busy().state(1, 10, &[12]);
    assert_eq!(revoked.rejected(), "GMOD-012");
}

#[test]
fn gmod_012_a_path_leafs_key_belongs_to_its_inbox() {
    let mut case = busy();
    case.commit.path_leaf = Some(leaf(0, 1, 12));
    assert_eq!(case.rejected(), "GMOD-012");
    case.state(1, 10, &[11, 12]).applies();
}

#[test]
fn gmod_012_an_update_leafs_key_belongs_to_its_inbox() {
    let case = commit(group(), &first(), vec![update(&third(), leaf(4, 3, 39))]);
    assert_eq!(case.rejected(), "GMOD-012");
}

#[test]
fn gmod_012_the_key_is_judged_at_the_state_after_the_commit() {
    // Inbox 2 raises its own entry to a state that no longer has the committing installation.
    let after = members(&[(1, 10, &[]), (2, 25, &[21]), (3, 30, &[32])]);
    let case = by_admin(&after, vec![]).state(2, 25, &[22]);
    assert_eq!(case.rejected(), "GMOD-012");
}

#[test]
fn gmod_012_a_creator_at_0_signs_with_a_committed_leaf_only() {
    let idle = commit(new_born_dm(), &first(), vec![]);
    idle.applies();
    let mut other = idle;
    other.commit.path_leaf = Some(leaf(0, 1, 12));
    assert_eq!(other.rejected(), "GMOD-012");
}

#[test]
fn gmod_012_a_raised_creator_needs_its_key_in_the_state() {
    let case = first_of_dm().state(1, 10, &[12]);
    assert_eq!(case.rejected(), "GMOD-012");
}

#[test]
fn gmod_014_a_reference_never_published_is_terminal() {
    for (of, at) in [(1, 10), (2, 20), (2, 25), (3, 30), (4, 40)] {
        let mut case = busy();
        case.states.insert(reference(of, at), Resolution::Unpublished);
        assert_eq!(case.rejected(), "GMOD-014");
    }
}

/// The leaf of inbox 3 is replaced by one of the same installation, without an identity change.
fn re_add(by: &LeafFacts) -> Case {
    commit(group(), by, vec![add(by, 3, 31), remove(by, third())])
}

#[test]
fn gmod_015_a_super_admin_may_replace_a_leaf() {
    re_add(&first()).applies();
}

#[test]
fn gmod_015_nobody_else_may_replace_a_leaf() {
    assert_eq!(re_add(&second()).rejected(), "GMOD-011");
    assert_eq!(re_add(&third()).rejected(), "GMOD-011");
}

#[test]
fn gmod_015_a_replaced_leaf_stays_under_its_inbox() {
    let by = first();
    let case = commit(group(), &by, vec![add(&by, 2, 31), remove(&by, third())]);
    assert_eq!(case.rejected(), "GMOD-010");
}

#[test]
fn gmod_015_a_super_admin_may_remove_a_leaf_listed_as_failed() {
    let listed = members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[31, 32])]);
    let make =
        |by: &LeafFacts| commit(group(), by, vec![enrol(by, &entries(), &listed), remove(by, third())]);
    make(&first()).applies();
    assert_eq!(make(&second()).rejected(), "GMOD-011");
}

#[test]
fn gmod_015_the_exception_does_not_cover_other_removals() {
    let by = first();
    let case = commit(group(), &by, vec![add(&by, 3, 31), remove(&by, third()), remove(&by, second())]);
    assert_eq!(case.rejected(), "GMOD-011");
}

#[test]
fn gmod_010_a_new_dm_adds_exactly_what_the_states_authorise() {
    let mut case = first_of_dm();
    case.commit.proposals.insert(0, add(&first(), 2, 22));
    assert_eq!(case.rejected(), "GMOD-010");
}

#[test]
fn gmod_012_a_commit_without_path_is_judged_by_the_present_leaf() {
    let mut case = busy();
    case.commit.path_leaf = None;
    case.applies();
    let mut revoked = busy().state(1, 10, &[12]);
    revoked.commit.path_leaf = None;
    assert_eq!(revoked.rejected(), "GMOD-012");
}

#[test]
fn gmod_015_a_called_for_removal_is_not_listed_as_failed_too() {
    // Taken from both sets, 31 is still called for and no longer exempt.
    let by = first();
    let after = members(&[(1, 10, &[]), (2, 20, &[]), (3, 35, &[31, 32])]);
    let proposals = vec![add(&by, 3, 33), remove(&by, third()), enrol(&by, &entries(), &after)];
    let case = commit(group(), &by, proposals).state(3, 35, &[32, 33]);
    assert_eq!(case.rejected(), "GMOD-011");
}
