//! Errors as JavaScript gets them: plain `{ code, message, retryable }`, with the codes of
//! [`crate::error::CODES`].

use wasm_bindgen::JsValue;

use super::values::Fields;
use crate::error::Error;

/// The plain object of an error.
pub fn to_js(error: &Error) -> JsValue {
    Fields::new()
        .text("code", error.code)
        .text("message", &error.message)
        .flag("retryable", error.retryable())
        .done()
}
