//! The IndexedDB store in a dedicated worker, where there is no `window`.
#![cfg(target_arch = "wasm32")]

use dovetail::idb::{IdbStore, delete_database};
use dovetail::store::contract;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
async fn a_worker_keeps_rows_with_and_without_a_key() {
    for key in [None, Some([5; 32])] {
        let name = "worker";
        delete_database(name).await.unwrap();
        contract::strict_units_are_written_too(&IdbStore::open(name, key).await.unwrap()).await;
        delete_database(name).await.unwrap();
        contract::descending_is_the_reverse(&IdbStore::open(name, key).await.unwrap()).await;
        delete_database(name).await.unwrap();
    }
}
