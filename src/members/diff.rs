//! What a commit's membership change entitles it to: expected additions and removals, failed
//! installations (GMOD terms, section 3).

use crate::base::Gather as _;
use crate::base::Set;

use super::{Members, States, Unresolved};
use crate::base::{InboxId, InstallationId, SequenceId};
use crate::mls::facts::LeafFacts;

/// The leaf changes that follow from identity state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Of every inbox whose entry is added or changed: keys the referenced state has and the
    /// previous one has not. Kept with their inbox: a leaf must be added under the inbox that
    /// authorised it.
    pub additions: Set<(InboxId, InstallationId)>,
    /// Keys the previous state has and the referenced one has not, and all previous keys of
    /// removed inboxes.
    pub removals: Set<InstallationId>,
}

/// Compares previous and referenced identity states over a commit.
pub fn expected(before: &Members, after: &Members, states: &States) -> Result<Expected, Unresolved> {
    let mut expected = Expected::default();
    for (inbox, entry) in &after.0 {
        let old = before.get(*inbox);
        let previous = old.map_or(SequenceId(0), |entry| entry.sequence_id);
        if old.is_some() && previous == entry.sequence_id {
            continue;
        }
        let previous = states.installations(*inbox, previous)?;
        let referenced = states.installations(*inbox, entry.sequence_id)?;
        expected.additions.extend(referenced.difference(previous).map(|key| (*inbox, *key)));
        expected.removals.extend(previous.difference(referenced));
    }
    for inbox in before.removed(after) {
        let previous = before.get(inbox).map_or(SequenceId(0), |entry| entry.sequence_id);
        expected.removals.extend(states.installations(inbox, previous)?);
    }
    Ok(expected)
}

/// Failed installations: listed in an entry after the commit, or in one before it while no
/// current leaf has that key. `leaves` are those before the commit.
pub fn failed(before: &Members, after: &Members, leaves: &[LeafFacts]) -> Set<InstallationId> {
    let placed: Set<_> = leaves.iter().map(|leaf| leaf.installation).gather();
    let listed = after.0.values().flat_map(|entry| &entry.failed);
    let absent = before.0.values().flat_map(|entry| &entry.failed).filter(|key| !placed.contains(key));
    listed.chain(absent).copied().gather()
}
