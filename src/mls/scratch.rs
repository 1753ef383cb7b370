//! The in-memory rows OpenMLS works on, and what a step changed of them.
//!
//! Loaded from pages before a step, drained into the store's changes after it. Everything between
//! is memory: a savepoint is a handful of reference counts, restoring one undoes every write since.

use crate::base::Map;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::pages::Pages;
use super::parts::{self, Entity, FORMAT, PAGE_SIZE, PARTS, Part, Value};
use super::suite::SuiteCrypto;
use crate::base::GroupId;

/// Bytes an entity may grow by before it moves to a larger place.
const ROOM: usize = 1024;

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
pub struct Savepoint {
    state: State,
    loads: usize,
}

#[derive(Clone, Default)]
struct State {
    groups: Map<GroupId, [Rc<Part>; PARTS]>,
    globals: Rc<Map<Vec<u8>, Value>>,
}

/// Rows taken in from the store. Restoring an older savepoint takes them in again, so that what
/// was loaded late is not mistaken for removed.
enum Loaded {
    Group(GroupId, [Rc<Part>; PARTS]),
    Globals(Vec<(Vec<u8>, Value)>),
}

impl State {
    fn take_in(&mut self, loaded: &Loaded) {
        match loaded {
            Loaded::Group(group, parts) => {
                self.groups.insert(*group, parts.clone());
            }
            Loaded::Globals(rows) => Rc::make_mut(&mut self.globals).extend(rows.iter().cloned()),
        }
    }
}

/// The rows of one step.
pub struct Scratch {
    state: RefCell<State>,
    /// The parts as the store has them.
    stored: Map<GroupId, [Rc<Part>; PARTS]>,
    stored_globals: Rc<Map<Vec<u8>, Value>>,
    loads: Vec<Loaded>,
    crypto: SuiteCrypto,
    #[cfg(test)]
    pub(super) compared: usize,
}

impl Scratch {
    /// An empty scratch.
    pub fn new() -> Self {
        Self {
            state: RefCell::default(),
            stored: Map::new(),
            stored_globals: Rc::default(),
            loads: Vec::new(),
            crypto: SuiteCrypto,
            #[cfg(test)]
            compared: 0,
        }
    }

    /// Takes in a group's pages as (part, page, bytes), in any order.
    pub fn load(
        &mut self,
        group: GroupId,
        pages: impl IntoIterator<Item = (u8, u16, Vec<u8>)>,
    ) -> Result<(), ScratchError> {
        let mut sorted: [Map<u16, Vec<u8>>; PARTS] = Default::default();
        for (part, page, bytes) in pages {
            let pages = sorted
                .get_mut(usize::from(part))
                .ok_or_else(|| ScratchError::Corrupt(format!("a page of part {part}")))?;
            pages.insert(page, bytes);
        }
        let mut stored: [Rc<Part>; PARTS] = Default::default();
        for (slot, pages) in stored.iter_mut().zip(sorted) {
            let mut bytes = Zeroizing::new(Vec::with_capacity(pages.len() * PAGE_SIZE));
            for (expected, (page, mut content)) in pages.into_iter().enumerate() {
                if usize::from(page) != expected || bytes.len() != expected * PAGE_SIZE {
                    return Err(ScratchError::Corrupt(format!("page {expected} is missing or short")));
                }
                bytes.append(&mut content);
            }
            *slot = Rc::new(Part::decode(&bytes)?);
        }
        self.stored.insert(group, stored.clone());
        self.take_in(Loaded::Group(group, stored));
        Ok(())
    }

    /// Takes in rows of no group as (id, bytes).
    pub fn load_globals(&mut self, rows: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) {
        let value = |(id, bytes)| (id, Rc::new(Zeroizing::new(bytes)));
        let rows: Vec<_> = rows.into_iter().map(value).collect();
        Rc::make_mut(&mut self.stored_globals).extend(rows.iter().cloned());
        self.take_in(Loaded::Globals(rows));
    }

    fn take_in(&mut self, loaded: Loaded) {
        self.state.get_mut().take_in(&loaded);
        self.loads.push(loaded);
    }

    /// All pages of a group as (part, page, bytes): what a store would hold.
    pub fn pages(&self, group: GroupId) -> Result<Vec<(u8, u16, Vec<u8>)>, ScratchError> {
        let state = self.state.borrow();
        let mut pages = Vec::new();
        for (part, content) in state.groups.get(&group).into_iter().flatten().enumerate() {
            let numbered = Pages::of(content)?.enumerate();
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
    /// write touched is not looked at. After an error the scratch is of no use: drop it.
    pub fn take_changes(&mut self) -> Result<ScratchChanges, ScratchError> {
        let mut changes = ScratchChanges::default();
        let state = self.state.borrow().clone();
        let known: Vec<GroupId> = self.stored.keys().chain(state.groups.keys()).copied().collect();
        for group in known {
            let now = state.groups.get(&group).cloned().unwrap_or_default();
            let stored = self.stored.entry(group).or_default();
            for (part, (now, stored)) in now.into_iter().zip(stored).enumerate() {
                if Rc::ptr_eq(&now, stored) || (now.0.is_empty() && stored.0.is_empty()) {
                    continue;
                }
                #[cfg(test)]
                {
                    self.compared += 1;
                }
                diff((group, part as u8), Pages::of(stored)?, Pages::of(&now)?, &mut changes.pages);
                *stored = now;
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
        Savepoint { state: self.state.borrow().clone(), loads: self.loads.len() }
    }

    /// Undoes every write since `savepoint`. Groups in memory must be loaded again.
    pub fn restore(&self, savepoint: &Savepoint) {
        *self.state.borrow_mut() = self.state_at(savepoint);
    }

    /// Undoes every write since `savepoint` but the ratchet steps of opened messages, so that no
    /// generation is accepted twice. A group whose epoch was moved meanwhile is undone whole:
    /// its ratchets belong to the epoch. Groups in memory must be loaded again.
    pub fn restore_keeping_ratchet(&self, savepoint: &Savepoint) {
        let mut restored = self.state_at(savepoint);
        let mut state = self.state.borrow_mut();
        for (group, parts) in &mut restored.groups {
            if let Some(now) = state.groups.get(group).filter(|now| Rc::ptr_eq(&now[1], &parts[1])) {
                parts[0] = Rc::clone(&now[0]);
            }
        }
        *state = restored;
    }

    fn state_at(&self, savepoint: &Savepoint) -> State {
        let mut state = savepoint.state.clone();
        self.loads.iter().skip(savepoint.loads).for_each(|loaded| state.take_in(loaded));
        state
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

    pub(super) fn suite(&self) -> &SuiteCrypto {
        &self.crypto
    }

    pub(super) fn put<T: Serialize>(
        &self,
        group: GroupId,
        entity: Entity,
        suffix: &[u8],
        value: &T,
    ) -> Result<(), ScratchError> {
        let key = entity.key(suffix);
        let mut state = self.state.borrow_mut();
        let part = &mut state.groups.entry(group).or_default()[entity.part()];
        // Nearly as long as before: with room for it nothing secret is left behind in smaller ones.
        let room = part.0.get(&key).map_or(0, |before| before.len() + ROOM);
        let value = Rc::new(parts::encode_to(value, Vec::with_capacity(room))?);
        Rc::make_mut(part).0.insert(key, value);
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

    #[cfg(test)]
    pub(super) fn entry_keys(&self, group: GroupId) -> Vec<Vec<u8>> {
        let state = self.state.borrow();
        state.groups[&group].iter().flat_map(|part| part.0.keys().cloned()).collect()
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

/// Compares a part with what the store has of it, page by page.
fn diff((group, part): (GroupId, u8), mut was: Pages<'_>, mut now: Pages<'_>, out: &mut Vec<PageChange>) {
    for page in 0..=u16::MAX {
        let bytes = match (was.next(), now.next()) {
            (None, None) => return,
            (Some(was), Some(now)) if *was == *now => continue,
            (_, now) => now.map(|now| now.to_vec()),
        };
        out.push(PageChange { group, part, page, bytes });
    }
}

fn diff_globals(was: &Map<Vec<u8>, Value>, now: &Map<Vec<u8>, Value>) -> Vec<GlobalChange> {
    let removed = was.keys().filter(|id| !now.contains_key(*id));
    let removed = removed.map(|id| GlobalChange { id: id.clone(), bytes: None });
    let written = now.iter().filter(|(id, bytes)| was.get(*id) != Some(bytes));
    let written = written.map(|(id, bytes)| GlobalChange { id: id.clone(), bytes: Some(bytes.to_vec()) });
    removed.chain(written).collect()
}
