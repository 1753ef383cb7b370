//! A delivery service whose every answer has been judged by [`admit`].

use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::{Delivery, DeliveryError, Incoming, Outgoing, Receipt, Subscription, Wake, admit};
use crate::base::{InboxId, SequenceId, Topic};

/// Wraps a service; what breaks the contract comes out as [`DeliveryError::Invalid`].
#[derive(Clone)]
pub struct CheckedDelivery(Rc<dyn Delivery>);

impl CheckedDelivery {
    /// Judges everything `service` answers.
    pub fn new(service: Rc<dyn Delivery>) -> Self {
        Self(service)
    }
}

impl Delivery for CheckedDelivery {
    fn publish(&self, batch: Vec<Outgoing>) -> LocalBoxFuture<'_, Result<Vec<Receipt>, DeliveryError>> {
        async move {
            let answer = self.0.publish(batch.clone()).await?;
            admit::receipts(&batch, &answer)?;
            Ok(answer)
        }
        .boxed_local()
    }

    fn query(
        &self,
        topics: Vec<(Topic, SequenceId)>,
        limit: u32,
    ) -> LocalBoxFuture<'_, Result<Vec<Incoming>, DeliveryError>> {
        async move {
            let answer = self.0.query(topics.clone(), limit).await?;
            admit::query(&topics, limit, answer)
        }
        .boxed_local()
    }

    fn newest(&self, topics: Vec<Topic>) -> LocalBoxFuture<'_, Result<Vec<Option<Incoming>>, DeliveryError>> {
        async move {
            let answer = self.0.newest(topics.clone()).await?;
            admit::newest(&topics, &answer)?;
            Ok(answer)
        }
        .boxed_local()
    }

    fn lookup(
        &self,
        identifiers: Vec<String>,
    ) -> LocalBoxFuture<'_, Result<Vec<Vec<InboxId>>, DeliveryError>> {
        async move {
            let answer = self.0.lookup(identifiers.clone()).await?;
            admit::lookup(&identifiers, &answer)?;
            Ok(answer)
        }
        .boxed_local()
    }

    fn subscribe(&self, topics: Vec<Topic>, wake: Wake) -> Subscription {
        self.0.subscribe(topics, wake)
    }
}
