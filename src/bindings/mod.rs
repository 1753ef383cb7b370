//! The wasm-bindgen surface: values in, plain objects out, errors mapped.
//!
//! The contract is `js/raw.ts`; nothing but the package's own TypeScript calls this.
//!
//! | file | owns |
//! |---|---|
//! | `open` | `createClient`: database, delivery, registration, background work |
//! | `client`, `conversation`, `groups` | the methods of `RawClient` |
//! | `archive` | the rows that archives are made of |
//! | `inboxes` | inboxes and their installations, of a client and without one |
//! | `wallet` | inbox ids and local keys, without a client |
//! | `options`, `bytes` | reading arguments |
//! | `values`, `json` | rows as plain objects, many at once |
//! | `events` | subscriptions |
//! | `readers` | events and messages taken one by one |
//! | `delivery` | a delivery object of the app as a [`Delivery`](crate::delivery::Delivery) |
//! | `tabs` | several tabs on one database: who reads in the background, what the others hear |
//! | `locks` | locks between pages |
//! | `platform`, `life` | clock, chance, waiting; tasks that end with a crash |
//! | `errors` | errors as plain objects |
//!
//! No exported function throws: each takes any value and returns a promise, which settles unless
//! the module stops (then the TypeScript side settles it). Nothing is borrowed across an await.

mod archive;
mod bytes;
mod client;
mod conversation;
mod delivery;
mod errors;
mod events;
mod groups;
mod inboxes;
mod json;
mod life;
mod locks;
mod open;
mod options;
mod platform;
mod readers;
mod tabs;
mod values;
mod wallet;

pub use client::RawClient;
pub use events::RawSubscription;
pub use inboxes::{can_message, inbox_states, revoke_installations};
pub use life::on_panic;
pub use open::create_client;
pub use readers::{RawEvents, RawReader};
pub use wallet::{generate_inbox_id, sign_with_key};

use wasm_bindgen::prelude::wasm_bindgen;

/// The package's version.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
