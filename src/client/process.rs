//! Applies a batch of one group's envelopes: as many as possible in one commit.

use crate::base::Gather as _;
use crate::base::{Map, Set};
use std::rc::Rc;

use crate::base::{GroupId, MessageId, SequenceId, Topic};
use crate::client::Inner;
use crate::client::devices::BATCH;
use crate::client::driver::{Step, StepError};
use crate::client::outbox::{message_of, owes};
use crate::consent::Record;
use crate::delivery::Incoming;
use crate::engine::receive::{IDENTITY, Known, Outcomes, hold, receive};
use crate::engine::state::{GroupCtx, ThreadCtx};
use crate::engine::threads;
use crate::engine::unit::Unit;
use crate::error::Error;
use crate::members::{Reference, States};
use crate::store::Table;
use crate::store::rows::{GroupKind, GroupRow, GroupState, MessageRow};

/// Hashes of own bytes remembered; beyond it all are forgotten.
const KEPT_ECHOES: usize = 4096;

/// How a batch ended.
#[derive(Debug, Default)]
pub struct Processed {
    /// Code and sentence of what the group waits for, if it waits.
    pub held: Option<(String, String)>,
    /// Envelopes refused for good.
    pub rejected: usize,
    /// The group's outbox has something to do.
    pub owes: bool,
    /// This installation was removed.
    pub ended: bool,
    /// A commit was applied: members and settings may be others.
    pub moved: bool,
}

impl Processed {
    /// Adds what came after it.
    pub fn extend(&mut self, next: Self) {
        self.held = next.held;
        self.owes = next.owes;
        self.rejected += next.rejected;
        self.ended |= next.ended;
        self.moved |= next.moved;
    }
}

/// Why a step over a batch ended before its end.
enum Stop {
    End,
    /// Enough for one step.
    More,
    Held(String, String),
    Needs(Set<Reference>),
    NeedsMessage(MessageId),
    /// What devices tell is judged by who is one: the own inbox's log comes first.
    NeedsOwnLog,
}

#[derive(Default)]
struct Progress {
    /// The own inbox's log was read on.
    own_log: bool,
    identity: States,
    /// What a commit would need was asked for early and cannot be had: it is judged as far as it can
    /// be without.
    late: bool,
    messages: Map<MessageId, Option<MessageRow>>,
    careful: bool,
}

impl Inner {
    /// Applies envelopes in order, fetching identity state where a decision needs it.
    pub(super) async fn process(
        self: &Rc<Self>,
        group: GroupId,
        envelopes: &[Incoming],
    ) -> Result<Processed, Error> {
        let mut progress = Progress::default();
        let mut total = Processed::default();
        loop {
            let step =
                self.try_step(false, async |step| self.process_step(step, group, envelopes, &progress).await);
            let (stop, done) = match step.await {
                Ok(done) => done,
                // An id in the batch is taken: look each one up before it is inserted.
                Err(StepError::Taken) if !progress.careful => {
                    progress.careful = true;
                    continue;
                }
                Err(StepError::Taken) => {
                    return Err(Error::bug("a message id is taken after it was looked up"));
                }
                Err(StepError::Other(error)) => return Err(error),
            };
            total.extend(done);
            match stop {
                Stop::End => {
                    self.kick_devices();
                    return Ok(total);
                }
                Stop::More => {}
                Stop::Held(code, detail) => {
                    total.held = Some((code, detail));
                    return Ok(total);
                }
                Stop::Needs(references) => match self.identity.resolve(&references).await {
                    Ok(states) => progress.identity.extend(states),
                    Err(_) if !progress.late => progress.late = true,
                    Err(error) => {
                        total.held = Some(self.withheld(group, envelopes, error).await?);
                        return Ok(total);
                    }
                },
                Stop::NeedsOwnLog => {
                    self.identity.read_on(self.me.inbox).await?;
                    progress.own_log = true;
                }
                Stop::NeedsMessage(id) => {
                    let row = self.message_rows(&[id]).await?.pop().flatten();
                    progress.messages.insert(id, row);
                }
            }
        }
    }

    /// The identity state a commit names cannot be had: the group is held at that commit, and goes
    /// on when it can (PROC-012). Being offline holds nothing; the error is given back.
    async fn withheld(
        &self,
        group: GroupId,
        envelopes: &[Incoming],
        error: Error,
    ) -> Result<(String, String), Error> {
        if error.code.starts_with("store.") {
            return Err(error);
        }
        // The service answers for the group itself, or it is out of reach altogether.
        self.delivery.newest(vec![Topic::Group(group)]).await?;
        let (code, detail) = (IDENTITY.to_owned(), error.message);
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            let waiting = envelopes.iter().find(|one| one.sequence_id > ctx.position.processed);
            if let Some(waiting) = waiting.filter(|_| ctx.is_active()) {
                hold(&mut ctx, &code, &detail, waiting.sequence_id, &mut step.unit);
            }
            step.keep_group(ctx);
            Ok(())
        })
        .await?;
        Ok((code, detail))
    }

    async fn process_step(
        &self,
        step: &mut Step<'_>,
        group: GroupId,
        envelopes: &[Incoming],
        progress: &Progress,
    ) -> Result<(Stop, Processed), Error> {
        let mut done = Processed::default();
        let Some(mut ctx) = step.take_group(group).await? else { return Ok((Stop::End, done)) };
        // Behind the own removal nothing is read: the next Welcome says where to go on.
        if ctx.row.state != GroupState::Active {
            step.keep_group(ctx);
            return Ok((Stop::End, done));
        }
        let news = envelopes.iter().any(|one| one.sequence_id > ctx.position.processed);
        if ctx.row.kind == GroupKind::Sync && news && !progress.own_log {
            step.keep_group(ctx);
            return Ok((Stop::NeedsOwnLog, done));
        }
        let mut thread = step.take_thread(ctx.row.thread()).await?;
        let own = self.own_messages(&ctx, envelopes).await?;
        let messages = progress.messages.iter().map(|(id, row)| (*id, row.clone())).chain(own).gather();
        self.note_echoes(&ctx, envelopes);
        let identity = |needed: &Set<Reference>| {
            let mut states = progress.identity.clone();
            states.extend(self.identity.recall(&states.missing(needed)));
            states
        };
        let before = Standing::of(&ctx.row, &thread);
        let epoch = ctx.row.epoch;
        let stop = {
            let echoes = self.echoes.borrow();
            let known = Known {
                me: &self.me,
                identity: &identity,
                early: !progress.late,
                messages: &messages,
                lost: &|device| self.has_lost(device),
                echoes: &echoes,
                careful: progress.careful,
            };
            apply(&mut ctx, &mut thread, &known, envelopes, (&mut step.unit, &mut done))
        };
        self.merge_received(step).await?;
        if Standing::of(&ctx.row, &thread) != before {
            threads::refresh(&mut thread, &ctx.row, &mut step.unit);
        } else if !step.unit.changes.is_empty() {
            // What was decided from the thread holds only while it is as loaded.
            step.unit.changes.check(Table::Threads, thread.id.to_key(), thread.revision);
        }
        (done.owes, done.ended, done.moved) = (owes(&ctx), !ctx.is_active(), ctx.row.epoch != epoch);
        step.keep_group(ctx);
        step.keep_thread(thread);
        Ok((stop, done))
    }

    /// Remembers own bytes met in the topic, for as long as this client lives.
    fn note_echoes(&self, ctx: &GroupCtx, envelopes: &[Incoming]) {
        let mut echoes = self.echoes.borrow_mut();
        if echoes.len() > KEPT_ECHOES {
            echoes.clear();
        }
        let own = envelopes.iter().filter(|envelope| ctx.attempts.contains_key(&envelope.hash));
        own.for_each(|envelope| _ = echoes.insert(envelope.hash));
    }

    /// Rows of own messages whose echo is in the batch.
    async fn own_messages(
        &self,
        ctx: &GroupCtx,
        envelopes: &[Incoming],
    ) -> Result<Vec<(MessageId, Option<MessageRow>)>, Error> {
        let ids: Vec<MessageId> = envelopes
            .iter()
            .filter(|envelope| envelope.sequence_id > ctx.position.processed)
            .filter_map(|envelope| ctx.attempts.get(&envelope.hash))
            .flat_map(|attempt| message_of(ctx, attempt.intent))
            .collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.message_rows(&ids).await?;
        Ok(ids.into_iter().zip(rows).collect())
    }
}

/// Applies envelopes until one has to wait, or enough is done for one step.
fn apply(
    ctx: &mut GroupCtx,
    thread: &mut ThreadCtx,
    known: &Known<'_>,
    envelopes: &[Incoming],
    (unit, done): (&mut Unit, &mut Processed),
) -> Stop {
    for envelope in envelopes {
        if envelope.sequence_id <= ctx.position.processed {
            continue;
        }
        match receive(ctx, thread, known, envelope, unit) {
            Outcomes::Applied | Outcomes::Repeated => {}
            Outcomes::Rejected(..) => done.rejected += 1,
            Outcomes::Held(code, detail) => return Stop::Held(code, detail),
            Outcomes::Needs(references) => return Stop::Needs(references),
            Outcomes::NeedsMessage(id) => return Stop::NeedsMessage(id),
        }
        if ctx.row.state != GroupState::Active {
            break;
        }
        if unit.received.len() >= BATCH {
            return Stop::More;
        }
    }
    Stop::End
}

/// What the thread row depends on.
#[derive(PartialEq)]
struct Standing {
    activity: Option<crate::base::Nanos>,
    state: GroupState,
    consents: Map<GroupId, Record>,
    /// Adds shown: whoever shows one more has to know them all (DMS-011).
    shown: usize,
}

impl Standing {
    fn of(row: &GroupRow, thread: &ThreadCtx) -> Self {
        Self {
            activity: row.last_message_ns,
            state: row.state.clone(),
            consents: thread.consents.clone(),
            shown: thread.transcripts.len(),
        }
    }
}

/// The position a topic is read from.
pub(super) fn position(ctx: &GroupCtx) -> SequenceId {
    ctx.position.processed
}
