//! Sending: messages asked for together share one commit (BR-052: in the order they were asked).

use crate::base::Map;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::channel::oneshot;

use crate::base::{GroupId, MessageId, Nanos};
use crate::client::driver::{Step, StepError};
use crate::client::outbox::GATHER_MS;
use crate::client::{Client, Inner, load};
use crate::engine::annotations;
use crate::engine::send::{self, Outbound};
use crate::error::Error;
use crate::store::Table;
use crate::store::rows::GroupKind;
use crate::wire::EncodedContent;
use crate::wire::about::{self, Relation};

/// Messages of one commit.
const BATCH: usize = 128;

type Reply = oneshot::Sender<Result<MessageId, Error>>;

/// A group, and whether that very one is meant: otherwise the conversation it belongs to.
type Place = (GroupId, bool);

struct Waiting {
    place: Place,
    outbound: Outbound,
    reply: Reply,
}

/// Messages asked for and not committed yet.
#[derive(Default)]
pub struct Queue {
    waiting: RefCell<Vec<Waiting>>,
    draining: Cell<bool>,
    /// When the last one was committed, by the local clock.
    pub(super) last: Cell<Nanos>,
}

impl Queue {
    /// True while messages are sent one after another: background work that can wait does.
    pub(super) fn is_busy(&self, now: Nanos) -> bool {
        let since = now.0.saturating_sub(self.last.get().0);
        self.draining.get() || (0..i64::from(GATHER_MS) * 1_000_000).contains(&since)
    }
}

/// How a message is sent.
#[derive(Clone, Debug, Default)]
pub struct SendOptions {
    /// Repeats an earlier call: the same content and key give the same id and no second message.
    pub key: Option<String>,
    /// Whether receivers are to be notified; absent: as is usual for the content type.
    pub push: Option<bool>,
}

impl Client {
    /// Sends an EncodedContent in a conversation, named by any of its groups.
    ///
    /// Resolves once the message is durable, online or not (design section 3); it is then in the
    /// thread as unpublished and leaves as soon as it can. `key` repeats an earlier call: the same
    /// content and key give the same id and no second message.
    ///
    /// # Errors
    /// `conversation.not_found`, `group.*`, `dm.unknown_inbox`, `message.too_large`,
    /// `content.reserved_type`, `input.value`, `client.installation_revoked`, `store.*`.
    pub async fn send(
        &self,
        group: GroupId,
        content: Vec<u8>,
        key: Option<String>,
    ) -> Result<MessageId, Error> {
        self.send_with(group, content, SendOptions { key, push: None }).await
    }

    /// Like [`Client::send`], with all its options.
    ///
    /// # Errors
    /// Those of [`Client::send`].
    pub async fn send_with(
        &self,
        group: GroupId,
        content: Vec<u8>,
        options: SendOptions,
    ) -> Result<MessageId, Error> {
        self.0.not_revoked()?;
        let key = options.key.unwrap_or_else(|| self.0.random_hex());
        let mut outbound = send::accept(content, key)?;
        outbound.push = options.push.unwrap_or(outbound.push);
        let place = match annotations::relation(&outbound.content_type) {
            Some(Relation::Deletion) => self.0.place_of_deletion(group, &outbound).await?,
            _ => (group, false),
        };
        let (reply, answer) = oneshot::channel();
        self.0.sends.waiting.borrow_mut().push(Waiting { place, outbound, reply });
        if !self.0.sends.draining.replace(true) {
            let inner = self.0.clone();
            self.0.platform.spawn(Box::pin(async move { inner.drain().await }));
        }
        answer
            .await
            .unwrap_or_else(|_| Err(Error::new("client.closed", "the client was closed while sending")))
    }
}

impl Inner {
    pub(super) fn random_hex(&self) -> String {
        let mut bytes = [0; 16];
        self.platform.random(&mut bytes);
        hex::encode(bytes)
    }

    /// A deletion counts in the group of its message only (PROC-037), which in a stitched DM need not
    /// be the one that is written in.
    async fn place_of_deletion(&self, group: GroupId, deletion: &Outbound) -> Result<Place, Error> {
        let content = EncodedContent::decode(&deletion.bytes).ok();
        let Some(target) = content.as_ref().and_then(about::target) else { return Ok((group, false)) };
        let row = self.message_rows(&[target]).await?.pop().flatten();
        let thread = self.thread_of(group).await?;
        Ok(row.filter(|row| row.thread == thread).map_or((group, false), |row| (row.group, true)))
    }

    async fn drain(self: Rc<Self>) {
        loop {
            let batch: Vec<Waiting> = {
                let mut waiting = self.sends.waiting.borrow_mut();
                let count = waiting.len().min(BATCH);
                waiting.drain(..count).collect()
            };
            if batch.is_empty() {
                self.sends.draining.set(false);
                return;
            }
            let mut places: Map<Place, Vec<Waiting>> = Map::new();
            for message in batch {
                places.entry(message.place).or_default().push(message);
            }
            for (place, messages) in places {
                self.send_together(place, messages).await;
            }
        }
    }

    async fn send_together(self: &Rc<Self>, place: Place, messages: Vec<Waiting>) {
        let outbounds: Vec<Outbound> = messages.iter().map(|m| m.outbound.clone()).collect();
        let all = self.try_step(true, async |step| self.send_step(step, place, &outbounds).await).await;
        self.sends.last.set(self.platform.now());
        match all {
            Ok((winner, results)) => {
                for (message, result) in messages.into_iter().zip(results) {
                    // A caller that went away has no use for the answer.
                    let _ = message.reply.send(result);
                }
                self.kick(winner);
            }
            Err(StepError::Taken) => {
                for message in messages {
                    let result = self.send_repeated(place, &message.outbound).await;
                    let _ = message.reply.send(result);
                }
            }
            Err(StepError::Other(error)) => {
                for message in messages {
                    let _ = message.reply.send(Err(error.clone()));
                }
            }
        }
    }

    /// One of a batch was sent before under the same key: each is looked up on its own.
    async fn send_repeated(self: &Rc<Self>, place: Place, outbound: &Outbound) -> Result<MessageId, Error> {
        let one = std::slice::from_ref(outbound);
        match self.try_step(true, async |step| self.send_step(step, place, one).await).await {
            Ok((winner, results)) => {
                self.kick(winner);
                results.into_iter().next().unwrap_or_else(|| Err(Error::bug("a send without an answer")))
            }
            Err(StepError::Other(error)) => Err(error),
            Err(StepError::Taken) => {
                let (group, exact) = place;
                let group = if exact { group } else { self.winner_of(group).await? };
                Ok(crate::wire::message_id(group, &outbound.key, &outbound.bytes))
            }
        }
    }

    async fn send_step(
        &self,
        step: &mut Step<'_>,
        (group, exact): Place,
        outbounds: &[Outbound],
    ) -> Result<(GroupId, Vec<Result<MessageId, Error>>), Error> {
        let named = step.need_group(group).await?;
        if named.row.kind == GroupKind::Sync {
            return Err(load::not_found());
        }
        let mut thread = step.take_thread(named.row.thread()).await?;
        let winner = thread.row.as_ref().filter(|_| !exact).map_or(group, |row| row.winner);
        let mut ctx = if winner == group {
            named
        } else {
            step.keep_group(named);
            step.need_group(winner).await?
        };
        let mut results = Vec::with_capacity(outbounds.len());
        for outbound in outbounds {
            let sent = send::send(&mut ctx, &mut thread, &self.me, outbound, &mut step.unit);
            // Later messages of the batch must not overtake one that failed half-way.
            if matches!(&sent, Err(error) if error.code == "bug.internal") {
                return Err(sent.err().unwrap_or_else(|| Error::bug("send")));
            }
            results.push(sent);
        }
        self.note_fresh(&step.unit);
        // Another tab may know a newer winner: then the step is repeated.
        step.unit.changes.check(Table::Threads, thread.id.to_key(), thread.revision);
        step.keep_group(ctx);
        step.keep_thread(thread);
        Ok((winner, results))
    }
}
