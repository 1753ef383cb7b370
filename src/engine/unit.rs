//! One step's write-set, clock reading and events: what every verb fills and the client commits.

use crate::base::{GroupId, MessageId, Nanos};
use crate::consent::{Entity, Record, state_of};
use crate::engine::event::Event;
use crate::error::Error;
use crate::store::rows::{AnnotationRow, ConsentRow, CountersRow, LeftOut, MessageRow, OwedDecisionRow, Row};
use crate::store::{Changes, Table, Write};

/// An operation that has come to its end, for whoever waits for it.
pub struct Ended {
    /// The group and the intent's number.
    pub intent: (GroupId, u64),
    /// Done, with whom it could not bring in; or why it never will be.
    pub result: Result<LeftOut, Error>,
}

/// A step in the making.
pub struct Unit {
    /// The local clock when the step began.
    pub now: Nanos,
    /// Everything it writes.
    pub changes: Changes,
    /// Told after the commit.
    pub events: Vec<Event>,
    /// Operations that end with it.
    pub ended: Vec<Ended>,
    /// Messages that were edited or taken back: looked at before the step commits.
    pub judged: Vec<MessageId>,
    /// Transcripts it stores: looked up before the step commits, because an archive may have been first.
    pub transcripts: Vec<MessageId>,
    /// Consent records of other own devices met in it, to be merged before it is committed.
    pub received: Vec<Record>,
    /// It makes decisions the own devices are to be told of.
    pub owes: bool,
    counters: CountersRow,
    counters_revision: u64,
    counters_used: bool,
    ticks: i64,
}

impl Unit {
    /// An empty step over the database-wide counters as loaded.
    pub fn new(now: Nanos, counters: CountersRow, counters_revision: u64) -> Self {
        Self {
            now,
            changes: Changes::default(),
            events: Vec::new(),
            ended: Vec::new(),
            judged: Vec::new(),
            transcripts: Vec::new(),
            received: Vec::new(),
            owes: false,
            counters,
            counters_revision,
            counters_used: false,
            ticks: 0,
        }
    }

    /// A local time of its own: the step's clock reading, one nanosecond later at each call.
    pub fn tick(&mut self) -> Nanos {
        self.ticks += 1;
        Nanos(self.now.0.saturating_add(self.ticks - 1))
    }

    /// The last local time this step gave out.
    pub fn last_tick(&self) -> Nanos {
        Nanos(self.now.0.saturating_add((self.ticks - 1).max(0)))
    }

    /// The next database-wide delivery number (PROC-024).
    pub fn next_delivery(&mut self) -> u64 {
        self.counters_used = true;
        self.counters.delivery += 1;
        self.counters.delivery
    }

    /// Lets no other unit that does the same, or makes a message deliverable, commit in between.
    pub fn alone(&mut self) {
        self.counters_used = true;
    }

    /// Stores a consent record and announces a changed state (EVENT: only when the state changed).
    pub fn put_consent(&mut self, stored: Option<&Record>, record: Record) {
        self.changes.put(&ConsentRow(record));
        if state_of(stored) != record.state {
            self.announce_consent(record.entity, record.state);
        }
    }

    /// Like [`Unit::put_consent`], for a record that no thread's revision guards.
    pub fn put_consent_checked(&mut self, stored: Option<&Record>, record: Record, revision: u64) {
        self.changes.put_checked(&ConsentRow(record), revision);
        if state_of(stored) != record.state {
            self.announce_consent(record.entity, record.state);
        }
    }

    /// Notes a decision made here: the own devices are to be told of it (SYNC).
    pub fn owe(&mut self, record: Record) {
        self.changes.put(&OwedDecisionRow(record));
        // Their revision is that of all owed decisions: whoever takes some away finds out about
        // another tab's newer ones.
        (self.counters_used, self.owes) = (true, true);
    }

    /// Takes an owed decision away, because it is told.
    pub fn settle_owed(&mut self, record: &Record) {
        self.changes.delete(Table::Preferences, record.entity.to_key());
        self.counters_used = true;
    }

    /// Takes all of them away, because everything stored here is going to be told.
    pub fn settle_all_owed(&mut self) {
        let [from, to] = OwedDecisionRow::KEYS.map(<[u8]>::to_vec);
        self.changes.writes.push(Write::DeleteRange { table: Table::Preferences, from, to });
        self.counters_used = true;
    }

    fn announce_consent(&mut self, entity: Entity, state: crate::consent::State) {
        self.events.push(Event::Consent { entity, state });
    }

    /// A message as this step stores it.
    pub fn stored(&self, id: MessageId) -> Option<MessageRow> {
        self.changes.writes.iter().rev().find_map(|write| match write {
            Write::Put { table: Table::Messages, key, body, .. } if key == id.as_bytes() => {
                MessageRow::decode(body).ok()
            }
            _ => None,
        })
    }

    /// What this step stores about a message.
    pub fn annotations(&self, target: MessageId) -> Vec<AnnotationRow> {
        let prefix = AnnotationRow::about(target);
        let about = |write: &Write| match write {
            Write::Put { table: Table::Annotations, key, body, .. } if key.starts_with(&prefix) => {
                AnnotationRow::decode(body).ok()
            }
            _ => None,
        };
        self.changes.writes.iter().filter_map(about).collect()
    }

    /// Closes the step: what to write, what to tell, and the counters as they then are.
    pub fn finish(mut self) -> (Changes, Vec<Event>, (CountersRow, u64)) {
        if self.counters_used {
            self.changes.put_checked(&self.counters, self.counters_revision);
            self.counters_revision += 1;
        }
        (self.changes, self.events, (self.counters, self.counters_revision))
    }
}
