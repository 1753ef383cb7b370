//! One conversation of several groups: where it is listed, and what is hidden (DMS-007, DMS-011).
//!
//! Choice: a thread is as recent as the newest activity of any of its groups, placeholders
//! included. Without activity it is as old as its oldest group, so that an empty duplicate joined
//! later does not move the conversation up.

use super::{Candidate, winner};
use crate::base::{GroupId, Nanos};

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
    use crate::base::{DmId, InboxId};
    use crate::dm::winner::tests::{any_candidate, candidate};
    use proptest::prelude::*;

    fn dm(a: u8, b: u8) -> DmId {
        DmId::of(InboxId([a; 32]), InboxId([b; 32])).unwrap()
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
    fn dms_017_a_restored_dm_of_two_others_has_no_peer() {
        assert_eq!(dm(1, 2).peer_of(InboxId([1; 32])), Some(InboxId([2; 32])));
        assert_eq!(dm(1, 2).peer_of(InboxId([3; 32])), None);
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
