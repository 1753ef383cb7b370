//! Cases about writing: whole or not at all, revisions, deletes, durability, closing.

use super::*;
use crate::store::Durability;

const T: Table = Table::Groups;

/// Key, revision and body come back as they were written.
pub async fn what_is_put_is_read_back(store: &dyn Store) {
    let bytes: Vec<u8> = (0..=255).collect();
    apply(store, [put(T, &bytes, &bytes), at_revision(T, b"k", 7)]).await;
    assert_eq!(
        all(store, T).await,
        [
            Record { key: bytes.clone(), revision: 0, body: bytes },
            Record { key: b"k".to_vec(), revision: 7, body: b"body".to_vec() },
        ]
    );
}

/// A row written again has its new body and revision, and is found by its new values only.
pub async fn a_put_replaces_the_row_and_its_index_values(store: &dyn Store) {
    apply(store, [indexed(b"k", [Some(b"old"), Some(b"x"), None, None, None])]).await;
    apply(store, [indexed(b"k", [Some(b"new"), None, Some(b"y"), None, None])]).await;
    let by = |index, from, to| range(Table::Messages, Some(index), Some(from), Some(to));
    assert_eq!(keys(store, by(Index::ThreadSort, b"old", b"old\0")).await, [b""; 0]);
    assert_eq!(keys(store, by(Index::ThreadSort, b"new", b"new\0")).await, [b"k"]);
    assert_eq!(keys(store, by(Index::ThreadDelivery, b"", b"z")).await, [b""; 0]);
    assert_eq!(keys(store, by(Index::GroupSort, b"y", b"z")).await, [b"k"]);
    assert_eq!(all(store, Table::Messages).await.len(), 1);
}

/// A later write of one unit wins over an earlier one.
pub async fn writes_happen_in_order(store: &dyn Store) {
    let range = Write::DeleteRange { table: T, from: b"b".to_vec(), to: b"z".to_vec() };
    let unit = [
        put(T, b"a", b"1"),
        put(T, b"a", b"2"),
        put(T, b"b", b"gone"),
        put(T, b"c", b"gone"),
        delete(T, b"c"),
        range,
        put(T, b"d", b"kept"),
    ];
    apply(store, unit).await;
    let bodies: Vec<Vec<u8>> = all(store, T).await.into_iter().map(|record| record.body).collect();
    assert_eq!(bodies, [b"2".to_vec(), b"kept".to_vec()]);
}

async fn prepare(store: &dyn Store) -> Vec<Vec<Record>> {
    let mut writes = vec![at_revision(T, b"checked", 3), put(T, b"taken", b"old"), put(T, b"other", b"old")];
    writes.push(indexed(b"m", [Some(b"v"); 5]));
    apply(store, writes).await;
    everything(store).await
}

async fn everything(store: &dyn Store) -> Vec<Vec<Record>> {
    let mut reads: Vec<Read> = Table::ALL.iter().map(|table| range(*table, None, None, None)).collect();
    reads.extend(Table::Messages.indexes().iter().map(|at| range(Table::Messages, Some(*at), None, None)));
    store.read(reads).await.expect("the read works")
}

/// Writes of every kind around the row that makes the unit fail.
fn around(failing: Option<Write>) -> Vec<Write> {
    let mut writes = vec![
        put(T, b"new", b"new"),
        put(T, b"other", b"new"),
        put(Table::Mls, b"new", b"new"),
        indexed(b"m", [Some(b"w"); 5]),
        indexed(b"m2", [Some(b"w"); 5]),
    ];
    writes.extend(failing);
    writes.extend([
        delete(Table::Messages, b"m"),
        Write::DeleteRange { table: T, from: b"".to_vec(), to: b"z".to_vec() },
        put(Table::Consent, b"new", b"new"),
    ]);
    writes
}

/// An insert on a taken key gives `Exists`, and nothing of the unit is written.
pub async fn a_taken_key_fails_the_whole_unit(store: &dyn Store) {
    let before = prepare(store).await;
    for durability in [Durability::Relaxed, Durability::Strict] {
        let unit =
            Changes { durability, checks: Vec::new(), writes: around(Some(insert(T, b"taken", b"new"))) };
        assert_eq!(store.apply(unit).await, Err(StoreError::Exists));
        assert_eq!(everything(store).await, before);
    }
    let twice = changes([insert(T, b"free", b"1"), insert(T, b"free", b"2")]);
    assert_eq!(store.apply(twice).await, Err(StoreError::Exists));
    assert_eq!(everything(store).await, before);
    apply(store, [insert(T, b"free", b"1")]).await;
}

/// A key the unit itself deletes first is free.
pub async fn a_key_freed_in_the_unit_can_be_inserted(store: &dyn Store) {
    prepare(store).await;
    apply(store, [delete(T, b"taken"), insert(T, b"taken", b"new")]).await;
    let row = records(store, Read::Key(T, b"taken".to_vec())).await;
    assert_eq!(row[0].body, b"new");
}

/// A revision that is not the expected one gives `Stale`, and nothing of the unit is written.
pub async fn a_stale_revision_fails_the_whole_unit(store: &dyn Store) {
    let before = prepare(store).await;
    let wrong = [(b"checked".as_slice(), 2), (b"checked", 4), (b"checked", 0), (b"absent", 1)];
    for (key, revision) in wrong {
        let mut unit = changes(around(None));
        unit.check(T, b"checked".to_vec(), 3);
        unit.check(T, key.to_vec(), revision);
        unit.check(Table::Threads, b"absent".to_vec(), 0);
        assert_eq!(store.apply(unit).await, Err(StoreError::Stale));
        assert_eq!(everything(store).await, before);
    }
    let mut unit = changes(around(None));
    unit.check(T, b"checked".to_vec(), 3);
    unit.check(Table::Threads, b"absent".to_vec(), 0);
    assert_eq!(store.apply(unit).await, Ok(()));
    assert_ne!(everything(store).await, before);
}

/// Where both would fail, `Stale` is told: a repeated step does not insert again.
pub async fn a_stale_revision_is_told_before_a_taken_key(store: &dyn Store) {
    let before = prepare(store).await;
    let mut unit = changes([insert(T, b"taken", b"new")]);
    unit.check(T, b"checked".to_vec(), 9);
    assert_eq!(store.apply(unit).await, Err(StoreError::Stale));
    assert_eq!(everything(store).await, before);
}

/// Revision 0 is expected of a row that is absent, or was only put without revisions.
pub async fn revision_zero_stands_for_no_row(store: &dyn Store) {
    let write = |revision| {
        let mut unit = changes([at_revision(T, b"k", revision + 1)]);
        unit.check(T, b"k".to_vec(), revision);
        unit
    };
    assert_eq!(store.apply(write(0)).await, Ok(()));
    assert_eq!(store.apply(write(0)).await, Err(StoreError::Stale));
    assert_eq!(store.apply(write(1)).await, Ok(()));
    assert_eq!(records(store, Read::Key(T, b"k".to_vec())).await[0].revision, 2);
    apply(store, [delete(T, b"k")]).await;
    assert_eq!(store.apply(write(2)).await, Err(StoreError::Stale));
    assert_eq!(store.apply(write(0)).await, Ok(()));
    apply(store, [put(T, b"k", b"without")]).await;
    assert_eq!(store.apply(write(0)).await, Ok(()));
}

/// Of two units that read the same revision, exactly one is written.
pub async fn of_two_writers_on_one_revision_one_wins(store: &dyn Store) {
    for revision in 0..10 {
        let unit = |key: &[u8]| {
            let mut unit = changes([at_revision(T, b"k", revision + 1), put(Table::Mls, key, b"")]);
            unit.check(T, b"k".to_vec(), revision);
            unit
        };
        let (first, second) = futures::join!(store.apply(unit(b"1")), store.apply(unit(b"2")));
        let mut results = [first, second];
        results.sort_by_key(Result::is_err);
        assert_eq!(results, [Ok(()), Err(StoreError::Stale)]);
        assert_eq!(all(store, Table::Mls).await.len(), 1);
        apply(store, [delete(Table::Mls, b"1"), delete(Table::Mls, b"2")]).await;
    }
}

/// A unit without writes still compares its checks.
pub async fn checks_alone_are_compared(store: &dyn Store) {
    prepare(store).await;
    let unit = |revision| {
        let mut unit = Changes::default();
        unit.check(T, b"checked".to_vec(), revision);
        unit
    };
    assert_eq!(store.apply(unit(3)).await, Ok(()));
    assert_eq!(store.apply(unit(4)).await, Err(StoreError::Stale));
}

/// A deleted row is gone from its table and its indexes; an absent one is deleted without error.
pub async fn a_delete_removes_the_row_everywhere(store: &dyn Store) {
    apply(store, [indexed(b"k", [Some(b"v"); 5]), indexed(b"l", [Some(b"v"); 5])]).await;
    apply(store, [delete(Table::Messages, b"k"), delete(Table::Messages, b"absent")]).await;
    assert_eq!(keys(store, range(Table::Messages, None, None, None)).await, [b"l"]);
    for index in Table::Messages.indexes() {
        assert_eq!(keys(store, range(Table::Messages, Some(*index), None, None)).await, [b"l"]);
    }
}

/// A deleted range has its start and not its end; an empty or inverted one deletes nothing.
pub async fn a_deleted_range_is_half_open(store: &dyn Store) {
    apply(store, [b"a", b"b", b"c", b"d"].map(|key| indexed(key, [Some(key); 5]))).await;
    let deleted = |from: &[u8], to: &[u8]| Write::DeleteRange {
        table: Table::Messages,
        from: from.to_vec(),
        to: to.to_vec(),
    };
    apply(store, [deleted(b"b", b"b"), deleted(b"d", b"a")]).await;
    assert_eq!(all(store, Table::Messages).await.len(), 4);
    apply(store, [deleted(b"b", b"d")]).await;
    assert_eq!(keys(store, range(Table::Messages, None, None, None)).await, [b"a", b"d"]);
    let by_value = range(Table::Messages, Some(Index::GroupSort), None, None);
    assert_eq!(keys(store, by_value).await, [b"a", b"d"]);
}

/// Deleting a prefix deletes what reading it shows, also for the empty one.
pub async fn a_deleted_prefix_leaves_the_rest(store: &dyn Store) {
    let rows: [&[u8]; 5] = [b"a", b"ab", b"ab\xff", b"b", b"\xff\xff"];
    apply(store, rows.map(|key| put(T, key, b""))).await;
    apply(store, [put(Table::Mls, b"ab", b"")]).await;
    let mut unit = Changes::default();
    unit.delete_prefix(T, b"ab");
    assert_eq!(store.apply(unit).await, Ok(()));
    assert_eq!(keys(store, range(T, None, None, None)).await, [b"a".as_slice(), b"b", b"\xff\xff"]);
    let mut unit = Changes::default();
    unit.delete_prefix(T, b"");
    assert_eq!(store.apply(unit).await, Ok(()));
    assert_eq!(all(store, T).await, []);
    assert_eq!(all(store, Table::Mls).await.len(), 1);
}

/// An empty unit is done at once.
pub async fn nothing_to_write_is_written(store: &dyn Store) {
    let before = prepare(store).await;
    for durability in [Durability::Relaxed, Durability::Strict] {
        let unit = Changes { durability, ..Changes::default() };
        assert_eq!(store.apply(unit).await, Ok(()));
    }
    assert_eq!(everything(store).await, before);
}

/// A strict unit is written like a relaxed one.
pub async fn strict_units_are_written_too(store: &dyn Store) {
    let mut unit = changes([put(T, b"k", b"strict")]);
    unit.strict();
    unit.check(T, b"k".to_vec(), 0);
    assert_eq!(store.apply(unit).await, Ok(()));
    assert_eq!(all(store, T).await[0].body, b"strict");
}

/// A body of 1 MiB and one of no bytes are kept.
pub async fn large_and_empty_bodies_are_kept(store: &dyn Store) {
    let large: Vec<u8> = (0..1u32 << 20).map(|n| (n ^ (n >> 8)) as u8).collect();
    apply(store, [put(T, b"large", &large), put(T, b"none", b"")]).await;
    let rows = all(store, T).await;
    assert!(rows[0].body == large);
    assert_eq!(rows[1].body, b"");
}

/// After closing, every call gives `Closed`, and closing again is allowed.
pub async fn a_closed_store_refuses_everything(store: &dyn Store) {
    apply(store, [put(T, b"k", b"")]).await;
    store.close().await;
    assert_eq!(store.read(vec![Read::Key(T, b"k".to_vec())]).await, Err(StoreError::Closed));
    assert_eq!(store.read(Vec::new()).await, Err(StoreError::Closed));
    assert_eq!(store.apply(changes([put(T, b"k", b"")])).await, Err(StoreError::Closed));
    assert_eq!(store.apply(Changes::default()).await, Err(StoreError::Closed));
    store.close().await;
    assert_eq!(store.apply(Changes::default()).await, Err(StoreError::Closed));
}
