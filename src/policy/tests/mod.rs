//! Tests of policy: fixed tables, evaluation, DMs.

mod dm;
mod eval;
mod tables;

use crate::base::Set;

use super::*;
use crate::base::InboxId;
use crate::meta::component::*;
use crate::meta::*;

pub const OWN: InboxId = InboxId([1; 32]);
pub const PEER: InboxId = InboxId([2; 32]);
pub const OTHER: InboxId = InboxId([3; 32]);

/// An application component, registered with [`registered`].
pub const APP: u16 = 0xC001;

pub fn new_conversation(settings: &Settings) -> NewConversation<'_> {
    NewConversation {
        creator: OWN,
        creator_entry: &[0x0a, 0],
        floor: FIRST_FLOOR,
        settings,
        commit_log_signer: Some(&[7; 32]),
    }
}

pub fn group(rows: &[Row]) -> Components {
    new_group(&new_conversation(&Settings::default()), rows).unwrap()
}

pub fn dm() -> Components {
    new_dm(&new_conversation(&Settings::default()), PEER).unwrap()
}

pub fn authority(components: &Components) -> Authority {
    Authority::committed(Dictionary::new(components)).unwrap()
}

/// The components with another registry entry.
pub fn registered(
    mut components: Components,
    component: u16,
    kind: ComponentType,
    policy: Policy,
) -> Components {
    let entry =
        Entry { type_number: kind as i32, insert: policy.clone(), update: policy.clone(), delete: policy };
    let mut registry = decode_map(KeyKind::Component, &components[&COMPONENT_REGISTRY]).unwrap();
    registry.insert(Key::Component(component), entry.encode());
    components.insert(COMPONENT_REGISTRY, encode_map(&registry));
    components
}

/// The components with these role lists.
pub fn with_roles(mut components: Components, admins: &[InboxId], super_admins: &[InboxId]) -> Components {
    components.insert(ADMIN_LIST, encode_inbox_set(admins));
    components.insert(SUPER_ADMIN_LIST, encode_inbox_set(super_admins));
    components
}

pub fn effect(component: u16, write: Write, key: Option<Key>) -> Effect {
    let value = || Some(Vec::new());
    let (old, new) = match write {
        Write::Insert => (None, value()),
        Write::Update => (value(), value()),
        Write::Delete => (value(), None),
        Write::Touch => (None, None),
    };
    Effect { proposal: 0, component, write, key, old, new }
}

pub fn of_inbox(component: u16, write: Write, inbox: InboxId) -> Effect {
    effect(component, write, Some(Key::Inbox(inbox)))
}

pub fn members(inboxes: &[InboxId]) -> Set<InboxId> {
    inboxes.iter().copied().collect()
}

pub const WRITES: [Write; 3] = [Write::Insert, Write::Update, Write::Delete];
