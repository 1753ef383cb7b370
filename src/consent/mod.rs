//! Consent: what a user decided about a conversation or an inbox (CONS).
//!
//! Records of one entity are totally ordered by (consent time, state); whoever has seen the same
//! records holds the same one. Nothing here reads a clock: times are handed in.

mod filter;
mod merge;
mod record;
mod save;
mod start;

pub use filter::Filter;
pub use merge::{app_act, greatest, merge, sending};
pub use record::{Entity, Record, State, state_of};
pub use save::{Unusable, usable};
pub use start::{Join, inherit, start};
