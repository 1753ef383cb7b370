//! The durable stream of a database: every deliverable message once, in order, going on behind what
//! an app has acknowledged, across reloads and kills (PROC-026, PROC-028, PROC-031, PROC-047).
//!
//! Asking for the next message acknowledges the one before. That is written, durably, before
//! another is handed out, so a kill repeats at most the one message an app was busy with.
//!
//! One reader at a time has it. Beginning one takes it from whoever had it: the row both write is
//! checked by revision, so the one before can hand out and write nothing more and ends with
//! `stream.owned`. Where there are locks, the bindings do not even begin one while another lives.
//!
//! How far it got is one number for all groups, as long as its scope leaves nothing out; a stream
//! of a narrower scope notes it by group, so that the others keep their backlog. When one of those
//! comes into scope, its backlog comes first: the stream goes back to where that begins.

use crate::base::{Map, Set};
use std::cell::{Cell, RefCell};

use crate::base::{Gather as _, GroupId, ThreadId};
use crate::client::reader::{Reader, owned};
use crate::client::{Client, Inner, load};
use crate::engine::reader::{Selection, Turn};
use crate::error::Error;
use crate::store::rows::{ConsumedRow, ConsumerRow, CountersRow, MessageRow, Row, ThreadRow};
use crate::store::{Changes, Index, Read, Record, StoreError, Table, after_prefix};

/// How often a claim is repeated because others claim at the same moment.
const CLAIMS: usize = 16;

/// The reader of the durable stream.
pub struct Consumer {
    reader: Reader,
    /// The revision of the row that says it is ours.
    revision: Cell<u64>,
    /// What of all groups is acknowledged.
    all: Cell<u64>,
    /// What of single groups is acknowledged beyond that.
    places: RefCell<Map<GroupId, u64>>,
    /// In scope, not wanted, and not written down yet.
    passed_over: RefCell<Map<GroupId, u64>>,
    /// Conversations outside of the scope, which may have messages that the position is behind.
    outside: RefCell<Set<ThreadId>>,
    /// Handed out and not acknowledged.
    in_hand: Cell<Option<(GroupId, u64)>>,
}

impl Client {
    /// Begins to read the durable stream where it was left, and takes it from whoever had it. The
    /// first one begins with the oldest message there is.
    ///
    /// # Errors
    /// `stream.owned` when others take it at the same moment; `client.closed`, `store.*`.
    pub async fn consume(&self, selection: Selection) -> Result<Consumer, Error> {
        self.0.open()?;
        let reader = Reader::new(self, selection);
        let (all, revision, places) = self.0.claim().await?;
        reader.claim.set(Some(revision));
        let consumer = Consumer {
            reader,
            revision: Cell::new(revision),
            all: Cell::new(all),
            places: RefCell::new(places),
            passed_over: RefCell::default(),
            outside: RefCell::default(),
            in_hand: Cell::default(),
        };
        consumer.begin().await?;
        Ok(consumer)
    }
}

impl Inner {
    /// Makes the durable stream ours; what is acknowledged of all groups, the revision that says it
    /// is ours, and what of single groups is acknowledged beyond.
    async fn claim(&self) -> Result<(u64, u64, Map<GroupId, u64>), Error> {
        for _ in 0..CLAIMS {
            let answers = self.store.read(vec![Read::prefix(Table::Consumers, &[])]).await?;
            let records = answers.first().map_or(&[][..], Vec::as_slice);
            let (all, single): (Vec<Record>, Vec<Record>) =
                records.iter().cloned().partition(|record| record.key == ConsumedRow::KEY);
            let row = load::rows::<ConsumedRow>(&all)?.pop().unwrap_or_default();
            let revision = all.first().map_or(0, |record| record.revision);
            let mut changes = Changes::default();
            changes.put_checked(&row, revision);
            changes.strict();
            let mut places = load::rows::<ConsumerRow>(&single)?;
            for past in places.extract_if(.., |place| place.acknowledged <= row.acknowledged) {
                changes.delete(Table::Consumers, past.key());
            }
            match self.store.apply(changes).await {
                Ok(()) => {
                    let places = places.iter().map(|place| (place.group, place.acknowledged)).gather();
                    return Ok((row.acknowledged, revision + 1, places));
                }
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(owned())
    }
}

impl Consumer {
    /// Acknowledges the message handed out before, and waits for the next one; `None` once it has
    /// ended.
    ///
    /// # Errors
    /// `stream.owned` once another reader took the stream; `client.closed`, `store.*`. The message
    /// handed out last is then not acknowledged: it comes again, here or from the next reader.
    pub async fn next(&self) -> Result<Option<MessageRow>, Error> {
        if self.reader.has_ended() {
            return Ok(None);
        }
        self.acknowledge().await?;
        while !self.reader.has_ended() {
            if self.reader.take_consent_news() && self.reader.selection.scope_states.is_some() {
                self.write(false).await?;
                self.begin().await?;
            }
            match self.reader.next().await? {
                None => {
                    self.write(false).await?;
                    self.reader.wait().await;
                }
                Some((row, turn)) => {
                    if self.comes_in(row.thread, turn) {
                        self.write(false).await?;
                        self.begin().await?;
                    } else if let Some(row) = self.take(row, turn) {
                        return Ok(Some(row));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Writes down that the message handed out last was dealt with.
    ///
    /// # Errors
    /// Those of [`Consumer::next`].
    pub async fn acknowledge(&self) -> Result<(), Error> {
        if let Some((group, number)) = self.in_hand.get() {
            self.passed_over.borrow_mut().insert(group, number);
            self.write(true).await?;
            self.in_hand.set(None);
        }
        Ok(())
    }

    /// Ends it: who waits for a message is told so. What is in hand can still be acknowledged.
    pub fn end(&self) {
        self.reader.end();
    }

    /// Whether a conversation met outside of the scope is in it now, told or not: what it has behind
    /// the position comes before this message.
    fn comes_in(&self, thread: ThreadId, turn: Turn) -> bool {
        let mut outside = self.outside.borrow_mut();
        match turn {
            Turn::Outside => {
                outside.insert(thread);
                false
            }
            _ => outside.remove(&thread),
        }
    }

    /// The message, if it is to be handed out now.
    fn take(&self, row: MessageRow, turn: Turn) -> Option<MessageRow> {
        let number = row.delivery.unwrap_or_default();
        let place = self.places.borrow().get(&row.group).copied().unwrap_or_default();
        // Another reader of a narrower scope had it.
        if number <= place.max(self.all.get()) {
            return None;
        }
        match turn {
            Turn::Outside => None,
            Turn::PassedOver => {
                self.passed_over.borrow_mut().insert(row.group, number);
                None
            }
            Turn::Handed => {
                self.in_hand.set(Some((row.group, number)));
                Some(row)
            }
        }
    }

    /// Writes down what had its turn, while the stream is still ours.
    async fn write(&self, strict: bool) -> Result<(), Error> {
        let (mut changes, whole) = (Changes::default(), self.reader.selection.is_whole());
        let position = self.reader.position();
        let passed = std::mem::take(&mut *self.passed_over.borrow_mut());
        if whole && position > self.all.get() {
            changes.put_checked(&ConsumedRow { acknowledged: position }, self.revision.get());
        } else if !whole && !passed.is_empty() {
            changes.check(Table::Consumers, ConsumedRow::KEY.to_vec(), self.revision.get());
            for (group, number) in &passed {
                changes.put(&ConsumerRow { group: *group, acknowledged: *number });
            }
        } else {
            return Ok(());
        }
        if strict {
            changes.strict();
        }
        match self.reader.client.0.store.apply(changes).await {
            Ok(()) => {}
            Err(error) => {
                self.passed_over.borrow_mut().extend(passed);
                return Err(if error == StoreError::Stale { owned() } else { error.into() });
            }
        }
        if whole {
            self.all.set(position);
            self.revision.set(self.revision.get() + 1);
            self.reader.claim.set(Some(self.revision.get()));
        } else {
            self.places.borrow_mut().extend(passed);
        }
        Ok(())
    }

    /// Goes to where the first message of the scope is that was not acknowledged.
    async fn begin(&self) -> Result<(), Error> {
        if self.reader.selection.is_whole() {
            self.reader.seek(self.all.get());
            return Ok(());
        }
        let store = &self.reader.client.0.store;
        let threads = match &self.reader.selection.threads {
            None => vec![Read::prefix(Table::Threads, &[])],
            Some(named) => named.iter().map(|id| Read::Key(Table::Threads, id.to_key())).collect(),
        };
        let mut threads = load::all::<ThreadRow>(&store.read(threads).await?)?;
        let outside = threads.extract_if(.., |thread| !self.reader.selection.covers(thread));
        self.outside.replace(outside.map(|thread| thread.id).gather());
        let mut reads = vec![Read::Key(CountersRow::TABLE, CountersRow::KEY.to_vec())];
        reads.extend(threads.iter().flat_map(|thread| self.first_due(thread)));
        let answers = store.read(reads).await?;
        let (counters, firsts) = answers.split_first().ok_or_else(|| Error::bug("no answer"))?;
        let last = load::rows::<CountersRow>(counters)?.first().map_or(0, |counters| counters.delivery);
        let firsts = load::all::<MessageRow>(firsts)?;
        let first = firsts.iter().filter_map(|row| row.delivery).min();
        self.reader.seek(first.map_or(last, |first| first - 1));
        Ok(())
    }

    /// The reads of a thread's first message that was not acknowledged. The groups of one are in
    /// scope together, so what is acknowledged of any is acknowledged of all.
    fn first_due(&self, thread: &ThreadRow) -> [Read; 2] {
        let places = self.places.borrow();
        let places = thread.groups.iter().filter_map(|entry| places.get(&entry.group));
        let done = places.copied().max().unwrap_or_default().max(self.all.get());
        [false, true].map(|silent| {
            let prefix = MessageRow::listed(thread.id, silent);
            Read::Range {
                table: Table::Messages,
                index: Some(Index::ThreadDelivery),
                from: Some([prefix.as_slice(), &(done + 1).to_be_bytes()].concat()),
                to: after_prefix(&prefix),
                descending: false,
                limit: Some(1),
            }
        })
    }
}
