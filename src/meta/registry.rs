//! The registry: which type and policies each component has (META-014 to META-016, PERM-017).
//!
//! Reading is tolerant, writing is strict. An entry that cannot be used (undecodable, incomplete,
//! for an id that may have none, or an admin list open to more than PERM-017 permits) is treated
//! as absent, which denies by default. Changes are deltas on the stored map, so the bytes of
//! entries a delta does not name are never touched.

use crate::base::Gather as _;
use crate::base::Map;

use super::component::{
    ADMIN_LIST, GROUP_MEMBERSHIP, Range, Shape, built_in_shape, is_hardcoded, is_immutable, range,
};
use super::delta::MapMutation;
use super::entry::{Base, Entry, Policy};
use super::tls_map::{CodecError, Key, KeyKind, decode_map, encode_map};

/// Why a change of the registry is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// An entry for an id outside the component space, reserved or hardcoded (META-014).
    #[error("component {0:#06x} may not have a registry entry")]
    NotRegistrable(u16),
    /// An entry that does not decode or lacks a policy (META-014).
    #[error("the registry entry written for component {0:#06x} is incomplete")]
    Incomplete(u16),
    /// A change of an immutable component's entry (META-015).
    #[error("the registry entry of immutable component {0:#06x} may not change")]
    Frozen(u16),
    /// Membership or admin list without usable entry, or with a malformed action policy (PERM-017).
    #[error("the policies of component {0:#06x} would be missing, malformed or too wide")]
    ActionPolicy(u16),
}

/// The usable entries of a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    entries: Map<u16, Entry>,
}

impl Registry {
    /// Reads the component; fails only when it is not an ordered map of component ids.
    pub fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        let entries = decode_map(KeyKind::Component, bytes)?
            .into_iter()
            .filter_map(|(key, value)| match key {
                Key::Component(id) => Some((id, Entry::decode(&value)?)),
                Key::Inbox(_) | Key::Bytes(_) => None,
            })
            .filter(|(id, entry)| is_usable(*id, entry))
            .gather();
        Ok(Self { entries })
    }

    /// The entry of a component, when it has a usable one.
    pub fn entry(&self, id: u16) -> Option<&Entry> {
        self.entries.get(&id)
    }

    /// All components with a usable entry, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u16> + '_ {
        self.entries.keys().copied()
    }

    /// How a component is encoded: well-known ones by definition, others by their entry
    /// (PERM-014). `None` when neither says.
    pub fn shape_of(&self, id: u16) -> Option<Shape> {
        built_in_shape(id).or_else(|| self.entry(id)?.component_type().map(|kind| kind.shape()))
    }

    /// Checks that every later membership and admin change stays decidable (PERM-017).
    pub fn check_action_policies(&self) -> Result<(), RegistryError> {
        for id in [GROUP_MEMBERSHIP, ADMIN_LIST] {
            let decidable = self
                .entry(id)
                .is_some_and(|entry| entry.insert.is_well_formed() && entry.delete.is_well_formed());
            if !decidable {
                return Err(RegistryError::ActionPolicy(id));
            }
        }
        Ok(())
    }
}

/// The component's bytes for a new group.
pub fn encode_registry<'a>(entries: impl IntoIterator<Item = (u16, &'a Entry)>) -> Vec<u8> {
    encode_map(&entries.into_iter().map(|(id, entry)| (Key::Component(id), entry.encode())).gather())
}

/// Checks what a delta writes into the registry (META-014, META-015).
pub(super) fn check_registry_delta(mutations: &[MapMutation]) -> Result<(), RegistryError> {
    for mutation in mutations {
        let (key, written, replaces) = match mutation {
            MapMutation::Insert(key, value) => (key, Some(value), false),
            MapMutation::Update(key, value) => (key, Some(value), true),
            MapMutation::Delete(key) => (key, None, true),
        };
        let Key::Component(id) = *key else { continue };
        if !is_registrable(id) {
            return Err(RegistryError::NotRegistrable(id));
        }
        if replaces && is_immutable(id) {
            return Err(RegistryError::Frozen(id));
        }
        if written.is_some_and(|value| Entry::decode(value).is_none()) {
            return Err(RegistryError::Incomplete(id));
        }
    }
    Ok(())
}

fn is_registrable(id: u16) -> bool {
    matches!(range(id), Range::Protocol | Range::Application) && !is_hardcoded(id)
}

fn is_usable(id: u16, entry: &Entry) -> bool {
    let narrow =
        |policy: &Policy| matches!(policy, Policy::Base(Base::Deny | Base::IfAdmin | Base::IfSuperAdmin));
    is_registrable(id)
        && (id != ADMIN_LIST || [&entry.insert, &entry.update, &entry.delete].into_iter().all(narrow))
}

#[cfg(test)]
mod tests {
    use super::super::component::{COMPONENT_REGISTRY, ComponentType, GROUP_NAME, SUPER_ADMIN_LIST};
    use super::super::tls_map::encode_map;
    use super::*;

    fn entry(policy: Policy) -> Entry {
        Entry {
            type_number: ComponentType::Bytes as i32,
            insert: policy.clone(),
            update: policy.clone(),
            delete: policy,
        }
    }

    fn base(base: Base) -> Entry {
        entry(Policy::Base(base))
    }

    fn registry(entries: &[(u16, Entry)]) -> Registry {
        Registry::decode(&encode_registry(entries.iter().map(|(id, entry)| (*id, entry)))).unwrap()
    }

    #[test]
    fn unusable_entries_read_as_absent() {
        let read = registry(&[
            (GROUP_NAME, base(Base::Allow)),
            (0x7000, base(Base::Allow)),
            (COMPONENT_REGISTRY, base(Base::Allow)),
            (SUPER_ADMIN_LIST, base(Base::Allow)),
            (0xFF01, base(Base::Allow)),
        ]);
        assert_eq!(read.ids().collect::<Vec<_>>(), [GROUP_NAME]);

        let raw = Map::from([
            (Key::Component(GROUP_NAME), vec![0xff]),
            (Key::Component(0xC001), base(Base::Deny).encode()),
        ]);
        let read = Registry::decode(&encode_map(&raw)).unwrap();
        assert_eq!(read.ids().collect::<Vec<_>>(), [0xC001]);
        assert!(Registry::decode(&[1]).is_err());
    }

    #[test]
    fn perm_017_admin_list_takes_three_base_policies_only() {
        for allowed in [Base::Deny, Base::IfAdmin, Base::IfSuperAdmin] {
            assert!(registry(&[(ADMIN_LIST, base(allowed))]).entry(ADMIN_LIST).is_some());
        }
        let condition = Policy::And(vec![Policy::Base(Base::Deny)]);
        let bad = [
            base(Base::Allow),
            base(Base::IfSelfOrNonMember),
            entry(condition),
            Entry { update: Policy::Base(Base::Allow), ..base(Base::Deny) },
        ];
        for entry in bad {
            assert!(registry(&[(ADMIN_LIST, entry)]).entry(ADMIN_LIST).is_none());
        }
    }

    #[test]
    fn perm_017_action_policies_stay_decidable() {
        let admins = (ADMIN_LIST, base(Base::Deny));
        let good = registry(&[(GROUP_MEMBERSHIP, base(Base::Allow)), admins.clone()]);
        assert_eq!(good.check_action_policies(), Ok(()));

        let malformed = entry(Policy::Any(vec![Policy::Base(Base::Allow), Policy::Malformed]));
        let broken = registry(&[(GROUP_MEMBERSHIP, malformed.clone()), admins.clone()]);
        assert_eq!(broken.check_action_policies(), Err(RegistryError::ActionPolicy(GROUP_MEMBERSHIP)));
        // The update policy is not an action policy.
        let update_only = Entry { update: Policy::Malformed, ..base(Base::Allow) };
        assert_eq!(registry(&[(GROUP_MEMBERSHIP, update_only), admins]).check_action_policies(), Ok(()));

        let without_admins = registry(&[(GROUP_MEMBERSHIP, base(Base::Allow))]);
        assert_eq!(without_admins.check_action_policies(), Err(RegistryError::ActionPolicy(ADMIN_LIST)));
    }

    #[test]
    fn meta_014_writes_are_strict() {
        let good = base(Base::Allow).encode();
        for id in [0x7FFF, COMPONENT_REGISTRY, SUPER_ADMIN_LIST, 0xFF00] {
            let insert = MapMutation::Insert(Key::Component(id), good.clone());
            let delete = MapMutation::Delete(Key::Component(id));
            assert_eq!(check_registry_delta(&[insert]), Err(RegistryError::NotRegistrable(id)));
            assert_eq!(check_registry_delta(&[delete]), Err(RegistryError::NotRegistrable(id)));
        }
        let key = || Key::Component(0xC001);
        assert_eq!(check_registry_delta(&[MapMutation::Insert(key(), good.clone())]), Ok(()));
        assert_eq!(check_registry_delta(&[MapMutation::Delete(key())]), Ok(()));
        for bad in [vec![], vec![0xff], good[..good.len() - 4].to_vec()] {
            let update = MapMutation::Update(key(), bad);
            assert_eq!(check_registry_delta(&[update]), Err(RegistryError::Incomplete(0xC001)));
        }
        // An unknown type is complete, it only gives no encoding.
        let unknown = Entry { type_number: 99, ..base(Base::Allow) };
        let insert = MapMutation::Insert(key(), unknown.encode());
        assert_eq!(check_registry_delta(&[insert]), Ok(()));
        assert_eq!(registry(&[(0xC001, unknown)]).shape_of(0xC001), None);
    }

    #[test]
    fn meta_015_entries_of_immutable_components_are_frozen() {
        let good = base(Base::Deny).encode();
        let key = || Key::Component(0xFD00);
        assert_eq!(check_registry_delta(&[MapMutation::Insert(key(), good.clone())]), Ok(()));
        for change in [MapMutation::Update(key(), good), MapMutation::Delete(key())] {
            assert_eq!(check_registry_delta(&[change]), Err(RegistryError::Frozen(0xFD00)));
        }
    }

    #[test]
    fn well_known_components_keep_their_type() {
        let read = registry(&[
            (GROUP_NAME, Entry { type_number: 6, ..base(Base::Allow) }),
            (0xC001, Entry { type_number: 2, ..base(Base::Allow) }),
        ]);
        assert_eq!(read.shape_of(GROUP_NAME), Some(Shape::Scalar { text: true }));
        assert_eq!(read.shape_of(0xC001), Some(Shape::Scalar { text: true }));
        assert_eq!(read.shape_of(0xC002), None);
    }
}
