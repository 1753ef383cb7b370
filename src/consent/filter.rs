//! Which conversations a list or stream includes (CONS-001, 030, 031, 042, 043, 044).
//!
//! An absent filter means something else for each use; an empty one includes nothing anywhere.
//! Inbox consent is never asked. A filter given for one named conversation is applied: the app
//! asked for it.

use super::{Record, State, state_of};

/// The consent states a list or stream includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter(u8);

impl Filter {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Every state.
    pub const EVERY: Self = Self::of(&[State::Unknown, State::Allowed, State::Denied]);
    /// What a list shows when the app names no state: what it wants, and what it can decide on.
    pub const WANTED_OR_OPEN: Self = Self::of(&[State::Unknown, State::Allowed]);

    /// Exactly these states; an empty list includes nothing (CONS-030).
    pub const fn of(states: &[State]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < states.len() {
            bits |= 1 << states[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// For a list of conversations; absent excludes denied (CONS-031).
    pub fn listing(asked: Option<&[State]>) -> Self {
        asked.map_or(Self::WANTED_OR_OPEN, Self::of)
    }

    /// For a stream of the messages of all conversations; absent excludes denied (CONS-042).
    pub fn all_messages(asked: Option<&[State]>) -> Self {
        asked.map_or(Self::WANTED_OR_OPEN, Self::of)
    }

    /// For a stream of the messages of one named conversation; absent includes all (CONS-043).
    pub fn one_conversation(asked: Option<&[State]>) -> Self {
        asked.map_or(Self::EVERY, Self::of)
    }

    /// For a stream of new conversations; absent includes all (CONS-044).
    pub fn conversations(asked: Option<&[State]>) -> Self {
        asked.map_or(Self::EVERY, Self::of)
    }

    /// Whether a conversation of this state is included.
    pub fn includes(self, state: State) -> bool {
        self.0 & (1 << state as u8) != 0
    }

    /// Whether a conversation with this record is included; no record is unknown (CONS-001).
    pub fn admits(self, conversation: Option<&Record>) -> bool {
        self.includes(state_of(conversation))
    }

    /// The included states, ascending.
    pub fn states(self) -> impl Iterator<Item = State> {
        [State::Unknown, State::Allowed, State::Denied].into_iter().filter(move |s| self.includes(*s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{GroupId, Nanos};
    use crate::consent::Entity;

    const ALL: [State; 3] = [State::Unknown, State::Allowed, State::Denied];

    fn record(state: State) -> Record {
        Record { entity: Entity::Conversation(GroupId([1; 16])), state, consented_at_ns: Nanos(1) }
    }

    fn kept(filter: Filter) -> Vec<State> {
        ALL.into_iter().filter(|state| filter.admits(Some(&record(*state)))).collect()
    }

    #[test]
    fn cons_001_no_record_is_filtered_as_unknown() {
        assert!(Filter::listing(Some(&[State::Unknown])).admits(None));
        assert!(!Filter::listing(Some(&[State::Allowed, State::Denied])).admits(None));
        assert!(Filter::listing(None).admits(None));
        assert_eq!(state_of(None), State::Unknown);
        assert_eq!(state_of(Some(&record(State::Denied))), State::Denied);
    }

    #[test]
    fn cons_030_a_filter_includes_exactly_its_states() {
        type Make = fn(Option<&[State]>) -> Filter;
        let uses: [Make; 3] = [Filter::listing, Filter::all_messages, Filter::conversations];
        for make in uses {
            for bits in 0..8u8 {
                let asked: Vec<_> = ALL.into_iter().filter(|s| bits & (1 << *s as u8) != 0).collect();
                assert_eq!(kept(make(Some(&asked))), asked);
                assert_eq!(make(Some(&asked)).states().collect::<Vec<_>>(), asked);
            }
        }
    }

    #[test]
    fn cons_030_an_empty_filter_is_not_an_absent_one() {
        assert_eq!(Filter::listing(Some(&[])), Filter::NONE);
        assert_eq!(kept(Filter::all_messages(Some(&[]))), []);
        assert_ne!(Filter::conversations(Some(&[])), Filter::conversations(None));
    }

    #[test]
    fn cons_031_a_list_without_filter_excludes_denied() {
        assert_eq!(kept(Filter::listing(None)), [State::Unknown, State::Allowed]);
    }

    #[test]
    fn cons_042_an_all_message_stream_without_filter_excludes_denied() {
        assert_eq!(kept(Filter::all_messages(None)), [State::Unknown, State::Allowed]);
    }

    #[test]
    fn cons_043_one_named_conversation_is_not_filtered() {
        assert_eq!(kept(Filter::one_conversation(None)), ALL);
    }

    #[test]
    fn cons_044_a_conversation_stream_without_filter_includes_every_state() {
        assert_eq!(kept(Filter::conversations(None)), ALL);
    }
}
