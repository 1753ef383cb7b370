//! A delivery service in memory, with a switch for everything a real one can do to a client.
//!
//! Several clients share one log through [`MemoryDelivery::link`]; [`Faults`] belong to a link, so
//! one client can be offline while the others go on. Choices: a request travels `delay_ms` each
//! way; being offline is checked at both ends, so a connection lost during the answer loses the
//! answer of something stored; wake-ups are told from a task of their own, never from inside
//! another client's call.

use crate::base::Map;
use std::cell::RefCell;
use std::rc::Rc;

pub use super::lies::Lie;
use super::lies::tell;
pub use super::log::Limits;
use super::log::Log;
use super::wakes::Wakes;
use super::{Delivery, DeliveryError, Incoming, Outgoing, Receipt, Subscription, Wake};
use crate::base::{InboxId, SequenceId, SharedPlatform, Topic};
use futures::FutureExt;
use futures::future::LocalBoxFuture;

/// What goes wrong on one link.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// No call gets through.
    pub offline: bool,
    /// How long a request, an answer and a wake-up travel, in milliseconds.
    pub delay_ms: u32,
    /// So many of the next publishes are stored and their answers lost.
    pub lose_answers: u32,
    /// So many of the next publishes are refused for good.
    pub refuse: u32,
    /// Every envelope of a query is repeated.
    pub duplicates: bool,
    /// Everything published is stored twice, the second time at a position of its own.
    pub replays: bool,
    /// A query answers a random part of what is there: some topics, and of those a prefix, mixed.
    pub shuffle: bool,
    /// Nobody is woken.
    pub no_wakes: bool,
    /// What the service lies about.
    pub lie: Option<Lie>,
}

/// One client's link to a log that several may share.
pub struct MemoryDelivery {
    service: Rc<Service>,
    faults: Rc<RefCell<Faults>>,
    /// Topics of which nothing behind a position is shown yet.
    frozen: RefCell<Map<Topic, SequenceId>>,
}

struct Service {
    platform: SharedPlatform,
    log: RefCell<Log>,
    wakes: Rc<Wakes>,
}

impl MemoryDelivery {
    /// An empty log, and the first link to it. `platform` is the service's: its clock, its delays.
    pub fn new(platform: SharedPlatform) -> Self {
        let wakes = Wakes::new(platform.clone());
        Self::on(Rc::new(Service { platform, log: RefCell::default(), wakes }))
    }

    /// Another link to the same log, without faults.
    pub fn link(&self) -> Self {
        Self::on(self.service.clone())
    }

    /// Changes what goes wrong on this link. Coming back online wakes this link's subscribers.
    pub fn set(&self, change: impl FnOnce(&mut Faults)) {
        let was_offline = self.faults.borrow().offline;
        change(&mut self.faults.borrow_mut());
        if was_offline && !self.faults.borrow().offline {
            self.service.wakes.anything(&self.faults);
        }
    }

    /// Shows this link nothing more of a topic until [`Self::thaw`]: other topics overtake it.
    pub fn freeze(&self, topic: Topic) {
        let last = self.service.log.borrow().last();
        self.frozen.borrow_mut().entry(topic).or_insert(last);
    }

    /// Shows everything again and wakes this link's subscribers.
    pub fn thaw(&self) {
        self.frozen.borrow_mut().clear();
        self.service.wakes.anything(&self.faults);
    }

    /// Changes the sizes the service refuses, for all links.
    pub fn limit(&self, limits: Limits) {
        self.service.log.borrow_mut().limits = limits;
    }

    /// Everything stored on a topic, as the service holds it.
    pub fn stored(&self, topic: Topic) -> Vec<Incoming> {
        let log = self.service.log.borrow();
        log.behind(topic, SequenceId(0), SequenceId(u64::MAX), usize::MAX).to_vec()
    }

    /// Every topic with an envelope, and how many it has.
    pub fn topics(&self) -> Vec<(Topic, usize)> {
        self.service.log.borrow().topics().collect()
    }

    fn on(service: Rc<Service>) -> Self {
        Self { service, faults: Rc::default(), frozen: RefCell::default() }
    }

    /// One way of the journey.
    async fn travel(&self) -> Result<(), DeliveryError> {
        let delay = self.faults.borrow().delay_ms;
        if delay > 0 {
            self.service.platform.sleep(delay).await;
        }
        if self.faults.borrow().offline {
            return Err(DeliveryError::Unavailable("offline".to_owned()));
        }
        Ok(())
    }

    fn take(&self, count: impl FnOnce(&mut Faults) -> &mut u32) -> bool {
        let mut faults = self.faults.borrow_mut();
        let left = count(&mut faults);
        let any = *left > 0;
        *left = left.saturating_sub(1);
        any
    }

    fn store(&self, batch: &[Outgoing]) -> Result<Vec<Receipt>, DeliveryError> {
        let now = self.service.platform.now();
        let mut log = self.service.log.borrow_mut();
        let before = log.last();
        let receipts = log.store(batch, now)?;
        let stored_new = log.last() > before;
        if self.faults.borrow().replays && stored_new {
            for envelope in batch {
                log.append(envelope, now);
            }
        }
        drop(log);
        if stored_new {
            let topics: Vec<_> = batch.iter().map(|envelope| envelope.topic).collect();
            self.service.wakes.news(&topics);
        }
        Ok(receipts)
    }

    /// Whether one of the batch is stored where this link is not shown it.
    fn hides(&self, batch: &[Outgoing]) -> bool {
        let log = self.service.log.borrow();
        batch.iter().any(|one| log.place(one).is_some_and(|at| at > self.until(one.topic)))
    }

    /// Up to where this link is shown a topic.
    pub fn until(&self, topic: Topic) -> SequenceId {
        self.frozen.borrow().get(&topic).copied().unwrap_or(SequenceId(u64::MAX))
    }

    fn answer(&self, topics: &[(Topic, SequenceId)], limit: u32) -> Vec<Incoming> {
        let faults = self.faults.borrow();
        let log = self.service.log.borrow();
        let mut parts: Vec<Vec<Incoming>> = topics
            .iter()
            .map(|(topic, after)| log.behind(*topic, *after, self.until(*topic), limit as usize).to_vec())
            .collect();
        if faults.shuffle {
            for part in &mut parts {
                part.truncate(self.service.below(part.len() + 1));
            }
        }
        let mut out = Vec::new();
        let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
        while !parts.is_empty() {
            let at = if faults.shuffle { self.service.below(parts.len()) } else { 0 };
            match parts[at].next() {
                Some(envelope) => {
                    out.extend(faults.duplicates.then(|| envelope.clone()));
                    out.push(envelope);
                }
                None => drop(parts.remove(at)),
            }
        }
        if let Some(lie) = faults.lie {
            tell(lie, &mut out);
        }
        out
    }
}

impl Service {
    /// A random number below `end`, which is at least 1.
    fn below(&self, end: usize) -> usize {
        let mut bytes = [0; 4];
        self.platform.random(&mut bytes);
        u32::from_le_bytes(bytes) as usize % end.max(1)
    }
}

impl Delivery for MemoryDelivery {
    fn publish(&self, batch: Vec<Outgoing>) -> LocalBoxFuture<'_, Result<Vec<Receipt>, DeliveryError>> {
        async move {
            self.travel().await?;
            // What this link is not shown yet is stored all the same, and then never refused.
            if !self.hides(&batch) && self.take(|faults| &mut faults.refuse) {
                return Err(DeliveryError::Refused("told to refuse".to_owned()));
            }
            let mut receipts = self.store(&batch)?;
            self.travel().await?;
            if self.take(|faults| &mut faults.lose_answers) {
                return Err(DeliveryError::Unavailable("the answer was lost".to_owned()));
            }
            if self.faults.borrow().lie == Some(Lie::MissingReceipt) {
                receipts.pop();
            }
            Ok(receipts)
        }
        .boxed_local()
    }

    fn query(
        &self,
        topics: Vec<(Topic, SequenceId)>,
        limit: u32,
    ) -> LocalBoxFuture<'_, Result<Vec<Incoming>, DeliveryError>> {
        async move {
            self.travel().await?;
            let answer = self.answer(&topics, limit);
            self.travel().await?;
            Ok(answer)
        }
        .boxed_local()
    }

    fn newest(&self, topics: Vec<Topic>) -> LocalBoxFuture<'_, Result<Vec<Option<Incoming>>, DeliveryError>> {
        async move {
            self.travel().await?;
            let mut answer: Vec<_> = {
                let log = self.service.log.borrow();
                topics.iter().map(|topic| log.newest(*topic, self.until(*topic)).cloned()).collect()
            };
            if let Some(lie) = self.faults.borrow().lie {
                for envelope in &mut answer {
                    let mut one: Vec<_> = envelope.take().into_iter().collect();
                    tell(lie, &mut one);
                    *envelope = one.pop();
                }
            }
            self.travel().await?;
            Ok(answer)
        }
        .boxed_local()
    }

    fn lookup(
        &self,
        identifiers: Vec<String>,
    ) -> LocalBoxFuture<'_, Result<Vec<Vec<InboxId>>, DeliveryError>> {
        async move {
            self.travel().await?;
            let answer = {
                let log = self.service.log.borrow();
                identifiers.iter().map(|identifier| log.claims(identifier)).collect()
            };
            self.travel().await?;
            Ok(answer)
        }
        .boxed_local()
    }

    fn subscribe(&self, topics: Vec<Topic>, wake: Wake) -> Subscription {
        self.service.wakes.add(self.faults.clone(), topics, wake)
    }
}
