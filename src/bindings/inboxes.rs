//! Inboxes and their installations: asked for with a client, and with nothing but a delivery.

use crate::base::Set;
use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::client::RawClient;
use super::delivery::JsDelivery;
use super::life::promise;
use super::open::asking;
use super::options::Arg;
use super::{platform, values};
use crate::base::{Gather as _, InstallationId};
use crate::client::Logs;
use crate::error::Error;

/// The newest state of each inbox, in order; one that does not exist is left out.
#[wasm_bindgen(js_name = inboxStates)]
pub fn inbox_states(delivery: JsValue, inboxes: JsValue) -> Promise {
    promise(async move { states(&directory(Arg::new(delivery, "delivery"))?, inboxes, true).await })
}

/// Whether each identifier has an inbox with an installation to write to, in order.
#[wasm_bindgen(js_name = canMessage)]
pub fn can_message(delivery: JsValue, identifiers: JsValue) -> Promise {
    promise(async move { reachable(&directory(Arg::new(delivery, "delivery"))?, identifiers).await })
}

/// Revokes installations of an inbox, signed by its recovery account.
#[wasm_bindgen(js_name = revokeInstallations)]
pub fn revoke_installations(options: JsValue) -> Promise {
    promise(async move {
        let options = Arg::new(options, "options");
        let account = options.field("identifier")?.identifier()?;
        let installations = installations(options.field("installationIds")?)?;
        let sign = asking(options.field("sign")?.function()?);
        let inbox = options.field("inboxId")?.id()?;
        let now = platform::browser().now();
        directory(options.field("delivery")?)?.revoke(inbox, &installations, &account, now, &sign).await?;
        Ok(JsValue::UNDEFINED)
    })
}

fn directory(delivery: Arg) -> Result<Logs, Error> {
    Ok(Logs::without_database(Rc::new(JsDelivery::new(delivery.object()?))))
}

fn installations(ids: Arg) -> Result<Set<InstallationId>, Error> {
    Ok(ids.list(Arg::id)?.into_iter().gather())
}

async fn states(logs: &Logs, inboxes: JsValue, fetch: bool) -> Result<JsValue, Error> {
    let inboxes = Arg::new(inboxes, "inboxIds").list(Arg::id)?;
    Ok(values::list(logs.states(&inboxes, fetch).await?.iter().map(values::inbox_state)))
}

async fn reachable(logs: &Logs, identifiers: JsValue) -> Result<JsValue, Error> {
    let accounts = Arg::new(identifiers, "identifiers").list(Arg::identifier)?;
    Ok(values::list(logs.reachable(&accounts).await?.into_iter().map(JsValue::from)))
}

#[wasm_bindgen]
impl RawClient {
    /// The inbox of each identifier, in order.
    #[wasm_bindgen(js_name = findInboxes)]
    pub fn find_inboxes(&self, identifiers: JsValue) -> Promise {
        self.call(async |handle| {
            let accounts = Arg::new(identifiers, "identifiers").list(Arg::identifier)?;
            let found = handle.client.identity()?.inboxes_of(&accounts).await?;
            Ok(values::list(found.into_iter().map(|id| values::maybe(id.map(|id| id.to_string().into())))))
        })
    }

    /// Whether each identifier has an inbox with an installation to write to, in order.
    #[wasm_bindgen(js_name = canMessage)]
    pub fn can_message(&self, identifiers: JsValue) -> Promise {
        self.call(async |handle| reachable(handle.client.identity()?, identifiers).await)
    }

    /// The state of each inbox, in order; `fetch` reads on. One that is not known is left out.
    #[wasm_bindgen(js_name = inboxStates)]
    pub fn inbox_states(&self, inboxes: JsValue, fetch: bool) -> Promise {
        self.call(async move |handle| states(handle.client.identity()?, inboxes, fetch).await)
    }

    /// The state of the own inbox; `fetch` reads on.
    #[wasm_bindgen(js_name = ownState)]
    pub fn own_state(&self, fetch: bool) -> Promise {
        self.call(async move |handle| Ok(values::inbox_state(&handle.client.own_state(fetch).await?)))
    }

    /// Revokes installations of the own inbox; undefined: all but this one.
    #[wasm_bindgen(js_name = revokeInstallations)]
    pub fn revoke_installations(&self, ids: JsValue) -> Promise {
        self.call(async |handle| {
            let sign = handle.account.signer()?;
            match Arg::new(ids, "installationIds").optional() {
                Some(ids) => handle.client.revoke(&installations(ids)?, &sign).await?,
                None => handle.client.revoke_others(&sign).await?,
            }
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Whether the newest key package of each installation can be used, in order.
    #[wasm_bindgen(js_name = keyPackageStatuses)]
    pub fn key_package_statuses(&self, ids: JsValue) -> Promise {
        self.call(async |handle| {
            let ids = Arg::new(ids, "installationIds").list(Arg::id)?;
            let found = handle.client.key_package_statuses(&ids).await?;
            Ok(values::list(found.iter().map(values::key_package_status)))
        })
    }
}
