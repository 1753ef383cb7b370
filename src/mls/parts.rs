//! The parts a group's MLS state is kept in, and their encoding.
//!
//! A part is one format byte and the postcard of its entries, sorted by key, cut into pages. The
//! empty part has no pages. `hot` changes with every message, `cold` with every epoch, `pending`
//! with proposals and own commits.

use crate::base::Map;
use crate::base::{self, Gather as _};
use std::rc::Rc;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroizing;

use super::scratch::ScratchError;

/// Bytes of a full page; only the last page of a part is shorter.
pub const PAGE_SIZE: usize = 4096;

/// Page numbers have 16 bits.
const MAX_PAGES: usize = 1 << 16;

/// How many parts a group has.
pub(super) const PARTS: usize = 3;

/// The format of parts and global rows this build writes.
pub(super) const FORMAT: u8 = 1;

/// An encoded entity, shared between savepoints and cleared with the last of them.
pub(super) type Value = Rc<Zeroizing<Vec<u8>>>;

/// What an entry of a part is. The number is the first byte of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Entity {
    /// Secret trees of the current and of past epochs.
    MessageSecrets = 0x01,
    /// The ratchet tree.
    Tree = 0x10,
    /// GroupContext.
    Context = 0x11,
    /// Interim transcript hash.
    TranscriptHash = 0x12,
    /// Confirmation tag.
    ConfirmationTag = 0x13,
    /// Secrets of the epoch.
    EpochSecrets = 0x14,
    /// Resumption secrets.
    ResumptionSecrets = 0x15,
    /// Private keys of the own path; one entry an epoch and leaf.
    EpochKeys = 0x16,
    /// The own leaf's index.
    OwnIndex = 0x17,
    /// Exporter of the extensions draft.
    Exporter = 0x18,
    /// Leaves of past epochs that are gone or changed (ours, not OpenMLS's).
    PastLeaves = 0x19,
    /// Whether a commit is pending, and that commit.
    GroupState = 0x20,
    /// Proposals received and kept, oldest first.
    Proposals = 0x21,
    /// Leaves of own Update proposals, oldest first.
    OwnLeaves = 0x22,
}

impl Entity {
    /// The part the entity is kept in.
    pub(super) fn part(self) -> usize {
        match self as u8 {
            0x00..0x10 => 0,
            0x10..0x20 => 1,
            _ => 2,
        }
    }

    /// The entry's key.
    pub(super) fn key(self, suffix: &[u8]) -> Vec<u8> {
        [&[self as u8], suffix].concat()
    }
}

/// The entries of one part.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Part(pub(super) Map<Vec<u8>, Value>);

/// An entry's head, which for the first one begins with the format byte and the number of entries,
/// and its value.
type Piece<'a> = (Vec<u8>, &'a [u8]);

impl Part {
    /// The part in pieces, an entry each.
    pub(super) fn pieces(&self) -> Result<Vec<Piece<'_>>, ScratchError> {
        let mut pieces = Vec::with_capacity(self.0.len());
        let mut size = 0;
        for (key, value) in &self.0 {
            let mut head = Vec::with_capacity(key.len() + 12);
            if pieces.is_empty() {
                head.push(FORMAT);
                head = extend(&self.0.len(), head)?;
            }
            head = extend(&value.len(), extend(&Bytes(key), head)?)?;
            size += head.len() + value.len();
            pieces.push((head, value.as_slice()));
        }
        if size > MAX_PAGES * PAGE_SIZE {
            return Err(ScratchError::Encode("a part has too many pages".into()));
        }
        Ok(pieces)
    }

    /// Reads what the pages hold, put together again.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, ScratchError> {
        let Some(body) = body(bytes)? else { return Ok(Self::default()) };
        let entries: Vec<(Bytes<'_>, Bytes<'_>)> = decode(body)?;
        let sorted = entries.windows(2).all(|pair| pair[0].0.0 < pair[1].0.0);
        if !sorted {
            return Err(ScratchError::Corrupt("entries are not in order".into()));
        }
        let value = |bytes: Bytes<'_>| Rc::new(Zeroizing::new(bytes.0.to_vec()));
        let part = Self(entries.into_iter().map(|(key, bytes)| (key.0.to_vec(), value(bytes))).gather());
        // What is stored is known by what it encodes to.
        let size: usize = part.pieces()?.iter().map(|(head, value)| head.len() + value.len()).sum();
        if size != bytes.len() {
            return Err(ScratchError::Corrupt("entries are not in their shortest form".into()));
        }
        Ok(part)
    }
}

/// Strips the format byte; `None` for no bytes at all.
pub(super) fn body(bytes: &[u8]) -> Result<Option<&[u8]>, ScratchError> {
    match bytes.split_first() {
        None => Ok(None),
        Some((&FORMAT, body)) => Ok(Some(body)),
        Some((format, _)) => Err(ScratchError::Format(*format)),
    }
}

fn extend<T: Serialize>(value: &T, out: Vec<u8>) -> Result<Vec<u8>, ScratchError> {
    base::encode(value, out).map_err(ScratchError::Encode)
}

/// Serialises behind what `out` already holds.
pub(super) fn encode_to<T: Serialize + ?Sized>(
    value: &T,
    out: Vec<u8>,
) -> Result<Zeroizing<Vec<u8>>, ScratchError> {
    base::encode(value, out).map(Zeroizing::new).map_err(ScratchError::Encode)
}

/// Deserialises all of `bytes`.
pub(super) fn decode<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, ScratchError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(ScratchError::Corrupt("trailing bytes".into())),
        Err(e) => Err(ScratchError::Corrupt(e.to_string())),
    }
}

/// A borrowed byte string, written as one run.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_bytes(Borrowed).map(Bytes)
    }
}

struct Borrowed;

impl<'de> Visitor<'de> for Borrowed {
    type Value = &'de [u8];

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes")
    }

    fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(bytes)
    }
}

/// Byte strings behind each other, as one entry's value: the lists whose order matters.
#[derive(Default, PartialEq, Eq)]
pub(super) struct List(pub(super) Vec<(Vec<u8>, Vec<u8>)>);

impl Serialize for List {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.0.iter().map(|(key, value)| (Bytes(key), Bytes(value))))
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = List;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of byte strings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<List, A::Error> {
                let mut list = List::default();
                while let Some((key, value)) = input.next_element::<(Bytes<'de>, Bytes<'de>)>()? {
                    list.0.push((key.0.to_vec(), value.0.to_vec()));
                }
                Ok(list)
            }
        }
        input.deserialize_seq(Entries)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Part {
        /// The whole part, as postcard writes it.
        pub(in crate::mls) fn encode(&self) -> Vec<u8> {
            if self.0.is_empty() {
                return Vec::new();
            }
            let entries: Vec<(Bytes<'_>, Bytes<'_>)> =
                self.0.iter().map(|(key, value)| (Bytes(key), Bytes(value.as_slice()))).collect();
            postcard::to_extend(&entries, vec![FORMAT]).unwrap()
        }
    }

    fn part(entries: &[(&[u8], &[u8])]) -> Part {
        let value = |bytes: &[u8]| Rc::new(Zeroizing::new(bytes.to_vec()));
        Part(entries.iter().map(|(key, bytes)| (key.to_vec(), value(bytes))).collect())
    }

    #[test]
    fn a_part_is_format_byte_and_sorted_entries() {
        let whole = |part: Part| -> Vec<u8> {
            part.pieces().unwrap().into_iter().flat_map(|(head, value)| [&head, value].concat()).collect()
        };
        let bytes = whole(part(&[(&[2], &[8, 9]), (&[1], &[7])]));
        assert_eq!(bytes, [1, 2, 1, 1, 1, 7, 1, 2, 2, 8, 9]);
        assert!(whole(part(&[])).is_empty());
    }

    #[test]
    fn unknown_formats_trailing_bytes_and_disorder_are_refused() {
        assert!(matches!(Part::decode(&[2, 0]), Err(ScratchError::Format(2))));
        assert!(matches!(Part::decode(&[1, 0, 0]), Err(ScratchError::Corrupt(_))));
        let disorder = [1, 2, 1, 2, 0, 1, 1, 0];
        assert!(matches!(Part::decode(&disorder), Err(ScratchError::Corrupt(_))));
        let twice = [1, 2, 1, 1, 0, 1, 1, 0];
        assert!(matches!(Part::decode(&twice), Err(ScratchError::Corrupt(_))));
        // A length of 1 in two bytes.
        let long = [1, 1, 0x81, 0, 1, 0];
        assert!(matches!(Part::decode(&long), Err(ScratchError::Corrupt(_))));
    }

    proptest! {
        #[test]
        fn parts_round_trip(entries in prop::collection::btree_map(
            prop::collection::vec(any::<u8>(), 1..9), prop::collection::vec(any::<u8>(), 0..300), 0..9)
        ) {
            let value = |bytes| Rc::new(Zeroizing::new(bytes));
            let part = Part(entries.into_iter().map(|(key, bytes)| (key, value(bytes))).collect());
            let decoded = Part::decode(&part.encode()).unwrap();
            prop_assert!(decoded == part);
        }

        #[test]
        fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Part::decode(&bytes);
            let _ = decode::<List>(&bytes);
        }
    }
}
