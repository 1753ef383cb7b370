//! Inbox ids, identity updates, signatures, association state at a sequence id (IDENT).
//!
//! An inbox is the log of signed updates on its identity topic. Every client replays the log for
//! itself ([`Log`]), so all that read the same log hold the same members at every sequence id.
//!
//! Choices where the texts leave room or disagree:
//! - An update that breaks a rule changes nothing and still holds its sequence id. An update that
//!   breaks no rule but carries a signature of a kind this version cannot verify (smart contract
//!   wallet, passkey) is *not* refused: the state is unknown from there on and what depends on it
//!   waits, because a version that can verify it would disagree with a refusal.
//! - The ceiling of ten installations binds the client that registers ([`Request`]), not the
//!   replay: a log in which two devices raced past it means the same to everyone.
//! - The retired delegated signature of an older network is refused.
//! - ECDSA signatures with a high `s` are accepted and brought to the low form before they are
//!   compared with the signatures already used, so that a re-encoding is no new signature.
//! - Addresses from an app may have any case and are lower-cased; inside an update anything but
//!   lower case is refused, because the text is what was signed.
//! - Relying parties of passkeys take no part in identity and are not kept.

mod error;
mod inbox_id;
mod register;
mod replay;
mod signature;
mod state;
mod text;
mod update;

#[cfg(test)]
mod tests;

pub use error::{IdentityError, Refusal, SignatureKind};
pub use inbox_id::{Address, Identifier, MemberId, inbox_id};
pub use register::{MAX_INSTALLATIONS, Request};
pub use replay::{Log, Verdict};
pub use signature::{
    Signature, SigningContext, address_of, sign_erc191, sign_installation, verify_installation,
};
pub use state::{AssociationState, Member, apply};
pub use text::signature_text;
pub use update::{Action, Change, IdentityUpdate};
