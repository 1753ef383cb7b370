//! The one place that commits: load, decide, apply, emit; repeated when another tab was first.

use crate::base::Map;

use futures::lock::MutexGuard;

use crate::base::{GroupId, Nanos, ThreadId};
use crate::client::{Inner, expiry};
use crate::engine::event::{Event, arrange};
use crate::engine::state::{GroupCtx, ThreadCtx};
use crate::engine::unit::{Ended, Unit};
use crate::error::Error;
use crate::store::StoreError;
use crate::store::rows::{CountersRow, GroupKind};

/// How often a step is repeated because another tab committed first.
const REPEATS: usize = 16;
/// A clock is not rounded further than this, in nanoseconds.
const ROUNDED_NS: i64 = 1_000_000_000;
/// Groups kept loaded; beyond it all are dropped and loaded again on use.
const KEPT_GROUPS: usize = 256;
/// The same for threads, which are smaller.
const KEPT_THREADS: usize = 1024;

/// Loaded groups and threads. Never ahead of the store: what a step took out comes back only
/// after its commit.
#[derive(Default)]
pub struct Cache {
    pub(super) counters: Option<(CountersRow, u64)>,
    pub(super) groups: Map<GroupId, GroupCtx>,
    pub(super) threads: Map<ThreadId, ThreadCtx>,
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
    pub(super) threads: Vec<ThreadCtx>,
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
        self.try_step(false, decide).await.map_err(|error| match error {
            StepError::Other(error) => error,
            StepError::Taken => StoreError::Exists.into(),
        })
    }

    /// Like [`Inner::step`], telling an insert of a taken key apart. One that is `urgent` does not
    /// queue behind those that are not, but for the one whose turn it is.
    pub async fn try_step<T>(
        &self,
        urgent: bool,
        mut decide: impl AsyncFnMut(&mut Step<'_>) -> Result<T, Error>,
    ) -> Result<T, StepError> {
        // Compiled once for every step there is, so it holds no more than it must.
        let (turn, mut cache) = self.turn(urgent).await;
        for _ in 0..REPEATS {
            let mut step = self.begin(&mut cache).await?;
            let value = decide(&mut step).await?;
            if let Some((events, ended)) = self.end(step).await? {
                drop((cache, turn));
                self.operations.note(ended);
                self.hub.emit(events);
                return Ok(value);
            }
        }
        Err(contended().into())
    }

    async fn turn(&self, urgent: bool) -> (Option<MutexGuard<'_, ()>>, MutexGuard<'_, Cache>) {
        let turn = if urgent { None } else { Some(self.background.lock().await) };
        (turn, self.cache.lock().await)
    }

    async fn begin<'a>(&'a self, cache: &'a mut Cache) -> Result<Step<'a>, Error> {
        self.open()?;
        if cache.groups.len() > KEPT_GROUPS || cache.threads.len() > KEPT_THREADS {
            cache.clear();
        }
        let (counters, revision) = self.counters(cache).await?;
        let unit = Unit::new(self.next_ns(), counters, revision);
        Ok(Step { inner: self, cache, unit, groups: Vec::new(), threads: Vec::new() })
    }

    /// Commits a step; `None` when another tab was first, and it is to be repeated.
    async fn end(&self, mut step: Step<'_>) -> Result<Option<(Vec<Event>, Vec<Ended>)>, StepError> {
        if !step.unit.judged.is_empty() {
            step.judge().await?;
        }
        if !step.unit.transcripts.is_empty() {
            step.keep_numbers().await?;
        }
        for group in &mut step.groups {
            group.flush(&mut step.unit)?;
        }
        // Closed while it was deciding: nothing more is written.
        self.open()?;
        let Step { cache, mut unit, groups, threads, .. } = step;
        let (ended, owes) = (std::mem::take(&mut unit.ended), unit.owes);
        self.last_ns.set(unit.last_tick().0);
        let (changes, events, counters) = unit.finish();
        let of_devices = |group: &&GroupCtx| group.row.kind == GroupKind::Sync;
        let hidden: Vec<GroupId> = groups.iter().filter(of_devices).map(|group| group.row.id).collect();
        let events = arrange(events, &hidden);
        if !changes.is_empty() {
            let due = expiry::first_of(&changes);
            if let Err(error) = self.store.apply(changes).await {
                cache.clear();
                return match error {
                    StoreError::Stale => Ok(None),
                    StoreError::Exists => Err(StepError::Taken),
                    error => Err(error.into()),
                };
            }
            cache.counters = Some(counters);
            self.note_expiry(due);
            self.owing.set(self.owing.get() || owes);
        }
        cache.groups.extend(groups.into_iter().map(|group| (group.row.id, group)));
        cache.threads.extend(threads.into_iter().map(|thread| (thread.id, thread)));
        Ok(Some((events, ended)))
    }

    /// The local clock, rising with every step: browsers round it, and messages sent within one
    /// tick keep their order. A clock that was set back is followed.
    fn next_ns(&self) -> Nanos {
        let (now, last) = (self.platform.now().0, self.last_ns.get());
        let rounded = now <= last && last - now < ROUNDED_NS;
        Nanos(if rounded { last + 1 } else { now })
    }
}

fn contended() -> Error {
    Error::new("store.failed", "another tab kept changing the same data; try again")
}
