//! What a reader of the stored messages is handed, message by message, and what it is never asked
//! about again (PROC-025, PROC-046, PROC-047, CONS-042).
//!
//! A *scope* says which conversations a reader is about at all: what is outside keeps its backlog,
//! for a later reader of another scope. A *filter* says which messages of those it wants: the others
//! are consumed without being handed out. Both are judged by how things stand when the message's
//! turn comes.
//!
//! Choices: membership changes of a DM are consumed unseen, as its history leaves them out; so are
//! reactions, edits, deletions and read receipts unless the filter names them. Without
//! a consent filter, conversations the scope names are not filtered by consent (CONS-043), all
//! others as a list is (CONS-042).

use crate::base::{Nanos, ThreadId};
use crate::consent::{Filter, State};
use crate::engine::history::Types;
use crate::store::rows::{GroupKind, MessageKind, MessageRow, MessageStatus, ThreadRow};

/// What a reader is about, and what of it it wants.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Scope: only these threads.
    pub threads: Option<Vec<ThreadId>>,
    /// Scope: only conversations of this kind.
    pub kind: Option<GroupKind>,
    /// Scope: only conversations in these states.
    pub scope_states: Option<Vec<State>>,
    /// Filter: of conversations in these states.
    pub states: Option<Vec<State>>,
    /// Filter: of these content types; of themselves, those a page has.
    pub types: Types,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Outside of the scope: its turn comes with another reader.
    Outside,
    /// In scope and not wanted.
    PassedOver,
    /// Handed out.
    Handed,
}

impl Selection {
    /// True when nothing is outside of the scope.
    pub fn is_whole(&self) -> bool {
        self.threads.is_none() && self.kind.is_none() && self.scope_states.is_none()
    }

    /// Whether a conversation is in scope; a sync group never is.
    pub fn covers(&self, thread: &ThreadRow) -> bool {
        let state = |states: &Vec<State>| Filter::of(states).includes(thread.consent);
        thread.kind != GroupKind::Sync
            && self.threads.as_ref().is_none_or(|threads| threads.contains(&thread.id))
            && self.kind.is_none_or(|kind| kind == thread.kind)
            && self.scope_states.as_ref().is_none_or(state)
    }

    /// What becomes of a message of this thread, now. A message whose thread is gone is of no
    /// conversation any more.
    pub fn turn(&self, row: &MessageRow, thread: Option<&ThreadRow>, now: Nanos) -> Turn {
        let Some(thread) = thread else { return Turn::PassedOver };
        if !self.covers(thread) {
            return Turn::Outside;
        }
        let asked = self.states.as_deref();
        let filter = match self.threads {
            Some(_) => Filter::one_conversation(asked),
            None => Filter::all_messages(asked),
        };
        let eligible = row.status == MessageStatus::Published
            && !row.is_gone(now)
            && !(row.kind == MessageKind::MembershipChange && thread.kind == GroupKind::Dm);
        let wanted = filter.includes(thread.consent) && self.types.admit(&row.content_type);
        if eligible && wanted { Turn::Handed } else { Turn::PassedOver }
    }
}
