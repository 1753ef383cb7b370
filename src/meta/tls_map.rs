//! Ordered map and set snapshots (META-011, META-012) and the keys they are ordered by.
//!
//! A map is a length in bytes and then key‖value pairs, strictly ascending by key; a set is a map
//! without values. Lengths are in their shortest form, nothing may follow. A collection holds keys
//! of one kind, so one run-time [`Key`] serves all of them.

use crate::base::Gather as _;
use crate::base::{Map, Set};

use crate::base::{InboxId, VarintError, read_varint, write_varint};

/// Why bytes are not a collection, a delta or one of their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// A length is cut off or not in its shortest form.
    #[error(transparent)]
    Length(#[from] VarintError),
    /// The input ends inside a key, a value or the announced length.
    #[error("the bytes end before the announced length")]
    Truncated,
    /// Bytes follow the value.
    #[error("bytes follow the end of the value")]
    Trailing,
    /// Keys are not strictly ascending (META-012).
    #[error("keys are not unique and ascending")]
    Unordered,
    /// An inbox id whose version is not the single byte 0 (META-011).
    #[error("an inbox id has an unknown version")]
    InboxVersion,
    /// A component id above 0xFFFF (META-005).
    #[error("a component id is greater than 0xFFFF")]
    ComponentRange,
    /// A mutation tag that is not defined.
    #[error("unknown mutation tag {0}")]
    UnknownTag(u8),
}

/// What the keys of a collection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// 0x00 and 32 raw bytes.
    Inbox,
    /// A component id as a variable-length integer, 4 bytes from 0x4000 on (META-005).
    Component,
    /// A byte string with its length.
    Bytes,
}

/// A key. Within one kind the derived order is the order of META-012: numbers by value, inboxes
/// and byte strings by their bytes without prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// An inbox.
    Inbox(InboxId),
    /// A component.
    Component(u16),
    /// Bytes an app chose.
    Bytes(Vec<u8>),
}

impl Key {
    /// The inbox, when the collection is keyed by inbox.
    pub fn inbox(&self) -> Option<InboxId> {
        match self {
            Self::Inbox(inbox) => Some(*inbox),
            Self::Component(_) | Self::Bytes(_) => None,
        }
    }

    /// Appends the wire form.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Inbox(inbox) => out.extend(inbox_bytes(inbox)),
            Self::Component(id) => write_varint(u64::from(*id), out),
            Self::Bytes(bytes) => write_bytes(bytes, out),
        }
    }

    /// Reads one key of `kind`, returns it with the rest.
    pub(super) fn read(kind: KeyKind, input: &[u8]) -> Result<(Self, &[u8]), CodecError> {
        match kind {
            KeyKind::Inbox => split_inbox(input).map(|(inbox, rest)| (Self::Inbox(inbox), rest)),
            KeyKind::Component => {
                let (value, rest) = read_varint(input)?;
                let id = u16::try_from(value).map_err(|_| CodecError::ComponentRange)?;
                Ok((Self::Component(id), rest))
            }
            KeyKind::Bytes => {
                let (bytes, rest) = read_bytes(input)?;
                Ok((Self::Bytes(bytes.to_vec()), rest))
            }
        }
    }
}

/// The entries of a map snapshot.
pub type Entries = Map<Key, Vec<u8>>;

/// The wire form of an inbox id: version 0 and 32 bytes (META-011).
pub fn inbox_bytes(inbox: &InboxId) -> [u8; 33] {
    let mut out = [0; 33];
    out[1..].copy_from_slice(&inbox.0);
    out
}

fn split_inbox(input: &[u8]) -> Result<(InboxId, &[u8]), CodecError> {
    let (version, rest) = input.split_first().ok_or(CodecError::Truncated)?;
    if *version != 0 {
        return Err(CodecError::InboxVersion);
    }
    let (id, rest) = rest.split_first_chunk::<32>().ok_or(CodecError::Truncated)?;
    Ok((InboxId(*id), rest))
}

/// Reads exactly one inbox id.
pub fn read_inbox(bytes: &[u8]) -> Result<InboxId, CodecError> {
    match Key::read(KeyKind::Inbox, bytes)? {
        (Key::Inbox(inbox), []) => Ok(inbox),
        _ => Err(CodecError::Trailing),
    }
}

/// Encodes a map snapshot.
pub fn encode_map(entries: &Entries) -> Vec<u8> {
    let mut body = Vec::new();
    for (key, value) in entries {
        key.write(&mut body);
        write_bytes(value, &mut body);
    }
    framed(&body)
}

/// Reads a map snapshot, all of `bytes`.
pub fn decode_map(kind: KeyKind, bytes: &[u8]) -> Result<Entries, CodecError> {
    let mut rest = unframed(bytes)?;
    let mut entries = Map::new();
    while !rest.is_empty() {
        let (key, after_key) = Key::read(kind, rest)?;
        let (value, after_value) = read_bytes(after_key)?;
        rest = after_value;
        if entries.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return Err(CodecError::Unordered);
        }
        entries.insert(key, value.to_vec());
    }
    Ok(entries)
}

/// Encodes a set snapshot.
pub fn encode_set(keys: &Set<Key>) -> Vec<u8> {
    let mut body = Vec::new();
    for key in keys {
        key.write(&mut body);
    }
    framed(&body)
}

/// Reads a set snapshot, all of `bytes`.
pub fn decode_set(kind: KeyKind, bytes: &[u8]) -> Result<Set<Key>, CodecError> {
    let mut rest = unframed(bytes)?;
    let mut keys = Set::new();
    while !rest.is_empty() {
        let (key, after) = Key::read(kind, rest)?;
        rest = after;
        if keys.last().is_some_and(|last| *last >= key) {
            return Err(CodecError::Unordered);
        }
        keys.insert(key);
    }
    Ok(keys)
}

/// Encodes a set of inboxes.
pub fn encode_inbox_set<'a>(inboxes: impl IntoIterator<Item = &'a InboxId>) -> Vec<u8> {
    encode_set(&inboxes.into_iter().map(|inbox| Key::Inbox(*inbox)).gather())
}

/// Reads a set of inboxes.
pub fn decode_inbox_set(bytes: &[u8]) -> Result<Set<InboxId>, CodecError> {
    Ok(decode_set(KeyKind::Inbox, bytes)?.iter().filter_map(Key::inbox).gather())
}

/// Encodes a map keyed by inbox.
pub fn encode_inbox_map(entries: &Map<InboxId, Vec<u8>>) -> Vec<u8> {
    let mut body = Vec::new();
    for (inbox, value) in entries {
        body.extend(inbox_bytes(inbox));
        write_bytes(value, &mut body);
    }
    framed(&body)
}

/// Reads a map keyed by inbox: its entries, ascending.
pub fn inbox_entries(bytes: &[u8]) -> Result<Vec<(InboxId, &[u8])>, CodecError> {
    let mut rest = unframed(bytes)?;
    let mut entries: Vec<(InboxId, &[u8])> = Vec::new();
    while !rest.is_empty() {
        let (inbox, after_key) = split_inbox(rest)?;
        let (value, after_value) = read_bytes(after_key)?;
        rest = after_value;
        if entries.last().is_some_and(|(last, _)| *last >= inbox) {
            return Err(CodecError::Unordered);
        }
        entries.push((inbox, value));
    }
    Ok(entries)
}

/// Puts the length in bytes before `body`.
pub(super) fn framed(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 4);
    write_bytes(body, &mut out);
    out
}

/// Takes the length off; the rest must be exactly that long.
pub(super) fn unframed(bytes: &[u8]) -> Result<&[u8], CodecError> {
    match read_bytes(bytes)? {
        (body, []) => Ok(body),
        _ => Err(CodecError::Trailing),
    }
}

/// Appends a byte string with its length.
pub(super) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Reads a byte string with its length, returns it with the rest.
pub(super) fn read_bytes(input: &[u8]) -> Result<(&[u8], &[u8]), CodecError> {
    let (len, rest) = read_varint(input)?;
    let len = usize::try_from(len).map_err(|_| CodecError::Truncated)?;
    rest.split_at_checked(len).ok_or(CodecError::Truncated)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub fn keys(kind: KeyKind) -> BoxedStrategy<Key> {
        match kind {
            KeyKind::Inbox => any::<[u8; 32]>().prop_map(|b| Key::Inbox(InboxId(b))).boxed(),
            KeyKind::Component => any::<u16>().prop_map(Key::Component).boxed(),
            KeyKind::Bytes => prop::collection::vec(any::<u8>(), 0..70).prop_map(Key::Bytes).boxed(),
        }
    }

    fn kinds() -> impl Strategy<Value = KeyKind> {
        prop_oneof![Just(KeyKind::Inbox), Just(KeyKind::Component), Just(KeyKind::Bytes)]
    }

    fn value() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..80)
    }

    #[test]
    fn snapshots_have_the_specified_bytes() {
        let (one, two) = (InboxId([1; 32]), InboxId([2; 32]));
        let set = encode_inbox_set([&two, &one]);
        let expected = [&[0x40, 66, 0][..], &[1; 32], &[0], &[2; 32]].concat();
        assert_eq!(set, expected);
        assert_eq!(encode_inbox_set([]), [0]);

        let map = Map::from([(Key::Component(0x8003), vec![7])]);
        assert_eq!(encode_map(&map), [6, 0x80, 0, 0x80, 0x03, 1, 7]);
        let map = Map::from([(Key::Bytes(vec![9]), vec![]), (Key::Bytes(vec![9, 0]), vec![5])]);
        assert_eq!(encode_map(&map), [8, 1, 9, 0, 2, 9, 0, 1, 5]);
    }

    #[test]
    fn unsorted_and_repeated_keys_are_refused() {
        assert_eq!(decode_set(KeyKind::Bytes, &[4, 1, 2, 1, 1]), Err(CodecError::Unordered));
        assert_eq!(decode_set(KeyKind::Bytes, &[4, 1, 1, 1, 1]), Err(CodecError::Unordered));
        assert_eq!(decode_map(KeyKind::Bytes, &[6, 1, 1, 0, 1, 1, 0]), Err(CodecError::Unordered));
        // A longer key with a greater length prefix can still be the smaller one.
        assert!(decode_set(KeyKind::Bytes, &[5, 2, 1, 1, 1, 2]).is_ok());
        assert_eq!(decode_set(KeyKind::Bytes, &[5, 1, 2, 2, 1, 1]), Err(CodecError::Unordered));
    }

    #[test]
    fn lengths_must_be_exact_and_shortest() {
        assert_eq!(decode_set(KeyKind::Bytes, &[]), Err(VarintError::Truncated.into()));
        assert_eq!(decode_set(KeyKind::Bytes, &[0, 0]), Err(CodecError::Trailing));
        assert_eq!(decode_set(KeyKind::Bytes, &[2, 1]), Err(CodecError::Truncated));
        assert_eq!(decode_set(KeyKind::Bytes, &[0x40, 0]), Err(VarintError::NotMinimal.into()));
        assert_eq!(decode_set(KeyKind::Bytes, &[3, 0x40, 1, 9]), Err(VarintError::NotMinimal.into()));
        assert_eq!(decode_set(KeyKind::Component, &[2, 0x40, 1]), Err(VarintError::NotMinimal.into()));
        assert_eq!(decode_set(KeyKind::Component, &[4, 0x80, 1, 0, 0]), Err(CodecError::ComponentRange));
    }

    #[test]
    fn an_inbox_id_has_version_zero_in_one_byte() {
        let good = inbox_bytes(&InboxId([3; 32]));
        assert_eq!(read_inbox(&good), Ok(InboxId([3; 32])));
        let mut bad = good;
        bad[0] = 1;
        assert_eq!(read_inbox(&bad), Err(CodecError::InboxVersion));
        let long_form = [&[0x40, 0][..], &[3; 32]].concat();
        assert_eq!(read_inbox(&long_form), Err(CodecError::InboxVersion));
        assert_eq!(read_inbox(&good[..32]), Err(CodecError::Truncated));
        assert_eq!(read_inbox(&[&good[..], &[0]].concat()), Err(CodecError::Trailing));
    }

    proptest! {
        #[test]
        fn maps_and_sets_round_trip(
            (kind, entries) in kinds().prop_flat_map(|kind| {
                (Just(kind), prop::collection::btree_map(keys(kind), value(), 0..12))
            })
        ) {
            let entries: Map<Key, Vec<u8>> = entries.into_iter().collect();
            let bytes = encode_map(&entries);
            prop_assert_eq!(decode_map(kind, &bytes).unwrap(), entries.clone());
            let set: Set<Key> = entries.into_keys().collect();
            prop_assert_eq!(decode_set(kind, &encode_set(&set)).unwrap(), set);
        }

        #[test]
        fn maps_by_inbox_are_maps(bytes in prop::collection::vec(any::<u8>(), 0..120),
            good in prop::collection::btree_map(any::<[u8; 32]>(), value(), 0..6)
        ) {
            let good = good.into_iter().map(|(id, value)| (InboxId(id), value)).collect();
            for bytes in [bytes, encode_inbox_map(&good)] {
                let read = |map: Entries| map.into_iter().filter_map(|(key, value)| Some((key.inbox()?, value)));
                let expected = decode_map(KeyKind::Inbox, &bytes).map(|map| read(map).collect::<Vec<_>>());
                let owned = |(inbox, value): &(InboxId, &[u8])| (*inbox, value.to_vec());
                let entries = inbox_entries(&bytes).map(|all| all.iter().map(owned).collect::<Vec<_>>());
                prop_assert_eq!(entries, expected);
            }
        }

        #[test]
        fn what_decodes_has_one_encoding(kind in kinds(), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(map) = decode_map(kind, &bytes) {
                prop_assert_eq!(encode_map(&map), bytes.clone());
            }
            if let Ok(set) = decode_set(kind, &bytes) {
                prop_assert_eq!(encode_set(&set), bytes);
            }
        }
    }
}
