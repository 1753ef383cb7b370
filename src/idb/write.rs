//! One unit of changes as one transaction.
//!
//! Everything is sealed and made into values before the transaction begins. All its requests are
//! issued in one turn: first the rows whose revisions are checked, then the writes. The browser
//! answers in that order and commits when all are answered, so the handler of the last check comes
//! before that and can abort the whole.
//!
//! Once the checks hold, the transaction is told to commit without waiting for the answers of the
//! writes. Firefox then completes a transaction in which a request failed, and a taken key would go
//! unnoticed: so it is told only where a try has shown that such a transaction is aborted.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Object};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{IdbDatabase, IdbObjectStore, IdbRequest, IdbTransaction};

use super::errors::{self, Fault};
use super::seal::{Place, Sealer, Written};
use super::wait::Handler;
use super::{schema, values, wait};
use crate::store::{Changes, Durability, StoreError, Table, Write};

/// A unit ready to be written, as often as needed.
pub(super) struct Unit {
    tables: Array,
    durability: Durability,
    checks: Vec<(Table, JsValue, u64)>,
    steps: Vec<Step>,
    written: Vec<Written>,
}

enum Step {
    Put { table: Table, key: JsValue, value: JsValue },
    Add { table: Table, key: JsValue, value: JsValue },
    Delete { table: Table, keys: JsValue },
}

impl Unit {
    /// Seals the rows of `changes`; `None` when there is nothing to do.
    pub(super) fn prepare(changes: Changes, sealer: &Sealer) -> Result<Option<Self>, StoreError> {
        let mut tables = Vec::new();
        let mut checks = Vec::with_capacity(changes.checks.len());
        for check in changes.checks {
            tables.push(check.table);
            checks.push((check.table, values::key(&check.key), check.revision));
        }
        let mut steps = Vec::with_capacity(changes.writes.len());
        let written = changes.writes.iter().filter_map(Written::of).collect();
        for write in changes.writes {
            if let Some((table, step)) = Step::prepare(write, sealer)? {
                tables.push(table);
                steps.push(step);
            }
        }
        if tables.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            tables: schema::names(tables),
            durability: changes.durability,
            checks,
            steps,
            written,
        }))
    }

    /// The rows it writes over or deletes.
    pub(super) fn written(&self) -> &[Written] {
        &self.written
    }

    /// Writes the unit.
    pub(super) async fn write(&self, database: &IdbDatabase) -> Result<(), Fault> {
        let early = commits_early(database).await;
        let transaction = match self.steps.is_empty() {
            true => begin_reading(database, &self.tables)?,
            false => begin(database, &self.tables, self.durability)?,
        };
        let watched = wait::Watched::new(transaction.clone());
        // Dropping `watched` aborts, should a request throw.
        let verdict = self.issue(&transaction, early).map_err(|thrown| errors::in_transaction(&thrown))?;
        match watched.ended().await {
            Err(_) if verdict.is_stale() => Err(StoreError::Stale.into()),
            other => other,
        }
    }

    fn issue(&self, transaction: &IdbTransaction, early: bool) -> Result<Verdict, JsValue> {
        let mut stores = Stores::new(transaction);
        let mut found = Vec::with_capacity(self.checks.len());
        for (table, key, revision) in &self.checks {
            found.push((stores.of(*table)?.get(key)?, *revision));
        }
        let unchecked = found.is_empty();
        let verdict = Verdict::on_last(found, transaction, early);
        for step in &self.steps {
            match step {
                Step::Put { table, key, value } => stores.of(*table)?.put_with_key(value, key)?,
                Step::Add { table, key, value } => stores.of(*table)?.add_with_key(value, key)?,
                Step::Delete { table, keys } => stores.of(*table)?.delete(keys)?,
            };
        }
        if early && unchecked {
            commit(transaction)?;
        }
        Ok(verdict)
    }
}

thread_local! {
    /// Whether this browser aborts a transaction in which a request fails after it was told to
    /// commit, once it was tried.
    static ABORTS: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Whether transactions are told to commit.
async fn commits_early(database: &IdbDatabase) -> bool {
    if let Some(known) = ABORTS.get() {
        return known;
    }
    ABORTS.set(Some(false));
    let aborts = aborts(database).await;
    ABORTS.set(Some(aborts));
    aborts
}

/// Whether a transaction is aborted in which a request fails after it was told to commit.
pub(super) async fn aborts(database: &IdbDatabase) -> bool {
    matches!(add_taken(database).await, Err(Fault::Final(StoreError::Exists)))
}

/// Adds under a key that is taken, and commits before that can fail. The key is one of its own, and
/// taken in the same transaction: whatever else is stored, nothing of it is touched, and nothing
/// stays of the try, be the transaction aborted or completed.
async fn add_taken(database: &IdbDatabase) -> Result<(), Fault> {
    let names = Array::of1(&JsValue::from_str(schema::KEYS));
    let transaction = begin(database, &names, Durability::Relaxed)?;
    let watched = wait::Watched::new(transaction.clone());
    let (nothing, key) = (JsValue::NULL, JsValue::from_str(schema::PROBE_KEY));
    let ask = || {
        let keys = transaction.object_store(schema::KEYS)?;
        keys.put_with_key(&nothing, &key)?;
        keys.add_with_key(&nothing, &key)?;
        keys.delete(&key)?;
        commit(&transaction)
    };
    ask().map_err(|thrown| errors::in_transaction(&thrown))?;
    watched.ended().await
}

impl Step {
    fn prepare(write: Write, sealer: &Sealer) -> Result<Option<(Table, Self)>, StoreError> {
        let failed = |thrown: JsValue| StoreError::Failed(errors::describe(&thrown));
        Ok(match write {
            Write::Put { table, key, revision, index, body, insert } => {
                let sealed = sealer.seal(Place { table, key: &key, revision }, &body)?;
                let value = values::value(revision, table.indexes(), &index, &sealed).map_err(failed)?;
                let key = values::key(&key);
                let step =
                    if insert { Self::Add { table, key, value } } else { Self::Put { table, key, value } };
                Some((table, step))
            }
            Write::Delete { table, key } => Some((table, Self::Delete { table, keys: values::key(&key) })),
            Write::DeleteRange { from, to, .. } if from >= to => None,
            Write::DeleteRange { table, from, to } => {
                let keys = values::range(Some(&from), Some(&to)).map_err(failed)?;
                Some((table, Self::Delete { table, keys }))
            }
        })
    }
}

#[wasm_bindgen]
extern "C" {
    /// A database: `web-sys` has the options of a transaction only behind a flag of the whole build.
    type Database;
    #[wasm_bindgen(method, catch)]
    fn transaction(
        this: &Database,
        names: &Array,
        mode: &str,
        options: &JsValue,
    ) -> Result<IdbTransaction, JsValue>;
    /// A transaction that can be told to commit, which `web-sys` calls deprecated.
    type Transaction;
    #[wasm_bindgen(method, catch)]
    fn commit(this: &Transaction) -> Result<(), JsValue>;
}

/// Tells a transaction that nothing more will be asked of it.
fn commit(transaction: &IdbTransaction) -> Result<(), JsValue> {
    transaction.unchecked_ref::<Transaction>().commit()
}

/// Begins a transaction that only reads, over the named stores.
pub(super) fn begin_reading(database: &IdbDatabase, names: &Array) -> Result<IdbTransaction, Fault> {
    begin_with(database, names, "readonly", &JsValue::UNDEFINED)
}

/// Begins a transaction over the named stores.
pub(super) fn begin(
    database: &IdbDatabase,
    names: &Array,
    durability: Durability,
) -> Result<IdbTransaction, Fault> {
    let options = Object::new();
    let durability = match durability {
        Durability::Relaxed => "relaxed",
        Durability::Strict => "strict",
    };
    values::set(&options, "durability", &JsValue::from_str(durability))
        .map_err(|thrown| errors::in_transaction(&thrown))?;
    begin_with(database, names, "readwrite", &options)
}

fn begin_with(
    database: &IdbDatabase,
    names: &Array,
    mode: &str,
    options: &JsValue,
) -> Result<IdbTransaction, Fault> {
    let database: &Database = database.unchecked_ref();
    database.transaction(names, mode, options).map_err(|thrown| errors::in_transaction(&thrown))
}

/// Object stores of a transaction, each looked up once.
pub(super) struct Stores<'a> {
    transaction: &'a IdbTransaction,
    open: Vec<(Table, IdbObjectStore)>,
}

impl<'a> Stores<'a> {
    pub(super) fn new(transaction: &'a IdbTransaction) -> Self {
        Self { transaction, open: Vec::new() }
    }

    pub(super) fn of(&mut self, table: Table) -> Result<&IdbObjectStore, JsValue> {
        let known = self.open.iter().position(|(one, _)| *one == table);
        let at = known.unwrap_or(self.open.len());
        if known.is_none() {
            self.open.push((table, self.transaction.object_store(table.name())?));
        }
        Ok(&self.open[at].1)
    }
}

/// Compares the revisions when the last of them has been read.
struct Verdict {
    stale: Rc<Cell<bool>>,
    last: Option<(IdbRequest, Handler)>,
}

impl Verdict {
    fn on_last(found: Vec<(IdbRequest, u64)>, transaction: &IdbTransaction, early: bool) -> Self {
        let stale = Rc::new(Cell::new(false));
        let Some((last, _)) = found.last() else { return Self { stale, last: None } };
        let (last, seen, transaction) = (last.clone(), stale.clone(), transaction.clone());
        let handler = Handler::new(move |_| {
            let holds = |(request, expected): &(IdbRequest, u64)| {
                request.result().is_ok_and(|value| values::revision(&value) == *expected)
            };
            // Only an ended transaction refuses either.
            if !found.iter().all(holds) {
                seen.set(true);
                let _ = transaction.abort();
            } else if early {
                let _ = commit(&transaction);
            }
        });
        last.set_onsuccess(Some(handler.as_ref().unchecked_ref()));
        Self { stale, last: Some((last, handler)) }
    }

    fn is_stale(&self) -> bool {
        self.stale.get()
    }
}

impl Drop for Verdict {
    fn drop(&mut self) {
        if let Some((last, _)) = &self.last {
            last.set_onsuccess(None);
        }
    }
}
