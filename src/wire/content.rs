//! The plaintext of an application message: envelope, encoded content, message id (facts 5.1, 5.2;
//! GMOD-035).

use std::collections::BTreeMap;
use std::fmt;

use prost::Message;
use sha2::{Digest, Sha256};

use super::content_types::{ContentType, content_type};
use super::error::decode;
use super::{GroupUpdated, LeaveRequest, WireError, proto};
use crate::base::{GroupId, MessageId};

/// How `content` is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// zlib.
    Deflate,
    /// gzip.
    Gzip,
    /// A number of a later version: the content is kept and not opened.
    Unknown(i32),
}

impl From<i32> for Compression {
    fn from(number: i32) -> Self {
        match number {
            0 => Self::Deflate,
            1 => Self::Gzip,
            other => Self::Unknown(other),
        }
    }
}

impl From<Compression> for i32 {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::Deflate => 0,
            Compression::Gzip => 1,
            Compression::Unknown(number) => number,
        }
    }
}

/// Content and what is needed to read it. Its `Debug` shows no message text.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodedContent {
    /// What it is.
    pub content_type: ContentType,
    /// What the type's codec needs.
    pub parameters: BTreeMap<String, String>,
    /// Shown by apps that do not know the type.
    pub fallback: Option<String>,
    /// The codec's bytes.
    pub content: Vec<u8>,
    /// How `content` is compressed, if it is.
    pub compression: Option<Compression>,
}

impl EncodedContent {
    /// Plain text.
    pub fn text(text: &str) -> Self {
        let mut content = Self::plain(ContentType::xmtp(content_type::TEXT, 1, 0), text.as_bytes().to_vec());
        content.parameters.insert(content_type::ENCODING.into(), content_type::UTF_8.into());
        content
    }

    /// A request to be removed from the group (facts 5.4).
    pub fn leave_request(request: &LeaveRequest) -> Self {
        let mut content = Self::plain(ContentType::xmtp(content_type::LEAVE_REQUEST, 1, 0), request.encode());
        content.fallback = Some("A member asked to leave the group".into());
        content
    }

    /// A membership transcript, for the local message list only (GMOD-034).
    pub fn group_updated(update: &GroupUpdated) -> Self {
        Self::plain(ContentType::xmtp(content_type::GROUP_UPDATED, 1, 0), update.encode())
    }

    /// The canonical bytes: parameters in key order.
    pub fn encode(&self) -> Vec<u8> {
        proto::EncodedContent {
            r#type: Some(proto::ContentTypeId {
                authority_id: self.content_type.authority.clone(),
                type_id: self.content_type.type_id.clone(),
                version_major: self.content_type.major,
                version_minor: self.content_type.minor,
            }),
            parameters: self.parameters.clone(),
            fallback: self.fallback.clone(),
            content: self.content.clone(),
            compression: self.compression.map(i32::from),
        }
        .encode_to_vec()
    }

    /// Reads content; one without a type is refused.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        const NAME: &str = "EncodedContent";
        let content: proto::EncodedContent = decode(NAME, bytes)?;
        let id = content.r#type.ok_or(WireError::Missing { message: NAME, field: "type" })?;
        Ok(Self {
            content_type: ContentType {
                authority: id.authority_id,
                type_id: id.type_id,
                major: id.version_major,
                minor: id.version_minor,
            },
            parameters: content.parameters,
            fallback: content.fallback,
            content: content.content,
            compression: content.compression.map(Compression::from),
        })
    }

    /// Content of a type that needs nothing else.
    pub(super) fn plain(content_type: ContentType, content: Vec<u8>) -> Self {
        Self { content_type, parameters: BTreeMap::new(), fallback: None, content, compression: None }
    }
}

impl fmt::Debug for EncodedContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncodedContent({}, {} bytes)", self.content_type, self.content.len())
    }
}

/// The plaintext of an application message as we send it. Its `Debug` shows no message text.
#[derive(Clone, PartialEq, Eq)]
pub struct PlaintextV1 {
    /// A serialised [`EncodedContent`].
    pub content: Vec<u8>,
    /// Makes equal contents different messages; equal keys make one message of repeated sends.
    pub idempotency_key: String,
}

impl PlaintextV1 {
    /// The plaintext of a message an app sends.
    ///
    /// # Errors
    /// [`WireError::TranscriptType`] for content that must never be published (GMOD-035).
    pub fn of(content: &EncodedContent, idempotency_key: String) -> Result<Self, WireError> {
        if content.content_type.is_transcript_type() {
            return Err(WireError::TranscriptType(content.content_type.to_string()));
        }
        Ok(Self { content: content.encode(), idempotency_key })
    }

    /// The id this message has in a group.
    pub fn message_id(&self, group: GroupId) -> MessageId {
        message_id(group, &self.idempotency_key, &self.content)
    }

    /// The bytes to encrypt.
    pub fn encode(&self) -> Vec<u8> {
        use proto::plaintext_envelope::{Content, V1};
        let v1 = V1 { content: self.content.clone(), idempotency_key: self.idempotency_key.clone() };
        proto::PlaintextEnvelope { content: Some(Content::V1(v1)) }.encode_to_vec()
    }
}

impl fmt::Debug for PlaintextV1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlaintextV1({} bytes)", self.content.len())
    }
}

/// An opened application message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaintextEnvelope {
    /// A message.
    V1(PlaintextV1),
    /// A retired form: consumed, never stored as a message.
    V2,
}

impl PlaintextEnvelope {
    /// Reads decrypted bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        use proto::plaintext_envelope::Content;
        const NAME: &str = "PlaintextEnvelope";
        match decode::<proto::PlaintextEnvelope>(NAME, bytes)?.content {
            Some(Content::V1(v1)) => {
                Ok(Self::V1(PlaintextV1 { content: v1.content, idempotency_key: v1.idempotency_key }))
            }
            Some(Content::V2(_)) => Ok(Self::V2),
            None => Err(WireError::Missing { message: NAME, field: "content" }),
        }
    }
}

/// The id of a message: SHA-256 over group id, idempotency key and serialised content, with a tab
/// between them (SEND-002). It is the same for sender and receivers, and differs between groups.
pub fn message_id(group: GroupId, idempotency_key: &str, content: &[u8]) -> MessageId {
    let mut hash = Sha256::new();
    hash.update(group.as_bytes());
    hash.update(b"\t");
    hash.update(idempotency_key.as_bytes());
    hash.update(b"\t");
    hash.update(content);
    MessageId(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn content() -> impl Strategy<Value = EncodedContent> {
        let kind = ("[a-z.]{0,8}", "[a-zA-Z_/-]{0,12}", any::<u32>(), any::<u32>());
        let parameters = proptest::collection::btree_map(".{0,4}", ".{0,4}", 0..6);
        let compression = proptest::option::of((0i32..4).prop_map(Compression::from));
        let body = proptest::collection::vec(any::<u8>(), 0..40);
        (kind, parameters, proptest::option::of(".{0,8}"), body, compression).prop_map(
            |((authority, type_id, major, minor), parameters, fallback, content, compression)| {
                let content_type = ContentType { authority, type_id, major, minor };
                EncodedContent { content_type, parameters, fallback, content, compression }
            },
        )
    }

    proptest! {
        #[test]
        fn content_and_plaintext_round_trip(content in content(), key in ".{0,12}") {
            let bytes = content.encode();
            prop_assert_eq!(EncodedContent::decode(&bytes), Ok(content));
            let plaintext = PlaintextV1 { content: bytes, idempotency_key: key };
            let decoded = PlaintextEnvelope::decode(&plaintext.encode());
            prop_assert_eq!(decoded, Ok(PlaintextEnvelope::V1(plaintext)));
        }

        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = EncodedContent::decode(&bytes);
            let _ = PlaintextEnvelope::decode(&bytes);
        }
    }

    #[test]
    fn text_has_pinned_bytes() {
        let bytes = EncodedContent::text("hi").encode();
        let mut want = vec![0x0a, 18, 0x0a, 8];
        want.extend(b"xmtp.org");
        want.extend([0x12, 4]);
        want.extend(b"text");
        want.extend([0x18, 1, 0x12, 17, 0x0a, 8]);
        want.extend(b"encoding");
        want.extend([0x12, 5]);
        want.extend(b"UTF-8");
        want.extend([0x22, 2]);
        want.extend(b"hi");
        assert_eq!(bytes, want);
    }

    #[test]
    fn parameters_are_encoded_in_key_order() {
        let mut a = EncodedContent::text("x");
        let mut b = EncodedContent::text("x");
        for key in ["b", "c", "a"] {
            a.parameters.insert(key.into(), "1".into());
        }
        for key in ["a", "b", "c"] {
            b.parameters.insert(key.into(), "1".into());
        }
        assert_eq!(a.encode(), b.encode());
    }

    #[test]
    fn message_ids_hash_group_key_and_content() {
        let id = message_id(GroupId([1; 16]), "42", b"content");
        let want = Sha256::digest([&[1u8; 16][..], b"\t42\tcontent"].concat());
        assert_eq!(id.as_bytes(), &want[..]);
        assert_ne!(id, message_id(GroupId([2; 16]), "42", b"content"));
        assert_ne!(id, message_id(GroupId([1; 16]), "43", b"content"));
        let text = PlaintextV1 { content: b"content".to_vec(), idempotency_key: "42".into() };
        assert_eq!(text.message_id(GroupId([1; 16])), id);
    }

    #[test]
    fn v2_is_its_own_variant_and_nothing_is_an_error() {
        assert_eq!(PlaintextEnvelope::decode(&[0x12, 0]), Ok(PlaintextEnvelope::V2));
        assert_eq!(PlaintextEnvelope::decode(&[0x12, 3, 0x12, 1, 7]), Ok(PlaintextEnvelope::V2));
        let missing = WireError::Missing { message: "PlaintextEnvelope", field: "content" };
        assert_eq!(PlaintextEnvelope::decode(&[]), Err(missing));
        assert!(EncodedContent::decode(&[0x22, 1, 7]).is_err());
    }

    #[test]
    fn debug_output_shows_no_text() {
        let content = EncodedContent::text("secret words");
        let plaintext = PlaintextV1::of(&content, "1".into()).unwrap();
        assert!(!format!("{content:?}{plaintext:?}").contains("secret"));
    }
}
