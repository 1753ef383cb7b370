//! What a message says about another one: reactions, edits, deletions, replies (facts 5.2).
//!
//! The types are known by authority and name. Of one in a version that is not known here nothing is
//! read, and it is still no message of its own.

use prost::Message as _;

use super::content_type::{
    AUTHORITY, DELETE_MESSAGE, EDIT_MESSAGE, REACTION, READ_RECEIPT, REFERENCE, REPLY,
};
use super::{EncodedContent, proto};
use crate::base::MessageId;

/// How a message relates to the one it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It gives a reaction or takes one back.
    Reaction,
    /// It puts other content in its place.
    Edit,
    /// It takes it back.
    Deletion,
}

impl Relation {
    /// What messages of a content type do to others; `None` for those that are only themselves.
    pub fn of(authority: &str, type_id: &str) -> Option<Self> {
        match type_id {
            _ if authority != AUTHORITY => None,
            REACTION => Some(Self::Reaction),
            EDIT_MESSAGE => Some(Self::Edit),
            DELETE_MESSAGE => Some(Self::Deletion),
            _ => None,
        }
    }
}

/// True for the content type of read receipts.
pub fn is_receipt(authority: &str, type_id: &str) -> bool {
    authority == AUTHORITY && type_id == READ_RECEIPT
}

/// True for types that a conversation shows by what they do to its messages, not as messages.
pub fn is_silent(authority: &str, type_id: &str) -> bool {
    is_receipt(authority, type_id) || Relation::of(authority, type_id).is_some()
}

/// The message that a reaction, an edit or a deletion is about; `None` when it does not say so in a
/// form known here.
pub fn target(content: &EncodedContent) -> Option<MessageId> {
    let known = &content.content_type;
    let relation = Relation::of(&known.authority, &known.type_id)?;
    if content.compression.is_some() {
        return None;
    }
    match (relation, known.major) {
        (Relation::Reaction, 1) => {
            json_text(std::str::from_utf8(&content.content).ok()?, "reference")?.parse().ok()
        }
        (Relation::Reaction, 2) | (Relation::Edit | Relation::Deletion, 1) => {
            proto::Annotation::decode(content.content.as_slice()).ok()?.message_id.parse().ok()
        }
        _ => None,
    }
}

/// The content that an edit puts in the place of its target's, serialised, and its type.
pub fn edited(content: &EncodedContent) -> Option<(Vec<u8>, EncodedContent)> {
    let bytes = proto::Annotation::decode(content.content.as_slice()).ok()?.content;
    let decoded = EncodedContent::decode(&bytes).ok()?;
    Some((bytes, decoded))
}

/// The message that a reply answers.
pub fn replied_to(content: &EncodedContent) -> Option<MessageId> {
    let known = &content.content_type;
    let reply = known.authority == AUTHORITY && known.type_id == REPLY && known.major == 1;
    content.parameters.get(REFERENCE).filter(|_| reply)?.parse().ok()
}

/// The text of a field of a JSON object, where it has no escapes.
fn json_text<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (mut depth, mut last, mut found, mut rest) = (0usize, "", false, json);
    while let Some(at) = rest.find(['"', '{', '[', '}', ']', ':', ',']) {
        let (sign, behind) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = behind;
        match sign {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 1 => found = last == name,
            b',' if depth == 1 => found = false,
            b'"' => {
                let end = text_end(rest)?;
                if depth == 1 {
                    last = &rest[..end];
                    if found {
                        return Some(last);
                    }
                }
                rest = &rest[end + 1..];
            }
            _ => {}
        }
    }
    None
}

/// Where a JSON text ends.
fn text_end(rest: &str) -> Option<usize> {
    let mut escaped = false;
    rest.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::{Compression, ContentType};

    const ID: &str = "3333333333333333333333333333333333333333333333333333333333333333";

    fn content(type_id: &str, major: u32, bytes: &[u8]) -> EncodedContent {
        EncodedContent {
            content_type: ContentType::xmtp(type_id, major, 0),
            parameters: Default::default(),
            fallback: None,
            content: bytes.to_vec(),
            compression: None,
        }
    }

    fn annotation(id: &str, rest: &[u8]) -> Vec<u8> {
        [&[0x0a, id.len() as u8], id.as_bytes(), rest].concat()
    }

    #[test]
    fn reactions_of_both_forms_edits_and_deletions_name_their_target() {
        let id = Some(MessageId([0x33; 32]));
        // ReactionV2: the inbox, action and schema of the target's sender come behind.
        let reaction = annotation(ID, &[0x12, 1, b'x', 0x18, 1, 0x22, 1, b'+', 0x28, 1]);
        assert_eq!(target(&content("reaction", 2, &reaction)), id);
        assert_eq!(target(&content("deleteMessage", 1, &annotation(ID, &[]))), id);
        let text = EncodedContent::text("hi").encode();
        let edit = annotation(ID, &[&[0x12, text.len() as u8], text.as_slice()].concat());
        let edit = content("editMessage", 1, &edit);
        assert_eq!(target(&edit), id);
        assert_eq!(edited(&edit), Some((text, EncodedContent::text("hi"))));
        for json in [
            format!(r#"{{"action":"added","reference":"{ID}","content":"+"}}"#),
            format!(r#" {{ "x" : {{"reference":"no"}}, "y\"" : ["reference", ":"], "reference" : "{ID}" }}"#),
            format!(r#"{{"content":"\\","reference":"{ID}"}}"#),
        ] {
            assert_eq!(target(&content("reaction", 1, json.as_bytes())), id, "{json}");
        }
    }

    #[test]
    fn what_is_of_another_form_is_about_nothing() {
        let good = annotation(ID, &[]);
        let json = format!(r#"{{"a":{{"reference":"{ID}"}}}}"#);
        let upper = annotation(&ID.replace('3', "A"), &[]);
        for bad in [
            content("reaction", 3, &good),
            content("reaction", 1, json.as_bytes()),
            content("reaction", 1, br#"{"reference":7}"#),
            content("reaction", 1, br#"{"reference":"7"#),
            content("reaction", 1, &[0xff]),
            content("reaction", 2, &[0x0a, 200, 1]),
            content("deleteMessage", 2, &good),
            content("deleteMessage", 1, &upper),
            content("editMessage", 1, &annotation("33", &[])),
            content("text", 1, &good),
            EncodedContent { compression: Some(Compression::Gzip), ..content("reaction", 2, &good) },
        ] {
            assert_eq!(target(&bad), None, "{}", bad.content_type);
        }
        let mut foreign = content("reaction", 2, &good);
        foreign.content_type.authority = "example.org".into();
        assert_eq!(target(&foreign), None);
        assert_eq!(edited(&content("editMessage", 1, &good)), None, "no content");
    }

    #[test]
    fn a_reply_names_what_it_answers_in_a_parameter() {
        let mut reply = content("reply", 1, b"");
        assert_eq!(replied_to(&reply), None);
        reply.parameters.insert("reference".into(), ID.into());
        assert_eq!(replied_to(&reply), Some(MessageId([0x33; 32])));
        reply.content_type.major = 2;
        assert_eq!(replied_to(&reply), None);
    }

    #[test]
    fn only_the_four_types_of_the_standard_authority_are_silent() {
        for type_id in ["reaction", "readReceipt", "editMessage", "deleteMessage"] {
            assert!(is_silent("xmtp.org", type_id) && !is_silent("example.org", type_id));
        }
        assert!(!is_silent("xmtp.org", "text") && !is_silent("xmtp.org", "reply"));
    }

    proptest! {
        #[test]
        fn reading_never_panics(
            text in ".{0,60}",
            json in r#"[\[\]{}":,\\ a-e]{0,60}"#,
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            for bytes in [text.as_bytes(), json.as_bytes(), &bytes] {
                for (type_id, major) in [("reaction", 1), ("reaction", 2), ("editMessage", 1)] {
                    let content = content(type_id, major, bytes);
                    let _ = (target(&content), edited(&content), replied_to(&content));
                }
            }
        }
    }
}
