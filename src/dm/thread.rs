//! One conversation of several groups: what is listed, what is read, what is hidden (DMS-007,
//! 009, 011, 016, 017).
//!
//! Choice: a thread is as recent as the newest activity of any of its groups, placeholders
//! included. Without activity it is as old as its oldest group, so that an empty duplicate joined
//! later does not move the conversation up.

use crate::base::Map;

use super::{Candidate, winner};
use crate::base::{DmId, GroupId, Nanos, ThreadId};

/// What the groups of a thread come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    /// The group to list, to send in and to resolve every id of the set to (DMS-007, DMS-013).
    pub winner: GroupId,
    /// Its place in the list: greatest is newest.
    pub sort: Nanos,
}

/// Folds the groups of one thread; `None` when there is none.
pub fn fold(groups: &[Candidate]) -> Option<Folded> {
    let winner = winner(groups)?.group;
    let active = groups.iter().filter_map(|candidate| candidate.last_message_ns).max();
    let created = groups.iter().map(|candidate| candidate.created_ns).min();
    active.or(created).map(|sort| Folded { winner, sort })
}

/// Sorts groups into threads: those with equal dm ids share one, any other stands alone.
pub fn stitch(groups: impl IntoIterator<Item = (Option<DmId>, Candidate)>) -> Map<ThreadId, Vec<Candidate>> {
    let mut threads: Map<ThreadId, Vec<Candidate>> = Map::new();
    for (dm, candidate) in groups {
        let id = dm.map_or(ThreadId::Group(candidate.group), ThreadId::Dm);
        threads.entry(id).or_default().push(candidate);
    }
    threads
}

/// The other groups of a set, ascending by id (DMS-017).
pub fn others(groups: &[Candidate], group: GroupId) -> Vec<GroupId> {
    let mut others: Vec<_> = groups.iter().map(|c| c.group).filter(|id| *id != group).collect();
    others.sort_unstable();
    others
}

/// Which way a page runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Least key first.
    Ascending,
    /// Greatest key first.
    Descending,
}

/// One page over the union of several groups' messages (DMS-009).
///
/// Each input page is sorted by `key` in `direction` and holds at least its group's first `limit`
/// items (all of them when there is no limit); the limit then counts once, over the union.
pub fn union_page<T, K: Ord>(
    pages: Vec<Vec<T>>,
    direction: Direction,
    limit: Option<usize>,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut page: Vec<T> = pages.into_iter().flatten().collect();
    match direction {
        Direction::Ascending => page.sort_by_key(&key),
        Direction::Descending => page.sort_by_key(|item| std::cmp::Reverse(key(item))),
    }
    page.truncate(limit.unwrap_or(usize::MAX));
    page
}

/// The snapshot of DMS-016: of all groups' messages the `limit` with the greatest delivery
/// numbers, in ascending order of those.
///
/// Each input page is sorted by delivery number, greatest first, and holds at least its group's
/// first `limit` items. Items without a number are not deliverable and left out.
pub fn snapshot<T>(pages: Vec<Vec<T>>, limit: usize, delivery: impl Fn(&T) -> Option<u64>) -> Vec<T> {
    let mut pages = pages;
    for page in &mut pages {
        page.retain(|item| delivery(item).is_some());
    }
    let mut newest = union_page(pages, Direction::Descending, Some(limit), &delivery);
    newest.reverse();
    newest
}

/// Whether a membership-change payload repeats one already shown in the thread (DMS-011).
///
/// `P` is the whole decoded GroupUpdated, compared field by field with order and presence; a
/// payload that adds nobody is never hidden.
pub fn repeats<'a, P: PartialEq + 'a>(
    payload: &P,
    adds_inboxes: bool,
    earlier: impl IntoIterator<Item = &'a P>,
) -> bool {
    adds_inboxes && earlier.into_iter().any(|shown| shown == payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::InboxId;
    use crate::dm::winner::tests::{any_candidate, candidate};
    use proptest::prelude::*;

    fn dm(a: u8, b: u8) -> DmId {
        DmId::of(InboxId([a; 32]), InboxId([b; 32])).unwrap()
    }

    #[test]
    fn dms_007_groups_of_one_pair_are_one_thread_under_the_winner() {
        let threads = stitch([
            (Some(dm(1, 2)), candidate(1, Some(10))),
            (Some(dm(2, 1)), candidate(2, Some(30))),
            (Some(dm(1, 3)), candidate(3, None)),
            (None, candidate(4, Some(5))),
        ]);
        assert_eq!(threads.len(), 3);
        let pair = fold(&threads[&ThreadId::Dm(dm(1, 2))]).unwrap();
        assert_eq!(pair, Folded { winner: GroupId([2; 16]), sort: Nanos(30) });
        assert_eq!(threads[&ThreadId::Group(GroupId([4; 16]))].len(), 1);
    }

    #[test]
    fn dms_007_groups_of_other_pairs_are_not_folded() {
        let threads = stitch([(Some(dm(1, 2)), candidate(1, None)), (Some(dm(1, 3)), candidate(2, None))]);
        assert_eq!(threads.len(), 2);
    }

    #[test]
    fn dms_007_a_thread_without_activity_keeps_its_first_place() {
        let groups = [candidate(1, None), candidate(9, None)];
        let folded = fold(&groups).unwrap();
        assert_eq!(folded, Folded { winner: GroupId([9; 16]), sort: Nanos(1001) });
        assert_eq!(fold(&[]), None);
    }

    #[test]
    fn dms_007_a_placeholders_activity_places_the_thread() {
        let placeholder = Candidate { restored: true, ..candidate(1, Some(500)) };
        let folded = fold(&[placeholder, candidate(2, Some(20))]).unwrap();
        assert_eq!(folded, Folded { winner: GroupId([2; 16]), sort: Nanos(500) });
    }

    #[test]
    fn dms_017_the_others_are_all_but_the_asked_one() {
        let groups = [candidate(3, None), candidate(1, Some(1)), candidate(2, None)];
        assert_eq!(others(&groups, GroupId([1; 16])), [GroupId([2; 16]), GroupId([3; 16])]);
        assert_eq!(others(&groups, GroupId([3; 16])), [GroupId([1; 16]), GroupId([2; 16])]);
        assert_eq!(others(&groups[..1], GroupId([3; 16])), []);
    }

    #[test]
    fn dms_017_a_restored_dm_of_two_others_has_no_peer() {
        assert_eq!(dm(1, 2).peer_of(InboxId([1; 32])), Some(InboxId([2; 32])));
        assert_eq!(dm(1, 2).peer_of(InboxId([3; 32])), None);
    }

    #[test]
    fn dms_009_one_limit_counts_over_the_union() {
        let pages = vec![vec![1, 3, 5], vec![2, 4, 6]];
        let page = union_page(pages.clone(), Direction::Ascending, Some(3), |n| *n);
        assert_eq!(page, [1, 2, 3]);
        let down = pages.into_iter().map(|p| p.into_iter().rev().collect()).collect();
        assert_eq!(union_page(down, Direction::Descending, Some(3), |n| *n), [6, 5, 4]);
    }

    #[test]
    fn dms_009_without_a_limit_nothing_is_left_out() {
        let page = union_page(vec![vec![2], vec![], vec![1]], Direction::Ascending, None, |n| *n);
        assert_eq!(page, [1, 2]);
    }

    #[test]
    fn dms_016_a_snapshot_is_the_newest_delivered_in_ascending_order() {
        // (delivery number, sent): sent time must not matter.
        let a = vec![(Some(7), 1), (Some(3), 90), (None, 99)];
        let b = vec![(Some(6), 2), (Some(5), 80)];
        let newest: Vec<_> = snapshot(vec![a, b], 3, |m| m.0).into_iter().map(|m| m.0.unwrap()).collect();
        assert_eq!(newest, [5, 6, 7]);
    }

    #[test]
    fn dms_011_only_a_whole_equal_payload_with_adds_is_hidden() {
        let shown = [("me", vec![1, 2], None), ("you", vec![3], Some("name"))];
        assert!(repeats(&shown[0].clone(), true, &shown));
        assert!(!repeats(&shown[0].clone(), false, &shown), "adds nobody");
        assert!(!repeats(&("me", vec![2, 1], None), true, &shown), "order counts");
        assert!(!repeats(&("me", vec![1, 2], Some("")), true, &shown), "presence counts");
        // Fields of two earlier records must not be put together.
        assert!(!repeats(&("you", vec![1, 2], None), true, &shown));
        assert!(!repeats(&shown[0].clone(), true, &[]));
    }

    proptest! {
        #[test]
        fn dms_009_pages_of_limit_items_are_enough(
            groups in proptest::collection::vec(proptest::collection::btree_set(0u16..500, 0..20), 1..5),
            limit in 0usize..25,
            down in any::<bool>(),
        ) {
            let direction = if down { Direction::Descending } else { Direction::Ascending };
            let sorted = |group: &std::collections::BTreeSet<u16>| -> Vec<u16> {
                if down { group.iter().rev().copied().collect() } else { group.iter().copied().collect() }
            };
            let whole = groups.iter().map(sorted).collect();
            let cut = groups.iter().map(|g| sorted(g).into_iter().take(limit).collect()).collect();
            prop_assert_eq!(
                union_page(whole, direction, Some(limit), |n| *n),
                union_page(cut, direction, Some(limit), |n| *n)
            );
        }

        #[test]
        fn dms_007_every_group_of_a_set_folds_to_one_winner(
            groups in proptest::collection::vec(any_candidate(), 1..8),
        ) {
            let folded = fold(&groups).unwrap();
            prop_assert!(groups.iter().any(|c| c.group == folded.winner));
            let mut reversed = groups.clone();
            reversed.reverse();
            prop_assert_eq!(fold(&reversed).unwrap(), folded);
        }
    }
}
