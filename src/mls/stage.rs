//! Staging, judging and applying commits, received ones and our own.
//!
//! A received commit is staged with the dictionary its updates lead to, judged on what
//! [`Staged::facts`] shows, and merged last. An own commit is pending in the group since it was
//! built; [`pending_facts`] shows it the same way (GMOD-016).

use openmls::component::ComponentData;
use openmls::group::{AppDataUpdates, StagedCommit};
use openmls::prelude::{MergeCommitError, MergePendingCommitError, MlsGroup};

use super::facts::{CommitFacts, ProposalKind, RawDictionary, SenderFacts};
use super::group::Group;
use super::open::{Content, OpenedCommit};
use super::open_error::OpenError;
use super::scratch::{Scratch, ScratchError};
use super::{describe, past};

/// A commit that MLS accepts and that is not applied.
pub struct Staged {
    staged: Box<StagedCommit>,
    facts: CommitFacts,
}

impl Staged {
    /// What it does.
    pub fn facts(&self) -> &CommitFacts {
        &self.facts
    }
}

/// Completes MLS validation of a commit, with the dictionary after it as computed from
/// [`OpenedCommit::app_data`]. Writes nothing.
///
/// A dictionary other than the committer's fails with [`OpenError::Invalid`] (the confirmation tag
/// does not match); one that changes a component the commit does not name is [`OpenError::Bug`].
pub fn stage(
    scratch: &Scratch,
    group: &Group,
    commit: OpenedCommit,
    dictionary_after: &RawDictionary,
) -> Result<Staged, OpenError> {
    let named: Vec<u16> = commit.app_data().iter().map(|(component, _)| *component).collect();
    let updates = updates(&group.mls, &named, dictionary_after)
        .map_err(|id| OpenError::Bug(format!("component {id:#06x} changes without a proposal")))?;
    let committer = commit.committer;
    let staged = match commit.content {
        Content::Staged(staged) => staged,
        Content::Unresolved(unresolved) => {
            let staged = group.mls.stage_app_data_commit(scratch, *unresolved, updates);
            Box::new(staged.map_err(OpenError::staging)?)
        }
    };
    let facts = describe::commit(group, &staged, committer);
    let app_data = facts.proposals.iter().filter(|p| matches!(p.kind, ProposalKind::AppData { .. }));
    if app_data.count() != named.len() {
        return Err(OpenError::Invalid("the commit names one proposal twice".into()));
    }
    Ok(Staged { staged, facts })
}

/// Applies a staged commit, and says what it did. Judge it first (GMOD-021). Drops an own pending
/// commit and every kept proposal, as the epoch they were for is over.
pub fn merge(scratch: &Scratch, group: &mut Group, staged: Staged) -> Result<CommitFacts, OpenError> {
    let Staged { staged, facts } = staged;
    note_past(scratch, group, &facts)?;
    group.moving().merge_staged_commit(scratch, *staged).map_err(merging)?;
    Ok(facts)
}

/// What the own pending commit does; `None` when none is pending.
pub fn pending_facts(group: &Group) -> Option<CommitFacts> {
    let committer = group.own_leaf().map_or(SenderFacts::Outsider, SenderFacts::Member);
    let staged = group.mls.pending_commit()?;
    Some(describe::commit(group, staged, committer))
}

/// Applies the own pending commit, once it was read back at its position and judged. Does nothing
/// when none is pending.
pub fn merge_pending(scratch: &Scratch, group: &mut Group) -> Result<(), OpenError> {
    let Some(facts) = pending_facts(group) else { return Ok(()) };
    note_past(scratch, group, &facts)?;
    group.moving().merge_pending_commit(scratch).map_err(|e| match e {
        MergePendingCommitError::MergeCommitError(e) => merging(e),
        MergePendingCommitError::MlsGroupStateError(_) => OpenError::Inactive,
    })
}

/// Drops the own pending commit. Only when delivery refused it for good, the epoch moved past it,
/// or its own checks failed at its position.
pub fn clear_pending(scratch: &Scratch, group: &mut Group) -> Result<(), ScratchError> {
    group.mls.clear_pending_commit(scratch)
}

/// The change of dictionary in OpenMLS's form: a value or a removal for every component in
/// `named`. Fails with a component that changes and is not named.
pub(super) fn updates(
    group: &MlsGroup,
    named: &[u16],
    after: &RawDictionary,
) -> Result<Option<AppDataUpdates>, u16> {
    let before = describe::dictionary(group.extensions());
    let changed = describe::changed_components(&before, after);
    if let Some(unnamed) = changed.into_iter().find(|id| !named.contains(id)) {
        return Err(unnamed);
    }
    let mut updater = group.app_data_dictionary_updater();
    for id in named {
        match after.get(id) {
            Some(value) => updater.set(ComponentData::from_parts(*id, value.clone().into())),
            None => updater.remove(id),
        }
    }
    Ok(updater.changes())
}

fn note_past(scratch: &Scratch, group: &Group, facts: &CommitFacts) -> Result<(), ScratchError> {
    let before = &facts.before;
    past::note(scratch, group.id, before.epoch, &before.leaves, &facts.leaves_after)
}

fn merging(error: MergeCommitError<ScratchError>) -> OpenError {
    match error {
        MergeCommitError::StorageError(e) => OpenError::Scratch(e),
        MergeCommitError::LibraryError(e) => OpenError::Bug(e.to_string()),
    }
}
