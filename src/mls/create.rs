//! Creating a group.

use openmls::prelude::{
    AppDataDictionary, AppDataDictionaryExtension, Extension, Extensions, GroupContext,
    GroupId as MlsGroupId, MlsGroup, MlsGroupCreateConfig, NewGroupError,
};

use super::facts::RawDictionary;
use super::group::Group;
use super::keys::InstallationKeys;
use super::profile;
use super::scratch::{Scratch, ScratchError};
use crate::base::{GroupId, InboxId};

/// Why a group cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The id is taken here.
    #[error("a group with this id already exists; draw another id")]
    Exists,
    /// Rows cannot be read or written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// OpenMLS refused what it must accept.
    #[error("creating a group failed ({0}); this is a bug, please report it")]
    Bug(String),
}

/// Creates a group with one leaf, ours. Its context is born with `dictionary` and requires what
/// the protocol needs of every leaf, so no GroupContextExtensions proposal is ever made.
///
/// `group_id` is 16 random bytes (GMOD-037).
pub fn create(
    scratch: &Scratch,
    keys: &InstallationKeys,
    inbox: InboxId,
    group_id: GroupId,
    dictionary: &RawDictionary,
) -> Result<Group, CreateError> {
    let config = config(inbox, dictionary).map_err(CreateError::Bug)?;
    let id = MlsGroupId::from_slice(group_id.as_bytes());
    let credential = profile::credential(inbox, keys.id());
    match MlsGroup::new_with_group_id(scratch, keys, &config, id, credential) {
        Ok(group) => Ok(Group::new(group_id, group)),
        Err(NewGroupError::GroupAlreadyExists) => Err(CreateError::Exists),
        Err(NewGroupError::StorageError(e)) => Err(e.into()),
        Err(e) => Err(CreateError::Bug(e.to_string())),
    }
}

fn config(inbox: InboxId, dictionary: &RawDictionary) -> Result<MlsGroupCreateConfig, String> {
    let join = profile::join_config();
    Ok(MlsGroupCreateConfig::builder()
        .ciphersuite(profile::SUITE)
        .capabilities(profile::capabilities())
        .lifetime(profile::unbounded_lifetime())
        .with_group_context_extensions(context(dictionary)?)
        .with_leaf_node_extensions(profile::leaf_extensions(inbox)?)
        .map_err(|e| e.to_string())?
        .wire_format_policy(join.wire_format_policy())
        .padding_size(join.padding_size())
        .max_past_epochs(profile::MAX_PAST_EPOCHS)
        .number_of_resumption_psks(0)
        .use_ratchet_tree_extension(true)
        .sender_ratchet_configuration(*join.sender_ratchet_configuration())
        .build())
}

fn context(dictionary: &RawDictionary) -> Result<Extensions<GroupContext>, String> {
    let mut entries = AppDataDictionary::new();
    for (component, value) in dictionary {
        let _ = entries.insert(*component, value.clone());
    }
    let dictionary = Extension::AppDataDictionary(AppDataDictionaryExtension::new(entries));
    Extensions::from_vec(vec![profile::required_capabilities(), dictionary]).map_err(|e| e.to_string())
}
