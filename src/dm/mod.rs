//! DM admission, the winner order, the stitched thread (DMS).
//!
//! The dm id itself is [`crate::base::DmId`]. Groups that never came to life are not handed in:
//! they belong to no thread.

mod admission;
pub mod thread;
mod winner;

pub use admission::{AdmissionError, Admitted, admit, check_activation};
pub use winner::{Candidate, winner};
