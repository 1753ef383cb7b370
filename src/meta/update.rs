//! From a commit's list of component updates to the next dictionary, for sender and receiver alike
//! (GMOD-030, META-003, META-004, META-010, META-064).
//!
//! The list is judged first, whole, under draft-ietf-mls-extensions-08 section 4.7: per component
//! either Updates or one Remove, of something that is there. Then each Update applies to the
//! snapshot the previous one left, in list order. Types come from the registry as it was before
//! the commit, so registering a component and writing it takes two commits (PERM-010). Nothing is
//! kept of a list that fails.
//!
//! What the texts leave open: a floor that is written must be a semantic version, and the policies
//! of membership and admin list are checked on the registry the whole list leaves (PERM-017).

use crate::base::Set;

use super::component::{COMPONENT_REGISTRY, Range, Shape, ValueError, check_value, is_immutable, range};
use super::delta::{
    Change, DeltaError, MapMutation, SetMutation, apply_map_delta, apply_set_delta, decode_map_delta,
    decode_set_delta,
};
use super::dictionary::{Components, Dictionary, DictionaryError};
use super::registry::{Registry, RegistryError, check_registry_delta};
use super::tls_map::{CodecError, Key, decode_map, decode_set, encode_map, encode_set};

/// What an AppDataUpdate does to its component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Replaces a scalar, or applies a delta to a set or map.
    Update(Vec<u8>),
    /// Removes the component.
    Remove,
}

/// Which policy an elementary write is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// A new key of a set or map.
    Insert,
    /// A new value of a key; every scalar Update, whether or not there was a value (PERM section 3).
    Update,
    /// A key removed, or a whole component (no key).
    Delete,
    /// A delta without mutations: no policy is asked, but the component must be writable at all.
    Touch,
}

/// One elementary write, in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Index of its update in the list, by which its proposer is known.
    pub proposal: usize,
    /// The component.
    pub component: u16,
    /// What kind of write.
    pub write: Write,
    /// The key, for one element of a set or map.
    pub key: Option<Key>,
    /// The value before (of the key, or whole); `None` when there was none.
    pub old: Option<Vec<u8>>,
    /// The value after; `None` when there is none.
    pub new: Option<Vec<u8>>,
}

/// Why a list of updates is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaError {
    /// META-003.
    #[error("component {0:#06x} is reserved and never written")]
    Reserved(u16),
    /// An id that is no component of XMTP.
    #[error("id {0:#06x} is not a component")]
    NotAComponent(u16),
    /// GMOD-030.
    #[error("one commit both updates and removes component {0:#06x}")]
    UpdateAndRemove(u16),
    /// GMOD-030.
    #[error("one commit removes component {0:#06x} more than once")]
    RemovedTwice(u16),
    /// GMOD-030.
    #[error("component {0:#06x} is removed but not there")]
    RemoveAbsent(u16),
    /// META-004.
    #[error("component {0:#06x} is written once and never changed")]
    Immutable(u16),
    /// META-015.
    #[error("the component registry may not be removed")]
    RegistryRemoved,
    /// Neither well-known nor registered with a known type (META-010, PERM-012).
    #[error("component {0:#06x} has no known type; register it in an earlier commit")]
    Untyped(u16),
    /// The payload is not a delta.
    #[error("the update of component {component:#06x} cannot be read: {source}")]
    Payload {
        /// Which component.
        component: u16,
        /// What is wrong.
        source: CodecError,
    },
    /// The delta does not fit the value before it (META-013).
    #[error("the update of component {component:#06x} does not apply: {source}")]
    Delta {
        /// Which component.
        component: u16,
        /// What is wrong.
        source: DeltaError,
    },
    /// The resulting value is not allowed (META-010).
    #[error("component {component:#06x} may not have this value: {source}")]
    Value {
        /// Which component.
        component: u16,
        /// What is wrong.
        source: ValueError,
    },
    /// The registry may not change like this.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The dictionary before the commit cannot be read.
    #[error(transparent)]
    Stored(#[from] DictionaryError),
}

/// The dictionary after `updates`, and every elementary write they make.
///
/// `updates` are the AppDataUpdate proposals of one commit in commit order, without duplicates of
/// the same proposal; a proposal alone is judged as a list of one. Components that are not named
/// keep their bytes (META-017).
pub fn next_dictionary(
    before: &Components,
    updates: &[(u16, Op)],
) -> Result<(Components, Vec<Effect>), MetaError> {
    check_list(before, updates)?;
    let registry = committed_registry(before)?;
    let mut after = before.clone();
    let mut effects = Vec::new();
    for (proposal, (component, op)) in updates.iter().enumerate() {
        let shape = registry.shape_of(*component).ok_or(MetaError::Untyped(*component))?;
        let mut step = Step { proposal, component: *component, shape, effects: &mut effects };
        match op {
            Op::Remove => {
                let old = after.remove(component);
                step.whole(Write::Delete, old, None);
            }
            Op::Update(payload) => {
                let value = step.update(after.get(component).map(Vec::as_slice), payload)?;
                after.insert(*component, value);
            }
        }
    }
    if updates.iter().any(|(component, _)| *component == COMPONENT_REGISTRY) {
        Dictionary::new(&after).registry()?.check_action_policies()?;
    }
    Ok((after, effects))
}

/// GMOD-030 and what no update may do to the ids it names.
fn check_list(before: &Components, updates: &[(u16, Op)]) -> Result<(), MetaError> {
    let mut updated = Set::new();
    let mut removed = Set::new();
    for (component, op) in updates {
        let id = *component;
        match range(id) {
            Range::Reserved => return Err(MetaError::Reserved(id)),
            Range::Outside => return Err(MetaError::NotAComponent(id)),
            Range::Protocol | Range::Application => {}
        }
        let fresh = match op {
            Op::Update(_) => updated.insert(id),
            Op::Remove if !removed.insert(id) => return Err(MetaError::RemovedTwice(id)),
            Op::Remove if !before.contains_key(&id) => return Err(MetaError::RemoveAbsent(id)),
            Op::Remove if id == COMPONENT_REGISTRY => return Err(MetaError::RegistryRemoved),
            Op::Remove => true,
        };
        if updated.contains(&id) && removed.contains(&id) {
            return Err(MetaError::UpdateAndRemove(id));
        }
        if is_immutable(id) && (!fresh || before.contains_key(&id)) {
            return Err(MetaError::Immutable(id));
        }
    }
    Ok(())
}

/// The registry that types this commit's writes; a dictionary without one has no entries.
fn committed_registry(before: &Components) -> Result<Registry, MetaError> {
    match Dictionary::new(before).registry() {
        Err(DictionaryError::Missing(_)) => Ok(Registry::default()),
        read => Ok(read?),
    }
}

/// One update being applied.
struct Step<'a> {
    proposal: usize,
    component: u16,
    shape: Shape,
    effects: &'a mut Vec<Effect>,
}

impl Step<'_> {
    fn update(&mut self, before: Option<&[u8]>, payload: &[u8]) -> Result<Vec<u8>, MetaError> {
        let component = self.component;
        let value = match self.shape {
            Shape::Scalar { .. } => payload.to_vec(),
            Shape::Set { keys } => {
                let delta = decode_set_delta(keys, payload).map_err(|e| self.payload(e))?;
                self.insert_only(delta.iter().all(|m| matches!(m, SetMutation::Insert(_))))?;
                let old = before.map(|bytes| decode_set(keys, bytes)).transpose();
                let old = old.map_err(|e| self.stored(e))?.unwrap_or_default();
                let (set, changes) = apply_set_delta(&old, &delta).map_err(|e| self.delta(e))?;
                self.elements(changes);
                encode_set(&set)
            }
            Shape::Map { keys, .. } => {
                let delta = decode_map_delta(keys, payload).map_err(|e| self.payload(e))?;
                self.insert_only(delta.iter().all(|m| matches!(m, MapMutation::Insert(..))))?;
                if component == COMPONENT_REGISTRY {
                    check_registry_delta(&delta)?;
                }
                let old = before.map(|bytes| decode_map(keys, bytes)).transpose();
                let old = old.map_err(|e| self.stored(e))?.unwrap_or_default();
                let (map, changes) = apply_map_delta(&old, &delta).map_err(|e| self.delta(e))?;
                self.elements(changes);
                encode_map(&map)
            }
        };
        check_value(component, self.shape, &value).map_err(|e| self.value(e))?;
        if matches!(self.shape, Shape::Scalar { .. }) {
            self.whole(Write::Update, before.map(<[u8]>::to_vec), Some(value.clone()));
        }
        Ok(value)
    }

    /// The first write of an immutable set or map only inserts (META-004).
    fn insert_only(&self, inserts: bool) -> Result<(), MetaError> {
        if inserts || !is_immutable(self.component) {
            Ok(())
        } else {
            Err(MetaError::Immutable(self.component))
        }
    }

    fn elements(&mut self, changes: Vec<Change>) {
        if changes.is_empty() {
            self.whole(Write::Touch, None, None);
        }
        for Change { key, old, new } in changes {
            let write = match (&old, &new) {
                (None, _) => Write::Insert,
                (Some(_), Some(_)) => Write::Update,
                (Some(_), None) => Write::Delete,
            };
            self.push(write, Some(key), old, new);
        }
    }

    fn whole(&mut self, write: Write, old: Option<Vec<u8>>, new: Option<Vec<u8>>) {
        self.push(write, None, old, new);
    }

    fn push(&mut self, write: Write, key: Option<Key>, old: Option<Vec<u8>>, new: Option<Vec<u8>>) {
        let (proposal, component) = (self.proposal, self.component);
        self.effects.push(Effect { proposal, component, write, key, old, new });
    }

    fn payload(&self, source: CodecError) -> MetaError {
        MetaError::Payload { component: self.component, source }
    }

    fn delta(&self, source: DeltaError) -> MetaError {
        MetaError::Delta { component: self.component, source }
    }

    fn stored(&self, source: CodecError) -> MetaError {
        DictionaryError::Malformed { component: self.component, source: source.into() }.into()
    }

    fn value(&self, source: ValueError) -> MetaError {
        MetaError::Value { component: self.component, source }
    }
}
