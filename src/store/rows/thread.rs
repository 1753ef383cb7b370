//! Rows of the tables `threads` and `listing`.

use serde::{Deserialize, Serialize};

use super::{GroupKind, Row};
use crate::base::{GroupId, Nanos, ThreadId};
use crate::consent::State;
use crate::store::Table;

/// A group of a thread, with what the winner order needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadGroup {
    /// The group.
    pub group: GroupId,
    /// A restored placeholder.
    pub restored: bool,
    /// Retained activity.
    pub last_message_ns: Option<Nanos>,
    /// Creation or join time, the order of a thread without activity.
    pub created_ns: Nanos,
}

/// A conversation: one group, or all groups of a stitched DM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Its id.
    pub id: ThreadId,
    /// What it is.
    pub kind: GroupKind,
    /// All groups of the set.
    pub groups: Vec<ThreadGroup>,
    /// The one it is listed and written in (DMS-013).
    pub winner: GroupId,
    /// Its consent: the state of the greatest record of its groups.
    pub consent: State,
    /// Listing order: last activity, else creation.
    pub sort: Nanos,
}

impl Row for ThreadRow {
    const TABLE: Table = Table::Threads;
    fn key(&self) -> Vec<u8> {
        self.id.to_key()
    }
}

/// A line of the conversation list, newest first within a consent state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingRow {
    /// Consent of the thread.
    pub consent: State,
    /// Listing order.
    pub sort: Nanos,
    /// The thread.
    pub thread: ThreadId,
    /// Its winner.
    pub winner: GroupId,
    /// What it is.
    pub kind: GroupKind,
}

impl ListingRow {
    /// The key of a thread's line.
    pub fn key_of(consent: State, sort: Nanos, thread: ThreadId) -> Vec<u8> {
        let mut key = vec![consent as u8];
        key.extend((!(sort.0.max(0) as u64)).to_be_bytes());
        key.extend(thread.to_key());
        key
    }
}

impl Row for ListingRow {
    const TABLE: Table = Table::Listing;
    fn key(&self) -> Vec<u8> {
        Self::key_of(self.consent, self.sort, self.thread)
    }
}
