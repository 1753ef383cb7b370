//! The elements of an archive file as typed records (facts 6.3, 12.6).
//!
//! Choices where the texts leave room: of adder and creator one may be absent and is then the
//! other; a group names a dm id exactly when it is a DM; kinds and states without a meaning here
//! are refused, but sync groups, one-shot groups and messages that were never published are read as
//! what they are, for whoever passes over them.

use std::collections::BTreeMap;
use std::fmt;

use prost::Message;

use super::error::decode;
use super::{ConsentSave, ContentType, WireError, proto};
use crate::base::{DmId, GroupId, InboxId, InstallationId, MessageId, Nanos};

/// One element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// What the archive holds: the first element.
    Metadata(ArchiveMetadata),
    /// A conversation; all of them come before the messages.
    Group(Box<ArchivedGroup>),
    /// A message.
    Message(Box<ArchivedMessage>),
    /// A decision of the user.
    Consent(ConsentSave),
    /// Retired, or of a later version: passed over.
    Unknown,
}

/// What an archive says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveMetadata {
    /// Numbers of what was selected: 1 messages, 2 consent.
    pub elements: Vec<i32>,
    /// When it was made, by the clock of the device that did.
    pub exported_ns: Nanos,
    /// Messages were sent later than this.
    pub start_ns: Option<Nanos>,
    /// Messages were not sent later than this.
    pub end_ns: Option<Nanos>,
}

/// What an archived group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchivedKind {
    /// A group of any number of inboxes.
    Group,
    /// A DM of any two inboxes.
    Dm(DmId),
    /// A sync or one-shot group: never a conversation.
    Virtual,
}

/// A conversation without any MLS state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedGroup {
    /// The MLS group id.
    pub id: GroupId,
    /// What it is.
    pub kind: ArchivedKind,
    /// When it was created, or joined.
    pub created_ns: Nanos,
    /// Where it stood: 1 member, 4 restored, and other numbers that decide nothing here.
    pub membership_state: i32,
    /// Who added the exporting installation.
    pub adder: InboxId,
    /// Who created it.
    pub creator: InboxId,
    /// Retained activity (DMS-013).
    pub last_message_ns: Option<Nanos>,
    /// MESSAGE_DISAPPEAR_FROM_NS; 0 when absent.
    pub disappear_from_ns: i64,
    /// MESSAGE_DISAPPEAR_IN_NS; 0 when absent.
    pub disappear_in_ns: i64,
    /// Further settings by the names of facts 5.3.
    pub attributes: BTreeMap<String, String>,
    /// ADMIN_LIST.
    pub admins: Vec<InboxId>,
    /// SUPER_ADMIN_LIST.
    pub super_admins: Vec<InboxId>,
}

/// A message as it was read by the exporting installation. Its `Debug` shows no message text.
#[derive(Clone, PartialEq, Eq)]
pub struct ArchivedMessage {
    /// Its id.
    pub id: MessageId,
    /// The group it was sent in.
    pub group: GroupId,
    /// The serialised EncodedContent.
    pub content: Vec<u8>,
    /// Its content type, for content that does not decode.
    pub content_type: ContentType,
    /// Time of the delivery service.
    pub sent_ns: Nanos,
    /// A membership-change row, not a message a member sent (GMOD-035).
    pub transcript: bool,
    /// It has its place in the topic.
    pub published: bool,
    /// The claimed sender: nothing but the archive's key vouches for it.
    pub sender_inbox: InboxId,
    /// The claimed sending device.
    pub sender_installation: InstallationId,
    /// Its place in the topic, if that is known.
    pub sequence_id: Option<u64>,
    /// When it expires. `None` is "not known", `Some(None)` is "never".
    pub expires_ns: Option<Option<Nanos>>,
}

const GROUP: &str = "GroupSave";
const MESSAGE: &str = "GroupMessageSave";

impl Element {
    /// The canonical bytes; an unknown element has none.
    pub fn encode(&self) -> Vec<u8> {
        use proto::backup_element::Element as Wire;
        let element = match self {
            Self::Metadata(metadata) => Some(Wire::Metadata(metadata.to_wire())),
            Self::Group(group) => Some(Wire::Group(group.to_wire())),
            Self::Message(message) => Some(Wire::GroupMessage(message.to_wire())),
            Self::Consent(save) => Some(Wire::Consent(proto::ConsentSave {
                entity_type: save.entity_type,
                state: save.state,
                entity: save.entity.clone(),
                consented_at_ns: save.consented_at_ns,
            })),
            Self::Unknown => None,
        };
        proto::BackupElement { element }.encode_to_vec()
    }

    /// Reads an element.
    ///
    /// # Errors
    /// When it is no element, or a field is not of the form it must have.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        use proto::backup_element::Element as Wire;
        Ok(match decode::<proto::BackupElement>("BackupElement", bytes)?.element {
            Some(Wire::Metadata(save)) => Self::Metadata(ArchiveMetadata::from_wire(save)),
            Some(Wire::Group(save)) => Self::Group(Box::new(ArchivedGroup::from_wire(save)?)),
            Some(Wire::GroupMessage(save)) => Self::Message(Box::new(ArchivedMessage::from_wire(save)?)),
            Some(Wire::Consent(save)) => Self::Consent(ConsentSave {
                entity_type: save.entity_type,
                state: save.state,
                entity: save.entity,
                consented_at_ns: save.consented_at_ns,
            }),
            None => Self::Unknown,
        })
    }
}

impl ArchiveMetadata {
    fn to_wire(&self) -> proto::BackupMetadataSave {
        proto::BackupMetadataSave {
            elements: self.elements.clone(),
            exported_at_ns: self.exported_ns.0,
            start_ns: self.start_ns.map(|at| at.0),
            end_ns: self.end_ns.map(|at| at.0),
        }
    }

    fn from_wire(save: proto::BackupMetadataSave) -> Self {
        Self {
            elements: save.elements,
            exported_ns: Nanos(save.exported_at_ns),
            start_ns: save.start_ns.map(Nanos),
            end_ns: save.end_ns.map(Nanos),
        }
    }
}

impl ArchivedGroup {
    fn to_wire(&self) -> proto::GroupSave {
        use proto::group_save::{Metadata, MutableMetadata};
        let texts = |inboxes: &[InboxId]| inboxes.iter().map(InboxId::to_string).collect();
        let (conversation_type, dm_id) = match self.kind {
            ArchivedKind::Group => (1, None),
            ArchivedKind::Dm(dm) => (2, Some(dm.to_string())),
            ArchivedKind::Virtual => (3, None),
        };
        let disappears = self.disappear_from_ns != 0 || self.disappear_in_ns != 0;
        proto::GroupSave {
            id: self.id.0.to_vec(),
            created_at_ns: self.created_ns.0,
            membership_state: self.membership_state,
            added_by_inbox_id: self.adder.to_string(),
            conversation_type,
            dm_id,
            last_message_ns: self.last_message_ns.map(|at| at.0),
            message_disappear_from_ns: disappears.then_some(self.disappear_from_ns),
            message_disappear_in_ns: disappears.then_some(self.disappear_in_ns),
            metadata: Some(Metadata { creator_inbox_id: self.creator.to_string() }),
            mutable_metadata: Some(MutableMetadata {
                attributes: self.attributes.clone(),
                admin_list: texts(&self.admins),
                super_admin_list: texts(&self.super_admins),
            }),
        }
    }

    fn from_wire(save: proto::GroupSave) -> Result<Self, WireError> {
        let kind = match (save.conversation_type, save.dm_id) {
            (1, None) => ArchivedKind::Group,
            (2, Some(dm)) => ArchivedKind::Dm(dm.parse().map_err(|_| bad(GROUP, "dm_id"))?),
            (1 | 2, _) => return Err(bad(GROUP, "dm_id")),
            (3 | 4, _) => ArchivedKind::Virtual,
            _ => return Err(bad(GROUP, "conversation_type")),
        };
        let inbox = |text: &str, field| {
            let read = (!text.is_empty()).then(|| text.parse::<InboxId>());
            read.transpose().map_err(|_| bad(GROUP, field))
        };
        let adder = inbox(&save.added_by_inbox_id, "added_by_inbox_id")?;
        let creator = inbox(&save.metadata.unwrap_or_default().creator_inbox_id, "creator_inbox_id")?;
        let either = adder.or(creator).ok_or(bad(GROUP, "creator_inbox_id"))?;
        let settings = save.mutable_metadata.unwrap_or_default();
        Ok(Self {
            id: GroupId::from_slice(&save.id).map_err(|_| bad(GROUP, "id"))?,
            kind,
            created_ns: Nanos(save.created_at_ns),
            membership_state: save.membership_state,
            adder: adder.unwrap_or(either),
            creator: creator.unwrap_or(either),
            last_message_ns: save.last_message_ns.map(Nanos),
            disappear_from_ns: save.message_disappear_from_ns.unwrap_or_default(),
            disappear_in_ns: save.message_disappear_in_ns.unwrap_or_default(),
            attributes: settings.attributes,
            admins: inboxes(&settings.admin_list, "admin_list")?,
            super_admins: inboxes(&settings.super_admin_list, "super_admin_list")?,
        })
    }
}

impl fmt::Debug for ArchivedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArchivedMessage({:?}, {} bytes)", self.id, self.content.len())
    }
}

impl ArchivedMessage {
    fn to_wire(&self) -> proto::GroupMessageSave {
        let version = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        proto::GroupMessageSave {
            id: self.id.0.to_vec(),
            group_id: self.group.0.to_vec(),
            decrypted_message_bytes: self.content.clone(),
            sent_at_ns: self.sent_ns.0,
            kind: if self.transcript { 2 } else { 1 },
            sender_installation_id: self.sender_installation.0.to_vec(),
            sender_inbox_id: self.sender_inbox.to_string(),
            delivery_status: if self.published { 2 } else { 1 },
            version_major: version(self.content_type.major),
            version_minor: version(self.content_type.minor),
            authority_id: self.content_type.authority.clone(),
            sequence_id: self.sequence_id.and_then(|id| i64::try_from(id).ok()),
            content_type: self.content_type.type_id.clone(),
            expires_at_ns: self.expires_ns.flatten().map(|at| at.0),
            expiry_known: self.expires_ns.is_some().then_some(true),
        }
    }

    fn from_wire(save: proto::GroupMessageSave) -> Result<Self, WireError> {
        let transcript = match save.kind {
            1 => false,
            2 => true,
            _ => return Err(bad(MESSAGE, "kind")),
        };
        let published = match save.delivery_status {
            2 => true,
            1 | 3 => false,
            _ => return Err(bad(MESSAGE, "delivery_status")),
        };
        let installation = InstallationId::from_slice(&save.sender_installation_id);
        let expires_ns = match (save.expires_at_ns, save.expiry_known) {
            (Some(at), _) => Some(Some(Nanos(at))),
            (None, Some(true)) => Some(None),
            (None, _) => None,
        };
        let version = |number: i32| u32::try_from(number).unwrap_or_default();
        Ok(Self {
            id: MessageId::from_slice(&save.id).map_err(|_| bad(MESSAGE, "id"))?,
            group: GroupId::from_slice(&save.group_id).map_err(|_| bad(MESSAGE, "group_id"))?,
            content: save.decrypted_message_bytes,
            content_type: ContentType {
                authority: save.authority_id,
                type_id: save.content_type,
                major: version(save.version_major),
                minor: version(save.version_minor),
            },
            sent_ns: Nanos(save.sent_at_ns),
            transcript,
            published,
            sender_inbox: save.sender_inbox_id.parse().map_err(|_| bad(MESSAGE, "sender_inbox_id"))?,
            sender_installation: installation.map_err(|_| bad(MESSAGE, "sender_installation_id"))?,
            sequence_id: save.sequence_id.and_then(|id| u64::try_from(id).ok()),
            expires_ns,
        })
    }
}

fn bad(message: &'static str, field: &'static str) -> WireError {
    WireError::BadField { message, field }
}

fn inboxes(texts: &[String], field: &'static str) -> Result<Vec<InboxId>, WireError> {
    texts.iter().map(|text| text.parse().map_err(|_| bad(GROUP, field))).collect()
}
