//! Identity logs: fetched once, kept, replayed to the exact state a decision names
//! (GMOD-013, GMOD-014, IDENT-070).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::base::{InboxId, SequenceId, Topic};
use crate::client::{Client, load};
use crate::delivery::{Delivery, Incoming};
use crate::error::Error;
use crate::identity::{AssociationState, Identifier, IdentityError, Log, Verdict};
use crate::members::{Reference, Resolution, States};
use crate::store::rows::AssociationRow;
use crate::store::{Changes, Read, Store, Table};
use crate::wire::ClientEnvelope;

/// Updates of one query.
const PAGE: u32 = 256;

/// All logs read so far.
pub struct Logs {
    store: Rc<dyn Store>,
    delivery: Rc<dyn Delivery>,
    known: RefCell<BTreeMap<InboxId, Log>>,
}

impl Logs {
    /// No log read yet.
    pub fn new(store: Rc<dyn Store>, delivery: Rc<dyn Delivery>) -> Self {
        Self { store, delivery, known: RefCell::default() }
    }

    /// States at exact positions, fetching what is missing.
    ///
    /// # Errors
    /// `delivery.*` when a log cannot be read: the caller's decision waits.
    pub async fn resolve(&self, needed: &BTreeSet<Reference>) -> Result<States, Error> {
        let mut states = States::default();
        for reference in needed {
            let log = self.read(reference.inbox, Some(reference.sequence_id)).await?;
            let resolution = match log.state_at(reference.sequence_id).map_err(invalid)? {
                Some(state) => Resolution::Installations(state.installations()),
                None => Resolution::Unpublished,
            };
            states.insert(*reference, resolution);
        }
        Ok(states)
    }

    /// The newest state of an inbox and its position; `None` when the inbox does not exist.
    pub async fn newest(&self, inbox: InboxId) -> Result<Option<(SequenceId, AssociationState)>, Error> {
        let log = self.read(inbox, None).await?;
        Ok(log.latest().map_err(invalid)?.map(|state| (log.head(), state.clone())))
    }

    /// The newest state of an inbox as far as its log was read, without reading on.
    pub async fn kept(&self, inbox: InboxId) -> Result<Option<AssociationState>, Error> {
        let known = self.known.borrow().get(&inbox).cloned();
        let log = match known {
            Some(log) => log,
            None => self.stored(inbox).await?,
        };
        Ok(log.latest().map_err(invalid)?.cloned())
    }

    /// The inbox an account belongs to, checked against the inbox's own log.
    pub async fn inbox_of(&self, identifier: &Identifier) -> Result<Option<InboxId>, Error> {
        let mut claims = self.delivery.lookup(vec![identifier.lookup_key()]).await?;
        for inbox in claims.pop().unwrap_or_default() {
            if self.newest(inbox).await?.is_some_and(|(_, state)| state.has_identifier(identifier)) {
                return Ok(Some(inbox));
            }
        }
        Ok(None)
    }

    /// Reads a log up to `through`, or to its end.
    async fn read(&self, inbox: InboxId, through: Option<SequenceId>) -> Result<Log, Error> {
        let known = self.known.borrow().get(&inbox).cloned();
        let mut log = match known {
            Some(log) => log,
            None => self.stored(inbox).await?,
        };
        let wanted = match through {
            Some(through) => through,
            None => self.end(inbox).await?,
        };
        while log.head() < wanted {
            if self.fetch(&mut log).await? < PAGE as usize {
                break;
            }
        }
        // That a log ends is final for what is decided from it (GMOD-014, `dm.unknown_inbox`), so a
        // short answer alone does not say it.
        if log.head() < wanted && self.end(inbox).await? > log.head() {
            return Err(Error::new(
                "delivery.unavailable",
                "the delivery service did not answer in full; it is tried again when you sync",
            ));
        }
        let mut all = self.known.borrow_mut();
        // Another call may have read further meanwhile.
        if all.get(&inbox).is_none_or(|known| known.head() <= log.head()) {
            all.insert(inbox, log.clone());
        }
        Ok(log)
    }

    /// The position of an inbox's newest update; 0 when there is none.
    async fn end(&self, inbox: InboxId) -> Result<SequenceId, Error> {
        let answer = self.delivery.newest(vec![Topic::Identity(inbox)]).await?;
        Ok(answer.into_iter().flatten().map(|newest| newest.sequence_id).next().unwrap_or_default())
    }

    async fn stored(&self, inbox: InboxId) -> Result<Log, Error> {
        let read = Read::prefix(Table::Associations, &AssociationRow::inbox_prefix(inbox));
        let answer = self.store.read(vec![read]).await?;
        let rows = load::rows::<AssociationRow>(answer.first().map_or(&[], Vec::as_slice))?;
        Log::replay(inbox, rows.into_iter().map(|row| (row.sequence_id, row.update))).map_err(invalid)
    }

    async fn fetch(&self, log: &mut Log) -> Result<usize, Error> {
        let inbox = log.inbox();
        let asked = [(Topic::Identity(inbox), log.head())];
        let answer = self.delivery.query(asked.to_vec(), PAGE).await?;
        let mut changes = Changes::default();
        for envelope in &answer {
            let update = update_bytes(envelope);
            let verdict = log.push(envelope.sequence_id, &update).map_err(invalid)?;
            let (sequence_id, accepted) = (envelope.sequence_id, verdict == Verdict::Accepted);
            changes.put(&AssociationRow { inbox, sequence_id, update, accepted });
        }
        if !changes.is_empty() {
            self.store.apply(changes).await?;
        }
        Ok(answer.len())
    }
}

fn invalid(error: IdentityError) -> Error {
    Error::new("identity.invalid", error.to_string())
}

/// The update in an envelope; bytes that are none stay as they are and are refused by the replay.
fn update_bytes(envelope: &Incoming) -> Vec<u8> {
    match ClientEnvelope::decode(&envelope.payload) {
        Ok(ClientEnvelope::IdentityUpdate(update)) => update,
        _ => envelope.payload.clone(),
    }
}

impl Client {
    /// The inbox an account belongs to; `None` when nobody registered it.
    pub async fn inbox_of(&self, identifier: &Identifier) -> Result<Option<InboxId>, Error> {
        self.0.open()?;
        self.0.identity.inbox_of(identifier).await
    }

    /// The newest identity state of an inbox, fetched.
    pub async fn inbox_state(&self, inbox: InboxId) -> Result<Option<AssociationState>, Error> {
        self.0.open()?;
        Ok(self.0.identity.newest(inbox).await?.map(|(_, state)| state))
    }
}
