//! Subscriptions: what was committed, told from a task of its own.
//!
//! A commit's events go into a queue; a task takes them out, reads what a listener needs to know
//! and calls it. So a listener never runs while a call is on the stack, and never holds up a commit.
//! The task takes out all there is at each turn; what an app is too slow for waits on the
//! TypeScript side, where it is bounded and a lag is reported.

use std::cell::Cell;
use std::rc::Rc;

use futures::StreamExt;
use futures::channel::mpsc::{self, UnboundedReceiver};
use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::life;
use super::values::{self, Fields};
use crate::client::{Client, EventSubscription, Interest, News};
use crate::error::Error;
use crate::store::rows::MessageRow;

/// News told between two reads of the store.
const TOGETHER: usize = 64;

/// A subscription.
#[wasm_bindgen]
pub struct RawSubscription {
    state: Rc<State>,
}

/// Owned by the telling task too, so that a subscription lives on when nobody holds its handle.
#[derive(Default)]
struct State {
    ended: Cell<bool>,
    events: Cell<Option<EventSubscription>>,
}

#[wasm_bindgen]
impl RawSubscription {
    /// Reports nothing more; ending twice is fine.
    pub fn end(&self) {
        self.state.ended.set(true);
        drop(self.state.events.take());
    }
}

/// Subscribes; everything committed afterwards is reported. Without an interest nothing is.
///
/// # Errors
/// `conversation.not_found` when a conversation is named that is not stored.
pub async fn subscribe(
    client: Client,
    interest: Option<Interest>,
    listener: Function,
) -> Result<RawSubscription, Error> {
    let state = Rc::new(State::default());
    let Some(interest) = interest else { return Ok(RawSubscription { state }) };
    let (sender, news) = mpsc::unbounded();
    let events = client.follow(interest, move |one| {
        // The other end is gone once the client is closed.
        let _ = sender.unbounded_send(one);
    });
    state.events.set(Some(events.await?));
    life::spawn(tell(client, news, state.clone(), listener));
    Ok(RawSubscription { state })
}

async fn tell(client: Client, mut news: UnboundedReceiver<News>, state: Rc<State>, listener: Function) {
    let call = |event: JsValue| {
        if !state.ended.get()
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
        if state.ended.get() {
            return;
        }
        // A client closed meanwhile can read nothing more: what is left of the queue is dropped.
        match read(&client, batch).await {
            Ok(events) => events.into_iter().for_each(call),
            Err(_) if client.is_closed() => return,
            Err(error) => web_sys::console::error_1(&super::errors::to_js(&error)),
        }
    }
}

async fn read(client: &Client, batch: Vec<News>) -> Result<Vec<JsValue>, Error> {
    let row = |news: &News| match news {
        News::Message(row) => Some(MessageRow::clone(row)),
        _ => None,
    };
    let page = client.dressed(batch.iter().filter_map(row).collect()).await?;
    let messages = values::messages(client, &page);
    let mut events = Vec::with_capacity(batch.len());
    for news in batch {
        match news {
            News::Message(row) => {
                // One that has disappeared meanwhile is told to nobody.
                let Some(at) = page.rows.iter().position(|one| one.id == row.id) else { continue };
                let message = messages.get(u32::try_from(at).unwrap_or(u32::MAX));
                events.push(Fields::new().text("type", "message").value("message", &message).done());
            }
            News::Deletion(row) => {
                let message = values::messages(client, &client.listed(vec![*row]).await?).get(0);
                events.push(Fields::new().text("type", "deletion").value("message", &message).done());
            }
            News::Conversation(group) | News::Duplicate(group) => {
                let found = match news {
                    News::Duplicate(_) => client.describe_groups(&[group]).await?.pop(),
                    _ => client.conversation(group).await?,
                };
                let Some(found) = found else { continue };
                let view = values::conversation(found);
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
