//! The functions of `raw.js`, and what the tests share.

use dovetail::idb::{IdbStore, delete_database};
use dovetail::store::{Changes, Read, Record, Store, StoreError, Table, Write};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/tests/wasm_store/raw.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = openRaw)]
    pub async fn open_raw(name: &str, version: u32) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = openVersion1)]
    pub async fn open_version_1(name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = readRaw)]
    pub async fn read_raw(name: &str, table: &str, key: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = writeRaw)]
    pub async fn write_raw(
        name: &str,
        table: &str,
        key: &JsValue,
        value: &JsValue,
    ) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = deleteRaw)]
    pub async fn delete_raw(name: &str, table: &str, key: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = swapRaw)]
    pub async fn swap_raw(name: &str, one: &Array, other: &Array) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = copyRecords)]
    pub async fn copy_records(from: &str, to: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = allBytes)]
    pub async fn all_bytes(name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    pub async fn layout(name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = versionOf)]
    pub async fn version_of(name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch)]
    pub async fn exists(name: &str) -> Result<JsValue, JsValue>;

    pub fn heal();
    #[wasm_bindgen(js_name = throwOn)]
    pub fn throw_on(method: &str, nth: u32, error: &str);
    #[wasm_bindgen(js_name = failPut)]
    pub fn fail_put(nth: u32, error: &str);
    #[wasm_bindgen(js_name = abortOnPut)]
    pub fn abort_on_put(nth: u32);
    #[wasm_bindgen(js_name = closeOnTransaction)]
    pub fn close_on_transaction(nth: u32);
    #[wasm_bindgen(js_name = closeEvent)]
    pub fn close_event(database: &JsValue);
    #[wasm_bindgen(js_name = watchConnections)]
    pub fn watch_connections() -> Array;
    #[wasm_bindgen(js_name = failOpening)]
    pub fn fail_opening(error: &str);
    #[wasm_bindgen(js_name = hideIndexedDb)]
    pub fn hide_indexed_db();
    #[wasm_bindgen(js_name = forbidIndexedDb)]
    pub fn forbid_indexed_db();
    #[wasm_bindgen(js_name = hideWebCrypto)]
    pub fn hide_web_crypto();
    #[wasm_bindgen(js_name = hideGetAllRecords)]
    pub fn hide_get_all_records();
    #[wasm_bindgen(js_name = watchTransactions)]
    pub fn watch_transactions() -> js_sys::Function;
    pub fn now() -> f64;
}

pub const T: Table = Table::Groups;

/// An empty database of this name, opened without a key.
pub async fn fresh(name: &str) -> IdbStore {
    fresh_with(name, None).await
}

/// An empty database of this name, opened with `key`.
pub async fn fresh_with(name: &str, key: Option<[u8; 32]>) -> IdbStore {
    heal();
    delete_database(name).await.unwrap();
    IdbStore::open(name, key).await.unwrap()
}

/// The error of opening a database.
pub async fn refused(name: &str, key: Option<[u8; 32]>) -> StoreError {
    match IdbStore::open(name, key).await {
        Ok(_) => panic!("{name} was opened"),
        Err(error) => error,
    }
}

/// Closes a store and deletes its database.
pub async fn remove(name: &str, store: IdbStore) {
    heal();
    store.close().await;
    delete_database(name).await.unwrap();
}

pub fn put_in(table: Table, key: &[u8], body: &[u8]) -> Write {
    let index = vec![None; table.indexes().len()];
    Write::Put { table, key: key.to_vec(), revision: 0, index, body: body.to_vec(), insert: false }
}

pub fn put(key: &[u8], body: &[u8]) -> Write {
    put_in(T, key, body)
}

pub fn changes(writes: impl Into<Vec<Write>>) -> Changes {
    Changes { writes: writes.into(), ..Changes::default() }
}

pub async fn apply(store: &IdbStore, writes: impl Into<Vec<Write>>) {
    assert_eq!(store.apply(changes(writes)).await, Ok(()));
}

pub async fn row(store: &IdbStore, key: &[u8]) -> Result<Option<Record>, StoreError> {
    let mut answers = store.read(vec![Read::Key(T, key.to_vec())]).await?;
    Ok(answers.remove(0).pop())
}

pub async fn body(store: &IdbStore, key: &[u8]) -> Option<Vec<u8>> {
    row(store, key).await.unwrap().map(|record| record.body)
}

pub async fn count(store: &IdbStore) -> u64 {
    let read = Read::Count { table: T, index: None, from: None, to: None };
    let answer = store.read(vec![read]).await.unwrap();
    u64::from_be_bytes(answer[0][0].body.as_slice().try_into().unwrap())
}

pub fn js_key(key: &[u8]) -> JsValue {
    Uint8Array::from(key).into()
}
