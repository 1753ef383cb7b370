//! The rows archives are made of, read in chunks and applied in units. Files themselves are read
//! and written by a module of its own (`archive`).

use crate::client::Client;
use crate::client::driver::{Step, StepError};
use crate::consent::Entity;
use crate::engine::event::Event;
use crate::engine::import::Held;
use crate::error::Error;
use crate::store::rows::{ConsentRow, GroupRow, MessageRow, Packed, Row, pack, unpack};
use crate::store::{Index, Read, Record, Store, StoreError, Table};

/// What a database holds for archives, in the order it goes into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Conversations.
    Groups,
    /// Messages that have their place, in the order they came.
    Messages,
    /// Consent records.
    Consent,
}

/// A stretch of a part.
pub struct Chunk {
    /// Its rows, packed.
    pub rows: Vec<u8>,
    /// Where the next one begins; `None` behind the last.
    pub next: Option<Vec<u8>>,
}

impl Client {
    /// At most `limit` rows of a part, from where the chunk before ended.
    ///
    /// # Errors
    /// `store.*`.
    pub async fn archive_rows(&self, part: Part, from: Option<Vec<u8>>, limit: u32) -> Result<Chunk, Error> {
        self.0.open()?;
        let (table, index) = match part {
            Part::Groups => (Table::Groups, None),
            Part::Messages => (Table::Messages, Some(Index::Delivery)),
            Part::Consent => (Table::Consent, None),
        };
        let read = Read::Range { table, index, from, to: None, descending: false, limit: Some(limit) };
        let records = self.0.store.read(vec![read]).await?.pop().unwrap_or_default();
        let mut rows = Vec::new();
        records.iter().for_each(|record| pack(&mut rows, table, &record.body));
        let last = records.last().filter(|_| records.len() >= limit as usize);
        let next = last.map(|record| after(record, part)).transpose()?;
        Ok(Chunk { rows, next })
    }

    /// Applies packed rows of an archive in one durable unit: all of them, or those before the
    /// first that is refused. `end` says that the import ends with them, and whether the archive
    /// did.
    ///
    /// Applied again, they change nothing.
    ///
    /// # Errors
    /// `archive.malformed`, `archive.rule`; `store.*`.
    pub async fn import_rows(&self, rows: &[u8], end: Option<bool>) -> Result<(), Error> {
        self.0.open()?;
        let rows = unpack(rows)?;
        let mut again = true;
        loop {
            match self.0.try_step(false, async |step| import(step, &rows, end).await).await {
                Ok(outcome) => return outcome,
                // Another tab stored one of the messages meanwhile: now it is found.
                Err(StepError::Taken) if again => again = false,
                Err(StepError::Taken) => return Err(Error::bug("a message is taken after it was looked up")),
                Err(StepError::Other(error)) => return Err(error),
            }
        }
    }
}

/// Behind a row, in the order its part is read.
fn after(record: &Record, part: Part) -> Result<Vec<u8>, Error> {
    let mut key = record.key.clone();
    if part == Part::Messages {
        // Every row of the index has a number.
        key = MessageRow::decode(&record.body)?.delivery.unwrap_or_default().to_be_bytes().to_vec();
    }
    key.push(0);
    Ok(key)
}

/// What is refused is an outcome, not a failure: what came before it is committed.
async fn import(step: &mut Step<'_>, rows: &[Packed], end: Option<bool>) -> Result<Result<(), Error>, Error> {
    let mut held = load(step, rows).await?;
    let outcome = held.apply(rows, &mut step.unit);
    // What was loaded of them does not show what the rows say now.
    held.groups.iter().for_each(|(row, _)| _ = step.cache.groups.remove(&row.id));
    held.threads.into_iter().for_each(|thread| step.keep_thread(thread));
    if let Some(complete) = end {
        step.unit.events.push(Event::ArchiveRestored { complete });
    }
    Ok(outcome)
}

async fn load(step: &mut Step<'_>, rows: &[Packed]) -> Result<Held, Error> {
    let (mut groups, mut messages, mut consents) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let entity = match row {
            Packed::Group(row) => Entity::Conversation(row.id),
            Packed::Consent(record) => record.entity,
            Packed::Message(row) => {
                groups.push(row.group.as_bytes().to_vec());
                messages.push(row.key());
                continue;
            }
        };
        if let Entity::Conversation(group) = entity {
            groups.push(group.as_bytes().to_vec());
        }
        consents.push(entity.to_key());
    }
    let named = [(Table::Groups, groups), (Table::Messages, messages), (Table::Consent, consents)];
    let mut held = Held::default();
    for (table, record) in stored(&*step.inner.store, named).await? {
        match table {
            Table::Groups => held.groups.push((GroupRow::decode(&record.body)?, record.revision)),
            Table::Messages => held.messages.push(MessageRow::decode(&record.body)?),
            _ => held.consents.push((ConsentRow::decode(&record.body)?.0, record.revision)),
        }
    }
    held.threads = step.take_threads(&held.needed(rows)).await?;
    Ok(held)
}

/// Keys from which on one range is tried.
const MANY: usize = 16;

/// The rows that are stored under some keys.
///
/// An archive has rows in the order of their keys, so what is stored of a batch lies close together:
/// one range finds it. Where much else lies between, each is asked for.
async fn stored(
    store: &dyn Store,
    named: [(Table, Vec<Vec<u8>>); 3],
) -> Result<Vec<(Table, Record)>, StoreError> {
    let mut runs = Vec::new();
    for (table, mut keys) in named {
        keys.sort_unstable();
        keys.dedup();
        // Conversations and inboxes are apart; messages are in the order they came.
        let apart = |a: &Vec<u8>, b: &Vec<u8>| table != Table::Consent || a.first() == b.first();
        runs.extend(keys.chunk_by(apart).map(|run| (table, run.to_vec())));
    }
    let one = |table: Table, key: &Vec<u8>| Read::Key(table, key.clone());
    let is_range = |table: Table, keys: &[Vec<u8>]| table != Table::Messages && keys.len() >= MANY;
    let mut reads = Vec::new();
    for (table, keys) in &runs {
        match keys.as_slice() {
            [first, .., last] if is_range(*table, keys) => reads.push(Read::Range {
                table: *table,
                index: None,
                from: Some(first.clone()),
                to: Some([last.as_slice(), &[0]].concat()),
                descending: false,
                limit: u32::try_from(2 * keys.len()).ok(),
            }),
            keys => reads.extend(keys.iter().map(|key| one(*table, key))),
        }
    }
    let mut answers = store.read(reads).await?.into_iter();
    let (mut found, mut scattered) = (Vec::new(), Vec::new());
    for (table, keys) in runs {
        let ranged = is_range(table, &keys);
        for _ in 0..if ranged { 1 } else { keys.len() } {
            let records = answers.next().unwrap_or_default();
            if ranged && records.len() >= 2 * keys.len() {
                scattered.extend(keys.iter().map(|key| (table, key.clone())));
                break;
            }
            for record in records {
                if keys.binary_search(&record.key).is_ok() {
                    found.push((table, record));
                }
            }
        }
    }
    let reads = scattered.iter().map(|(table, key)| one(*table, key)).collect();
    for ((table, _), records) in scattered.into_iter().zip(store.read(reads).await?) {
        found.extend(records.into_iter().map(|record| (table, record)));
    }
    Ok(found)
}
