//! The rows archives are made of, for the module that reads and writes the files.

use js_sys::{Array, Promise, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::client::RawClient;
use super::options::Arg;
use crate::client::Part;

#[wasm_bindgen]
impl RawClient {
    /// At most `limit` rows of a part, and where the next ones begin.
    #[wasm_bindgen(js_name = archiveRows)]
    pub fn archive_rows(&self, part: JsValue, from: JsValue, limit: JsValue) -> Promise {
        self.call(async |handle| {
            let part = Arg::new(part, "part").choice(&[Part::Groups, Part::Messages, Part::Consent])?;
            let from = Arg::new(from, "from").optional().map(Arg::bytes).transpose()?;
            let limit = Arg::new(limit, "limit").number()?;
            let chunk = handle.client.archive_rows(part, from, limit).await?;
            let answer = Array::of1(&Uint8Array::from(chunk.rows.as_slice()));
            chunk.next.iter().for_each(|next| _ = answer.push(&Uint8Array::from(next.as_slice())));
            Ok(answer.into())
        })
    }

    /// Applies rows of an archive.
    #[wasm_bindgen(js_name = importRows)]
    pub fn import_rows(&self, rows: JsValue, end: JsValue) -> Promise {
        self.call(async |handle| {
            let rows = Arg::new(rows, "rows").bytes()?;
            let end = Arg::new(end, "end").optional().map(Arg::flag).transpose()?;
            handle.client.import_rows(&rows, end).await?;
            Ok(JsValue::UNDEFINED)
        })
    }
}
