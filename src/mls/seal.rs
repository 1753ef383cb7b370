//! Making what others open: application messages and commits.
//!
//! Commits carry our own proposals inline, in this order: Adds as given, AppDataUpdates as given,
//! Removes. OpenMLS puts kept proposals of others after the Adds and before our AppDataUpdates, and
//! the Removes behind in an order of its own.

use openmls::prelude::tls_codec::Size as _;
use openmls::prelude::{
    AppDataUpdateProposal, CommitMessageBundle, CreateCommitError, CreateMessageError, KeyPackage,
    LeafNodeIndex, MlsGroupStateError, Proposal, ProposalOrRefType, QueuedProposal, Welcome,
};

use super::facts::{AppDataOp, ProposalKind, RawDictionary};
use super::group::{Group, ProposalId};
use super::key_package::{Addition, KeyPackageError};
use super::keys::InstallationKeys;
use super::scratch::{Scratch, ScratchError};
use super::{profile, stage};

/// Why a message or commit cannot be made. The group is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// An own commit waits to be read back; building another would lose it.
    #[error("a change of this group is still in flight; wait until it is applied")]
    PendingCommit,
    /// Proposals of others must be committed before a message can be sent.
    #[error("proposals of other members wait to be committed; commit them first")]
    KeptProposals,
    /// We are no longer in the group.
    #[error("this device is no longer in the group")]
    Inactive,
    /// A key package cannot be used.
    #[error("an installation cannot be added: {0}")]
    KeyPackage(KeyPackageError),
    /// The plan names a kept proposal that is not there.
    #[error("the change names a proposal that is not pending; plan it again")]
    UnknownProposal,
    /// The dictionary of the plan changes a component that no proposal of it names.
    #[error("component {0:#06x} changes without a proposal; this is a bug, please report it")]
    UnnamedComponent(u16),
    /// MLS does not allow the planned commit.
    #[error("the change is not valid ({0})")]
    Invalid(String),
    /// Rows cannot be read or written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A bug of ours or of OpenMLS.
    #[error("making the message failed ({0}); this is a bug, please report it")]
    Bug(String),
}

/// What a commit is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitPlan {
    /// Key packages of installations to add.
    pub adds: Vec<Addition>,
    /// Indices of leaves to remove.
    pub removes: Vec<u32>,
    /// Component writes of our own, in order. Repeated ones count once ([`distinct`]).
    pub app_data: Vec<(u16, AppDataOp)>,
    /// Kept proposals of others to commit. Those left out end with the epoch.
    pub kept: Vec<ProposalId>,
    /// The dictionary after the commit, computed from the component writes of `kept` in the order
    /// of [`Group::kept_proposals`], followed by `app_data`.
    pub dictionary_after: RawDictionary,
    /// Replace our own leaf even if nothing else asks for it.
    pub force_self_update: bool,
}

/// A commit and what it owes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedCommit {
    /// The commit, an MLSMessage.
    pub bytes: Vec<u8>,
    /// The Welcome for all added installations, an MLSMessage with the ratchet tree inside.
    pub welcome: Option<Vec<u8>>,
    /// Bytes that the Welcome has for each of them alone; the rest is for all.
    pub per_installation: usize,
}

/// The component writes without repetitions, each at its first place: what a commit carries.
pub fn distinct(app_data: Vec<(u16, AppDataOp)>) -> Vec<(u16, AppDataOp)> {
    let mut out: Vec<(u16, AppDataOp)> = Vec::with_capacity(app_data.len());
    for write in app_data {
        if !out.contains(&write) {
            out.push(write);
        }
    }
    out
}

/// Encrypts an application message for the current epoch, padded to a bucket: 64, 256, 1024,
/// 4096 bytes, then multiples of 4096. Moves our ratchet; the bytes may leave once that is
/// durable.
pub fn message(
    scratch: &Scratch,
    group: &mut Group,
    keys: &InstallationKeys,
    plaintext: &[u8],
) -> Result<Vec<u8>, SealError> {
    let padded = profile::padded_config(padded_size(plaintext.len()));
    group.mls.set_configuration(scratch, &padded)?;
    let made = group.mls.create_message(scratch, keys, plaintext);
    group.mls.set_configuration(scratch, &profile::join_config())?;
    match made {
        Ok(message) => message.to_bytes().map_err(bug),
        Err(CreateMessageError::GroupStateError(MlsGroupStateError::PendingProposal)) => {
            Err(SealError::KeptProposals)
        }
        Err(CreateMessageError::GroupStateError(MlsGroupStateError::UseAfterEviction)) => {
            Err(SealError::Inactive)
        }
        Err(e) => Err(bug(e)),
    }
}

/// The length a message's encrypted content is padded to: its bucket and what MLS adds to it
/// (RFC 9420 section 6.3.1: length prefix, signature with its prefix, AEAD tag). OpenMLS pads to a
/// multiple of its padding size, so the wanted length itself is the size that gives it.
fn padded_size(plaintext: usize) -> usize {
    let bucket = match plaintext {
        0..=64 => 64,
        65..=256 => 256,
        257..=1024 => 1024,
        _ => plaintext.next_multiple_of(4096),
    };
    let prefix = if bucket <= 0x3fff { 2 } else { 4 };
    bucket + prefix + 2 + 64 + 16
}

/// Builds a commit and leaves it pending. The bytes may leave once that is durable.
///
/// Refused with [`SealError::PendingCommit`] while another is pending: OpenMLS would replace it.
pub fn commit(
    scratch: &Scratch,
    group: &mut Group,
    keys: &InstallationKeys,
    plan: CommitPlan,
) -> Result<SealedCommit, SealError> {
    if !group.is_active() {
        return Err(SealError::Inactive);
    }
    if group.has_pending_commit() {
        return Err(SealError::PendingCommit);
    }
    let adds: Vec<KeyPackage> = plan
        .adds
        .into_iter()
        .map(|addition| addition.package(scratch).map_err(SealError::KeyPackage))
        .collect::<Result<_, _>>()?;
    let app_data = distinct(plan.app_data);
    let named = named_components(group, &plan.kept, &app_data)?;
    let updates =
        stage::updates(&group.mls, &named, &plan.dictionary_after).map_err(SealError::UnnamedComponent)?;
    let kept = |queued: &QueuedProposal| {
        let reference = queued.proposal_reference_ref().as_slice();
        queued.proposal_or_ref_type() == ProposalOrRefType::Proposal
            || plan.kept.iter().any(|id| id.0 == reference)
    };
    let mut builder = group
        .mls
        .commit_builder()
        .propose_adds(adds)
        .add_proposals(app_data.into_iter().map(app_data_proposal))
        .propose_removals(plan.removes.iter().copied().map(LeafNodeIndex::new))
        .force_self_update(plan.force_self_update)
        .load_psks(scratch)
        .map_err(creating)?
        .create_group_info(false);
    builder.with_app_data_dictionary_updates(updates);
    let built = builder.build(scratch.suite(), scratch.suite(), keys, kept).map_err(creating)?;
    sealed(built.stage_commit(scratch).map_err(bug)?)
}

/// Components the commit writes, by kept proposals and by our own.
fn named_components(
    group: &Group,
    kept: &[ProposalId],
    app_data: &[(u16, AppDataOp)],
) -> Result<Vec<u16>, SealError> {
    let known = group.kept_proposals();
    let mut named = Vec::new();
    for id in kept {
        let (_, facts) = known.iter().find(|(known, _)| known == id).ok_or(SealError::UnknownProposal)?;
        if let ProposalKind::AppData { component, .. } = facts.kind {
            named.push(component);
        }
    }
    named.extend(app_data.iter().map(|(component, _)| *component));
    Ok(named)
}

fn app_data_proposal((component, op): (u16, AppDataOp)) -> Proposal {
    Proposal::AppDataUpdate(Box::new(match op {
        AppDataOp::Update(data) => AppDataUpdateProposal::update(component, data),
        AppDataOp::Remove => AppDataUpdateProposal::remove(component),
    }))
}

fn sealed(bundle: CommitMessageBundle) -> Result<SealedCommit, SealError> {
    let secrets = bundle.welcome().map(Welcome::secrets).unwrap_or_default();
    let per_installation = secrets.iter().map(|one| one.tls_serialized_len()).max().unwrap_or_default();
    let (commit, welcome, _) = bundle.into_messages();
    Ok(SealedCommit {
        bytes: commit.to_bytes().map_err(bug)?,
        welcome: welcome.map(|welcome| welcome.to_bytes()).transpose().map_err(bug)?,
        per_installation,
    })
}

fn creating(error: CreateCommitError) -> SealError {
    match error {
        CreateCommitError::LibraryError(e) => bug(e),
        CreateCommitError::OwnKeyNotFound | CreateCommitError::SignatureError(_) => bug(error),
        e => SealError::Invalid(e.to_string()),
    }
}

fn bug(error: impl ToString) -> SealError {
    SealError::Bug(error.to_string())
}
