//! Identity logs: fetched once, kept, replayed to the exact state a decision names
//! (GMOD-013, GMOD-014, IDENT-070).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::base::{Gather as _, InboxId, SequenceId, Topic};
use crate::client::{Client, load};
use crate::delivery::{Delivery, Incoming};
use crate::error::Error;
use crate::identity::{AssociationState, Identifier, IdentityError, Log, Verdict};
use crate::members::{Reference, Resolution, States};
use crate::store::rows::AssociationRow;
use crate::store::{Changes, Read, Store, Table};
use crate::wire::ClientEnvelope;

/// Updates of one log in one query.
const PAGE: u32 = 256;
/// Topics of one question.
const TOPICS: usize = 500;

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
        let mut wanted = BTreeMap::new();
        for reference in needed {
            // References ascend, so the last of an inbox is its greatest.
            wanted.insert(reference.inbox, reference.sequence_id);
        }
        let logs = self.read(&wanted).await?;
        let mut states = States::default();
        for reference in needed {
            let state = logs.get(&reference.inbox).map(|log| log.state_at(reference.sequence_id));
            let resolution = match state.transpose().map_err(invalid)?.flatten() {
                Some(state) => Resolution::Installations(state.installations()),
                None => Resolution::Unpublished,
            };
            states.insert(*reference, resolution);
        }
        Ok(states)
    }

    /// The newest state of an inbox and its position; `None` when the inbox does not exist.
    pub async fn newest(&self, inbox: InboxId) -> Result<Option<(SequenceId, AssociationState)>, Error> {
        let logs = self.read(&self.ends(&[inbox]).await?).await?;
        let Some(log) = logs.get(&inbox) else { return Ok(None) };
        Ok(log.latest().map_err(invalid)?.map(|state| (log.head(), state.clone())))
    }

    /// The newest states of many inboxes and their positions, asked for together; only logs that
    /// moved are read on. An inbox that does not exist is left out, and so is one whose state this
    /// version cannot know.
    ///
    /// # Errors
    /// `delivery.*` when a log cannot be read.
    pub(super) async fn newest_states(
        &self,
        inboxes: &[InboxId],
    ) -> Result<BTreeMap<InboxId, (SequenceId, AssociationState)>, Error> {
        let logs = self.read(&self.ends(inboxes).await?).await?;
        let mut states = BTreeMap::new();
        for (inbox, log) in logs {
            if let Ok(Some(state)) = log.latest() {
                states.insert(inbox, (log.head(), state.clone()));
            }
        }
        Ok(states)
    }

    /// The newest state of an inbox as far as its log was read, without reading on.
    pub async fn kept(&self, inbox: InboxId) -> Result<Option<AssociationState>, Error> {
        let logs = self.so_far(&[inbox]).await?;
        Ok(logs.get(&inbox).map(Log::latest).transpose().map_err(invalid)?.flatten().cloned())
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

    /// Reads logs up to the positions wanted of them.
    async fn read(&self, wanted: &BTreeMap<InboxId, SequenceId>) -> Result<BTreeMap<InboxId, Log>, Error> {
        let inboxes: Vec<InboxId> = wanted.keys().copied().collect();
        let mut logs = self.so_far(&inboxes).await?;
        let behind = |log: &Log| wanted.get(&log.inbox()).is_some_and(|wanted| log.head() < *wanted);
        let mut asked: BTreeSet<InboxId> = logs.values().filter(|log| behind(log)).map(Log::inbox).gather();
        while !asked.is_empty() {
            let full = self.fetch(&mut logs, &asked).await?;
            asked.retain(|inbox| full.contains(inbox) && logs.get(inbox).is_some_and(behind));
        }
        {
            let mut all = self.known.borrow_mut();
            for (inbox, log) in &logs {
                // Another call may have read further meanwhile.
                if all.get(inbox).is_none_or(|known| known.head() <= log.head()) {
                    all.insert(*inbox, log.clone());
                }
            }
        }
        // That a log ends is final for what is decided from it (GMOD-014, `dm.unknown_inbox`), so a
        // short answer alone does not say it.
        let short: Vec<InboxId> = logs.values().filter(|log| behind(log)).map(Log::inbox).collect();
        let ends = self.ends(&short).await?;
        if short.iter().any(|inbox| logs.get(inbox).map(Log::head) < ends.get(inbox).copied()) {
            return Err(Error::new(
                "delivery.unavailable",
                "the delivery service did not answer in full; it is tried again when you sync",
            ));
        }
        Ok(logs)
    }

    /// The position of each inbox's newest update; 0 when there is none.
    async fn ends(&self, inboxes: &[InboxId]) -> Result<BTreeMap<InboxId, SequenceId>, Error> {
        let mut ends = BTreeMap::new();
        for chunk in inboxes.chunks(TOPICS) {
            let answer = self.delivery.newest(chunk.iter().copied().map(Topic::Identity).collect()).await?;
            let end = |newest: Option<Incoming>| newest.map_or(SequenceId(0), |newest| newest.sequence_id);
            ends.extend(chunk.iter().copied().zip(answer.into_iter().map(end)));
        }
        Ok(ends)
    }

    /// Logs as far as they were read.
    async fn so_far(&self, inboxes: &[InboxId]) -> Result<BTreeMap<InboxId, Log>, Error> {
        let mut logs = BTreeMap::new();
        let mut unread = Vec::new();
        for inbox in inboxes {
            match self.known.borrow().get(inbox) {
                Some(log) => _ = logs.insert(*inbox, log.clone()),
                None => unread.push(*inbox),
            }
        }
        if unread.is_empty() {
            return Ok(logs);
        }
        let of = |inbox: &InboxId| Read::prefix(Table::Associations, &AssociationRow::inbox_prefix(*inbox));
        let answer = self.store.read(unread.iter().map(of).collect()).await?;
        for (inbox, rows) in unread.into_iter().zip(answer) {
            let updates =
                load::rows::<AssociationRow>(&rows)?.into_iter().map(|row| (row.sequence_id, row.update));
            logs.insert(inbox, Log::replay(inbox, updates).map_err(invalid)?);
        }
        Ok(logs)
    }

    /// Reads the next page of each log asked for, and keeps it; those whose page was full.
    async fn fetch(
        &self,
        logs: &mut BTreeMap<InboxId, Log>,
        asked: &BTreeSet<InboxId>,
    ) -> Result<BTreeSet<InboxId>, Error> {
        let head = |inbox: &InboxId| logs.get(inbox).map_or(SequenceId(0), Log::head);
        let topics: Vec<(Topic, SequenceId)> =
            asked.iter().map(|inbox| (Topic::Identity(*inbox), head(inbox))).collect();
        let mut full = BTreeSet::new();
        let mut counts: BTreeMap<InboxId, u32> = BTreeMap::new();
        for chunk in topics.chunks(TOPICS) {
            let answer = self.delivery.query(chunk.to_vec(), PAGE).await?;
            let mut changes = Changes::default();
            for envelope in &answer {
                let Topic::Identity(inbox) = envelope.topic else { continue };
                let Some(log) = logs.get_mut(&inbox) else { continue };
                let update = update_bytes(envelope);
                let verdict = log.push(envelope.sequence_id, &update).map_err(invalid)?;
                let (sequence_id, accepted) = (envelope.sequence_id, verdict == Verdict::Accepted);
                changes.put(&AssociationRow { inbox, sequence_id, update, accepted });
                let count = counts.entry(inbox).or_default();
                *count += 1;
                if *count == PAGE {
                    full.insert(inbox);
                }
            }
            if !changes.is_empty() {
                self.store.apply(changes).await?;
            }
        }
        Ok(full)
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

    /// The newest identity states of inboxes, fetched; those that do not exist are left out, and
    /// so are those whose state this version cannot know.
    pub async fn inbox_states(
        &self,
        inboxes: &[InboxId],
    ) -> Result<BTreeMap<InboxId, AssociationState>, Error> {
        self.0.open()?;
        let found = self.0.identity.newest_states(inboxes).await?;
        Ok(found.into_iter().map(|(inbox, (_, state))| (inbox, state)).gather())
    }
}
