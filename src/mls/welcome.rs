//! Joining a group from a Welcome: inspected whole before anything of the group is written.

use std::fmt;

use openmls::prelude::tls_codec::DeserializeBytes as _;
use openmls::prelude::{
    MlsMessageBodyIn, MlsMessageIn, StagedWelcome, Welcome, WelcomeError as MlsWelcomeError,
};

use super::facts::{GroupFacts, JoinFacts};
use super::group::Group;
use super::scratch::{Scratch, ScratchError};
use super::{describe, profile};
use crate::base::GroupId;

/// Why a Welcome cannot be used. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WelcomeError {
    /// Not a Welcome, its wrapping or its metadata does not decode.
    #[error("the Welcome cannot be decoded")]
    Malformed,
    /// Made for a key package whose keys are not here (any more).
    #[error("this device has no key for the Welcome")]
    NoKey,
    /// The wrapping does not open with the key it names.
    #[error("the Welcome cannot be decrypted")]
    Undecryptable,
    /// It uses pre-shared keys, which the protocol does not.
    #[error("the Welcome asks for a pre-shared key, which is not supported")]
    Psk,
    /// The group is already here.
    #[error("the group of the Welcome is already known")]
    Exists,
    /// A rule of MLS is broken.
    #[error("the Welcome is not valid ({0})")]
    Invalid(String),
    /// Rows cannot be read or written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A bug of ours or of OpenMLS.
    #[error("reading the Welcome failed ({0}); this is a bug, please report it")]
    Bug(String),
}

/// A group as a Welcome describes it, valid by MLS and not joined.
pub struct PendingJoin {
    staged: StagedWelcome,
    facts: JoinFacts,
}

/// Opens a Welcome (an MLSMessage, as [`super::unwrap_welcome`] returns it) whose metadata named
/// `cursor`. Writes nothing; lifetimes of leaves already in the tree are not judged.
pub fn inspect(scratch: &Scratch, welcome: &[u8], cursor: u64) -> Result<PendingJoin, WelcomeError> {
    let message = MlsMessageIn::tls_deserialize_exact_bytes(welcome).map_err(|_| WelcomeError::Malformed)?;
    let MlsMessageBodyIn::Welcome(welcome) = message.extract() else {
        return Err(WelcomeError::Malformed);
    };
    // A key package that is not for repeated use would be deleted by looking at the Welcome.
    let savepoint = scratch.savepoint();
    let staged = stage(scratch, welcome);
    scratch.restore(&savepoint);
    let (id, staged) = staged?;
    let facts = facts(id, &staged, cursor)?;
    Ok(PendingJoin { staged, facts })
}

fn stage(scratch: &Scratch, welcome: Welcome) -> Result<(GroupId, StagedWelcome), WelcomeError> {
    let config = profile::join_config();
    let builder = StagedWelcome::build_from_welcome(scratch, &config, welcome).map_err(refused)?;
    let processed = builder.processed_welcome();
    if !processed.psks().is_empty() {
        return Err(WelcomeError::Psk);
    }
    let id = GroupId::from_slice(processed.unverified_group_info().group_id().as_slice())
        .map_err(|_| WelcomeError::Invalid("the group id is not 16 bytes".into()))?;
    // Whether a group that is here may be replaced is decided at the join.
    let staged = builder.skip_lifetime_validation().replace_old_group().build().map_err(refused)?;
    Ok((id, staged))
}

fn facts(id: GroupId, staged: &StagedWelcome, cursor: u64) -> Result<JoinFacts, WelcomeError> {
    let bug = |what: &str| WelcomeError::Bug(what.into());
    let context = staged.group_context();
    let member = |member: openmls::prelude::Member| {
        describe::leaf(member.index.u32(), &member.signature_key, &member.credential)
    };
    let own = staged.own_leaf_node().ok_or_else(|| bug("no own leaf"))?;
    let adder = staged.welcome_sender().map_err(|e| WelcomeError::Invalid(e.to_string()))?;
    Ok(JoinFacts {
        group: GroupFacts {
            group_id: id,
            epoch: context.epoch().as_u64(),
            leaves: staged.members().map(member).collect(),
            dictionary: describe::dictionary(context.extensions()),
        },
        adder: describe::leaf_node(staged.welcome_sender_index().u32(), adder),
        own: describe::leaf_node(staged.own_leaf_index().u32(), own),
        anchor: cursor,
    })
}

impl PendingJoin {
    /// What would be joined.
    pub fn facts(&self) -> &JoinFacts {
        &self.facts
    }

    /// Writes the group. With `replace`, everything the scratch holds of an ended group with the
    /// same id is forgotten first; without it, such a group is [`WelcomeError::Exists`].
    pub fn join(self, scratch: &Scratch, replace: bool) -> Result<Group, WelcomeError> {
        let id = self.facts.group.group_id;
        if scratch.holds(id) {
            if !replace {
                return Err(WelcomeError::Exists);
            }
            scratch.forget(id);
        }
        self.staged.into_group(scratch).map(|group| Group::new(id, group)).map_err(refused)
    }
}

impl fmt::Debug for PendingJoin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingJoin").field("facts", &self.facts).finish_non_exhaustive()
    }
}

fn refused(error: MlsWelcomeError<ScratchError>) -> WelcomeError {
    match error {
        MlsWelcomeError::NoMatchingKeyPackage | MlsWelcomeError::JoinerSecretNotFound => WelcomeError::NoKey,
        MlsWelcomeError::Psk(_) => WelcomeError::Psk,
        MlsWelcomeError::StorageError(e) => WelcomeError::Scratch(e),
        MlsWelcomeError::LibraryError(e) => WelcomeError::Bug(e.to_string()),
        e => WelcomeError::Invalid(e.to_string()),
    }
}
