//! The persisted row types, their keys and their indexes.
//!
//! A body is one format byte and postcard. Adding a field means a new format and a migration;
//! `tests` pin every encoding.

mod group;
mod inbound;
mod installation;
mod message;
mod mls;
mod outbox;
mod packed;
mod thread;

pub use group::{EncodedMembers, GroupKind, GroupRow, GroupState, Hold, MemberView, SettingsView};
pub use inbound::{AssociationRow, ConsumedRow, ConsumerRow, EnvelopeRow, EnvelopeState, PositionRow};
pub use installation::{CountersRow, InstallationRow, OfferRow, SyncGroupsRow};
pub use message::{
    AnnotationRow, ContentTypeView, Hangs, MessageKind, MessageRow, MessageStatus, NotesRow, TranscriptRow,
};
pub use mls::{MlsGlobalRow, MlsPageRow};
pub use outbox::{
    AttemptRow, IntentRow, IntentState, LeftOut, Operation, Outcome, OwedWelcome, Recipient, Wish,
};
pub use packed::{Packed, pack, unpack};
pub use thread::{ListingRow, ThreadGroup, ThreadRow};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{StoreError, Table};
use crate::base;
use crate::consent::Record;

const FORMAT: u8 = 1;

/// A typed row.
pub trait Row: Serialize + DeserializeOwned {
    /// Where it lives.
    const TABLE: Table;

    /// Its key.
    fn key(&self) -> Vec<u8>;

    /// A value for each index of the table.
    fn index(&self) -> Vec<Option<Vec<u8>>> {
        vec![None; Self::TABLE.indexes().len()]
    }

    /// The body.
    fn encode(&self) -> Vec<u8> {
        encoded(self, vec![FORMAT])
    }

    /// Reads a body.
    fn decode(body: &[u8]) -> Result<Self, StoreError> {
        let corrupt = |what: &str| StoreError::Corrupt(format!("{} row: {what}", Self::TABLE.name()));
        match body.split_first() {
            Some((&FORMAT, rest)) => match postcard::take_from_bytes(rest) {
                Ok((row, [])) => Ok(row),
                Ok(_) => Err(corrupt("trailing bytes")),
                Err(_) => Err(corrupt("does not decode")),
            },
            Some((format, _)) => Err(corrupt(&format!("unknown format {format}"))),
            None => Err(corrupt("empty")),
        }
    }
}

fn encoded<T: Serialize>(value: &T, out: Vec<u8>) -> Vec<u8> {
    // Only a type that refuses to serialise could fail, and none of ours does.
    base::encode(value, out).unwrap_or_default()
}

/// A consent record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentRow(pub Record);

impl Row for ConsentRow {
    const TABLE: Table = Table::Consent;
    fn key(&self) -> Vec<u8> {
        self.0.entity.to_key()
    }
}

/// A decision of this installation that its inbox's other devices were not told of yet (SYNC). One
/// an entity: the last one counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedDecisionRow(pub Record);

impl OwedDecisionRow {
    /// Where keys of entities begin, and where they end.
    pub const KEYS: [&[u8]; 2] = [b"c", b"j"];
}

impl Row for OwedDecisionRow {
    const TABLE: Table = Table::Preferences;
    fn key(&self) -> Vec<u8> {
        self.0.entity.to_key()
    }
}

/// Byte strings as one run instead of a list of numbers.
mod bytes {
    use serde::{Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
        out.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: de::Error>(self, v: &[u8]) -> Result<Vec<u8>, E> {
                Ok(v.to_vec())
            }
        }
        input.deserialize_bytes(Bytes)
    }
}
