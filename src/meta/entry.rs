//! A registry entry: the type of a component and who may insert, update and delete (META-014).
//!
//! The wire messages are private; [`Entry`] is what is left of one that is structurally complete.
//! A policy tree is read without failing: a node that means nothing becomes
//! [`Policy::Malformed`] in its place, because evaluation depends on which node is reached first
//! (PERM-007, PERM-008).

use prost::Message;

use super::component::ComponentType;

/// A base policy, with its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Everyone.
    Allow = 1,
    /// No one.
    Deny = 2,
    /// Admins and super admins.
    IfAdmin = 3,
    /// Super admins.
    IfSuperAdmin = 4,
    /// One's own inbox key; deletion also of keys whose inbox is no member (PERM-027, PERM-029).
    IfSelfOrNonMember = 5,
}

/// Who may write, as a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A base policy.
    Base(Base),
    /// Every child must allow.
    And(Vec<Policy>),
    /// One child must allow.
    Any(Vec<Policy>),
    /// No kind, an unknown base, or a condition without children.
    Malformed,
}

impl Policy {
    /// No node of the tree is malformed.
    pub fn is_well_formed(&self) -> bool {
        match self {
            Self::Base(_) => true,
            Self::And(children) | Self::Any(children) => {
                !children.is_empty() && children.iter().all(Self::is_well_formed)
            }
            Self::Malformed => false,
        }
    }

    fn from_wire(message: &PolicyMessage) -> Self {
        match &message.kind {
            Some(PolicyKind::Base(number)) => base_from_wire(*number).map_or(Self::Malformed, Self::Base),
            Some(PolicyKind::And(list)) => Self::condition(list, Self::And),
            Some(PolicyKind::Any(list)) => Self::condition(list, Self::Any),
            None => Self::Malformed,
        }
    }

    fn condition(list: &PolicyList, make: fn(Vec<Self>) -> Self) -> Self {
        if list.policies.is_empty() {
            return Self::Malformed;
        }
        make(list.policies.iter().map(Self::from_wire).collect())
    }

    fn to_wire(&self) -> PolicyMessage {
        let list = |children: &[Self]| PolicyList { policies: children.iter().map(Self::to_wire).collect() };
        let kind = match self {
            Self::Base(base) => Some(PolicyKind::Base(*base as i32)),
            Self::And(children) => Some(PolicyKind::And(list(children))),
            Self::Any(children) => Some(PolicyKind::Any(list(children))),
            Self::Malformed => None,
        };
        PolicyMessage { kind }
    }
}

/// A structurally complete registry entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number of the component's type, known or not.
    pub type_number: i32,
    /// Who may insert.
    pub insert: Policy,
    /// Who may update.
    pub update: Policy,
    /// Who may delete.
    pub delete: Policy,
}

impl Entry {
    /// The component's type, when we know it.
    pub fn component_type(&self) -> Option<ComponentType> {
        ComponentType::from_wire(self.type_number)
    }

    /// Reads an entry; `None` when it does not decode or lacks one of the three policies.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let message = ComponentMetadata::decode(bytes).ok()?;
        let permissions = message.permissions?;
        Some(Self {
            type_number: message.component_type,
            insert: Policy::from_wire(&permissions.insert_policy?),
            update: Policy::from_wire(&permissions.update_policy?),
            delete: Policy::from_wire(&permissions.delete_policy?),
        })
    }

    /// The bytes of a new entry. External committers get no permissions, which denies them all.
    pub fn encode(&self) -> Vec<u8> {
        let message = ComponentMetadata {
            component_type: self.type_number,
            permissions: Some(ComponentPermissions {
                insert_policy: Some(self.insert.to_wire()),
                update_policy: Some(self.update.to_wire()),
                delete_policy: Some(self.delete.to_wire()),
            }),
            external_committer_permissions: None,
        };
        message.encode_to_vec()
    }
}

fn base_from_wire(number: i32) -> Option<Base> {
    Some(match number {
        1 => Base::Allow,
        2 => Base::Deny,
        3 => Base::IfAdmin,
        4 => Base::IfSuperAdmin,
        5 => Base::IfSelfOrNonMember,
        _ => return None,
    })
}

#[derive(Clone, PartialEq, Message)]
struct ComponentMetadata {
    #[prost(int32, tag = "1")]
    component_type: i32,
    #[prost(message, optional, tag = "2")]
    permissions: Option<ComponentPermissions>,
    #[prost(message, optional, tag = "3")]
    external_committer_permissions: Option<ComponentPermissions>,
}

#[derive(Clone, PartialEq, Message)]
struct ComponentPermissions {
    #[prost(message, optional, tag = "1")]
    insert_policy: Option<PolicyMessage>,
    #[prost(message, optional, tag = "2")]
    update_policy: Option<PolicyMessage>,
    #[prost(message, optional, tag = "3")]
    delete_policy: Option<PolicyMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct PolicyMessage {
    #[prost(oneof = "PolicyKind", tags = "1, 2, 3")]
    kind: Option<PolicyKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum PolicyKind {
    #[prost(int32, tag = "1")]
    Base(i32),
    #[prost(message, tag = "2")]
    And(PolicyList),
    #[prost(message, tag = "3")]
    Any(PolicyList),
}

#[derive(Clone, PartialEq, Message)]
struct PolicyList {
    #[prost(message, repeated, tag = "1")]
    policies: Vec<PolicyMessage>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(policy: Policy) -> Entry {
        Entry {
            type_number: ComponentType::String as i32,
            insert: policy,
            update: Policy::Base(Base::Deny),
            delete: Policy::Base(Base::IfSuperAdmin),
        }
    }

    fn trees() -> impl Strategy<Value = Policy> {
        let leaf = prop_oneof![
            Just(Policy::Malformed),
            (1i32..6).prop_map(|n| base_from_wire(n).map_or(Policy::Malformed, Policy::Base)),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let children = || prop::collection::vec(inner.clone(), 1..4);
            prop_oneof![children().prop_map(Policy::And), children().prop_map(Policy::Any)]
        })
    }

    #[test]
    fn an_entry_has_the_specified_bytes() {
        let bytes = entry(Policy::Base(Base::Allow)).encode();
        let expected = [
            0x08, 2, // component_type = STRING
            0x12, 12, // permissions
            0x0a, 2, 0x08, 1, // insert_policy = ALLOW
            0x12, 2, 0x08, 2, // update_policy = DENY
            0x1a, 2, 0x08, 4, // delete_policy = ALLOW_IF_SUPER_ADMIN
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn an_entry_needs_all_three_policies() {
        assert_eq!(Entry::decode(&[]), None);
        assert_eq!(Entry::decode(&[0x08, 2]), None);
        assert_eq!(Entry::decode(&[0x12, 8, 0x0a, 2, 0x08, 1, 0x12, 2, 0x08, 2]), None);
        assert_eq!(Entry::decode(&[0xff]), None);
    }

    #[test]
    fn nodes_without_meaning_are_malformed() {
        let permissions = |insert: &[u8]| {
            let mut body = vec![0x0a, insert.len() as u8];
            body.extend(insert);
            body.extend([0x12, 2, 0x08, 1, 0x1a, 2, 0x08, 1]);
            let mut bytes = vec![0x12, body.len() as u8];
            bytes.extend(body);
            Entry::decode(&bytes).unwrap().insert
        };
        assert_eq!(permissions(&[]), Policy::Malformed);
        assert_eq!(permissions(&[0x08, 0]), Policy::Malformed);
        assert_eq!(permissions(&[0x08, 6]), Policy::Malformed);
        assert_eq!(permissions(&[0x12, 0]), Policy::Malformed);
        assert_eq!(permissions(&[0x1a, 0]), Policy::Malformed);
        let mixed = permissions(&[0x1a, 6, 0x0a, 2, 0x08, 1, 0x0a, 0]);
        assert_eq!(mixed, Policy::Any(vec![Policy::Base(Base::Allow), Policy::Malformed]));
        assert!(!mixed.is_well_formed());
    }

    #[test]
    fn a_tree_too_deep_to_read_is_no_entry() {
        let deep = (0..200).fold(Policy::Base(Base::Allow), |inner, _| Policy::And(vec![inner]));
        assert_eq!(Entry::decode(&entry(deep).encode()), None);
    }

    proptest! {
        #[test]
        fn entries_round_trip(policy in trees(), type_number in any::<i32>()) {
            let entry = Entry { type_number, ..entry(policy) };
            prop_assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        }

        #[test]
        fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Entry::decode(&bytes);
        }
    }
}
