//! Looks into a database: everything it holds, and whether its rows agree with each other.

use std::collections::{BTreeMap, BTreeSet};

use dovetail::base::{GroupId, MessageId, Nanos, ThreadId};
use dovetail::consent::{Entity, Record as ConsentRecord, greatest, state_of};
use dovetail::dm::thread::fold;
use dovetail::dm::{Candidate, winner};
use dovetail::mls::{Group, Scratch};
use dovetail::store::rows::{
    AttemptRow, ConsentRow, CountersRow, GroupKind, GroupRow, GroupState, IntentRow, IntentState, ListingRow,
    MessageRow, MessageStatus, MlsPageRow, Operation, PositionRow, Row, ThreadGroup, ThreadRow,
};
use dovetail::store::{MemoryStore, Read, Record, Store, Table};
use futures::FutureExt;

/// Every row of a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Dump(pub BTreeMap<(Table, Vec<u8>), Record>);

impl Dump {
    pub fn of(store: &MemoryStore) -> Self {
        let reads = Table::ALL.iter().map(|table| Read::prefix(*table, &[])).collect();
        let answers = store.reopen().read(reads).now_or_never().expect("ready").expect("rows");
        let keyed = Table::ALL.iter().zip(answers);
        Self(
            keyed
                .flat_map(|(table, rows)| rows.into_iter().map(|row| ((*table, row.key.clone()), row)))
                .collect(),
        )
    }

    /// The same without some tables.
    pub fn without(mut self, tables: &[Table]) -> Self {
        self.0.retain(|(table, _), _| !tables.contains(table));
        self
    }

    /// The keys whose rows differ, for messages of failed tests.
    pub fn differences(&self, other: &Self) -> Vec<(Table, String)> {
        let keys: BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let differ = keys.into_iter().filter(|key| self.0.get(key) != other.0.get(key));
        differ.map(|(table, key)| (*table, hex::encode(key))).collect()
    }

    pub fn count(&self, table: Table) -> usize {
        self.0.keys().filter(|(of, _)| *of == table).count()
    }

    /// The rows of a table that are of this type.
    pub fn rows<R: Row>(&self) -> Vec<R> {
        self.rows_under(&[])
    }

    /// The same, of keys with a prefix.
    pub fn rows_under<R: Row>(&self, prefix: &[u8]) -> Vec<R> {
        let own = self.0.iter().filter(|((table, key), _)| *table == R::TABLE && key.starts_with(prefix));
        own.filter_map(|(_, record)| R::decode(&record.body).ok()).collect()
    }

    pub fn groups(&self) -> BTreeMap<GroupId, GroupRow> {
        self.rows::<GroupRow>().into_iter().map(|row| (row.id, row)).collect()
    }

    pub fn messages(&self) -> BTreeMap<MessageId, MessageRow> {
        self.rows::<MessageRow>().into_iter().map(|row| (row.id, row)).collect()
    }

    pub fn threads(&self) -> BTreeMap<ThreadId, ThreadRow> {
        self.rows::<ThreadRow>().into_iter().map(|row| (row.id, row)).collect()
    }

    pub fn intents(&self) -> Vec<IntentRow> {
        self.rows()
    }

    pub fn attempts(&self) -> Vec<AttemptRow> {
        self.rows()
    }

    /// What a thread is read to be decided as: the greatest record of its groups (CONS-010).
    pub fn decided(&self, thread: &ThreadRow) -> Option<ConsentRecord> {
        let row =
            |entry: &ThreadGroup| self.0.get(&(Table::Consent, Entity::Conversation(entry.group).to_key()));
        let records = thread.groups.iter().filter_map(row);
        let records: Vec<_> = records.map(|row| ConsentRow::decode(&row.body).expect("decodes").0).collect();
        greatest(&records).copied()
    }

    /// The pages of a group's MLS state as (part, page, bytes).
    pub fn pages(&self, group: GroupId) -> Vec<(u8, u16, Vec<u8>)> {
        let rows = self.rows_under::<MlsPageRow>(&MlsPageRow::group_prefix(group));
        rows.into_iter().map(|row| (row.part, row.page, row.bytes)).collect()
    }

    /// The MLS state of a group, as a step would load it.
    pub fn mls(&self, group: GroupId) -> Option<(Scratch, Group)> {
        let pages = self.pages(group);
        if pages.is_empty() {
            return None;
        }
        let mut scratch = Scratch::new();
        scratch.load(group, pages).expect("loads");
        let group = Group::load(&scratch, group).expect("loads")?;
        Some((scratch, group))
    }
}

/// Fails unless every row agrees with the rows it follows from.
pub fn check(store: &MemoryStore) {
    check_all(store, false);
}

/// The same where archives were imported, whole or in part: activity can be ahead of the messages
/// that are here, and an archive need not know a message's place.
pub fn check_imported(store: &MemoryStore) {
    check_all(store, true);
}

fn check_all(store: &MemoryStore, imported: bool) {
    let dump = Dump::of(store);
    for (_, record) in dump.0.iter().filter(|((table, _), _)| *table == Table::Groups) {
        GroupRow::decode(&record.body).expect("decodes");
    }
    check_threads(&dump);
    check_listing(&dump);
    check_messages(&dump, imported);
    check_outbox(&dump);
    check_mls(&dump);
    for position in dump.rows::<PositionRow>() {
        assert!(position.processed <= position.received, "{position:?}");
    }
}

fn check_threads(dump: &Dump) {
    let threads = dump.threads();
    for (id, group) in dump.groups() {
        if group.kind == GroupKind::Sync {
            assert!(!threads.contains_key(&group.thread()), "a sync group is no conversation");
            continue;
        }
        let listed = threads.get(&group.thread()).map_or(&[][..], |thread| &thread.groups);
        let entries: Vec<_> = listed.iter().filter(|entry| entry.group == id).collect();
        if let GroupState::Failed(_) = group.state {
            assert!(entries.is_empty(), "a failed group is listed");
            continue;
        }
        let expected = ThreadGroup {
            group: id,
            restored: group.state == GroupState::Restored,
            last_message_ns: group.last_message_ns,
            created_ns: group.created_ns,
        };
        assert_eq!(entries, [&expected], "a group's entry in its thread");
    }
    for (id, thread) in &threads {
        let of = |entry: &ThreadGroup| Candidate {
            group: entry.group,
            restored: entry.restored,
            last_message_ns: entry.last_message_ns,
            created_ns: entry.created_ns,
        };
        let candidates: Vec<_> = thread.groups.iter().map(of).collect();
        assert_eq!(Some(thread.winner), winner(&candidates).map(|c| c.group), "DMS-013");
        assert_eq!(Some(thread.sort), fold(&candidates).map(|folded| folded.sort));
        assert_eq!(thread.consent, state_of(dump.decided(thread).as_ref()), "consent of the thread");
        for entry in &thread.groups {
            let group = dump.groups().remove(&entry.group).expect("a group of a thread is stored");
            assert_eq!(group.thread(), *id);
            assert_eq!(group.kind, thread.kind);
        }
    }
}

fn check_listing(dump: &Dump) {
    let lines = dump.rows::<ListingRow>();
    let threads = dump.threads();
    assert_eq!(lines.len(), threads.len(), "one line a thread");
    for line in lines {
        let thread = threads.get(&line.thread).expect("a line of a thread");
        let of = (thread.consent, thread.sort, thread.winner, thread.kind);
        assert_eq!((line.consent, line.sort, line.winner, line.kind), of, "a line says what its thread says");
        assert!(dump.0.contains_key(&(Table::Listing, line.key())));
    }
}

fn check_messages(dump: &Dump, imported: bool) {
    let (groups, messages, intents) = (dump.groups(), dump.messages(), dump.intents());
    let mut numbers = BTreeSet::new();
    let last = dump.rows::<CountersRow>().pop().unwrap_or_default().delivery;
    let mut activity: BTreeMap<GroupId, Nanos> = BTreeMap::new();
    for row in messages.values() {
        let group = groups.get(&row.group).expect("a message of a stored group");
        assert_eq!(row.thread, group.thread());
        let waiting: Vec<_> = intents
            .iter()
            .filter(|i| matches!(&i.operation, Operation::Send { message, .. } if *message == row.id))
            .collect();
        match row.status {
            MessageStatus::Published => {
                let number = row.delivery.expect("a published message has its number");
                assert!(number <= last && numbers.insert(number), "delivery numbers");
                assert!(waiting.is_empty(), "published, and still to be sent");
                assert!(imported || row.sequence_id.0 > 0, "published, and without a place");
            }
            MessageStatus::Unpublished => {
                assert_eq!(waiting.len(), 1, "an unpublished message has its intent")
            }
            MessageStatus::Failed(_) => assert!(waiting.is_empty(), "a failed message is given up"),
        }
        if row.is_sent() && row.status == MessageStatus::Published {
            let newest = activity.entry(row.group).or_insert(row.sent_ns);
            *newest = row.sent_ns.max(*newest);
        }
    }
    for (id, group) in &groups {
        let newest = activity.get(id).copied();
        // What has disappeared still counts, and what an archive says of a group.
        let strict = group.settings.disappear_in_ns == 0 && !imported;
        assert!(group.last_message_ns == newest || (!strict && group.last_message_ns > newest), "activity");
    }
}

fn check_outbox(dump: &Dump) {
    let (groups, attempts) = (dump.groups(), dump.attempts());
    for intent in dump.intents() {
        let group = groups.get(&intent.group).expect("an intent of a stored group");
        assert!(!matches!(group.state, GroupState::Failed(_)), "an intent of a failed group");
        assert!(intent.number <= group.last_intent);
        if let IntentState::Published(hash) = intent.state {
            let attempt = attempts.iter().find(|a| a.hash == hash && a.group == intent.group);
            let attempt = attempt.expect("a published intent has its attempt");
            assert_eq!(attempt.intent, intent.number);
        }
    }
    assert!(attempts.iter().all(|attempt| groups.contains_key(&attempt.group)));
}

fn check_mls(dump: &Dump) {
    for (id, group) in dump.groups() {
        let loaded = dump.mls(id);
        assert_eq!(loaded.is_some(), group.state == GroupState::Active, "MLS rows of a group we are in");
        let Some((_, mls)) = loaded else { continue };
        assert_eq!((mls.epoch(), mls.authenticator()), (group.epoch, group.authenticator));
        let in_flight = dump.attempts().iter().any(|a| a.group == id && a.commit && a.epoch == group.epoch);
        assert_eq!(mls.has_pending_commit(), in_flight, "a pending commit is one in flight");
    }
}
