//! What JavaScript calls of the module for archives; the contract is `js/archive-module.ts`.
//!
//! Calls are synchronous and short: a batch at a time. They throw `{ code, message, retryable }`,
//! with the codes of [`crate::error::CODES`].

use js_sys::{Object, Reflect};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::VERSION;
use super::export::{Export, Options};
use super::import::Import;
use crate::base::Nanos;
use crate::error::Error;

/// Reads an archive as rows.
#[wasm_bindgen]
pub struct ArchiveReader {
    import: Import,
}

#[wasm_bindgen]
impl ArchiveReader {
    /// Begins to read.
    #[wasm_bindgen(constructor)]
    pub fn new(archive: Vec<u8>, key: &[u8]) -> Result<Self, JsValue> {
        Import::begin(archive, key).map(|import| Self { import }).map_err(thrown)
    }

    /// The version of its format.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn version(&self) -> u16 {
        VERSION
    }

    /// Numbers of what was selected: 1 messages, 2 consent.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn elements(&self) -> Vec<i32> {
        self.import.metadata.elements.clone()
    }

    /// When it was made.
    #[wasm_bindgen(getter, js_name = exportedAtNs)]
    #[must_use]
    pub fn exported_at_ns(&self) -> i64 {
        self.import.metadata.exported_ns.0
    }

    /// The beginning of its window.
    #[wasm_bindgen(getter, js_name = startNs)]
    #[must_use]
    pub fn start_ns(&self) -> Option<i64> {
        self.import.metadata.start_ns.map(|at| at.0)
    }

    /// The end of its window.
    #[wasm_bindgen(getter, js_name = endNs)]
    #[must_use]
    pub fn end_ns(&self) -> Option<i64> {
        self.import.metadata.end_ns.map(|at| at.0)
    }

    /// The next rows, of at most `limit` elements; undefined at the end.
    pub fn read(&mut self, limit: usize) -> Result<Option<Vec<u8>>, JsValue> {
        self.import.read(limit).map_err(thrown)
    }

    /// Bytes read.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn position(&self) -> usize {
        self.import.progress().0
    }

    /// Elements read.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn count(&self) -> f64 {
        self.import.progress().2 as f64
    }
}

/// Makes an archive of rows.
#[wasm_bindgen]
pub struct ArchiveWriter {
    export: Export,
}

#[wasm_bindgen]
impl ArchiveWriter {
    /// Begins an archive; `nonce` is 12 random bytes.
    #[wasm_bindgen(constructor)]
    pub fn new(
        key: &[u8],
        nonce: &[u8],
        now: i64,
        messages: bool,
        consent: bool,
        start: Option<i64>,
        end: Option<i64>,
        exclude_disappearing: bool,
    ) -> Result<Self, JsValue> {
        let (start, end) = (start.map(Nanos), end.map(Nanos));
        let options = Options { messages, consent, start, end, exclude_disappearing };
        let nonce = nonce.try_into().map_err(|_| thrown(Error::bug("a nonce of another length")))?;
        Export::begin(options, key, nonce, Nanos(now)).map(|export| Self { export }).map_err(thrown)
    }

    /// Adds rows; what was written by then.
    pub fn add(&mut self, rows: &[u8]) -> Result<Vec<u8>, JsValue> {
        self.export.add(rows).map(|()| self.export.take()).map_err(thrown)
    }

    /// Ends the archive: the rest of it.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.export.finish()
    }
}

fn thrown(error: Error) -> JsValue {
    let plain = Object::new();
    let fields =
        [("code", error.code.into()), ("message", error.message.into()), ("retryable", false.into())];
    for (name, value) in fields {
        // Setting a field of a fresh object does not fail.
        let _ = Reflect::set(&plain, &JsValue::from_str(name), &value);
    }
    plain.into()
}
