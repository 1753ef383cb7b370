//! The store in memory: for clients without a database, and for tests.
//!
//! A [`MemoryStore`] is a handle. [`MemoryStore::reopen`] gives another one over the same rows, as
//! a second tab or a restart would; [`MemoryStore::copy`] gives one over rows of its own, as a
//! restored backup would. Closing ends one handle and leaves the rows.
//!
//! Every future is ready at its first poll, so a call is one step and needs no transaction.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

use futures::future::{LocalBoxFuture, ready};

use super::{Changes, Check, Durability, Index, Read, Record, Store, StoreError, Table, Write};

/// What a store was asked for so far, by every handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Calls of [`Store::read`].
    pub reads: u64,
    /// Rows those answered.
    pub rows: u64,
    /// Bytes of their bodies.
    pub bytes_read: u64,
    /// Calls of [`Store::apply`] that were written.
    pub applies: u64,
    /// How many of them asked for [`Durability::Strict`].
    pub strict: u64,
    /// Writes in them.
    pub writes: u64,
    /// Bytes of the bodies put by them.
    pub bytes_written: u64,
}

/// Rows in memory.
#[derive(Clone, Default)]
pub struct MemoryStore {
    rows: Rc<RefCell<Rows>>,
    figures: Rc<Cell<Figures>>,
    handle: Rc<Handle>,
}

#[derive(Default)]
struct Handle {
    closed: Cell<bool>,
    failure: RefCell<Option<(u32, StoreError)>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another open handle over the same rows.
    pub fn reopen(&self) -> Self {
        Self { rows: self.rows.clone(), figures: self.figures.clone(), handle: Rc::default() }
    }

    /// A store that holds what this one holds now and changes apart from it.
    pub fn copy(&self) -> Self {
        let rows = self.rows.borrow().clone();
        Self { rows: Rc::new(RefCell::new(rows)), ..Self::default() }
    }

    /// Makes an apply of this handle fail with `error` and write nothing: the next one for
    /// `after` = 0, the one behind it for 1, and so on.
    pub fn fail_apply(&self, after: u32, error: StoreError) {
        *self.handle.failure.borrow_mut() = Some((after, error));
    }

    /// The figures since the store was made or [`Self::reset_figures`] was called.
    pub fn figures(&self) -> Figures {
        self.figures.get()
    }

    /// Starts the figures at zero again.
    pub fn reset_figures(&self) {
        self.figures.set(Figures::default());
    }

    fn open(&self) -> Result<(), StoreError> {
        if self.handle.closed.get() { Err(StoreError::Closed) } else { Ok(()) }
    }

    fn planned_failure(&self) -> Result<(), StoreError> {
        let mut failure = self.handle.failure.borrow_mut();
        match failure.take() {
            Some((0, error)) => Err(error),
            Some((after, error)) => {
                *failure = Some((after - 1, error));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn read_now(&self, reads: &[Read]) -> Result<Vec<Vec<Record>>, StoreError> {
        self.open()?;
        let rows = self.rows.borrow();
        let answers = reads.iter().map(|read| rows.answer(read)).collect::<Result<Vec<_>, _>>()?;
        let mut figures = self.figures.get();
        figures.reads += 1;
        for record in answers.iter().flatten() {
            figures.rows += 1;
            figures.bytes_read += record.body.len() as u64;
        }
        self.figures.set(figures);
        Ok(answers)
    }

    fn apply_now(&self, changes: &Changes) -> Result<(), StoreError> {
        self.open()?;
        self.planned_failure()?;
        self.rows.borrow_mut().apply(changes)?;
        if changes.is_empty() {
            return Ok(());
        }
        let mut figures = self.figures.get();
        figures.applies += 1;
        figures.strict += u64::from(changes.durability == Durability::Strict);
        figures.writes += changes.writes.len() as u64;
        for write in &changes.writes {
            if let Write::Put { body, .. } = write {
                figures.bytes_written += body.len() as u64;
            }
        }
        self.figures.set(figures);
        Ok(())
    }
}

impl Store for MemoryStore {
    fn read(&self, reads: Vec<Read>) -> LocalBoxFuture<'_, Result<Vec<Vec<Record>>, StoreError>> {
        Box::pin(async move { self.read_now(&reads) })
    }

    fn apply(&self, changes: Changes) -> LocalBoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.apply_now(&changes) })
    }

    fn close(&self) -> LocalBoxFuture<'_, ()> {
        self.handle.closed.set(true);
        Box::pin(ready(()))
    }
}

#[derive(Clone)]
struct Stored {
    revision: u64,
    index: Vec<Option<Vec<u8>>>,
    body: Vec<u8>,
}

type Key = (Table, Vec<u8>);

/// An index value and the key of the row it belongs to.
type Entry = (Vec<u8>, Vec<u8>);

#[derive(Clone, Default)]
struct Rows {
    stored: BTreeMap<Key, Stored>,
    indexes: BTreeMap<(Table, Index), BTreeSet<Entry>>,
}

impl Rows {
    fn answer(&self, read: &Read) -> Result<Vec<Record>, StoreError> {
        match read {
            Read::Key(table, key) => Ok(self.record(*table, key).into_iter().collect()),
            Read::Range { table, index, from, to, descending, limit } => {
                let keys = self.keys(*table, *index, from.as_deref(), to.as_deref())?;
                let limit = limit.map_or(usize::MAX, |limit| limit as usize);
                let record = |key: &[u8]| self.record(*table, key);
                Ok(if *descending {
                    keys.into_iter().rev().take(limit).filter_map(record).collect()
                } else {
                    keys.into_iter().take(limit).filter_map(record).collect()
                })
            }
            Read::Count { table, index, from, to } => {
                let count = self.keys(*table, *index, from.as_deref(), to.as_deref())?.len();
                Ok(vec![Record::count(count as u64)])
            }
        }
    }

    fn record(&self, table: Table, key: &[u8]) -> Option<Record> {
        let stored = self.stored.get(&(table, key.to_vec()))?;
        Some(Record { key: key.to_vec(), revision: stored.revision, body: stored.body.clone() })
    }

    /// Keys of the rows in a range, in its order.
    fn keys(
        &self,
        table: Table,
        index: Option<Index>,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> Result<Vec<&[u8]>, StoreError> {
        let from = from.unwrap_or_default();
        if to.is_some_and(|to| to <= from) {
            return Ok(Vec::new());
        }
        let Some(index) = index else {
            let low = Bound::Included((table, from.to_vec()));
            let rows = self.stored.range((low, Bound::Unbounded)).map(|((of, key), _)| (of, key.as_slice()));
            return Ok(rows
                .take_while(|(of, key)| **of == table && to.is_none_or(|to| *key < to))
                .map(|(_, key)| key)
                .collect());
        };
        super::has_index(table, index)?;
        let entries = self.indexes.get(&(table, index)).into_iter();
        Ok(entries
            .flat_map(|entries| entries.range((from.to_vec(), Vec::new())..))
            .take_while(|(value, _)| to.is_none_or(|to| value.as_slice() < to))
            .map(|(_, key)| key.as_slice())
            .collect())
    }

    fn apply(&mut self, changes: &Changes) -> Result<(), StoreError> {
        if !changes.checks.iter().all(|check| self.holds(check)) {
            return Err(StoreError::Stale);
        }
        let mut undo = Vec::new();
        for write in &changes.writes {
            if let Err(error) = self.write(write, &mut undo) {
                for (key, before) in undo.into_iter().rev() {
                    self.replace(key, before);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn holds(&self, check: &Check) -> bool {
        let stored = self.stored.get(&(check.table, check.key.clone()));
        stored.map_or(0, |row| row.revision) == check.revision
    }

    fn write(&mut self, write: &Write, undo: &mut Vec<(Key, Option<Stored>)>) -> Result<(), StoreError> {
        match write {
            Write::Put { table, key, revision, index, body, insert } => {
                let at = (*table, key.clone());
                if *insert && self.stored.contains_key(&at) {
                    return Err(StoreError::Exists);
                }
                let row = Stored { revision: *revision, index: index.clone(), body: body.clone() };
                undo.push((at.clone(), self.replace(at, Some(row))));
            }
            Write::Delete { table, key } => {
                let at = (*table, key.clone());
                undo.push((at.clone(), self.replace(at, None)));
            }
            Write::DeleteRange { table, from, to } => {
                let keys: Vec<Vec<u8>> =
                    self.keys(*table, None, Some(from), Some(to))?.into_iter().map(<[u8]>::to_vec).collect();
                for key in keys {
                    let at = (*table, key);
                    undo.push((at.clone(), self.replace(at, None)));
                }
            }
        }
        Ok(())
    }

    /// Stores or removes a row with its index entries; returns what was there.
    fn replace(&mut self, at: Key, row: Option<Stored>) -> Option<Stored> {
        let (table, key) = at.clone();
        let values = row.as_ref().map(|row| row.index.clone()).unwrap_or_default();
        let before = match row {
            Some(row) => self.stored.insert(at, row),
            None => self.stored.remove(&at),
        };
        let old_values = before.as_ref().map(|row| row.index.as_slice()).unwrap_or_default();
        for (number, index) in table.indexes().iter().enumerate() {
            let entries = self.indexes.entry((table, *index)).or_default();
            if let Some(Some(old)) = old_values.get(number) {
                entries.remove(&(old.clone(), key.clone()));
            }
            if let Some(Some(new)) = values.get(number) {
                entries.insert((new.clone(), key.clone()));
            }
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    fn put(changes: &mut Changes, key: &[u8], body: &[u8]) {
        let index = vec![None; Table::Groups.indexes().len()];
        changes.writes.push(Write::Put {
            table: Table::Groups,
            key: key.to_vec(),
            revision: 0,
            index,
            body: body.to_vec(),
            insert: false,
        });
    }

    fn one(key: &[u8]) -> Changes {
        let mut changes = Changes::default();
        put(&mut changes, key, b"body");
        changes
    }

    fn all(store: &MemoryStore) -> usize {
        block_on(store.read(vec![Read::prefix(Table::Groups, b"")])).unwrap()[0].len()
    }

    #[test]
    fn a_planned_failure_hits_the_wanted_apply_and_writes_nothing() {
        let store = MemoryStore::new();
        store.fail_apply(1, StoreError::Quota);
        assert_eq!(block_on(store.apply(one(b"a"))), Ok(()));
        assert_eq!(block_on(store.apply(one(b"b"))), Err(StoreError::Quota));
        assert_eq!(all(&store), 1);
        assert_eq!(block_on(store.apply(one(b"b"))), Ok(()));
        assert_eq!(all(&store), 2);
    }

    #[test]
    fn figures_count_what_was_read_and_written() {
        let store = MemoryStore::new();
        let mut changes = one(b"a");
        put(&mut changes, b"b", b"longer body");
        changes.strict();
        block_on(store.apply(changes)).unwrap();
        block_on(store.apply(Changes::default())).unwrap();
        all(&store);
        let expected = Figures {
            reads: 1,
            rows: 2,
            bytes_read: 15,
            applies: 1,
            strict: 1,
            writes: 2,
            bytes_written: 15,
        };
        assert_eq!(store.figures(), expected);
        store.reset_figures();
        assert_eq!(store.figures(), Figures::default());
    }

    #[test]
    fn handles_share_rows_and_close_apart_while_copies_differ() {
        let store = MemoryStore::new();
        let tab = store.reopen();
        let backup = store.copy();
        block_on(store.apply(one(b"a"))).unwrap();
        block_on(store.close());
        assert_eq!(block_on(store.apply(one(b"b"))), Err(StoreError::Closed));
        assert_eq!((all(&tab), all(&backup)), (1, 0));
    }
}
