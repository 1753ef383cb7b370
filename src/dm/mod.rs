//! DM admission, the winner order, the stitched thread (DMS).
//!
//! The dm id itself is [`crate::base::DmId`]. Groups that never came to life are not handed in:
//! they belong to no thread.

pub mod thread;
mod winner;

pub use winner::{Candidate, winner};
