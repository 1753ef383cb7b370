//! What an app takes one by one: events, the durable stream, messages from a cursor on. Nothing is
//! pushed: the next one is given when it is asked for, so nothing piles up on the other side.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::client::RawClient;
use super::life::promise;
use super::locks::Seat;
use super::options::{Arg, group_id};
use super::values::{self, Fields};
use crate::client::{Client, Consumer, EventFilter, EventQueue, Replay};
use crate::engine::event::{Event, KINDS};
use crate::engine::reader::Selection;
use crate::error::Error;
use crate::store::rows::MessageStatus;

/// Events of a client, one by one.
#[wasm_bindgen]
pub struct RawEvents {
    client: Client,
    queue: Rc<EventQueue>,
}

#[wasm_bindgen]
impl RawEvents {
    /// The next event; undefined once it has ended. To be asked for once at a time.
    pub fn next(&self) -> Promise {
        let (client, queue) = (self.client.clone(), self.queue.clone());
        promise(async move { Ok(values::maybe(queue.next().await.map(|event| plain(&event, &client)))) })
    }

    /// Ends it; ending twice is fine.
    pub fn end(&self) {
        self.queue.end();
    }
}

/// Messages of a client, one by one.
#[wasm_bindgen]
pub struct RawReader {
    client: Client,
    source: Rc<Source>,
    seat: Cell<Option<Seat>>,
}

enum Source {
    Durable(Consumer),
    Replay(Replay),
}

impl RawReader {
    fn new(client: Client, source: Source, seat: Option<Seat>) -> JsValue {
        Self { client, source: Rc::new(source), seat: Cell::new(seat) }.into()
    }
}

#[wasm_bindgen]
impl RawReader {
    /// The next message; undefined once it has ended. It acknowledges the one before. To be asked
    /// for once at a time.
    pub fn next(&self) -> Promise {
        let (client, source) = (self.client.clone(), self.source.clone());
        promise(async move {
            loop {
                let row = match &*source {
                    Source::Durable(consumer) => consumer.next().await,
                    Source::Replay(replay) => replay.next().await,
                };
                let Some(row) = row.map_err(|error| client.ended(error))? else {
                    return Ok(JsValue::UNDEFINED);
                };
                let page = client.dressed(vec![row]).await.map_err(|error| client.ended(error))?;
                // One that has disappeared meanwhile is given to nobody.
                if !page.rows.is_empty() {
                    return Ok(values::messages(&client, &page).get(0));
                }
            }
        })
    }

    /// Acknowledges the last message.
    pub fn acknowledge(&self) -> Promise {
        let (client, source) = (self.client.clone(), self.source.clone());
        promise(async move {
            if let Source::Durable(consumer) = &*source {
                consumer.acknowledge().await.map_err(|error| client.ended(error))?;
            }
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Ends it; ending twice is fine. What was not acknowledged comes again.
    pub fn end(&self) {
        match &*self.source {
            Source::Durable(consumer) => consumer.end(),
            Source::Replay(replay) => replay.end(),
        }
        drop(self.seat.take());
    }
}

#[wasm_bindgen]
impl RawClient {
    /// Events from now on. `callback`: the one taken counts as held until the next is asked for.
    pub fn events(&self, filter: JsValue, callback: bool) -> Promise {
        self.call(async move |handle| {
            let filter = event_filter(&Arg::new(filter, "filter"))?;
            let queue = Rc::new(handle.client.events(filter, callback).await?);
            Ok(RawEvents { client: handle.client, queue }.into())
        })
    }

    /// The durable stream, unless another has it.
    pub fn consume(&self, selection: JsValue) -> Promise {
        self.call(async |handle| {
            let selection = select(&handle.client, &Arg::new(selection, "options")).await?;
            let seat = match &handle.tab {
                Some(tab) => Seat::take(&format!("dovetail-consumes-{}", tab.database())).await?,
                None => None,
            };
            let consumer = handle.client.consume(selection).await?;
            Ok(RawReader::new(handle.client, Source::Durable(consumer), seat))
        })
    }

    /// Messages behind a cursor; undefined: from the oldest on.
    pub fn replay(&self, cursor: JsValue, selection: JsValue) -> Promise {
        self.call(async |handle| {
            let selection = select(&handle.client, &Arg::new(selection, "options")).await?;
            let cursor = Arg::new(cursor, "cursor").optional().map(Arg::text).transpose()?;
            let replay = handle.client.replay(cursor.as_deref(), selection)?;
            Ok(RawReader::new(handle.client, Source::Replay(replay), None))
        })
    }

    /// The newest messages of a conversation, then what follows them (DMS-016).
    #[wasm_bindgen(js_name = replayRecent)]
    pub fn replay_recent(&self, id: JsValue, count: JsValue) -> Promise {
        self.call(async |handle| {
            let count = Arg::new(count, "recent").number()? as usize;
            let replay = handle.client.replay_recent(group_id(id)?, count).await?;
            Ok(RawReader::new(handle.client, Source::Replay(replay), None))
        })
    }
}

/// `RawEventFilter`.
fn event_filter(filter: &Arg) -> Result<EventFilter, Error> {
    let kind = |arg: Arg| {
        let name = arg.text()?;
        KINDS
            .iter()
            .position(|kind| *kind == name)
            .ok_or_else(|| Error::new("input.value", "kinds must be kinds of events"))
    };
    Ok(EventFilter {
        kinds: filter.may("kinds", |arg| arg.list(kind))?,
        groups: filter.may("conversationIds", |arg| arg.list(Arg::id))?,
        content_types: filter.may("contentTypes", |arg| arg.list(Arg::text))?,
    })
}

/// `RawSelection`.
async fn select(client: &Client, options: &Arg) -> Result<Selection, Error> {
    let kind = options.may("conversationType", Arg::conversation_type)?;
    let mut selection = Selection {
        threads: None,
        kind: kind.flatten(),
        scope_states: options.may("scopeStates", Arg::consent_states)?,
        states: options.may("consentStates", Arg::consent_states)?,
        types: options.types()?,
    };
    if let Some(named) = options.may("conversationIds", |arg| arg.list(Arg::id))? {
        let mut threads = Vec::with_capacity(named.len());
        for group in named {
            threads.push(client.thread(group).await?);
        }
        selection.threads = Some(threads);
    }
    if kind == Some(None) {
        // No conversation here is of that kind.
        selection.threads = Some(Vec::new());
    }
    Ok(selection)
}

/// `ClientEvent`.
fn plain(event: &Event, client: &Client) -> JsValue {
    let fields = Fields::new().text("type", KINDS.get(event.kind()).copied().unwrap_or_default());
    let fields = match event.place() {
        Some((group, _)) => fields.id("groupId", group),
        None => fields,
    };
    let ids = |ids: &[crate::base::InboxId]| values::list(ids.iter().map(|id| id.to_string().into()));
    match event {
        Event::Conversation { kind, adder, .. } => fields
            .number("conversationType", values::conversation_type(*kind))
            .text("origin", if adder.is_some() { "welcomed" } else { "created" })
            .maybe(*adder, |fields, adder| fields.id("addedByInboxId", adder)),
        Event::Removed { left, .. } => fields.text("cause", if *left { "left" } else { "removed" }),
        Event::MembersChanged { added, removed, .. } => {
            fields.value("addedInboxIds", &ids(added)).value("removedInboxIds", &ids(removed))
        }
        Event::SettingsChanged { changed, .. } => {
            let changed: Array = changed.iter().map(|name| JsValue::from_str(name)).collect();
            fields.value("changed", &changed)
        }
        Event::Paused { floor, .. } => fields.text("pausedForVersion", floor),
        Event::Received { id, content_type, sender, .. } => fields
            .id("messageId", id)
            .id("senderInboxId", sender)
            .maybe(content_type.as_ref(), |fields, of| {
                let content_type = Fields::new()
                    .text("authorityId", &of.authority)
                    .text("typeId", &of.type_id)
                    .number("versionMajor", of.major);
                fields.value("contentType", &content_type.done())
            }),
        Event::MessageStatus { id, previous, status, .. } => fields
            .id("messageId", id)
            .number("previous", delivery_status(previous))
            .number("current", delivery_status(status)),
        Event::MessageDeleted { id, locally, .. } => {
            fields.id("messageId", id).text("cause", if *locally { "deleted_locally" } else { "deleted" })
        }
        Event::MessageExpired { id, .. } => fields.id("messageId", id),
        Event::Consent { entity, state } => return values::consent_in(fields, *entity, *state),
        Event::Registered => fields.id("inboxId", client.inbox()).id("installationId", client.installation()),
        Event::InstallationAdded { installation, .. } => fields.id("installationId", installation),
        Event::InstallationRevoked { installation, .. } => fields
            .id("installationId", installation)
            .flag("isThisInstallation", *installation == client.installation()),
        Event::ArchiveRestored { complete } => fields.flag("complete", *complete),
        Event::Lagged { discarded } => fields.number("discarded", *discarded as f64),
        Event::Message { .. } | Event::Gone { .. } | Event::GroupChanged { .. } => fields,
    }
    .done()
}

/// `DeliveryStatus`.
fn delivery_status(status: &MessageStatus) -> u8 {
    match status {
        MessageStatus::Unpublished => 0,
        MessageStatus::Published => 1,
        MessageStatus::Failed(_) => 2,
    }
}
