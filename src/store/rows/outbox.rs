//! Rows of the tables `intents` and `attempts`.

use serde::{Deserialize, Serialize};

use super::{Row, bytes};
use crate::base::{GroupId, InboxId, InstallationId, MessageId, SequenceId, Topic};
use crate::store::Table;

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
    /// Removes inboxes.
    RemoveInboxes(Vec<InboxId>),
    /// Brings members to their newest identity state (GMOD-029).
    Refresh(Vec<InboxId>),
    /// Changes settings, roles or policies, all in one commit.
    Change(Vec<Wish>),
    /// Publishes something to the own devices, in their sync group. No message row stands for it.
    Tell {
        /// The encoded content.
        #[serde(with = "bytes")]
        content: Vec<u8>,
        /// The idempotency key.
        key: String,
    },
    /// Tells the own devices every decision stored here, in the order of keys.
    Snapshot {
        /// How far that was done: the key of the last record told.
        #[serde(with = "bytes")]
        after: Vec<u8>,
    },
}

impl Operation {
    /// True for what makes a commit, false for what sends messages.
    pub fn commits(&self) -> bool {
        !matches!(self, Self::Send { .. } | Self::Tell { .. } | Self::Snapshot { .. })
    }
}

/// One wanted change of the dictionary, independent of what it will meet there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wish {
    /// A scalar component has this value.
    Value(u16, #[serde(with = "bytes")] Vec<u8>),
    /// An inbox is, or is not, in a set component.
    Listed(u16, InboxId, bool),
    /// The policies of a component's registry entry: who may insert, update, delete, as numbers of
    /// base policies; absent ones stay.
    Policies(u16, [Option<u8>; 3]),
}

/// Whom a membership operation could not bring in (JOIN-011, GMOD-009).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Installations without a usable key package, of inboxes that were added.
    pub installations: Vec<InstallationId>,
    /// Inboxes without a single usable installation: they were not added.
    pub inboxes: Vec<InboxId>,
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

/// A Welcome owed to added installations. Holds secrets, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedWelcome {
    /// The commit's position, once it is applied.
    pub anchor: SequenceId,
    /// The MLS Welcome.
    #[serde(with = "bytes")]
    pub welcome: Vec<u8>,
    /// Added installations the service has not settled yet: it shrinks as they are served.
    pub recipients: Vec<Recipient>,
    /// The pointer to the shared Welcome (an encoded `WelcomePointerV1`), once it is decided.
    pub pointer: Option<Vec<u8>>,
    /// The service has stored the shared Welcome.
    pub shared: bool,
}

/// An installation a Welcome is owed to.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipient {
    /// The installation.
    pub installation: InstallationId,
    /// The HPKE key of its key package.
    #[serde(with = "bytes")]
    pub init_key: Vec<u8>,
    /// It gets a pointer to the shared Welcome instead of one of its own.
    pub pointer: bool,
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
    /// Whom it could not bring in so far.
    pub left_out: LeftOut,
}

impl IntentRow {
    /// The prefix of a group's intents.
    pub fn group_prefix(group: GroupId) -> Vec<u8> {
        group.as_bytes().to_vec()
    }

    /// True while a commit is wanted or under way for it; not once that is applied, and only
    /// Welcomes are owed.
    pub fn wants_commit(&self) -> bool {
        self.state != IntentState::Committed && self.operation.commits()
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
    /// The very bytes; none of a refused Welcome, which never leaves again.
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
