//! The one place that commits: load, decide, apply, emit; repeated when another tab was first.

use std::collections::BTreeMap;

use crate::base::{GroupId, Nanos, ThreadId};
use crate::client::Inner;
use crate::engine::event::Event;
use crate::engine::state::{GroupCtx, ThreadCtx};
use crate::engine::unit::{Ended, Unit};
use crate::error::Error;
use crate::store::StoreError;
use crate::store::rows::CountersRow;

/// How often a step is repeated because another tab committed first.
const REPEATS: usize = 16;
/// A clock is not rounded further than this, in nanoseconds.
const ROUNDED_NS: i64 = 1_000_000_000;
/// Groups kept loaded; beyond it all are dropped and loaded again on use.
const KEPT_GROUPS: usize = 256;

/// Loaded groups and threads. Never ahead of the store: what a step took out comes back only
/// after its commit.
#[derive(Default)]
pub struct Cache {
    pub(super) counters: Option<(CountersRow, u64)>,
    pub(super) groups: BTreeMap<GroupId, GroupCtx>,
    pub(super) threads: BTreeMap<ThreadId, ThreadCtx>,
}

impl Cache {
    /// Forgets everything loaded.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A step under way. Contexts are taken out and handed back; one not handed back is dropped.
pub struct Step<'a> {
    pub(super) inner: &'a Inner,
    pub(super) cache: &'a mut Cache,
    /// What it writes and tells.
    pub unit: Unit,
    groups: Vec<GroupCtx>,
    threads: Vec<ThreadCtx>,
}

impl Step<'_> {
    /// Hands a group back: its changes are part of the step.
    pub fn keep_group(&mut self, group: GroupCtx) {
        self.groups.push(group);
    }

    /// Hands a thread back.
    pub fn keep_thread(&mut self, thread: ThreadCtx) {
        self.threads.push(thread);
    }

    /// The group this step hands back, when it is one.
    pub fn joined_group(&self) -> Option<GroupId> {
        self.groups.last().map(|group| group.row.id)
    }
}

/// Why a step did not commit.
pub enum StepError {
    /// A row to insert is there already: look first, then repeat.
    Taken,
    /// Anything an app can be told.
    Other(Error),
}

impl<E: Into<Error>> From<E> for StepError {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Inner {
    /// Runs `decide` and commits what it made, repeating it on fresh rows when another tab was
    /// first.
    pub async fn step<T>(
        &self,
        decide: impl AsyncFnMut(&mut Step<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.try_step(decide).await {
            Ok(value) => Ok(value),
            Err(StepError::Other(error)) => Err(error),
            Err(StepError::Taken) => Err(StoreError::Exists.into()),
        }
    }

    /// Like [`Inner::step`], telling an insert of a taken key apart.
    pub async fn try_step<T>(
        &self,
        mut decide: impl AsyncFnMut(&mut Step<'_>) -> Result<T, Error>,
    ) -> Result<T, StepError> {
        let mut cache = self.cache.lock().await;
        for _ in 0..REPEATS {
            self.open()?;
            if cache.groups.len() > KEPT_GROUPS {
                cache.clear();
            }
            let (counters, revision) = self.counters(&mut cache).await?;
            let unit = Unit::new(self.next_ns(), counters, revision);
            let mut step =
                Step { inner: self, cache: &mut cache, unit, groups: Vec::new(), threads: Vec::new() };
            let value = decide(&mut step).await?;
            for group in &mut step.groups {
                group.flush(&mut step.unit)?;
            }
            // Closed while it was deciding: nothing more is written.
            self.open()?;
            match self.commit(step).await {
                Ok((events, ended)) => {
                    drop(cache);
                    self.operations.note(ended);
                    self.hub.emit(events);
                    return Ok(value);
                }
                Err(StoreError::Stale) => cache.clear(),
                Err(StoreError::Exists) => {
                    cache.clear();
                    return Err(StepError::Taken);
                }
                Err(error) => {
                    cache.clear();
                    return Err(error.into());
                }
            }
        }
        Err(Error::new("store.failed", "another tab kept changing the same data; try again").into())
    }

    /// The local clock, rising with every step: browsers round it, and messages sent within one
    /// tick keep their order. A clock that was set back is followed.
    fn next_ns(&self) -> Nanos {
        let (now, last) = (self.platform.now().0, self.last_ns.get());
        let rounded = now <= last && last - now < ROUNDED_NS;
        Nanos(if rounded { last + 1 } else { now })
    }

    async fn commit(&self, step: Step<'_>) -> Result<(Vec<Event>, Vec<Ended>), StoreError> {
        let Step { cache, mut unit, groups, threads, .. } = step;
        let ended = std::mem::take(&mut unit.ended);
        self.last_ns.set(unit.last_tick().0);
        let (changes, events, counters) = unit.finish();
        if !changes.is_empty() {
            self.store.apply(changes).await?;
            cache.counters = Some(counters);
        }
        cache.groups.extend(groups.into_iter().map(|group| (group.row.id, group)));
        cache.threads.extend(threads.into_iter().map(|thread| (thread.id, thread)));
        Ok((events, ended))
    }
}
