//! What every store must do, as async functions over an open and empty store.
//!
//! [`store_contract!`](crate::store_contract) hands the name of every case to a macro, which makes
//! a test of each: natively in this file, in a browser in `tests/wasm_store.rs`.

mod reads;
mod writes;

pub use reads::*;
pub use writes::*;

use super::{Changes, Index, Read, Record, Store, StoreError, Table, Write};

/// Calls a macro with the names of all cases of the contract, separated by commas.
#[macro_export]
macro_rules! store_contract {
    ($each:ident) => {
        $each! {
            keys_sort_as_bytes,
            a_key_is_known_in_its_table_only,
            a_range_has_its_start_and_not_its_end,
            an_open_range_goes_to_the_edge,
            an_empty_or_inverted_range_has_no_rows,
            a_prefix_has_exactly_the_keys_with_it,
            a_limit_cuts_at_the_right_end,
            descending_is_the_reverse,
            every_index_has_the_rows_with_a_value,
            equal_index_values_sort_by_key_both_ways,
            counts_agree_with_ranges,
            an_index_of_another_table_is_refused,
            answers_come_in_the_order_of_the_reads,
            reads_of_one_call_see_one_moment,
            what_is_put_is_read_back,
            a_put_replaces_the_row_and_its_index_values,
            writes_happen_in_order,
            a_taken_key_fails_the_whole_unit,
            a_key_freed_in_the_unit_can_be_inserted,
            a_stale_revision_fails_the_whole_unit,
            a_stale_revision_is_told_before_a_taken_key,
            revision_zero_stands_for_no_row,
            of_two_writers_on_one_revision_one_wins,
            checks_alone_are_compared,
            a_delete_removes_the_row_everywhere,
            a_deleted_range_is_half_open,
            a_deleted_prefix_leaves_the_rest,
            nothing_to_write_is_written,
            strict_units_are_written_too,
            large_and_empty_bodies_are_kept,
            a_closed_store_refuses_everything,
        }
    };
}

fn put(table: Table, key: &[u8], body: &[u8]) -> Write {
    let index = vec![None; table.indexes().len()];
    Write::Put { table, key: key.to_vec(), revision: 0, index, body: body.to_vec(), insert: false }
}

fn insert(table: Table, key: &[u8], body: &[u8]) -> Write {
    let index = vec![None; table.indexes().len()];
    Write::Put { table, key: key.to_vec(), revision: 0, index, body: body.to_vec(), insert: true }
}

fn at_revision(table: Table, key: &[u8], revision: u64) -> Write {
    let index = vec![None; table.indexes().len()];
    Write::Put { table, key: key.to_vec(), revision, index, body: b"body".to_vec(), insert: false }
}

/// A message row with the given index value (or none) in each of the five indexes.
fn indexed(key: &[u8], values: [Option<&[u8]>; 5]) -> Write {
    let index = values.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
    Write::Put {
        table: Table::Messages,
        key: key.to_vec(),
        revision: 0,
        index,
        body: key.to_vec(),
        insert: false,
    }
}

fn delete(table: Table, key: &[u8]) -> Write {
    Write::Delete { table, key: key.to_vec() }
}

fn changes(writes: impl Into<Vec<Write>>) -> Changes {
    Changes { writes: writes.into(), ..Changes::default() }
}

async fn apply(store: &dyn Store, writes: impl Into<Vec<Write>>) {
    assert_eq!(store.apply(changes(writes)).await, Ok(()));
}

fn range(table: Table, index: Option<Index>, from: Option<&[u8]>, to: Option<&[u8]>) -> Read {
    let (from, to) = (from.map(<[u8]>::to_vec), to.map(<[u8]>::to_vec));
    Read::Range { table, index, from, to, descending: false, limit: None }
}

fn with(read: Read, turned: bool, at_most: Option<u32>) -> Read {
    match read {
        Read::Range { table, index, from, to, .. } => {
            Read::Range { table, index, from, to, descending: turned, limit: at_most }
        }
        other => other,
    }
}

async fn records(store: &dyn Store, read: Read) -> Vec<Record> {
    let mut answers = store.read(vec![read]).await.expect("the read works");
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

async fn keys(store: &dyn Store, read: Read) -> Vec<Vec<u8>> {
    records(store, read).await.into_iter().map(|record| record.key).collect()
}

async fn all(store: &dyn Store, table: Table) -> Vec<Record> {
    records(store, range(table, None, None, None)).await
}

async fn count(store: &dyn Store, table: Table, index: Option<Index>, from: &[u8], to: &[u8]) -> u64 {
    let read = Read::Count { table, index, from: Some(from.to_vec()), to: Some(to.to_vec()) };
    let answer = records(store, read).await;
    assert_eq!(answer.len(), 1);
    u64::from_be_bytes(answer[0].body.as_slice().try_into().expect("8 bytes"))
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use crate::store::memory::MemoryStore;

    macro_rules! in_memory {
        ($($case:ident),* $(,)?) => {
            $(
                #[test]
                fn $case() {
                    block_on(super::$case(&MemoryStore::new()));
                }
            )*
        };
    }

    crate::store_contract!(in_memory);
}
