//! The IndexedDB store: rows sealed at rest, one transaction a call.
//!
//! | file | owns |
//! |---|---|
//! | `schema`, `migrate` | tables, indexes, the version of the layout and the steps between versions |
//! | `connect`, `connection` | opening, blocking, deleting; losing a connection and opening it again |
//! | `wait` | futures over requests, transactions and time |
//! | `seal`, `keys` | sealing of rows; the data key and what it is wrapped with |
//! | `values` | a row as a stored value |
//! | `read`, `write` | the one transaction of a [`Store::read`](crate::store::Store::read) or an `apply` |
//! | `errors` | what a thrown exception means |
//!
//! **Why not a wrapper crate.** The wrappers there are (`indexed_db_futures`, `idb`, `rexie`) make a
//! future with its own pair of closures for each request and wake the task for each. A read here
//! issues all its requests at once and waits for one event, the end of the transaction. Their
//! transactions are also committed or rolled back when a value is dropped, while `apply` has to
//! compare revisions between a request's success and the next one, inside the event handler, so
//! that nothing can come in between. So the module talks to IndexedDB through `web-sys`; durability
//! and WebCrypto come the same way.
//!
//! **What a call sees.** A row is written whole or not at all, by the transaction it is in. Within
//! a transaction requests happen in the order they were issued: the checks of a unit are read
//! before its writes, and the handler of the last check aborts everything on a mismatch.
//! A dropped future aborts its transaction if that is not already being committed.
//!
//! **A lost connection.** Browsers close connections (storage cleared, disk trouble, a suspended
//! phone). A call that meets this opens the database again once, checks that it is still the same
//! one, and repeats its transaction, which the browser has rolled back. When another tab upgrades
//! or deletes the database, this one lets go at once and answers [`StoreError::Newer`] or
//! [`StoreError::Closed`] from then on.
//!
//! **Readable at rest**: keys, index values, revisions and sizes. Bodies are sealed.
//!
//! [`StoreError::Newer`]: crate::store::StoreError::Newer
//! [`StoreError::Closed`]: crate::store::StoreError::Closed

mod connect;
mod connection;
mod errors;
mod keys;
mod migrate;
mod read;
mod schema;
mod seal;
mod store;
mod values;
mod wait;
mod write;

pub use connect::delete_database;
pub use schema::VERSION;
pub use store::IdbStore;
