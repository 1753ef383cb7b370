//! Collecting into ordered maps and sets, small in code.
//!
//! `collect` sorts what it was given and builds the tree at once, which brings a whole stable sort
//! into the module for every type it is used with: a tenth of the download. The trees here are
//! small, so they are filled one by one.

use crate::base::{Map, Set};

/// An ordered map or set.
pub trait Tree<T>: Default + Extend<T> {}

impl<T: Ord> Tree<T> for Set<T> {}
impl<K: Ord, V> Tree<(K, V)> for Map<K, V> {}

/// [`Gather::gather`] for every iterator.
pub trait Gather: Iterator + Sized {
    /// What [`Iterator::collect`] gives, filled one by one.
    fn gather<C: Tree<Self::Item>>(self) -> C {
        let mut tree = C::default();
        tree.extend(self);
        tree
    }

    /// Like [`Gather::gather`], ending at the first error.
    fn try_gather<T, E, C: Tree<T>>(mut self) -> Result<C, E>
    where
        Self: Iterator<Item = Result<T, E>>,
    {
        self.try_fold(C::default(), |mut tree, item| {
            tree.extend([item?]);
            Ok(tree)
        })
    }
}

impl<I: Iterator> Gather for I {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathers_what_collect_collects() {
        let pairs = [(2, 'b'), (1, 'a'), (2, 'c')];
        let gathered: Map<_, _> = pairs.into_iter().gather();
        assert_eq!(gathered, pairs.into_iter().collect());
        let failing: Result<Set<i32>, &str> = [Ok(1), Err("no"), Ok(2)].into_iter().try_gather();
        assert_eq!(failing, Err("no"));
    }
}
