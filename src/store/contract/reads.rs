//! Cases about reading: order, bounds, limits, indexes, counts, snapshots.

use super::*;

const T: Table = Table::Groups;

/// Keys compare byte by byte, unsigned, a shorter one first.
pub async fn keys_sort_as_bytes(store: &dyn Store) {
    let sorted: [&[u8]; 8] =
        [b"", b"\x00", b"\x00\x00", b"\x01", b"\x7f\xff", b"\x80", b"\xff", b"\xff\xff\x00"];
    let mut writes: Vec<Write> = sorted.iter().map(|key| put(T, key, key)).collect();
    writes.reverse();
    apply(store, writes).await;
    assert_eq!(keys(store, range(T, None, None, None)).await, sorted);
}

/// A row is found by its key in its own table, and an absent key has no record.
pub async fn a_key_is_known_in_its_table_only(store: &dyn Store) {
    apply(store, [put(T, b"k", b"groups"), put(Table::Threads, b"k", b"threads")]).await;
    let body = |answer: &[Record]| answer.iter().map(|record| record.body.clone()).collect::<Vec<_>>();
    for table in Table::ALL {
        let answer = records(store, Read::Key(table, b"k".to_vec())).await;
        match table {
            Table::Groups => assert_eq!(body(&answer), [b"groups"]),
            Table::Threads => assert_eq!(body(&answer), [b"threads"]),
            _ => assert_eq!(answer, []),
        }
    }
    assert_eq!(records(store, Read::Key(T, b"".to_vec())).await, []);
    assert_eq!(records(store, Read::Key(T, b"k\0".to_vec())).await, []);
}

/// `from` is inside a range, `to` is not.
pub async fn a_range_has_its_start_and_not_its_end(store: &dyn Store) {
    apply(store, [b"a", b"b", b"c", b"d"].map(|key| put(T, key, key))).await;
    assert_eq!(keys(store, range(T, None, Some(b"b"), Some(b"d"))).await, [b"b", b"c"]);
    assert_eq!(keys(store, range(T, None, Some(b"b\0"), Some(b"d\0"))).await, [b"c", b"d"]);
}

/// A missing bound is no bound, and a range stays in its table.
pub async fn an_open_range_goes_to_the_edge(store: &dyn Store) {
    apply(store, [b"a", b"b", b"c"].map(|key| put(T, key, key))).await;
    apply(store, [put(Table::Mls, b"b", b""), put(Table::Threads, b"b", b"")]).await;
    assert_eq!(keys(store, range(T, None, Some(b"b"), None)).await, [b"b", b"c"]);
    assert_eq!(keys(store, range(T, None, None, Some(b"b"))).await, [b"a"]);
    assert_eq!(keys(store, range(T, None, None, None)).await, [b"a", b"b", b"c"]);
    assert_eq!(keys(store, range(Table::Consent, None, None, None)).await, [b""; 0]);
}

/// A range that ends at or before its start is empty, not an error.
pub async fn an_empty_or_inverted_range_has_no_rows(store: &dyn Store) {
    apply(store, [b"a", b"b", b"c"].map(|key| put(T, key, key))).await;
    apply(store, [indexed(b"m", [Some(b"b"); 5])]).await;
    for (from, to) in [(b"b", b"b"), (b"c", b"a")] {
        assert_eq!(keys(store, range(T, None, Some(from), Some(to))).await, [b""; 0]);
        let index = Some(Index::Expiry);
        let read = range(Table::Messages, index, Some(from), Some(to));
        assert_eq!(keys(store, with(read, true, Some(5))).await, [b""; 0]);
        assert_eq!(count(store, T, None, from, to).await, 0);
    }
    assert_eq!(keys(store, range(T, None, None, Some(b""))).await, [b""; 0]);
}

/// A prefix read has the key that equals it and every longer one, also at the greatest byte.
pub async fn a_prefix_has_exactly_the_keys_with_it(store: &dyn Store) {
    let rows: [&[u8]; 6] = [b"a", b"ab", b"ab\xff\xff", b"ac", b"\xff\xff", b"\xff\xff\xff"];
    apply(store, rows.map(|key| put(T, key, key))).await;
    assert_eq!(keys(store, Read::prefix(T, b"ab")).await, [b"ab".as_slice(), b"ab\xff\xff"]);
    assert_eq!(keys(store, Read::prefix(T, b"\xff\xff")).await, rows[4..]);
    assert_eq!(keys(store, Read::prefix(T, b"")).await, rows);
}

/// A limit keeps the first rows in the order asked for.
pub async fn a_limit_cuts_at_the_right_end(store: &dyn Store) {
    apply(store, [b"a", b"b", b"c", b"d"].map(|key| put(T, key, key))).await;
    let read = || range(T, None, Some(b"a"), Some(b"d"));
    assert_eq!(keys(store, with(read(), false, Some(2))).await, [b"a", b"b"]);
    assert_eq!(keys(store, with(read(), true, Some(2))).await, [b"c", b"b"]);
    assert_eq!(keys(store, with(read(), true, Some(1))).await, [b"c"]);
    for descending in [false, true] {
        assert_eq!(keys(store, with(read(), descending, Some(0))).await, [b""; 0]);
        assert_eq!(keys(store, with(read(), descending, Some(3))).await.len(), 3);
        assert_eq!(keys(store, with(read(), descending, Some(u32::MAX))).await.len(), 3);
    }
}

/// Descending gives the same rows, greatest first, with any bounds.
pub async fn descending_is_the_reverse(store: &dyn Store) {
    apply(store, (0..40).map(|n| put(T, &[n / 8, n % 8], &[n])).collect::<Vec<_>>()).await;
    let starts: [Option<&[u8]>; 2] = [None, Some(&[1, 5])];
    let ends: [Option<&[u8]>; 2] = [None, Some(&[3])];
    for (from, to) in starts.into_iter().flat_map(|from| ends.map(|to| (from, to))) {
        let mut up = records(store, range(T, None, from, to)).await;
        let down = records(store, with(range(T, None, from, to), true, None)).await;
        let first = records(store, with(range(T, None, from, to), true, Some(7))).await;
        up.reverse();
        assert_eq!(down, up);
        assert_eq!(first, up[..7]);
    }
}

/// Each index finds exactly the rows with a value for it, in the order of the values.
pub async fn every_index_has_the_rows_with_a_value(store: &dyn Store) {
    let value = |on: bool, value: &'static [u8]| on.then_some(value);
    let indexes = Table::Messages.indexes();
    for number in 0..indexes.len() {
        let some = |v: &'static [u8]| std::array::from_fn(|at| value(at == number, v));
        let name = |key: u8| [number as u8, key];
        apply(
            store,
            [
                indexed(&name(1), some(b"x\x02")),
                indexed(&name(2), some(b"x\x01")),
                indexed(&name(3), some(b"y")),
                indexed(&name(4), [None; 5]),
            ],
        )
        .await;
    }
    for (number, index) in indexes.iter().enumerate() {
        let name = |key: u8| vec![number as u8, key];
        let read = |from, to| range(Table::Messages, Some(*index), from, to);
        assert_eq!(keys(store, read(None, None)).await, [name(2), name(1), name(3)]);
        assert_eq!(keys(store, read(Some(b"x"), Some(b"y"))).await, [name(2), name(1)]);
        assert_eq!(keys(store, read(Some(b"x\x02"), Some(b"y\0"))).await, [name(1), name(3)]);
        let last = with(read(None, Some(b"y")), true, Some(1));
        assert_eq!(keys(store, last).await, [name(1)]);
    }
    assert_eq!(all(store, Table::Messages).await.len(), 4 * indexes.len());
}

/// Rows with one index value are ordered by key, and a limit may cut among them.
pub async fn equal_index_values_sort_by_key_both_ways(store: &dyn Store) {
    let row = |key, value| indexed(key, [None, None, None, Some(value), None]);
    let rows = [row(b"a", b"2"), row(b"d", b"1"), row(b"b", b"1"), row(b"c", b"1"), row(b"e", b"0")];
    apply(store, rows).await;
    let read = || range(Table::Messages, Some(Index::Expiry), Some(b"1"), None);
    assert_eq!(keys(store, read()).await, [b"b", b"c", b"d", b"a"]);
    assert_eq!(keys(store, with(read(), false, Some(2))).await, [b"b", b"c"]);
    assert_eq!(keys(store, with(read(), true, None)).await, [b"a", b"d", b"c", b"b"]);
    assert_eq!(keys(store, with(read(), true, Some(2))).await, [b"a", b"d"]);
    assert_eq!(keys(store, with(read(), true, Some(3))).await, [b"a", b"d", b"c"]);
    assert_eq!(keys(store, with(read(), true, Some(9))).await, [b"a", b"d", b"c", b"b"]);
}

/// A count is the number of rows the same range has.
pub async fn counts_agree_with_ranges(store: &dyn Store) {
    let values: [Option<&[u8]>; 5] = [Some(b"v"), None, Some(b"w"), None, None];
    apply(store, [b"a", b"b", b"c"].map(|key| indexed(key, values))).await;
    let bounds: [(&[u8], &[u8]); 4] = [(b"", b"z"), (b"b", b"c"), (b"v", b"w"), (b"x", b"y")];
    for (from, to) in bounds {
        for index in Table::Messages.indexes().iter().map(Some).chain([None]) {
            let index = index.copied();
            let rows = keys(store, range(Table::Messages, index, Some(from), Some(to))).await;
            assert_eq!(count(store, Table::Messages, index, from, to).await, rows.len() as u64);
        }
    }
    let all = Read::Count { table: Table::Messages, index: None, from: None, to: None };
    let expected = Record { key: Vec::new(), revision: 0, body: 3u64.to_be_bytes().to_vec() };
    assert_eq!(records(store, all).await, [expected]);
}

/// Asking for an index the table does not have fails, and so does the whole call.
pub async fn an_index_of_another_table_is_refused(store: &dyn Store) {
    let read = range(T, Some(Index::Expiry), None, None);
    let answer = store.read(vec![Read::Key(T, b"k".to_vec()), read]).await;
    assert!(matches!(answer, Err(StoreError::Failed(_))), "{answer:?}");
    assert_eq!(all(store, T).await, []);
}

/// One answer a read, in their order, an empty one where nothing is found.
pub async fn answers_come_in_the_order_of_the_reads(store: &dyn Store) {
    apply(store, [put(T, b"a", b"1"), put(Table::Mls, b"a", b"2"), put(Table::Mls, b"b", b"3")]).await;
    let reads = vec![
        Read::prefix(Table::Mls, b""),
        Read::Key(T, b"absent".to_vec()),
        with(range(Table::Mls, None, None, None), true, Some(1)),
        Read::Key(T, b"a".to_vec()),
        Read::Key(T, b"a".to_vec()),
    ];
    let answers = store.read(reads).await.expect("the read works");
    let bodies: Vec<Vec<&[u8]>> =
        answers.iter().map(|answer| answer.iter().map(|record| record.body.as_slice()).collect()).collect();
    let expected: [&[&[u8]]; 5] = [&[b"2", b"3"], &[], &[b"3"], &[b"1"], &[b"1"]];
    assert_eq!(bodies, expected);
    assert_eq!(store.read(Vec::new()).await, Ok(Vec::new()));
}

/// While units rewrite two tables together, no call sees them apart.
pub async fn reads_of_one_call_see_one_moment(store: &dyn Store) {
    apply(store, [put(T, b"k", &[0]), put(Table::Threads, b"k", &[0])]).await;
    for round in 1..20 {
        let unit = changes([put(T, b"k", &[round]), put(Table::Threads, b"k", &[round])]);
        let reads = || vec![Read::Key(Table::Threads, b"k".to_vec()), Read::prefix(T, b"")];
        let (before, applied, after) =
            futures::join!(store.read(reads()), store.apply(unit), store.read(reads()));
        assert_eq!(applied, Ok(()));
        for answers in [before, after] {
            let answers = answers.expect("the read works");
            assert_eq!(answers[0][0].body, answers[1][0].body);
        }
    }
}
