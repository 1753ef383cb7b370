//! Rows of the tables `messages` and `transcripts`.

use serde::{Deserialize, Serialize};

use super::{Row, bytes};
use crate::base::{GroupId, InboxId, InstallationId, MessageId, Nanos, SequenceId, ThreadId};
use crate::store::Table;
use crate::wire::ContentType;
use crate::wire::about::is_silent;

/// What kind of message a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageKind {
    /// Sent by a member.
    Application,
    /// Derived here from an applied commit or a join (GMOD-034).
    MembershipChange,
    /// Sent by a member and taken back since (PROC-037): its content is gone, everything else stays.
    Deleted,
}

/// How far a message got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageStatus {
    /// Durable here, not read back yet.
    Unpublished,
    /// At its place in the topic.
    Published,
    /// Given up: the reason's code.
    Failed(String),
}

/// A content type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentTypeView {
    /// For example `xmtp.org`.
    pub authority: String,
    /// For example `text`.
    pub type_id: String,
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
}

impl From<ContentType> for ContentTypeView {
    fn from(of: ContentType) -> Self {
        Self { authority: of.authority, type_id: of.type_id, major: of.major, minor: of.minor }
    }
}

/// A message.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRow {
    /// Its id.
    pub id: MessageId,
    /// The conversation.
    pub thread: ThreadId,
    /// The copy it was sent in.
    pub group: GroupId,
    /// Given when it first becomes deliverable (PROC-024).
    pub delivery: Option<u64>,
    /// Time of the delivery service; the sender's clock until it is read back.
    pub sent_ns: Nanos,
    /// When the row was first stored here.
    pub inserted_ns: Nanos,
    /// Position in its topic; 0 until it is read back.
    pub sequence_id: SequenceId,
    /// What it is.
    pub kind: MessageKind,
    /// How far it got.
    pub status: MessageStatus,
    /// The authenticated sender.
    pub sender_inbox: InboxId,
    /// The authenticated sending device.
    pub sender_installation: InstallationId,
    /// Its content type.
    pub content_type: ContentTypeView,
    /// The serialised EncodedContent; of a deleted message the inbox that took it back.
    #[serde(with = "bytes")]
    pub content: Vec<u8>,
    /// Hidden and deleted from then on (META-050).
    pub expires_ns: Option<Nanos>,
}

impl MessageRow {
    /// Takes the content away; `by` took the message back.
    pub fn delete(&mut self, by: InboxId) {
        self.kind = MessageKind::Deleted;
        self.content = by.0.to_vec();
    }

    /// Who took the message back, if anybody did.
    pub fn deleted_by(&self) -> Option<InboxId> {
        (self.kind == MessageKind::Deleted).then(|| InboxId::from_slice(&self.content).ok())?
    }

    /// True for what members sent, taken back or not.
    pub fn is_sent(&self) -> bool {
        self.kind != MessageKind::MembershipChange
    }

    /// True once it has disappeared (META-051), whether or not the row is still there.
    pub fn is_gone(&self, now: Nanos) -> bool {
        self.expires_ns.is_some_and(|at| at <= now)
    }

    /// The prefix of a thread's messages in its indexes; those that are no messages of their own lie
    /// apart, so that any number of them is in nobody's way.
    pub fn listed(thread: ThreadId, silent: bool) -> Vec<u8> {
        // No thread's key begins with it.
        let tag: &[u8] = if silent { b"s" } else { b"" };
        [tag, &thread.to_key()].concat()
    }

    /// True for one that a conversation shows by what it does, not as a message.
    pub fn is_silent(&self) -> bool {
        is_silent(&self.content_type.authority, &self.content_type.type_id)
    }

    /// Order within a thread: delivery time, then id; rows not read back yet come last. A failed
    /// one will never be read back and stays where it was written, by the local clock.
    pub fn sort_key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(41);
        let waits = self.status == MessageStatus::Unpublished;
        key.push(u8::from(waits));
        key.extend((self.sent_ns.0.max(0) as u64).to_be_bytes());
        // Own messages waiting keep the order they were sent in.
        if waits {
            key.extend((self.inserted_ns.0.max(0) as u64).to_be_bytes());
        }
        key.extend(self.id.as_bytes());
        key
    }
}

impl Row for MessageRow {
    const TABLE: Table = Table::Messages;
    fn key(&self) -> Vec<u8> {
        self.id.as_bytes().to_vec()
    }
    fn index(&self) -> Vec<Option<Vec<u8>>> {
        let sort = self.sort_key();
        let thread = Self::listed(self.thread, self.is_silent());
        let number = self.delivery.map(u64::to_be_bytes);
        let delivery = number.map(|n| [thread.as_slice(), &n].concat());
        vec![
            Some([thread.as_slice(), &sort].concat()),
            delivery,
            Some([self.group.as_bytes(), sort.as_slice()].concat()),
            self.expires_ns.map(|at| (at.0.max(0) as u64).to_be_bytes().to_vec()),
            number.map(|n| n.to_vec()),
        ]
    }
}

/// A GroupUpdated payload shown in a thread (DMS-011).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptRow {
    /// The thread.
    pub thread: ThreadId,
    /// SHA-256 of `payload`: finds candidates; the payload decides.
    pub hash: [u8; 32],
    /// The message that showed it.
    pub message: MessageId,
    /// The whole payload.
    #[serde(with = "bytes")]
    pub payload: Vec<u8>,
}

impl Row for TranscriptRow {
    const TABLE: Table = Table::Transcripts;
    fn key(&self) -> Vec<u8> {
        [self.thread.to_key().as_slice(), &self.hash].concat()
    }
}

/// What a message does to the one it is about, in the order of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Hangs {
    /// Takes it back; its sender was a super admin of the group at its place (PROC-037).
    TakenByAdmin = 0,
    /// Takes it back.
    Taken = 1,
    /// Puts other content in its place.
    Edit = 2,
    /// A reaction, also one that takes one back.
    Reaction = 3,
}

impl Hangs {
    /// All of them.
    pub const ALL: [Hangs; 4] = [Hangs::TakenByAdmin, Hangs::Taken, Hangs::Edit, Hangs::Reaction];

    /// Its bit in [`NotesRow::kinds`].
    pub fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A message that is about another one: a reaction, an edit, a deletion. Inserted in the unit that
/// stores the message, whether or not its target is here yet.
///
/// Its key says all there is to say, so that what may count for a message is a stretch of keys, apart
/// from what others say about it and in the thread's order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnotationRow {
    /// The message it is about.
    pub target: MessageId,
    /// Its [`Hangs`], for whose messages it may count, and the order among those: it ends with the id
    /// of the message that says so.
    #[serde(with = "bytes")]
    pub place: Vec<u8>,
}

impl AnnotationRow {
    /// Of a message as it is stored.
    pub fn new(target: MessageId, hangs: Hangs, row: &MessageRow) -> Self {
        let waits = u8::from(row.status == MessageStatus::Unpublished);
        let at = (row.sent_ns.0.max(0) as u64).to_be_bytes();
        let scope = Self::scope(hangs, row);
        Self { target, place: [scope.as_slice(), &[waits], &at, row.id.as_bytes()].concat() }
    }

    /// The prefix of everything about a message.
    pub fn about(target: MessageId) -> Vec<u8> {
        [&[Self::TAG], target.as_bytes()].concat()
    }

    /// The prefix of what may count for a message: of the deletions those of its group, by its sender
    /// or by a super admin; of the edits those of its sender in its thread; reactions of its thread.
    pub fn counting(target: &MessageRow, hangs: Hangs) -> Vec<u8> {
        Self::saying(target.id, target, hangs)
    }

    /// The prefix of what the sender of `row` says about `target` where that was sent.
    pub fn saying(target: MessageId, row: &MessageRow, hangs: Hangs) -> Vec<u8> {
        [Self::about(target), Self::scope(hangs, row)].concat()
    }

    /// The message that says so.
    pub fn message(&self) -> Option<MessageId> {
        self.place.last_chunk().copied().map(MessageId)
    }

    /// True for a deletion by who was a super admin.
    pub fn by_super_admin(&self) -> bool {
        self.place.first() == Some(&(Hangs::TakenByAdmin as u8))
    }

    /// No key of a [`NotesRow`] begins with it: who names a target chooses it freely.
    const TAG: u8 = b'm';

    fn scope(hangs: Hangs, row: &MessageRow) -> Vec<u8> {
        let (group, sender) = (row.group.as_bytes(), row.sender_inbox.as_bytes());
        let thread = || row.thread.to_key();
        let parts = match hangs {
            Hangs::TakenByAdmin => group.to_vec(),
            Hangs::Taken => [group, sender].concat(),
            Hangs::Edit => [thread().as_slice(), sender].concat(),
            Hangs::Reaction => thread(),
        };
        [&[hangs as u8], parts.as_slice()].concat()
    }
}

impl Row for AnnotationRow {
    const TABLE: Table = Table::Annotations;
    fn key(&self) -> Vec<u8> {
        [Self::about(self.target), self.place.clone()].concat()
    }
}

/// What a thread keeps about messages that are no messages of their own. Written under a revision
/// check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesRow {
    /// The thread.
    pub thread: ThreadId,
    /// Of which [`Hangs`] there are or were messages that whoever reads its messages has to look for,
    /// as bits. A deletion that has done its work is none.
    pub kinds: u8,
    /// Time of the newest read receipt of each inbox.
    pub read: Vec<(InboxId, Nanos)>,
    /// Messages that were taken back before they were stored here, the latest last.
    pub awaited: Vec<MessageId>,
}

impl NotesRow {
    /// Of a thread without any.
    pub fn empty(thread: ThreadId) -> Self {
        Self { thread, kinds: 0, read: Vec::new(), awaited: Vec::new() }
    }

    /// The key of a thread's notes.
    pub fn key_of(thread: ThreadId) -> Vec<u8> {
        thread.to_key()
    }
}

impl Row for NotesRow {
    const TABLE: Table = Table::Annotations;
    fn key(&self) -> Vec<u8> {
        Self::key_of(self.thread)
    }
}
