//! Ordered maps as sorted vectors, small in code; sets are in `set`.
//!
//! Both have the methods of the standard library's trees that this crate uses, with the same
//! meaning. The trees' code is made anew for every type they hold and came to a tenth of the
//! download; here it is a binary search and a vector. What is kept in them is small or arrives
//! mostly in order, so that moving what lies behind a new key costs nothing to speak of; where many
//! keys come in any order ([`crate::store::memory`]) a tree is used.

use std::borrow::Borrow;
use std::fmt;

/// A map ordered by its keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Map<K, V>(Vec<(K, V)>);

type ToRef<K, V> = fn(&(K, V)) -> (&K, &V);
type ToKey<K, V> = fn(&(K, V)) -> &K;
type ToValue<K, V> = fn(&(K, V)) -> &V;

/// Entries by reference, in order.
pub type Iter<'a, K, V> = std::iter::Map<std::slice::Iter<'a, (K, V)>, ToRef<K, V>>;

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Map<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes every entry.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Entries in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Keys in order.
    pub fn keys(&self) -> std::iter::Map<std::slice::Iter<'_, (K, V)>, ToKey<K, V>> {
        self.0.iter().map(|(key, _)| key)
    }

    /// Values in the order of their keys.
    pub fn values(&self) -> std::iter::Map<std::slice::Iter<'_, (K, V)>, ToValue<K, V>> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The keys alone.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> {
        self.0.into_iter().map(|(key, _)| key)
    }

    /// The values alone.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }

    /// The least key with its value.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The greatest key with its value.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// Keeps the entries `keep` says yes to.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> Map<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        // Most keys arrive in order: the place behind the last is looked at first.
        match self.0.last() {
            Some((last, _)) if last.borrow() < key => Err(self.0.len()),
            _ => self.0.binary_search_by(|(other, _)| other.borrow().cmp(key)),
        }
    }

    /// The value under a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// The value under a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// True when there is a value under the key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Stores a value; gives back the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => self.0.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Takes a value out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        Some(self.0.remove(at).1)
    }

    /// The place of a key.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let at = self.find(&key);
        Entry { map: self, key, at }
    }

    /// Takes out the entries from `key` on.
    pub fn split_off<Q: Ord + ?Sized>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
    {
        let (Ok(at) | Err(at)) = self.find(key);
        Self(self.0.split_off(at))
    }

    /// Takes over every entry of `other`.
    pub fn append(&mut self, other: &mut Self) {
        self.extend(std::mem::take(&mut other.0));
    }
}

/// The place of a key in a map.
pub struct Entry<'a, K, V> {
    map: &'a mut Map<K, V>,
    key: K,
    at: Result<usize, usize>,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value there, or the one that `make` makes.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let Self { map, key, at } = self;
        let at = at.unwrap_or_else(|at| {
            map.0.insert(at, (key, make()));
            at
        });
        &mut map.0[at].1
    }

    /// The value there, or this one.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value there, or an empty one.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

type ToMut<'a, K, V> = fn(&'a mut (K, V)) -> (&'a K, &'a mut V);

impl<'a, K, V> IntoIterator for &'a mut Map<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = std::iter::Map<std::slice::IterMut<'a, (K, V)>, ToMut<'a, K, V>>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut().map(|(key, value)| (key, value))
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> std::ops::Index<&Q> for Map<K, V> {
    type Output = V;
    /// Panics without a value under the key, as the standard library's maps do.
    fn index(&self, key: &Q) -> &V {
        match self.find(key) {
            Ok(at) => &self.0[at].1,
            Err(_) => panic!("no entry under the key"),
        }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is done to it, a map is what the standard library's is.
        #[test]
        fn a_map_does_what_a_tree_does(steps in prop::collection::vec((0u8..6, 0u8..20, any::<u8>()), 0..60)) {
            let (mut map, mut tree) = (Map::new(), BTreeMap::new());
            for (what, key, value) in steps {
                match what {
                    0 | 1 => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                    2 => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    3 => {
                        let (ours, theirs) = (map.entry(key).or_insert(value), tree.entry(key).or_insert(value));
                        prop_assert_eq!(ours, theirs);
                    }
                    4 => {
                        map.retain(|known, _| known % 3 != key % 3);
                        tree.retain(|known, _| known % 3 != key % 3);
                    }
                    _ => {
                        let (mut ours, mut theirs) = (map.split_off(&key), tree.split_off(&key));
                        prop_assert!(ours.iter().eq(theirs.iter()));
                        map.append(&mut ours);
                        tree.append(&mut theirs);
                        prop_assert!(ours.is_empty());
                    }
                }
                prop_assert!(map.iter().eq(tree.iter()) && map.len() == tree.len());
                prop_assert_eq!(map.get(&key), tree.get(&key));
                prop_assert_eq!(map.first_key_value(), tree.first_key_value());
                prop_assert_eq!(map.last_key_value(), tree.last_key_value());
            }
        }
    }
}
