//! Messages about messages in tests, in their wire form.

use std::collections::BTreeMap;

use dovetail::base::{GroupId, MessageId};
use dovetail::client::{Hung, Page};
use dovetail::engine::history::{HistoryOptions, Types};
use dovetail::error::Error;
use dovetail::store::rows::MessageRow;
use dovetail::wire::{ContentType, EncodedContent};

use super::User;

/// Content of a standard type.
pub fn typed(type_id: &str, major: u32, content: Vec<u8>) -> EncodedContent {
    EncodedContent {
        content_type: ContentType::xmtp(type_id, major, 0),
        parameters: BTreeMap::new(),
        fallback: None,
        content,
        compression: None,
    }
}

/// A protobuf field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut length = bytes.len();
    let mut out = vec![number << 3 | 2];
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(bytes);
    out
}

/// A reaction, or one that is taken back.
pub fn reaction(target: MessageId, sign: &str, added: bool) -> EncodedContent {
    let action = [0x18, if added { 1 } else { 2 }];
    let content = [
        field(1, target.to_string().as_bytes()),
        field(2, b"inbox"),
        action.to_vec(),
        field(4, sign.as_bytes()),
        vec![0x28, 1],
    ];
    typed("reaction", 2, content.concat())
}

/// A reaction of the older form.
pub fn old_reaction(target: MessageId, sign: &str) -> EncodedContent {
    let json =
        format!(r#"{{"reference":"{target}","action":"added","content":"{sign}","schema":"unicode"}}"#);
    typed("reaction", 1, json.into_bytes())
}

pub fn edit(target: MessageId, text: &str) -> EncodedContent {
    edit_to(target, &EncodedContent::text(text))
}

pub fn edit_to(target: MessageId, content: &EncodedContent) -> EncodedContent {
    let content = [field(1, target.to_string().as_bytes()), field(2, &content.encode())];
    typed("editMessage", 1, content.concat())
}

pub fn deletion(target: MessageId) -> EncodedContent {
    typed("deleteMessage", 1, field(1, target.to_string().as_bytes()))
}

pub fn receipt() -> EncodedContent {
    typed("readReceipt", 1, Vec::new())
}

pub fn reply(target: MessageId, text: &str) -> EncodedContent {
    let mut reply = typed("reply", 1, EncodedContent::text(text).encode());
    reply.parameters.insert("reference".into(), target.to_string());
    reply.parameters.insert("contentType".into(), "xmtp.org/text:1.0".into());
    reply
}

impl User {
    pub fn say(&self, group: GroupId, content: &EncodedContent) -> MessageId {
        self.try_say(group, content).expect("sent")
    }

    pub fn try_say(&self, group: GroupId, content: &EncodedContent) -> Result<MessageId, Error> {
        let content = content.encode();
        self.call(move |client| async move { client.send(group, content, None).await })
    }

    pub fn page(&self, group: GroupId, options: HistoryOptions) -> Page {
        self.call(move |client| async move { client.page(group, &options).await }).expect("a page")
    }

    pub fn count(&self, group: GroupId, options: HistoryOptions) -> u64 {
        self.call(move |client| async move { client.count_messages(group, &options).await }).expect("a count")
    }

    pub fn message(&self, id: MessageId) -> Option<MessageRow> {
        self.call(move |client| async move { client.message(id).await }).expect("looked up")
    }
}

/// What hangs on a message of a page.
pub fn hung(page: &Page, id: MessageId) -> Option<&Hung> {
    page.hung.iter().find(|hung| page.rows[hung.at].id == id)
}

/// The type ids of rows.
pub fn types(rows: &[MessageRow]) -> Vec<&str> {
    rows.iter().map(|row| row.content_type.type_id.as_str()).collect()
}

/// Everything of these types.
pub fn of_types(types: &[&str]) -> HistoryOptions {
    HistoryOptions { types: Types::only(types), ..HistoryOptions::default() }
}
