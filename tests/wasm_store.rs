//! The IndexedDB store in a real browser: the store contract, sealing, faults, versions.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

#[path = "wasm_store/faults.rs"]
mod faults;
#[path = "wasm_store/figures.rs"]
mod figures;
#[path = "wasm_store/lifecycle.rs"]
mod lifecycle;
#[path = "wasm_store/raw.rs"]
mod raw;
#[path = "wasm_store/sealing.rs"]
mod sealing;
#[path = "wasm_store/versions.rs"]
mod versions;

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
