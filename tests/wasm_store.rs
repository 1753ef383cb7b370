//! The IndexedDB store in a real browser: the store contract, sealing, faults, migration.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

#[path = "wasm_store/raw.rs"]
mod raw;

wasm_bindgen_test_configure!(run_in_browser);

macro_rules! in_browser {
    ($($case:ident),* $(,)?) => {
        $(
            #[wasm_bindgen_test]
            async fn $case() {
                let store = raw::fresh(stringify!($case)).await;
                dovetail::store::contract::$case(&store).await;
                raw::remove(stringify!($case), store).await;
            }
        )*
    };
}

dovetail::store_contract!(in_browser);
