//! Errors as JavaScript gets them: plain `{ code, message, retryable }`.
//!
//! Where the core tells apart what an app would treat alike, or names a thing of MLS where the
//! JavaScript surface names a conversation, the public code is the one of `js/errors.ts`. A test
//! compares both lists.

use wasm_bindgen::JsValue;

use super::values::Fields;
use crate::error::Error;

/// The public codes of core codes that are named otherwise outside.
const RENAMED: &[(&str, &str)] = &[
    ("bug.internal", "internal"),
    // Told apart from a signer that did not sign where that is known.
    ("client.signature", "signer.invalid"),
    ("consent.unknown_entity", "input.invalid"),
    ("dm.no_installation", "dm.unknown_inbox"),
    ("group.held", "conversation.held"),
    ("group.not_a_member", "conversation.inactive"),
    ("group.paused", "conversation.paused"),
    ("identity.invalid", "identity.rejected"),
    ("identity.limit", "identity.too_many_installations"),
    ("input.id", "input.invalid"),
    ("input.identifier", "input.invalid"),
    ("input.value", "input.invalid"),
];

/// The code JavaScript sees.
pub fn public_code(code: &str) -> &str {
    RENAMED.iter().find(|(core, _)| *core == code).map_or(code, |(_, public)| public)
}

/// The plain object of an error.
pub fn to_js(error: &Error) -> JsValue {
    Fields::new()
        .text("code", public_code(error.code))
        .text("message", &error.message)
        .flag("retryable", error.retryable())
        .done()
}
