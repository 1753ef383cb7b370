//! Several clients on one database (tabs): each tells what it committed, the others tell it to
//! their own listeners. Nothing depends on it but liveliness: revisions keep the data right, and
//! whoever hears nothing sees everything when it reads.

use crate::base::Gather as _;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::base::{GroupId, MessageId, ThreadId, Topic};
use crate::client::{Client, Inner};
use crate::consent::{Entity, State};
use crate::engine::event::Event;
use crate::error::Error;
use crate::store::rows::{MessageRow, MessageStatus};

/// How long another client may take to publish what it stored before we do, in milliseconds.
const PATIENCE_MS: u32 = 10_000;

/// What another client on the same database committed, without what can be read there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overheard {
    /// [`Event::Conversation`].
    Conversation(GroupId, State, bool),
    /// [`Event::GroupChanged`].
    GroupChanged(GroupId),
    /// [`Event::Message`] and [`Event::MessageStatus`].
    Message(MessageId, State),
    /// [`Event::Consent`].
    Consent(Entity, State),
}

impl Overheard {
    fn group(&self) -> Option<GroupId> {
        match self {
            Self::Conversation(group, ..) | Self::GroupChanged(group) => Some(*group),
            _ => None,
        }
    }

    fn message(&self) -> Option<MessageId> {
        match self {
            Self::Message(id, _) => Some(*id),
            _ => None,
        }
    }

    /// What the others need to hear of an event.
    pub fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Conversation { group, consent, duplicate, .. } => {
                Some(Self::Conversation(*group, *consent, *duplicate))
            }
            Event::GroupChanged { group, .. } => Some(Self::GroupChanged(*group)),
            Event::Message { row, consent } => Some(Self::Message(row.id, *consent)),
            Event::Consent { entity, state } => Some(Self::Consent(*entity, *state)),
            // Comes with the message itself, or with a change of its group.
            Event::MessageStatus { .. } | Event::ArchiveRestored { .. } => None,
        }
    }
}

impl Client {
    /// Tells listeners what another client on the same database committed; `hearing` is true while
    /// it does.
    ///
    /// # Errors
    /// `store.*` when it cannot be read; nothing is told then.
    pub async fn overhear(&self, told: &[Overheard], hearing: &Cell<bool>) -> Result<(), Error> {
        self.0.open()?;
        let events = self.0.events_of(told).await?;
        self.0.forget(&events).await;
        for event in &events {
            self.0.take_over(event);
        }
        self.0.open()?;
        hearing.set(true);
        self.0.hub.emit(events);
        hearing.set(false);
        Ok(())
    }
}

impl Inner {
    /// The events of a commit, completed with what is stored now.
    async fn events_of(&self, told: &[Overheard]) -> Result<Vec<Event>, Error> {
        let groups: Vec<GroupId> = told.iter().filter_map(Overheard::group).collect();
        let groups: BTreeMap<GroupId, ThreadId> =
            self.group_rows(&groups).await?.into_iter().map(|row| (row.id, row.thread())).gather();
        let messages: Vec<MessageId> = told.iter().filter_map(Overheard::message).collect();
        let rows = self.message_rows(&messages).await?.into_iter().flatten();
        let mut messages: BTreeMap<MessageId, MessageRow> = rows.map(|row| (row.id, row)).gather();
        let event = |one: &Overheard| match *one {
            Overheard::Conversation(group, consent, duplicate) => {
                let thread = *groups.get(&group)?;
                Some(Event::Conversation { group, thread, consent, duplicate })
            }
            Overheard::GroupChanged(group) => {
                Some(Event::GroupChanged { group, thread: *groups.get(&group)? })
            }
            Overheard::Message(id, consent) => {
                Some(Event::Message { row: Box::new(messages.remove(&id)?), consent })
            }
            Overheard::Consent(entity, state) => Some(Event::Consent { entity, state }),
        };
        Ok(told.iter().filter_map(event).collect())
    }

    /// Drops what is loaded of the groups concerned: steps would find out by themselves that it is
    /// outdated, reads would not.
    async fn forget(&self, events: &[Event]) {
        let mut cache = self.cache.lock().await;
        cache.counters = None;
        for event in events {
            let (group, thread) = match event {
                Event::Conversation { group, thread, .. } | Event::GroupChanged { group, thread } => {
                    (*group, *thread)
                }
                Event::Message { row, .. } => (row.group, row.thread),
                Event::Consent { entity: Entity::Conversation(group), .. } => {
                    let Some(thread) = cache.groups.get(group).map(|ctx| ctx.row.thread()) else { continue };
                    (*group, thread)
                }
                Event::Consent { .. } | Event::MessageStatus { .. } | Event::ArchiveRestored { .. } => {
                    continue;
                }
            };
            cache.groups.remove(&group);
            cache.threads.remove(&thread);
        }
    }

    /// What the client that reads in the background does for the others.
    fn take_over(self: &Rc<Self>, event: &Event) {
        match event {
            Event::Conversation { group, .. } => self.listen(Topic::Group(*group)),
            // Its own client publishes it, unless it was closed right after.
            Event::Message { row, .. }
                if row.status == MessageStatus::Unpublished && self.live.borrow().is_some() =>
            {
                self.publish_in_time(row.group);
            }
            _ => {}
        }
    }

    fn publish_in_time(self: &Rc<Self>, group: GroupId) {
        let inner = Rc::downgrade(self);
        let patience = self.platform.sleep(PATIENCE_MS);
        self.platform.spawn(Box::pin(async move {
            patience.await;
            if let Some(inner) = inner.upgrade() {
                inner.kick(group);
            }
        }));
    }
}
