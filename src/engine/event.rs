//! What a committed step tells the outside (EVENT).

use crate::base::{GroupId, MessageId, ThreadId};
use crate::consent::{Entity, State};
use crate::store::rows::{MessageRow, MessageStatus};

/// Something that happened and is now readable. Emitted after the commit, in order.
#[derive(Clone)]
pub enum Event {
    /// A group was created or joined here.
    Conversation {
        /// The group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// Consent of the thread at that moment.
        consent: State,
        /// Another group of the same thread was known already (DMS-007).
        duplicate: bool,
    },
    /// A group's members, settings, activity, hold or state changed.
    GroupChanged {
        /// The group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
    },
    /// A message was stored, or an own one reached its place in the topic.
    Message {
        /// The row as stored.
        row: Box<MessageRow>,
        /// Consent of the thread at that moment.
        consent: State,
    },
    /// An own message's state changed.
    MessageStatus {
        /// The message.
        id: MessageId,
        /// Its group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// The new state.
        status: MessageStatus,
    },
    /// A stored consent state changed.
    Consent {
        /// What it is about.
        entity: Entity,
        /// The new state.
        state: State,
    },
    /// An import has ended; what it stored is announced by nothing else.
    ArchiveRestored {
        /// It ended without an error.
        complete: bool,
    },
}
