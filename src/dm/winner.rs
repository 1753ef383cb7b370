//! Which group of a stitched DM is listed, sent in and resolved to (DMS-013).

use crate::base::{GroupId, Nanos};

/// A group of a stitched DM, with what the winner order reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The group.
    pub group: GroupId,
    /// A restored placeholder (ARCH-015).
    pub restored: bool,
    /// Retained activity, kept after messages are deleted; not a function of the rows left.
    pub last_message_ns: Option<Nanos>,
    /// Creation or join time; not part of the winner order.
    pub created_ns: Nanos,
}

impl Candidate {
    /// The order of DMS-013, greatest wins: live before restored, then activity with absent
    /// lowest, then the group id by byte order.
    pub fn rank(&self) -> (bool, Option<Nanos>, GroupId) {
        (!self.restored, self.last_message_ns, self.group)
    }
}

/// The winner; `None` for an empty set (DMS-013).
pub fn winner(groups: &[Candidate]) -> Option<&Candidate> {
    groups.iter().max_by_key(|candidate| candidate.rank())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn candidate(id: u8, last: Option<i64>) -> Candidate {
        Candidate {
            group: GroupId([id; 16]),
            restored: false,
            last_message_ns: last.map(Nanos),
            created_ns: Nanos(1000 + i64::from(id)),
        }
    }

    fn restored(id: u8, last: Option<i64>) -> Candidate {
        Candidate { restored: true, ..candidate(id, last) }
    }

    fn wins(groups: &[Candidate]) -> u8 {
        winner(groups).unwrap().group.0[0]
    }

    #[test]
    fn dms_013_greatest_activity_wins() {
        assert_eq!(wins(&[candidate(1, Some(20)), candidate(9, Some(10))]), 1);
        assert_eq!(winner(&[]), None);
    }

    #[test]
    fn dms_013_absent_activity_is_lowest_even_below_0() {
        assert_eq!(wins(&[candidate(1, Some(0)), candidate(9, None)]), 1);
        assert_eq!(wins(&[candidate(1, Some(-5)), candidate(9, None)]), 1);
    }

    #[test]
    fn dms_013_equal_activity_falls_to_the_greatest_group_id_by_bytes() {
        assert_eq!(wins(&[candidate(0x80, Some(5)), candidate(0x7f, Some(5))]), 0x80);
        assert_eq!(wins(&[candidate(2, None), candidate(3, None)]), 3);
    }

    #[test]
    fn dms_013_a_restored_placeholder_comes_last() {
        assert_eq!(wins(&[restored(9, Some(500)), candidate(1, None)]), 1);
        assert_eq!(wins(&[restored(1, Some(500)), restored(9, Some(400))]), 1);
    }

    #[test]
    fn dms_013_an_empty_duplicate_joined_later_does_not_win() {
        let joined_late = Candidate { created_ns: Nanos(i64::MAX), ..candidate(9, None) };
        assert_eq!(wins(&[candidate(1, Some(5)), joined_late]), 1);
    }

    fn beats_listed_last(x: &Candidate, y: &Candidate) -> bool {
        winner(&[*y, *x]).map(|one| one.group) == Some(x.group)
    }

    pub(crate) fn any_candidate() -> impl Strategy<Value = Candidate> {
        (any::<u8>(), any::<bool>(), proptest::option::of(-2i64..5), 0i64..5).prop_map(
            |(id, restored, last, created)| Candidate {
                restored,
                created_ns: Nanos(created),
                ..candidate(id, last)
            },
        )
    }

    proptest! {
        #[test]
        fn dms_013_the_winner_does_not_depend_on_order(
            groups in proptest::collection::vec(any_candidate(), 1..8),
            by in any::<usize>(),
        ) {
            let mut turned = groups.clone();
            turned.rotate_left(by % groups.len());
            turned.reverse();
            let rank = |set: &[Candidate]| winner(set).map(Candidate::rank);
            prop_assert_eq!(rank(&groups), rank(&turned));
        }

        #[test]
        fn dms_013_the_order_is_total_over_distinct_groups(a in any_candidate(), b in any_candidate()) {
            prop_assert_eq!(a.rank() == b.rank(), a.rank().cmp(&b.rank()).is_eq());
            prop_assert!(a.group == b.group || a.rank() != b.rank());
        }

        #[test]
        fn dms_013_the_order_is_antisymmetric_and_transitive(
            a in any_candidate(), b in any_candidate(), c in any_candidate(),
        ) {
            prop_assume!(a.group != b.group && b.group != c.group && a.group != c.group);
            let beats = |x: &Candidate, y: &Candidate| winner(&[*x, *y]).map(|one| one.group) == Some(x.group);
            prop_assert_eq!(beats(&a, &b), beats_listed_last(&a, &b));
            prop_assert!(beats(&a, &b) != beats(&b, &a));
            prop_assert!(!(beats(&a, &b) && beats(&b, &c)) || beats(&a, &c));
        }
    }
}
