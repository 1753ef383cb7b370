//! Constants that any deserialisable type can be read from.
//!
//! OpenMLS asks its storage for a configuration of a generic type and its serde form decodes only
//! from self-describing data; this is the least such data.

use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The type wants another constant. What it says of that is dropped: only a mistake of ours shows it,
/// and the text of it costs every page the printing of numbers.
#[derive(Debug)]
pub(super) struct Unfit;

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the constant does not fit its type")
    }
}

impl std::error::Error for Unfit {}

impl serde::de::Error for Unfit {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// A self-describing constant.
#[derive(Clone, Debug)]
pub(super) enum Plain {
    /// An unsigned number.
    Number(u64),
    /// True or false.
    Flag(bool),
    /// A variant without fields.
    Variant(&'static str),
    /// A struct.
    Fields(Vec<(&'static str, Plain)>),
}

impl IntoDeserializer<'_, Unfit> for Plain {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Plain {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self {
            Plain::Number(number) => visitor.visit_u64(number),
            Plain::Flag(flag) => visitor.visit_bool(flag),
            Plain::Variant(name) => visitor.visit_enum(name.into_deserializer()),
            Plain::Fields(fields) => visitor.visit_map(MapDeserializer::new(fields.into_iter())),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
