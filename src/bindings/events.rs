//! Subscriptions: what was committed, told from a task of its own.
//!
//! A commit's events go into a queue; a task takes them out, reads what a listener needs to know
//! and calls it. So a listener never runs while a call is on the stack, and a slow one never holds
//! up a commit. The queue is bounded: what does not fit is counted and reported as `lagged` once
//! the queue was worked off.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures::StreamExt;
use futures::channel::mpsc::{self, UnboundedReceiver};
use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::filter::{Asked, News, Picker};
use super::life;
use super::values::{self, Fields};
use crate::base::{GroupId, ThreadId};
use crate::client::{Client, EventSubscription};
use crate::error::Error;

/// News kept for a listener that does not keep up.
const KEPT: usize = 1024;
/// News told between two reads of the store.
const TOGETHER: usize = 64;

/// A subscription.
#[wasm_bindgen]
pub struct RawSubscription {
    gate: Rc<Gate>,
    events: Cell<Option<EventSubscription>>,
}

#[wasm_bindgen]
impl RawSubscription {
    /// Reports nothing more; ending twice is fine.
    pub fn end(&self) {
        self.gate.ended.set(true);
        drop(self.events.take());
    }
}

/// What both ends of the queue share.
#[derive(Default)]
struct Gate {
    waiting: Cell<usize>,
    missed: Cell<u32>,
    ended: Cell<bool>,
}

/// Subscribes; everything committed afterwards is reported.
///
/// # Errors
/// `conversation.not_found` when the filter names a conversation that is not stored.
pub async fn subscribe(client: Client, asked: Asked, listener: Function) -> Result<RawSubscription, Error> {
    let named = match &asked {
        Asked::Messages { conversation, .. } => *conversation,
        _ => None,
    };
    let thread = match named {
        Some(group) => Some(client.thread(group).await?),
        None => None,
    };
    if client.is_closed() {
        return Err(Error::new("client.closed", "the client was closed; create it again"));
    }
    let picker = Picker::new(asked, thread);
    let gate = Rc::new(Gate::default());
    let (sender, news) = mpsc::unbounded();
    let events = client.subscribe_commits({
        let gate = gate.clone();
        move |events| {
            for one in picker.pick(events) {
                if gate.waiting.get() >= KEPT {
                    gate.missed.set(gate.missed.get().saturating_add(1));
                } else if sender.unbounded_send(one).is_ok() {
                    gate.waiting.set(gate.waiting.get() + 1);
                }
            }
        }
    });
    life::spawn(tell(client, news, gate.clone(), listener));
    Ok(RawSubscription { gate, events: Cell::new(Some(events)) })
}

async fn tell(client: Client, mut news: UnboundedReceiver<News>, gate: Rc<Gate>, listener: Function) {
    let call = |event: JsValue| {
        if !gate.ended.get()
            && let Err(thrown) = listener.call1(&JsValue::UNDEFINED, &event)
        {
            // A listener's own mistake: said, and nothing else stops.
            web_sys::console::error_1(&thrown);
        }
    };
    while let Some(first) = news.next().await {
        let mut batch = vec![first];
        while batch.len() < TOGETHER
            && let Ok(more) = news.try_recv()
        {
            batch.push(more);
        }
        gate.waiting.set(gate.waiting.get().saturating_sub(batch.len()));
        if gate.ended.get() {
            return;
        }
        // A client closed meanwhile can read nothing more: what is left of the queue is dropped.
        let Ok(events) = read(&client, batch).await else { break };
        events.into_iter().for_each(call);
        let missed = if gate.waiting.get() == 0 { gate.missed.replace(0) } else { 0 };
        if missed > 0 {
            call(Fields::new().text("type", "lagged").number("missed", missed).done());
        }
    }
    if client.is_closed() {
        call(Fields::new().text("type", "closed").done());
    }
}

async fn read(client: &Client, batch: Vec<News>) -> Result<Vec<JsValue>, Error> {
    let threads: BTreeSet<ThreadId> = batch
        .iter()
        .filter_map(|news| match news {
            News::Message(row) => Some(row.thread),
            _ => None,
        })
        .collect();
    let winners = winners(client, &threads).await?;
    let mut events = Vec::with_capacity(batch.len());
    for news in batch {
        match news {
            News::Message(row) => {
                let listed = winners.get(&row.thread).copied().unwrap_or(row.group);
                let message = values::message(&row, listed);
                events.push(Fields::new().text("type", "message").value("message", &message).done());
            }
            News::Conversation(group) => {
                let Some(found) = client.conversation(group).await? else { continue };
                let view = values::conversation(&found);
                events.push(Fields::new().text("type", "conversation").value("conversation", &view).done());
            }
            News::Consent(records) => {
                let records = records.into_iter().map(|(entity, state)| values::consent(entity, state));
                let records = values::list(records);
                events.push(Fields::new().text("type", "consent").value("records", &records).done());
            }
        }
    }
    Ok(events)
}

/// The ids threads are listed under.
pub async fn winners(
    client: &Client,
    threads: &BTreeSet<ThreadId>,
) -> Result<BTreeMap<ThreadId, GroupId>, Error> {
    if threads.is_empty() {
        return Ok(BTreeMap::new());
    }
    client.winners(threads).await
}
