//! Durable rows: one read call, one write call.
//!
//! A store keeps byte rows in tables. [`Store::read`] answers several reads from one snapshot;
//! [`Store::apply`] writes one [`Changes`] whole or not at all, after comparing the revisions it
//! expects. Meaning lives in [`rows`]; a store knows keys, index values and sealed bodies only.

pub mod changes;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod memory;
pub mod rows;

pub use changes::{Changes, Check, Durability, Write};
pub use memory::MemoryStore;

use futures::future::LocalBoxFuture;

/// A table. The number is stable: it is part of the additional data rows are sealed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// Database id, own installation, counters.
    Meta = 1,
    /// Pages of a group's MLS state, key packages, signature keys.
    Mls = 2,
    /// One row a group.
    Groups = 3,
    /// One row a thread (dm id or group id).
    Threads = 4,
    /// The conversation list, in order.
    Listing = 5,
    /// Messages.
    Messages = 6,
    /// Consent records.
    Consent = 7,
    /// Operations not finished yet.
    Intents = 8,
    /// Bytes handed out.
    Attempts = 9,
    /// Received and not processed.
    Envelopes = 10,
    /// Positions per topic.
    Positions = 11,
    /// Resolved identity state.
    Associations = 12,
    /// Whole GroupUpdated payloads shown.
    Transcripts = 13,
    /// Messages about other messages, by their target.
    Annotations = 14,
    /// Decisions the own devices were not told of yet.
    Preferences = 15,
    /// How far the durable stream was acknowledged, by group.
    Consumers = 16,
}

impl Table {
    /// Every table.
    pub const ALL: [Table; 16] = [
        Table::Meta,
        Table::Mls,
        Table::Groups,
        Table::Threads,
        Table::Listing,
        Table::Messages,
        Table::Consent,
        Table::Intents,
        Table::Attempts,
        Table::Envelopes,
        Table::Positions,
        Table::Associations,
        Table::Transcripts,
        Table::Annotations,
        Table::Preferences,
        Table::Consumers,
    ];

    /// The object store's name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Meta => "meta",
            Table::Mls => "mls",
            Table::Groups => "groups",
            Table::Threads => "threads",
            Table::Listing => "listing",
            Table::Messages => "messages",
            Table::Consent => "consent",
            Table::Intents => "intents",
            Table::Attempts => "attempts",
            Table::Envelopes => "envelopes",
            Table::Positions => "positions",
            Table::Associations => "associations",
            Table::Transcripts => "transcripts",
            Table::Annotations => "annotations",
            Table::Preferences => "preferences",
            Table::Consumers => "consumers",
        }
    }

    /// The secondary indexes of the table, in the order of [`Write::Put`]'s `index` values.
    pub fn indexes(self) -> &'static [Index] {
        match self {
            Table::Messages => {
                &[Index::ThreadSort, Index::ThreadDelivery, Index::GroupSort, Index::Expiry, Index::Delivery]
            }
            _ => &[],
        }
    }
}

/// A secondary index. A row without a value for it is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// Messages by (thread, sort).
    ThreadSort,
    /// Messages by (thread, delivery number).
    ThreadDelivery,
    /// Messages by (group, sort).
    GroupSort,
    /// Messages that expire, by time.
    Expiry,
    /// Messages of all threads, by delivery number (PROC-024).
    Delivery,
}

impl Index {
    /// The index's name, and the property it reads in a stored record.
    pub fn name(self) -> &'static str {
        match self {
            Index::ThreadSort => "a",
            Index::ThreadDelivery => "b",
            Index::GroupSort => "c",
            Index::Expiry => "d",
            Index::Delivery => "e",
        }
    }
}

/// One read of a snapshot.
#[derive(Clone, Debug)]
pub enum Read {
    /// The row with exactly this key.
    Key(Table, Vec<u8>),
    /// Rows whose key (or index value) lies in `from..to`, both optional: `from` inclusive,
    /// `to` exclusive.
    Range {
        /// Which table.
        table: Table,
        /// By an index value instead of the key.
        index: Option<Index>,
        /// Inclusive lower bound.
        from: Option<Vec<u8>>,
        /// Exclusive upper bound.
        to: Option<Vec<u8>>,
        /// Greatest first.
        descending: bool,
        /// At most so many.
        limit: Option<u32>,
    },
    /// How many rows the same range holds, without reading them; the answer is one record whose
    /// body is the count as 8 big-endian bytes.
    Count {
        /// Which table.
        table: Table,
        /// By an index value instead of the key.
        index: Option<Index>,
        /// Inclusive lower bound.
        from: Option<Vec<u8>>,
        /// Exclusive upper bound.
        to: Option<Vec<u8>>,
    },
}

impl Read {
    /// All rows whose key starts with `prefix`, ascending.
    pub fn prefix(table: Table, prefix: &[u8]) -> Self {
        Read::Range {
            table,
            index: None,
            from: Some(prefix.to_vec()),
            to: after_prefix(prefix),
            descending: false,
            limit: None,
        }
    }
}

/// The least key greater than every key that starts with `prefix`; `None` when there is none.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// A row as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its key.
    pub key: Vec<u8>,
    /// How often it was written under a revision check; 0 where revisions are not used.
    pub revision: u64,
    /// Its opened body.
    pub body: Vec<u8>,
}

impl Record {
    /// The answer to [`Read::Count`].
    pub(crate) fn count(count: u64) -> Self {
        Self { key: Vec::new(), revision: 0, body: count.to_be_bytes().to_vec() }
    }
}

/// Refuses an index the table does not have: an own bug, the same in every store.
pub(crate) fn has_index(table: Table, index: Index) -> Result<(), StoreError> {
    if table.indexes().contains(&index) {
        return Ok(());
    }
    Err(StoreError::Failed(format!("table {} has no index {}", table.name(), index.name())))
}

/// What [`StoreError::Unavailable`] says where only the lack of a secure context is in the way.
pub const INSECURE_CONTEXT: &str =
    "keys can only be kept in a secure context: use HTTPS or localhost, or pass dbEncryptionKey";

/// What can go wrong with a store. Nothing was written, unless it says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A row was changed by someone else since it was read: load again and repeat the step.
    #[error("another tab changed the same data; the step is repeated")]
    Stale,
    /// A row to insert is already there.
    #[error("a row with this key is already stored")]
    Exists,
    /// The browser has no room.
    #[error("the browser's storage quota is used up; free space and try again")]
    Quota,
    /// The database was closed, by us or by the browser, and could not be reopened.
    #[error("the database is closed; create the client again")]
    Closed,
    /// Written by a newer version of this library.
    #[error(
        "the database was written by a newer version (schema {found}, this build knows {known}); update the app"
    )]
    Newer {
        /// Schema version on disk.
        found: u32,
        /// Greatest version this build knows.
        known: u32,
    },
    /// Another tab holds an older schema open.
    #[error("another tab keeps an older version of the database open; close it and try again")]
    Blocked,
    /// IndexedDB is missing or refused.
    #[error(
        "the browser does not let this page store data ({0}); leave private mode or allow storage, or pass dbPath: null and a delivery that needs none"
    )]
    Unavailable(String),
    /// The key does not open this database.
    #[error("the database was sealed with another key; pass the dbEncryptionKey it was created with")]
    WrongKey,
    /// A row cannot be opened or decoded.
    #[error("stored data is damaged ({0})")]
    Corrupt(String),
    /// Anything else IndexedDB reports.
    #[error("the browser's database failed ({0}); try again")]
    Failed(String),
}

/// A place rows are kept.
pub trait Store {
    /// Answers all `reads` from one snapshot, in their order.
    fn read(&self, reads: Vec<Read>) -> LocalBoxFuture<'_, Result<Vec<Vec<Record>>, StoreError>>;

    /// Writes everything of `changes` in one transaction, or nothing.
    ///
    /// Every [`Check`] is compared inside that transaction; a mismatch gives
    /// [`StoreError::Stale`].
    fn apply(&self, changes: Changes) -> LocalBoxFuture<'_, Result<(), StoreError>>;

    /// Closes the connection; later calls give [`StoreError::Closed`].
    fn close(&self) -> LocalBoxFuture<'_, ()>;
}

#[cfg(test)]
mod tests;
