//! Prost messages and the typed records made of them (envelopes, content, records).
//!
//! Others speak in the records below, not in the generated types. Decoding
//! refuses what the schema refuses and tolerates unknown fields, as proto3 does. Encoding is
//! canonical (fields by number, maps by key): ids are hashes of these bytes.
//!
//! Choices where the texts leave room: `welcome_metadata` has field number 5 and the envelope
//! kinds have the numbers of the one-log-per-topic delivery service; an identity update stays
//! bytes inside its envelope, because a refused update still holds its place in the inbox's log.

pub mod about;
mod archive;
mod content;
mod content_types;
mod device_sync;
mod envelope;
mod error;
mod records;
mod welcome;

// `identity` reads and writes the update messages itself; nothing else may.
#[allow(missing_docs, clippy::all)]
pub(crate) mod proto {
    include!(concat!(env!("OUT_DIR"), "/dovetail.rs"));
}

pub use archive::{ArchiveMetadata, ArchivedGroup, ArchivedKind, ArchivedMessage, Element};
pub use content::{Compression, EncodedContent, PlaintextEnvelope, PlaintextV1, message_id};
pub use content_types::{ContentType, content_type};
pub use device_sync::{consents_of, preference_updates};
pub use envelope::ClientEnvelope;
pub use error::WireError;
pub use records::{ConsentSave, FieldChange, GroupUpdated, LeaveRequest, MembershipEntry, MlsCredential};
pub use welcome::{
    AEAD_CHACHA20_POLY1305, WelcomeAlgorithm, WelcomeInput, WelcomeMetadata, WelcomePointeeAeadTypes,
    WelcomePointerV1, WelcomeWrapperKey,
};
