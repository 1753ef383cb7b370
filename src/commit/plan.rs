//! What a sender proposes to reach a wanted membership (GMOD-006, GMOD-009).
//!
//! The plan follows from the group, the resolved identity states and the key packages at hand, so
//! that the built commit passes every check of its receivers. Members whose latest state is handed
//! in are brought up to it; the first commit of a group thereby raises the creator's own entry
//! from 0 and adds its other installations.
//!
//! Choices: an inbox without one usable key package is not added, and the plan names it. A key the
//! receivers would expect to be removed but that has no leaf (left over by a sender that did not
//! list it) is listed as failed in the committer's entry, since its own may be going away; the
//! entry loses it when it is next raised.

use crate::base::Gather as _;
use crate::base::{Map, Set};

use crate::base::{InboxId, InstallationId, SequenceId};
use crate::members::{
    self, Entry, Members, MembersError, Reference, States, Unresolved, expected, failed, unaccounted,
};
use crate::meta::encode_map_delta;
use crate::mls::facts::GroupFacts;

/// What an operation wants, and what was fetched for it.
#[derive(Clone, Copy, Debug)]
pub struct Latest<'a> {
    /// Inboxes to add; members among them are only brought up to date.
    pub add: &'a Set<InboxId>,
    /// Inboxes to remove; others than members are ignored.
    pub remove: &'a Set<InboxId>,
    /// The latest identity update of each inbox to add and of each member to bring up to date.
    pub latest: &'a Map<InboxId, SequenceId>,
    /// The states at those, and at the entries of members that change.
    pub states: &'a States,
    /// Installations whose key package was fetched and is valid.
    pub usable: &'a Set<InstallationId>,
}

/// Proposals that lead to the wanted membership, in a fixed order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Installations to add, by inbox and key.
    pub adds: Vec<(InboxId, InstallationId)>,
    /// Leaf indices to remove, ascending.
    pub removes: Vec<u32>,
    /// The delta of the membership component; `None` when no entry changes.
    pub membership: Option<Vec<u8>>,
    /// The members after the commit.
    pub after: Members,
    /// Wanted inboxes left out, because none of their installations can be added.
    pub unreachable: Vec<InboxId>,
}

impl Plan {
    /// Nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.adds.is_empty() && self.removes.is_empty() && self.membership.is_none()
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Resolve this first, then plan again.
    #[error("the identity updates of inbox {} up to {} are needed first", .0.inbox, .0.sequence_id.0)]
    Needed(Reference),
    /// The inbox has published no identity update.
    #[error("inbox {0} does not exist; check the id, or ask its owner to register")]
    UnknownInbox(InboxId),
    /// An entry of the group names an update that was never published.
    #[error("the group names an identity update of inbox {} that does not exist", .0.inbox)]
    Unpublished(Reference),
    /// One cannot remove oneself by commit.
    #[error("the own inbox cannot be removed by a commit; request to leave instead")]
    OwnInbox,
    /// The plan would remove this very installation.
    #[error("this installation was revoked; another member has to remove it from the group")]
    OwnInstallation,
    /// The group's membership cannot be read.
    #[error(transparent)]
    Members(#[from] MembersError),
    /// A bug of ours: the finished plan leaves an installation out.
    #[error("internal error: the planned commit does not account for an installation of inbox {0}")]
    Unaccounted(InboxId),
}

impl From<Unresolved> for PlanError {
    fn from(unresolved: Unresolved) -> Self {
        match unresolved {
            Unresolved::Needed(reference) => Self::Needed(reference),
            Unresolved::Unpublished(reference) => Self::Unpublished(reference),
        }
    }
}

/// Plans a commit of `own` (inbox and installation) on `group`.
pub fn plan(
    group: &GroupFacts,
    own: (InboxId, InstallationId),
    wanted: &Latest<'_>,
) -> Result<Plan, PlanError> {
    let before = Members::read(&group.dictionary)?;
    if wanted.remove.contains(&own.0) {
        return Err(PlanError::OwnInbox);
    }
    let (mut after, unreachable) = moved(&before, wanted)?;
    let expected = expected(&before, &after, wanted.states)?;
    let placed: Map<_, _> = group.leaves.iter().map(|l| (l.installation, l.index)).gather();
    let adds: Vec<_> = placeable(&expected, &placed, wanted.usable);
    let going = expected.removals;

    let staying = placed.keys().filter(|key| !going.contains(key)).copied();
    let leaves_after: Set<_> = staying.chain(adds.iter().map(|(_, key)| *key)).gather();
    list_failed(&before, &mut after, wanted.states, &leaves_after)?;

    let exempt = failed(&before, &after, &group.leaves);
    let missing: Vec<_> =
        going.iter().filter(|key| !placed.contains_key(key) && !exempt.contains(key)).collect();
    if let Some(entry) = after.0.get_mut(&own.0) {
        entry.failed.extend(missing);
    }
    let mut removes: Vec<_> = going.iter().filter_map(|key| placed.get(key).copied()).collect();
    removes.sort_unstable();
    if going.contains(&own.1) {
        return Err(PlanError::OwnInstallation);
    }
    if let Some((inbox, _)) = unaccounted(&before, &after, &leaves_after, wanted.states)?.first() {
        return Err(PlanError::Unaccounted(*inbox));
    }
    let mutations = before.mutations(&after);
    let membership = (!mutations.is_empty()).then(|| encode_map_delta(&mutations));
    Ok(Plan { adds, removes, membership, after, unreachable })
}

/// Entries at the latest states, without failed installations yet; and the inboxes that cannot be
/// reached.
fn moved(before: &Members, wanted: &Latest<'_>) -> Result<(Members, Vec<InboxId>), PlanError> {
    let (mut after, mut unreachable) = (before.clone(), Vec::new());
    after.0.retain(|inbox, _| !wanted.remove.contains(inbox));
    for (inbox, entry) in &mut after.0 {
        if let Some(latest) = wanted.latest.get(inbox).filter(|latest| **latest > entry.sequence_id) {
            *entry = Entry { sequence_id: *latest, ..Entry::default() };
        }
    }
    for inbox in wanted.add {
        if after.contains(*inbox) {
            continue;
        }
        let latest = wanted.latest.get(inbox).copied().unwrap_or_default();
        if latest == SequenceId(0) {
            return Err(PlanError::UnknownInbox(*inbox));
        }
        if wanted.states.installations(*inbox, latest)?.is_disjoint(wanted.usable) {
            unreachable.push(*inbox);
        } else {
            after.0.insert(*inbox, Entry { sequence_id: latest, ..Entry::default() });
        }
    }
    Ok((after, unreachable))
}

/// Expected additions that have a key package and no leaf yet.
fn placeable(
    expected: &members::Expected,
    placed: &Map<InstallationId, u32>,
    usable: &Set<InstallationId>,
) -> Vec<(InboxId, InstallationId)> {
    let additions = expected.additions.iter();
    additions.filter(|(_, key)| usable.contains(key) && !placed.contains_key(key)).copied().collect()
}

/// Lists in every moved entry the installations that get no leaf (GMOD-009).
fn list_failed(
    before: &Members,
    after: &mut Members,
    states: &States,
    leaves_after: &Set<InstallationId>,
) -> Result<(), PlanError> {
    for (inbox, key) in unaccounted(before, &after.clone(), leaves_after, states)? {
        if let Some(entry) = after.0.get_mut(&inbox) {
            entry.failed.insert(key);
        }
    }
    Ok(())
}
