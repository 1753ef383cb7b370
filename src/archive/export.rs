//! Which rows go into an archive, and as what (ARCH-009, ARCH-010, CONS-002).
//!
//! Groups come before messages. Only messages have a window: `start < sent <= end`. No MLS state,
//! no key and no sync group ever leaves; neither does a message that has expired by now.

use std::collections::{BTreeMap, BTreeSet};

use super::container::Writer;
use crate::base::{GroupId, Nanos};
use crate::consent::Record;
use crate::error::Error;
use crate::store::rows::{
    GroupKind, GroupRow, GroupState, MessageKind, MessageRow, MessageStatus, Packed, unpack,
};
use crate::wire::{
    ArchiveMetadata, ArchivedGroup, ArchivedKind, ArchivedMessage, ConsentSave, ContentType, Element,
};

/// Numbers of what an archive may hold.
pub const MESSAGES: i32 = 1;
/// The user's decisions.
pub const CONSENT: i32 = 2;

/// What an app wants in an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Conversations and their messages.
    pub messages: bool,
    /// Consent records.
    pub consent: bool,
    /// Only messages sent later than this.
    pub start: Option<Nanos>,
    /// Only messages not sent later than this.
    pub end: Option<Nanos>,
    /// No messages that expire.
    pub exclude_disappearing: bool,
}

/// An archive being made of rows.
pub struct Export {
    options: Options,
    now: Nanos,
    groups: BTreeSet<GroupId>,
    writer: Writer,
}

impl Export {
    /// Begins with what the archive says of itself; `nonce` is random.
    ///
    /// # Errors
    /// `archive.key` unless the key has 32 bytes.
    pub fn begin(options: Options, key: &[u8], nonce: [u8; 12], now: Nanos) -> Result<Self, Error> {
        let mut writer = Writer::new(key, nonce)?;
        let selected = [(options.messages, MESSAGES), (options.consent, CONSENT)];
        let metadata = ArchiveMetadata {
            elements: selected.iter().filter(|(wanted, _)| *wanted).map(|(_, number)| *number).collect(),
            exported_ns: now,
            start_ns: options.start,
            end_ns: options.end,
        };
        writer.push(&Element::Metadata(metadata).encode())?;
        Ok(Self { options, now, groups: BTreeSet::new(), writer })
    }

    /// Adds what of these rows belongs into the archive: all groups before the first message.
    ///
    /// # Errors
    /// `store.corrupt` for rows that do not decode.
    pub fn add(&mut self, packed: &[u8]) -> Result<(), Error> {
        for row in unpack(packed)? {
            let element = match row {
                Packed::Group(row) => self.group(*row),
                Packed::Message(row) => self.message(*row),
                Packed::Consent(record) => self.consent(&record),
            };
            if let Some(element) = element {
                self.writer.push(&element.encode())?;
            }
        }
        Ok(())
    }

    /// What was written since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        self.writer.take()
    }

    /// Ends the archive: the rest of it.
    pub fn finish(self) -> Vec<u8> {
        self.writer.finish()
    }

    fn group(&mut self, row: GroupRow) -> Option<Element> {
        let kind = match (row.kind, row.dm) {
            _ if !self.options.messages || matches!(row.state, GroupState::Failed(_)) => return None,
            (GroupKind::Sync, _) => return None,
            (_, Some(dm)) => ArchivedKind::Dm(dm),
            (_, None) => ArchivedKind::Group,
        };
        self.groups.insert(row.id);
        let settings = row.settings;
        let texts = [
            ("group_name", settings.name),
            ("description", settings.description),
            ("group_image_url_square", settings.image_url),
            ("app_data", settings.app_data),
            ("minimum_supported_protocol_version", settings.floor),
        ];
        let attributes: BTreeMap<String, String> =
            texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(k, v)| (k.to_owned(), v)).collect();
        Some(Element::Group(Box::new(ArchivedGroup {
            id: row.id,
            kind,
            created_ns: row.created_ns,
            membership_state: if row.state == GroupState::Restored { 4 } else { 1 },
            adder: row.adder,
            creator: row.creator,
            last_message_ns: row.last_message_ns,
            disappear_from_ns: settings.disappear_from_ns,
            disappear_in_ns: settings.disappear_in_ns,
            attributes,
            admins: settings.admins,
            super_admins: settings.super_admins,
        })))
    }

    fn message(&self, row: MessageRow) -> Option<Element> {
        let options = &self.options;
        let wanted = options.messages
            && self.groups.contains(&row.group)
            && row.status == MessageStatus::Published
            // There is nothing to restore; the deletion itself is in the archive.
            && row.kind != MessageKind::Deleted
            && options.start.is_none_or(|start| row.sent_ns > start)
            && options.end.is_none_or(|end| row.sent_ns <= end)
            && row.expires_ns.is_none_or(|at| at > self.now && !options.exclude_disappearing);
        let t = row.content_type;
        wanted.then(|| {
            Element::Message(Box::new(ArchivedMessage {
                id: row.id,
                group: row.group,
                content: row.content,
                content_type: ContentType {
                    authority: t.authority,
                    type_id: t.type_id,
                    major: t.major,
                    minor: t.minor,
                },
                sent_ns: row.sent_ns,
                transcript: row.kind == MessageKind::MembershipChange,
                published: true,
                sender_inbox: row.sender_inbox,
                sender_installation: row.sender_installation,
                sequence_id: (row.sequence_id.0 > 0).then_some(row.sequence_id.0),
                expires_ns: Some(row.expires_ns),
            }))
        })
    }

    fn consent(&self, record: &Record) -> Option<Element> {
        let decided = record.consented_at_ns != Nanos(0);
        (self.options.consent && decided).then(|| Element::Consent(ConsentSave::from(record)))
    }
}
