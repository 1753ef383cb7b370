//! The functions of `raw.js`, and stores to try them on.

use dovetail::idb::{IdbStore, delete_database};
use dovetail::store::Store;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/tests/wasm_store/raw.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = openRaw)]
    pub async fn open_raw(name: &str, version: u32) -> Result<JsValue, JsValue>;
}

/// An empty database of this name, opened without a key.
pub async fn fresh(name: &str) -> IdbStore {
    delete_database(name).await.unwrap();
    IdbStore::open(name, None).await.unwrap()
}

/// Closes a store and deletes its database.
pub async fn remove(name: &str, store: IdbStore) {
    store.close().await;
    delete_database(name).await.unwrap();
}
