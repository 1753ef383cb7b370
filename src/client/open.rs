//! Opening a database and registering its installation (IDENT, facts 4.4).

use crate::base::{Map, Set};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::future::LocalBoxFuture;

use crate::base::{InboxId, SharedPlatform};
use crate::client::identity::Logs;
use crate::client::installations::{envelope, not_accepted};
use crate::client::{Client, Inner, events, load, operate, send};
use crate::delivery::{CheckedDelivery, Delivery, Outgoing};
use crate::engine::PROTOCOL_VERSION;
use crate::engine::event::Event;
use crate::engine::state::Me;
use crate::error::Error;
use crate::identity::{Identifier, IdentityError, IdentityUpdate, Request, inbox_id};
use crate::mls::InstallationKeys;
use crate::store::rows::{InstallationRow, Row};
use crate::store::{Changes, Read, Record, Store, StoreError};

/// Asks the wallet to sign a text; the answer is its 65-byte signature, or why there is none.
pub type Sign = Rc<dyn Fn(String) -> LocalBoxFuture<'static, Result<Vec<u8>, String>>>;

/// What a client is made of.
pub struct OpenOptions {
    /// Its database.
    pub store: Rc<dyn Store>,
    /// The delivery service.
    pub delivery: Rc<dyn Delivery>,
    /// Clock, entropy, tasks.
    pub platform: SharedPlatform,
    /// The account.
    pub identifier: Identifier,
    /// Part of the inbox id of an account that has no inbox yet; 1 unless an app says otherwise.
    pub nonce: u64,
}

impl Client {
    /// Opens the database, making the installation on first use. Does not register it.
    ///
    /// # Errors
    /// `client.other_account` when the database belongs to another account; `delivery.*` when the
    /// account's inbox has to be looked up and cannot; `store.*`.
    pub async fn open(options: OpenOptions) -> Result<Self, Error> {
        let first = options.store.read(Self::first_reads()).await?;
        Self::open_with(options, first).await
    }

    /// What opening reads first.
    pub fn first_reads() -> Vec<Read> {
        vec![Read::Key(InstallationRow::TABLE, InstallationRow::KEY.to_vec())]
    }

    /// Opens the database like [`Client::open`] where `first`, the answers to
    /// [`Client::first_reads`], came with the store.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub async fn open_with(options: OpenOptions, first: Vec<Vec<Record>>) -> Result<Self, Error> {
        let OpenOptions { store, delivery, platform, identifier, nonce } = options;
        let delivery: Rc<dyn Delivery> = Rc::new(CheckedDelivery::new(delivery));
        let identity = Logs::new(store.clone(), delivery.clone());
        let row = match load::all::<InstallationRow>(&first)?.pop() {
            Some(row) => row,
            None => {
                let found = identity.inboxes_of(std::slice::from_ref(&identifier)).await?.pop().flatten();
                let inbox = found.unwrap_or_else(|| inbox_id(&identifier, nonce));
                create(&*store, &platform, &identifier, inbox).await?
            }
        };
        if row.identifier != identifier.to_string() {
            return Err(Error::new(
                "client.other_account",
                "this database belongs to another account; pass another dbPath",
            ));
        }
        let version = PROTOCOL_VERSION.parse().map_err(|_| Error::bug("own version"))?;
        let keys = InstallationKeys::from_seed(row.seed);
        let me = Me { inbox: row.inbox, installation: row.installation, keys, version };
        let inner = Rc::new(Inner {
            store,
            delivery,
            platform,
            me,
            installation: RefCell::new(row),
            cache: Default::default(),
            background: Default::default(),
            hub: events::Hub::default(),
            identity,
            thread_ids: RefCell::default(),
            guesses: RefCell::default(),
            sends: send::Queue::default(),
            operations: operate::Waiting::default(),
            outboxes: RefCell::new(Map::new()),
            fresh: RefCell::new(Set::new()),
            room: Cell::new(0),
            echoes: RefCell::new(Set::new()),
            kicked: RefCell::new(Set::new()),
            stuck: Default::default(),
            retries: Default::default(),
            unread: Default::default(),
            live: RefCell::new(None),
            expiry: super::expiry::Alarm::default(),
            owing: Cell::new(false),
            tending: Cell::new(false),
            retry: Default::default(),
            last_ns: Cell::new(0),
            announced: Cell::default(),
            closed: Cell::new(false),
        });
        inner.watch_own_inbox();
        inner.watch_expiry();
        Ok(Self(inner))
    }

    /// Publishes this installation's key package and the identity update that adds it.
    ///
    /// Nothing happens when it is registered already, so a call cut off half-way is just repeated.
    ///
    /// # Errors
    /// `client.signature` when the wallet does not sign or signs with another account;
    /// `client.installation_revoked`; `identity.limit` at 10 installations; `delivery.*`.
    pub async fn register(&self, nonce: u64, sign: &Sign) -> Result<(), Error> {
        self.0.not_revoked()?;
        if self.is_registered() {
            return Ok(());
        }
        let identifier = self.0.account()?;
        let state = self.0.identity.newest(self.0.me.inbox).await?.map(|(_, state)| state);
        self.0.not_revoked()?;
        if !state.as_ref().is_some_and(|state| state.has_installation(self.0.me.installation)) {
            let (installation, now) = (self.0.me.installation, self.0.platform.now());
            let request = match &state {
                None => Request::register(identifier.clone(), nonce, installation, now),
                Some(state) => Request::add_installation(state, identifier.clone(), installation, now)
                    .map_err(refused)?,
            };
            if request.inbox() != self.0.me.inbox {
                return Err(Error::new(
                    "input.value",
                    "the nonce is not the one this inbox id was made with",
                ));
            }
            let seed = self.0.installation.borrow().seed;
            let update = signed(&request, Some(&seed), sign).await?;
            self.0.publish_registration(&identifier, &update).await?;
        }
        self.0.mark_registered().await
    }
}

impl Inner {
    pub(super) fn account(&self) -> Result<Identifier, Error> {
        Identifier::ethereum(&self.installation.borrow().identifier).map_err(Error::bug)
    }

    /// The key package is durable before a byte of it leaves, and is published first.
    async fn publish_registration(
        &self,
        identifier: &Identifier,
        update: &IdentityUpdate,
    ) -> Result<(), Error> {
        let offer = self.unpublished_offer().await?;
        let mut batch: Vec<Outgoing> = offer.iter().map(|offer| self.envelope_of(offer)).collect();
        batch.push(envelope(update, vec![identifier.lookup_key()]));
        self.delivery.publish(batch).await?;
        if let Some(offer) = offer {
            self.offer_accepted(&offer).await?;
        }
        let state = self.identity.newest(self.me.inbox).await?;
        if !state.is_some_and(|(_, state)| state.has_installation(self.me.installation)) {
            return Err(not_accepted());
        }
        Ok(())
    }

    async fn mark_registered(&self) -> Result<(), Error> {
        let mut known = false;
        self.change_installation(|row| known = std::mem::replace(&mut row.registered, true)).await?;
        if !known {
            self.hub.emit(vec![Event::Registered]);
        }
        Ok(())
    }

    /// Changes the installation's row as it is stored now: another tab may have changed it.
    pub(super) async fn change_installation(
        &self,
        change: impl FnOnce(&mut InstallationRow),
    ) -> Result<(), Error> {
        let stored = load::row::<InstallationRow>(&*self.store, InstallationRow::KEY.to_vec()).await?;
        let mut row = stored.map_or_else(|| self.installation.borrow().clone(), |(row, _)| row);
        change(&mut row);
        let mut changes = Changes::default();
        changes.put(&row);
        changes.strict();
        self.store.apply(changes).await?;
        *self.installation.borrow_mut() = row;
        Ok(())
    }
}

/// Makes the installation; when another tab made one at the same moment, theirs is used.
async fn create(
    store: &dyn Store,
    platform: &SharedPlatform,
    identifier: &Identifier,
    inbox: InboxId,
) -> Result<InstallationRow, Error> {
    let (mut seed, mut database) = ([0; 32], [0; 16]);
    platform.random(&mut seed);
    platform.random(&mut database);
    let row = InstallationRow {
        inbox,
        installation: InstallationKeys::from_seed(seed).id(),
        seed,
        identifier: identifier.to_string(),
        registered: false,
        database,
        created_ns: platform.now(),
        revoked: false,
    };
    let mut changes = Changes::default();
    changes.insert(&row);
    changes.strict();
    match store.apply(changes).await {
        Ok(()) => Ok(row),
        Err(StoreError::Exists) => {
            let stored = load::all(&store.read(Client::first_reads()).await?)?.pop();
            stored.ok_or_else(|| Error::bug("an installation that exists and is not there"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Asks the wallet and finishes the update; `seed` as in [`Request::sign`].
pub(super) async fn signed(
    request: &Request,
    seed: Option<&[u8; 32]>,
    sign: &Sign,
) -> Result<IdentityUpdate, Error> {
    let signature = sign(request.text()).await.map_err(|why| {
        Error::new("client.signature", format!("the wallet did not sign ({why}); try again"))
    })?;
    request.sign(&signature, seed).map_err(refused)
}

pub(super) fn refused(error: IdentityError) -> Error {
    let code = match &error {
        IdentityError::TooManyInstallations(_) => "identity.limit",
        IdentityError::NotAWalletSignature(_) | IdentityError::WrongAccount(_) => "client.signature",
        _ => "identity.invalid",
    };
    Error::new(code, error.to_string())
}
