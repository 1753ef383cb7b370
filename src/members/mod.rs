//! The membership component: entries, expected changes, accounting (GMOD-005 to 013, JOIN
//! section 8).
//!
//! Pure. What identity logs say is handed in as [`States`]: the installations of an inbox at a
//! sequence id. [`references`] names the ones a decision needs; a decision made without one of
//! them says which.

mod account;
mod diff;
mod entry;
pub mod references;
mod states;

pub use account::{JoinError, check_join, unaccounted};
pub use diff::{Expected, expected, failed};
pub use entry::{Entry, Members, MembersError, check_succession};
pub use states::{Reference, Resolution, States, Unresolved};

#[cfg(test)]
pub(crate) mod tests;
