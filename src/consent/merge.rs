//! Which record is stored: the merge order (CONS-010), app acts (CONS-011) and implied decisions
//! (CONS-020, CONS-021).

use super::{Entity, Record, State, state_of};
use crate::base::{GroupId, Nanos};

/// The record to store when `received` comes from a peer installation or an archive; `None`
/// leaves what is stored (CONS-010).
///
/// `stored` is the record of the same entity. A time from the future or below 0 is compared like
/// any other: the client does not correct for skew.
pub fn merge(stored: Option<&Record>, received: &Record) -> Option<Record> {
    match stored {
        Some(stored) if received.rank() <= stored.rank() => None,
        _ => Some(*received),
    }
}

/// The greatest of several records about the same decision, by the order of CONS-010.
pub fn greatest<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<&'a Record> {
    records.into_iter().max_by_key(|record| record.rank())
}

/// The record an app act stores, whatever is stored already (CONS-011); creating a conversation
/// is such an act with [`State::Allowed`] (CONS-020).
pub fn app_act(entity: Entity, state: State, now: Nanos) -> Record {
    Record { entity, state, consented_at_ns: now }
}

/// The record a published app message stores for its conversation; `None` when it is allowed
/// already (CONS-021).
pub fn sending(stored: Option<&Record>, group: GroupId, now: Nanos) -> Option<Record> {
    (state_of(stored) != State::Allowed).then(|| app_act(Entity::Conversation(group), State::Allowed, now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GROUP: GroupId = GroupId([7; 16]);

    fn record(state: State, at: i64) -> Record {
        Record { entity: Entity::Conversation(GROUP), state, consented_at_ns: Nanos(at) }
    }

    fn apply_all(records: &[Record]) -> Option<Record> {
        records.iter().fold(None, |stored, next| merge(stored.as_ref(), next).or(stored))
    }

    #[test]
    fn cons_010_without_a_record_any_is_stored() {
        for state in [State::Unknown, State::Allowed, State::Denied] {
            for at in [i64::MIN, 0, 5] {
                assert_eq!(merge(None, &record(state, at)), Some(record(state, at)));
            }
        }
    }

    #[test]
    fn cons_010_greater_time_wins_whatever_the_state() {
        let (denied, unknown) = (record(State::Denied, 10), record(State::Unknown, 11));
        assert_eq!(merge(Some(&denied), &unknown), Some(unknown));
        assert_eq!(merge(Some(&unknown), &denied), None);
    }

    #[test]
    fn cons_010_equal_time_is_decided_by_state_order() {
        let ordered = [State::Unknown, State::Allowed, State::Denied];
        for (i, low) in ordered.iter().enumerate() {
            for (j, high) in ordered.iter().enumerate() {
                let merged = merge(Some(&record(*low, 10)), &record(*high, 10));
                assert_eq!(merged.is_some(), j > i, "{low:?} then {high:?}");
            }
        }
    }

    #[test]
    fn cons_010_the_winners_time_is_stored_even_when_the_state_is_equal() {
        let merged = merge(Some(&record(State::Allowed, 10)), &record(State::Allowed, 30));
        assert_eq!(merged, Some(record(State::Allowed, 30)));
        assert_eq!(merge(merged.as_ref(), &record(State::Denied, 20)), None);
    }

    #[test]
    fn cons_011_an_app_act_is_stored_now_even_when_older_or_equal() {
        let entity = Entity::Conversation(GROUP);
        // An act with a clock behind the stored time is stored all the same: it does not merge.
        assert_eq!(app_act(entity, State::Denied, Nanos(5)), record(State::Denied, 5));
        let repeated = app_act(entity, State::Allowed, Nanos(30));
        assert_eq!(repeated, record(State::Allowed, 30));
        // The repeated decision now wins over one made elsewhere in between.
        assert_eq!(merge(Some(&repeated), &record(State::Denied, 20)), None);
    }

    #[test]
    fn cons_020_creating_is_an_allowed_act_at_now() {
        let made = app_act(Entity::Conversation(GROUP), State::Allowed, Nanos(9));
        assert_eq!(made, record(State::Allowed, 9));
    }

    #[test]
    fn cons_021_sending_allows_an_unknown_or_denied_conversation() {
        let now = Nanos(50);
        for stored in [None, Some(record(State::Unknown, 60)), Some(record(State::Denied, 10))] {
            assert_eq!(sending(stored.as_ref(), GROUP, now), Some(record(State::Allowed, 50)));
        }
    }

    #[test]
    fn cons_021_sending_leaves_an_allowed_conversation() {
        assert_eq!(sending(Some(&record(State::Allowed, 10)), GROUP, Nanos(50)), None);
    }

    #[test]
    fn cons_010_six_orders_of_three_records_end_the_same() {
        let records = [record(State::Allowed, 10), record(State::Denied, 20), record(State::Allowed, 20)];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let twice: Vec<_> = order.iter().chain(&order).map(|&i| records[i]).collect();
            assert_eq!(apply_all(&twice), Some(record(State::Denied, 20)));
        }
    }

    fn any_record() -> impl Strategy<Value = Record> {
        let state = prop_oneof![Just(State::Unknown), Just(State::Allowed), Just(State::Denied)];
        (state, prop_oneof![-1i64..4, any::<i64>()]).prop_map(|(state, at)| record(state, at))
    }

    proptest! {
        #[test]
        fn cons_010_any_order_and_repetition_ends_in_the_same_record(
            records in proptest::collection::vec(any_record(), 1..8),
            picks in proptest::collection::vec(any::<prop::sample::Index>(), 0..16),
            shuffled in any::<u64>(),
        ) {
            let mut other = records.clone();
            other.extend(picks.iter().map(|pick| *pick.get(&records)));
            let mut seed = shuffled;
            for i in (1..other.len()).rev() {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                other.swap(i, (seed >> 33) as usize % (i + 1));
            }
            prop_assert_eq!(apply_all(&records), apply_all(&other));
            prop_assert_eq!(apply_all(&records), greatest(&records).copied());
        }

        #[test]
        fn cons_010_the_order_is_total(a in any_record(), b in any_record()) {
            let takes_b = merge(Some(&a), &b).is_some();
            let takes_a = merge(Some(&b), &a).is_some();
            prop_assert_eq!(takes_a || takes_b, a != b);
            prop_assert!(!(takes_a && takes_b));
        }
    }
}
