//! Several clients on one database (tabs): each tells what it committed, the others tell it to
//! their own listeners. Nothing depends on it but liveliness: revisions keep the data right, and
//! whoever hears nothing sees everything when it reads.

use std::cell::Cell;
use std::rc::Rc;

use crate::base::{GroupId, MessageId, Topic};
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
            Event::MessageStatus { .. } => None,
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
        // What is loaded here is older: steps would find out by themselves, reads would not.
        self.0.cache.lock().await.clear();
        let mut events = Vec::with_capacity(told.len());
        for one in told {
            events.extend(self.0.event_of(*one).await?);
        }
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
    async fn event_of(&self, told: Overheard) -> Result<Option<Event>, Error> {
        Ok(match told {
            Overheard::Conversation(group, consent, duplicate) => self.group_row(group).await?.map(|row| {
                let thread = row.thread();
                Event::Conversation { group, thread, consent, duplicate }
            }),
            Overheard::GroupChanged(group) => {
                self.group_row(group).await?.map(|row| Event::GroupChanged { group, thread: row.thread() })
            }
            Overheard::Message(id, consent) => {
                let row: Option<MessageRow> = self.message_rows(&[id]).await?.pop().flatten();
                row.map(|row| Event::Message { row: Box::new(row), consent })
            }
            Overheard::Consent(entity, state) => Some(Event::Consent { entity, state }),
        })
    }

    /// What the client that reads in the background does for the others.
    fn take_over(self: &Rc<Self>, event: &Event) {
        match event {
            Event::Conversation { group, .. } => self.listen(Topic::Group(*group)),
            // Its own client publishes it, unless it was closed right after.
            Event::Message { row, .. } if row.status == MessageStatus::Unpublished => {
                if self.live.borrow().is_some() {
                    self.publish_in_time(row.group);
                }
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
