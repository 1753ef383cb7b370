//! Rows of the tables `envelopes`, `positions`, `associations` and `consumers`.

use serde::{Deserialize, Serialize};

use super::{Row, bytes};
use crate::base::{GroupId, InboxId, Nanos, SequenceId, Topic};
use crate::store::Table;

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
    /// Anybody can have any number refused. For debug information so many places are kept for each
    /// topic, and a newer one takes the place of an older one: of ids in a row the newest stay. It is
    /// a prime, so that ids with gaps of one length use all of them.
    pub const REJECTED: u64 = 127;

    /// The prefix of a topic's envelopes that wait.
    pub fn waiting(topic: Topic) -> Vec<u8> {
        topic.to_bytes()
    }

    /// The prefix of those that were refused for good. Nothing that is to be read on is under it.
    pub fn rejected(topic: Topic) -> Vec<u8> {
        // No topic begins with it.
        [&[u8::MAX], topic.to_bytes().as_slice()].concat()
    }
}

impl Row for EnvelopeRow {
    const TABLE: Table = Table::Envelopes;
    fn key(&self) -> Vec<u8> {
        let (mut key, place) = match self.state {
            EnvelopeState::Rejected(..) => (Self::rejected(self.topic), self.sequence_id.0 % Self::REJECTED),
            _ => (Self::waiting(self.topic), self.sequence_id.0),
        };
        key.extend(place.to_be_bytes());
        key
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

/// How far an app has acknowledged the durable stream, whatever the group. Written under a revision
/// check: the client that wrote it last is the one that may write it next (PROC-031).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumedRow {
    /// Nothing up to this delivery number is due any more.
    pub acknowledged: u64,
}

impl ConsumedRow {
    /// The only key; a group's id is longer.
    pub const KEY: &[u8] = b"all";
}

impl Row for ConsumedRow {
    const TABLE: Table = Table::Consumers;
    fn key(&self) -> Vec<u8> {
        Self::KEY.to_vec()
    }
}

/// How far an app has acknowledged the durable stream, for one group (PROC-026): beyond
/// [`ConsumedRow`], for a stream that left other groups out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerRow {
    /// The group.
    pub group: GroupId,
    /// The greatest delivery number acknowledged.
    pub acknowledged: u64,
}

impl Row for ConsumerRow {
    const TABLE: Table = Table::Consumers;
    fn key(&self) -> Vec<u8> {
        self.group.as_bytes().to_vec()
    }
}
