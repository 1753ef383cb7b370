//! `RawClient`: what is asked of one conversation, named by the id of any of its groups.

use js_sys::{BigInt, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::client::RawClient;
use super::options::{Arg, group_id};
use super::values::{self, Fields};
use crate::base::{GroupId, InboxId, Nanos};
use crate::client::{Client, Member, SendOptions};
use crate::engine::history::HistoryOptions;
use crate::error::Error;

pub(super) async fn view(client: &Client, group: GroupId) -> Result<JsValue, Error> {
    Ok(values::maybe(client.conversation(group).await?.map(values::conversation)))
}

fn member(member: &Member) -> JsValue {
    let level = if member.super_admin { 2 } else { u8::from(member.admin) };
    Fields::new()
        .id("inboxId", member.inbox)
        .value("accountIdentifiers", &values::list(member.accounts.iter().map(values::identifier)))
        .value("installationIds", &values::list(member.installations.iter().map(|id| id.to_string().into())))
        .value("failedInstallationIds", &values::list(member.failed.iter().map(|id| id.to_string().into())))
        .number("permissionLevel", level)
        .number("consentState", values::consent_state(member.consent))
        .done()
}

#[wasm_bindgen]
impl RawClient {
    /// The DM with an inbox; resolves when durable, online or not.
    #[wasm_bindgen(js_name = createDm)]
    pub fn create_dm(&self, peer: JsValue) -> Promise {
        self.call(async |handle| {
            let group = handle.client.create_dm(Arg::new(peer, "inboxId").id()?).await?;
            view(&handle.client, group).await
        })
    }

    /// Undefined for an id that is not stored.
    pub fn conversation(&self, id: JsValue) -> Promise {
        self.call(async |handle| view(&handle.client, group_id(id)?).await)
    }

    /// The conversation of the DM with an inbox, if there is one.
    #[wasm_bindgen(js_name = dmWith)]
    pub fn dm_with(&self, peer: JsValue) -> Promise {
        self.call(async |handle| match handle.client.dm_with(Arg::new(peer, "inboxId").id()?).await? {
            Some(group) => view(&handle.client, group).await,
            None => Ok(JsValue::UNDEFINED),
        })
    }

    /// The groups of a stitched DM besides the named one, each described as itself.
    #[wasm_bindgen(js_name = duplicateDms)]
    pub fn duplicate_dms(&self, id: JsValue) -> Promise {
        self.call(async |handle| {
            let others = handle.client.duplicates(group_id(id)?).await?;
            let found = handle.client.describe_groups(&others).await?;
            Ok(values::conversations(&found).into())
        })
    }

    /// Members with their installations.
    pub fn members(&self, id: JsValue) -> Promise {
        self.call(async |handle| {
            let members = handle.client.members(group_id(id)?).await?;
            Ok(values::list(members.iter().map(member)))
        })
    }

    /// The physical groups behind a conversation.
    pub fn inspect(&self, id: JsValue) -> Promise {
        self.call(async |handle| Ok(values::inspection(&handle.client.inspect(group_id(id)?).await?)))
    }

    /// Resolves with the message id when durable.
    pub fn send(&self, id: JsValue, content: JsValue, options: JsValue) -> Promise {
        self.call(async |handle| {
            let group = group_id(id)?;
            let content = Arg::new(content, "content").content()?;
            let options = Arg::new(options, "options");
            let options = SendOptions {
                key: options.may("idempotencyKey", Arg::text)?,
                push: options.may("shouldPush", Arg::flag)?,
            };
            Ok(handle.client.send_with(group, content, options).await?.to_string().into())
        })
    }

    /// Publishes now what waits to be published.
    #[wasm_bindgen(js_name = publishMessages)]
    pub fn publish_messages(&self, id: JsValue) -> Promise {
        self.call(async |handle| {
            handle.client.publish(group_id(id)?).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// One filter and one limit over the union (DMS-009).
    pub fn messages(&self, id: JsValue, options: JsValue) -> Promise {
        self.call(async |handle| {
            let options = Arg::new(options, "options").history_options()?;
            let page = handle.client.page(group_id(id)?, &options).await?;
            Ok(values::messages(&handle.client, &page).into())
        })
    }

    /// How many messages there are.
    #[wasm_bindgen(js_name = countMessages)]
    pub fn count_messages(&self, id: JsValue, options: JsValue) -> Promise {
        self.call(async |handle| {
            let options = Arg::new(options, "options").history_options()?;
            let count = handle.client.count_messages(group_id(id)?, &options).await?;
            Ok(BigInt::from(count).into())
        })
    }

    /// The newest message.
    #[wasm_bindgen(js_name = lastMessage)]
    pub fn last_message(&self, id: JsValue) -> Promise {
        self.call(async |handle| {
            let newest = handle.client.page(group_id(id)?, &HistoryOptions::newest()).await?;
            Ok(values::messages(&handle.client, &newest).get(0))
        })
    }

    /// The time of the newest read receipt of each inbox.
    #[wasm_bindgen(js_name = lastReadTimes)]
    pub fn last_read_times(&self, id: JsValue) -> Promise {
        self.call(async |handle| {
            let times = handle.client.last_read_times(group_id(id)?).await?;
            let time = |(inbox, at): (InboxId, Nanos)| {
                let pair = [inbox.to_string().into(), BigInt::from(at.0).into()];
                values::list(pair)
            };
            Ok(values::list(times.into_iter().map(time)))
        })
    }

    /// Every group of one conversation.
    #[wasm_bindgen(js_name = syncConversation)]
    pub fn sync_conversation(&self, id: JsValue) -> Promise {
        self.call(async |handle| {
            let report = handle.client.sync_conversation(group_id(id)?).await?;
            match report.failed.into_iter().next() {
                Some((_, error)) => Err(error),
                None => Ok(JsValue::UNDEFINED),
            }
        })
    }
}
