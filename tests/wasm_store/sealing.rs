//! What lies on disk, and what opens again.

use dovetail::store::{INSECURE_CONTEXT, Read, Store, StoreError, Table, Write};
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::raw::*;

const KEY: Option<[u8; 32]> = Some([7; 32]);

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[wasm_bindgen_test]
async fn no_body_can_be_read_at_rest() {
    for (name, key) in [("at_rest_browser", None), ("at_rest_given", KEY)] {
        let store = fresh_with(name, key).await;
        let secret = b"the quick brown fox at midnight";
        let large = secret.repeat(40_000);
        apply(&store, [put(b"readable key", secret), put_in(Table::Mls, b"page", &large)]).await;
        let bytes = Uint8Array::new(&all_bytes(name).await.unwrap()).to_vec();
        assert!(bytes.len() > large.len());
        assert!(contains(&bytes, b"readable key"));
        assert!(!contains(&bytes, &secret[..8]) && !contains(&bytes, &secret[20..28]));
        assert!(!contains(&bytes, &[7; 32]), "the key that was passed");
        remove(name, store).await;
    }
}

#[wasm_bindgen_test]
async fn equal_rows_look_different_at_rest() {
    let name = "equal_rows";
    let store = fresh(name).await;
    apply(&store, [put(b"a", b"same body"), put(b"b", b"same body")]).await;
    let sealed = async |key| Uint8Array::new(&read_raw(name, T.name(), &js_key(key)).await.unwrap()).to_vec();
    let (a, b) = (sealed(b"a").await, sealed(b"b").await);
    assert_eq!(a.len(), 24 + 9 + 16);
    assert_ne!(a[24..33], b[24..33]);
    apply(&store, [put(b"a", b"same body")]).await;
    assert_ne!(sealed(b"a").await, a);
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn the_kept_key_cannot_be_taken_out() {
    let name = "kept_key";
    let store = fresh(name).await;
    let record = read_raw(name, "keys", &JsValue::from_str("data")).await.unwrap();
    let wrapper = Reflect::get(&record, &"wrapper".into()).unwrap();
    assert_eq!(Reflect::get(&wrapper, &"extractable".into()), Ok(JsValue::FALSE));
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn a_database_opens_only_with_the_key_it_was_made_with() {
    for (name, made, wrong) in
        [("other_key", KEY, Some([8; 32])), ("no_key", KEY, None), ("key_too_many", None, KEY)]
    {
        let store = fresh_with(name, made).await;
        apply(&store, [put(b"k", b"body")]).await;
        store.close().await;
        assert_eq!(refused(name, wrong).await, StoreError::WrongKey);
        let again = dovetail::idb::IdbStore::open(name, made).await.unwrap();
        assert_eq!(body(&again, b"k").await.as_deref(), Some(b"body".as_slice()));
        remove(name, again).await;
    }
}

fn place(table: Table, key: &[u8]) -> Array {
    Array::of2(&table.name().into(), &js_key(key))
}

#[wasm_bindgen_test]
async fn rows_that_were_swapped_do_not_open() {
    let name = "swapped";
    let store = fresh(name).await;
    apply(&store, [put(b"a", b"1"), put(b"b", b"2"), put_in(Table::Threads, b"a", b"3")]).await;
    for (other_table, other_key) in [(T, b"b"), (Table::Threads, b"a")] {
        let (one, other) = (place(T, b"a"), place(other_table, other_key));
        swap_raw(name, &one, &other).await.unwrap();
        assert!(matches!(row(&store, b"a").await, Err(StoreError::Corrupt(_))));
        swap_raw(name, &one, &other).await.unwrap();
        assert_eq!(body(&store, b"a").await.as_deref(), Some(b"1".as_slice()));
    }
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn a_row_with_another_revision_does_not_open() {
    let name = "revised";
    let store = fresh(name).await;
    let mut unit = changes([put(b"a", b"1")]);
    if let dovetail::store::Write::Put { revision, .. } = &mut unit.writes[0] {
        *revision = 5;
    }
    store.apply(unit).await.unwrap();
    let value: Object = read_raw(name, T.name(), &js_key(b"a")).await.unwrap().unchecked_into();
    assert_eq!(Reflect::get(&value, &"r".into()).unwrap(), JsValue::from_f64(5.0));
    Reflect::set(&value, &"r".into(), &JsValue::from_f64(4.0)).unwrap();
    write_raw(name, T.name(), &js_key(b"a"), &value).await.unwrap();
    assert!(matches!(row(&store, b"a").await, Err(StoreError::Corrupt(_))));
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn damaged_and_foreign_records_do_not_open() {
    let name = "damaged";
    let store = fresh(name).await;
    apply(&store, [put(b"a", b"body")]).await;
    let sealed = Uint8Array::new(&read_raw(name, T.name(), &js_key(b"a")).await.unwrap()).to_vec();
    let mut damaged: Vec<JsValue> = (0..sealed.len())
        .map(|at| {
            let mut bytes = sealed.clone();
            bytes[at] ^= 1;
            js_key(&bytes)
        })
        .collect();
    damaged.extend((0..sealed.len()).map(|length| js_key(&sealed[..length])));
    damaged.extend([JsValue::from_str("text"), JsValue::NULL, Object::new().into(), 5.into()]);
    for value in damaged {
        write_raw(name, T.name(), &js_key(b"a"), &value).await.unwrap();
        assert!(matches!(row(&store, b"a").await, Err(StoreError::Corrupt(_))), "{value:?}");
    }
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn a_damaged_key_record_is_corrupt() {
    let name = "damaged_key";
    let store = fresh(name).await;
    store.close().await;
    let record: Object = read_raw(name, "keys", &"data".into()).await.unwrap().unchecked_into();
    for wrapped in [js_key(&[1; 48]), js_key(&[]), JsValue::UNDEFINED] {
        Reflect::set(&record, &"wrapped".into(), &wrapped).unwrap();
        write_raw(name, "keys", &"data".into(), &record).await.unwrap();
        assert!(matches!(refused(name, None).await, StoreError::Corrupt(_)));
    }
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn without_a_secure_context_a_key_is_needed_and_enough() {
    let name = "insecure";
    dovetail::idb::delete_database(name).await.unwrap();
    hide_web_crypto();
    assert_eq!(refused(name, None).await, StoreError::Unavailable(INSECURE_CONTEXT.into()));
    assert_eq!(exists(name).await.unwrap(), JsValue::FALSE);
    let store = dovetail::idb::IdbStore::open(name, KEY).await.unwrap();
    apply(&store, [put(b"k", b"body")]).await;
    assert_eq!(body(&store, b"k").await.as_deref(), Some(b"body".as_slice()));
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn a_browser_that_cannot_keep_a_key_asks_for_one() {
    let name = "uncloneable";
    dovetail::idb::delete_database(name).await.unwrap();
    throw_on("add", 1, "DataCloneError");
    let error = refused(name, None).await;
    heal();
    assert!(matches!(&error, StoreError::Unavailable(why) if why.contains("dbEncryptionKey")), "{error}");
    let store = dovetail::idb::IdbStore::open(name, KEY).await.unwrap();
    remove(name, store).await;
}

/// Stores a row, reads it, and expects it kept open.
async fn kept(store: &dovetail::idb::IdbStore, key: &[u8], text: &[u8]) {
    apply(store, [put_in(Table::Messages, key, text)]).await;
    let read = || vec![Read::Key(Table::Messages, key.to_vec())];
    for _ in 0..2 {
        assert_eq!(store.read(read()).await.unwrap()[0][0].body, text);
    }
    assert!(store.keeps(text));
}

#[wasm_bindgen_test]
async fn what_is_deleted_or_written_over_is_not_kept_open() {
    let name = "kept_open";
    let store = fresh(name).await;
    let (words, other) = (b"said in confidence".as_slice(), b"said to all".as_slice());
    let key = || b"m2".to_vec();
    let table = Table::Messages;
    kept(&store, b"m1", other).await;
    for gone in [
        Write::Delete { table, key: key() },
        put_in(table, &key(), b"taken back"),
        Write::DeleteRange { table, from: key(), to: b"m3".to_vec() },
    ] {
        kept(&store, &key(), words).await;
        // The same key of another table is another row.
        apply(&store, [Write::Delete { table: Table::Threads, key: key() }]).await;
        assert!(store.keeps(words));
        apply(&store, [gone]).await;
        assert!(!store.keeps(words));
        assert!(store.keeps(other), "nothing else is let go of");
    }
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn what_is_kept_open_is_never_told_of_a_row_that_changed() {
    let name = "kept_fresh";
    let (store, tab) = (fresh(name).await, dovetail::idb::IdbStore::open(name, None).await.unwrap());
    let read = || vec![Read::Key(Table::Messages, b"m".to_vec())];
    for text in [b"one".as_slice(), b"two", b"three"] {
        apply(&tab, [put_in(Table::Messages, b"m", text)]).await;
        for one in [&store, &tab, &store] {
            assert_eq!(one.read(read()).await.unwrap()[0][0].body, text);
        }
    }
    apply(&tab, [Write::Delete { table: Table::Messages, key: b"m".to_vec() }]).await;
    assert!(store.read(read()).await.unwrap()[0].is_empty());
    tab.close().await;
    remove(name, store).await;
}

#[wasm_bindgen_test]
async fn trying_what_the_browser_does_leaves_the_keys_as_they_are() {
    let name = "probed";
    let store = fresh(name).await;
    apply(&store, [put(b"k", b"body")]).await;
    let once = store.aborts().await.unwrap();
    let key = |of: &str| JsValue::from_str(of);
    for _ in 0..3 {
        assert_eq!(store.aborts().await, Ok(once), "each try tells the same");
    }
    let stored = async |of| read_raw(name, "keys", &key(of)).await.unwrap();
    assert!(stored("data").await.is_object() && stored("probe").await.is_undefined());
    // It does not need the data key to be there, and puts nothing in its place.
    let record = stored("data").await;
    delete_raw(name, "keys", &key("data")).await.unwrap();
    assert_eq!(store.aborts().await, Ok(once));
    assert!(stored("data").await.is_undefined() && stored("probe").await.is_undefined());
    write_raw(name, "keys", &key("data"), &record).await.unwrap();
    assert_eq!(body(&store, b"k").await.as_deref(), Some(b"body".as_slice()));
    remove(name, store).await;
}
