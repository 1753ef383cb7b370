//! The one record a conversation starts with when a join completes (CONS-022 to CONS-025,
//! DMS-010).
//!
//! Choices where the texts are silent: a record that is already stored for the joined group (it
//! came over the sync group before the Welcome) and the inherited one are merged under CONS-010,
//! so the result does not depend on which arrived first. Without any record a re-add resets
//! nothing, because CONS-025 tests the stored record and no record reads as unknown anyway.

use super::{Entity, Record, State, greatest};
use crate::base::{GroupId, InboxId, Nanos};

/// What a join knows that bears on consent.
#[derive(Clone, Debug)]
pub struct Join<'a> {
    /// The joined group.
    pub group: GroupId,
    /// The own inbox.
    pub own: InboxId,
    /// CREATOR_INBOX_ID: a claim of whoever created the group.
    pub creator: InboxId,
    /// The inbox that signed the GroupInfo (JOIN-025).
    pub adder: InboxId,
    /// The delivery service's time of the Welcome.
    pub welcome_ns: Nanos,
    /// A leave request of the own inbox for this group was published.
    pub left: bool,
    /// The record stored for this group.
    pub stored: Option<&'a Record>,
    /// The records of the other groups with the same dm id; empty outside a DM.
    pub siblings: &'a [Record],
}

/// The record the join stores; `None` leaves what is stored, and no record reads as unknown.
///
/// Call it in the unit that makes the group visible, so that the app never sees the group with
/// another state (DMS-010).
pub fn start(join: &Join<'_>) -> Option<Record> {
    let entity = Entity::Conversation(join.group);
    let next = match inherit(join.group, join.stored, join.siblings) {
        // CONS-025, on the inherited record where there is one (CONS-024).
        Some(base) if join.left && base.consented_at_ns < join.welcome_ns => {
            Record { entity, state: State::Unknown, consented_at_ns: join.welcome_ns }
        }
        Some(base) => base,
        // CONS-023: the creator is only a claim, the adder cannot be forged; both must be us.
        None if join.creator == join.own && join.adder == join.own => {
            Record { entity, state: State::Allowed, consented_at_ns: Nanos(0) }
        }
        None => return None,
    };
    (join.stored != Some(&next)).then_some(next)
}

/// The record a group of a DM begins with, besides what its join implies: the newest decision of the
/// set with its own time (DMS-010), or its `stored` one.
pub fn inherit(group: GroupId, stored: Option<&Record>, siblings: &[Record]) -> Option<Record> {
    let entity = Entity::Conversation(group);
    let inherited = greatest(siblings).map(|record| Record { entity, ..*record });
    greatest(inherited.iter().chain(stored)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::merge;
    use proptest::prelude::*;

    const OWN: InboxId = InboxId([1; 32]);
    const PEER: InboxId = InboxId([2; 32]);
    const GROUP: GroupId = GroupId([7; 16]);
    const OTHER: GroupId = GroupId([8; 16]);

    fn record(group: GroupId, state: State, at: i64) -> Record {
        Record { entity: Entity::Conversation(group), state, consented_at_ns: Nanos(at) }
    }

    fn join<'a>(stored: Option<&'a Record>, siblings: &'a [Record]) -> Join<'a> {
        Join {
            group: GROUP,
            own: OWN,
            creator: PEER,
            adder: PEER,
            welcome_ns: Nanos(100),
            left: false,
            stored,
            siblings,
        }
    }

    fn own_join<'a>(stored: Option<&'a Record>, siblings: &'a [Record]) -> Join<'a> {
        Join { creator: OWN, adder: OWN, ..join(stored, siblings) }
    }

    #[test]
    fn cons_022_a_strangers_group_starts_without_a_record() {
        assert_eq!(start(&join(None, &[])), None);
    }

    #[test]
    fn cons_022_a_decision_that_came_before_the_welcome_stays() {
        let denied = record(GROUP, State::Denied, 40);
        assert_eq!(start(&join(Some(&denied), &[])), None);
        assert_eq!(start(&own_join(Some(&denied), &[])), None);
    }

    #[test]
    fn cons_023_the_own_inboxs_group_is_allowed_at_time_0() {
        assert_eq!(start(&own_join(None, &[])), Some(record(GROUP, State::Allowed, 0)));
    }

    #[test]
    fn cons_023_either_other_name_stores_nothing() {
        let claimed = Join { adder: PEER, ..own_join(None, &[]) };
        assert_eq!(start(&claimed), None);
        let foreign = Join { creator: PEER, ..own_join(None, &[]) };
        assert_eq!(start(&foreign), None);
    }

    #[test]
    fn dms_010_the_newest_record_of_the_set_carries_over_with_its_time() {
        let set = [record(OTHER, State::Allowed, 10), record(GroupId([9; 16]), State::Denied, 20)];
        assert_eq!(start(&join(None, &set)), Some(record(GROUP, State::Denied, 20)));
        let tie = [record(OTHER, State::Denied, 20), record(GroupId([9; 16]), State::Allowed, 20)];
        assert_eq!(start(&join(None, &tie)), Some(record(GROUP, State::Denied, 20)));
    }

    #[test]
    fn dms_010_an_older_inherited_decision_does_not_replace_a_newer_one() {
        let set = [record(OTHER, State::Allowed, 10)];
        let newer = record(GROUP, State::Denied, 30);
        assert_eq!(start(&join(Some(&newer), &set)), None);
        let older = record(GROUP, State::Denied, 5);
        assert_eq!(start(&join(Some(&older), &set)), Some(record(GROUP, State::Allowed, 10)));
    }

    #[test]
    fn cons_024_inherited_beats_the_default() {
        let set = [record(OTHER, State::Denied, 10)];
        assert_eq!(start(&own_join(None, &set)), Some(record(GROUP, State::Denied, 10)));
        let unknown = [record(OTHER, State::Unknown, 0)];
        assert_eq!(start(&own_join(None, &unknown)), Some(record(GROUP, State::Unknown, 0)));
    }

    #[test]
    fn cons_024_the_reset_tests_the_inherited_record() {
        let older = [record(OTHER, State::Allowed, 99)];
        let left = Join { left: true, ..join(None, &older) };
        assert_eq!(start(&left), Some(record(GROUP, State::Unknown, 100)));
        let newer = [record(OTHER, State::Denied, 100)];
        let left = Join { left: true, ..join(None, &newer) };
        assert_eq!(start(&left), Some(record(GROUP, State::Denied, 100)));
    }

    #[test]
    fn cons_025_a_re_add_after_leaving_resets_to_unknown_at_the_welcome() {
        for state in [State::Allowed, State::Denied, State::Unknown] {
            let stored = record(GROUP, state, 99);
            let left = Join { left: true, ..join(Some(&stored), &[]) };
            assert_eq!(start(&left), Some(record(GROUP, State::Unknown, 100)));
        }
    }

    #[test]
    fn cons_025_needs_a_leave_request_and_an_older_record() {
        let stored = record(GROUP, State::Allowed, 99);
        assert_eq!(start(&join(Some(&stored), &[])), None);
        for at in [100, 101] {
            let later = record(GROUP, State::Allowed, at);
            let left = Join { left: true, ..join(Some(&later), &[]) };
            assert_eq!(start(&left), None);
        }
        assert_eq!(start(&Join { left: true, ..join(None, &[]) }), None);
    }

    #[test]
    fn cons_025_resets_a_default_of_the_own_inboxs_group() {
        let default = record(GROUP, State::Allowed, 0);
        let left = Join { left: true, ..own_join(Some(&default), &[]) };
        assert_eq!(start(&left), Some(record(GROUP, State::Unknown, 100)));
    }

    fn any_state() -> impl Strategy<Value = State> {
        prop_oneof![Just(State::Unknown), Just(State::Allowed), Just(State::Denied)]
    }

    proptest! {
        /// A decision for the group that arrives before or after the join leaves the same record.
        #[test]
        fn dms_010_the_result_does_not_depend_on_arrival(
            state in any_state(), at in 1i64..200,
            set in proptest::collection::vec((any_state(), 0i64..200), 0..4),
            own in any::<bool>(),
        ) {
            let set: Vec<_> = set.into_iter().map(|(s, t)| record(OTHER, s, t)).collect();
            let decision = record(GROUP, state, at);
            let make = |stored| if own { own_join(stored, &set) } else { join(stored, &set) };

            let before = start(&make(Some(&decision))).unwrap_or(decision);
            let joined = start(&make(None));
            let after = merge(joined.as_ref(), &decision).or(joined);
            prop_assert_eq!(Some(before), after);
        }

        /// No join makes up a time: it is 0, a time already held, or the Welcome's after a leave.
        #[test]
        fn cons_022_no_join_invents_a_decision(
            set in proptest::collection::vec((any_state(), 0i64..200), 0..4),
            left in any::<bool>(), own in any::<bool>(),
        ) {
            let set: Vec<_> = set.into_iter().map(|(s, t)| record(OTHER, s, t)).collect();
            let made = if own { own_join(None, &set) } else { join(None, &set) };
            let made = Join { left, ..made };
            if let Some(made) = start(&made) {
                let at = made.consented_at_ns;
                let held = set.iter().any(|r| r.consented_at_ns == at && r.state == made.state);
                prop_assert!(at == Nanos(0) || held || (left && at == Nanos(100)));
            }
        }
    }
}
