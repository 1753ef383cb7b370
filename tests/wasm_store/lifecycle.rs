//! Opening, closing, losing and deleting.

use dovetail::idb::{IdbStore, delete_database};
use dovetail::store::{Read, Store, StoreError, contract};
use futures::FutureExt;
use futures::future::join_all;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::raw::*;

#[wasm_bindgen_test]
async fn two_that_make_a_database_at_once_agree_on_its_key() {
    for key in [None, Some([3; 32])] {
        let name = "made_twice";
        delete_database(name).await.unwrap();
        let opened = join_all((0..4).map(|_| IdbStore::open(name, key))).await;
        let stores: Vec<IdbStore> = opened.into_iter().map(Result::unwrap).collect();
        for (number, store) in stores.iter().enumerate() {
            apply(store, [put(&[number as u8], b"body")]).await;
        }
        for store in &stores {
            assert_eq!(store.read(vec![Read::prefix(T, b"")]).await.unwrap()[0].len(), 4);
        }
        drop(stores);
        delete_database(name).await.unwrap();
    }
}

#[wasm_bindgen_test]
async fn rows_are_there_after_closing_and_opening_again() {
    let name = "reopened";
    for key in [None, Some([3; 32])] {
        let store = fresh_with(name, key).await;
        apply(&store, [put(b"k", b"body")]).await;
        store.close().await;
        let again = IdbStore::open(name, key).await.unwrap();
        assert_eq!(body(&again, b"k").await.as_deref(), Some(b"body".as_slice()));
        assert_eq!(row(&store, b"k").await, Err(StoreError::Closed));
        remove(name, again).await;
    }
}

#[wasm_bindgen_test]
async fn reads_given_to_opening_are_answered_with_it() {
    let name = "opened_reading";
    for key in [None, Some([3; 32])] {
        let reads =
            || vec![Read::Key(T, b"k".to_vec()), Read::Key(T, b"absent".to_vec()), Read::prefix(T, b"")];
        delete_database(name).await.unwrap();
        let (store, nothing) = IdbStore::open_reading(name, key, &reads()).await.unwrap();
        assert_eq!(nothing, vec![vec![]; 3]);
        apply(&store, [put(b"k", b"body"), put(b"l", b"more")]).await;
        let (again, answers) = IdbStore::open_reading(name, key, &reads()).await.unwrap();
        assert_eq!(answers, store.read(reads()).await.unwrap());
        assert_eq!(answers.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 2]);
        again.close().await;
        remove(name, store).await;
    }
}

#[wasm_bindgen_test]
async fn a_unit_under_way_is_finished_by_closing() {
    let name = "closing";
    let store = fresh(name).await;
    let written = store.apply(changes([put(b"k", b"body")])).shared();
    assert_eq!(written.clone().now_or_never(), None);
    store.close().await;
    assert_eq!(written.await, Ok(()));
    let again = IdbStore::open(name, None).await.unwrap();
    assert_eq!(count(&again).await, 1);
    remove(name, again).await;
}

#[wasm_bindgen_test]
async fn a_database_can_be_deleted_right_after_closing_or_dropping() {
    let name = "deleted_at_once";
    for closed in [true, false] {
        let store = fresh(name).await;
        apply(&store, [put(b"k", b"body")]).await;
        let begun = now();
        if closed {
            store.close().await;
        } else {
            drop(store);
        }
        delete_database(name).await.unwrap();
        assert!(now() - begun < 2_000.0);
        let store = IdbStore::open(name, None).await.unwrap();
        assert_eq!(count(&store).await, 0);
        remove(name, store).await;
    }
}

#[wasm_bindgen_test]
async fn a_database_deleted_by_another_tab_closes_the_store() {
    let name = "deleted_elsewhere";
    let store = fresh(name).await;
    apply(&store, [put(b"k", b"body")]).await;
    delete_database(name).await.unwrap();
    assert_eq!(row(&store, b"k").await, Err(StoreError::Closed));
    assert_eq!(store.apply(changes([put(b"k", b"late")])).await, Err(StoreError::Closed));
    assert_eq!(exists(name).await.unwrap(), JsValue::FALSE);
}

#[wasm_bindgen_test]
async fn a_connection_the_browser_closed_is_opened_again() {
    let name = "browser_closed";
    let store = fresh(name).await;
    apply(&store, [put(b"k", b"body")]).await;
    let connections = watch_connections();
    assert_eq!(count(&store).await, 1);
    close_event(&connections.get(0));
    let (counted, other) = futures::join!(count(&store), row(&store, b"k"));
    assert_eq!((counted, other.unwrap().unwrap().body), (1, b"body".to_vec()));
    assert_eq!(connections.length(), 2, "one new connection for both calls");
    remove(name, store).await;
}

/// BR-058: a closed connection in the middle of a burst loses nothing and doubles nothing.
#[wasm_bindgen_test]
async fn a_burst_survives_a_connection_that_is_closed_within() {
    let name = "burst";
    let store = fresh(name).await;
    close_on_transaction(40);
    let units = (0..100u8).map(|number| {
        let mut write = put(&[number], b"body");
        if let dovetail::store::Write::Put { insert, .. } = &mut write {
            *insert = true;
        }
        store.apply(changes([write]))
    });
    let results = join_all(units).await;
    assert_eq!(results, vec![Ok(()); 100]);
    assert_eq!(count(&store).await, 100);
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn a_connection_that_is_refused_twice_is_closed() {
    let name = "refused_twice";
    let store = fresh(name).await;
    apply(&store, [put(b"k", b"old")]).await;
    throw_on("transaction", 0, "InvalidStateError");
    assert_eq!(store.apply(changes([put(b"k", b"new")])).await, Err(StoreError::Closed));
    heal();
    assert_eq!(body(&store, b"k").await.as_deref(), Some(b"old".as_slice()));
    remove(name, store).await;
}

/// BR-062: storage that was cleared is not silently made anew.
#[wasm_bindgen_test]
async fn a_lost_database_that_is_gone_or_another_one_is_not_used() {
    let name = "gone";
    for another in [false, true] {
        let store = fresh(name).await;
        let connections = watch_connections();
        apply(&store, [put(b"k", b"body")]).await;
        let connection = connections.get(0);
        heal();
        close_event(&connection);
        delete_database(name).await.unwrap();
        if another {
            drop(IdbStore::open(name, None).await.unwrap());
        }
        assert_eq!(row(&store, b"k").await, Err(StoreError::Closed));
        assert_eq!(store.apply(changes([put(b"k", b"new")])).await, Err(StoreError::Closed));
        assert_eq!(exists(name).await.unwrap(), JsValue::from(another));
        delete_database(name).await.unwrap();
    }
}

/// The second way of reading a range from its end.
#[wasm_bindgen_test]
async fn a_browser_without_get_all_records_reads_the_same() {
    let name = "without_records";
    macro_rules! cases {
        ($($case:ident),*) => {
            $(
                let store = fresh(name).await;
                hide_get_all_records();
                contract::$case(&store).await;
                remove(name, store).await;
            )*
        };
    }
    cases!(
        a_limit_cuts_at_the_right_end,
        an_empty_or_inverted_range_has_no_rows,
        answers_come_in_the_order_of_the_reads,
        descending_is_the_reverse,
        equal_index_values_sort_by_key_both_ways,
        every_index_has_the_rows_with_a_value
    );
}

#[wasm_bindgen_test]
async fn a_page_without_indexed_db_is_told_so() {
    heal();
    let unavailable = async |what: &str| {
        for error in [refused("unavailable", None).await, delete_database("unavailable").await.unwrap_err()] {
            assert!(matches!(error, StoreError::Unavailable(_)), "{what}: {error:?}");
        }
        heal();
    };
    hide_indexed_db();
    unavailable("missing").await;
    forbid_indexed_db();
    unavailable("forbidden").await;
    for error in ["InvalidStateError", "SecurityError"] {
        fail_opening(error);
        assert!(matches!(refused("unavailable", None).await, StoreError::Unavailable(_)), "{error}");
        heal();
    }
    fail_opening("UnknownError");
    assert!(matches!(refused("unavailable", None).await, StoreError::Failed(_)));
    heal();
}
