//! Which identity states a decision needs (GMOD-013).

use crate::base::Gather as _;
use crate::base::Set;

use super::{Members, Reference};
use crate::base::{InboxId, SequenceId};

/// States a commit is judged against: of each inbox whose entry changes, the previous and the
/// referenced one; of each inbox in `signers` (the committer and the proposers of Updates, GMOD-012)
/// the referenced one. References at 0 need nothing.
pub fn of_commit(
    before: &Members,
    after: &Members,
    signers: impl IntoIterator<Item = InboxId>,
) -> Set<Reference> {
    let mut needed = Set::new();
    let inboxes: Set<_> = before.0.keys().chain(after.0.keys()).gather();
    for inbox in inboxes {
        let at = |members: &Members| members.get(*inbox).map(|entry| entry.sequence_id);
        let (previous, referenced) = (at(before), at(after));
        if previous != referenced {
            needed.extend(named(*inbox, previous));
            needed.extend(named(*inbox, referenced));
        }
    }
    for inbox in signers {
        needed.extend(named(inbox, after.get(inbox).map(|entry| entry.sequence_id)));
    }
    needed
}

/// States a joiner checks the ratchet tree against: every member's referenced one.
pub fn of_join(members: &Members) -> Set<Reference> {
    members.0.iter().filter_map(|(inbox, entry)| named(*inbox, Some(entry.sequence_id))).gather()
}

fn named(inbox: InboxId, sequence_id: Option<SequenceId>) -> Option<Reference> {
    sequence_id.filter(|id| *id > SequenceId(0)).map(|sequence_id| Reference { inbox, sequence_id })
}
