//! Content types: their names, which of them are never published, and which wake their receivers
//! (facts 5.2; GMOD-035).

use std::fmt;

/// Authority and type ids of the content types the core itself names.
pub mod content_type {
    /// The authority of the standard types.
    pub const AUTHORITY: &str = "xmtp.org";
    /// Plain text, version 1.0.
    pub const TEXT: &str = "text";
    /// A membership transcript, version 1.0; never sent.
    pub const GROUP_UPDATED: &str = "group_updated";
    /// The older membership transcript; never sent.
    pub const GROUP_MEMBERSHIP_CHANGE: &str = "group_membership_change";
    /// A request to be removed, version 1.0.
    pub const LEAVE_REQUEST: &str = "leave_request";
    /// A reaction, version 1.0 (JSON) or 2.0.
    pub const REACTION: &str = "reaction";
    /// A read receipt, version 1.0.
    pub const READ_RECEIPT: &str = "readReceipt";
    /// A reply, version 1.0.
    pub const REPLY: &str = "reply";
    /// A deletion, version 1.0.
    pub const DELETE_MESSAGE: &str = "deleteMessage";
    /// An edit, version 1.0.
    pub const EDIT_MESSAGE: &str = "editMessage";
    /// Parameter of replies: the message answered.
    pub const REFERENCE: &str = "reference";
    /// What the devices of one inbox tell each other, version 1.0; only in their sync group.
    pub const DEVICE_SYNC: &str = "application/x-protobuf";
    /// Parameter of text: how it is encoded.
    pub const ENCODING: &str = "encoding";
    /// The only encoding of text.
    pub const UTF_8: &str = "UTF-8";
}

/// Standard types that do not wake receivers unless the app says so.
const SILENT: [&str; 8] = [
    content_type::GROUP_MEMBERSHIP_CHANGE,
    content_type::GROUP_UPDATED,
    content_type::LEAVE_REQUEST,
    content_type::DEVICE_SYNC,
    content_type::DELETE_MESSAGE,
    content_type::EDIT_MESSAGE,
    content_type::REACTION,
    content_type::READ_RECEIPT,
];

/// What a content is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentType {
    /// Who defines the type.
    pub authority: String,
    /// The type's name.
    pub type_id: String,
    /// Major version: readers match on it.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
}

impl ContentType {
    /// A type.
    pub fn new(authority: &str, type_id: &str, major: u32, minor: u32) -> Self {
        Self { authority: authority.into(), type_id: type_id.into(), major, minor }
    }

    /// A type of the standard authority.
    pub fn xmtp(type_id: &str, major: u32, minor: u32) -> Self {
        Self::new(content_type::AUTHORITY, type_id, major, minor)
    }

    /// True for `xmtp.org/group_updated` and `xmtp.org/group_membership_change` of any version:
    /// a client writes them for itself and never publishes them (GMOD-035).
    pub fn is_transcript_type(&self) -> bool {
        let transcripts = [content_type::GROUP_UPDATED, content_type::GROUP_MEMBERSHIP_CHANGE];
        self.authority == content_type::AUTHORITY && transcripts.contains(&self.type_id.as_str())
    }

    /// Whether a message of this type wakes its receivers when the app does not choose.
    /// Types of other authorities do.
    pub fn pushes_by_default(&self) -> bool {
        self.authority != content_type::AUTHORITY || !SILENT.contains(&self.type_id.as_str())
    }
}

/// `authority/type:major.minor`.
impl fmt::Display for ContentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:{}.{}", self.authority, self.type_id, self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EncodedContent, GroupUpdated, LeaveRequest, PlaintextV1, WireError};
    use super::*;
    use crate::base::InboxId;

    #[test]
    fn gmod_035_transcript_types_are_not_publishable() {
        let update = GroupUpdated::by(InboxId([1; 32]));
        let mut content = EncodedContent::group_updated(&update);
        for type_id in ["group_updated", "group_membership_change"] {
            for (major, minor) in [(1, 0), (2, 7), (0, 0)] {
                content.content_type = ContentType::xmtp(type_id, major, minor);
                assert!(content.content_type.is_transcript_type());
                let refused = PlaintextV1::of(&content, "1".into());
                assert!(matches!(refused, Err(WireError::TranscriptType(_))));
            }
        }
    }

    #[test]
    fn gmod_035_other_types_are_publishable() {
        let other =
            ContentType { authority: "example.org".into(), ..ContentType::xmtp("group_updated", 1, 0) };
        assert!(!other.is_transcript_type());
        for content in [EncodedContent::text("hi"), EncodedContent::leave_request(&LeaveRequest::default())] {
            assert!(PlaintextV1::of(&content, "1".into()).is_ok());
        }
    }

    #[test]
    fn push_defaults_follow_the_type() {
        let wake = [
            "text",
            "markdown",
            "reply",
            "attachment",
            "remoteStaticAttachment",
            "multiRemoteStaticAttachment",
            "transactionReference",
            "walletSendCalls",
            "a later one",
        ];
        let silent = [
            "group_membership_change",
            "group_updated",
            "leave_request",
            "reaction",
            "readReceipt",
            "deleteMessage",
            "editMessage",
            "application/x-protobuf",
        ];
        for major in [1, 2] {
            assert!(wake.iter().all(|id| ContentType::xmtp(id, major, 0).pushes_by_default()));
            assert!(!silent.iter().any(|id| ContentType::xmtp(id, major, 0).pushes_by_default()));
        }
        for id in ["actions", "intent"] {
            let other = ContentType { authority: "coinbase.com".into(), ..ContentType::xmtp(id, 1, 0) };
            assert!(other.pushes_by_default());
        }
        let custom = ContentType { authority: "example.org".into(), ..ContentType::xmtp("reaction", 1, 0) };
        assert!(custom.pushes_by_default());
        assert_eq!(custom.to_string(), "example.org/reaction:1.0");
    }
}
