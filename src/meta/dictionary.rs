//! What the app-data dictionary says, read one component at a time.
//!
//! An absent role list reads as empty (nobody has the role), an absent text as the empty string
//! (META-041). Type, creator, membership and registry have no such reading: a group without them
//! cannot be judged (META-019).

use crate::base::Gather as _;
use crate::base::{Map, Set};

use super::component::{
    ADMIN_LIST, APP_DATA, COMPONENT_REGISTRY, CONVERSATION_TYPE, CREATOR_INBOX_ID, ConversationType,
    DM_MEMBERS, GROUP_DESCRIPTION, GROUP_IMAGE_URL, GROUP_MEMBERSHIP, GROUP_NAME, MESSAGE_DISAPPEAR_FROM_NS,
    MESSAGE_DISAPPEAR_IN_NS, MIN_SUPPORTED_PROTOCOL_VERSION, SUPER_ADMIN_LIST, ValueError,
};
use super::registry::Registry;
use super::tls_map::{decode_inbox_set, inbox_entries, read_inbox};
use crate::base::{InboxId, Version};

/// The dictionary as stored: component id to value.
pub type Components = Map<u16, Vec<u8>>;

/// Why the dictionary does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DictionaryError {
    /// A component every group has is not there.
    #[error("the group has no component {0:#06x}")]
    Missing(u16),
    /// A stored value is not what its component holds.
    #[error("the group's component {component:#06x} cannot be read: {source}")]
    Malformed {
        /// Which component.
        component: u16,
        /// What is wrong with it.
        source: ValueError,
    },
}

/// The settings that make messages disappear, as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disappearing {
    /// From which time on, in nanoseconds since the epoch.
    pub from_ns: Option<i64>,
    /// After how many nanoseconds.
    pub in_ns: Option<i64>,
}

impl Disappearing {
    /// Both are there and positive (META-052).
    pub fn enabled(&self) -> bool {
        self.from_ns.is_some_and(|from| from > 0) && self.in_ns.is_some_and(|after| after > 0)
    }
}

/// A typed view of a dictionary.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary<'a>(&'a Components);

impl<'a> Dictionary<'a> {
    /// Views `components`; nothing is read yet.
    pub fn new(components: &'a Components) -> Self {
        Self(components)
    }

    /// The bytes of a component.
    pub fn raw(&self, component: u16) -> Option<&'a [u8]> {
        self.0.get(&component).map(Vec::as_slice)
    }

    /// What kind of conversation the group is.
    pub fn conversation_type(&self) -> Result<ConversationType, DictionaryError> {
        self.required(CONVERSATION_TYPE, |bytes| {
            ConversationType::from_bytes(bytes).ok_or(ValueError::ConversationType)
        })
    }

    /// Who created the group.
    pub fn creator(&self) -> Result<InboxId, DictionaryError> {
        self.required(CREATOR_INBOX_ID, |bytes| Ok(read_inbox(bytes)?))
    }

    /// The two inboxes of DM_MEMBERS, ascending (META-030).
    pub fn dm_members(&self) -> Result<[InboxId; 2], DictionaryError> {
        self.required(DM_MEMBERS, |bytes| {
            let inboxes: Vec<InboxId> = decode_inbox_set(bytes)?.into_iter().collect();
            inboxes.try_into().map_err(|_| ValueError::NotAPair)
        })
    }

    /// The pair, when the group is a DM. A group of another type has none, whatever it holds.
    pub fn dm_pair(&self) -> Result<Option<[InboxId; 2]>, DictionaryError> {
        match self.conversation_type()? {
            ConversationType::Dm => self.dm_members().map(Some),
            ConversationType::Group | ConversationType::Sync | ConversationType::Oneshot => Ok(None),
        }
    }

    /// Member inboxes and the raw bytes of each one's membership entry.
    pub fn membership(&self) -> Result<Vec<(InboxId, &'a [u8])>, DictionaryError> {
        self.required(GROUP_MEMBERSHIP, |bytes| Ok(inbox_entries(bytes)?))
    }

    /// Member inboxes.
    pub fn members(&self) -> Result<Set<InboxId>, DictionaryError> {
        Ok(self.membership()?.into_iter().map(|(inbox, _)| inbox).gather())
    }

    /// The admins.
    pub fn admins(&self) -> Result<Set<InboxId>, DictionaryError> {
        self.inboxes(ADMIN_LIST)
    }

    /// The super admins.
    pub fn super_admins(&self) -> Result<Set<InboxId>, DictionaryError> {
        self.inboxes(SUPER_ADMIN_LIST)
    }

    /// The name.
    pub fn name(&self) -> Result<&'a str, DictionaryError> {
        self.text(GROUP_NAME)
    }

    /// The description.
    pub fn description(&self) -> Result<&'a str, DictionaryError> {
        self.text(GROUP_DESCRIPTION)
    }

    /// The image URL.
    pub fn image_url(&self) -> Result<&'a str, DictionaryError> {
        self.text(GROUP_IMAGE_URL)
    }

    /// The string an app keeps.
    pub fn app_data(&self) -> Result<&'a str, DictionaryError> {
        self.text(APP_DATA)
    }

    /// When messages disappear.
    pub fn disappearing(&self) -> Result<Disappearing, DictionaryError> {
        Ok(Disappearing {
            from_ns: self.number(MESSAGE_DISAPPEAR_FROM_NS)?,
            in_ns: self.number(MESSAGE_DISAPPEAR_IN_NS)?,
        })
    }

    /// The floor as it is stored; `None` when there is none or it is not text.
    pub fn floor_text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.raw(MIN_SUPPORTED_PROTOCOL_VERSION)?).ok()
    }

    /// The floor; `None` when there is none or it is malformed (GMOD-027: it never pauses then).
    pub fn floor(&self) -> Option<Version> {
        self.floor_text()?.parse().ok()
    }

    /// The registry.
    pub fn registry(&self) -> Result<Registry, DictionaryError> {
        self.required(COMPONENT_REGISTRY, |bytes| Ok(Registry::decode(bytes)?))
    }

    fn text(&self, component: u16) -> Result<&'a str, DictionaryError> {
        let text =
            self.optional(component, |bytes| std::str::from_utf8(bytes).map_err(|_| ValueError::NotText))?;
        Ok(text.unwrap_or_default())
    }

    fn number(&self, component: u16) -> Result<Option<i64>, DictionaryError> {
        self.optional(component, |bytes| {
            bytes.try_into().map(i64::from_be_bytes).map_err(|_| ValueError::Length(8))
        })
    }

    fn inboxes(&self, component: u16) -> Result<Set<InboxId>, DictionaryError> {
        Ok(self.optional(component, |bytes| Ok(decode_inbox_set(bytes)?))?.unwrap_or_default())
    }

    fn required<T>(
        &self,
        component: u16,
        read: impl FnOnce(&'a [u8]) -> Result<T, ValueError>,
    ) -> Result<T, DictionaryError> {
        self.optional(component, read)?.ok_or(DictionaryError::Missing(component))
    }

    fn optional<T>(
        &self,
        component: u16,
        read: impl FnOnce(&'a [u8]) -> Result<T, ValueError>,
    ) -> Result<Option<T>, DictionaryError> {
        self.raw(component)
            .map(read)
            .transpose()
            .map_err(|source| DictionaryError::Malformed { component, source })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tls_map::{CodecError, encode_inbox_map, encode_inbox_set, inbox_bytes};
    use super::*;

    const A: InboxId = InboxId([1; 32]);
    const B: InboxId = InboxId([2; 32]);

    fn malformed(component: u16, source: ValueError) -> DictionaryError {
        DictionaryError::Malformed { component, source }
    }

    #[test]
    fn a_dm_reads_back() {
        let membership = Map::from([(A, vec![1, 2])]);
        let components = Map::from([
            (CONVERSATION_TYPE, vec![0, 0, 0, 2]),
            (CREATOR_INBOX_ID, inbox_bytes(&A).to_vec()),
            (DM_MEMBERS, encode_inbox_set([&B, &A])),
            (GROUP_MEMBERSHIP, encode_inbox_map(&membership)),
            (SUPER_ADMIN_LIST, encode_inbox_set([])),
            (ADMIN_LIST, encode_inbox_set([&B])),
            (GROUP_NAME, b"name".to_vec()),
            (MESSAGE_DISAPPEAR_FROM_NS, 5i64.to_be_bytes().to_vec()),
            (MESSAGE_DISAPPEAR_IN_NS, 7i64.to_be_bytes().to_vec()),
            (MIN_SUPPORTED_PROTOCOL_VERSION, b"1.2.3".to_vec()),
        ]);
        let view = Dictionary::new(&components);
        assert_eq!(view.conversation_type(), Ok(ConversationType::Dm));
        assert_eq!(view.creator(), Ok(A));
        assert_eq!(view.dm_members(), Ok([A, B]));
        assert_eq!(view.dm_pair(), Ok(Some([A, B])));
        assert_eq!(view.membership(), Ok(vec![(A, &[1, 2][..])]));
        assert_eq!(view.admins(), Ok(Set::from([B])));
        assert_eq!(view.super_admins(), Ok(Set::new()));
        assert_eq!((view.name(), view.description()), (Ok("name"), Ok("")));
        assert_eq!(view.disappearing(), Ok(Disappearing { from_ns: Some(5), in_ns: Some(7) }));
        assert!(view.disappearing().unwrap().enabled());
        assert_eq!(view.floor(), "1.2.3".parse().ok());
    }

    #[test]
    fn absent_and_broken_components_are_told_apart() {
        let empty = Map::new();
        let view = Dictionary::new(&empty);
        assert_eq!(view.creator(), Err(DictionaryError::Missing(CREATOR_INBOX_ID)));
        assert_eq!(view.registry(), Err(DictionaryError::Missing(COMPONENT_REGISTRY)));
        assert_eq!(view.membership(), Err(DictionaryError::Missing(GROUP_MEMBERSHIP)));
        assert_eq!(view.disappearing(), Ok(Disappearing::default()));
        assert_eq!(view.floor(), None);

        let broken = Map::from([
            (CREATOR_INBOX_ID, vec![1; 33]),
            (DM_MEMBERS, encode_inbox_set([&A])),
            (ADMIN_LIST, vec![9]),
            (MESSAGE_DISAPPEAR_IN_NS, vec![0; 7]),
            (MIN_SUPPORTED_PROTOCOL_VERSION, b"soon".to_vec()),
        ]);
        let view = Dictionary::new(&broken);
        assert_eq!(view.creator(), Err(malformed(CREATOR_INBOX_ID, CodecError::InboxVersion.into())));
        assert_eq!(view.dm_members(), Err(malformed(DM_MEMBERS, ValueError::NotAPair)));
        assert_eq!(view.admins(), Err(malformed(ADMIN_LIST, CodecError::Truncated.into())));
        assert_eq!(view.disappearing(), Err(malformed(MESSAGE_DISAPPEAR_IN_NS, ValueError::Length(8))));
        assert_eq!((view.floor_text(), view.floor()), (Some("soon"), None));
    }

    #[test]
    fn a_group_with_dm_members_is_no_dm() {
        let components =
            Map::from([(CONVERSATION_TYPE, vec![0, 0, 0, 1]), (DM_MEMBERS, encode_inbox_set([&A, &B]))]);
        assert_eq!(Dictionary::new(&components).dm_pair(), Ok(None));
    }

    proptest! {
        #[test]
        fn reading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let components: Map<u16, Vec<u8>> = (0x8000..0x800E)
                .chain(0xBFFC..=0xBFFF)
                .map(|id| (id, bytes.clone()))
                .collect();
            let view = Dictionary::new(&components);
            let _ = (view.conversation_type(), view.creator(), view.dm_pair(), view.dm_members());
            let _ = (view.membership(), view.admins(), view.super_admins(), view.registry());
            let _ = (view.name(), view.disappearing(), view.floor());
        }
    }
}
