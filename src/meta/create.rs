//! The dictionary a new group is born with (META-018).
//!
//! The registry is handed in, because policies are not decided here: create groups through
//! `policy`, which has one call per kind of conversation and fills it in. The floor of a new group is the first version that
//! supports the dictionary (GMOD section 5).

use crate::base::Map;

use super::component::{
    ADMIN_LIST, APP_DATA, COMMIT_LOG_SIGNER, COMPONENT_REGISTRY, CONVERSATION_TYPE, CREATOR_INBOX_ID,
    ConversationType, DM_MEMBERS, GROUP_DESCRIPTION, GROUP_IMAGE_URL, GROUP_MEMBERSHIP, GROUP_NAME,
    MESSAGE_DISAPPEAR_FROM_NS, MESSAGE_DISAPPEAR_IN_NS, MIN_SUPPORTED_PROTOCOL_VERSION, SUPER_ADMIN_LIST,
    ValueError, check_well_known,
};
use super::dictionary::Components;
use super::registry::RegistryError;
use super::tls_map::{encode_inbox_map, encode_inbox_set, inbox_bytes};
use crate::base::InboxId;

/// The floor new groups are created with: the first version that supports the dictionary.
pub const FIRST_FLOOR: &str = "1.11.0-dev";

/// Optional values at creation; what is `None` is not written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The image URL.
    pub image_url: Option<String>,
    /// The string an app keeps.
    pub app_data: Option<String>,
    /// From which time (nanoseconds since the epoch) and after how many nanoseconds messages
    /// disappear.
    pub disappearing: Option<(i64, i64)>,
}

/// What is known of a group before it exists.
#[derive(Clone, Copy)]
pub struct NewConversation<'a> {
    /// Who creates it.
    pub creator: InboxId,
    /// The creator's membership entry (sequence id 0), encoded.
    pub creator_entry: &'a [u8],
    /// The floor, normally [`FIRST_FLOOR`].
    pub floor: &'a str,
    /// Optional values.
    pub settings: &'a Settings,
    /// The key members sign the commit log with. In a DM it can never be added later.
    pub commit_log_signer: Option<&'a [u8; 32]>,
}

/// Why a group cannot be created like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// A DM with oneself.
    #[error("a DM needs another inbox than your own")]
    SameInbox,
    /// Policies that a group cannot have (PERM-017).
    #[error(transparent)]
    Policies(#[from] RegistryError),
    /// A value its component does not allow.
    #[error("component {component:#06x} may not have this value: {source}")]
    Value {
        /// Which component.
        component: u16,
        /// What is wrong.
        source: ValueError,
    },
}

/// The epoch-0 dictionary with this registry: of a DM with `dm_peer`, or of a group.
///
/// A group starts with its creator as the only super admin and without admins (PERM-002); a DM
/// starts with both lists empty and its pair recorded (DMS-002).
pub fn new_dictionary(
    new: &NewConversation<'_>,
    dm_peer: Option<InboxId>,
    registry: Vec<u8>,
) -> Result<Components, CreateError> {
    let (kind, super_admins) = match dm_peer {
        Some(peer) if peer == new.creator => return Err(CreateError::SameInbox),
        Some(_) => (ConversationType::Dm, encode_inbox_set([])),
        None => (ConversationType::Group, encode_inbox_set([&new.creator])),
    };
    let membership = Map::from([(new.creator, new.creator_entry.to_vec())]);
    let mut components = Map::from([
        (COMPONENT_REGISTRY, registry),
        (SUPER_ADMIN_LIST, super_admins),
        (ADMIN_LIST, encode_inbox_set([])),
        (GROUP_MEMBERSHIP, encode_inbox_map(&membership)),
        (MIN_SUPPORTED_PROTOCOL_VERSION, new.floor.as_bytes().to_vec()),
        (CONVERSATION_TYPE, kind.to_bytes().to_vec()),
        (CREATOR_INBOX_ID, inbox_bytes(&new.creator).to_vec()),
    ]);
    let pair = dm_peer.map(|peer| encode_inbox_set([&new.creator, &peer]));
    components.extend(pair.map(|pair| (DM_MEMBERS, pair)));
    components.extend(new.commit_log_signer.map(|key| (COMMIT_LOG_SIGNER, key.to_vec())));
    components.extend(optional_components(new.settings));
    for (component, value) in &components {
        check_well_known(*component, value)
            .map_err(|source| CreateError::Value { component: *component, source })?;
    }
    Ok(components)
}

fn optional_components(settings: &Settings) -> impl Iterator<Item = (u16, Vec<u8>)> + '_ {
    let text = |component, text: &Option<String>| Some((component, text.as_ref()?.as_bytes().to_vec()));
    let number = |component, number: Option<i64>| Some((component, number?.to_be_bytes().to_vec()));
    let (from_ns, in_ns) = settings.disappearing.unzip();
    [
        text(GROUP_NAME, &settings.name),
        text(GROUP_DESCRIPTION, &settings.description),
        text(GROUP_IMAGE_URL, &settings.image_url),
        text(APP_DATA, &settings.app_data),
        number(MESSAGE_DISAPPEAR_FROM_NS, from_ns),
        number(MESSAGE_DISAPPEAR_IN_NS, in_ns),
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::super::dictionary::{Dictionary, Disappearing};
    use super::super::registry::encode_registry;
    use super::*;

    const OWN: InboxId = InboxId([1; 32]);
    const PEER: InboxId = InboxId([2; 32]);

    fn create(dm_peer: Option<InboxId>, settings: &Settings) -> Result<Components, CreateError> {
        let new = NewConversation {
            creator: OWN,
            creator_entry: &[0x0a, 0],
            floor: FIRST_FLOOR,
            settings,
            commit_log_signer: None,
        };
        new_dictionary(&new, dm_peer, encode_registry([]))
    }

    #[test]
    fn meta_018_a_group_holds_what_every_group_holds_and_no_more() {
        let group = create(None, &Settings::default()).unwrap();
        let required = [
            COMPONENT_REGISTRY,
            SUPER_ADMIN_LIST,
            ADMIN_LIST,
            GROUP_MEMBERSHIP,
            MIN_SUPPORTED_PROTOCOL_VERSION,
            CREATOR_INBOX_ID,
            CONVERSATION_TYPE,
        ];
        assert_eq!(group.keys().copied().collect::<Vec<_>>(), required);
        let view = Dictionary::new(&group);
        assert_eq!(view.conversation_type(), Ok(ConversationType::Group));
        assert_eq!(view.creator(), Ok(OWN));
        assert_eq!(view.membership(), Ok(vec![(OWN, &[0x0a, 0][..])]));
        assert_eq!(view.floor_text(), Some(FIRST_FLOOR));
    }

    #[test]
    fn perm_002_the_creator_is_the_only_super_admin_of_a_group() {
        let group = create(None, &Settings::default()).unwrap();
        let view = Dictionary::new(&group);
        assert_eq!(view.super_admins().unwrap().into_iter().collect::<Vec<_>>(), [OWN]);
        assert!(view.admins().unwrap().is_empty());
    }

    #[test]
    fn dms_002_a_dm_records_its_pair_and_has_no_admins() {
        let dm = create(Some(PEER), &Settings::default()).unwrap();
        let view = Dictionary::new(&dm);
        assert_eq!(view.conversation_type(), Ok(ConversationType::Dm));
        assert_eq!(view.dm_members(), Ok([OWN, PEER]));
        assert_eq!(dm[&SUPER_ADMIN_LIST], encode_inbox_set([]));
        assert_eq!(dm[&ADMIN_LIST], encode_inbox_set([]));
        assert_eq!(view.members().unwrap().into_iter().collect::<Vec<_>>(), [OWN]);
    }

    #[test]
    fn dms_002_a_dm_with_oneself_is_refused() {
        assert_eq!(create(Some(OWN), &Settings::default()), Err(CreateError::SameInbox));
    }

    #[test]
    fn meta_018_supplied_settings_are_written() {
        let settings = Settings {
            name: Some("team".into()),
            app_data: Some(String::new()),
            disappearing: Some((5, 6)),
            ..Settings::default()
        };
        let group = create(None, &settings).unwrap();
        let view = Dictionary::new(&group);
        assert_eq!(view.name(), Ok("team"));
        assert_eq!(view.raw(APP_DATA), Some(&[][..]));
        assert_eq!(view.raw(GROUP_DESCRIPTION), None);
        assert_eq!(view.disappearing(), Ok(Disappearing { from_ns: Some(5), in_ns: Some(6) }));
    }

    #[test]
    fn meta_010_limits_hold_at_creation_too() {
        let settings = Settings { name: Some("x".repeat(101)), ..Settings::default() };
        let refused = CreateError::Value { component: GROUP_NAME, source: ValueError::TooLong(100) };
        assert_eq!(create(None, &settings), Err(refused));
    }
}
