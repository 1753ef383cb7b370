//! What an exception of the browser means for a store.

use js_sys::Reflect;
use wasm_bindgen::JsValue;

use super::schema;
use crate::store::StoreError;

/// Why a transaction did not happen.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection is gone or the browser gave the transaction up: it was rolled back and may
    /// be repeated over a new connection. If that does not help, this is the error.
    Lost(StoreError),
    /// Repeating it does not help.
    Final(StoreError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Final(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Lost(error) | Fault::Final(error) => error,
        }
    }
}

/// An exception thrown or reported by a request or a transaction; `null` where the browser aborted
/// without naming a reason.
pub(super) fn in_transaction(exception: &JsValue) -> Fault {
    match name(exception).as_str() {
        "QuotaExceededError" => Fault::Final(StoreError::Quota),
        // Only adding under a taken key breaks a constraint: no index is unique.
        "ConstraintError" => Fault::Final(StoreError::Exists),
        "InvalidStateError" => Fault::Lost(StoreError::Closed),
        // WebKit calls the loss of its database process an unknown error.
        "AbortError" | "TransactionInactiveError" | "UnknownError" | "" => {
            Fault::Lost(StoreError::Failed(describe(exception)))
        }
        _ => Fault::Final(StoreError::Failed(describe(exception))),
    }
}

/// An exception of opening or deleting a database, other than a version that is too new.
pub(super) fn opening(exception: &JsValue) -> StoreError {
    match name(exception).as_str() {
        "QuotaExceededError" => StoreError::Quota,
        // Private modes and blocked storage: nothing can be opened here.
        "InvalidStateError" | "SecurityError" | "NotAllowedError" | "NotSupportedError" => {
            StoreError::Unavailable(describe(exception))
        }
        _ => StoreError::Failed(describe(exception)),
    }
}

/// Whether an exception says that the database has a greater version than was asked for.
pub(super) fn is_newer(exception: &JsValue) -> bool {
    name(exception) == "VersionError"
}

/// Whether an exception says that a value cannot be stored at all.
pub(super) fn is_uncloneable(exception: &JsValue) -> bool {
    name(exception) == "DataCloneError"
}

/// The error of a database whose version is `found`.
pub(super) fn newer(found: f64) -> StoreError {
    StoreError::Newer { found: found as u32, known: schema::VERSION }
}

fn name(exception: &JsValue) -> String {
    text(exception, "name")
}

/// Name and message of an exception, for people.
pub(super) fn describe(exception: &JsValue) -> String {
    match (name(exception), text(exception, "message")) {
        (name, message) if name.is_empty() && message.is_empty() => {
            exception.as_string().unwrap_or_else(|| "the browser gave no reason".into())
        }
        (name, message) if message.is_empty() => name,
        (name, message) => format!("{name}: {message}"),
    }
}

fn text(exception: &JsValue, property: &str) -> String {
    if !exception.is_object() {
        return String::new();
    }
    Reflect::get(exception, &JsValue::from_str(property))
        .ok()
        .and_then(|text| text.as_string())
        .unwrap_or_default()
}
