//! Identity logs: fetched once, kept, replayed to the exact state a decision names
//! (GMOD-013, GMOD-014, IDENT-070).

use crate::base::{Map, Set};
use std::cell::RefCell;
use std::rc::Rc;

use crate::base::{Gather as _, InboxId, InstallationId, SequenceId, Topic};
use crate::client::{Client, load};
use crate::delivery::{Delivery, Incoming};
use crate::engine::event::Event;
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
    pub(super) delivery: Rc<dyn Delivery>,
    pub(super) known: RefCell<Map<InboxId, Log>>,
    watched: RefCell<Option<(InboxId, Listener)>>,
}

/// Told what an update that was read did to an inbox's installations.
type Listener = Rc<dyn Fn(Vec<Event>)>;

impl Logs {
    /// No log read yet.
    pub fn new(store: Rc<dyn Store>, delivery: Rc<dyn Delivery>) -> Self {
        Self { store, delivery, known: RefCell::default(), watched: RefCell::default() }
    }

    /// Calls `listener` with what each update of an inbox that is read from now on does to its
    /// installations, once that is stored and readable.
    pub(super) fn watch(&self, inbox: InboxId, listener: impl Fn(Vec<Event>) + 'static) {
        *self.watched.borrow_mut() = Some((inbox, Rc::new(listener)));
    }

    /// States at exact positions, fetching what is missing.
    ///
    /// # Errors
    /// `delivery.*` when a log cannot be read: the caller's decision waits.
    pub async fn resolve(&self, needed: &Set<Reference>) -> Result<States, Error> {
        let mut wanted: Vec<(InboxId, SequenceId)> = Vec::new();
        for Reference { inbox, sequence_id } in needed {
            // References ascend, so the last of an inbox is its greatest.
            match wanted.last_mut() {
                Some((last, at)) if last == inbox => *at = *sequence_id,
                _ => wanted.push((*inbox, *sequence_id)),
            }
        }
        let logs = self.read(&wanted).await?;
        let mut states = States::default();
        for reference in needed {
            let state = find(&logs, reference.inbox).map(|log| log.state_at(reference.sequence_id));
            let resolution = match state.transpose().map_err(invalid)?.flatten() {
                Some(state) => Resolution::Installations(state.installations()),
                None => Resolution::Unpublished,
            };
            states.insert(*reference, resolution);
        }
        Ok(states)
    }

    /// Those of the states asked for that the logs read so far hold. Whatever a log does not hold is
    /// left out: a longer one may.
    pub fn recall(&self, needed: &Set<Reference>) -> States {
        let known = self.known.borrow();
        let mut states = States::default();
        for reference in needed {
            let state = known.get(&reference.inbox).map(|log| log.state_at(reference.sequence_id));
            if let Some(Ok(Some(state))) = state {
                states.insert(*reference, Resolution::Installations(state.installations()));
            }
        }
        states
    }

    /// The newest state of an inbox and its position; `None` when the inbox does not exist.
    pub async fn newest(&self, inbox: InboxId) -> Result<Option<(SequenceId, AssociationState)>, Error> {
        let logs = self.read_all(&[inbox]).await?;
        let Some(log) = logs.first() else { return Ok(None) };
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
    ) -> Result<Map<InboxId, (SequenceId, AssociationState)>, Error> {
        let mut states = Map::new();
        for log in self.read_all(inboxes).await? {
            if let Ok(Some(state)) = log.latest() {
                states.insert(log.inbox(), (log.head(), state.clone()));
            }
        }
        Ok(states)
    }

    /// The positions of the newest states of those inboxes whose log can be read in full now.
    ///
    /// # Errors
    /// `delivery.*` when the service cannot be reached at all; `store.*`.
    pub(super) async fn readable(&self, inboxes: &[InboxId]) -> Result<Map<InboxId, SequenceId>, Error> {
        let ends = self.ends(inboxes).await?;
        let wanted: Vec<_> = inboxes.iter().copied().zip(ends).collect();
        let (logs, withheld) = self.read_some(&wanted).await?;
        let readable = |log: &&Log| !withheld.contains(&log.inbox()) && matches!(log.latest(), Ok(Some(_)));
        Ok(logs.iter().filter(readable).map(|log| (log.inbox(), log.head())).gather())
    }

    /// The newest states of inboxes, in the order asked; `fetch` reads on, without it they are as
    /// far as they were read. Left out: an inbox that does not exist, and one whose state this
    /// version cannot know.
    ///
    /// # Errors
    /// `delivery.*` when fetching; `store.*`.
    pub async fn states(&self, inboxes: &[InboxId], fetch: bool) -> Result<Vec<AssociationState>, Error> {
        let logs = if fetch { self.read_all(inboxes).await? } else { self.so_far(inboxes).await? };
        let newest = |inbox: &InboxId| find(&logs, *inbox)?.latest().ok()?.cloned();
        Ok(inboxes.iter().filter_map(newest).collect())
    }

    /// The inbox each account belongs to, checked against the inboxes' own logs.
    ///
    /// # Errors
    /// `delivery.*`; `identity.invalid` when the state of a claiming inbox cannot be known.
    pub async fn inboxes_of(&self, accounts: &[Identifier]) -> Result<Vec<Option<InboxId>>, Error> {
        let claims = self.delivery.lookup(accounts.iter().map(Identifier::lookup_key).collect()).await?;
        let logs = self.read_all(&claims.concat()).await?;
        let mut found = Vec::with_capacity(accounts.len());
        for (account, claims) in accounts.iter().zip(claims) {
            let mut inbox = None;
            for log in claims.iter().filter_map(|claim| find(&logs, *claim)) {
                let state = log.latest().map_err(invalid)?;
                if state.is_some_and(|state| state.has_identifier(account)) {
                    inbox = Some(log.inbox());
                    break;
                }
            }
            found.push(inbox);
        }
        Ok(found)
    }

    /// Reads a log to its end.
    pub(super) async fn read_on(&self, inbox: InboxId) -> Result<(), Error> {
        let mut logs = self.so_far(&[inbox]).await?;
        let mut asked = vec![0];
        while !asked.is_empty() {
            asked = self.fetch(&mut logs, &asked).await?;
        }
        self.keep(&logs);
        Ok(())
    }

    fn keep(&self, logs: &[Log]) {
        let mut all = self.known.borrow_mut();
        for log in logs {
            // Another call may have read further meanwhile.
            if all.get(&log.inbox()).is_none_or(|known| known.head() <= log.head()) {
                all.insert(log.inbox(), log.clone());
            }
        }
    }

    /// Reads the logs of inboxes to their ends, each once.
    async fn read_all(&self, inboxes: &[InboxId]) -> Result<Vec<Log>, Error> {
        let inboxes: Set<InboxId> = inboxes.iter().copied().gather();
        let inboxes: Vec<InboxId> = inboxes.into_iter().collect();
        let ends = self.ends(&inboxes).await?;
        self.read(&inboxes.into_iter().zip(ends).collect::<Vec<_>>()).await
    }

    /// Reads logs, each named once, up to the positions wanted of them.
    async fn read(&self, wanted: &[(InboxId, SequenceId)]) -> Result<Vec<Log>, Error> {
        let (logs, withheld) = self.read_some(wanted).await?;
        if withheld.is_empty() {
            return Ok(logs);
        }
        Err(Error::new(
            "delivery.unavailable",
            "the delivery service did not answer in full; it is tried again when you sync",
        ))
    }

    /// The same, naming the inboxes whose log the service does not show in full.
    async fn read_some(&self, wanted: &[(InboxId, SequenceId)]) -> Result<(Vec<Log>, Set<InboxId>), Error> {
        let inboxes: Vec<InboxId> = wanted.iter().map(|(inbox, _)| *inbox).collect();
        let mut logs = self.so_far(&inboxes).await?;
        let mut asked: Vec<usize> = (0..logs.len()).collect();
        loop {
            asked.retain(|at| logs[*at].head() < wanted[*at].1);
            if asked.is_empty() {
                break;
            }
            asked = self.fetch(&mut logs, &asked).await?;
        }
        self.keep(&logs);
        // That a log ends is final for what is decided from it (GMOD-014, `dm.unknown_inbox`), so a
        // short answer alone does not say it.
        let short: Vec<&Log> = logs
            .iter()
            .zip(wanted)
            .filter(|(log, wanted)| log.head() < wanted.1)
            .map(|(log, _)| log)
            .collect();
        let ends = self.ends(&short.iter().map(|log| log.inbox()).collect::<Vec<_>>()).await?;
        let withheld = short.iter().zip(ends).filter(|(log, end)| log.head() < *end);
        let withheld = withheld.map(|(log, _)| log.inbox()).gather();
        Ok((logs, withheld))
    }

    /// The position of each inbox's newest update, in order; 0 when there is none.
    async fn ends(&self, inboxes: &[InboxId]) -> Result<Vec<SequenceId>, Error> {
        let mut ends = Vec::with_capacity(inboxes.len());
        for chunk in inboxes.chunks(TOPICS) {
            let answer = self.delivery.newest(chunk.iter().copied().map(Topic::Identity).collect()).await?;
            ends.extend(
                answer.iter().map(|newest| newest.as_ref().map_or(SequenceId(0), |it| it.sequence_id)),
            );
        }
        Ok(ends)
    }

    /// Logs as far as they were read, in order.
    async fn so_far(&self, inboxes: &[InboxId]) -> Result<Vec<Log>, Error> {
        let mut logs: Vec<Log> = inboxes
            .iter()
            .map(|inbox| self.known.borrow().get(inbox).cloned().unwrap_or_else(|| Log::new(*inbox)))
            .collect();
        let unread: Vec<&mut Log> = logs.iter_mut().filter(|log| log.is_empty()).collect();
        if unread.is_empty() {
            return Ok(logs);
        }
        let rows =
            |log: &&mut Log| Read::prefix(Table::Associations, &AssociationRow::inbox_prefix(log.inbox()));
        let answer = self.store.read(unread.iter().map(rows).collect()).await?;
        for (log, rows) in unread.into_iter().zip(answer) {
            for row in load::rows::<AssociationRow>(&rows)? {
                log.restore(row.sequence_id, &row.update, row.accepted).map_err(invalid)?;
            }
        }
        Ok(logs)
    }

    /// Reads the next page of the logs at these places, and keeps it; the places whose page was full.
    async fn fetch(&self, logs: &mut [Log], asked: &[usize]) -> Result<Vec<usize>, Error> {
        let (mut full, watched) = (Vec::new(), self.watched.borrow().clone());
        for chunk in asked.chunks(TOPICS) {
            let topics = chunk.iter().map(|at| (Topic::Identity(logs[*at].inbox()), logs[*at].head()));
            let answer = self.delivery.query(topics.collect(), PAGE).await?;
            let mut pages: Map<Topic, Vec<Incoming>> = Map::new();
            for envelope in answer {
                pages.entry(envelope.topic).or_default().push(envelope);
            }
            let (mut changes, mut events) = (Changes::default(), Vec::new());
            for at in chunk {
                let log = &mut logs[*at];
                let inbox = log.inbox();
                let mut count = 0;
                for envelope in pages.remove(&Topic::Identity(inbox)).unwrap_or_default() {
                    let (sequence_id, update) = (envelope.sequence_id, update_bytes(envelope));
                    let before =
                        watched.as_ref().filter(|(own, _)| *own == inbox).map(|_| installations(log));
                    let accepted = log.push(sequence_id, &update).map_err(invalid)? == Verdict::Accepted;
                    if let Some(before) = before.filter(|_| accepted) {
                        events.extend(differences(&before, &installations(log), sequence_id));
                    }
                    changes.put(&AssociationRow { inbox, sequence_id, update, accepted });
                    count += 1;
                }
                if count >= PAGE {
                    full.push(*at);
                }
            }
            if !changes.is_empty() {
                self.store.apply(changes).await?;
            }
            if let Some((_, tell)) = watched.as_ref().filter(|_| !events.is_empty()) {
                self.keep(logs);
                tell(events);
            }
        }
        Ok(full)
    }
}

/// The installations of an inbox, as far as its log was read.
fn installations(log: &Log) -> Set<InstallationId> {
    log.latest().ok().flatten().map(AssociationState::installations).unwrap_or_default()
}

fn differences(before: &Set<InstallationId>, after: &Set<InstallationId>, at: SequenceId) -> Vec<Event> {
    let added = after.difference(before).map(|id| Event::InstallationAdded { installation: *id, at });
    let revoked = before.difference(after).map(|id| Event::InstallationRevoked { installation: *id, at });
    added.chain(revoked).collect()
}

/// The log of an inbox, in logs as [`Logs::read`] gives them: mostly ascending by inbox.
fn find(logs: &[Log], inbox: InboxId) -> Option<&Log> {
    let found = logs.binary_search_by_key(&inbox, Log::inbox).ok().and_then(|at| logs.get(at));
    found.or_else(|| logs.iter().find(|log| log.inbox() == inbox))
}

fn invalid(error: IdentityError) -> Error {
    Error::new("identity.invalid", error.to_string())
}

/// The update in an envelope; bytes that are none stay as they are and are refused by the replay.
fn update_bytes(envelope: Incoming) -> Vec<u8> {
    match ClientEnvelope::decode(&envelope.payload) {
        Ok(ClientEnvelope::IdentityUpdate(update)) => update,
        _ => envelope.payload,
    }
}

impl Client {
    /// The inbox an account belongs to; `None` when nobody registered it.
    pub async fn inbox_of(&self, identifier: &Identifier) -> Result<Option<InboxId>, Error> {
        Ok(self.identity()?.inboxes_of(std::slice::from_ref(identifier)).await?.pop().flatten())
    }

    /// The newest identity state of an inbox, fetched.
    pub async fn inbox_state(&self, inbox: InboxId) -> Result<Option<AssociationState>, Error> {
        Ok(self.identity()?.newest(inbox).await?.map(|(_, state)| state))
    }
}
