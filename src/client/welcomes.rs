//! Taking in Welcomes: each is judged on its own, a held one never stops the others.

use crate::base::Set;
use std::rc::Rc;

use crate::base::{GroupId, Nanos, SequenceId, Topic};
use crate::client::Inner;
use crate::client::driver::Step;
use crate::client::outbox::message_of;
use crate::delivery::Incoming;
use crate::engine::join;
use crate::engine::key_packages::DAY_NS;
use crate::engine::opening::{self, OpenedJoin, POINTER, Shared, UNKNOWN_KEY_PACKAGE, Unopened};
use crate::engine::publish;
use crate::engine::receive::{Outcomes, record_rejection};
use crate::engine::state::GroupCtx;
use crate::error::Error;
use crate::members::{Reference, States};
use crate::store::Table;
use crate::store::rows::{EnvelopeRow, EnvelopeState, GroupKind, GroupState, PositionRow, Row};

const PAGE: u32 = 100;
/// Why a Welcome waits when what it needs could not be fetched.
const SERVICE: &str = "welcome.service";
/// Anybody can send Welcomes made for no key of ours; so many of them are kept, and of this size.
const KEPT_UNKNOWN: usize = 100;
const KEPT_UNKNOWN_BYTES: usize = 256 * 1024;

/// What became of one Welcome.
enum Taken {
    Joined(GroupId),
    /// It is kept and tried again.
    Waits,
    /// There is nothing more to do about it.
    Settled,
}

/// What one Welcome needs from the service before it can be judged.
enum Missing {
    Identity(Set<Reference>),
    Pointee(Topic),
    /// The group's own topic, to its end.
    End(GroupId),
}

/// What a reading of the Welcome topic found.
#[derive(Default)]
struct Found {
    joined: Vec<GroupId>,
    waits: bool,
}

impl Found {
    fn note(&mut self, taken: Taken) {
        match taken {
            Taken::Joined(group) => self.joined.push(group),
            Taken::Waits => self.waits = true,
            Taken::Settled => {}
        }
    }
}

impl Inner {
    /// Reads the Welcome topic to its end, after trying held Welcomes again. Joined groups are
    /// read to their end too, and a spent key package is replaced.
    pub(super) async fn sync_welcomes(self: &Rc<Self>) -> Result<(), Error> {
        let waits = self.take_in_welcomes().await?;
        if waits {
            self.retry_welcomes();
        }
        Ok(())
    }

    /// The same, once; true when something is left to try again.
    pub(super) async fn take_in_welcomes(self: &Rc<Self>) -> Result<bool, Error> {
        let mut found = Found::default();
        let mut result = self.read_welcomes(&mut found).await;
        // Whatever was joined is read, even if a later Welcome made trouble.
        for group in found.joined {
            self.listen(Topic::Group(group));
            let read = self.sync_group(group).await;
            result = result.and(read.map(|_| ()));
        }
        // A key package that does not get through now keeps nothing else from going on.
        let tended = self.tend_key_packages().await;
        let unpublished = tended.as_ref().is_err_and(|error| error.code.starts_with("delivery."));
        if !unpublished {
            result = result.and(tended);
        }
        result.map(|()| found.waits || unpublished)
    }

    async fn read_welcomes(self: &Rc<Self>, found: &mut Found) -> Result<(), Error> {
        let topic = Topic::Welcome(self.me.installation.0);
        let mut unknown = 0;
        for kept in self.kept_envelopes(&EnvelopeRow::waiting(topic)).await? {
            if let EnvelopeState::Held(code, _) = &kept.state {
                unknown += usize::from(code == UNKNOWN_KEY_PACKAGE);
                let row = kept.clone();
                found.note(self.welcome(&incoming(row), Some(kept)).await?);
            }
        }
        self.room.set(KEPT_UNKNOWN.saturating_sub(unknown));
        loop {
            let from = self.welcome_position(topic).await?;
            let asked = [(topic, from.processed)];
            let answer = self.delivery.query(asked.to_vec(), PAGE).await?;
            for envelope in &answer {
                found.note(self.welcome(envelope, None).await?);
            }
            if answer.len() < PAGE as usize {
                return Ok(());
            }
        }
    }

    async fn welcome_position(&self, topic: Topic) -> Result<PositionRow, Error> {
        let stored = super::load::row::<PositionRow>(&*self.store, topic.to_bytes()).await?;
        Ok(stored.map_or(
            PositionRow { topic, received: Default::default(), processed: Default::default() },
            |(row, _)| row,
        ))
    }

    /// Judges one Welcome.
    async fn welcome(
        self: &Rc<Self>,
        envelope: &Incoming,
        kept: Option<EnvelopeRow>,
    ) -> Result<Taken, Error> {
        let (mut identity, mut shared, mut read) = (States::default(), Shared::default(), false);
        // Opening it works through the whole tree: once, although what follows may have to wait.
        let mut opened = None;
        loop {
            let outcome = self
                .step(async |step| {
                    let known = (&identity, &shared, read);
                    self.welcome_step(step, envelope, kept.as_ref(), known, &mut opened).await
                })
                .await?;
            let fetched = match outcome {
                Ok(taken) => return Ok(taken),
                Err(Missing::Identity(needed)) => {
                    self.identity.resolve(&needed).await.map(|states| identity.extend(states))
                }
                Err(Missing::Pointee(topic)) => self.read_shared(topic, &mut shared).await,
                Err(Missing::End(group)) => {
                    read = true;
                    let ended = self.sync_group(group).await;
                    // What that stay leaves undone comes first. Trouble shows with the next sync.
                    let _ = self.run_outbox(group).await;
                    ended.map(|_| ())
                }
            };
            if let Err(error) = fetched {
                // The service does not say now: this Welcome waits, later ones go on.
                self.hold(envelope, kept.as_ref(), &error).await?;
                return if error.code == "delivery.unavailable" { Err(error) } else { Ok(Taken::Waits) };
            }
        }
    }

    async fn welcome_step(
        &self,
        step: &mut Step<'_>,
        envelope: &Incoming,
        kept: Option<&EnvelopeRow>,
        (identity, shared, read): (&States, &Shared, bool),
        before: &mut Option<OpenedJoin>,
    ) -> Result<Result<Taken, Missing>, Error> {
        let opened = match before.take() {
            Some(opened) => Ok(opened),
            None => opening::open(step.globals().await?, envelope, shared),
        };
        let outcome = match opened {
            Err(Unopened::Pointee(topic)) => return Ok(Err(Missing::Pointee(topic))),
            Err(Unopened::Outcome(outcome)) => outcome,
            Ok(opened) => match self.join(step, opened, (identity, read), envelope, before).await? {
                Ok(outcome) => outcome,
                Err(missing) => return Ok(Err(missing)),
            },
        };
        let taken = match outcome {
            Outcomes::Applied => {
                drop_kept(kept, step);
                step.joined_group().map_or(Taken::Settled, Taken::Joined)
            }
            Outcomes::Held(code, _)
                if code == UNKNOWN_KEY_PACKAGE && kept.is_none() && !self.takes(envelope) =>
            {
                let reason = "made for a key package this device does not hold, like too many before";
                record_rejection(envelope, UNKNOWN_KEY_PACKAGE, reason, &mut step.unit);
                Taken::Settled
            }
            Outcomes::Held(code, reason) => {
                if code == UNKNOWN_KEY_PACKAGE && kept.is_none() {
                    self.own_key_packages().await?.doubted(&mut step.unit);
                }
                hold_or_expire(envelope, kept, (&code, &reason), step)
            }
            Outcomes::Rejected(code, reason) => {
                drop_kept(kept, step);
                record_rejection(envelope, &code, &reason, &mut step.unit);
                Taken::Settled
            }
            Outcomes::Needs(references) => return Ok(Err(Missing::Identity(references))),
            Outcomes::Repeated | Outcomes::NeedsMessage(_) => {
                drop_kept(kept, step);
                Taken::Settled
            }
        };
        self.advance_welcomes(step, envelope).await?;
        Ok(Ok(taken))
    }

    /// Whether one more Welcome for an unknown key package is kept.
    fn takes(&self, envelope: &Incoming) -> bool {
        let (room, fits) = (self.room.get(), envelope.payload.len() <= KEPT_UNKNOWN_BYTES);
        self.room.set(room.saturating_sub(usize::from(fits)));
        fits && room > 0
    }

    async fn join(
        &self,
        step: &mut Step<'_>,
        opened: OpenedJoin,
        (identity, read): (&States, bool),
        envelope: &Incoming,
        waits: &mut Option<OpenedJoin>,
    ) -> Result<Result<Outcomes, Missing>, Error> {
        let mut existing = step.take_group(opened.group()).await?;
        if let Some(ctx) = existing.take_if(|ctx| ctx.row.state == GroupState::Active) {
            let anchor = SequenceId(opened.facts.anchor);
            let outcome = active(&ctx, anchor, read);
            step.keep_group(ctx);
            return Ok(outcome);
        }
        // One that adds us before the end of an earlier stay is an old one, repeated: it would bring
        // back an old epoch and its ratchets. A commit may remove and add us at once (GMOD-015).
        if let Some(ctx) = existing.take_if(|ctx| opened.facts.anchor < ctx.position.processed.0) {
            step.keep_group(ctx);
            return Ok(Ok(Outcomes::Repeated));
        }
        if let Some(ctx) = existing.as_mut() {
            self.give_up_all(step, ctx).await?;
        }
        let left_behind = existing.as_ref().map(|ctx| (ctx.intents.clone(), ctx.attempts.clone()));
        let mut thread = step.take_thread(opened.thread()).await?;
        let entity = crate::consent::Entity::Conversation(opened.group());
        let decided = self.consent_row(entity).await?;
        if let Some((record, _)) = decided {
            thread.consents.insert(opened.group(), record);
        }
        if existing.is_none() {
            // Another tab may decide about it at this moment, and has no thread yet to do it with.
            let revision = decided.map_or(0, |(_, revision)| revision);
            step.unit.changes.check(Table::Consent, entity.to_key(), revision);
        }
        let row = existing.as_ref().map(|ctx| (&ctx.row, ctx.revision));
        let kind = match join::admit(&self.me, &opened.facts, row, identity, envelope) {
            Ok(kind) => kind,
            Err(outcome) => {
                *waits = matches!(outcome, Outcomes::Needs(_)).then_some(opened);
                return Ok(Ok(outcome));
            }
        };
        let init_key = opened.init_key.clone();
        match join::settle(&self.me, (opened, kind), row, &mut thread, envelope, &mut step.unit) {
            Ok(mut ctx) => {
                if let Some((intents, attempts)) = left_behind {
                    (ctx.intents, ctx.attempts) = (intents, attempts);
                }
                if ctx.row.kind == GroupKind::Sync {
                    self.enter_sync_group(step, &mut ctx).await?;
                }
                step.keep_group(ctx);
                step.keep_thread(thread);
                self.own_key_packages().await?.joined(&init_key, &mut step.unit);
                Ok(Ok(Outcomes::Applied))
            }
            Err(outcome) => Ok(Ok(outcome)),
        }
    }

    /// What was written before the own removal and did not reach its place is not sent after a
    /// return.
    async fn give_up_all(&self, step: &mut Step<'_>, ctx: &mut GroupCtx) -> Result<(), Error> {
        let numbers: Vec<u64> = ctx.intents.keys().copied().collect();
        for number in numbers {
            for id in message_of(ctx, number) {
                let row = self.message_rows(&[id]).await?.pop().flatten();
                publish::give_up_message(ctx, number, row, "group.not_a_member", &mut step.unit);
            }
        }
        Ok(())
    }

    async fn advance_welcomes(&self, step: &mut Step<'_>, envelope: &Incoming) -> Result<(), Error> {
        let mut position = self.welcome_position(envelope.topic).await?;
        if envelope.sequence_id > position.processed {
            position.processed = envelope.sequence_id;
            position.received = envelope.sequence_id;
            step.unit.changes.put(&position);
        }
        Ok(())
    }

    async fn hold(
        &self,
        envelope: &Incoming,
        kept: Option<&EnvelopeRow>,
        error: &Error,
    ) -> Result<(), Error> {
        self.step(async |step| {
            hold_or_expire(envelope, kept, (SERVICE, &error.message), step);
            self.advance_welcomes(step, envelope).await
        })
        .await
    }
}

/// Keeps a Welcome that cannot be judged yet. One made for a key package we do not hold is given up
/// after a day (JOIN-077), a pointer to what is not there after three (JOIN-079).
fn hold_or_expire(
    envelope: &Incoming,
    kept: Option<&EnvelopeRow>,
    (code, reason): (&str, &str),
    step: &mut Step<'_>,
) -> Taken {
    let since: Nanos = kept.map_or(step.unit.now, |row| row.received_ns);
    let waited = step.unit.now.0.saturating_sub(since.0);
    let lasts = match code {
        UNKNOWN_KEY_PACKAGE => DAY_NS,
        POINTER => 3 * DAY_NS,
        _ => i64::MAX,
    };
    if waited > lasts {
        drop_kept(kept, step);
        record_rejection(envelope, code, reason, &mut step.unit);
        return Taken::Settled;
    }
    let state = EnvelopeState::Held(code.to_owned(), reason.to_owned());
    // Time alone brings only these.
    let taken = if [POINTER, SERVICE].contains(&code) { Taken::Waits } else { Taken::Settled };
    if kept.is_some_and(|row| row.state == state) {
        return taken;
    }
    step.unit.changes.put(&EnvelopeRow {
        topic: envelope.topic,
        sequence_id: envelope.sequence_id,
        server_ns: envelope.server_ns,
        hash: envelope.hash,
        payload: envelope.payload.clone(),
        state,
        received_ns: since,
    });
    taken
}

/// A Welcome to a group we are in: a repetition, unless its commit lies ahead. Then it follows a
/// removal that was not read yet; the topic is read to its end, and the Welcome waits for it.
fn active(ctx: &GroupCtx, anchor: SequenceId, read: bool) -> Result<Outcomes, Missing> {
    if anchor <= ctx.position.processed {
        return Ok(Outcomes::Repeated);
    }
    if !read {
        return Err(Missing::End(ctx.row.id));
    }
    // The service shows the topic late, or the group waits.
    let why = "it adds this installation again, and the removal before it was not met yet";
    Ok(Outcomes::Held("welcome.early".into(), why.into()))
}

fn drop_kept(kept: Option<&EnvelopeRow>, step: &mut Step<'_>) {
    if let Some(row) = kept {
        step.unit.changes.delete(Table::Envelopes, row.key());
    }
}

fn incoming(row: EnvelopeRow) -> Incoming {
    let EnvelopeRow { topic, sequence_id, server_ns, hash, payload, .. } = row;
    Incoming { topic, sequence_id, server_ns, hash, payload }
}
