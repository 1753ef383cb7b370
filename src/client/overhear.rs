//! Several clients on one database (tabs): each tells what it committed, the others tell it to
//! their own listeners. Nothing depends on it but liveliness: revisions keep the data right, and
//! whoever hears nothing sees everything when it reads.

use crate::base::Map;
use std::cell::Cell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::base::{Gather as _, GroupId, MessageId, Topic};
use crate::client::{Client, Inner, load};
use crate::consent::{Entity, State};
use crate::engine::event::Event;
use crate::error::Error;
use crate::store::rows::{InstallationRow, MessageRow, MessageStatus};

/// How long another client may take to publish what it stored before we do, in milliseconds.
const PATIENCE_MS: u32 = 10_000;

/// Changes with [`Event`]: pages of one origin can have loaded different versions of this package.
const FORMAT: u8 = 1;

/// What another client on the same database committed, without what can be read there.
#[derive(Clone, Serialize, Deserialize)]
pub enum Overheard {
    /// [`Event::Message`].
    Message(MessageId, State),
    /// Any other.
    Event(Event),
}

impl Overheard {
    /// What the others need to hear of an event.
    pub fn of(event: &Event) -> Self {
        match event {
            Event::Message { row, consent } => Self::Message(row.id, *consent),
            other => Self::Event(other.clone()),
        }
    }

    /// The events of one commit, as they are sent to the others.
    pub fn encode(told: &[Self]) -> Vec<u8> {
        // Only a type that refuses to serialise could fail, and rows are not among them.
        postcard::to_extend(told, vec![FORMAT]).unwrap_or_default()
    }

    /// Reads what another sent; `None` for what a tab with another version of this package did.
    pub fn decode(bytes: &[u8]) -> Option<Vec<Self>> {
        let told = bytes.strip_prefix(&[FORMAT])?;
        postcard::from_bytes(told).ok()
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
        let mut events = self.0.events_of(told).await?;
        self.0.forget(&events).await;
        for event in &events {
            self.0.take_over(event);
        }
        self.0.take_over_identity(&mut events).await?;
        self.0.open()?;
        hearing.set(true);
        self.0.hub.emit(events);
        hearing.set(false);
        Ok(())
    }

    /// Another client committed something this one cannot read: all that is loaded may be outdated.
    pub async fn overhear_noise(&self) {
        self.0.cache.lock().await.clear();
    }
}

impl Inner {
    /// The events of a commit, completed with what is stored now.
    async fn events_of(&self, told: &[Overheard]) -> Result<Vec<Event>, Error> {
        let id = |one: &Overheard| match one {
            Overheard::Message(id, _) => Some(*id),
            Overheard::Event(_) => None,
        };
        let ids: Vec<MessageId> = told.iter().filter_map(id).collect();
        let rows = self.message_rows(&ids).await?.into_iter().flatten();
        let mut messages: Map<MessageId, MessageRow> = rows.map(|row| (row.id, row)).gather();
        let event = |one: &Overheard| match one {
            Overheard::Message(id, consent) => {
                Some(Event::Message { row: Box::new(messages.remove(id)?), consent: *consent })
            }
            Overheard::Event(event) => Some(event.clone()),
        };
        Ok(told.iter().filter_map(event).collect())
    }

    /// Drops what is loaded of the groups concerned: steps would find out by themselves that it is
    /// outdated, reads would not.
    async fn forget(&self, events: &[Event]) {
        let mut cache = self.cache.lock().await;
        cache.counters = None;
        for event in events {
            let place = match event {
                // It says nothing of what it touched.
                Event::ArchiveRestored { .. } => {
                    cache.clear();
                    continue;
                }
                Event::Consent { entity: Entity::Conversation(group), .. } => {
                    cache.groups.get(group).map(|ctx| (*group, ctx.row.thread()))
                }
                other => other.place(),
            };
            if let Some((group, thread)) = place {
                cache.groups.remove(&group);
                cache.threads.remove(&thread);
            }
        }
    }

    /// What this client has told already, because it read or did the same, is taken out. That it is
    /// registered, it learns from the row.
    async fn take_over_identity(&self, events: &mut Vec<Event>) -> Result<(), Error> {
        let known = self.installation.borrow().registered;
        events.retain(|event| !known || !matches!(event, Event::Registered));
        self.not_told_yet(events);
        if events.iter().any(|event| matches!(event, Event::Registered)) {
            let stored = load::all::<InstallationRow>(&self.store.read(Client::first_reads()).await?)?.pop();
            stored.into_iter().for_each(|row| *self.installation.borrow_mut() = row);
        }
        Ok(())
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
            // Its own client tells the other devices, unless it was closed right after.
            Event::Consent { .. } if self.live.borrow().is_some() => self.tend_in(PATIENCE_MS),
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
