//! The async shell: loads rows, runs the engine, commits one unit, emits and publishes.
//!
//! [`Client`] is a cheap handle over shared state. Every step runs under one lock and commits one
//! [`crate::store::Changes`]; network calls happen outside of it, so a slow service never stops
//! reading or writing. Nothing is awaited between reading a cached group and writing it but the
//! store itself.

mod archive;
mod consumer;
mod decide;
mod devices;
mod driver;
mod event_queue;
mod events;
mod expiry;
mod feed;
mod groups;
mod history;
mod hung;
mod identity;
mod inspect;
mod installations;
mod judge;
mod key_packages;
mod list;
mod live;
mod load;
mod open;
mod operate;
mod outbox;
mod overhear;
mod owed;
mod pace;
mod pointers;
mod prepare;
mod process;
mod reader;
mod reads;
mod refresh;
mod replay;
mod said;
mod send;
mod sync;
mod sync_some;
mod verbs;
mod welcomes;

pub use crate::engine::settings::{NewGroup, Role, Setting};
pub use archive::{Chunk, Part};
pub use consumer::Consumer;
pub use event_queue::{EventFilter, EventQueue};
pub use events::EventSubscription;
pub use feed::{Interest, News};
pub use history::Page;
pub use hung::{Hung, Quoted};
pub use identity::Logs;
pub use inspect::{GroupInspection, Inspection, PendingIntent};
pub use installations::KeyPackageStatus;
pub use list::Conversation;
pub use open::{OpenOptions, Sign};
pub use overhear::Overheard;
pub use reader::owned;
pub use reads::Member;
pub use replay::Replay;
pub use send::SendOptions;
pub use sync::SyncReport;

use crate::base::{Map, Set};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::lock::Mutex;

use crate::base::{GroupId, InboxId, InstallationId, SequenceId, SharedPlatform, ThreadId};
use crate::delivery::Delivery;
use crate::engine::list::ListOptions;
use crate::engine::state::Me;
use crate::error::Error;
use crate::store::Store;
use crate::store::rows::InstallationRow;

/// A messaging client of one installation, over one database.
#[derive(Clone)]
pub struct Client(Rc<Inner>);

pub(crate) struct Inner {
    store: Rc<dyn Store>,
    delivery: Rc<dyn Delivery>,
    platform: SharedPlatform,
    me: Me,
    installation: RefCell<InstallationRow>,
    cache: Mutex<driver::Cache>,
    /// Held by the one background step that runs or waits for the cache.
    background: Mutex<()>,
    hub: events::Hub,
    identity: identity::Logs,
    thread_ids: RefCell<Map<GroupId, ThreadId>>,
    /// Groups that lists named lately: a guess at what the next one reads, never what it answers.
    guesses: RefCell<Vec<(ListOptions, Vec<GroupId>)>>,
    sends: send::Queue,
    operations: operate::Waiting,
    sending: pace::Sending,
    pace: pace::Pace,
    /// How often an outbox was left to be tried again.
    retries: Cell<u64>,
    /// Attempts made in this life of the client and not handed out yet.
    fresh: RefCell<Set<[u8; 32]>>,
    /// How many more Welcomes for an unknown key package are kept.
    room: Cell<usize>,
    /// Own bytes met in a topic: met again, they are no sign of a state rolled back.
    echoes: RefCell<Set<[u8; 32]>>,
    live: RefCell<Option<live::Live>>,
    expiry: expiry::Alarm,
    /// A step has decided something the own devices are to be told of.
    owing: Cell<bool>,
    /// That is going to be done.
    tending: Cell<bool>,
    retry: pointers::Retry,
    /// The own inbox's log was told of up to here.
    announced: Cell<SequenceId>,
    /// The last local time a step was given.
    last_ns: Cell<i64>,
    closed: Cell<bool>,
}

impl Client {
    /// The own inbox.
    pub fn inbox(&self) -> InboxId {
        self.0.me.inbox
    }

    /// This installation.
    pub fn installation(&self) -> InstallationId {
        self.0.me.installation
    }

    /// The account it was created with.
    pub fn identifier(&self) -> String {
        self.0.installation.borrow().identifier.clone()
    }

    /// True once the identity update that adds this installation is accepted, until one that
    /// revokes it was read.
    pub fn is_registered(&self) -> bool {
        self.0.installation.borrow().registered && !self.0.is_revoked()
    }

    /// Stops background work and closes the database. Calls under way end with `client.closed`;
    /// what was committed stays. Closing twice is fine.
    pub async fn close(&self) {
        if self.0.closed.replace(true) {
            return;
        }
        self.0.live.borrow_mut().take();
        self.0.expiry.stop();
        self.0.hub.close();
        // Waits for the step under way, so that its commit is whole.
        let mut cache = self.0.cache.lock().await;
        cache.clear();
        self.0.store.close().await;
    }

    /// What a call under way failed with: once we are closed, that the database is closed is our
    /// own doing.
    pub fn ended(&self, error: Error) -> Error {
        match self.0.open() {
            Err(closed) if error.code == "store.closed" => closed,
            _ => error,
        }
    }
}

impl Client {
    /// Ends the client as a killed page does: nothing more is written or told, whatever is under
    /// way. For tests and for `pagehide`; the database connection closes with the last handle.
    pub fn abandon(&self) {
        self.0.closed.set(true);
        self.0.live.borrow_mut().take();
        self.0.expiry.stop();
        self.0.hub.close();
    }
}

impl Inner {
    fn open(&self) -> Result<(), Error> {
        if self.closed.get() {
            return Err(Error::new("client.closed", "the client was closed; create it again"));
        }
        Ok(())
    }
}
