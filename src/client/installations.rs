//! Installations of an inbox: listed, revoked, and what follows when the own one was (IDENT-043,
//! IDENT-044).
//!
//! Reading and revoking need a delivery service and a wallet, no database: that is the way out for
//! an account whose inbox has its greatest number of installations ([`Logs::without_database`]).
//!
//! A revoked installation is out for good: its key may be in other hands, so it is never registered
//! again. Its client knows from the inbox's log as far as that was read here: with each sync, and
//! at once while it reads in the background. From then on it writes nothing
//! (`client.installation_revoked`); what is stored stays readable. The account comes back as a new
//! installation, with a client on another database.

use crate::base::Set;
use std::rc::Rc;

use crate::base::{InboxId, InstallationId, Nanos, Topic};
use crate::client::identity::Logs;
use crate::client::open::{Sign, refused, signed};
use crate::client::{Client, Inner};
use crate::delivery::{CheckedDelivery, Delivery, Outgoing};
use crate::engine::event::Event;
use crate::error::Error;
use crate::identity::{AssociationState, Identifier, IdentityUpdate, MemberId, Request};
use crate::mls::KeyPackageFacts;
use crate::store::MemoryStore;
use crate::wire::ClientEnvelope;

/// Whether an installation's newest key package can be used to add it to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPackageStatus {
    /// The installation.
    pub installation: InstallationId,
    /// When it expires (`None`: never), or why it cannot be used.
    pub usable: Result<Option<Nanos>, String>,
}

impl Logs {
    /// Identity logs of a service, kept in memory only.
    pub fn without_database(delivery: Rc<dyn Delivery>) -> Self {
        Self::new(Rc::new(MemoryStore::new()), Rc::new(CheckedDelivery::new(delivery)))
    }

    /// Whether each account has an inbox with an installation to write to.
    ///
    /// # Errors
    /// `delivery.*`; `identity.invalid` when an inbox's state cannot be known.
    pub async fn reachable(&self, accounts: &[Identifier]) -> Result<Vec<bool>, Error> {
        let inboxes = self.inboxes_of(accounts).await?;
        let found: Vec<InboxId> = inboxes.iter().flatten().copied().collect();
        let states = self.states(&found, false).await?;
        let lives =
            |inbox| states.iter().any(|state| state.inbox == inbox && !state.installations().is_empty());
        Ok(inboxes.into_iter().map(|inbox| inbox.is_some_and(lives)).collect())
    }

    /// Revokes installations of an inbox. `by` signs and must be the inbox's recovery account; `at`
    /// is the local clock.
    ///
    /// Those revoked before are passed over, so a call whose answer was lost is just repeated; with
    /// none left nothing is signed or published.
    ///
    /// # Errors
    /// `client.signature` when `by` is not the recovery account, or the wallet does not sign or signs
    /// with another; `identity.invalid` for an inbox that does not exist, or an installation that
    /// never was one of its; `delivery.*`.
    pub async fn revoke(
        &self,
        inbox: InboxId,
        installations: &Set<InstallationId>,
        by: &Identifier,
        at: Nanos,
        sign: &Sign,
    ) -> Result<(), Error> {
        if installations.is_empty() {
            return Ok(());
        }
        let Some((_, state)) = self.newest(inbox).await? else {
            return Err(Error::new(
                "identity.invalid",
                format!("the inbox {inbox} does not exist; check the id"),
            ));
        };
        let named = installations.iter().filter(|id| !self.has_lost(inbox, **id));
        let members: Vec<MemberId> = named.copied().map(MemberId::from).collect();
        if members.is_empty() {
            return Ok(());
        }
        let request = Request::revoke(&state, &members, at).map_err(refused)?;
        if request.signer() != by {
            return Err(Error::new(
                "client.signature",
                format!(
                    "only {} can revoke installations of this inbox; sign with that account",
                    request.signer()
                ),
            ));
        }
        let update = signed(&request, None, sign).await?;
        self.delivery.publish(vec![envelope(&update, Vec::new())]).await?;
        let state = self.newest(inbox).await?.map(|(_, state)| state);
        if state.is_some_and(|state| installations.iter().any(|id| state.has_installation(*id))) {
            return Err(not_accepted());
        }
        Ok(())
    }

    /// Whether an installation was revoked, as far as the inbox's log was read.
    pub(super) fn has_lost(&self, inbox: InboxId, installation: InstallationId) -> bool {
        self.loses(inbox, installation).unwrap_or_default()
    }

    /// The same; `None` while the log is not loaded.
    fn loses(&self, inbox: InboxId, installation: InstallationId) -> Option<bool> {
        self.known.borrow().get(&inbox).map(|log| log.has_lost(&installation.into()))
    }
}

/// An update on its inbox's topic, with the accounts it claims.
pub(super) fn envelope(update: &IdentityUpdate, identifiers: Vec<String>) -> Outgoing {
    Outgoing {
        topic: Topic::Identity(update.inbox),
        payload: ClientEnvelope::IdentityUpdate(update.encode()).encode(),
        identifiers,
    }
}

pub(super) fn not_accepted() -> Error {
    Error::new(
        "delivery.invalid",
        "the delivery service took the identity update and does not show it; try again",
    )
}

impl Client {
    /// The identity logs this client reads: states of inboxes, inboxes of accounts.
    ///
    /// # Errors
    /// `client.closed`.
    pub fn identity(&self) -> Result<&Logs, Error> {
        self.0.open()?;
        Ok(&self.0.identity)
    }

    /// The state of the own inbox; without `fetch` as far as it was read here, own changes included.
    ///
    /// # Errors
    /// `client.not_registered` while the inbox does not exist; `delivery.*` when it has to be fetched.
    pub async fn own_state(&self, fetch: bool) -> Result<AssociationState, Error> {
        let inbox = [self.inbox()];
        let mut states = self.identity()?.states(&inbox, fetch).await?;
        if states.is_empty() && !fetch {
            states = self.identity()?.states(&inbox, true).await?;
        }
        states.pop().ok_or_else(not_registered)
    }

    /// True once the own installation was revoked, as far as the inbox's log was read here.
    pub fn is_revoked(&self) -> bool {
        self.0.is_revoked()
    }

    /// Revokes installations of the own inbox, this one too if it is named. The account of this
    /// client signs.
    ///
    /// # Errors
    /// Those of [`Logs::revoke`].
    pub async fn revoke(&self, installations: &Set<InstallationId>, sign: &Sign) -> Result<(), Error> {
        let (account, now) = (self.0.account()?, self.0.platform.now());
        self.identity()?.revoke(self.inbox(), installations, &account, now, sign).await
    }

    /// Revokes every installation of the own inbox but this one.
    ///
    /// # Errors
    /// Those of [`Client::own_state`] and [`Logs::revoke`].
    pub async fn revoke_others(&self, sign: &Sign) -> Result<(), Error> {
        let mut others = self.own_state(true).await?.installations();
        others.remove(&self.installation());
        self.revoke(&others, sign).await
    }

    /// Whether the newest key package of each installation can be used now.
    ///
    /// # Errors
    /// `delivery.*`.
    pub async fn key_package_statuses(
        &self,
        installations: &[InstallationId],
    ) -> Result<Vec<KeyPackageStatus>, Error> {
        self.0.open()?;
        let newest = self.0.newest_packages(installations).await?;
        let status = |(installation, newest): (&InstallationId, Result<KeyPackageFacts, String>)| {
            KeyPackageStatus { installation: *installation, usable: newest.map(|facts| facts.expires) }
        };
        Ok(installations.iter().zip(newest).map(status).collect())
    }
}

impl Inner {
    /// What the log says, or what it said when it was last read.
    pub(super) fn is_revoked(&self) -> bool {
        let known = self.identity.loses(self.me.inbox, self.me.installation);
        known.unwrap_or_else(|| self.installation.borrow().revoked)
    }

    /// Tells listeners what happens to the installations of the own inbox (EVENT).
    pub(super) fn watch_own_inbox(self: &Rc<Self>) {
        let inner = Rc::downgrade(self);
        self.identity.watch(self.me.inbox, move |mut events| {
            if let Some(inner) = inner.upgrade() {
                inner.not_told_yet(&mut events);
                inner.hub.emit(events);
            }
        });
    }

    /// Leaves out what identity updates did that were told of here before: every client on the
    /// database reads the log for itself, and tells the others.
    pub(super) fn not_told_yet(&self, events: &mut Vec<Event>) {
        let (before, mut newest) = (self.announced.get(), self.announced.get());
        events.retain(|event| match event {
            Event::InstallationAdded { at, .. } | Event::InstallationRevoked { at, .. } => {
                newest = newest.max(*at);
                *at > before
            }
            _ => true,
        });
        self.announced.set(newest);
    }

    /// Writes down what the log says, so that opening need not replay it.
    pub(super) async fn note_revocation(&self) -> Result<(), Error> {
        let revoked = self.is_revoked();
        if self.installation.borrow().revoked == revoked {
            return Ok(());
        }
        self.change_installation(|row| row.revoked = revoked).await
    }

    /// Stands before everything this installation writes for others.
    ///
    /// # Errors
    /// `client.closed`, `client.installation_revoked`.
    pub(super) fn not_revoked(&self) -> Result<(), Error> {
        self.open()?;
        if self.is_revoked() {
            return Err(Error::new(
                "client.installation_revoked",
                "this installation was revoked; its history stays readable, and a client with another dbPath \
                 joins the inbox anew",
            ));
        }
        Ok(())
    }

    /// Stands before what needs an installation that others know.
    ///
    /// # Errors
    /// `client.not_registered`, and those of [`Inner::not_revoked`].
    pub(super) fn registered(&self) -> Result<(), Error> {
        self.not_revoked()?;
        if self.installation.borrow().registered { Ok(()) } else { Err(not_registered()) }
    }
}

fn not_registered() -> Error {
    Error::new("client.not_registered", "register this installation first: call register()")
}
