//! Every installation is accounted for: by the sender before it publishes (GMOD-009), by the
//! joiner before it joins (JOIN section 8).
//!
//! Choices: an entry of a joined group must precede the commit the Welcome names, as GMOD-007
//! demands of that commit, and so precedes the Welcome too. A failed installation that has a leaf
//! all the same is tolerated.

use crate::base::Set;

use super::{Members, MembersError, Reference, States, Unresolved};
use crate::base::{InboxId, InstallationId, SequenceId};
use crate::mls::facts::JoinFacts;

/// Why a Welcome's membership is not joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// Resolve this first; the Welcome is held until then.
    #[error("the identity updates of inbox {} up to {} are needed first", .0.inbox, .0.sequence_id.0)]
    Needed(Reference),
    /// The membership component cannot be read.
    #[error(transparent)]
    Members(#[from] MembersError),
    /// The Welcome names a commit that is not before it.
    #[error("the Welcome names the commit {}, which is not before the Welcome's {}", anchor.0, welcome.0)]
    Anchor {
        /// What it names.
        anchor: SequenceId,
        /// Its own position.
        welcome: SequenceId,
    },
    /// An entry is 0 or does not precede the anchor.
    #[error("the membership entry of inbox {inbox} names {}, outside 1 to {}", named.0, anchor.0 - 1)]
    EntryRange {
        /// Whose entry.
        inbox: InboxId,
        /// What it names.
        named: SequenceId,
        /// The commit of the Welcome, at least 1.
        anchor: SequenceId,
    },
    /// An entry names an identity update that was never published.
    #[error("the membership entry of inbox {} names {}, where no identity update is", .0.inbox, .0.sequence_id.0)]
    Unpublished(Reference),
    /// A leaf is not authorised by a member's identity state.
    #[error("the leaf at index {0} is not an installation of the member it names")]
    ForeignLeaf(u32),
    /// One installation has two leaves.
    #[error("the leaf at index {0} repeats an installation of another leaf")]
    RepeatedLeaf(u32),
    /// An installation is neither in the tree nor listed as failed.
    #[error("an installation of inbox {0} is neither in the group nor listed as failed")]
    Unaccounted(InboxId),
    /// The tree does not hold our own leaf as the Welcome says.
    #[error("the group does not hold this installation's own leaf")]
    OwnLeaf,
}

impl JoinError {
    /// The requirement it breaks.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Needed(_) => "GMOD-013",
            Self::Members(inner) => inner.id(),
            Self::Anchor { .. } => "JOIN-037",
            Self::EntryRange { .. } => "GMOD-007",
            Self::Unpublished(_) => "GMOD-014",
            Self::ForeignLeaf(_) | Self::RepeatedLeaf(_) => "JOIN-049",
            Self::Unaccounted(_) => "JOIN-053",
            Self::OwnLeaf => "JOIN-058",
        }
    }
}

impl From<Unresolved> for JoinError {
    fn from(unresolved: Unresolved) -> Self {
        match unresolved {
            Unresolved::Needed(reference) => Self::Needed(reference),
            Unresolved::Unpublished(reference) => Self::Unpublished(reference),
        }
    }
}

/// Installations of added inboxes, or of inboxes whose entry moves, that are neither a leaf after
/// the commit nor listed as failed. A sender publishes only when there are none (GMOD-009).
pub fn unaccounted(
    before: &Members,
    after: &Members,
    leaves_after: &Set<InstallationId>,
    states: &States,
) -> Result<Vec<(InboxId, InstallationId)>, Unresolved> {
    let mut left_over = Vec::new();
    for (inbox, entry) in &after.0 {
        if before.get(*inbox).is_some_and(|old| old.sequence_id == entry.sequence_id) {
            continue;
        }
        let keys = states.installations(*inbox, entry.sequence_id)?.iter();
        let open = keys.filter(|key| !leaves_after.contains(key) && !entry.failed.contains(key));
        left_over.extend(open.map(|key| (*inbox, *key)));
    }
    Ok(left_over)
}

/// Checks the membership a Welcome asserts; returns the members.
///
/// `own` is this installation, `welcome` the Welcome's position. Everything terminal that needs no
/// identity state is judged first, so the answer does not depend on what is cached.
pub fn check_join(
    join: &JoinFacts,
    own: (InboxId, InstallationId),
    welcome: SequenceId,
    states: &States,
) -> Result<Members, JoinError> {
    let anchor = SequenceId(join.anchor);
    if anchor == SequenceId(0) || anchor >= welcome {
        return Err(JoinError::Anchor { anchor, welcome });
    }
    let members = Members::read(&join.group.dictionary)?;
    for (inbox, entry) in &members.0 {
        let (inbox, named) = (*inbox, entry.sequence_id);
        if named == SequenceId(0) || named >= anchor {
            return Err(JoinError::EntryRange { inbox, named, anchor });
        }
    }
    let own_leaf = (join.own.inbox, join.own.installation) == (Some(own.0), own.1);
    if !own_leaf || !join.group.leaves.contains(&join.own) {
        return Err(JoinError::OwnLeaf);
    }
    let placed = check_leaves(join, &members, states)?;
    for (inbox, entry) in &members.0 {
        let keys = states.installations(*inbox, entry.sequence_id)?;
        if keys.iter().any(|key| !placed.contains(key) && !entry.failed.contains(key)) {
            return Err(JoinError::Unaccounted(*inbox));
        }
    }
    Ok(members)
}

/// Every leaf is an installation of a member, and each installation has one leaf.
fn check_leaves(
    join: &JoinFacts,
    members: &Members,
    states: &States,
) -> Result<Set<InstallationId>, JoinError> {
    let mut placed = Set::new();
    let mut named = Vec::with_capacity(join.group.leaves.len());
    for leaf in &join.group.leaves {
        let entry = leaf.inbox.and_then(|inbox| Some((inbox, members.get(inbox)?)));
        named.push((leaf, entry.ok_or(JoinError::ForeignLeaf(leaf.index))?));
        if !placed.insert(leaf.installation) {
            return Err(JoinError::RepeatedLeaf(leaf.index));
        }
    }
    for (leaf, (inbox, entry)) in named {
        if !states.installations(inbox, entry.sequence_id)?.contains(&leaf.installation) {
            return Err(JoinError::ForeignLeaf(leaf.index));
        }
    }
    Ok(placed)
}
