//! What rows an archive's elements are (ARCH-005, 006, 013 to 016, 020; CONS-003).
//!
//! What the archive says is kept as it stands: kind, pair, creator, adder, settings, times. How the
//! rows meet those of a database is [`crate::engine::import`].

use std::collections::{BTreeMap, BTreeSet};

use super::container::{Frame, Reader, malformed};
use crate::base::{GroupId, Nanos, SequenceId};
use crate::consent::Record;
use crate::engine::settle::expiry;
use crate::error::Error;
use crate::store::Table;
use crate::store::rows::{
    ConsentRow, ContentTypeView, GroupKind, GroupRow, GroupState, MessageKind, MessageRow, MessageStatus,
    Row, SettingsView, pack,
};
use crate::wire::{ArchiveMetadata, ArchivedGroup, ArchivedKind, ArchivedMessage, Element, EncodedContent};

/// Bytes of one batch, beyond which no further row is read.
const BYTES: usize = 256 * 1024;
/// Blocks unpacked for one batch: a long element has nothing to show for many of them.
const BLOCKS: usize = 16;

/// An archive being read as rows.
pub struct Import {
    reader: Reader,
    /// What the archive says of itself.
    pub metadata: ArchiveMetadata,
    /// Disappearing settings of its groups, for messages whose expiry it does not know.
    settings: BTreeMap<GroupId, SettingsView>,
    /// Groups that are no conversations: their messages are passed over with them.
    passed: BTreeSet<GroupId>,
    /// How many elements were read.
    elements: u64,
    /// What ended it, told after what came before it.
    failed: Option<Error>,
    ended: bool,
}

impl Import {
    /// Begins to read, up to what the archive says of itself.
    ///
    /// # Errors
    /// As [`Reader::open`] and [`Reader::next`]; `archive.malformed` when the first element is
    /// another.
    pub fn begin(archive: Vec<u8>, key: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::open(archive, key)?;
        let first = loop {
            match reader.next()? {
                Frame::Element(bytes) => break bytes,
                Frame::More | Frame::End => {}
            }
        };
        let Element::Metadata(metadata) = element(&first)? else {
            return Err(malformed("its first element is not its metadata"));
        };
        Ok(Self {
            reader,
            metadata,
            settings: BTreeMap::new(),
            passed: BTreeSet::new(),
            elements: 1,
            failed: None,
            ended: false,
        })
    }

    /// The next rows, packed, of at most `limit` elements; none yet may be there, or none that are
    /// kept. `None` at the end.
    ///
    /// # Errors
    /// `archive.truncated`, `archive.altered`, `archive.malformed`: after the rows that came before
    /// the element it is about.
    pub fn read(&mut self, limit: usize) -> Result<Option<Vec<u8>>, Error> {
        let mut rows = Vec::new();
        if let Some(error) = self.failed.take() {
            self.ended = true;
            return Err(error);
        }
        let (mut elements, mut blocks) = (0, 0);
        while !self.ended && rows.len() < BYTES && elements < limit && blocks < BLOCKS {
            match self.reader.next().and_then(|frame| self.take(frame, &mut rows)) {
                Ok(true) => elements += 1,
                Ok(false) => blocks += 1,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        self.elements += elements as u64;
        if self.ended && rows.is_empty() { Ok(None) } else { Ok(Some(rows)) }
    }

    /// Bytes read, bytes there are, and elements read.
    pub fn progress(&self) -> (usize, usize, u64) {
        let (read, of) = self.reader.progress();
        (read, of, self.elements)
    }

    /// Takes a frame; false when it is no element.
    fn take(&mut self, frame: Frame, rows: &mut Vec<u8>) -> Result<bool, Error> {
        match frame {
            Frame::Element(bytes) => self.add(element(&bytes)?, rows),
            Frame::End => self.ended = true,
            Frame::More => return Ok(false),
        }
        Ok(!self.ended)
    }

    fn add(&mut self, element: Element, rows: &mut Vec<u8>) {
        match element {
            Element::Group(group) if group.kind == ArchivedKind::Virtual => {
                self.passed.insert(group.id);
            }
            Element::Group(group) => {
                let row = placeholder(*group);
                if row.settings.disappear_in_ns > 0 {
                    self.settings.insert(row.id, row.settings.clone());
                }
                pack(rows, Table::Groups, &row.encode());
            }
            Element::Message(message) if self.passed.contains(&message.group) || !message.published => {}
            Element::Message(message) => {
                let row = self.message(*message);
                pack(rows, Table::Messages, &row.encode());
            }
            // One that cannot be used is dropped by itself (CONS-003).
            Element::Consent(save) => {
                if let Ok(record) = Record::try_from(&save) {
                    pack(rows, Table::Consent, &ConsentRow(record).encode());
                }
            }
            Element::Metadata(_) | Element::Unknown => {}
        }
    }

    fn message(&self, message: ArchivedMessage) -> MessageRow {
        let (expires, sent) = (message.expires_ns, message.sent_ns);
        let expires_ns = match message.transcript {
            true => None,
            false => expires.unwrap_or_else(|| expiry(self.settings.get(&message.group)?, sent)),
        };
        let decoded = EncodedContent::decode(&message.content).map(|content| content.content_type);
        let t = decoded.unwrap_or(message.content_type);
        MessageRow {
            id: message.id,
            // Where it is put is for the database to say: it knows the group.
            thread: crate::base::ThreadId::Group(message.group),
            group: message.group,
            delivery: None,
            sent_ns: sent,
            inserted_ns: Nanos(0),
            sequence_id: SequenceId(message.sequence_id.unwrap_or_default()),
            kind: if message.transcript { MessageKind::MembershipChange } else { MessageKind::Application },
            status: MessageStatus::Published,
            sender_inbox: message.sender_inbox,
            sender_installation: message.sender_installation,
            content_type: ContentTypeView {
                authority: t.authority,
                type_id: t.type_id,
                major: t.major,
                minor: t.minor,
            },
            content: message.content,
            expires_ns,
        }
    }
}

fn element(bytes: &[u8]) -> Result<Element, Error> {
    Element::decode(bytes).map_err(|error| malformed(&error.to_string()))
}

/// A group without MLS state (ARCH-015, ARCH-020): read, not written in. Its members are unknown.
fn placeholder(mut group: ArchivedGroup) -> GroupRow {
    let (kind, dm) = match group.kind {
        ArchivedKind::Dm(dm) => (GroupKind::Dm, Some(dm)),
        ArchivedKind::Group | ArchivedKind::Virtual => (GroupKind::Group, None),
    };
    let mut text = |name: &str| group.attributes.remove(name).unwrap_or_default();
    let settings = SettingsView {
        name: text("group_name"),
        description: text("description"),
        image_url: text("group_image_url_square"),
        app_data: text("app_data"),
        disappear_from_ns: group.disappear_from_ns,
        disappear_in_ns: group.disappear_in_ns,
        floor: text("minimum_supported_protocol_version"),
        admins: group.admins,
        super_admins: group.super_admins,
    };
    GroupRow {
        id: group.id,
        kind,
        dm,
        state: GroupState::Restored,
        adder: group.adder,
        creator: group.creator,
        created_ns: group.created_ns,
        joined_ns: group.created_ns,
        anchor: SequenceId::default(),
        last_message_ns: group.last_message_ns,
        hold: None,
        epoch: 0,
        authenticator: Vec::new(),
        members: Vec::new(),
        settings,
        rolled_back: false,
        last_intent: 0,
        leaving: Vec::new(),
        left: false,
    }
}
