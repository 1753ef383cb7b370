//! Deltas: the payload of an Update to a map or a set (META-013).
//!
//! Mutations apply in their listed order, each on the result of the one before. They are strict:
//! inserting a present key, updating or deleting an absent one, or a hash that names no key fails
//! the whole delta, and nothing of it is kept. Keys may repeat and need no order. A removal by
//! hash is resolved against the snapshot before the delta; a key that the same delta has removed
//! or only just inserted cannot be named by hash.

use crate::base::Gather as _;
use crate::base::{Map, Set};

use sha2::{Digest, Sha256};

use super::tls_map::{CodecError, Entries, Key, KeyKind, framed, read_bytes, unframed, write_bytes};

/// One mutation of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapMutation {
    /// Adds an absent key.
    Insert(Key, Vec<u8>),
    /// Replaces the value of a present key.
    Update(Key, Vec<u8>),
    /// Removes a present key.
    Delete(Key),
}

/// One mutation of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetMutation {
    /// Adds an absent key.
    Insert(Key),
    /// Removes a present key.
    Remove(Key),
    /// Removes the key whose wire form has this SHA-256.
    RemoveByHash([u8; 32]),
}

/// What a mutation did to one key. In a set the values are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key.
    pub key: Key,
    /// Its value before; `None` when it was absent.
    pub old: Option<Vec<u8>>,
    /// Its value after; `None` when it is absent.
    pub new: Option<Vec<u8>>,
}

/// Why a delta does not apply to a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// An insert of a key that is there.
    #[error("mutation {0} inserts a key that is already present")]
    Present(usize),
    /// An update or removal of a key that is not there.
    #[error("mutation {0} names a key that is not present")]
    Absent(usize),
    /// A hash that no key of the snapshot before the delta has.
    #[error("mutation {0} names a key by a hash that no key has")]
    UnknownHash(usize),
}

/// Encodes a map delta.
pub fn encode_map_delta(mutations: &[MapMutation]) -> Vec<u8> {
    let mut body = Vec::new();
    for mutation in mutations {
        let (tag, key, value) = match mutation {
            MapMutation::Insert(key, value) => (0, key, Some(value)),
            MapMutation::Update(key, value) => (1, key, Some(value)),
            MapMutation::Delete(key) => (2, key, None),
        };
        body.push(tag);
        key.write(&mut body);
        if let Some(value) = value {
            write_bytes(value, &mut body);
        }
    }
    framed(&body)
}

/// Reads a map delta, all of `bytes`.
pub fn decode_map_delta(kind: KeyKind, bytes: &[u8]) -> Result<Vec<MapMutation>, CodecError> {
    let mut rest = unframed(bytes)?;
    let mut mutations = Vec::new();
    while let Some((tag, after_tag)) = rest.split_first() {
        if *tag > 2 {
            return Err(CodecError::UnknownTag(*tag));
        }
        let (key, after_key) = Key::read(kind, after_tag)?;
        rest = after_key;
        if *tag == 2 {
            mutations.push(MapMutation::Delete(key));
            continue;
        }
        let (value, after_value) = read_bytes(after_key)?;
        rest = after_value;
        mutations.push(match tag {
            0 => MapMutation::Insert(key, value.to_vec()),
            _ => MapMutation::Update(key, value.to_vec()),
        });
    }
    Ok(mutations)
}

/// Encodes a set delta.
pub fn encode_set_delta(mutations: &[SetMutation]) -> Vec<u8> {
    let mut body = Vec::new();
    for mutation in mutations {
        match mutation {
            SetMutation::Insert(key) => {
                body.push(0);
                key.write(&mut body);
            }
            SetMutation::Remove(key) => {
                body.push(1);
                key.write(&mut body);
            }
            SetMutation::RemoveByHash(hash) => {
                body.push(2);
                body.extend(hash);
            }
        }
    }
    framed(&body)
}

/// Reads a set delta, all of `bytes`.
pub fn decode_set_delta(kind: KeyKind, bytes: &[u8]) -> Result<Vec<SetMutation>, CodecError> {
    let mut rest = unframed(bytes)?;
    let mut mutations = Vec::new();
    while let Some((tag, after_tag)) = rest.split_first() {
        let (mutation, after) = match tag {
            0 => Key::read(kind, after_tag).map(|(key, rest)| (SetMutation::Insert(key), rest))?,
            1 => Key::read(kind, after_tag).map(|(key, rest)| (SetMutation::Remove(key), rest))?,
            2 => {
                let (hash, rest) = after_tag.split_first_chunk::<32>().ok_or(CodecError::Truncated)?;
                (SetMutation::RemoveByHash(*hash), rest)
            }
            other => return Err(CodecError::UnknownTag(*other)),
        };
        mutations.push(mutation);
        rest = after;
    }
    Ok(mutations)
}

/// Applies a map delta; `before` is never changed, so a failure keeps nothing.
pub fn apply_map_delta(
    before: &Entries,
    mutations: &[MapMutation],
) -> Result<(Entries, Vec<Change>), DeltaError> {
    let mut after = before.clone();
    let mut changes = Vec::with_capacity(mutations.len());
    for (index, mutation) in mutations.iter().enumerate() {
        let (key, new) = match mutation {
            MapMutation::Insert(key, value) => {
                if after.contains_key(key) {
                    return Err(DeltaError::Present(index));
                }
                (key, Some(value.clone()))
            }
            MapMutation::Update(key, value) => (key, Some(value.clone())),
            MapMutation::Delete(key) => (key, None),
        };
        let old = match &new {
            Some(value) => after.insert(key.clone(), value.clone()),
            None => after.remove(key),
        };
        if old.is_none() && !matches!(mutation, MapMutation::Insert(..)) {
            return Err(DeltaError::Absent(index));
        }
        changes.push(Change { key: key.clone(), old, new });
    }
    Ok((after, changes))
}

/// Applies a set delta; `before` is never changed, so a failure keeps nothing.
pub fn apply_set_delta(
    before: &Set<Key>,
    mutations: &[SetMutation],
) -> Result<(Set<Key>, Vec<Change>), DeltaError> {
    let hashes = hashes_if_needed(before, mutations);
    let mut after = before.clone();
    let mut changes = Vec::with_capacity(mutations.len());
    for (index, mutation) in mutations.iter().enumerate() {
        let removed = match mutation {
            SetMutation::Insert(key) => {
                if !after.insert(key.clone()) {
                    return Err(DeltaError::Present(index));
                }
                changes.push(Change { key: key.clone(), old: None, new: Some(Vec::new()) });
                continue;
            }
            SetMutation::Remove(key) => key,
            SetMutation::RemoveByHash(hash) => {
                hashes.get(hash).copied().ok_or(DeltaError::UnknownHash(index))?
            }
        };
        if !after.remove(removed) {
            return Err(DeltaError::Absent(index));
        }
        changes.push(Change { key: removed.clone(), old: Some(Vec::new()), new: None });
    }
    Ok((after, changes))
}

/// SHA-256 of a key's wire form, by which a set removal may name it.
pub fn key_hash(key: &Key) -> [u8; 32] {
    let mut bytes = Vec::new();
    key.write(&mut bytes);
    Sha256::digest(&bytes).into()
}

fn hashes_if_needed<'a>(before: &'a Set<Key>, mutations: &[SetMutation]) -> Map<[u8; 32], &'a Key> {
    if mutations.iter().any(|mutation| matches!(mutation, SetMutation::RemoveByHash(_))) {
        before.iter().map(|key| (key_hash(key), key)).gather()
    } else {
        Map::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::InboxId;

    fn key(n: u8) -> Key {
        Key::Bytes(vec![n])
    }

    fn small_key() -> impl Strategy<Value = Key> {
        (0u8..6).prop_map(key)
    }

    fn map_mutation() -> impl Strategy<Value = MapMutation> {
        let value = || prop::collection::vec(any::<u8>(), 0..3);
        prop_oneof![
            (small_key(), value()).prop_map(|(k, v)| MapMutation::Insert(k, v)),
            (small_key(), value()).prop_map(|(k, v)| MapMutation::Update(k, v)),
            small_key().prop_map(MapMutation::Delete),
        ]
    }

    fn set_mutation() -> impl Strategy<Value = SetMutation> {
        prop_oneof![
            small_key().prop_map(SetMutation::Insert),
            small_key().prop_map(SetMutation::Remove),
            small_key().prop_map(|k| SetMutation::RemoveByHash(key_hash(&k))),
        ]
    }

    /// A map as a plain list, to compare with.
    fn naive_map(start: &[(Key, Vec<u8>)], mutations: &[MapMutation]) -> Option<Vec<(Key, Vec<u8>)>> {
        let mut list = start.to_vec();
        for mutation in mutations {
            match mutation {
                MapMutation::Insert(k, v) => {
                    if list.iter().any(|(present, _)| present == k) {
                        return None;
                    }
                    list.push((k.clone(), v.clone()));
                }
                MapMutation::Update(k, v) => {
                    list.iter_mut().find(|(present, _)| present == k)?.1 = v.clone();
                }
                MapMutation::Delete(k) => {
                    let at = list.iter().position(|(present, _)| present == k)?;
                    list.remove(at);
                }
            }
        }
        list.sort();
        Some(list)
    }

    fn naive_set(start: &[Key], mutations: &[SetMutation]) -> Option<Vec<Key>> {
        let mut list = start.to_vec();
        for mutation in mutations {
            let removed = match mutation {
                SetMutation::Insert(k) if list.contains(k) => return None,
                SetMutation::Insert(k) => {
                    list.push(k.clone());
                    continue;
                }
                SetMutation::Remove(k) => k.clone(),
                SetMutation::RemoveByHash(h) => start.iter().find(|k| key_hash(k) == *h)?.clone(),
            };
            let at = list.iter().position(|k| *k == removed)?;
            list.remove(at);
        }
        list.sort();
        Some(list)
    }

    #[test]
    fn deltas_have_the_specified_bytes() {
        let delta = [
            MapMutation::Insert(key(1), vec![5]),
            MapMutation::Update(key(2), vec![]),
            MapMutation::Delete(key(3)),
        ];
        let bytes = [12, 0, 1, 1, 1, 5, 1, 1, 2, 0, 2, 1, 3];
        assert_eq!(encode_map_delta(&delta), bytes);
        assert_eq!(decode_map_delta(KeyKind::Bytes, &bytes).unwrap(), delta);

        let hash = [9; 32];
        let delta =
            [SetMutation::Insert(key(1)), SetMutation::Remove(key(2)), SetMutation::RemoveByHash(hash)];
        let bytes = [&[39, 0, 1, 1, 1, 1, 2, 2][..], &hash].concat();
        assert_eq!(encode_set_delta(&delta), bytes);
        assert_eq!(decode_set_delta(KeyKind::Bytes, &bytes).unwrap(), delta);
    }

    #[test]
    fn a_key_hash_covers_the_wire_form() {
        let inbox = InboxId([4; 32]);
        let wire = [&[0][..], &[4; 32]].concat();
        assert_eq!(key_hash(&Key::Inbox(inbox)), <[u8; 32]>::from(Sha256::digest(wire)));
        assert_eq!(key_hash(&key(7)), <[u8; 32]>::from(Sha256::digest([1, 7])));
    }

    #[test]
    fn malformed_deltas_are_refused() {
        assert_eq!(decode_map_delta(KeyKind::Bytes, &[2, 3, 0]), Err(CodecError::UnknownTag(3)));
        assert_eq!(decode_set_delta(KeyKind::Bytes, &[2, 3, 0]), Err(CodecError::UnknownTag(3)));
        assert_eq!(decode_map_delta(KeyKind::Bytes, &[0, 0]), Err(CodecError::Trailing));
        assert_eq!(decode_set_delta(KeyKind::Bytes, &[2, 2, 0]), Err(CodecError::Truncated));
        // A map snapshot is not a map delta.
        let snapshot = super::super::tls_map::encode_map(&Map::from([(key(1), vec![1])]));
        assert!(decode_map_delta(KeyKind::Bytes, &snapshot).is_err());
    }

    #[test]
    fn a_hash_names_only_what_was_there_before_the_delta() {
        let before = Set::from([key(1)]);
        let by_hash = |n| SetMutation::RemoveByHash(key_hash(&key(n)));
        assert!(apply_set_delta(&before, &[by_hash(1)]).unwrap().0.is_empty());
        let fresh = [SetMutation::Insert(key(2)), by_hash(2)];
        assert_eq!(apply_set_delta(&before, &fresh), Err(DeltaError::UnknownHash(1)));
        assert_eq!(apply_set_delta(&before, &[by_hash(1), by_hash(1)]), Err(DeltaError::Absent(1)));
        // Named by hash, removed and put back by name: resolvable all along.
        let again = [SetMutation::Remove(key(1)), SetMutation::Insert(key(1)), by_hash(1)];
        assert!(apply_set_delta(&before, &again).is_ok());
    }

    proptest! {
        #[test]
        fn map_deltas_agree_with_a_plain_list(
            start in prop::collection::btree_map(small_key(), prop::collection::vec(any::<u8>(), 0..3), 0..5),
            delta in prop::collection::vec(map_mutation(), 0..8),
        ) {
            let list: Vec<_> = start.clone().into_iter().collect();
            let start = list.iter().cloned().collect();
            match (apply_map_delta(&start, &delta), naive_map(&list, &delta)) {
                (Ok((after, changes)), Some(expected)) => {
                    prop_assert_eq!(after.into_iter().collect::<Vec<_>>(), expected);
                    prop_assert_eq!(changes.len(), delta.len());
                }
                (Err(_), None) => {}
                (got, expected) => prop_assert!(false, "{:?} instead of {:?}", got, expected),
            }
        }

        #[test]
        fn set_deltas_agree_with_a_plain_list(
            start in prop::collection::btree_set(small_key(), 0..5),
            delta in prop::collection::vec(set_mutation(), 0..8),
        ) {
            let list: Vec<_> = start.iter().cloned().collect();
            let start = start.into_iter().collect();
            let got = apply_set_delta(&start, &delta).ok().map(|(after, _)| after.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(got, naive_set(&list, &delta));
        }

        #[test]
        fn deltas_round_trip(
            map in prop::collection::vec(map_mutation(), 0..8),
            set in prop::collection::vec(set_mutation(), 0..8),
        ) {
            prop_assert_eq!(decode_map_delta(KeyKind::Bytes, &encode_map_delta(&map)).unwrap(), map);
            prop_assert_eq!(decode_set_delta(KeyKind::Bytes, &encode_set_delta(&set)).unwrap(), set);
        }

        #[test]
        fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            for kind in [KeyKind::Inbox, KeyKind::Component, KeyKind::Bytes] {
                let _ = decode_map_delta(kind, &bytes);
                let _ = decode_set_delta(kind, &bytes);
            }
        }
    }
}
