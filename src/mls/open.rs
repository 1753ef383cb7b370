//! Opening a group message of another member.

use openmls::group::UnresolvedAppDataCommit;
use openmls::prelude::tls_codec::DeserializeBytes as _;
use openmls::prelude::{
    MlsMessageBodyIn, MlsMessageIn, ProcessedMessageContent, ProtocolMessage, QueuedProposal, Sender,
    StagedCommit,
};

use super::facts::{AppDataOp, LeafFacts, ProposalFacts, SenderFacts};
use super::group::Group;
use super::open_error::OpenError;
use super::scratch::{Scratch, ScratchError};
use super::{describe, past};
use crate::base::{GroupId, read_varint};

/// What a frame carries, as its unauthenticated header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// An application message.
    Application,
    /// A standalone proposal.
    Proposal,
    /// A commit.
    Commit,
    /// A PublicMessage, which is refused without being opened.
    Public,
}

/// The readable header of a group message. Nothing of it is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The group it is for.
    pub group_id: GroupId,
    /// The epoch it was made in.
    pub epoch: u64,
    /// What it carries.
    pub kind: FrameKind,
}

/// A message that was decrypted and authenticated. Its sender's ratchet has moved.
pub enum Opened {
    /// An application message.
    Application {
        /// The sender's leaf, as it was in `epoch`.
        sender: LeafFacts,
        /// The epoch it was made in, at most [`super::profile::MAX_PAST_EPOCHS`] behind ours.
        epoch: u64,
        /// A later commit removed that leaf, whether or not the sender was added again.
        gone: bool,
        /// Its content.
        plaintext: Vec<u8>,
    },
    /// A standalone proposal of this epoch, to be judged and then kept.
    Proposal(ProposalFacts, PendingProposal),
    /// A commit of this epoch, to be staged, judged and then merged.
    Commit(OpenedCommit),
}

/// A standalone proposal that is not kept yet.
pub struct PendingProposal(QueuedProposal);

/// A commit that is not staged yet. Its proposals are in part not validated.
pub struct OpenedCommit {
    pub(super) committer: SenderFacts,
    pub(super) content: Content,
    app_data: Vec<(u16, AppDataOp)>,
}

pub(super) enum Content {
    Staged(Box<StagedCommit>),
    Unresolved(Box<UnresolvedAppDataCommit>),
}

impl OpenedCommit {
    /// Who committed.
    pub fn committer(&self) -> &SenderFacts {
        &self.committer
    }

    /// Its AppDataUpdates, from which the dictionary after it is computed: by component, and in
    /// commit order within a component (META-064).
    pub fn app_data(&self) -> &[(u16, AppDataOp)] {
        &self.app_data
    }
}

/// Reads the header of a group message.
///
/// Fails with [`OpenError::Malformed`] for anything but a PublicMessage or PrivateMessage of a
/// group with a 16-byte id.
pub fn peek(bytes: &[u8]) -> Result<Frame, OpenError> {
    header(bytes).ok_or(OpenError::Malformed)
}

/// RFC 9420 sections 6, 6.2 and 6.3: version, wire format, group id, epoch, content type.
fn header(bytes: &[u8]) -> Option<Frame> {
    let (head, rest) = bytes.split_at_checked(4)?;
    let public = match head {
        [0, 1, 0, 1] => true,
        [0, 1, 0, 2] => false,
        _ => return None,
    };
    let (length, rest) = read_varint(rest).ok()?;
    let (id, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    let (epoch, rest) = rest.split_at_checked(8)?;
    let kind = match rest.first()? {
        _ if public => FrameKind::Public,
        1 => FrameKind::Application,
        2 => FrameKind::Proposal,
        3 => FrameKind::Commit,
        _ => return None,
    };
    let epoch = u64::from_be_bytes(epoch.try_into().ok()?);
    Some(Frame { group_id: GroupId::from_slice(id).ok()?, epoch, kind })
}

/// Decrypts and authenticates a message. On an error nothing is written.
pub fn open(scratch: &Scratch, group: &mut Group, bytes: &[u8]) -> Result<Opened, OpenError> {
    let frame = peek(bytes)?;
    if frame.kind == FrameKind::Public {
        return Err(OpenError::Unencrypted);
    }
    let message = MlsMessageIn::tls_deserialize_exact_bytes(bytes).map_err(|_| OpenError::Malformed)?;
    let MlsMessageBodyIn::PrivateMessage(message) = message.extract() else {
        return Err(OpenError::Malformed);
    };
    let message = ProtocolMessage::PrivateMessage(message);
    let processed = group.mls.process_message(scratch, message);
    let processed = processed.map_err(|e| OpenError::processing(e, frame.epoch))?;
    let (sender, epoch) = (processed.sender().clone(), processed.epoch().as_u64());
    let committer = describe::sender(&group.mls, &sender);
    match processed.into_content() {
        ProcessedMessageContent::ApplicationMessage(message) => {
            let (sender, gone) = author(scratch, group, &sender, epoch)?;
            Ok(Opened::Application { sender, epoch, gone, plaintext: message.into_bytes() })
        }
        ProcessedMessageContent::ProposalMessage(queued) => {
            Ok(Opened::Proposal(describe::proposal(&group.mls, &queued), PendingProposal(*queued)))
        }
        ProcessedMessageContent::StagedCommitMessage(staged) => {
            let (content, app_data) = (Content::Staged(staged), Vec::new());
            Ok(Opened::Commit(OpenedCommit { committer, content, app_data }))
        }
        ProcessedMessageContent::UnresolvedAppDataCommit(commit) => {
            let updates = commit.app_data_update_proposals();
            let updates = updates.map(|update| describe::app_data(update.component_id(), update.operation()));
            let app_data = updates.collect();
            Ok(Opened::Commit(OpenedCommit { committer, content: Content::Unresolved(commit), app_data }))
        }
        ProcessedMessageContent::OwnPrivateMessage | ProcessedMessageContent::OwnPendingCommit => {
            Err(OpenError::Own)
        }
        ProcessedMessageContent::ExternalJoinProposalMessage(_) => Err(OpenError::Outsider),
    }
}

/// Keeps a proposal, so that commits can name it. Judge it first (GMOD-019).
pub fn keep_proposal(
    scratch: &Scratch,
    group: &mut Group,
    proposal: PendingProposal,
) -> Result<(), ScratchError> {
    group.mls.store_pending_proposal(scratch, proposal.0)
}

/// The leaf that sent an application message, as it was in the message's epoch, and whether it was
/// removed since.
fn author(
    scratch: &Scratch,
    group: &Group,
    sender: &Sender,
    epoch: u64,
) -> Result<(LeafFacts, bool), OpenError> {
    let Sender::Member(index) = sender else { return Err(OpenError::Outsider) };
    if let Some(leaf) = past::leaf(scratch, group.id, epoch, index.u32())? {
        return Ok((leaf, true));
    }
    let leaf = describe::leaf_at(&group.mls, index.u32());
    let leaf = leaf.ok_or_else(|| OpenError::Bug(format!("no record of leaf {index} in epoch {epoch}")))?;
    Ok((leaf, false))
}
