//! Resolved identity states, as far as membership reads them (GMOD-013, GMOD-014).

use crate::base::Gather as _;
use crate::base::{Map, Set};

use crate::base::{InboxId, InstallationId, SequenceId};

/// An inbox's identity state at a sequence id (IDENT-070).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// The inbox.
    pub inbox: InboxId,
    /// Above 0.
    pub sequence_id: SequenceId,
}

/// What resolving a reference came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The installation keys the state associates with the inbox.
    Installations(Set<InstallationId>),
    /// The inbox's updates were fetched and there is none at that sequence id (GMOD-014).
    Unpublished,
}

/// Why a reference gives no installations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// Fetch the inbox's updates through that sequence id, then decide again (GMOD-013).
    #[error("the identity updates of inbox {} up to {} are needed first", .0.inbox, .0.sequence_id.0)]
    Needed(Reference),
    /// It can never be resolved (GMOD-014).
    #[error("inbox {} has no identity update at {}", .0.inbox, .0.sequence_id.0)]
    Unpublished(Reference),
}

/// The references resolved so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States(Map<Reference, Resolution>);

impl States {
    /// Adds what a reference resolves to.
    pub fn insert(&mut self, reference: Reference, resolution: Resolution) {
        self.0.insert(reference, resolution);
    }

    /// Adds everything another set resolved.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The installations at a sequence id. At 0 there is no state and so there are none.
    pub fn installations(
        &self,
        inbox: InboxId,
        sequence_id: SequenceId,
    ) -> Result<&Set<InstallationId>, Unresolved> {
        static NONE: Set<InstallationId> = Set::new();
        let reference = Reference { inbox, sequence_id };
        if sequence_id == SequenceId(0) {
            return Ok(&NONE);
        }
        match self.0.get(&reference) {
            Some(Resolution::Installations(keys)) => Ok(keys),
            Some(Resolution::Unpublished) => Err(Unresolved::Unpublished(reference)),
            None => Err(Unresolved::Needed(reference)),
        }
    }

    /// Those of `needed` that are not resolved yet.
    pub fn missing(&self, needed: &Set<Reference>) -> Set<Reference> {
        needed.iter().filter(|reference| !self.0.contains_key(reference)).copied().gather()
    }
}

impl FromIterator<(Reference, Resolution)> for States {
    fn from_iter<I: IntoIterator<Item = (Reference, Resolution)>>(items: I) -> Self {
        Self(items.into_iter().gather())
    }
}
