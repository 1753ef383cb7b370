//! All reads of a call as one read-only transaction.
//!
//! Every request is issued in the first turn and the answers are collected with the last of them.
//! A range is one request, `getAllRecords`, which gives keys and values and has a direction. Not
//! every browser has it yet. Without it values and keys are two requests, and for a descending read
//! with a limit a key cursor first jumps to the last row wanted, and its handler asks for the rows
//! from there on: three answers of the browser instead of one a row.
//!
//! A range without a limit is read whole: it is for tables and prefixes that stay small.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Object};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    IdbCursor, IdbCursorDirection, IdbDatabase, IdbIndex, IdbObjectStore, IdbRequest, IdbTransaction,
};

use super::errors::{self, Fault};
use super::seal::{Place, Sealer};
use super::wait::Handler;
use super::{schema, values, wait, write};
use crate::store::{Index, Read, Record, StoreError, Table, has_index};

#[wasm_bindgen]
extern "C" {
    /// What `getAllRecords` gives of a row.
    type Found;
    #[wasm_bindgen(method, getter, js_name = primaryKey)]
    fn primary_key(this: &Found) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn value(this: &Found) -> JsValue;
    /// A table or an index that may have `getAllRecords`.
    type Records;
    #[wasm_bindgen(method, getter, js_name = getAllRecords)]
    fn method(this: &Records) -> JsValue;
    #[wasm_bindgen(method, catch, js_name = getAllRecords)]
    fn get_all_records(this: &Records, options: &Options) -> Result<IdbRequest, JsValue>;
    /// Its options.
    type Options;
    #[wasm_bindgen(method, setter)]
    fn set_query(this: &Options, range: &JsValue);
    #[wasm_bindgen(method, setter)]
    fn set_count(this: &Options, limit: u32);
    #[wasm_bindgen(method, setter)]
    fn set_direction(this: &Options, direction: &str);
}

/// Refuses reads that make no sense, before the browser is asked.
pub(super) fn check(reads: &[Read]) -> Result<(), StoreError> {
    reads.iter().try_for_each(|read| match read {
        Read::Range { table, index: Some(index), .. } | Read::Count { table, index: Some(index), .. } => {
            has_index(*table, *index)
        }
        _ => Ok(()),
    })
}

/// Answers `reads`, of which there is at least one.
pub(super) async fn answer(
    database: &IdbDatabase,
    reads: &[Read],
    sealer: &Sealer,
) -> Result<Vec<Vec<Record>>, Fault> {
    let names = schema::names(reads.iter().map(table));
    let transaction = write::begin_reading(database, &names)?;
    let watched = wait::Watched::new(transaction.clone());
    let asked = ask(&transaction, reads).map_err(|thrown| errors::in_transaction(&thrown))?;
    asked.answered(watched, None).await?;
    asked.records(sealer)
}

/// The requests for `reads`, in a transaction that has their tables.
pub(super) fn ask(transaction: &IdbTransaction, reads: &[Read]) -> Result<Requests, JsValue> {
    let mut stores = write::Stores::new(transaction);
    reads.iter().map(|read| Asked::ask(stores.of(table(read))?, read)).collect::<Result<_, _>>().map(Requests)
}

/// Reads that were issued.
pub(super) struct Requests(Vec<Asked>);

impl Requests {
    /// Completes when all are answered, and so is `before`, a request issued before them.
    pub(super) async fn answered(
        &self,
        watched: wait::Watched,
        before: Option<&IdbRequest>,
    ) -> Result<(), Fault> {
        match self.0.iter().rev().find_map(Asked::last).or(before) {
            Some(last) if !self.0.iter().any(Asked::goes_on) => watched.answered(last).await,
            _ => watched.ended().await,
        }
    }

    /// The answers.
    pub(super) fn records(self, sealer: &Sealer) -> Result<Vec<Vec<Record>>, Fault> {
        self.0.into_iter().map(|asked| asked.records(sealer)).collect()
    }
}

/// The table a read is of.
pub(super) fn table(read: &Read) -> Table {
    match read {
        Read::Key(table, _) | Read::Range { table, .. } | Read::Count { table, .. } => *table,
    }
}

/// Where a range is read: a table, or one of its indexes.
#[derive(Clone)]
enum Source {
    Table(IdbObjectStore),
    Index(IdbIndex),
}

impl Source {
    fn of(store: IdbObjectStore, index: Option<Index>) -> Result<Self, JsValue> {
        Ok(match index {
            None => Self::Table(store),
            Some(index) => Self::Index(store.index(index.name())?),
        })
    }

    fn count(&self, range: &JsValue) -> Result<IdbRequest, JsValue> {
        match self {
            Self::Table(store) => store.count_with_key(range),
            Self::Index(index) => index.count_with_key(range),
        }
    }

    fn last_key_first(&self, range: &JsValue) -> Result<IdbRequest, JsValue> {
        let direction = IdbCursorDirection::Prev;
        match self {
            Self::Table(store) => store.open_key_cursor_with_range_and_direction(range, direction),
            Self::Index(index) => index.open_key_cursor_with_range_and_direction(range, direction),
        }
    }

    /// Rows with their keys, where the browser can answer that at once.
    fn records(
        &self,
        range: &JsValue,
        limit: Option<u32>,
        descending: bool,
    ) -> Result<Option<IdbRequest>, JsValue> {
        let source: &JsValue = match self {
            Self::Table(store) => store,
            Self::Index(index) => index,
        };
        let source: &Records = source.unchecked_ref();
        if source.method().is_undefined() {
            return Ok(None);
        }
        let options: Options = Object::new().unchecked_into();
        options.set_query(range);
        if let Some(limit) = limit {
            options.set_count(limit);
        }
        if descending {
            options.set_direction("prev");
        }
        source.get_all_records(&options).map(Some)
    }

    /// Rows and their keys; at most `limit` of them, which is not 0.
    fn rows(&self, range: &JsValue, limit: Option<u32>) -> Result<Rows, JsValue> {
        let (values, keys) = match (self, limit) {
            (Self::Table(store), None) => {
                (store.get_all_with_key(range)?, store.get_all_keys_with_key(range)?)
            }
            (Self::Table(store), Some(limit)) => (
                store.get_all_with_key_and_limit(range, limit)?,
                store.get_all_keys_with_key_and_limit(range, limit)?,
            ),
            (Self::Index(index), None) => {
                (index.get_all_with_key(range)?, index.get_all_keys_with_key(range)?)
            }
            (Self::Index(index), Some(limit)) => (
                index.get_all_with_key_and_limit(range, limit)?,
                index.get_all_keys_with_key_and_limit(range, limit)?,
            ),
        };
        Ok(Rows { values, keys })
    }
}

/// The requests for the rows of a range.
struct Rows {
    values: IdbRequest,
    keys: IdbRequest,
}

impl Rows {
    fn records(&self, table: Table, sealer: &Sealer) -> Result<Vec<Record>, Fault> {
        let (values, keys) = (list(&self.values)?, list(&self.keys)?);
        values
            .iter()
            .zip(keys.iter())
            .map(|(value, key)| record(table, values::key_bytes(&key), &value, sealer))
            .collect()
    }
}

/// A read that was issued.
enum Asked {
    Nothing,
    Row { table: Table, key: Vec<u8>, request: IdbRequest },
    Rows { table: Table, rows: Rows, descending: bool },
    Records { table: Table, request: IdbRequest },
    Last { table: Table, last: Last },
    Count(Option<IdbRequest>),
}

impl Asked {
    fn ask(store: &IdbObjectStore, read: &Read) -> Result<Self, JsValue> {
        match read {
            Read::Key(table, key) => {
                let request = store.get(&values::key(key))?;
                Ok(Self::Row { table: *table, key: key.clone(), request })
            }
            Read::Count { from, to, .. } if is_empty(from, to) => Ok(Self::Count(None)),
            Read::Count { index, from, to, .. } => {
                let range = values::range(from.as_deref(), to.as_deref())?;
                Ok(Self::Count(Some(Source::of(store.clone(), *index)?.count(&range)?)))
            }
            Read::Range { from, to, limit, .. } if is_empty(from, to) || *limit == Some(0) => {
                Ok(Self::Nothing)
            }
            Read::Range { table, index, from, to, descending, limit } => {
                let source = Source::of(store.clone(), *index)?;
                let range = values::range(from.as_deref(), to.as_deref())?;
                if let Some(request) = source.records(&range, *limit, *descending)? {
                    return Ok(Self::Records { table: *table, request });
                }
                Ok(match limit.filter(|_| *descending) {
                    None => {
                        let rows = source.rows(&range, *limit)?;
                        Self::Rows { table: *table, rows, descending: *descending }
                    }
                    Some(limit) => {
                        let last = Last::ask(source, &range, from.clone(), to.clone(), limit)?;
                        Self::Last { table: *table, last }
                    }
                })
            }
        }
    }

    /// The last request issued for it.
    fn last(&self) -> Option<&IdbRequest> {
        match self {
            Self::Nothing | Self::Count(None) | Self::Last { .. } => None,
            Self::Row { request, .. } | Self::Records { request, .. } | Self::Count(Some(request)) => {
                Some(request)
            }
            Self::Rows { rows, .. } => Some(&rows.keys),
        }
    }

    /// Whether an answer leads to another request.
    fn goes_on(&self) -> bool {
        matches!(self, Self::Last { .. })
    }

    fn records(self, sealer: &Sealer) -> Result<Vec<Record>, Fault> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Row { table, key, request } => {
                let value = result(&request)?;
                if value.is_undefined() {
                    return Ok(Vec::new());
                }
                Ok(vec![record(table, key, &value, sealer)?])
            }
            Self::Rows { table, rows, descending } => {
                let mut records = rows.records(table, sealer)?;
                if descending {
                    records.reverse();
                }
                Ok(records)
            }
            Self::Records { table, request } => list(&request)?
                .iter()
                .map(|found| {
                    let found: &Found = found.unchecked_ref();
                    record(table, values::key_bytes(&found.primary_key()), &found.value(), sealer)
                })
                .collect(),
            Self::Last { table, last } => last.records(table, sealer),
            Self::Count(None) => Ok(vec![Record::count(0)]),
            Self::Count(Some(request)) => {
                let count = result(&request)?.as_f64().unwrap_or(0.0);
                Ok(vec![Record::count(count as u64)])
            }
        }
    }
}

/// The last `limit` rows of a range.
struct Last {
    limit: usize,
    cursor: IdbRequest,
    found: Rc<RefCell<Option<Result<Rows, JsValue>>>>,
    _handler: Handler,
}

impl Last {
    fn ask(
        source: Source,
        range: &JsValue,
        from: Option<Vec<u8>>,
        to: Option<Vec<u8>>,
        limit: u32,
    ) -> Result<Self, JsValue> {
        let cursor = source.last_key_first(range)?;
        let found = Rc::new(RefCell::new(None));
        let (request, answer) = (cursor.clone(), found.clone());
        let mut jumped = limit == 1;
        let handler = Handler::new(move |_| {
            let step = || -> Result<Option<Rows>, JsValue> {
                let at = request.result()?;
                // Fewer rows than the limit: all of the range.
                let mut start = from.clone();
                if let Some(cursor) = at.dyn_ref::<IdbCursor>() {
                    if !std::mem::replace(&mut jumped, true) {
                        cursor.advance(limit - 1)?;
                        return Ok(None);
                    }
                    start = Some(values::key_bytes(&cursor.key()?));
                }
                source.rows(&values::range(start.as_deref(), to.as_deref())?, None).map(Some)
            };
            *answer.borrow_mut() = { step }().transpose();
        });
        cursor.set_onsuccess(Some(handler.as_ref().unchecked_ref()));
        Ok(Self { limit: limit as usize, cursor, found, _handler: handler })
    }

    fn records(self, table: Table, sealer: &Sealer) -> Result<Vec<Record>, Fault> {
        let rows = match self.found.take() {
            Some(Ok(rows)) => rows,
            Some(Err(thrown)) => return Err(errors::in_transaction(&thrown)),
            None => return Err(StoreError::Failed("a cursor did not answer".into()).into()),
        };
        // Equal index values may bring a few more at the end.
        let mut records = rows.records(table, sealer)?;
        records.reverse();
        records.truncate(self.limit);
        Ok(records)
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        self.cursor.set_onsuccess(None);
    }
}

fn is_empty(from: &Option<Vec<u8>>, to: &Option<Vec<u8>>) -> bool {
    to.as_ref().is_some_and(|to| from.as_deref().unwrap_or_default() >= to.as_slice())
}

fn result(request: &IdbRequest) -> Result<JsValue, Fault> {
    request.result().map_err(|thrown| errors::in_transaction(&thrown))
}

fn list(request: &IdbRequest) -> Result<Array, Fault> {
    Ok(result(request)?.unchecked_into())
}

fn record(table: Table, key: Vec<u8>, value: &JsValue, sealer: &Sealer) -> Result<Record, Fault> {
    let revision = values::revision(value);
    let body = sealer.open(Place { table, key: &key, revision }, &values::sealed(value)?)?;
    Ok(Record { key, revision, body })
}
