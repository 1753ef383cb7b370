use crate::base::{Map, Set};

use crate::base::{GroupId, InboxId, InstallationId, SequenceId};
use crate::commit::{Latest, Plan, PlanError, plan};
use crate::members::tests::{dictionary, inbox, key, keys, leaf, members, reference, states};
use crate::members::{Members, Resolution, States, expected, failed, unaccounted};
use crate::meta::{Key, KeyKind, MapMutation, decode_map_delta};
use crate::mls::facts::{GroupFacts, LeafFacts};

const OWN: (InboxId, InstallationId) = (InboxId([1; 32]), InstallationId([11; 32]));

fn group(entries: &Members, leaves: &[(u8, u8)]) -> GroupFacts {
    let leaves = leaves.iter().enumerate().map(|(i, (of, k))| leaf(i as u32 * 2, *of, *k)).collect();
    GroupFacts { group_id: GroupId([7; 16]), epoch: 3, leaves, dictionary: dictionary(entries) }
}

/// What a test wants: adds, removes, latest updates, usable keys.
struct Want<'a> {
    add: &'a [u8],
    remove: &'a [u8],
    latest: &'a [(u8, u64)],
    usable: &'a [u8],
}

const NOTHING: Want<'static> = Want { add: &[], remove: &[], latest: &[], usable: &[] };

fn make(group: &GroupFacts, want: &Want<'_>, known: &States) -> Result<Plan, PlanError> {
    let set = |of: &[u8]| of.iter().map(|n| inbox(*n)).collect::<Set<_>>();
    let latest: Map<_, _> = want.latest.iter().map(|(i, at)| (inbox(*i), SequenceId(*at))).collect();
    let (add, remove, usable) = (set(want.add), set(want.remove), keys(want.usable));
    let wanted = Latest { add: &add, remove: &remove, latest: &latest, states: known, usable: &usable };
    let made = plan(group, OWN, &wanted)?;
    check_plan(group, &made, known);
    Ok(made)
}

/// Every plan passes what its receivers check about leaves (GMOD-009, 010, 011).
fn check_plan(group: &GroupFacts, made: &Plan, known: &States) {
    let before = Members::read(&group.dictionary).unwrap();
    let expected = expected(&before, &made.after, known).unwrap();
    assert!(made.adds.iter().all(|pair| expected.additions.contains(pair)));
    let gone = |leaf: &&LeafFacts| made.removes.contains(&leaf.index);
    let removed: Set<_> = group.leaves.iter().filter(gone).map(|l| l.installation).collect();
    let failed = failed(&before, &made.after, &group.leaves);
    assert_eq!(removed, expected.removals.difference(&failed).copied().collect());

    let staying = group.leaves.iter().map(|l| l.installation).filter(|k| !removed.contains(k));
    let after = staying.chain(made.adds.iter().map(|(_, k)| *k)).collect();
    assert_eq!(unaccounted(&before, &made.after, &after, known).unwrap(), []);
}

fn mutations(made: &Plan) -> Vec<MapMutation> {
    decode_map_delta(KeyKind::Inbox, made.membership.as_ref().unwrap()).unwrap()
}

#[test]
fn gmod_009_the_first_commit_raises_the_creator_and_adds_its_other_installations() {
    let created = group(&members(&[(1, 0, &[])]), &[(1, 11)]);
    let known = states(&[(1, 10, &[11, 12, 13]), (2, 20, &[21, 22])]);
    let want = Want { add: &[2], latest: &[(1, 10), (2, 20)], usable: &[12, 21], ..NOTHING };
    let made = make(&created, &want, &known).unwrap();
    assert_eq!(made.adds, [(inbox(1), key(12)), (inbox(2), key(21))]);
    assert!(made.removes.is_empty());
    assert_eq!(made.after, members(&[(1, 10, &[13]), (2, 20, &[22])]));
    let entries = &made.after.0;
    let expected = [
        MapMutation::Update(Key::Inbox(inbox(1)), entries[&inbox(1)].encode()),
        MapMutation::Insert(Key::Inbox(inbox(2)), entries[&inbox(2)].encode()),
    ];
    assert_eq!(mutations(&made), expected);
}

#[test]
fn gmod_006_an_added_inbox_references_the_latest_update() {
    let known = states(&[(2, 20, &[21]), (2, 25, &[21, 22])]);
    let grown = group(&members(&[(1, 10, &[])]), &[(1, 11)]);
    let want = Want { add: &[2], latest: &[(2, 25)], usable: &[21, 22], ..NOTHING };
    let made = make(&grown, &want, &known).unwrap();
    assert_eq!(made.after, members(&[(1, 10, &[]), (2, 25, &[])]));
    assert_eq!(made.adds, [(inbox(2), key(21)), (inbox(2), key(22))]);
}

#[test]
fn gmod_006_an_inbox_without_an_update_cannot_be_added() {
    let grown = group(&members(&[(1, 10, &[])]), &[(1, 11)]);
    for latest in [&[][..], &[(2, 0)]] {
        let want = Want { add: &[2], latest, usable: &[21], ..NOTHING };
        let refused = make(&grown, &want, &States::default()).unwrap_err();
        assert_eq!(refused, PlanError::UnknownInbox(inbox(2)));
    }
}

#[test]
fn gmod_009_an_inbox_without_a_usable_key_package_is_left_out_and_named() {
    let grown = group(&members(&[(1, 10, &[])]), &[(1, 11)]);
    let known = states(&[(2, 20, &[21]), (3, 30, &[31, 32])]);
    let want = Want { add: &[2, 3], latest: &[(2, 20), (3, 30)], usable: &[32], ..NOTHING };
    let made = make(&grown, &want, &known).unwrap();
    assert_eq!(made.unreachable, [inbox(2)]);
    assert_eq!(made.after, members(&[(1, 10, &[]), (3, 30, &[31])]));
    assert_eq!(made.adds, [(inbox(3), key(32))]);
}

#[test]
fn gmod_009_a_raised_entry_swaps_installations_and_keeps_failed_ones_listed() {
    // 22 failed before and is still associated: it may not be added by a refresh.
    let before = members(&[(1, 10, &[]), (2, 20, &[22])]);
    let stale = group(&before, &[(1, 11), (2, 21)]);
    let known = states(&[(2, 20, &[21, 22]), (2, 28, &[22, 23, 24])]);
    let want = Want { latest: &[(1, 10), (2, 28)], usable: &[22, 23], ..NOTHING };
    let made = make(&stale, &want, &known).unwrap();
    assert_eq!(made.adds, [(inbox(2), key(23))]);
    assert_eq!(made.removes, [2]);
    assert_eq!(made.after, members(&[(1, 10, &[]), (2, 28, &[22, 24])]));
}

#[test]
fn gmod_011_a_removed_inbox_loses_all_its_leaves() {
    let before = members(&[(1, 10, &[]), (2, 20, &[23])]);
    let full = group(&before, &[(1, 11), (2, 21), (2, 22)]);
    let want = Want { remove: &[2, 9], ..NOTHING };
    let made = make(&full, &want, &states(&[(2, 20, &[21, 22, 23])])).unwrap();
    assert_eq!(made.removes, [2, 4]);
    assert_eq!(mutations(&made), [MapMutation::Delete(Key::Inbox(inbox(2)))]);
}

#[test]
fn gmod_011_an_unlisted_missing_leaf_does_not_block_a_removal() {
    // Its adder left 22 out and did not list it.
    let before = members(&[(1, 10, &[]), (2, 20, &[])]);
    let full = group(&before, &[(1, 11), (2, 21)]);
    let known = states(&[(2, 20, &[21, 22])]);
    let made = make(&full, &Want { remove: &[2], ..NOTHING }, &known).unwrap();
    assert_eq!(made.removes, [2]);
    assert_eq!(made.after, members(&[(1, 10, &[22])]));
}

#[test]
fn gmod_009_nothing_to_do_is_an_empty_plan() {
    let current = group(&members(&[(1, 10, &[]), (2, 20, &[])]), &[(1, 11), (2, 21)]);
    let want = Want { add: &[2], latest: &[(1, 10), (2, 19)], ..NOTHING };
    let made = make(&current, &want, &States::default()).unwrap();
    assert!(made.is_empty());
    assert_eq!(made.unreachable, []);
}

#[test]
fn gmod_013_an_unresolved_state_is_asked_for() {
    let stale = group(&members(&[(1, 10, &[]), (2, 20, &[])]), &[(1, 11), (2, 21)]);
    let want = Want { latest: &[(2, 28)], ..NOTHING };
    let needed = make(&stale, &want, &states(&[(2, 28, &[21])])).unwrap_err();
    assert_eq!(needed, PlanError::Needed(reference(2, 20)));
    let mut known = states(&[(2, 28, &[21])]);
    known.insert(reference(2, 20), Resolution::Unpublished);
    let broken = make(&stale, &want, &known).unwrap_err();
    assert_eq!(broken, PlanError::Unpublished(reference(2, 20)));
}

#[test]
fn gmod_011_one_removes_neither_the_own_inbox_nor_the_own_installation() {
    let current = group(&members(&[(1, 10, &[]), (2, 20, &[])]), &[(1, 11), (2, 21)]);
    let removed = make(&current, &Want { remove: &[1], ..NOTHING }, &States::default());
    assert_eq!(removed.unwrap_err(), PlanError::OwnInbox);
    let known = states(&[(1, 10, &[11]), (1, 15, &[12])]);
    let want = Want { latest: &[(1, 15)], usable: &[12], ..NOTHING };
    assert_eq!(make(&current, &want, &known).unwrap_err(), PlanError::OwnInstallation);
}

#[test]
fn gmod_005_a_group_without_membership_has_no_plan() {
    let mut broken = group(&members(&[]), &[(1, 11)]);
    broken.dictionary.clear();
    assert!(matches!(make(&broken, &NOTHING, &States::default()), Err(PlanError::Members(_))));
}
