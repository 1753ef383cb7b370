//! What needs no client: the id an inbox will have, and signing with a local key.

use js_sys::{Promise, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use zeroize::Zeroize;

use super::life::promise;
use super::options::Arg;
use crate::error::Error;
use crate::identity::{inbox_id, sign_erc191};

/// The id of the inbox that an identifier and a nonce make.
#[wasm_bindgen(js_name = generateInboxId)]
pub fn generate_inbox_id(identifier: JsValue, nonce: JsValue) -> Promise {
    promise(async move {
        let identifier = Arg::new(identifier, "identifier").identifier()?;
        let nonce = Arg::new(nonce, "nonce").unsigned()?;
        Ok(inbox_id(&identifier, nonce).to_string().into())
    })
}

/// Signs a text with a secp256k1 key as wallets do (ERC-191): 65 bytes.
#[wasm_bindgen(js_name = signWithKey)]
pub fn sign_with_key(key: JsValue, text: JsValue) -> Promise {
    promise(async move {
        let mut secret = Arg::new(key, "key").key()?;
        let signature = Arg::new(text, "text").text().and_then(|text| {
            sign_erc191(&secret, &text)
                .map_err(|error| Error::new("input.value", format!("the key cannot sign: {error}")))
        });
        secret.zeroize();
        Ok(Uint8Array::from(signature?.as_slice()).into())
    })
}
