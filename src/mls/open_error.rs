//! Why an envelope's MLS message is not opened or staged, sorted by what follows from it.
//!
//! OpenMLS refuses most proposal kinds the protocol does not use while it validates a commit, each
//! with an error of its own. Those errors are told apart from other failures of validation, because
//! the hold/reject table of GMOD section 1 decides about them and not MLS.

use openmls::framing::errors::{MessageDecryptionError, SecretTreeError};
use openmls::prelude::{
    AppDataUpdateValidationError, KeyPackageVerifyError, MlsGroupStateError, ProcessMessageError,
    ProposalValidationError, StageCommitError, ValidationError,
};

use openmls::treesync::errors::LeafNodeValidationError;

use super::facts::UnsupportedKind;
use super::scratch::ScratchError;

/// Why a message is not opened, or a commit not staged. Nothing of it was applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Not an MLS message of a group, or one whose content does not decode.
    #[error("the message cannot be decoded")]
    Malformed,
    /// A PublicMessage; the protocol only uses encrypted messages.
    #[error("the message is not encrypted; group messages must be")]
    Unencrypted,
    /// It belongs to another group.
    #[error("the message belongs to another group")]
    WrongGroup,
    /// The sender has no leaf in the group (GMOD-002).
    #[error("the message comes from someone who is not in the group")]
    Outsider,
    /// It claims to come from our own leaf. The claim is not authenticated.
    #[error("the message claims to be our own")]
    Own,
    /// A proposal or commit for another epoch than the current, or an application message for a
    /// future one.
    #[error("the message is for epoch {epoch}, the group is in another")]
    WrongEpoch {
        /// The epoch it names.
        epoch: u64,
    },
    /// Its epoch's secrets, or those of its generation, are gone.
    #[error("the message is too old to be decrypted")]
    TooOld,
    /// It was opened before.
    #[error("the message was opened before")]
    SecretReuse,
    /// Too many messages of its sender are missing before it.
    #[error("too many messages of the sender are missing before this one")]
    TooFarAhead,
    /// The commit names a proposal that was never kept here.
    #[error("the commit names a proposal that was not received")]
    MissingProposal,
    /// It is refused because of a proposal kind the protocol does not use (GMOD-001).
    #[error("the commit carries a proposal of a kind that is not used ({0:?})")]
    Unsupported(UnsupportedKind),
    /// An added key package has a bounded lifetime that our clock happens to be outside of.
    #[error("a key package with a bounded lifetime is added")]
    BoundedLifetime,
    /// We are no longer in the group.
    #[error("this device is no longer in the group")]
    Inactive,
    /// A rule of MLS is broken.
    #[error("the message is not valid ({0})")]
    Invalid(String),
    /// Rows cannot be read or written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A bug of ours or of OpenMLS.
    #[error("opening the message failed ({0}); this is a bug, please report it")]
    Bug(String),
}

impl OpenError {
    pub(super) fn processing(error: ProcessMessageError<ScratchError>, epoch: u64) -> Self {
        match error {
            ProcessMessageError::LibraryError(e) => Self::Bug(e.to_string()),
            ProcessMessageError::StorageError(e) => Self::Scratch(e),
            ProcessMessageError::ValidationError(e) => Self::validation(e, epoch),
            ProcessMessageError::InvalidCommit(e) => Self::staging(e),
            ProcessMessageError::GroupStateError(MlsGroupStateError::UseAfterEviction) => Self::Inactive,
            ProcessMessageError::IncompatibleWireFormat => Self::Unencrypted,
            ProcessMessageError::UnauthorizedExternalApplicationMessage
            | ProcessMessageError::UnauthorizedExternalCommitMessage
            | ProcessMessageError::UnsupportedProposalType => Self::Outsider,
            e => Self::Invalid(e.to_string()),
        }
    }

    fn validation(error: ValidationError, epoch: u64) -> Self {
        match error {
            ValidationError::LibraryError(e) => Self::Bug(e.to_string()),
            ValidationError::WrongGroupId => Self::WrongGroup,
            ValidationError::WrongEpoch => Self::WrongEpoch { epoch },
            ValidationError::NoPastEpochData => Self::TooOld,
            ValidationError::UnknownMember
            | ValidationError::NonMemberApplicationMessage
            | ValidationError::UnauthorizedExternalSender
            | ValidationError::NoExternalSendersExtension => Self::Outsider,
            ValidationError::KeyPackageVerifyError(KeyPackageVerifyError::LifetimeError(_)) => {
                Self::BoundedLifetime
            }
            // Only a GroupContextExtensions proposal is read with this error.
            ValidationError::InvalidExtension(_) => unsupported(UnsupportedKind::GroupContextExtensions),
            ValidationError::UnableToDecrypt(e) => Self::decryption(e),
            e => Self::Invalid(e.to_string()),
        }
    }

    fn decryption(error: MessageDecryptionError) -> Self {
        match error {
            MessageDecryptionError::LibraryError(e) => Self::Bug(e.to_string()),
            MessageDecryptionError::MalformedContent => Self::Malformed,
            MessageDecryptionError::SecretTreeError(e) => match e {
                SecretTreeError::TooDistantInThePast => Self::TooOld,
                SecretTreeError::TooDistantInTheFuture => Self::TooFarAhead,
                SecretTreeError::SecretReuseError => Self::SecretReuse,
                SecretTreeError::IndexOutOfBounds => Self::Outsider,
                e => Self::Invalid(e.to_string()),
            },
            e => Self::Invalid(e.to_string()),
        }
    }

    pub(super) fn staging(error: StageCommitError) -> Self {
        match error {
            StageCommitError::LibraryError(e) => Self::Bug(e.to_string()),
            StageCommitError::MissingDecryptionKey => Self::Bug(error.to_string()),
            StageCommitError::MissingProposal => Self::MissingProposal,
            StageCommitError::OwnCommitMismatch => Self::Own,
            StageCommitError::SenderTypeExternal | StageCommitError::SenderTypeNewMemberProposal => {
                Self::Outsider
            }
            StageCommitError::PskError(_) | StageCommitError::DuplicatePskId(_) => {
                unsupported(UnsupportedKind::PreSharedKey)
            }
            StageCommitError::GroupContextExtensionsProposalValidationError(_) => {
                unsupported(UnsupportedKind::GroupContextExtensions)
            }
            StageCommitError::AppDataUpdateValidationError(e) => Self::app_data(e),
            StageCommitError::ProposalValidationError(e) => Self::proposal(e),
            StageCommitError::LeafNodeValidation(LeafNodeValidationError::Lifetime(_)) => {
                Self::BoundedLifetime
            }
            e => Self::Invalid(e.to_string()),
        }
    }

    fn app_data(error: AppDataUpdateValidationError) -> Self {
        match error {
            AppDataUpdateValidationError::MoreThanOneRemovePerComponentId
            | AppDataUpdateValidationError::CombinedRemoveAndUpdateOperations => {
                Self::Invalid(error.to_string())
            }
            // The others are only found beside a GroupContextExtensions proposal.
            _ => unsupported(UnsupportedKind::GroupContextExtensions),
        }
    }

    fn proposal(error: ProposalValidationError) -> Self {
        match error {
            ProposalValidationError::LibraryError(e) => Self::Bug(e.to_string()),
            ProposalValidationError::Psk(_) => unsupported(UnsupportedKind::PreSharedKey),
            ProposalValidationError::ExternalInitProposalInRegularCommit => {
                unsupported(UnsupportedKind::ExternalInit)
            }
            ProposalValidationError::UnsupportedProposalType => unsupported(UnsupportedKind::Custom(0)),
            ProposalValidationError::LeafNodeValidation(LeafNodeValidationError::Lifetime(_)) => {
                Self::BoundedLifetime
            }
            e => Self::Invalid(e.to_string()),
        }
    }
}

fn unsupported(kind: UnsupportedKind) -> OpenError {
    OpenError::Unsupported(kind)
}
