//! What a subscription is told (CONS-042, CONS-043, CONS-044), and what was told already.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};

use crate::base::{GroupId, MessageId, ThreadId};
use crate::consent::{Entity, Filter as States, State};
use crate::engine::event::Event;
use crate::error::Error;
use crate::store::rows::{GroupKind, MessageRow, MessageStatus};

use super::options::Arg;

/// A `RawFilter` as given: a conversation is not looked up yet.
pub enum Asked {
    /// Messages.
    Messages {
        /// Of one conversation, named by any of its groups.
        conversation: Option<GroupId>,
        /// Of conversations of this kind.
        kind: Option<Option<GroupKind>>,
        /// Of conversations in these states.
        states: Option<Vec<State>>,
    },
    /// New conversations.
    Conversations {
        /// Of this kind.
        kind: Option<Option<GroupKind>>,
        /// In these states.
        states: Option<Vec<State>>,
    },
    /// Consent.
    Consent,
}

impl Asked {
    /// Reads a `RawFilter`.
    pub fn read(arg: &Arg) -> Result<Self, Error> {
        let of = arg.field("of")?.text()?;
        let kind = |arg: &Arg| arg.may("conversationType", Arg::conversation_type);
        let states = |arg: &Arg| arg.may("consentStates", Arg::consent_states);
        match of.as_str() {
            "messages" => Ok(Self::Messages {
                conversation: arg.may("conversationId", Arg::id)?,
                kind: kind(arg)?,
                states: states(arg)?,
            }),
            "conversations" => Ok(Self::Conversations { kind: kind(arg)?, states: states(arg)? }),
            "consent" => Ok(Self::Consent),
            other => Err(Error::new("input.value", format!("there is no subscription of {other}"))),
        }
    }
}

/// Something to tell.
pub enum News {
    /// A message.
    Message(Box<MessageRow>),
    /// A new conversation.
    Conversation(GroupId),
    /// Decisions of one commit.
    Consent(Vec<(Entity, State)>),
}

/// Picks what a subscription is told.
pub struct Picker {
    asked: Asked,
    /// The thread of `conversation`.
    thread: Option<ThreadId>,
    /// Own messages told when they were sent, which come again when they are read back.
    told: RefCell<BTreeSet<MessageId>>,
    /// Published messages told lately: another tab may tell of one a second time.
    lately: RefCell<VecDeque<MessageId>>,
}

/// How many messages [`Picker::lately`] holds.
const LATELY: usize = 1024;

impl Picker {
    /// Picks what was asked for; `thread` is the thread of the named conversation.
    pub fn new(asked: Asked, thread: Option<ThreadId>) -> Self {
        Self { asked, thread, told: RefCell::default(), lately: RefCell::default() }
    }

    /// What of a commit's events is told.
    pub fn pick(&self, events: &[Event]) -> Vec<News> {
        match &self.asked {
            Asked::Messages { kind, states, .. } => {
                let filter = match self.thread {
                    Some(_) => States::one_conversation(states.as_deref()),
                    None => States::all_messages(states.as_deref()),
                };
                events.iter().filter_map(|event| self.message(event, *kind, filter)).collect()
            }
            Asked::Conversations { kind, states } => {
                let filter = States::conversations(states.as_deref());
                events.iter().filter_map(|event| conversation(event, *kind, filter)).collect()
            }
            Asked::Consent => {
                let of = |event: &Event| match event {
                    Event::Consent { entity, state } => Some((*entity, *state)),
                    _ => None,
                };
                let records: Vec<_> = events.iter().filter_map(of).collect();
                if records.is_empty() { Vec::new() } else { vec![News::Consent(records)] }
            }
        }
    }

    fn message(&self, event: &Event, kind: Option<Option<GroupKind>>, filter: States) -> Option<News> {
        let Event::Message { row, consent } = event else { return None };
        let wanted = self.thread.is_none_or(|thread| thread == row.thread)
            && is_kind(row.thread, kind)
            && filter.includes(*consent);
        // Told once: when it was sent here, or else when it is at its place.
        let news = match row.status {
            MessageStatus::Published => !self.told.borrow_mut().remove(&row.id) && self.remember(row.id),
            _ => wanted && self.told.borrow_mut().insert(row.id),
        };
        (wanted && news).then(|| News::Message(row.clone()))
    }
}

impl Picker {
    /// Notes a message as told; false when it was.
    fn remember(&self, id: MessageId) -> bool {
        let mut lately = self.lately.borrow_mut();
        if lately.contains(&id) {
            return false;
        }
        if lately.len() == LATELY {
            lately.pop_front();
        }
        lately.push_back(id);
        true
    }
}

fn conversation(event: &Event, kind: Option<Option<GroupKind>>, filter: States) -> Option<News> {
    match event {
        // Another group of a DM that is known already is no new conversation (DMS-007).
        Event::Conversation { group, thread, consent, duplicate: false }
            if is_kind(*thread, kind) && filter.includes(*consent) =>
        {
            Some(News::Conversation(*group))
        }
        _ => None,
    }
}

fn is_kind(thread: ThreadId, kind: Option<Option<GroupKind>>) -> bool {
    let own = match thread {
        ThreadId::Dm(_) => GroupKind::Dm,
        ThreadId::Group(_) => GroupKind::Group,
    };
    kind.is_none_or(|kind| kind == Some(own))
}
