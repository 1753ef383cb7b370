//! Dovetail: end-to-end encrypted messaging for the browser.
//!
//! Two inboxes each create a DM group before seeing the other's; the user sees one conversation.
//! This crate is the whole of it: MLS groups, the stitching of duplicate groups, consent, storage
//! in IndexedDB, and the surface JavaScript calls.
//!
//! # How it is built
//! One rhythm for every use case: **load → decide → commit → emit**.
//! - [`client`] loads rows, commits, tells listeners, and talks to the delivery service.
//! - [`engine`] decides: one file a verb, synchronous and pure.
//! - [`store`] commits one [`store::Changes`] a step, whole or not at all.
//! - the rules themselves are pure modules: [`meta`] and [`policy`] (what a group's settings are
//!   and who may write them), [`members`] (who is in it), [`commit`] (what a change must satisfy),
//!   [`dm`] (admission, winner, thread), [`consent`], [`identity`].
//! - [`mls`] is the only module that knows OpenMLS, and works on memory only.
//! - [`delivery`] is the seam to whatever stores and orders envelopes.
//!
//! | to follow | read, in this order |
//! |---|---|
//! | a message out | `client::send`, [`engine::send`], `client::outbox`, [`engine::publish`], [`engine::settle`] |
//! | a message in | `client::sync`, `client::process`, [`engine::receive`], [`engine::application`] |
//! | a commit | [`engine::publish`] (built), [`engine::commits`] (judged and merged), [`commit`] |
//! | a Welcome in | `client::welcomes`, [`engine::opening`], [`engine::join`], [`members`], [`dm`] |
//! | a Welcome out | `client::owed`, [`engine::welcomes`] |
//! | the key package | `client::key_packages`, [`engine::key_packages`] |
//! | a change of a group | `client::operate`, [`engine::operations`], [`engine::build`], [`engine::settle`] |
//! | members who leave, or whose identity moved | [`engine::leave`], `client::refresh` |
//! | messages about messages | [`wire::about`], [`engine::annotations`], [`engine::judge`], `client::judge`, `client::hung` |
//! | messages that disappear | [`engine::settle`], [`engine::expire`], `client::expiry` |
//! | events | [`engine::event`], `client::events`, `client::event_queue`, `client::overhear` |
//! | the durable stream, replay | [`engine::reader`], `client::reader`, `client::consumer`, `client::replay` |
//! | the list | [`engine::list`], `client::list` |
//! | consent | [`engine::consent`], [`consent`] |
//! | archives | `archive` (a module of its own, loaded on first use), `client::archive`, [`engine::import`] |
//! | what other devices of the inbox decided | `client::devices`, [`engine::devices`] |
//!
//! `tests/layers.rs` holds every module to what it may import. Requirement ids (`DMS-013`) stand
//! where a rule is enforced and in the names of its tests.
//!
//! # Where this differs from the design it started from
//! - The store trait has two calls, read and apply, over byte rows; meaning lives in
//!   [`store::rows`]. Keys are byte strings throughout, and the one contract suite is short.
//! - Rows are sealed in wasm with a data key; WebCrypto only wraps that key. Opening many rows
//!   needs no promises, and a page without a secure context works with a key of its own.
//! - A held group's envelopes are not copied into the database: its position stays, and they are
//!   read from the delivery service again. Held Welcomes are copied, because later ones go on.
//! - Delivery subscriptions only wake; content always comes from a query behind the client's own
//!   position, so a missed or repeated wake-up loses nothing.
//! - Operations on groups are stored as wishes, not as deltas, and computed again after a lost race.
//! - A Welcome the service refuses for good is passed over and named, so that the others and the
//!   group go on; everything else that is owed stays owed.
//! - The outbox resends the very same bytes only while their epoch lasts. A text of an earlier epoch
//!   that the topic, read to its end, does not hold is encrypted again under its idempotency key: who
//!   was added in between reads it, and it is shown once should the old bytes turn up after all.
//! - What was written before an own removal and did not reach its place is failed, also when the
//!   installation is added again; messages of an earlier stay are shown by nobody.
//! - A Welcome is opened once, and kept in memory while identity is fetched: nothing of it is written
//!   before all is judged, and a crash opens it again from the topic.
//! - The consent of a stitched DM is the greatest record of all its groups (CONS-010), not its winner's:
//!   a newer block of any copy blocks the DM, whatever came first. Each group keeps a record of its own,
//!   which is what is told, archived, and read by entity.
//! - What a revoked device of the inbox tells in a sync group decides nothing.
//! - There is no lock between tabs in the core: revisions decide. Only background reading is left
//!   to one tab at a time, to save work.
#![forbid(unsafe_code)]

pub mod base;
pub mod client;
pub mod commit;
pub mod consent;
pub mod delivery;
pub mod dm;
pub mod engine;
pub mod error;
pub mod identity;
pub mod members;
pub mod meta;
pub mod mls;
pub mod policy;
pub mod store;
pub mod wire;

#[cfg(feature = "archive")]
pub mod archive;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
pub mod bindings;
#[cfg(all(target_arch = "wasm32", feature = "floor"))]
mod floor;
#[cfg(all(target_arch = "wasm32", feature = "page"))]
pub mod idb;
