//! The data key: 32 random bytes, made once for a database and kept in it wrapped.
//!
//! It is wrapped either by a key the browser keeps and never hands out (AES-GCM, a non-extractable
//! `CryptoKey` in the same record; needs a secure context), or by the key the app passes: a
//! wrapping key is derived from that with HKDF-SHA-256 and used as rows are sealed, all in wasm.
//! Which of the two is decided when the database is made.
//!
//! Two tabs that make the database at once both offer a key, and one `add` wins for both.

use hkdf::Hkdf;
use js_sys::{Array, Object, Uint8Array};
use sha2::Sha256;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Crypto, CryptoKey, IdbDatabase, SubtleCrypto};
use zeroize::Zeroizing;

use super::errors::{self, Fault};
use super::read::{self, Requests};
use super::seal::{self, Sealer};
use super::values::{property, set};
use super::{schema, wait, write};
use crate::store::{Durability, INSECURE_CONTEXT, Read, Record, StoreError};

const WRAPPED: &str = "wrapped";
const WRAPPER: &str = "wrapper";
const IV: &str = "iv";

const CONTEXT: &[u8] = b"dovetail data key 1";

/// 32 bytes, wiped when dropped.
pub(super) type Key = Zeroizing<[u8; 32]>;

/// The data key of a database, and what tells the database from others of its name.
pub(super) struct DataKey {
    pub(super) sealer: Sealer,
    wrapped: Vec<u8>,
}

impl DataKey {
    /// Unwraps a database's data key, and makes one for a new database. `reads` are answered from
    /// the transaction that reads the key.
    pub(super) async fn of(
        database: &IdbDatabase,
        given: Option<&Key>,
        reads: &[Read],
    ) -> Result<(Self, Vec<Vec<Record>>), StoreError> {
        let (mut record, mut asked) = read_with(database, reads).await?;
        if record.is_undefined() {
            offer(database, &make(given).await?).await?;
            (record, asked) = read_with(database, reads).await?;
        }
        let key = unwrap(&record, given).await?;
        let key = Self { sealer: Sealer::new(&key), wrapped: wrapped(&record)? };
        let answers = asked.records(&key.sealer)?;
        Ok((key, answers))
    }

    /// Whether `database` still has this very key.
    pub(super) async fn is_of(&self, database: &IdbDatabase) -> Result<bool, StoreError> {
        let (record, _) = read_with(database, &[]).await?;
        Ok(!record.is_undefined() && wrapped(&record)? == self.wrapped)
    }
}

/// Fails where a database could neither be opened nor made: no key was passed and none can be kept.
pub(super) fn possible(given: Option<&Key>) -> Result<(), StoreError> {
    match given {
        Some(_) => Ok(()),
        None => subtle().map(|_| ()),
    }
}

/// The record, and the requests for `reads`, answered.
async fn read_with(database: &IdbDatabase, reads: &[Read]) -> Result<(JsValue, Requests), StoreError> {
    let names = schema::names(reads.iter().map(read::table));
    names.push(&JsValue::from_str(schema::KEYS));
    let transaction = write::begin_reading(database, &names)?;
    let watched = wait::Watched::new(transaction.clone());
    let (request, asked) = transaction
        .object_store(schema::KEYS)
        .and_then(|store| store.get(&JsValue::from_str(schema::DATA_KEY)))
        .and_then(|request| Ok((request, read::ask(&transaction, reads)?)))
        .map_err(|thrown| errors::in_transaction(&thrown))?;
    asked.answered(watched, Some(&request)).await?;
    let record = request.result().map_err(|thrown| errors::in_transaction(&thrown))?;
    Ok((record, asked))
}

/// Stores a record, unless there is one already.
async fn offer(database: &IdbDatabase, record: &JsValue) -> Result<(), StoreError> {
    let names = Array::of1(&JsValue::from_str(schema::KEYS));
    let transaction = write::begin(database, &names, Durability::Strict)?;
    let watched = wait::Watched::new(transaction.clone());
    transaction
        .object_store(schema::KEYS)
        .and_then(|store| store.add_with_key(record, &JsValue::from_str(schema::DATA_KEY)))
        .map_err(|thrown| {
            if errors::is_uncloneable(&thrown) {
                // Private windows of some browsers.
                StoreError::Unavailable("the browser cannot keep a key here: pass dbEncryptionKey".into())
            } else {
                errors::in_transaction(&thrown).into()
            }
        })?;
    match watched.ended().await {
        Err(Fault::Final(StoreError::Exists)) => Ok(()),
        other => Ok(other?),
    }
}

async fn make(given: Option<&Key>) -> Result<JsValue, StoreError> {
    let mut key = Key::default();
    seal::fill(key.as_mut_slice())?;
    let record = Object::new();
    match given {
        Some(given) => {
            let wrapped = wrapping(given)?.seal_with(CONTEXT, key.as_slice())?;
            set(&record, WRAPPED, &Uint8Array::from(wrapped.as_slice())).map_err(failed)?;
        }
        None => wrap_in_browser(&record, &key).await.map_err(failed)?,
    }
    Ok(record.into())
}

async fn unwrap(record: &JsValue, given: Option<&Key>) -> Result<Key, StoreError> {
    let wrapper = property(record, WRAPPER);
    match given {
        // Kept by the browser, or passed: a database has one of the two only.
        Some(_) if !wrapper.is_undefined() => Err(StoreError::WrongKey),
        None if wrapper.is_undefined() => Err(StoreError::WrongKey),
        Some(given) => {
            let opened = wrapping(given)?.open_with(CONTEXT, &wrapped(record)?).map(Zeroizing::new);
            let mut key = Key::default();
            let opened = opened.filter(|opened| opened.len() == key.len()).ok_or(StoreError::WrongKey)?;
            key.copy_from_slice(&opened);
            Ok(key)
        }
        None => unwrap_in_browser(record, wrapper.unchecked_ref()).await,
    }
}

fn wrapping(given: &Key) -> Result<Sealer, StoreError> {
    let mut key = Key::default();
    Hkdf::<Sha256>::new(None, given.as_slice())
        .expand(CONTEXT, key.as_mut_slice())
        .map_err(|_| StoreError::Failed("no wrapping key".into()))?;
    Ok(Sealer::new(&key))
}

fn wrapped(record: &JsValue) -> Result<Vec<u8>, StoreError> {
    match property(record, WRAPPED).dyn_into::<Uint8Array>() {
        Ok(bytes) => Ok(bytes.to_vec()),
        Err(_) => Err(damaged()),
    }
}

/// WebCrypto, which only a secure context has.
fn subtle() -> Result<SubtleCrypto, StoreError> {
    let crypto = property(&js_sys::global(), "crypto");
    let subtle = if crypto.is_object() { property(&crypto, "subtle") } else { JsValue::UNDEFINED };
    if !subtle.is_object() {
        return Err(StoreError::Unavailable(INSECURE_CONTEXT.into()));
    }
    Ok(crypto.unchecked_into::<Crypto>().subtle())
}

fn algorithm(iv: &JsValue) -> Result<Object, JsValue> {
    let algorithm = Object::new();
    set(&algorithm, "name", &JsValue::from_str("AES-GCM"))?;
    set(&algorithm, "iv", iv)?;
    Ok(algorithm)
}

async fn wrap_in_browser(record: &Object, key: &Key) -> Result<(), JsValue> {
    let subtle = subtle().map_err(|error| JsValue::from_str(&error.to_string()))?;
    let kind = Object::new();
    set(&kind, "name", &JsValue::from_str("AES-GCM"))?;
    set(&kind, "length", &JsValue::from_f64(256.0))?;
    let uses = Array::of2(&JsValue::from_str("encrypt"), &JsValue::from_str("decrypt"));
    let wrapper = JsFuture::from(subtle.generate_key_with_object(&kind, false, &uses)?).await?;
    let mut iv = [0; 12];
    seal::fill(&mut iv).map_err(|error| JsValue::from_str(&error.to_string()))?;
    let iv = Uint8Array::from(iv.as_slice());
    let encrypted = subtle.encrypt_with_object_and_u8_array(
        &algorithm(&iv)?,
        wrapper.unchecked_ref::<CryptoKey>(),
        key.as_slice(),
    )?;
    let wrapped = Uint8Array::new(&JsFuture::from(encrypted).await?);
    set(record, WRAPPER, &wrapper)?;
    set(record, IV, &iv)?;
    set(record, WRAPPED, &wrapped)
}

async fn unwrap_in_browser(record: &JsValue, wrapper: &CryptoKey) -> Result<Key, StoreError> {
    let subtle = subtle()?;
    let wrapped = wrapped(record)?;
    let decrypted = algorithm(&property(record, IV))
        .and_then(|algorithm| subtle.decrypt_with_object_and_u8_array(&algorithm, wrapper, &wrapped))
        .map_err(failed)?;
    let opened = Uint8Array::new(&JsFuture::from(decrypted).await.map_err(|_| damaged())?);
    let mut key = Key::default();
    if opened.length() as usize != key.len() {
        return Err(damaged());
    }
    opened.copy_to(key.as_mut_slice());
    opened.fill(0, 0, opened.length());
    Ok(key)
}

fn damaged() -> StoreError {
    StoreError::Corrupt("the database's key".into())
}

fn failed(thrown: JsValue) -> StoreError {
    StoreError::Failed(errors::describe(&thrown))
}
