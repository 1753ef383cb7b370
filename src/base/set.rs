//! Ordered sets as sorted vectors, small in code: see `map` for why.

use std::borrow::Borrow;
use std::fmt;

/// An ordered set.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Set<T>(Vec<T>);

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Set<T> {
    /// An empty set.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many members it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes every member.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Members in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// The least member.
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// The greatest member.
    pub fn last(&self) -> Option<&T> {
        self.0.last()
    }

    /// Keeps the members `keep` says yes to.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
    }
}

impl<T: Ord> Set<T> {
    fn find<Q: Ord + ?Sized>(&self, member: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        match self.0.last() {
            Some(last) if last.borrow() < member => Err(self.0.len()),
            _ => self.0.binary_search_by(|other| other.borrow().cmp(member)),
        }
    }

    /// True for a member.
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.find(member).is_ok()
    }

    /// Adds a member; false when it was one.
    pub fn insert(&mut self, member: T) -> bool {
        let place = self.find(&member);
        if let Err(at) = place {
            self.0.insert(at, member);
        }
        place.is_err()
    }

    /// Removes a member; false when it was none.
    pub fn remove<Q: Ord + ?Sized>(&mut self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let place = self.find(member);
        if let Ok(at) = place {
            self.0.remove(at);
        }
        place.is_ok()
    }

    /// Members that `other` does not have.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.0.iter().filter(|member| !other.contains(*member))
    }

    /// Members that `other` has too.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.0.iter().filter(|member| other.contains(*member))
    }

    /// True when `other` has every member.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().all(|member| other.contains(member))
    }

    /// True when no member is one of `other`.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.0.iter().any(|member| other.contains(member))
    }

    /// Takes over every member of `other`.
    pub fn append(&mut self, other: &mut Self) {
        self.extend(std::mem::take(&mut other.0));
    }
}

impl<T: Ord> Extend<T> for Set<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<'a, T: Ord + Copy> Extend<&'a T> for Set<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, members: I) {
        self.extend(members.into_iter().copied());
    }
}

impl<T: Ord> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        let mut set = Self::new();
        set.extend(members);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for Set<T> {
    fn from(members: [T; N]) -> Self {
        members.into_iter().collect()
    }
}

impl<T> IntoIterator for Set<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Set<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is done to it, a set is what the standard library's is.
        #[test]
        fn a_set_does_what_a_tree_does(
            steps in prop::collection::vec((0u8..4, 0u8..20), 0..60),
            other in prop::collection::btree_set(0u8..20, 0..10),
        ) {
            let (mut set, mut tree) = (Set::new(), BTreeSet::new());
            let ours: Set<u8> = other.iter().copied().collect();
            for (what, member) in steps {
                match what {
                    0 | 1 => prop_assert_eq!(set.insert(member), tree.insert(member)),
                    2 => prop_assert_eq!(set.remove(&member), tree.remove(&member)),
                    _ => {
                        set.retain(|known| known % 3 != member % 3);
                        tree.retain(|known| known % 3 != member % 3);
                    }
                }
                prop_assert!(set.iter().eq(tree.iter()) && set.len() == tree.len());
                prop_assert_eq!(set.contains(&member), tree.contains(&member));
                prop_assert!(set.difference(&ours).eq(tree.difference(&other)));
                prop_assert!(set.intersection(&ours).eq(tree.intersection(&other)));
                prop_assert_eq!(set.is_subset(&ours), tree.is_subset(&other));
                prop_assert_eq!(set.is_disjoint(&ours), tree.is_disjoint(&other));
                prop_assert_eq!((set.first(), set.last()), (tree.first(), tree.last()));
            }
        }
    }
}
