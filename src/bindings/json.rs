//! Many objects at once: written as one JSON text, which the browser parses.
//!
//! A field that is set from here costs a call and the decoding of its name; a page of messages has
//! a thousand of them. What JSON has no form for, bytes and big integers, is set afterwards.

use js_sys::{Array, JSON};
use wasm_bindgen::JsCast;

use crate::base::push_digits;

/// Bytes of the text of most objects.
const USUAL: usize = 1024;

/// An array in the making.
pub struct Json(Vec<u8>);

impl Json {
    /// An empty one, with room for `many` objects.
    pub fn new(many: usize) -> Self {
        let mut text = Vec::with_capacity(many * USUAL);
        text.push(b'[');
        Self(text)
    }

    /// Begins an object, which [`Json::end`] ends.
    pub fn begin(&mut self) {
        self.separate();
        self.0.push(b'{');
    }

    /// Begins an object that is a field of another.
    pub fn field(&mut self, name: &str) {
        self.name(name);
        self.0.push(b'{');
    }

    /// Ends the object begun last.
    pub fn end(&mut self) {
        self.0.push(b'}');
    }

    /// A text.
    pub fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.quote(text);
    }

    /// A text, if there is one.
    pub fn maybe(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// An id, as lowercase hexadecimal digits.
    pub fn id(&mut self, name: &str, id: &[u8]) {
        self.name(name);
        self.0.push(b'"');
        self.hex(id);
        self.0.push(b'"');
    }

    fn hex(&mut self, bytes: &[u8]) {
        push_digits(&mut self.0, bytes);
    }

    /// A number or an enum's value.
    pub fn number(&mut self, name: &str, number: impl Into<i64>) {
        self.name(name);
        match number.into() {
            digit @ 0..=9 => self.0.push(b'0' + digit as u8),
            number => self.0.extend_from_slice(number.to_string().as_bytes()),
        }
    }

    /// The array.
    pub fn parse(mut self) -> Array {
        self.0.push(b']');
        let text = String::from_utf8(self.0).unwrap_or_default();
        JSON::parse(&text).map(JsCast::unchecked_into).unwrap_or_default()
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.quote(name);
        self.0.push(b':');
    }

    fn separate(&mut self) {
        if !matches!(self.0.last(), Some(b'[' | b'{')) {
            self.0.push(b',');
        }
    }

    fn quote(&mut self, text: &str) {
        self.0.push(b'"');
        if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            self.escape(text);
        } else {
            self.0.extend_from_slice(text.as_bytes());
        }
        self.0.push(b'"');
    }

    fn escape(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                b'"' | b'\\' => self.0.push(b'\\'),
                ..b' ' => {
                    self.0.extend_from_slice(b"\\u00");
                    self.hex(&[byte]);
                    continue;
                }
                _ => {}
            }
            self.0.push(byte);
        }
    }
}
