//! Component ids, map/set/delta codecs, registry, dictionary, proposal list to next dictionary (META).
//!
//! The dictionary's bytes enter the key schedule, so everything here is exact: one encoding per
//! value, strict decoding, whole lists applied or not at all. Who may write is `policy`'s question;
//! this module says what a write does and whether it can be one.

pub mod component;
mod create;
mod delta;
mod dictionary;
mod entry;
mod registry;
mod tls_map;
mod update;

pub use component::{ComponentType, ConversationType, Shape, ValueError};
pub use create::{CreateError, FIRST_FLOOR, NewConversation, Settings, new_dictionary};
pub use delta::{
    Change, DeltaError, MapMutation, SetMutation, apply_map_delta, apply_set_delta, decode_map_delta,
    decode_set_delta, encode_map_delta, encode_set_delta, key_hash,
};
pub use dictionary::{Components, Dictionary, DictionaryError, Disappearing};
pub use entry::{Base, Entry, Policy};
pub use registry::{Registry, RegistryError, encode_registry};
pub use tls_map::{
    CodecError, Entries, Key, KeyKind, decode_inbox_set, decode_map, decode_set, encode_inbox_map,
    encode_inbox_set, encode_map, encode_set, inbox_bytes, inbox_entries, read_inbox,
};
pub use update::{Effect, MetaError, Op, Write, next_dictionary};

#[cfg(test)]
mod tests;
