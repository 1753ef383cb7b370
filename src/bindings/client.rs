//! `RawClient`: what is asked of a client as a whole.

use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::events;
use super::life::{Life, promise};
use super::open::Account;
use super::options::{Arg, group_id};
use super::tabs::Tab;
use super::values;
use crate::client::{Client, SyncReport};
use crate::error::Error;

/// A client. Freed with `close`.
#[wasm_bindgen]
pub struct RawClient {
    handle: Handle,
}

/// What a call needs: cheap to clone, nothing borrowed.
#[derive(Clone)]
pub struct Handle {
    /// The client.
    pub client: Client,
    /// The life it belongs to.
    pub life: Life,
    /// Who signs for it.
    pub account: Rc<Account>,
    /// Its place among the tabs of its database; none for a database in memory.
    pub tab: Option<Rc<Tab>>,
}

impl RawClient {
    /// Wraps an open client.
    pub fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Runs a call in a task of its own.
    pub(super) fn call(&self, run: impl AsyncFnOnce(Handle) -> Result<JsValue, Error> + 'static) -> Promise {
        let handle = self.handle.clone();
        promise(async move {
            handle.life.check()?;
            let client = handle.client.clone();
            run(handle).await.map_err(|error| client.ended(error))
        })
    }
}

/// A sync reads all it can; then what stood in the way of single groups is told. A fault of one
/// conversation alone shows on that conversation.
fn told(report: SyncReport) -> Result<JsValue, Error> {
    let alone = |error: &Error| error.code == "delivery.refused";
    let outside = |error: &Error| ["delivery.", "store."].iter().any(|area| error.code.starts_with(area));
    match report.failed.into_iter().find(|(_, error)| outside(error) && !alone(error)) {
        Some((_, error)) => Err(error),
        None => Ok(JsValue::UNDEFINED),
    }
}

#[wasm_bindgen]
impl RawClient {
    /// The own inbox.
    #[wasm_bindgen(getter, js_name = inboxId)]
    pub fn inbox_id(&self) -> String {
        self.handle.client.inbox().to_string()
    }

    /// This installation.
    #[wasm_bindgen(getter, js_name = installationId)]
    pub fn installation_id(&self) -> String {
        self.handle.client.installation().to_string()
    }

    /// Whether the installation is registered.
    #[wasm_bindgen(js_name = isRegistered)]
    pub fn is_registered(&self) -> Promise {
        self.call(async |handle| Ok(handle.client.is_registered().into()))
    }

    /// Publishes the identity update and a key package; nothing if that is done.
    pub fn register(&self) -> Promise {
        self.call(async |handle| {
            handle.account.register(&handle.client).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Ends background work and subscriptions, closes the database; idempotent.
    pub fn close(&self) -> Promise {
        self.call(async |handle| {
            if let Some(tab) = &handle.tab {
                tab.leave();
            }
            handle.client.close().await;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Conversations, newest first.
    pub fn list(&self, options: JsValue) -> Promise {
        self.call(async |handle| {
            let Some(options) = Arg::new(options, "options").list_options()? else {
                return Ok(values::list([]));
            };
            let found = handle.client.list(&options).await?;
            Ok(values::conversations(&found).into())
        })
    }

    /// One message; undefined for an id that is not stored.
    pub fn message(&self, id: JsValue) -> Promise {
        self.call(async |handle| {
            let page = handle.client.message_page(Arg::new(id, "messageId").id()?).await?;
            Ok(values::messages(&handle.client, &page).get(0))
        })
    }

    /// Fetches and handles Welcomes: new conversations.
    pub fn sync(&self) -> Promise {
        self.call(async |handle| {
            handle.client.sync_new().await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// `sync`, then every conversation in one of the states.
    #[wasm_bindgen(js_name = syncAll)]
    pub fn sync_all(&self, states: JsValue) -> Promise {
        self.call(async |handle| {
            let states = Arg::new(states, "consentStates").optional().map(Arg::consent_states).transpose()?;
            told(handle.client.sync_by_consent(states.as_deref()).await?)
        })
    }

    /// Reads what the own devices decided, and tells them what was decided here.
    #[wasm_bindgen(js_name = syncDevices)]
    pub fn sync_devices(&self) -> Promise {
        self.call(async |handle| told(handle.client.sync_devices().await?))
    }

    /// The consent about an entity.
    pub fn consent(&self, kind: JsValue, entity: JsValue) -> Promise {
        self.call(async |handle| {
            let entity = Arg::entity(Arg::new(kind, "entityType"), Arg::new(entity, "entity"))?;
            Ok(values::consent_state(handle.client.consent(entity).await?).into())
        })
    }

    /// Sets consent: one act, one time, one event.
    #[wasm_bindgen(js_name = setConsent)]
    pub fn set_consent(&self, records: JsValue) -> Promise {
        self.call(async |handle| {
            let records = Arg::new(records, "records").list(|record| {
                let entity = Arg::entity(record.field("entityType")?, record.field("entity")?)?;
                Ok((entity, record.field("state")?.consent_state()?))
            })?;
            handle.client.set_consents(&records).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Acts on every group of the set, all with one time.
    #[wasm_bindgen(js_name = setConversationConsent)]
    pub fn set_conversation_consent(&self, id: JsValue, state: JsValue) -> Promise {
        self.call(async |handle| {
            let state = Arg::new(state, "state").consent_state()?;
            handle.client.set_conversation_consent(group_id(id)?, state).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Resolves when subscribed: everything that happens afterwards is reported.
    pub fn subscribe(&self, filter: JsValue, listener: JsValue) -> Promise {
        self.call(async |handle| {
            let interest = Arg::new(filter, "filter").interest()?;
            let listener = Arg::new(listener, "listener").function()?;
            Ok(events::subscribe(handle.client, interest, listener).await?.into())
        })
    }
}
