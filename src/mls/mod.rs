//! Everything that touches OpenMLS: the only module that imports it, and nothing of it shows in a
//! public signature.
//!
//! A step loads the group's pages into a [`Scratch`], loads the [`Group`] from it, works, and takes
//! the scratch's changes. Nothing is durable before the store has written those changes, so nothing
//! built here may leave before.
//!
//! | verb | function | writes to the scratch |
//! |---|---|---|
//! | create | [`create`] | the whole group |
//! | invite | [`make_key_package`], [`check_key_package`] | one global row |
//! | join | [`unwrap_welcome`], [`inspect`], [`PendingJoin::join`] | nothing before `join` |
//! | send | [`message`], [`commit`] | ratchet; ratchet and pending commit |
//! | receive | [`peek`], [`open`], [`stage`], [`merge`], [`keep_proposal`] | see below |
//! | read back | [`pending_facts`], [`merge_pending`], [`clear_pending`] | see below |
//!
//! [`open`] of another member's message moves that sender's ratchet (part `hot`) and nothing else,
//! and only when the message is authentic and valid. [`stage`] writes nothing. [`merge`],
//! [`merge_pending`] and [`keep_proposal`] write what they say. After [`Scratch::restore`] or
//! [`Scratch::restore_keeping_ratchet`] a [`Group`] in memory is out of date: load it again.
//!
//! Choices where the texts leave room:
//! - Padding is MLS padding (RFC 9420 section 6.3.1), sized for each message, so the plaintext
//!   itself carries none and any MLS client reads it. Commits are not padded.
//! - A Welcome is an MLSMessage; a published key package is a bare KeyPackage.
//! - Key packages say when they expire in a private-use extension ([`profile`]), because the
//!   lifetime MLS has is judged by every receiver's own clock.
//! - OpenMLS does not say which unknown proposal kind made it refuse a commit; it is reported as
//!   [`facts::UnsupportedKind::Custom`] with number 0, which MLS reserves.
//! - A commit that names one proposal twice is refused, because OpenMLS counts it once where it
//!   stages and twice where it reports component updates.

pub mod facts;
pub mod profile;

mod create;
mod describe;
mod group;
mod hpke;
mod key_package;
mod keys;
mod open;
mod open_error;
mod pages;
mod parts;
mod past;
mod plain;
mod provider;
mod scratch;
mod seal;
mod stage;
mod storage;
mod suite;
mod welcome;
mod wrap;

#[cfg(test)]
mod tests;

pub use create::{CreateError, create};
pub use group::{Group, ProposalId};
pub use key_package::{
    Addition, KeyPackageError, KeyPackageFacts, MadeKeyPackage, check as check_key_package,
    make as make_key_package,
};
pub use keys::InstallationKeys;
pub use open::{Frame, FrameKind, Opened, OpenedCommit, PendingProposal, keep_proposal, open, peek};
pub use open_error::OpenError;
pub use parts::PAGE_SIZE;
pub use scratch::{GlobalChange, PageChange, Savepoint, Scratch, ScratchChanges, ScratchError};
pub use seal::{CommitPlan, SealError, SealedCommit, commit, distinct, message};
pub use stage::{Staged, clear_pending, merge, merge_pending, pending_facts, stage};
pub use welcome::{PendingJoin, WelcomeError, inspect};
pub use wrap::{
    SealedWelcome, open_shared_welcome, seal_shared_welcome, unwrap_pointer, unwrap_welcome, wrap_pointer,
    wrap_welcome,
};
