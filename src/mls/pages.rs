//! A part as the pages it is stored in, seen without putting the whole together: most pages of most
//! parts are where they were before, and lie within one entry.

use std::ops::Deref;

use zeroize::Zeroizing;

use super::parts::{PAGE_SIZE, Part};
use super::scratch::ScratchError;

/// One page's bytes.
pub(super) enum Page<'a> {
    /// Within one entry.
    Within(&'a [u8]),
    /// Across entries.
    Across(Zeroizing<Vec<u8>>),
}

impl Deref for Page<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Within(bytes) => bytes,
            Self::Across(bytes) => bytes,
        }
    }
}

/// The pages of a part, in order; all but the last are full.
pub(super) struct Pages<'a> {
    /// What is left of the part: each entry's head and value.
    pieces: std::vec::IntoIter<(Vec<u8>, &'a [u8])>,
    head: Vec<u8>,
    value: &'a [u8],
}

impl<'a> Pages<'a> {
    pub(super) fn of(part: &'a Part) -> Result<Self, ScratchError> {
        Ok(Self { pieces: part.pieces()?.into_iter(), head: Vec::new(), value: &[] })
    }
}

impl<'a> Iterator for Pages<'a> {
    type Item = Page<'a>;

    fn next(&mut self) -> Option<Page<'a>> {
        if self.head.is_empty()
            && let Some((page, rest)) = self.value.split_at_checked(PAGE_SIZE)
        {
            self.value = rest;
            return Some(Page::Within(page));
        }
        let mut page = Zeroizing::new(Vec::with_capacity(PAGE_SIZE));
        while page.len() < PAGE_SIZE {
            if self.head.is_empty() && self.value.is_empty() {
                match self.pieces.next() {
                    Some((head, value)) => (self.head, self.value) = (head, value),
                    None => break,
                }
            }
            let head = self.head.len().min(PAGE_SIZE - page.len());
            page.extend(self.head.drain(..head));
            let (value, rest) = self.value.split_at(self.value.len().min(PAGE_SIZE - page.len()));
            page.extend_from_slice(value);
            self.value = rest;
        }
        (!page.is_empty()).then_some(Page::Across(page))
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pages_are_the_encoded_part_cut_up(sizes in prop::collection::btree_map(
            prop::collection::vec(any::<u8>(), 1..40), 0..3 * PAGE_SIZE, 0..5)
        ) {
            let value = |(key, size): (Vec<u8>, usize)| (key, Rc::new(Zeroizing::new(vec![size as u8; size])));
            let part = Part(sizes.into_iter().map(value).collect());
            let pages: Vec<Vec<u8>> = Pages::of(&part).unwrap().map(|page| page.to_vec()).collect();
            let cut: Vec<Vec<u8>> = part.encode().chunks(PAGE_SIZE).map(<[u8]>::to_vec).collect();
            prop_assert!(pages == cut);
        }
    }
}
