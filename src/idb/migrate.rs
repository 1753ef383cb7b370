//! The steps from one layout to the next.
//!
//! A step is frozen: it spells out the names of its time instead of reading today's tables.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{IdbDatabase, IdbOpenDbRequest, IdbTransaction};

use super::schema;

type Step = fn(&IdbDatabase, &IdbTransaction) -> Result<(), JsValue>;

/// Step `n` makes version `n + 1` of version `n`; version 0 is a database that is not there.
const STEPS: [Step; schema::VERSION as usize] = [create_tables, index_expiry, add_annotations_and_streams];

/// Brings a database from version `from` to [`schema::VERSION`], in the transaction of `request`'s
/// upgrade event.
pub(super) fn upgrade(request: &IdbOpenDbRequest, from: u32) -> Result<(), JsValue> {
    let database: IdbDatabase = request.result()?.unchecked_into();
    let transaction = request.transaction().ok_or_else(|| JsValue::from_str("no upgrade transaction"))?;
    STEPS.iter().skip(from as usize).try_for_each(|step| step(&database, &transaction))
}

fn create_tables(database: &IdbDatabase, _: &IdbTransaction) -> Result<(), JsValue> {
    let names = [
        "keys",
        "meta",
        "mls",
        "groups",
        "threads",
        "listing",
        "messages",
        "consent",
        "intents",
        "attempts",
        "envelopes",
        "positions",
        "associations",
        "transcripts",
    ];
    for name in names {
        let store = database.create_object_store(name)?;
        if name == "messages" {
            for index in ["a", "b", "c"] {
                store.create_index_with_str(index, index)?;
            }
        }
    }
    Ok(())
}

/// Messages that expire are found without reading the others.
fn index_expiry(_: &IdbDatabase, transaction: &IdbTransaction) -> Result<(), JsValue> {
    transaction.object_store("messages")?.create_index_with_str("d", "d")?;
    Ok(())
}

/// Tables of messages about messages, of decisions owed to the own devices and of the durable
/// stream. Messages stored before have no place in that stream's index: it begins behind them.
fn add_annotations_and_streams(database: &IdbDatabase, transaction: &IdbTransaction) -> Result<(), JsValue> {
    for name in ["annotations", "preferences", "consumers"] {
        database.create_object_store(name)?;
    }
    transaction.object_store("messages")?.create_index_with_str("e", "e")?;
    Ok(())
}
