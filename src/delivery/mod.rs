//! The seam to whatever stores and orders envelopes.
//!
//! A delivery service keeps one ordered log a topic, gives each envelope a sequence id that rises
//! across all topics and its own time, publishes a batch whole or not at all, and answers a batch
//! it has already stored (same topic, same bytes) with the receipts of the first time.
//! [`admit`] checks what it answers before anything is believed; [`CheckedDelivery`] does so for
//! every call.

pub mod admit;
mod checked;
mod lies;
mod log;
pub mod memory;
mod wakes;

#[cfg(test)]
mod tests;

use std::rc::Rc;

use futures::future::LocalBoxFuture;

use crate::base::{InboxId, Nanos, SequenceId, Topic};

pub use checked::CheckedDelivery;
pub use memory::MemoryDelivery;

/// An envelope to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where to.
    pub topic: Topic,
    /// The encoded `ClientEnvelope`.
    pub payload: Vec<u8>,
    /// Identifiers this identity update adds (`eth:0x…`), as a hint for [`Delivery::lookup`].
    pub identifiers: Vec<String>,
}

/// What the service says of a stored envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its position.
    pub sequence_id: SequenceId,
    /// The service's time.
    pub server_ns: Nanos,
}

/// A stored envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Its topic.
    pub topic: Topic,
    /// Its position.
    pub sequence_id: SequenceId,
    /// The service's time.
    pub server_ns: Nanos,
    /// SHA-256 of the payload, as the service computed it at publication.
    pub hash: [u8; 32],
    /// The encoded `ClientEnvelope`.
    pub payload: Vec<u8>,
}

/// What can go wrong with a delivery service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// No answer. A publish may or may not have been stored: resend the very same bytes.
    #[error("the delivery service cannot be reached ({0}); it is tried again when you sync")]
    Unavailable(String),
    /// The service refused the batch for good; nothing of it is stored.
    #[error("the delivery service refused the request ({0})")]
    Refused(String),
    /// The answer breaks the service's contract; nothing of it was used.
    #[error("the delivery service gave an invalid answer ({0}); nothing was changed")]
    Invalid(String),
}

/// Ends a subscription when dropped.
pub struct Subscription(Option<Box<dyn FnOnce()>>);

impl Subscription {
    /// Calls `end` once, on drop.
    pub fn new(end: impl FnOnce() + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

/// Told that a topic has news. Content always comes from [`Delivery::query`], behind the
/// client's own position, so a missed or repeated wake-up loses nothing.
pub type Wake = Rc<dyn Fn(Topic)>;

/// A service that stores and orders envelopes.
pub trait Delivery {
    /// Stores a batch, whole or not at all; receipts in the order of the batch.
    fn publish(&self, batch: Vec<Outgoing>) -> LocalBoxFuture<'_, Result<Vec<Receipt>, DeliveryError>>;

    /// Envelopes of each topic behind a position, ascending within a topic; at most `limit` a topic.
    fn query(
        &self,
        topics: Vec<(Topic, SequenceId)>,
        limit: u32,
    ) -> LocalBoxFuture<'_, Result<Vec<Incoming>, DeliveryError>>;

    /// The newest envelope of each topic.
    fn newest(&self, topics: Vec<Topic>) -> LocalBoxFuture<'_, Result<Vec<Option<Incoming>>, DeliveryError>>;

    /// Inboxes that claim each identifier, newest claim first. A claim is checked by the caller.
    fn lookup(
        &self,
        identifiers: Vec<String>,
    ) -> LocalBoxFuture<'_, Result<Vec<Vec<InboxId>>, DeliveryError>>;

    /// Calls `wake` when a topic may have news, until the subscription is dropped.
    fn subscribe(&self, topics: Vec<Topic>, wake: Wake) -> Subscription;
}
