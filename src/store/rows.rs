//! The persisted row types, their keys and their indexes.
//!
//! A body is one format byte and postcard. Adding a field means a new format and a migration;
//! `tests` pin every encoding.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{StoreError, Table};
use crate::base::{DmId, GroupId, InboxId, InstallationId, MessageId, Nanos, SequenceId, ThreadId, Topic};
use crate::consent::{Record, State};

const FORMAT: u8 = 1;

/// A typed row.
pub trait Row: Serialize + DeserializeOwned {
    /// Where it lives.
    const TABLE: Table;

    /// Its key.
    fn key(&self) -> Vec<u8>;

    /// A value for each index of the table.
    fn index(&self) -> Vec<Option<Vec<u8>>> {
        vec![None; Self::TABLE.indexes().len()]
    }

    /// The body.
    fn encode(&self) -> Vec<u8> {
        // Only a type that refuses to serialise could fail, and none of ours does.
        postcard::to_extend(self, vec![FORMAT]).unwrap_or_default()
    }

    /// Reads a body.
    fn decode(body: &[u8]) -> Result<Self, StoreError> {
        let corrupt = |what: &str| StoreError::Corrupt(format!("{} row: {what}", Self::TABLE.name()));
        match body.split_first() {
            Some((&FORMAT, rest)) => match postcard::take_from_bytes(rest) {
                Ok((row, [])) => Ok(row),
                Ok(_) => Err(corrupt("trailing bytes")),
                Err(_) => Err(corrupt("does not decode")),
            },
            Some((format, _)) => Err(corrupt(&format!("unknown format {format}"))),
            None => Err(corrupt("empty")),
        }
    }
}

/// The installation this database belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallationRow {
    /// The inbox.
    pub inbox: InboxId,
    /// The installation.
    pub installation: InstallationId,
    /// Ed25519 seed of the installation key.
    pub seed: [u8; 32],
    /// The account it was created with (lower-case address).
    pub identifier: String,
    /// The identity update that adds the installation has been accepted.
    pub registered: bool,
    /// A random id of this database, part of replay cursors (PROC-033).
    pub database: [u8; 16],
    /// When it was made.
    pub created_ns: Nanos,
}

impl InstallationRow {
    /// The only key.
    pub const KEY: &[u8] = b"installation";
}

impl Row for InstallationRow {
    const TABLE: Table = Table::Meta;
    fn key(&self) -> Vec<u8> {
        Self::KEY.to_vec()
    }
}

/// Database-wide counters, written under a revision check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersRow {
    /// The last delivery number given (PROC-024).
    pub delivery: u64,
}

impl CountersRow {
    /// The only key.
    pub const KEY: &[u8] = b"counters";
}

impl Row for CountersRow {
    const TABLE: Table = Table::Meta;
    fn key(&self) -> Vec<u8> {
        Self::KEY.to_vec()
    }
}

/// A page of one part of a group's MLS state.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MlsPageRow {
    /// The group.
    pub group: GroupId,
    /// The part's number.
    pub part: u8,
    /// The page's number.
    pub page: u16,
    /// At most [`MlsPageRow::SIZE`] bytes.
    #[serde(with = "bytes")]
    pub bytes: Vec<u8>,
}

impl MlsPageRow {
    /// Bytes of a full page.
    pub const SIZE: usize = 4096;

    /// The prefix of all pages of a group.
    pub fn group_prefix(group: GroupId) -> Vec<u8> {
        [b"p".as_slice(), group.as_bytes()].concat()
    }
}

impl Row for MlsPageRow {
    const TABLE: Table = Table::Mls;
    fn key(&self) -> Vec<u8> {
        let mut key = Self::group_prefix(self.group);
        key.push(self.part);
        key.extend(self.page.to_be_bytes());
        key
    }
}

/// MLS state that belongs to no group: key packages and the keys beside them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MlsGlobalRow {
    /// OpenMLS's own key of the entity, made unique by a kind byte in front.
    #[serde(with = "bytes")]
    pub id: Vec<u8>,
    /// The encoded entity.
    #[serde(with = "bytes")]
    pub bytes: Vec<u8>,
    /// Superseded key packages are destroyed after this time (JOIN-074).
    pub retire_ns: Option<Nanos>,
}

impl MlsGlobalRow {
    /// The prefix of all such rows.
    pub const PREFIX: &[u8] = b"k";
}

impl Row for MlsGlobalRow {
    const TABLE: Table = Table::Mls;
    fn key(&self) -> Vec<u8> {
        [Self::PREFIX, &self.id].concat()
    }
}

/// What a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupKind {
    /// A group of any number of inboxes.
    Group,
    /// A DM.
    Dm,
    /// The sync group of one inbox's devices.
    Sync,
}

/// Where a group stands for us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupState {
    /// A member.
    Active,
    /// Removed, or left.
    Inactive,
    /// Imported without MLS state (ARCH-015).
    Restored,
    /// Never came to life: the reason's code.
    Failed(String),
}

/// A member inbox as an app reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// The inbox.
    pub inbox: InboxId,
    /// Its leaves.
    pub installations: Vec<InstallationId>,
    /// The identity state its entry names.
    pub sequence_id: SequenceId,
    /// Installations the group could not add.
    pub failed: Vec<InstallationId>,
}

/// Settings as an app reads them; absent text reads as empty (META-041).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsView {
    /// GROUP_NAME.
    pub name: String,
    /// GROUP_DESCRIPTION.
    pub description: String,
    /// GROUP_IMAGE_URL.
    pub image_url: String,
    /// APP_DATA.
    pub app_data: String,
    /// MESSAGE_DISAPPEAR_FROM_NS.
    pub disappear_from_ns: i64,
    /// MESSAGE_DISAPPEAR_IN_NS.
    pub disappear_in_ns: i64,
    /// MIN_SUPPORTED_PROTOCOL_VERSION.
    pub floor: String,
    /// ADMIN_LIST.
    pub admins: Vec<InboxId>,
    /// SUPER_ADMIN_LIST.
    pub super_admins: Vec<InboxId>,
}

/// Why a group waits (PROC-012, GMOD-025).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Stable code: `floor`, `identity`, `unsupported_proposal`, …
    pub code: String,
    /// A sentence for people.
    pub detail: String,
    /// The envelope it waits at.
    pub sequence_id: SequenceId,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRow {
    /// The MLS group id.
    pub id: GroupId,
    /// What it is.
    pub kind: GroupKind,
    /// For a DM, its pair.
    pub dm: Option<DmId>,
    /// Where it stands for us.
    pub state: GroupState,
    /// Who added us; ourselves for a group we created.
    pub adder: InboxId,
    /// CREATOR_INBOX_ID.
    pub creator: InboxId,
    /// When it was created (local clock of the creator's device, Welcome time at a joiner).
    pub created_ns: Nanos,
    /// When this installation joined it.
    pub joined_ns: Nanos,
    /// The commit that added us; 0 for a group we created.
    pub anchor: SequenceId,
    /// Retained activity (DMS-013).
    pub last_message_ns: Option<Nanos>,
    /// Why it waits, if it does.
    pub hold: Option<Hold>,
    /// GroupContext.epoch as of the last applied commit.
    pub epoch: u64,
    /// Bytes of the epoch authenticator, for comparing members.
    pub authenticator: Vec<u8>,
    /// Members as of the last applied commit.
    pub members: Vec<MemberView>,
    /// Settings as of the last applied commit.
    pub settings: SettingsView,
    /// Own state was rolled back from outside: no sends before a self-update is applied.
    pub rolled_back: bool,
    /// The last intent number given in this group.
    pub last_intent: u64,
}

impl GroupRow {
    /// The thread it belongs to.
    pub fn thread(&self) -> ThreadId {
        self.dm.map_or(ThreadId::Group(self.id), ThreadId::Dm)
    }
}

impl Row for GroupRow {
    const TABLE: Table = Table::Groups;
    fn key(&self) -> Vec<u8> {
        self.id.as_bytes().to_vec()
    }
}

/// A group of a thread, with what the winner order needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadGroup {
    /// The group.
    pub group: GroupId,
    /// A restored placeholder.
    pub restored: bool,
    /// Retained activity.
    pub last_message_ns: Option<Nanos>,
    /// Creation or join time, the order of a thread without activity.
    pub created_ns: Nanos,
}

/// A conversation: one group, or all groups of a stitched DM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Its id.
    pub id: ThreadId,
    /// What it is.
    pub kind: GroupKind,
    /// All groups of the set.
    pub groups: Vec<ThreadGroup>,
    /// The one it is listed and written in (DMS-013).
    pub winner: GroupId,
    /// Consent of the winner.
    pub consent: State,
    /// Listing order: last activity, else creation.
    pub sort: Nanos,
}

impl Row for ThreadRow {
    const TABLE: Table = Table::Threads;
    fn key(&self) -> Vec<u8> {
        self.id.to_key()
    }
}

/// A line of the conversation list, newest first within a consent state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingRow {
    /// Consent of the thread.
    pub consent: State,
    /// Listing order.
    pub sort: Nanos,
    /// The thread.
    pub thread: ThreadId,
    /// Its winner.
    pub winner: GroupId,
    /// What it is.
    pub kind: GroupKind,
}

impl ListingRow {
    /// The key of a thread's line.
    pub fn key_of(consent: State, sort: Nanos, thread: ThreadId) -> Vec<u8> {
        let mut key = vec![consent as u8];
        key.extend((!(sort.0.max(0) as u64)).to_be_bytes());
        key.extend(thread.to_key());
        key
    }
}

impl Row for ListingRow {
    const TABLE: Table = Table::Listing;
    fn key(&self) -> Vec<u8> {
        Self::key_of(self.consent, self.sort, self.thread)
    }
}

/// What kind of message a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageKind {
    /// Sent by a member.
    Application,
    /// Derived here from an applied commit or a join (GMOD-034).
    MembershipChange,
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
    /// The serialised EncodedContent.
    #[serde(with = "bytes")]
    pub content: Vec<u8>,
    /// Hidden and deleted from then on (META-050).
    pub expires_ns: Option<Nanos>,
}

impl MessageRow {
    /// Order within a thread: delivery time, then id; rows not read back come last.
    pub fn sort_key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(41);
        key.push(u8::from(self.status != MessageStatus::Published));
        key.extend((self.sent_ns.0.max(0) as u64).to_be_bytes());
        // Own messages waiting keep the order they were sent in.
        if self.status != MessageStatus::Published {
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
        let thread = self.thread.to_key();
        let delivery = self.delivery.map(|n| [thread.as_slice(), &n.to_be_bytes()].concat());
        vec![
            Some([thread.as_slice(), &sort].concat()),
            delivery,
            Some([self.group.as_bytes(), sort.as_slice()].concat()),
            self.expires_ns.map(|at| (at.0.max(0) as u64).to_be_bytes().to_vec()),
        ]
    }
}

/// A consent record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentRow(pub Record);

impl Row for ConsentRow {
    const TABLE: Table = Table::Consent;
    fn key(&self) -> Vec<u8> {
        self.0.entity.to_key()
    }
}

/// What an intent wants.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Adds inboxes (and refreshes the own entry).
    AddInboxes(Vec<InboxId>),
    /// Replaces the own leaf, after own state was found rolled back.
    SelfUpdate,
    /// Publishes a stored message.
    Send {
        /// The message, whose content is in its own row.
        message: MessageId,
        /// The idempotency key its id is made with.
        key: String,
        /// Whether receivers are to be notified.
        push: bool,
    },
}

/// How far an intent got. A finished one is deleted; one given up leaves its reason on what it served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntentState {
    /// Nothing handed out.
    ToPublish,
    /// Bytes handed out or about to be: the attempt's hash.
    Published([u8; 32]),
    /// Applied from the topic; the Welcomes it owes are not all accepted.
    Committed,
}

/// A Welcome to wrap for each added installation.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedWelcome {
    /// The commit's position, once it is applied.
    pub anchor: SequenceId,
    /// The MLS Welcome.
    #[serde(with = "bytes")]
    pub welcome: Vec<u8>,
    /// Added installations, with the HPKE key of their key package.
    pub recipients: Vec<(InstallationId, Vec<u8>)>,
}

/// An operation not finished yet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentRow {
    /// Rising; the order of work within a group.
    pub number: u64,
    /// The group.
    pub group: GroupId,
    /// What is wanted.
    pub operation: Operation,
    /// How far it got.
    pub state: IntentState,
    /// How often it was built.
    pub builds: u32,
    /// Welcomes owed once the commit in flight is applied (GMOD-018).
    pub welcome: Option<OwedWelcome>,
}

impl IntentRow {
    /// The prefix of a group's intents.
    pub fn group_prefix(group: GroupId) -> Vec<u8> {
        group.as_bytes().to_vec()
    }
}

impl Row for IntentRow {
    const TABLE: Table = Table::Intents;
    fn key(&self) -> Vec<u8> {
        [self.group.as_bytes(), self.number.to_be_bytes().as_slice()].concat()
    }
}

/// What became of bytes handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// No answer yet.
    Unknown,
    /// Stored by the service.
    Accepted(SequenceId),
    /// Refused for good.
    Refused,
    /// Met again in the topic, or passed by.
    Settled,
}

/// Bytes handed to delivery, kept until the topic has settled them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRow {
    /// SHA-256 of `payload`.
    pub hash: [u8; 32],
    /// The intent it serves.
    pub intent: u64,
    /// The group.
    pub group: GroupId,
    /// Where it goes.
    pub topic: Topic,
    /// The very bytes.
    #[serde(with = "bytes")]
    pub payload: Vec<u8>,
    /// The epoch they were built on.
    pub epoch: u64,
    /// True for a commit, false for an application message or a Welcome.
    pub commit: bool,
    /// What became of them.
    pub outcome: Outcome,
}

impl Row for AttemptRow {
    const TABLE: Table = Table::Attempts;
    fn key(&self) -> Vec<u8> {
        [self.group.as_bytes(), self.hash.as_slice()].concat()
    }
}

/// Why an envelope is in the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnvelopeState {
    /// Received, its turn has not come.
    Pending,
    /// Waits for something: the code and a sentence.
    Held(String, String),
    /// Refused for good: the requirement id or code, and a sentence. The payload is dropped.
    Rejected(String, String),
}

/// An envelope received and not applied.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeRow {
    /// Its topic.
    pub topic: Topic,
    /// Its position.
    pub sequence_id: SequenceId,
    /// The service's time.
    pub server_ns: Nanos,
    /// SHA-256 of the payload.
    pub hash: [u8; 32],
    /// The bytes.
    #[serde(with = "bytes")]
    pub payload: Vec<u8>,
    /// Why it is here.
    pub state: EnvelopeState,
    /// When it was first received here.
    pub received_ns: Nanos,
}

impl EnvelopeRow {
    /// The prefix of a topic's envelopes.
    pub fn topic_prefix(topic: Topic) -> Vec<u8> {
        topic.to_bytes()
    }
}

impl Row for EnvelopeRow {
    const TABLE: Table = Table::Envelopes;
    fn key(&self) -> Vec<u8> {
        [self.topic.to_bytes().as_slice(), &self.sequence_id.0.to_be_bytes()].concat()
    }
}

/// How far a topic was read (PROC).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionRow {
    /// The topic.
    pub topic: Topic,
    /// Greatest id durably received.
    pub received: SequenceId,
    /// Greatest id applied or terminally rejected.
    pub processed: SequenceId,
}

impl Row for PositionRow {
    const TABLE: Table = Table::Positions;
    fn key(&self) -> Vec<u8> {
        self.topic.to_bytes()
    }
}

/// One update of an inbox's identity log, as resolved here.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssociationRow {
    /// The inbox.
    pub inbox: InboxId,
    /// The update's position.
    pub sequence_id: SequenceId,
    /// The update itself.
    #[serde(with = "bytes")]
    pub update: Vec<u8>,
    /// The update was accepted by the replay rules; a rejected one still holds its position.
    pub accepted: bool,
}

impl AssociationRow {
    /// The prefix of an inbox's log.
    pub fn inbox_prefix(inbox: InboxId) -> Vec<u8> {
        inbox.as_bytes().to_vec()
    }
}

impl Row for AssociationRow {
    const TABLE: Table = Table::Associations;
    fn key(&self) -> Vec<u8> {
        [self.inbox.as_bytes(), self.sequence_id.0.to_be_bytes().as_slice()].concat()
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

/// Byte strings as one run instead of a list of numbers.
mod bytes {
    use serde::{Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
        out.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: de::Error>(self, v: &[u8]) -> Result<Vec<u8>, E> {
                Ok(v.to_vec())
            }
        }
        input.deserialize_bytes(Bytes)
    }
}
