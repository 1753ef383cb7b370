//! New groups and DMs with the registry their kind demands (PERM-019, DMS-002).

use super::presets::{ALL_MEMBERS, DM, Row, registry_of};
use crate::base::InboxId;
use crate::meta::component::CONVERSATION_TYPE;
use crate::meta::{Components, ConversationType, CreateError, NewConversation, Registry, new_dictionary};

/// The dictionary of a new group with the policies of `rows`: [`ALL_MEMBERS`](super::ALL_MEMBERS),
/// [`ADMINS_ONLY`](super::ADMINS_ONLY), or others that keep membership and roles decidable
/// (PERM-017).
pub fn new_group(new: &NewConversation<'_>, rows: &[Row]) -> Result<Components, CreateError> {
    let registry = registry_of(rows);
    Registry::decode(&registry).unwrap_or_default().check_action_policies()?;
    new_dictionary(new, None, registry)
}

/// The dictionary of a new sync group: policies like those of [`ALL_MEMBERS`](super::ALL_MEMBERS)
/// (facts 6.1).
pub fn new_sync(new: &NewConversation<'_>) -> Result<Components, CreateError> {
    let mut components = new_group(new, ALL_MEMBERS)?;
    components.insert(CONVERSATION_TYPE, ConversationType::Sync.to_bytes().to_vec());
    Ok(components)
}

/// The dictionary of a new DM with `peer`; its policies are fixed (DMS-002).
pub fn new_dm(new: &NewConversation<'_>, peer: InboxId) -> Result<Components, CreateError> {
    new_dictionary(new, Some(peer), registry_of(DM))
}
