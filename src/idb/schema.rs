//! Names and version of the database's layout.
//!
//! **Version policy.** The version is a whole number and rises by one with every change of object
//! stores or indexes, also with one an older build could live with: a build never writes to a
//! layout it does not know, it answers [`StoreError::Newer`](crate::store::StoreError::Newer) and
//! leaves the database as it is. Each rise is one step in `migrate`, and steps are never edited
//! once released. Bodies are sealed and cannot be rewritten in a step; a body that changes gets a
//! new format byte, and both forms are read (`store::rows`).

use wasm_bindgen::JsValue;

use crate::store::Table;

/// The layout this build reads and writes.
pub const VERSION: u32 = 3;

/// The object store of the wrapped data key; no [`Table`], so no row can come near it.
pub(super) const KEYS: &str = "keys";

/// Its key there.
pub(super) const DATA_KEY: &str = "data";

/// A key next to it, under which nothing is ever stored: `write` tries there what the browser does.
pub(super) const PROBE_KEY: &str = "probe";

/// A record's revision.
pub(super) const REVISION: &str = "r";

/// A record's sealed body.
pub(super) const SEALED: &str = "s";

/// Names of tables as a transaction takes them, each once.
pub(super) fn names(tables: impl IntoIterator<Item = Table>) -> js_sys::Array {
    let tables: crate::base::Set<Table> = tables.into_iter().collect();
    tables.into_iter().map(|table| JsValue::from_str(table.name())).collect()
}
