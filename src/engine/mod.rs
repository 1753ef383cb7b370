//! Decides: one file a verb, synchronous and pure; rows in, changes and events out.
//!
//! No clock, I/O or randomness except what a call is handed. A verb changes the contexts of
//! [`state`] in place and fills a [`unit::Unit`]; when the commit fails, the client drops both and
//! loads again.
//!
//! Choices made here where the texts are silent:
//! - An envelope that has to wait is not copied into the database: its position stays, and it is
//!   read from the delivery service again. Held Welcomes are copied, because later ones go on.
//! - An envelope whose secret was used before is rejected (PROC-011) and recorded; the same message
//!   of the same sender met again under another secret is a repetition and leaves no trace.

pub mod annotations;
pub mod application;
pub mod build;
pub mod commits;
pub mod consent;
pub mod create;
pub mod devices;
pub mod event;
pub mod expire;
pub mod history;
pub mod import;
pub mod join;
pub mod judge;
pub mod key_packages;
pub mod leave;
pub mod list;
pub mod opening;
pub mod operations;
pub mod publish;
pub mod reader;
pub mod receive;
pub mod send;
pub mod settings;
pub mod settle;
pub mod size;
pub mod state;
pub mod threads;
pub mod transcripts;
pub mod unit;
pub mod views;
pub mod welcomes;

/// The protocol version of this client, compared with a group's floor (GMOD-025).
pub const PROTOCOL_VERSION: &str = "1.11.0";
