//! Many objects at once: written as one JSON text, which the browser parses.
//!
//! A field that is set from here costs a call and the decoding of its name; a page of messages has
//! a thousand of them. What JSON has no form for, bytes and big integers, is set afterwards.

use js_sys::{Array, JSON};
use wasm_bindgen::JsCast;

const DIGITS: [u8; 16] = *b"0123456789abcdef";

/// Bytes of the text of most objects.
const USUAL: usize = 1024;

/// An array in the making.
pub struct Json(String);

impl Json {
    /// An empty one, with room for `many` objects.
    pub fn new(many: usize) -> Self {
        let mut text = String::with_capacity(many * USUAL);
        text.push('[');
        Self(text)
    }

    /// Begins an object, which [`Json::end`] ends.
    pub fn begin(&mut self) {
        self.separate();
        self.0.push('{');
    }

    /// Begins an object that is a field of another.
    pub fn field(&mut self, name: &str) {
        self.name(name);
        self.0.push('{');
    }

    /// Ends the object begun last.
    pub fn end(&mut self) {
        self.0.push('}');
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
        self.0.push('"');
        self.hex(id);
        self.0.push('"');
    }

    fn hex(&mut self, bytes: &[u8]) {
        for byte in bytes {
            for digit in [byte >> 4, byte & 15] {
                self.0.push(char::from(DIGITS[usize::from(digit)]));
            }
        }
    }

    /// A number or an enum's value.
    pub fn number(&mut self, name: &str, number: impl Into<i64>) {
        self.name(name);
        self.0.push_str(&number.into().to_string());
    }

    /// The array.
    pub fn parse(mut self) -> Array {
        self.0.push(']');
        JSON::parse(&self.0).map(JsCast::unchecked_into).unwrap_or_default()
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.quote(name);
        self.0.push(':');
    }

    fn separate(&mut self) {
        if !self.0.ends_with(['[', '{']) {
            self.0.push(',');
        }
    }

    fn quote(&mut self, text: &str) {
        self.0.push('"');
        if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            self.escape(text);
        } else {
            self.0.push_str(text);
        }
        self.0.push('"');
    }

    fn escape(&mut self, text: &str) {
        for char in text.chars() {
            match char {
                '"' | '\\' => self.0.push('\\'),
                '\0'..' ' => {
                    self.0.push_str("\\u00");
                    self.hex(&[char as u8]);
                    continue;
                }
                _ => {}
            }
            self.0.push(char);
        }
    }
}
