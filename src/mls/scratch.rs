//! The in-memory rows OpenMLS works on, and what a step changed of them.
//!
//! Loaded from pages before a step, drained into the store's changes after it. Everything between
//! is memory: a savepoint is a handful of reference counts, restoring one undoes every write since.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use openmls_rust_crypto::RustCrypto;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::parts::{self, Entity, FORMAT, PAGE_SIZE, PARTS, Part, Value};
use crate::base::GroupId;

/// Why rows cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScratchError {
    /// Stored MLS state does not decode.
    #[error("stored MLS state is damaged ({0})")]
    Corrupt(String),
    /// Stored MLS state has a format this build does not know.
    #[error("stored MLS state has format {0}, which this version does not know; update the app")]
    Format(u8),
    /// A bug: an entity does not serialise.
    #[error("MLS state does not serialise ({0}); this is a bug, please report it")]
    Encode(String),
}

/// A page written or removed.
#[derive(Clone, PartialEq, Eq)]
pub struct PageChange {
    /// The group.
    pub group: GroupId,
    /// The part's number: 0 hot, 1 cold, 2 pending.
    pub part: u8,
    /// The page's number, from 0.
    pub page: u16,
    /// The new bytes; `None` when the part has become shorter.
    pub bytes: Option<Vec<u8>>,
}

/// A row that belongs to no group, written or removed.
#[derive(Clone, PartialEq, Eq)]
pub struct GlobalChange {
    /// The row's id.
    pub id: Vec<u8>,
    /// The new bytes; `None` when it was removed.
    pub bytes: Option<Vec<u8>>,
}

/// What changed since the rows were loaded or last taken.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ScratchChanges {
    /// Pages of groups.
    pub pages: Vec<PageChange>,
    /// Rows of no group.
    pub globals: Vec<GlobalChange>,
}

impl ScratchChanges {
    /// True when nothing changed.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.globals.is_empty()
    }
}

/// The state of a scratch at one moment. Cheap to take and to keep.
#[derive(Clone)]
pub struct Savepoint(State);

#[derive(Clone, Default)]
struct State {
    groups: BTreeMap<GroupId, [Rc<Part>; PARTS]>,
    globals: Rc<BTreeMap<Vec<u8>, Value>>,
}

/// A part as the store has it.
#[derive(Clone, Default)]
struct Stored {
    part: Rc<Part>,
    bytes: Rc<Zeroizing<Vec<u8>>>,
}

/// The rows of one step.
pub struct Scratch {
    state: RefCell<State>,
    stored: BTreeMap<GroupId, [Stored; PARTS]>,
    stored_globals: Rc<BTreeMap<Vec<u8>, Value>>,
    crypto: RustCrypto,
    #[cfg(test)]
    pub(super) encodings: usize,
}

impl Scratch {
    /// An empty scratch.
    pub fn new() -> Self {
        Self {
            state: RefCell::default(),
            stored: BTreeMap::new(),
            stored_globals: Rc::default(),
            crypto: RustCrypto::default(),
            #[cfg(test)]
            encodings: 0,
        }
    }

    /// Takes in a group's pages as (part, page, bytes), in any order.
    pub fn load(
        &mut self,
        group: GroupId,
        pages: impl IntoIterator<Item = (u8, u16, Vec<u8>)>,
    ) -> Result<(), ScratchError> {
        let mut sorted: [BTreeMap<u16, Vec<u8>>; PARTS] = Default::default();
        for (part, page, bytes) in pages {
            let pages = sorted
                .get_mut(usize::from(part))
                .ok_or_else(|| ScratchError::Corrupt(format!("a page of part {part}")))?;
            pages.insert(page, bytes);
        }
        let mut stored: [Stored; PARTS] = Default::default();
        for (slot, pages) in stored.iter_mut().zip(sorted) {
            let mut bytes = Zeroizing::new(Vec::with_capacity(pages.len() * PAGE_SIZE));
            for (expected, (page, mut content)) in pages.into_iter().enumerate() {
                if usize::from(page) != expected || bytes.len() != expected * PAGE_SIZE {
                    return Err(ScratchError::Corrupt(format!("page {expected} is missing or short")));
                }
                bytes.append(&mut content);
            }
            *slot = Stored { part: Rc::new(Part::decode(&bytes)?), bytes: Rc::new(bytes) };
        }
        let parts = std::array::from_fn(|part| Rc::clone(&stored[part].part));
        self.state.get_mut().groups.insert(group, parts);
        self.stored.insert(group, stored);
        Ok(())
    }

    /// Takes in rows of no group as (id, bytes).
    pub fn load_globals(&mut self, rows: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) {
        let globals = Rc::make_mut(&mut self.state.get_mut().globals);
        let stored = Rc::make_mut(&mut self.stored_globals);
        for (id, bytes) in rows {
            let value = Rc::new(Zeroizing::new(bytes));
            globals.insert(id.clone(), Rc::clone(&value));
            stored.insert(id, value);
        }
    }

    /// All pages of a group as (part, page, bytes): what a store would hold.
    pub fn pages(&self, group: GroupId) -> Result<Vec<(u8, u16, Vec<u8>)>, ScratchError> {
        let state = self.state.borrow();
        let mut pages = Vec::new();
        for (part, content) in state.groups.get(&group).into_iter().flatten().enumerate() {
            let bytes = content.encode()?;
            let numbered = bytes.chunks(PAGE_SIZE).enumerate();
            pages.extend(numbered.map(|(page, bytes)| (part as u8, page as u16, bytes.to_vec())));
        }
        Ok(pages)
    }

    /// All rows of no group as (id, bytes).
    pub fn globals(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let state = self.state.borrow();
        state.globals.iter().map(|(id, bytes)| (id.clone(), bytes.to_vec())).collect()
    }

    /// What changed since the rows were loaded or last taken, page by page. A part that no
    /// write touched is not encoded again.
    pub fn take_changes(&mut self) -> Result<ScratchChanges, ScratchError> {
        let mut changes = ScratchChanges::default();
        let state = self.state.borrow().clone();
        let known: Vec<GroupId> = self.stored.keys().chain(state.groups.keys()).copied().collect();
        for group in known {
            let now = state.groups.get(&group).cloned().unwrap_or_default();
            let stored = self.stored.entry(group).or_default();
            for (part, (now, stored)) in now.into_iter().zip(stored).enumerate() {
                if Rc::ptr_eq(&now, &stored.part) || (now.0.is_empty() && stored.part.0.is_empty()) {
                    continue;
                }
                #[cfg(test)]
                {
                    self.encodings += 1;
                }
                let bytes = now.encode()?;
                diff(group, part as u8, &stored.bytes, &bytes, &mut changes.pages);
                *stored = Stored { part: now, bytes: Rc::new(bytes) };
            }
        }
        self.stored.retain(|group, _| state.groups.contains_key(group));
        if !Rc::ptr_eq(&state.globals, &self.stored_globals) {
            changes.globals = diff_globals(&self.stored_globals, &state.globals);
            self.stored_globals = state.globals;
        }
        Ok(changes)
    }

    /// Marks the state to come back to.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.state.borrow().clone())
    }

    /// Undoes every write since `savepoint`. Groups in memory must be loaded again.
    pub fn restore(&self, savepoint: &Savepoint) {
        *self.state.borrow_mut() = savepoint.0.clone();
    }

    /// Undoes every write since `savepoint` but the ratchet steps of opened messages, so that no
    /// generation is accepted twice. A group whose epoch was moved meanwhile is undone whole:
    /// its ratchets belong to the epoch. Groups in memory must be loaded again.
    pub fn restore_keeping_ratchet(&self, savepoint: &Savepoint) {
        let mut state = self.state.borrow_mut();
        let mut restored = savepoint.0.clone();
        for (group, parts) in &mut restored.groups {
            if let Some(now) = state.groups.get(group).filter(|now| Rc::ptr_eq(&now[1], &parts[1])) {
                parts[0] = Rc::clone(&now[0]);
            }
        }
        *state = restored;
    }

    /// Forgets everything of a group: the own removal, or a join that replaces it.
    pub fn forget(&self, group: GroupId) {
        self.state.borrow_mut().groups.remove(&group);
    }

    /// True when there is any row of the group.
    pub fn holds(&self, group: GroupId) -> bool {
        let state = self.state.borrow();
        state.groups.get(&group).is_some_and(|parts| parts.iter().any(|part| !part.0.is_empty()))
    }

    pub(super) fn rust_crypto(&self) -> &RustCrypto {
        &self.crypto
    }

    pub(super) fn put<T: Serialize>(
        &self,
        group: GroupId,
        entity: Entity,
        suffix: &[u8],
        value: &T,
    ) -> Result<(), ScratchError> {
        let value = Rc::new(parts::encode_to(value, Vec::new())?);
        let mut state = self.state.borrow_mut();
        let part = &mut state.groups.entry(group).or_default()[entity.part()];
        Rc::make_mut(part).0.insert(entity.key(suffix), value);
        Ok(())
    }

    pub(super) fn get<T: DeserializeOwned>(
        &self,
        group: GroupId,
        entity: Entity,
        suffix: &[u8],
    ) -> Result<Option<T>, ScratchError> {
        let value = self.state.borrow().groups.get(&group).and_then(|parts| {
            let part = &parts[entity.part()];
            part.0.get(&entity.key(suffix)).cloned()
        });
        value.map(|value| parts::decode(&value)).transpose()
    }

    pub(super) fn remove(&self, group: GroupId, entity: Entity, suffix: &[u8]) {
        let mut state = self.state.borrow_mut();
        let Some(parts) = state.groups.get_mut(&group) else { return };
        let (part, key) = (&mut parts[entity.part()], entity.key(suffix));
        if part.0.contains_key(&key) {
            Rc::make_mut(part).0.remove(&key);
        }
    }

    pub(super) fn put_global<T: Serialize>(&self, id: Vec<u8>, value: &T) -> Result<(), ScratchError> {
        let value = Rc::new(parts::encode_to(value, vec![FORMAT])?);
        Rc::make_mut(&mut self.state.borrow_mut().globals).insert(id, value);
        Ok(())
    }

    pub(super) fn global<T: DeserializeOwned>(&self, id: &[u8]) -> Result<Option<T>, ScratchError> {
        let value = self.state.borrow().globals.get(id).cloned();
        let Some(value) = value else { return Ok(None) };
        let body = parts::body(&value)?.ok_or_else(|| ScratchError::Corrupt("an empty row".into()))?;
        parts::decode(body).map(Some)
    }

    pub(super) fn remove_global(&self, id: &[u8]) {
        let mut state = self.state.borrow_mut();
        if state.globals.contains_key(id) {
            Rc::make_mut(&mut state.globals).remove(id);
        }
    }

    /// Ids of the rows whose id starts with `kind`.
    pub(super) fn global_ids(&self, kind: u8) -> Vec<Vec<u8>> {
        let state = self.state.borrow();
        state.globals.keys().filter(|id| id.first() == Some(&kind)).cloned().collect()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.borrow();
        let groups: Vec<_> = state.groups.keys().collect();
        f.debug_struct("Scratch").field("groups", &groups).finish_non_exhaustive()
    }
}

/// Compares two encodings page by page.
fn diff(group: GroupId, part: u8, was: &[u8], now: &[u8], out: &mut Vec<PageChange>) {
    let (mut was, mut now) = (was.chunks(PAGE_SIZE), now.chunks(PAGE_SIZE));
    for page in 0..=u16::MAX {
        let bytes = match (was.next(), now.next()) {
            (None, None) => return,
            (was, now) if was == now => continue,
            (_, now) => now.map(<[u8]>::to_vec),
        };
        out.push(PageChange { group, part, page, bytes });
    }
}

fn diff_globals(was: &BTreeMap<Vec<u8>, Value>, now: &BTreeMap<Vec<u8>, Value>) -> Vec<GlobalChange> {
    let removed = was.keys().filter(|id| !now.contains_key(*id));
    let removed = removed.map(|id| GlobalChange { id: id.clone(), bytes: None });
    let written = now.iter().filter(|(id, bytes)| was.get(*id) != Some(bytes));
    let written = written.map(|(id, bytes)| GlobalChange { id: id.clone(), bytes: Some(bytes.to_vec()) });
    removed.chain(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupId = GroupId([1; 16]);

    fn scratch() -> Scratch {
        let mut scratch = Scratch::new();
        scratch.put(GROUP, Entity::MessageSecrets, &[], &vec![1u8; 10_000]).unwrap();
        scratch.put(GROUP, Entity::Tree, &[], &7u8).unwrap();
        scratch.take_changes().unwrap();
        scratch
    }

    fn touched(changes: &ScratchChanges) -> Vec<(u8, u16, bool)> {
        changes.pages.iter().map(|page| (page.part, page.page, page.bytes.is_some())).collect()
    }

    #[test]
    fn only_changed_pages_are_taken_and_only_touched_parts_encoded() {
        let mut scratch = scratch();
        let before = scratch.encodings;
        let mut secrets = vec![1u8; 10_000];
        secrets[5_000] = 2;
        scratch.put(GROUP, Entity::MessageSecrets, &[], &secrets).unwrap();
        assert_eq!(touched(&scratch.take_changes().unwrap()), [(0, 1, true)]);
        assert_eq!(scratch.encodings, before + 1);
        assert!(scratch.take_changes().unwrap().is_empty());
        assert_eq!(scratch.encodings, before + 1);
    }

    #[test]
    fn shorter_parts_and_forgotten_groups_remove_pages() {
        let mut scratch = scratch();
        scratch.put(GROUP, Entity::MessageSecrets, &[], &vec![1u8; 5_000]).unwrap();
        let shorter = touched(&scratch.take_changes().unwrap());
        assert_eq!(shorter, [(0, 0, true), (0, 1, true), (0, 2, false)]);
        scratch.forget(GROUP);
        let gone = touched(&scratch.take_changes().unwrap());
        assert_eq!(gone, [(0, 0, false), (0, 1, false), (1, 0, false)]);
        assert!(!scratch.holds(GROUP));
    }

    #[test]
    fn pages_load_in_any_order_and_gaps_are_refused() {
        let first = scratch();
        let mut pages = first.pages(GROUP).unwrap();
        assert_eq!(pages.len(), 4);
        pages.reverse();
        let mut second = Scratch::new();
        second.load(GROUP, pages.clone()).unwrap();
        assert!(second.pages(GROUP).unwrap() == first.pages(GROUP).unwrap());
        assert!(second.take_changes().unwrap().is_empty());
        pages.retain(|page| (page.0, page.1) != (0, 1));
        assert!(matches!(Scratch::new().load(GROUP, pages), Err(ScratchError::Corrupt(_))));
        assert!(Scratch::new().load(GROUP, [(9, 0, vec![1, 0])]).is_err());
    }

    #[test]
    fn a_restored_savepoint_leaves_nothing_to_take() {
        let mut scratch = scratch();
        let savepoint = scratch.savepoint();
        scratch.put(GROUP, Entity::Tree, &[], &8u8).unwrap();
        scratch.put_global(vec![1], &1u8).unwrap();
        scratch.put(GroupId([2; 16]), Entity::Tree, &[], &8u8).unwrap();
        scratch.restore(&savepoint);
        assert!(scratch.take_changes().unwrap().is_empty());
        // Taken in between: restoring then takes the old state back to the store.
        scratch.put(GROUP, Entity::Tree, &[], &8u8).unwrap();
        scratch.take_changes().unwrap();
        scratch.restore(&savepoint);
        assert_eq!(touched(&scratch.take_changes().unwrap()), [(1, 0, true)]);
    }

    #[test]
    fn the_ratchet_step_alone_survives_a_keeping_restore() {
        let mut scratch = scratch();
        let savepoint = scratch.savepoint();
        scratch.put(GROUP, Entity::MessageSecrets, &[], &9u8).unwrap();
        scratch.put(GROUP, Entity::GroupState, &[], &9u8).unwrap();
        scratch.restore_keeping_ratchet(&savepoint);
        assert!(touched(&scratch.take_changes().unwrap()).iter().all(|(part, ..)| *part == 0));
        assert_eq!(scratch.get::<u8>(GROUP, Entity::MessageSecrets, &[]).unwrap(), Some(9));
        assert_eq!(scratch.get::<u8>(GROUP, Entity::GroupState, &[]).unwrap(), None);
        // An epoch moved meanwhile takes its ratchets with it.
        let savepoint = scratch.savepoint();
        scratch.put(GROUP, Entity::MessageSecrets, &[], &10u8).unwrap();
        scratch.put(GROUP, Entity::Tree, &[], &10u8).unwrap();
        scratch.restore_keeping_ratchet(&savepoint);
        assert!(scratch.take_changes().unwrap().is_empty());
    }

    #[test]
    fn rows_of_no_group_are_compared_by_content() {
        let scratch = Scratch::new();
        scratch.put_global(vec![1, 1], &1u8).unwrap();
        scratch.put_global(vec![2, 1], &2u8).unwrap();
        let rows = scratch.globals();
        let mut second = Scratch::new();
        second.load_globals(rows);
        assert!(second.take_changes().unwrap().is_empty());
        assert_eq!(second.global::<u8>(&[2, 1]).unwrap(), Some(2));
        assert_eq!(second.global_ids(1), [vec![1, 1]]);
        second.remove_global(&[1, 1]);
        second.put_global(vec![2, 1], &2u8).unwrap();
        let changes = second.take_changes().unwrap().globals;
        assert!(changes == [GlobalChange { id: vec![1, 1], bytes: None }]);
    }
}
