//! Component ids: ranges, types, what each well-known value must look like (META-003 to META-011).
//!
//! A well-known component has a fixed type whatever its registry entry says; any other component
//! has the type its entry in the committed registry names (PERM-014). `USER_DISPLAY_NAME` and
//! `GROUP_IMAGE` come from the same published table as the rest.

use super::tls_map::{CodecError, KeyKind, decode_inbox_set, decode_map, decode_set, read_inbox};
use crate::base::Version;

/// Component id to `ComponentMetadata`: the types and policies of all others.
pub const COMPONENT_REGISTRY: u16 = 0x8000;
/// The set of super admins.
pub const SUPER_ADMIN_LIST: u16 = 0x8001;
/// The set of admins.
pub const ADMIN_LIST: u16 = 0x8002;
/// Member inboxes and the identity state each is at.
pub const GROUP_MEMBERSHIP: u16 = 0x8003;
/// The name, at most 100 bytes.
pub const GROUP_NAME: u16 = 0x8004;
/// The description, at most 1000 bytes.
pub const GROUP_DESCRIPTION: u16 = 0x8005;
/// The image URL, at most 2048 bytes.
pub const GROUP_IMAGE_URL: u16 = 0x8006;
/// From when messages disappear: nanoseconds since the epoch, 8 bytes.
pub const MESSAGE_DISAPPEAR_FROM_NS: u16 = 0x8007;
/// After how many nanoseconds messages disappear, 8 bytes.
pub const MESSAGE_DISAPPEAR_IN_NS: u16 = 0x8008;
/// A string an app keeps, at most 8192 bytes.
pub const APP_DATA: u16 = 0x8009;
/// The floor: the lowest client version that may process the group.
pub const MIN_SUPPORTED_PROTOCOL_VERSION: u16 = 0x800A;
/// The key members sign the commit log with, 32 bytes.
pub const COMMIT_LOG_SIGNER: u16 = 0x800B;
/// Inbox to the name it chose for this group.
pub const USER_DISPLAY_NAME: u16 = 0x800C;
/// A description of the group's image, at most 8192 bytes.
pub const GROUP_IMAGE: u16 = 0x800D;
/// The payload of a one-shot group.
pub const ONESHOT_MESSAGE: u16 = 0xBFFC;
/// The two inboxes of a DM.
pub const DM_MEMBERS: u16 = 0xBFFD;
/// Who created the group.
pub const CREATOR_INBOX_ID: u16 = 0xBFFE;
/// What kind of conversation it is.
pub const CONVERSATION_TYPE: u16 = 0xBFFF;

/// Where an id lies (META section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Below 0x8000: not a component of XMTP.
    Outside,
    /// A component of the protocol.
    Protocol,
    /// A component an app may register.
    Application,
    /// From 0xFF00 on: never written (META-003).
    Reserved,
}

/// The range of an id.
pub fn range(id: u16) -> Range {
    match id {
        0x0000..=0x7FFF => Range::Outside,
        0x8000..=0xBFFF => Range::Protocol,
        0xC000..=0xFEFF => Range::Application,
        0xFF00..=0xFFFF => Range::Reserved,
    }
}

/// Written once, never updated or removed (META-004).
pub fn is_immutable(id: u16) -> bool {
    matches!(id, 0xBE00..=0xBFFF | 0xFD00..=0xFEFF)
}

/// Governed by a fixed rule in place of a registry entry (PERM-005).
pub fn is_hardcoded(id: u16) -> bool {
    matches!(id, COMPONENT_REGISTRY | SUPER_ADMIN_LIST)
}

/// The type of a value, with its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentType {
    /// Bytes, replaced as a whole.
    Bytes = 1,
    /// UTF-8, replaced as a whole.
    String = 2,
    /// Byte string to bytes.
    MapBytesBytes = 3,
    /// Inbox to bytes.
    MapInboxBytes = 4,
    /// Byte strings.
    SetBytes = 5,
    /// Inboxes.
    SetInbox = 6,
    /// Inbox to UTF-8.
    MapInboxString = 7,
}

impl ComponentType {
    /// The type with this number; `None` for 0 and unknown ones.
    pub fn from_wire(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::Bytes,
            2 => Self::String,
            3 => Self::MapBytesBytes,
            4 => Self::MapInboxBytes,
            5 => Self::SetBytes,
            6 => Self::SetInbox,
            7 => Self::MapInboxString,
            _ => return None,
        })
    }

    /// How values of the type are encoded.
    pub fn shape(self) -> Shape {
        match self {
            Self::Bytes => Shape::Scalar { text: false },
            Self::String => Shape::Scalar { text: true },
            Self::MapBytesBytes => Shape::Map { keys: KeyKind::Bytes, text: false },
            Self::MapInboxBytes => Shape::Map { keys: KeyKind::Inbox, text: false },
            Self::SetBytes => Shape::Set { keys: KeyKind::Bytes },
            Self::SetInbox => Shape::Set { keys: KeyKind::Inbox },
            Self::MapInboxString => Shape::Map { keys: KeyKind::Inbox, text: true },
        }
    }
}

/// How a value is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The bytes themselves; an Update replaces them.
    Scalar {
        /// They are UTF-8.
        text: bool,
    },
    /// An ordered set; an Update is a delta.
    Set {
        /// Its keys.
        keys: KeyKind,
    },
    /// An ordered map; an Update is a delta.
    Map {
        /// Its keys.
        keys: KeyKind,
        /// Its values are UTF-8.
        text: bool,
    },
}

/// The type a well-known component is registered with; `None` for any other id.
pub fn built_in_type(id: u16) -> Option<ComponentType> {
    Some(match id {
        SUPER_ADMIN_LIST | ADMIN_LIST | DM_MEMBERS => ComponentType::SetInbox,
        GROUP_MEMBERSHIP => ComponentType::MapInboxBytes,
        GROUP_NAME | GROUP_DESCRIPTION | GROUP_IMAGE_URL | APP_DATA | MIN_SUPPORTED_PROTOCOL_VERSION => {
            ComponentType::String
        }
        MESSAGE_DISAPPEAR_FROM_NS
        | MESSAGE_DISAPPEAR_IN_NS
        | COMMIT_LOG_SIGNER
        | GROUP_IMAGE
        | ONESHOT_MESSAGE
        | CREATOR_INBOX_ID
        | CONVERSATION_TYPE => ComponentType::Bytes,
        USER_DISPLAY_NAME => ComponentType::MapInboxString,
        COMPONENT_REGISTRY => ComponentType::MapBytesBytes,
        _ => return None,
    })
}

/// The encoding of a well-known component; `None` for any other id.
///
/// The registry's keys are bare component ids, in spite of its type number.
pub fn built_in_shape(id: u16) -> Option<Shape> {
    match id {
        COMPONENT_REGISTRY => Some(Shape::Map { keys: KeyKind::Component, text: false }),
        _ => built_in_type(id).map(ComponentType::shape),
    }
}

/// What kind of conversation a group is, with its number on the wire (4 bytes, big-endian).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConversationType {
    /// A group.
    Group = 1,
    /// A conversation of two inboxes.
    Dm = 2,
    /// The installations of one inbox; never listed.
    Sync = 3,
    /// A carrier of one payload; never listed.
    Oneshot = 4,
}

impl ConversationType {
    /// The component's bytes.
    pub fn to_bytes(self) -> [u8; 4] {
        (self as i32).to_be_bytes()
    }

    /// Reads the component; `None` for a wrong length, "unspecified" and unknown numbers.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match i32::from_be_bytes(bytes.try_into().ok()?) {
            1 => Some(Self::Group),
            2 => Some(Self::Dm),
            3 => Some(Self::Sync),
            4 => Some(Self::Oneshot),
            _ => None,
        }
    }
}

/// Why bytes may not be the value of a component (META-010).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Longer than the component allows.
    #[error("the value is longer than {0} bytes")]
    TooLong(usize),
    /// The component has a fixed length.
    #[error("the value is not {0} bytes long")]
    Length(usize),
    /// Not UTF-8.
    #[error("the value is not UTF-8")]
    NotText,
    /// A floor that is not a semantic version.
    #[error("the version is not a semantic version")]
    NotAVersion,
    /// Not one of the four conversation types.
    #[error("the conversation type is unknown")]
    ConversationType,
    /// A DM pair that is not exactly two inboxes (META-030).
    #[error("a DM pair has exactly two inboxes")]
    NotAPair,
    /// Not an inbox id or not an ordered collection.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

/// Checks a whole value: its encoding, and for a well-known component its limits (META-010).
///
/// The payloads inside the registry and the membership component are judged elsewhere.
pub fn check_value(id: u16, shape: Shape, bytes: &[u8]) -> Result<(), ValueError> {
    match shape {
        Shape::Scalar { text: false } => {}
        Shape::Scalar { text: true } => check_text(bytes)?,
        Shape::Set { keys } => drop(decode_set(keys, bytes)?),
        Shape::Map { keys, text } => {
            let entries = decode_map(keys, bytes)?;
            if text {
                entries.values().try_for_each(|value| check_text(value))?;
            }
        }
    }
    match id {
        GROUP_NAME => at_most(100, bytes),
        GROUP_DESCRIPTION => at_most(1000, bytes),
        GROUP_IMAGE_URL => at_most(2048, bytes),
        APP_DATA | GROUP_IMAGE => at_most(8192, bytes),
        MESSAGE_DISAPPEAR_FROM_NS | MESSAGE_DISAPPEAR_IN_NS => exactly(8, bytes),
        COMMIT_LOG_SIGNER => exactly(32, bytes),
        MIN_SUPPORTED_PROTOCOL_VERSION => check_version(bytes),
        CONVERSATION_TYPE => {
            ConversationType::from_bytes(bytes).map(drop).ok_or(ValueError::ConversationType)
        }
        CREATOR_INBOX_ID => Ok(read_inbox(bytes).map(drop)?),
        DM_MEMBERS if decode_inbox_set(bytes)?.len() != 2 => Err(ValueError::NotAPair),
        _ => Ok(()),
    }
}

/// Checks the whole value of a well-known component; any other id passes.
pub fn check_well_known(id: u16, bytes: &[u8]) -> Result<(), ValueError> {
    built_in_shape(id).map_or(Ok(()), |shape| check_value(id, shape, bytes))
}

fn check_text(bytes: &[u8]) -> Result<(), ValueError> {
    std::str::from_utf8(bytes).map(drop).map_err(|_| ValueError::NotText)
}

fn check_version(bytes: &[u8]) -> Result<(), ValueError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ValueError::NotText)?;
    text.parse::<Version>().map(drop).map_err(|_| ValueError::NotAVersion)
}

fn at_most(limit: usize, bytes: &[u8]) -> Result<(), ValueError> {
    if bytes.len() <= limit { Ok(()) } else { Err(ValueError::TooLong(limit)) }
}

fn exactly(length: usize, bytes: &[u8]) -> Result<(), ValueError> {
    if bytes.len() == length { Ok(()) } else { Err(ValueError::Length(length)) }
}

#[cfg(test)]
mod tests {
    use super::super::tls_map::{encode_inbox_set, inbox_bytes};
    use super::*;
    use crate::base::InboxId;

    fn check(id: u16, bytes: &[u8]) -> Result<(), ValueError> {
        check_value(id, built_in_shape(id).unwrap(), bytes)
    }

    #[test]
    fn ranges_meet_without_gaps() {
        assert_eq!(range(0x7FFF), Range::Outside);
        assert_eq!(range(0x8000), Range::Protocol);
        assert_eq!(range(0xBFFF), Range::Protocol);
        assert_eq!(range(0xC000), Range::Application);
        assert_eq!(range(0xFEFF), Range::Application);
        assert_eq!(range(0xFF00), Range::Reserved);
        let immutable: Vec<u16> = (0..=u16::MAX).filter(|id| is_immutable(*id)).collect();
        assert_eq!(immutable.len(), 0x400);
        assert!([0xBE00, 0xBFFF, 0xFD00, 0xFEFF].iter().all(|id| immutable.contains(id)));
    }

    #[test]
    fn text_limits_count_bytes() {
        for (id, limit) in
            [(GROUP_NAME, 100), (GROUP_DESCRIPTION, 1000), (GROUP_IMAGE_URL, 2048), (APP_DATA, 8192)]
        {
            assert_eq!(check(id, &vec![b'a'; limit]), Ok(()));
            assert_eq!(check(id, &vec![b'a'; limit + 1]), Err(ValueError::TooLong(limit)));
            assert_eq!(check(id, &[0xff]), Err(ValueError::NotText));
        }
        assert_eq!(check(GROUP_NAME, "é".repeat(51).as_bytes()), Err(ValueError::TooLong(100)));
        assert_eq!(check(GROUP_IMAGE, &[0xff; 8192]), Ok(()));
        assert_eq!(check(GROUP_IMAGE, &[0xff; 8193]), Err(ValueError::TooLong(8192)));
    }

    #[test]
    fn fixed_lengths_are_exact() {
        for (id, length) in
            [(MESSAGE_DISAPPEAR_FROM_NS, 8), (MESSAGE_DISAPPEAR_IN_NS, 8), (COMMIT_LOG_SIGNER, 32)]
        {
            assert_eq!(check(id, &vec![0; length]), Ok(()));
            assert_eq!(check(id, &vec![0; length - 1]), Err(ValueError::Length(length)));
            assert_eq!(check(id, &vec![0; length + 1]), Err(ValueError::Length(length)));
        }
    }

    #[test]
    fn identity_components_are_checked() {
        assert_eq!(ConversationType::Dm.to_bytes(), [0, 0, 0, 2]);
        for kind in [1, 2, 3, 4] {
            assert_eq!(check(CONVERSATION_TYPE, &[0, 0, 0, kind]), Ok(()));
        }
        for bad in [&[0, 0, 0, 0][..], &[0, 0, 0, 5], &[2], &[0, 0, 0, 0, 2]] {
            assert_eq!(check(CONVERSATION_TYPE, bad), Err(ValueError::ConversationType));
        }
        let ids = [InboxId([1; 32]), InboxId([2; 32]), InboxId([3; 32])];
        assert_eq!(check(CREATOR_INBOX_ID, &inbox_bytes(&ids[0])), Ok(()));
        assert_eq!(check(CREATOR_INBOX_ID, &ids[0].0), Err(CodecError::InboxVersion.into()));
        assert_eq!(check(DM_MEMBERS, &encode_inbox_set(&ids[..2])), Ok(()));
        for count in [0, 1, 3] {
            assert_eq!(check(DM_MEMBERS, &encode_inbox_set(&ids[..count])), Err(ValueError::NotAPair));
        }
    }

    #[test]
    fn the_floor_is_a_semantic_version() {
        assert_eq!(check(MIN_SUPPORTED_PROTOCOL_VERSION, b"1.11.0-dev"), Ok(()));
        for bad in ["", "1.11", "v1.0.0", " 1.0.0"] {
            assert_eq!(check(MIN_SUPPORTED_PROTOCOL_VERSION, bad.as_bytes()), Err(ValueError::NotAVersion));
        }
    }

    #[test]
    fn every_type_number_is_read_back() {
        for number in -1..9 {
            let known = ComponentType::from_wire(number);
            assert_eq!(known.map(|kind| kind as i32), (1..8).contains(&number).then_some(number));
        }
        assert_eq!(built_in_shape(0xC000), None);
        assert_eq!(
            built_in_shape(COMPONENT_REGISTRY),
            Some(Shape::Map { keys: KeyKind::Component, text: false })
        );
    }
}
