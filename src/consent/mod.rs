//! Consent: what a user decided about a conversation or an inbox (CONS).

mod record;

pub use record::{Entity, Record, State};
