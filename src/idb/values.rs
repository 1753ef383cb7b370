//! A row as IndexedDB keeps it.
//!
//! A key is the bytes as a `Uint8Array`, which IndexedDB orders as `Vec<u8>` does. A value is the
//! sealed body alone, or, when there is a revision or an index value,
//! `{ r?: revision, a?, b?, c?, d?, e?: index values, s: sealed body }`.

use js_sys::{Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::IdbKeyRange;

use super::schema::{REVISION, SEALED};
use crate::store::{Index, StoreError};

/// A key, or an index value.
pub(super) fn key(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).into()
}

/// The bytes of a key as the browser gives it back.
pub(super) fn key_bytes(key: &JsValue) -> Vec<u8> {
    Uint8Array::new(key).to_vec()
}

/// The keys from `from` up to, and without, `to`; `undefined` for all. The bounds must not cross.
pub(super) fn range(from: Option<&[u8]>, to: Option<&[u8]>) -> Result<JsValue, JsValue> {
    Ok(match (from.map(key), to.map(key)) {
        (None, None) => JsValue::UNDEFINED,
        (Some(from), None) => IdbKeyRange::lower_bound(&from)?.into(),
        (None, Some(to)) => IdbKeyRange::upper_bound_with_open(&to, true)?.into(),
        (Some(from), Some(to)) => {
            IdbKeyRange::bound_with_lower_open_and_upper_open(&from, &to, false, true)?.into()
        }
    })
}

/// The stored value of a row.
pub(super) fn value(
    revision: u64,
    indexes: &[Index],
    index: &[Option<Vec<u8>>],
    sealed: &[u8],
) -> Result<JsValue, JsValue> {
    let sealed = Uint8Array::from(sealed);
    if revision == 0 && index.iter().all(Option::is_none) {
        return Ok(sealed.into());
    }
    let object = Object::new();
    if revision != 0 {
        set(&object, REVISION, &JsValue::from_f64(revision as f64))?;
    }
    for (at, value) in indexes.iter().zip(index) {
        if let Some(value) = value {
            set(&object, at.name(), &key(value))?;
        }
    }
    set(&object, SEALED, &sealed)?;
    Ok(object.into())
}

#[wasm_bindgen]
extern "C" {
    /// A stored value that is an object. Its getters cost one call into JavaScript each, where
    /// `Reflect` would decode the property's name for every row.
    type Stored;
    /// [`REVISION`].
    #[wasm_bindgen(method, getter)]
    fn r(this: &Stored) -> JsValue;
    /// [`SEALED`].
    #[wasm_bindgen(method, getter)]
    fn s(this: &Stored) -> JsValue;
}

/// The revision of a stored value; 0 for a row that is not there.
pub(super) fn revision(value: &JsValue) -> u64 {
    if !value.is_object() {
        return 0;
    }
    value.unchecked_ref::<Stored>().r().as_f64().unwrap_or(0.0) as u64
}

/// The sealed body of a stored value.
pub(super) fn sealed(value: &JsValue) -> Result<Vec<u8>, StoreError> {
    let part = value.is_object() && !value.is_instance_of::<Uint8Array>();
    let bytes = if part { value.unchecked_ref::<Stored>().s() } else { value.clone() };
    match bytes.dyn_into::<Uint8Array>() {
        Ok(bytes) => Ok(bytes.to_vec()),
        Err(_) => Err(StoreError::Corrupt("a record without a body".into())),
    }
}

/// A property of an object; `undefined` when there is none.
pub(super) fn property(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

/// Sets a property.
pub(super) fn set(object: &Object, name: &str, value: &JsValue) -> Result<(), JsValue> {
    Reflect::set(object, &JsValue::from_str(name), value).map(|_| ())
}
