//! How large commits and Welcomes may be, and when an add is split over several commits (GMOD-018).
//!
//! Every Welcome holds the whole tree, however few it is for. Whether the last Welcome of a split add
//! still fits an envelope is therefore known from the first draft, which adds all of them, and judged
//! while nothing of it was handed out. The most that a group may have, 250 inboxes with 10
//! installations each, fits.

use crate::error::Error;
use crate::mls::SealedCommit;

/// Adds are split to keep commits and Welcomes below this, where that helps.
const PART_BYTES: usize = 768 * 1024;
/// Greatest commit and Welcome there may be: with what they are wrapped in, an envelope has 1 MiB
/// (facts 12.8).
const MOST_BYTES: usize = 1024 * 1024 - 16 * 1024;
/// What the last Welcome may be larger by than it looked before the first: paths that commits in
/// between fill.
const GROWTH_BYTES: usize = 16 * 1024;

/// Sizes of a commit and its Welcome, in bytes.
#[derive(Clone, Copy, Default)]
pub struct Size {
    /// The larger of the two.
    larger: usize,
    /// What the Welcome still has when all but one inbox are added by other commits.
    last: usize,
}

impl Size {
    /// Of a commit that adds `others` installations besides those of one inbox.
    pub fn of(sealed: &SealedCommit, others: usize) -> Self {
        let welcome = sealed.welcome.as_ref().map_or(0, Vec::len);
        let last = welcome.saturating_sub(sealed.per_installation * others);
        Self { larger: welcome.max(sealed.bytes.len()), last }
    }

    /// True when not even the smallest parts would do.
    pub fn can_never_be(&self) -> bool {
        self.last > MOST_BYTES - GROWTH_BYTES
    }

    /// True when a commit for so many inboxes need not be split further. A tree that is too large for
    /// small parts is in the Welcome of each, so few parts are better.
    pub fn fits(&self, inboxes: usize) -> bool {
        let whole = inboxes < 2 || self.last > PART_BYTES;
        self.larger <= if whole { MOST_BYTES } else { PART_BYTES }
    }
}

/// What an app is told of an add that cannot be.
pub fn full() -> Error {
    let why = "the group would have too many installations: no Welcome to it would fit the 1 MiB of an \
               envelope; add fewer inboxes, or remove members first";
    Error::new("group.limit", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(commit: usize, welcome: usize, others: usize) -> Size {
        let (bytes, welcome) = (vec![0; commit], Some(vec![0; welcome]));
        Size::of(&SealedCommit { bytes, welcome, per_installation: 152 }, others)
    }

    #[test]
    fn gmod_018_adds_are_split_at_768_kib_where_that_helps() {
        assert!(size(PART_BYTES, PART_BYTES, 1000).fits(9));
        assert!(!size(PART_BYTES + 1, 9, 0).fits(9) && !size(9, PART_BYTES + 1, 1000).fits(9));
        // The tree alone is more: each part would have it.
        assert!(size(9, PART_BYTES + 1, 0).fits(9));
        // One inbox cannot be split.
        assert!(size(MOST_BYTES, MOST_BYTES, 9).fits(1));
    }

    #[test]
    fn gmod_018_no_commit_or_welcome_exceeds_an_envelope() {
        assert!(!size(MOST_BYTES + 1, 9, 0).fits(1) && !size(9, MOST_BYTES + 1, 0).fits(1));
        assert!(!size(9, MOST_BYTES + 1, 0).fits(9));
        let most = MOST_BYTES - GROWTH_BYTES;
        assert!(size(9, most + 1, 0).can_never_be() && !size(9, most, 0).can_never_be());
        // All but the last inbox can be added before.
        assert!(!size(9, most + 152 * 500, 500).can_never_be());
        assert!(size(9, most + 152 * 500 + 1, 500).can_never_be());
    }
}
