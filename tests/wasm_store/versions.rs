//! Databases of older and newer builds.

use dovetail::idb::{IdbStore, VERSION, delete_database};
use dovetail::store::{Index, Read, Store, StoreError, Table, Write};
use js_sys::Reflect;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::raw::*;

fn close(database: &JsValue) {
    let close = Reflect::get(database, &"close".into()).unwrap().unchecked_into::<js_sys::Function>();
    close.call0(database).unwrap();
}

fn expected_layout() -> String {
    let mut lines: Vec<String> = Table::ALL
        .iter()
        .map(|table| {
            let names: Vec<&str> = table.indexes().iter().map(|index| index.name()).collect();
            format!("{}:{}", table.name(), names.join(","))
        })
        .collect();
    lines.push("keys:".into());
    lines.sort();
    lines.join(" ")
}

#[wasm_bindgen_test]
async fn a_new_database_has_the_layout_of_this_build() {
    let name = "layout_new";
    let store = fresh(name).await;
    assert_eq!(layout(name).await.unwrap(), JsValue::from(expected_layout()));
    assert_eq!(version_of(name).await.unwrap(), JsValue::from(VERSION));
    remove(name, store).await;
}

/// Rows written by today's build are put into the layout of version 1 and found after the upgrade.
#[wasm_bindgen_test]
async fn a_database_of_version_1_is_migrated_with_its_rows() {
    let (name, source) = ("version_1", "version_1_source");
    let store = fresh(source).await;
    let message = Write::Put {
        table: Table::Messages,
        key: b"m".to_vec(),
        revision: 0,
        index: [b"a", b"b", b"c", b"d", b"e"].map(|value| Some(value.to_vec())).to_vec(),
        body: b"message".to_vec(),
        insert: true,
    };
    let mut unit = changes([put(b"group", b"body"), message]);
    unit.check(T, b"group".to_vec(), 0);
    store.apply(unit).await.unwrap();

    delete_database(name).await.unwrap();
    let old = open_version_1(name).await.unwrap();
    close(&old);
    copy_records(source, name).await.unwrap();
    assert_ne!(layout(name).await.unwrap(), JsValue::from(expected_layout()));
    remove(source, store).await;

    let store = IdbStore::open(name, None).await.unwrap();
    assert_eq!(version_of(name).await.unwrap(), JsValue::from(VERSION));
    assert_eq!(layout(name).await.unwrap(), JsValue::from(expected_layout()));
    assert_eq!(body(&store, b"group").await.as_deref(), Some(b"body".as_slice()));
    let range = |index| Read::Range {
        table: Table::Messages,
        index: Some(index),
        from: None,
        to: None,
        descending: false,
        limit: Some(9),
    };
    let reads = Table::Messages.indexes().iter().map(|index| range(*index)).collect();
    let answers = store.read(reads).await.unwrap();
    assert!(answers.iter().all(|rows| rows.len() == 1 && rows[0].body == b"message"));
    assert_eq!(store.read(vec![range(Index::Expiry)]).await.unwrap()[0].len(), 1);
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn two_tabs_may_migrate_at_once() {
    let name = "version_1_twice";
    delete_database(name).await.unwrap();
    close(&open_version_1(name).await.unwrap());
    let (one, two) = futures::join!(IdbStore::open(name, None), IdbStore::open(name, None));
    let (one, two) = (one.unwrap(), two.unwrap());
    apply(&one, [put(b"k", b"body")]).await;
    assert_eq!(body(&two, b"k").await.as_deref(), Some(b"body".as_slice()));
    two.close().await;
    remove(name, one).await;
}

#[wasm_bindgen_test]
async fn a_newer_database_is_named_and_left_alone() {
    let name = "newer";
    delete_database(name).await.unwrap();
    close(&open_raw(name, VERSION + 5).await.unwrap());
    assert_eq!(refused(name, None).await, StoreError::Newer { found: VERSION + 5, known: VERSION });
    assert_eq!(version_of(name).await.unwrap(), JsValue::from(VERSION + 5));
    assert_eq!(layout(name).await.unwrap(), JsValue::from_str(""));
    delete_database(name).await.unwrap();
}

#[wasm_bindgen_test]
async fn an_old_tab_lets_a_newer_build_in_and_says_why_it_stopped() {
    let name = "upgraded";
    let store = fresh(name).await;
    apply(&store, [put(b"k", b"body")]).await;
    let begun = now();
    let newer = open_raw(name, VERSION + 1).await.unwrap();
    assert!(now() - begun < 2_000.0);
    let expected = StoreError::Newer { found: VERSION + 1, known: VERSION };
    assert_eq!(row(&store, b"k").await, Err(expected.clone()));
    assert_eq!(store.apply(changes([put(b"k", b"late")])).await, Err(expected));
    close(&newer);
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn a_tab_that_does_not_let_go_blocks_for_two_seconds_only() {
    let name = "blocked";
    delete_database(name).await.unwrap();
    let hanging = open_version_1(name).await.unwrap();
    let begun = now();
    assert_eq!(refused(name, None).await, StoreError::Blocked);
    let waited = now() - begun;
    assert!((1_900.0..4_000.0).contains(&waited), "{waited}");
    // The request that was given up still migrates when its turn comes, and then lets go.
    close(&hanging);
    let store = IdbStore::open(name, None).await.unwrap();
    assert_eq!(layout(name).await.unwrap(), JsValue::from(expected_layout()));
    apply(&store, [put(b"k", b"body")]).await;
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn deleting_is_blocked_no_longer_than_that_either() {
    let name = "delete_blocked";
    delete_database(name).await.unwrap();
    let hanging = open_version_1(name).await.unwrap();
    assert_eq!(delete_database(name).await, Err(StoreError::Blocked));
    close(&hanging);
    delete_database(name).await.unwrap();
    assert_eq!(exists(name).await.unwrap(), JsValue::FALSE);
}
