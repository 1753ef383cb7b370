//! Reading what a step needs.

use crate::base::{GroupId, MessageId, ThreadId, Topic};
use crate::client::Inner;
use crate::client::driver::{Cache, Step};
use crate::consent::{Entity, Record as ConsentRecord, State, state_of};
use crate::engine::receive::pause_as_loaded;
use crate::engine::state::{GroupCtx, MlsState, ThreadCtx};
use crate::error::Error;
use crate::mls::{self, Scratch};
use crate::store::rows::{
    AttemptRow, ConsentRow, CountersRow, EnvelopeRow, GroupRow, GroupState, IntentRow, MessageRow,
    MlsGlobalRow, MlsPageRow, NotesRow, PositionRow, Row, ThreadRow, TranscriptRow,
};
use crate::store::{Read, Record, Store, StoreError, Table};

/// Decodes every record of an answer.
pub fn rows<R: Row>(records: &[Record]) -> Result<Vec<R>, StoreError> {
    records.iter().map(|record| R::decode(&record.body)).collect()
}

/// Decodes every record of all answers.
pub fn all<R: Row>(answers: &[Vec<Record>]) -> Result<Vec<R>, StoreError> {
    answers.iter().flatten().map(|record| R::decode(&record.body)).collect()
}

/// The read of a group's row.
pub fn group(id: GroupId) -> Read {
    Read::Key(Table::Groups, id.as_bytes().to_vec())
}

/// The read of a thread's notes.
pub fn notes(thread: ThreadId) -> Read {
    Read::Key(Table::Annotations, NotesRow::key_of(thread))
}

/// The reads that [`consent`] is answered from.
pub fn consents(thread: ThreadId, group: GroupId) -> [Read; 2] {
    let own = Entity::Conversation(group).to_key();
    [Read::Key(Table::Threads, thread.to_key()), Read::Key(Table::Consent, own)]
}

/// The consent of a group's conversation: that of its thread, and the group's own while it belongs
/// to none, as a DM that never came to life. No record is unknown (CONS-001).
pub fn consent(thread: &[Record], own: &[Record]) -> Result<State, StoreError> {
    match rows::<ThreadRow>(thread)?.pop() {
        Some(row) => Ok(row.consent),
        None => Ok(state_of(rows::<ConsentRow>(own)?.first().map(|row| &row.0))),
    }
}

/// Reads one row by key, with its revision.
pub async fn row<R: Row>(store: &dyn Store, key: Vec<u8>) -> Result<Option<(R, u64)>, StoreError> {
    let answer = store.read(vec![Read::Key(R::TABLE, key)]).await?;
    let record = answer.first().and_then(|records| records.first());
    record.map(|record| Ok((R::decode(&record.body)?, record.revision))).transpose()
}

impl Inner {
    pub(super) async fn counters(&self, cache: &mut Cache) -> Result<(CountersRow, u64), StoreError> {
        if cache.counters.is_none() {
            let stored = row::<CountersRow>(&*self.store, CountersRow::KEY.to_vec()).await?;
            cache.counters = Some(stored.unwrap_or_default());
        }
        Ok(cache.counters.clone().unwrap_or_default())
    }

    /// Drops a cached group that another tab has changed.
    pub(super) async fn recheck(&self, group: GroupId) -> Result<(), Error> {
        let mut cache = self.cache.lock().await;
        let Some(cached) = cache.groups.get(&group).map(|ctx| ctx.revision) else { return Ok(()) };
        let answer = self.store.read(vec![self::group(group)]).await?;
        let stored = answer.first().and_then(|records| records.first()).map(|record| record.revision);
        if stored != Some(cached) {
            cache.groups.remove(&group);
        }
        Ok(())
    }

    /// The row of a group, without its MLS state.
    pub(super) async fn group_row(&self, group: GroupId) -> Result<Option<GroupRow>, StoreError> {
        Ok(row::<GroupRow>(&*self.store, group.as_bytes().to_vec()).await?.map(|(row, _)| row))
    }

    /// Message rows by id; `None` for an id that is free.
    pub(super) async fn message_rows(
        &self,
        ids: &[MessageId],
    ) -> Result<Vec<Option<MessageRow>>, StoreError> {
        let reads = ids.iter().map(|id| Read::Key(Table::Messages, id.as_bytes().to_vec())).collect();
        let answers = self.store.read(reads).await?;
        answers
            .iter()
            .map(|found| found.first().map(|record| MessageRow::decode(&record.body)).transpose())
            .collect()
    }

    /// The stored record of an entity.
    pub(super) async fn consent_of(&self, entity: Entity) -> Result<Option<ConsentRecord>, StoreError> {
        Ok(self.consent_row(entity).await?.map(|(record, _)| record))
    }

    /// The same with the revision of its row.
    pub(super) async fn consent_row(
        &self,
        entity: Entity,
    ) -> Result<Option<(ConsentRecord, u64)>, StoreError> {
        let found = row::<ConsentRow>(&*self.store, entity.to_key()).await?;
        Ok(found.map(|(row, revision)| (row.0, revision)))
    }

    /// Envelopes kept under a prefix: those that wait, or those that were refused for good.
    pub(super) async fn kept_envelopes(&self, prefix: &[u8]) -> Result<Vec<EnvelopeRow>, StoreError> {
        all(&self.store.read(vec![Read::prefix(Table::Envelopes, prefix)]).await?)
    }
}

impl Step<'_> {
    /// Takes a group out of the cache, or loads it.
    pub async fn take_group(&mut self, group: GroupId) -> Result<Option<GroupCtx>, Error> {
        match self.cache.groups.remove(&group) {
            Some(ctx) => Ok(Some(ctx)),
            None => {
                let mut loaded = load_group(&*self.inner.store, group).await?;
                if let Some(ctx) = &mut loaded {
                    pause_as_loaded(ctx, &self.inner.me.version);
                }
                Ok(loaded)
            }
        }
    }

    /// Like [`Step::take_group`], where a missing group is the caller's mistake.
    pub async fn need_group(&mut self, group: GroupId) -> Result<GroupCtx, Error> {
        self.take_group(group).await?.ok_or_else(not_found)
    }

    /// Takes a thread out of the cache, or loads it; one that is not stored yet is empty.
    pub async fn take_thread(&mut self, thread: ThreadId) -> Result<ThreadCtx, Error> {
        let taken = self.take_threads(&[thread]).await?.pop();
        taken.ok_or_else(|| Error::bug("a thread that was not loaded"))
    }

    /// The same for several, each named once.
    pub async fn take_threads(&mut self, threads: &[ThreadId]) -> Result<Vec<ThreadCtx>, Error> {
        let mut taken: Vec<ThreadCtx> =
            threads.iter().filter_map(|id| self.cache.threads.remove(id)).collect();
        let missing: Vec<ThreadId> =
            threads.iter().filter(|id| taken.iter().all(|ctx| ctx.id != **id)).copied().collect();
        if !missing.is_empty() {
            taken.extend(load_threads(&*self.inner.store, &missing).await?);
        }
        Ok(taken)
    }

    /// The same, never from the cache: for an answer that writes nothing which would find out that
    /// another tab was first.
    pub async fn fresh_thread(&mut self, thread: ThreadId) -> Result<ThreadCtx, Error> {
        self.cache.threads.remove(&thread);
        self.take_thread(thread).await
    }

    /// A scratch with this installation's key packages. They are seldom needed, and another tab may
    /// have made one, so they are read each time.
    pub async fn globals(&mut self) -> Result<Scratch, Error> {
        let mut scratch = Scratch::new();
        scratch.load_globals(load_globals(&*self.inner.store).await?);
        Ok(scratch)
    }
}

pub(super) fn not_found() -> Error {
    Error::new("conversation.not_found", "no conversation with this id is stored here; sync and try again")
}

async fn load_group(store: &dyn Store, group: GroupId) -> Result<Option<GroupCtx>, StoreError> {
    let topic = Topic::Group(group);
    let own = group.as_bytes().to_vec();
    let answers = store
        .read(vec![
            Read::Key(Table::Groups, own.clone()),
            Read::Key(Table::Positions, topic.to_bytes()),
            Read::prefix(Table::Intents, &own),
            Read::prefix(Table::Attempts, &own),
            Read::prefix(Table::Mls, &MlsPageRow::group_prefix(group)),
        ])
        .await?;
    let [head, position, intents, attempts, pages] = answers.as_slice() else {
        return Err(StoreError::Corrupt("a read without its answers".into()));
    };
    let Some(record) = head.first() else { return Ok(None) };
    let row = GroupRow::decode(&record.body)?;
    let mls = match row.state {
        GroupState::Active => load_mls(group, rows(pages)?)?,
        _ => None,
    };
    let position = rows::<PositionRow>(position)?.pop();
    let (intents, attempts) = (rows::<IntentRow>(intents)?, rows::<AttemptRow>(attempts)?);
    Ok(Some(GroupCtx::loaded((row, record.revision), position, intents, attempts, mls)))
}

fn load_mls(group: GroupId, pages: Vec<MlsPageRow>) -> Result<Option<MlsState>, StoreError> {
    let corrupt = |error: mls::ScratchError| StoreError::Corrupt(error.to_string());
    let mut scratch = Scratch::new();
    let pages = pages.into_iter().map(|row| (row.part, row.page, row.bytes));
    scratch.load(group, pages).map_err(corrupt)?;
    let group = mls::Group::load(&scratch, group).map_err(corrupt)?;
    Ok(group.map(|group| MlsState { scratch, group }))
}

/// Threads, in the order asked, with the records of their groups.
async fn load_threads(store: &dyn Store, ids: &[ThreadId]) -> Result<Vec<ThreadCtx>, StoreError> {
    let of = |id: &ThreadId| {
        let key = id.to_key();
        [Read::Key(Table::Threads, key.clone()), Read::prefix(Table::Transcripts, &key), notes(*id)]
    };
    let answers = store.read(ids.iter().flat_map(of).collect()).await?;
    let mut threads = Vec::with_capacity(ids.len());
    let mut reads = Vec::new();
    for (id, found) in ids.iter().zip(answers.chunks_exact(3)) {
        let record = found[0].first();
        let row = record.map(|record| ThreadRow::decode(&record.body)).transpose()?;
        let groups = row.iter().flat_map(|row| &row.groups);
        reads.extend(groups.map(|one| Read::Key(Table::Consent, Entity::Conversation(one.group).to_key())));
        let stored = found[2].first();
        let notes = stored.map(|record| NotesRow::decode(&record.body)).transpose()?;
        threads.push(ThreadCtx {
            id: *id,
            row,
            revision: record.map_or(0, |record| record.revision),
            consents: crate::base::Map::new(),
            transcripts: rows::<TranscriptRow>(&found[1])?,
            notes: notes.unwrap_or_else(|| NotesRow::empty(*id)),
            notes_revision: stored.map_or(0, |record| record.revision),
        });
    }
    let mut records = store.read(reads).await?.into_iter();
    for thread in &mut threads {
        for entry in thread.row.iter().flat_map(|row| &row.groups) {
            if let Some(ConsentRow(record)) = rows(&records.next().unwrap_or_default())?.pop() {
                thread.consents.insert(entry.group, record);
            }
        }
    }
    Ok(threads)
}

async fn load_globals(store: &dyn Store) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreError> {
    let answer = store.read(vec![Read::prefix(Table::Mls, MlsGlobalRow::PREFIX)]).await?;
    let rows = rows::<MlsGlobalRow>(answer.first().map_or(&[], Vec::as_slice))?;
    Ok(rows.into_iter().map(|row| (row.id, row.bytes)).collect())
}
