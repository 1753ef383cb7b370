//! The ordered log behind [`MemoryDelivery`](super::memory::MemoryDelivery): what an honest
//! service does, without network, time or faults.

use crate::base::Map;

use sha2::{Digest, Sha256};

use super::{DeliveryError, Incoming, Outgoing, Receipt};
use crate::base::{InboxId, Nanos, SequenceId, Topic};

/// Sizes above which a batch is refused, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of one payload.
    pub envelope: usize,
    /// Of all payloads of a batch.
    pub batch: usize,
}

impl Default for Limits {
    /// 1 MiB an envelope, 25 MiB a batch (facts 12.8).
    fn default() -> Self {
        Self { envelope: 1024 * 1024, batch: 25 * 1024 * 1024 }
    }
}

/// Everything stored so far.
#[derive(Default)]
pub(super) struct Log {
    topics: Map<Topic, Vec<Incoming>>,
    known: Map<(Topic, [u8; 32]), Receipt>,
    claims: Map<String, Vec<InboxId>>,
    last: Option<Receipt>,
    pub(super) limits: Limits,
}

impl Log {
    /// Stores a batch whole or not at all; an envelope already stored keeps its first receipt.
    pub(super) fn store(&mut self, batch: &[Outgoing], now: Nanos) -> Result<Vec<Receipt>, DeliveryError> {
        let sizes = || batch.iter().map(|envelope| envelope.payload.len());
        if let Some(size) = sizes().find(|size| *size > self.limits.envelope) {
            return Err(DeliveryError::Refused(format!("an envelope of {size} bytes is too large")));
        }
        let total: usize = sizes().sum();
        if total > self.limits.batch {
            return Err(DeliveryError::Refused(format!("a batch of {total} bytes is too large")));
        }
        Ok(batch.iter().map(|envelope| self.store_one(envelope, now)).collect())
    }

    /// Stores an envelope at a new position even if its bytes are known: a replay by the service.
    pub(super) fn append(&mut self, envelope: &Outgoing, now: Nanos) -> Receipt {
        self.append_hashed(envelope, Sha256::digest(&envelope.payload).into(), now)
    }

    fn append_hashed(&mut self, envelope: &Outgoing, hash: [u8; 32], now: Nanos) -> Receipt {
        let after = self.last.map_or((0, -1), |last| (last.sequence_id.0, last.server_ns.0));
        let receipt = Receipt {
            sequence_id: SequenceId(after.0 + 1),
            server_ns: Nanos((after.1.saturating_add(1)).max(now.0)),
        };
        self.last = Some(receipt);
        self.topics.entry(envelope.topic).or_default().push(Incoming {
            topic: envelope.topic,
            sequence_id: receipt.sequence_id,
            server_ns: receipt.server_ns,
            hash,
            payload: envelope.payload.clone(),
        });
        receipt
    }

    /// Envelopes of a topic behind `after` and not behind `until`, at most `limit`.
    pub(super) fn behind(
        &self,
        topic: Topic,
        after: SequenceId,
        until: SequenceId,
        limit: usize,
    ) -> &[Incoming] {
        let stored = self.topics.get(&topic).map_or(&[][..], Vec::as_slice);
        let from = stored.partition_point(|envelope| envelope.sequence_id <= after);
        let to = stored.partition_point(|envelope| envelope.sequence_id <= until).max(from);
        &stored[from..to.min(from.saturating_add(limit))]
    }

    /// The newest envelope of a topic not behind `until`.
    pub(super) fn newest(&self, topic: Topic, until: SequenceId) -> Option<&Incoming> {
        self.behind(topic, SequenceId(0), until, usize::MAX).last()
    }

    /// Inboxes that claim an identifier, newest claim first.
    pub(super) fn claims(&self, identifier: &str) -> Vec<InboxId> {
        self.claims.get(identifier).map(|inboxes| inboxes.iter().rev().copied().collect()).unwrap_or_default()
    }

    /// The last position given.
    pub(super) fn last(&self) -> SequenceId {
        self.last.map_or(SequenceId(0), |last| last.sequence_id)
    }

    /// Every topic with at least one envelope, and how many it has.
    pub(super) fn topics(&self) -> impl Iterator<Item = (Topic, usize)> + '_ {
        self.topics.iter().map(|(topic, stored)| (*topic, stored.len()))
    }

    /// Where an envelope is stored, if it is.
    pub(super) fn place(&self, envelope: &Outgoing) -> Option<SequenceId> {
        let hash = Sha256::digest(&envelope.payload).into();
        self.known.get(&(envelope.topic, hash)).map(|receipt| receipt.sequence_id)
    }

    fn store_one(&mut self, envelope: &Outgoing, now: Nanos) -> Receipt {
        let key = (envelope.topic, Sha256::digest(&envelope.payload).into());
        if let Some(receipt) = self.known.get(&key) {
            return *receipt;
        }
        let receipt = self.append_hashed(envelope, key.1, now);
        self.known.insert(key, receipt);
        if let Topic::Identity(inbox) = envelope.topic {
            for identifier in &envelope.identifiers {
                let claims = self.claims.entry(identifier.clone()).or_default();
                claims.retain(|other| *other != inbox);
                claims.push(inbox);
            }
        }
        receipt
    }
}
