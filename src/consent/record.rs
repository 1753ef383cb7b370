//! A consent record and what it is about (CONS-002).

use serde::{Deserialize, Serialize};

use crate::base::{GroupId, InboxId, Nanos};

/// A state, ordered as CONS-010 breaks ties: unknown below allowed below denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// No decision (CONS-001).
    #[default]
    Unknown = 0,
    /// Wanted.
    Allowed = 1,
    /// Blocked.
    Denied = 2,
}

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// A conversation, by group id.
    Conversation(GroupId),
    /// An inbox.
    Inbox(InboxId),
}

impl Entity {
    /// A prefix-free byte form for keys.
    pub fn to_key(&self) -> Vec<u8> {
        match self {
            Self::Conversation(id) => [b"c".as_slice(), id.as_bytes()].concat(),
            Self::Inbox(id) => [b"i".as_slice(), id.as_bytes()].concat(),
        }
    }
}

/// One stored decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What it is about.
    pub entity: Entity,
    /// What was decided.
    pub state: State,
    /// When, by the clock of the deciding installation; 0 for a default.
    pub consented_at_ns: Nanos,
}

impl Record {
    /// What CONS-010 compares: the time, then the state.
    pub fn rank(&self) -> (Nanos, State) {
        (self.consented_at_ns, self.state)
    }
}

/// The state an app reads: an entity without a record is unknown (CONS-001).
pub fn state_of(record: Option<&Record>) -> State {
    record.map_or(State::Unknown, |record| record.state)
}
