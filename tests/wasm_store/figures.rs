//! What calls cost: how many transactions, with what durability, and how long they take.

use dovetail::idb::IdbStore;
use dovetail::store::{Changes, Index, Read, Store, Table, Write};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

use crate::raw::*;

fn page(limit: u32) -> Read {
    Read::Range {
        table: Table::Messages,
        index: Some(Index::ThreadSort),
        from: Some(b"t".to_vec()),
        to: Some(b"u".to_vec()),
        descending: true,
        limit: Some(limit),
    }
}

#[wasm_bindgen_test]
async fn a_call_is_one_transaction_with_the_durability_asked_for() {
    let name = "one_transaction";
    let store = fresh(name).await;
    let seen = watch_transactions();
    let seen = || seen.call0(&JsValue::NULL).unwrap().as_string().unwrap();
    let mut unit = changes([put(b"a", b"1"), put_in(Table::Mls, b"a", b"1")]);
    unit.check(Table::Threads, b"t".to_vec(), 0);
    store.apply(unit.clone()).await.unwrap();
    assert_eq!(seen(), "readwrite relaxed");
    unit.strict();
    store.apply(unit).await.unwrap();
    assert_eq!(seen(), "readwrite strict");
    let reads = vec![page(50), Read::Key(T, b"a".to_vec()), Read::prefix(Table::Mls, b""), page(50)];
    store.read(reads).await.unwrap();
    assert_eq!(seen(), "readonly");
    store.apply(Changes::default()).await.unwrap();
    store.read(Vec::new()).await.unwrap();
    assert_eq!(seen(), "");
    remove(name, store).await;
}

async fn mean(rounds: u32, mut work: impl AsyncFnMut(u32)) -> f64 {
    let begun = now();
    for round in 0..rounds {
        work(round).await;
    }
    (now() - begun) / f64::from(rounds)
}

async fn apply_time(store: &IdbStore, strict: bool, checked: bool) -> f64 {
    mean(100, async |round| {
        let writes: Vec<Write> = (0..5u32)
            .map(|number| put(&[round.to_be_bytes(), number.to_be_bytes()].concat(), &[9; 1000]))
            .collect();
        let mut unit = changes(writes);
        if strict {
            unit.strict();
        }
        if checked {
            unit.check(Table::Threads, b"absent".to_vec(), 0);
        }
        store.apply(unit).await.unwrap();
    })
    .await
}

/// Not a test of speed: prints figures for whoever reads the log.
#[wasm_bindgen_test]
async fn prints_how_long_calls_take() {
    let name = "figures";
    let store = fresh(name).await;
    for (label, strict, checked) in
        [("relaxed", false, false), ("relaxed, checked", false, true), ("strict", true, false)]
    {
        console_log!("apply of 5 puts of 1 kB, {label}: {:.2} ms", apply_time(&store, strict, checked).await);
    }
    let messages: Vec<Write> = (0..10_000u32)
        .map(|number| {
            let sort = [b"t".as_slice(), &number.to_be_bytes()].concat();
            let index = vec![Some(sort.clone()), None, Some(sort), None];
            let (key, body) = (number.to_be_bytes().to_vec(), vec![9; 300]);
            Write::Put { table: Table::Messages, key, revision: 0, index, body, insert: true }
        })
        .collect();
    let begun = now();
    apply(&store, messages).await;
    console_log!("apply of 10,000 messages: {:.0} ms", now() - begun);
    let newest = mean(50, async |_| {
        assert_eq!(store.read(vec![page(50)]).await.unwrap()[0].len(), 50);
    });
    console_log!("newest 50 of 10,000 messages: {:.2} ms", newest.await);
    let keys = mean(50, async |round| {
        let key = |number: u32| Read::Key(Table::Messages, (round * 100 + number).to_be_bytes().to_vec());
        assert!(store.read((0..50).map(key).collect()).await.unwrap().iter().all(|row| row.len() == 1));
    });
    console_log!("50 rows by key: {:.2} ms", keys.await);
    remove(name, store).await;
}
