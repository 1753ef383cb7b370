//! Bytes from JavaScript, of this realm or another (an iframe, a test runner).

use js_sys::{ArrayBuffer, Reflect, Symbol, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

/// A `Uint8Array`, if it is one.
pub fn bytes_of(value: &JsValue) -> Option<Uint8Array> {
    if let Some(bytes) = value.dyn_ref::<Uint8Array>() {
        return Some(bytes.clone());
    }
    if !ArrayBuffer::is_view(value) {
        return None;
    }
    // Inherited from the typed arrays of its realm, and true to the type.
    let tag = Reflect::get(value, &Symbol::to_string_tag()).ok()?;
    (tag.as_string().as_deref() == Some("Uint8Array")).then(|| Uint8Array::new(value))
}
