//! What a subscription is told of commits (CONS-042, CONS-043, CONS-044), each message once.
//!
//! An own message is told when it is stored, not again when it is read back: an app shows it at
//! once, online or not. Membership changes of a DM are left out, as in its history.

use crate::base::Set;
use std::cell::RefCell;
use std::collections::VecDeque;

use crate::base::{GroupId, MessageId, ThreadId};
use crate::client::{Client, EventSubscription};
use crate::consent::{Entity, Filter, State};
use crate::engine::event::Event;
use crate::engine::history::Types;
use crate::error::Error;
use crate::store::rows::{GroupKind, MessageKind, MessageRow, MessageStatus};

/// How many told messages are remembered, in case another tab tells of one again.
const LATELY: usize = 1024;

/// What a subscription is about.
#[derive(Clone, Debug)]
pub enum Interest {
    /// Messages.
    Messages {
        /// Of one conversation, named by any of its groups.
        conversation: Option<GroupId>,
        /// Of conversations of this kind.
        kind: Option<GroupKind>,
        /// Of conversations in these states.
        states: Option<Vec<State>>,
        /// Of these content types.
        types: Types,
    },
    /// Messages that were taken back or have disappeared.
    Deletions,
    /// New conversations.
    Conversations {
        /// Of this kind.
        kind: Option<GroupKind>,
        /// In these states.
        states: Option<Vec<State>>,
        /// Further groups of a DM that is known too (DMS-017).
        duplicates: bool,
    },
    /// Consent.
    Consent,
}

/// Something to tell.
pub enum News {
    /// A message.
    Message(Box<MessageRow>),
    /// A message that was taken back, or as it was before it disappeared.
    Deletion(Box<MessageRow>),
    /// A new conversation.
    Conversation(GroupId),
    /// A further group of a DM that is known, to be named as itself.
    Duplicate(GroupId),
    /// Decisions of one commit.
    Consent(Vec<(Entity, State)>),
}

impl Client {
    /// Calls `listener` with what `interest` asks for of each commit from now on, until the
    /// subscription is dropped.
    ///
    /// # Errors
    /// `conversation.not_found` when the named conversation is not stored; `client.closed`.
    pub async fn follow(
        &self,
        interest: Interest,
        listener: impl Fn(News) + 'static,
    ) -> Result<EventSubscription, Error> {
        let named = match &interest {
            Interest::Messages { conversation, .. } => *conversation,
            _ => None,
        };
        let thread = match named {
            Some(group) => Some(self.thread(group).await?),
            None => None,
        };
        self.0.open()?;
        let picker = Picker { interest, thread, told: RefCell::default(), lately: RefCell::default() };
        Ok(self.subscribe_commits(move |events| picker.pick(events).into_iter().for_each(&listener)))
    }
}

/// Picks what a subscription is told.
struct Picker {
    interest: Interest,
    /// The thread of the named conversation.
    thread: Option<ThreadId>,
    /// Own messages told when they were stored, which come again when they are read back.
    told: RefCell<Set<MessageId>>,
    /// Published messages told lately.
    lately: RefCell<VecDeque<MessageId>>,
}

impl Picker {
    fn pick(&self, events: &[Event]) -> Vec<News> {
        match &self.interest {
            Interest::Messages { kind, states, types, .. } => {
                let filter = match self.thread {
                    Some(_) => Filter::one_conversation(states.as_deref()),
                    None => Filter::all_messages(states.as_deref()),
                };
                let told = events.iter().filter_map(|event| self.message(event, *kind, filter));
                told.filter(|row| types.admit(&row.content_type)).map(News::Message).collect()
            }
            Interest::Deletions => events.iter().filter_map(|event| self.deletion(event)).collect(),
            Interest::Conversations { kind, states, duplicates } => {
                let filter = Filter::conversations(states.as_deref());
                let news = |event| conversation(event, *kind, filter);
                let wanted = |news: &News| *duplicates || !matches!(news, News::Duplicate(_));
                events.iter().filter_map(news).filter(wanted).collect()
            }
            Interest::Consent => {
                let of = |event: &Event| match event {
                    Event::Consent { entity, state } => Some((*entity, *state)),
                    _ => None,
                };
                let records: Vec<_> = events.iter().filter_map(of).collect();
                if records.is_empty() { Vec::new() } else { vec![News::Consent(records)] }
            }
        }
    }

    fn message(&self, event: &Event, kind: Option<GroupKind>, filter: Filter) -> Option<Box<MessageRow>> {
        let Event::Message { row, consent } = event else { return None };
        let wanted = self.thread.is_none_or(|thread| thread == row.thread)
            && is_kind(row.thread, kind)
            && filter.includes(*consent)
            && !(row.kind == MessageKind::MembershipChange && matches!(row.thread, ThreadId::Dm(_)));
        let news = match row.status {
            MessageStatus::Published => !self.told.borrow_mut().remove(&row.id) && self.remember(row.id),
            _ => wanted && self.told.borrow_mut().insert(row.id),
        };
        (wanted && news).then(|| row.clone())
    }

    /// Each once, though another tab may tell of it too.
    fn deletion(&self, event: &Event) -> Option<News> {
        match event {
            Event::Gone { row } if Types::default().admit(&row.content_type) && self.remember(row.id) => {
                Some(News::Deletion(row.clone()))
            }
            _ => None,
        }
    }

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

fn conversation(event: &Event, kind: Option<GroupKind>, filter: Filter) -> Option<News> {
    match event {
        Event::Conversation { group, thread, kind: own, consent, duplicate, .. }
            if *own != GroupKind::Sync && is_kind(*thread, kind) && filter.includes(*consent) =>
        {
            // Another group of a DM that is known already is no new conversation (DMS-007).
            Some(if *duplicate { News::Duplicate(*group) } else { News::Conversation(*group) })
        }
        _ => None,
    }
}

fn is_kind(thread: ThreadId, kind: Option<GroupKind>) -> bool {
    let own = match thread {
        ThreadId::Dm(_) => GroupKind::Dm,
        ThreadId::Group(_) => GroupKind::Group,
    };
    kind.is_none_or(|kind| kind == own)
}
