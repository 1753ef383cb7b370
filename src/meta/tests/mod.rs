//! Tests of whole update lists.

mod lists;
mod writes;

use crate::base::Map;

use super::component::*;
use super::*;
use crate::base::InboxId;

/// An application map keyed by byte strings, registered in [`group`].
pub const APP_MAP: u16 = 0xC001;
/// An application scalar, registered.
pub const APP_SCALAR: u16 = 0xC002;
/// An application set of inboxes, immutable, registered.
pub const APP_FIXED_SET: u16 = 0xFD01;
/// Registered with a type nobody knows.
pub const APP_UNKNOWN: u16 = 0xC004;

pub fn inbox(n: u8) -> InboxId {
    InboxId([n; 32])
}

pub fn entry(kind: i32, base: Base) -> Entry {
    let policy = Policy::Base(base);
    Entry { type_number: kind, insert: policy.clone(), update: policy.clone(), delete: policy }
}

/// A group of inbox 1, with the registry entries the tests need.
pub fn group() -> Components {
    let rows = [
        (ADMIN_LIST, entry(6, Base::IfSuperAdmin)),
        (GROUP_MEMBERSHIP, entry(4, Base::Allow)),
        (GROUP_NAME, entry(2, Base::Allow)),
        (APP_MAP, entry(3, Base::Allow)),
        (APP_SCALAR, entry(1, Base::Allow)),
        (APP_FIXED_SET, entry(6, Base::Allow)),
        (APP_UNKNOWN, entry(77, Base::Allow)),
    ];
    let registry = encode_registry(rows.iter().map(|(id, entry)| (*id, entry)));
    let new = NewConversation {
        creator: inbox(1),
        creator_entry: &[1],
        floor: FIRST_FLOOR,
        settings: &Settings { name: Some("old".into()), ..Settings::default() },
        commit_log_signer: None,
    };
    new_dictionary(&new, None, registry).unwrap()
}

pub fn set(component: u16, value: impl Into<Vec<u8>>) -> (u16, Op) {
    (component, Op::Update(value.into()))
}

pub fn map_delta(component: u16, mutations: &[MapMutation]) -> (u16, Op) {
    (component, Op::Update(encode_map_delta(mutations)))
}

pub fn set_delta(component: u16, mutations: &[SetMutation]) -> (u16, Op) {
    (component, Op::Update(encode_set_delta(mutations)))
}

pub fn remove(component: u16) -> (u16, Op) {
    (component, Op::Remove)
}

pub fn refused(before: &Components, updates: &[(u16, Op)]) -> MetaError {
    next_dictionary(before, updates).unwrap_err()
}
