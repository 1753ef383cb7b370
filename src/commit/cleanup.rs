//! What a sender deletes along with the inboxes it removes (GMOD-039).
//!
//! A courtesy: receivers accept a removal with or without it, so every delete the committed
//! policies do not allow the sender is left out and the removal goes ahead.

use crate::base::Gather as _;
use crate::base::Set;

use crate::base::InboxId;
use crate::meta::component::{ADMIN_LIST, GROUP_MEMBERSHIP, Shape};
use crate::meta::{
    Dictionary, DictionaryError, Effect, Key, KeyKind, MapMutation, SetMutation, Write, decode_map,
    encode_map_delta, encode_set_delta,
};
use crate::mls::facts::RawDictionary;
use crate::policy::Authority;

/// Updates to put inline beside a membership update that removes `removed`, as (component, delta)
/// by component id. `before` is the committed dictionary, `own` the committing inbox.
///
/// The keys of other registered inbox-keyed maps and of ADMIN_LIST are deleted where they are
/// present; policies are asked with the membership after the removal (PERM-027).
pub fn cleanup(
    before: &RawDictionary,
    own: InboxId,
    removed: &Set<InboxId>,
    members_after: &Set<InboxId>,
) -> Result<Vec<(u16, Vec<u8>)>, DictionaryError> {
    let view = Dictionary::new(before);
    let authority = Authority::committed(view)?;
    let allowed = |component: u16, inbox: &InboxId| {
        let key = Some(Key::Inbox(*inbox));
        let old = Some(Vec::new());
        let delete = Effect { proposal: 0, component, write: Write::Delete, key, old, new: None };
        authority.judge_write(own, &delete, members_after).is_ok()
    };
    let registry = view.registry()?;
    let mut updates = Vec::new();
    for component in registry.ids().filter(|id| *id != GROUP_MEMBERSHIP) {
        let present = match registry.shape_of(component) {
            Some(Shape::Map { keys: KeyKind::Inbox, .. }) => keys_of(view, component),
            Some(_) if component == ADMIN_LIST => view.admins()?,
            _ => continue,
        };
        let going: Vec<_> = present.intersection(removed).filter(|inbox| allowed(component, inbox)).collect();
        if going.is_empty() {
            continue;
        }
        let keys = going.into_iter().map(|inbox| Key::Inbox(*inbox));
        let delta = match component {
            ADMIN_LIST => encode_set_delta(&keys.map(SetMutation::Remove).collect::<Vec<_>>()),
            _ => encode_map_delta(&keys.map(MapMutation::Delete).collect::<Vec<_>>()),
        };
        updates.push((component, delta));
    }
    Ok(updates)
}

/// The keys of an inbox-keyed map; none when it is absent or cannot be read.
fn keys_of(view: Dictionary<'_>, component: u16) -> Set<InboxId> {
    let map = view.raw(component).and_then(|bytes| decode_map(KeyKind::Inbox, bytes).ok());
    map.unwrap_or_default().keys().filter_map(Key::inbox).gather()
}
