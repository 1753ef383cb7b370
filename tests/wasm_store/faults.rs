//! Failing writes: whole or not at all, whatever the browser does.

use dovetail::idb::IdbStore;
use dovetail::store::{Changes, Store, StoreError};
use futures::FutureExt;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::raw::*;

fn unit(new: &[u8]) -> Changes {
    let mut unit = changes([put(b"a", new), put(b"b", new), put(b"c", new)]);
    unit.check(T, b"a".to_vec(), 0);
    unit
}

async fn prepared(name: &str) -> IdbStore {
    let store = fresh(name).await;
    assert_eq!(store.apply(unit(b"old")).await, Ok(()));
    store
}

async fn bodies(store: &IdbStore) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for key in [b"a", b"b", b"c"] {
        found.push(body(store, key).await.unwrap());
    }
    found
}

#[wasm_bindgen_test]
async fn a_full_disk_is_quota_and_writes_nothing() {
    let name = "quota";
    let store = prepared(name).await;
    for nth in 1..=3 {
        for thrown in [true, false] {
            if thrown {
                throw_on("put", nth, "QuotaExceededError");
            } else {
                fail_put(nth, "QuotaExceededError");
            }
            assert_eq!(store.apply(unit(b"new")).await, Err(StoreError::Quota));
            heal();
            assert_eq!(bodies(&store).await, [b"old"; 3]);
        }
    }
    assert_eq!(store.apply(unit(b"new")).await, Ok(()));
    remove(name, store).await;
}

/// BR-072: an abort after any write leaves nothing of the unit.
#[wasm_bindgen_test]
async fn an_abort_at_any_write_is_repeated_once_and_never_half_done() {
    let name = "aborted";
    let store = prepared(name).await;
    for nth in 1..=3 {
        abort_on_put(nth);
        assert_eq!(store.apply(unit(b"new")).await, Ok(()));
        heal();
        assert_eq!(bodies(&store).await, [b"new"; 3]);
        assert_eq!(store.apply(unit(b"old")).await, Ok(()));
    }
    abort_on_put(0);
    assert!(matches!(store.apply(unit(b"new")).await, Err(StoreError::Failed(_))));
    heal();
    assert_eq!(bodies(&store).await, [b"old"; 3]);
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn other_errors_are_told_by_name() {
    let name = "other_errors";
    let store = prepared(name).await;
    for error in ["DataError", "DataCloneError", "ReadOnlyError"] {
        throw_on("put", 2, error);
        match store.apply(unit(b"new")).await {
            Err(StoreError::Failed(text)) => assert!(text.starts_with(error), "{text}"),
            other => panic!("{error}: {other:?}"),
        }
        heal();
        assert_eq!(bodies(&store).await, [b"old"; 3]);
    }
    throw_on("transaction", 1, "NotFoundError");
    assert!(matches!(store.apply(unit(b"new")).await, Err(StoreError::Failed(_))));
    heal();
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn a_read_that_fails_is_repeated_over_a_new_connection() {
    let name = "failing_read";
    let store = prepared(name).await;
    throw_on("get", 1, "UnknownError");
    assert_eq!(body(&store, b"a").await.as_deref(), Some(b"old".as_slice()));
    heal();
    throw_on("get", 0, "UnknownError");
    assert!(matches!(row(&store, b"a").await, Err(StoreError::Failed(_))));
    heal();
    remove(name, store).await;
}

/// A unit whose future is dropped is rolled back, also when its checks were not compared yet.
#[wasm_bindgen_test]
async fn a_dropped_unit_is_whole_or_not_there() {
    let name = "dropped";
    let store = prepared(name).await;
    let mut pending = store.apply(unit(b"new"));
    assert_eq!((&mut pending).now_or_never(), None);
    drop(pending);
    assert_eq!(bodies(&store).await, [b"old"; 3]);

    let mut unchecked = store.apply(changes([put(b"a", b"x"), put(b"b", b"x"), put(b"c", b"x")]));
    assert_eq!((&mut unchecked).now_or_never(), None);
    drop(unchecked);
    let found = bodies(&store).await;
    assert!(found == [b"old"; 3] || found == [b"x"; 3], "{found:?}");

    let mut read = store.read(vec![dovetail::store::Read::prefix(T, b"")]);
    assert_eq!((&mut read).now_or_never(), None);
    drop(read);
    assert_eq!(count(&store).await, 3);
    remove(name, store).await;
}
