//! `createClient`: the database, the delivery, the installation, then background work.
//!
//! The default name of a database is made of the inbox id that the account and the nonce make. It
//! is the account's inbox in all but rare cases (an account that was added to another inbox), and
//! it is known without asking the delivery service, so that a client opens offline too.

use std::rc::Rc;

use futures::FutureExt;
use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::JsFuture;
use zeroize::Zeroizing;

use super::bytes::bytes_of;
use super::client::{Handle, RawClient};
use super::delivery::JsDelivery;
use super::life::{Life, promise};
use super::options::Arg;
use super::platform;
use super::tabs::Tab;
use crate::client::{Client, OpenOptions, Sign};
use crate::error::Error;
use crate::idb::IdbStore;
use crate::identity::{Identifier, inbox_id};
use crate::store::{MemoryStore, Record, Store};

/// Characters kept of what a signer throws.
const REASON: usize = 200;

/// Opens a client on a database, making an installation if there is none.
#[wasm_bindgen(js_name = createClient)]
pub fn create_client(options: JsValue) -> Promise {
    promise(async move {
        let given = Given::read(&Arg::new(options, "options"))?;
        Ok(open(given).await?.into())
    })
}

/// `RawClientOptions`.
struct Given {
    identifier: Identifier,
    nonce: u64,
    /// None: memory only.
    database: Option<String>,
    key: Option<Zeroizing<[u8; 32]>>,
    delivery: Object,
    register: bool,
    sign: Option<Function>,
}

impl Given {
    fn read(options: &Arg) -> Result<Self, Error> {
        let identifier = options.field("identifier")?.identifier()?;
        let nonce = options.field("nonce")?.unsigned()?;
        let path = options.field("dbPath")?;
        let database = if path.is_null() {
            None
        } else {
            let default = || format!("dovetail-{}", inbox_id(&identifier, nonce));
            Some(path.optional().map_or_else(|| Ok(default()), Arg::text)?)
        };
        Ok(Self {
            nonce,
            database,
            key: options.may("dbEncryptionKey", Arg::key)?.map(Zeroizing::new),
            delivery: options.field("delivery")?.object()?,
            register: options.field("register")?.flag()?,
            sign: options.may("sign", Arg::function)?,
            identifier,
        })
    }
}

/// Who signs for a client.
pub struct Account {
    nonce: u64,
    sign: Option<Function>,
}

impl Account {
    /// Registers the installation; nothing if that is done.
    ///
    /// # Errors
    /// `client.no_signer`, and those of [`Client::register`].
    pub async fn register(&self, client: &Client) -> Result<(), Error> {
        if client.is_registered() {
            return Ok(());
        }
        client.register(self.nonce, &self.signer()?).await
    }

    /// Who signs.
    ///
    /// # Errors
    /// `client.no_signer`.
    pub fn signer(&self) -> Result<Sign, Error> {
        let missing = || Error::new("client.no_signer", "this needs the signer; use Client.create");
        Ok(asking(self.sign.clone().ok_or_else(missing)?))
    }
}

async fn open(given: Given) -> Result<RawClient, Error> {
    let life = Life::now();
    let (store, first) = store(&given).await?;
    let options = OpenOptions {
        store: store.clone(),
        delivery: Rc::new(JsDelivery::new(given.delivery)),
        platform: platform::browser(),
        identifier: given.identifier,
        nonce: given.nonce,
    };
    let client = match Client::open_with(options, first).await {
        Ok(client) => client,
        Err(error) => {
            store.close().await;
            return Err(error);
        }
    };
    let account = Account { nonce: given.nonce, sign: given.sign };
    // A revoked installation opens all the same: its history stays readable.
    if given.register
        && !client.is_revoked()
        && let Err(error) = account.register(&client).await
    {
        client.close().await;
        return Err(error);
    }
    let tab = match &given.database {
        Some(name) => Some(Tab::join(&client, name)),
        None => {
            client.go_live();
            None
        }
    };
    Ok(RawClient::new(Handle { client, life, account: Rc::new(account), tab }))
}

/// The store, and its answers to what a client reads first.
async fn store(given: &Given) -> Result<(Rc<dyn Store>, Vec<Vec<Record>>), Error> {
    let Some(name) = &given.database else { return Ok((Rc::new(MemoryStore::new()), Vec::new())) };
    if given.key.is_none() && !has_web_crypto() {
        return Err(Error::new(
            "client.insecure_context",
            "this page has no WebCrypto, so the browser cannot keep a key; use HTTPS or localhost, or pass dbEncryptionKey",
        ));
    }
    let key = given.key.as_deref().copied();
    let (store, first) = IdbStore::open_reading(name, key, &Client::first_reads()).await?;
    Ok((Rc::new(store), first))
}

/// Browsers give it to secure contexts only.
fn has_web_crypto() -> bool {
    let crypto = Reflect::get(&js_sys::global(), &"crypto".into());
    crypto.and_then(|crypto| Reflect::get(&crypto, &"subtle".into())).is_ok_and(|subtle| subtle.is_object())
}

/// A wallet behind the app's signer.
pub fn asking(sign: Function) -> Sign {
    Rc::new(move |text| ask(sign.clone(), text).boxed_local())
}

/// Asks the app's signer.
async fn ask(sign: Function, text: String) -> Result<Vec<u8>, String> {
    let answer =
        sign.call1(&JsValue::UNDEFINED, &JsValue::from_str(&text)).map_err(|thrown| reason(&thrown))?;
    let answer = JsFuture::from(Promise::resolve(&answer)).await.map_err(|thrown| reason(&thrown))?;
    let bytes = bytes_of(&answer).ok_or("it gave no Uint8Array")?;
    Ok(bytes.to_vec())
}

fn reason(thrown: &JsValue) -> String {
    let message = || {
        let message = if thrown.is_object() { Reflect::get(thrown, &"message".into()).ok() } else { None };
        message.and_then(|message| message.as_string())
    };
    let text = thrown.as_string().or_else(message).unwrap_or_else(|| "no reason given".to_owned());
    text.chars().take(REASON).collect()
}
