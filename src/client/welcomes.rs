//! Taking in Welcomes: each is judged on its own, a held one never stops the others.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::base::{GroupId, Nanos, SequenceId, Topic};
use crate::client::Inner;
use crate::client::driver::Step;
use crate::delivery::Incoming;
use crate::engine::receive::{Outcomes, record_rejection};
use crate::engine::state::GroupCtx;
use crate::engine::{join, settle};
use crate::error::Error;
use crate::members::{Reference, States};
use crate::store::Table;
use crate::store::rows::{EnvelopeRow, EnvelopeState, GroupState, PositionRow, Row};

const PAGE: u32 = 100;
const DAY_NS: i64 = 24 * 60 * 60 * 1_000_000_000;
/// Why a Welcome waits that adds us to a group whose removal of us was not read yet.
const EARLY: &str = "welcome.early";

/// What has to be read before a Welcome can be judged.
enum Needed {
    Identity(BTreeSet<Reference>),
    /// The end of an earlier stay in a group: its topic up to the removal, and what it leaves undone.
    Group(GroupId),
}

impl Inner {
    /// Reads the Welcome topic to its end, after trying held Welcomes again. Joined groups are
    /// read to their end too.
    pub(super) async fn sync_welcomes(self: &Rc<Self>) -> Result<(), Error> {
        let mut joined = Vec::new();
        let mut result = self.read_welcomes(&mut joined).await;
        // Whatever was joined is read, even if a later Welcome made trouble.
        for group in joined {
            self.listen(Topic::Group(group));
            let read = self.sync_group(group).await;
            result = result.and(read.map(|_| ()));
        }
        result
    }

    async fn read_welcomes(self: &Rc<Self>, joined: &mut Vec<GroupId>) -> Result<(), Error> {
        let topic = Topic::Welcome(self.me.installation.0);
        for kept in self.kept_envelopes(topic).await? {
            if let EnvelopeState::Held(..) = kept.state {
                let row = kept.clone();
                joined.extend(self.welcome(&incoming(row), Some(kept)).await?);
            }
        }
        loop {
            let from = self.welcome_position(topic).await?;
            let asked = [(topic, from.processed)];
            let answer = self.delivery.query(asked.to_vec(), PAGE).await?;
            for envelope in &answer {
                joined.extend(self.welcome(envelope, None).await?);
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

    /// Judges one Welcome; the group when it was joined.
    async fn welcome(
        self: &Rc<Self>,
        envelope: &Incoming,
        kept: Option<EnvelopeRow>,
    ) -> Result<Option<GroupId>, Error> {
        let mut identity = States::default();
        let mut read = false;
        loop {
            let outcome = self
                .step(async |step| self.welcome_step(step, envelope, kept.as_ref(), (&identity, read)).await)
                .await?;
            let fetched = match outcome {
                Ok(group) => return Ok(group),
                Err(Needed::Identity(needed)) => {
                    self.identity.resolve(&needed).await.map(|states| identity.extend(states))
                }
                Err(Needed::Group(group)) => {
                    read = true;
                    let ended = self.sync_group(group).await;
                    // Messages of that stay can never leave. Trouble shows with the next sync.
                    let _ = self.run_outbox(group).await;
                    ended.map(|_| ())
                }
            };
            if let Err(error) = fetched {
                // It cannot be read now: this Welcome waits, later ones go on.
                self.hold(envelope, kept.as_ref(), &error).await?;
                return if error.code == "delivery.unavailable" { Err(error) } else { Ok(None) };
            }
        }
    }

    async fn welcome_step(
        &self,
        step: &mut Step<'_>,
        envelope: &Incoming,
        kept: Option<&EnvelopeRow>,
        (identity, read): (&States, bool),
    ) -> Result<Result<Option<GroupId>, Needed>, Error> {
        let scratch = step.globals().await?;
        let outcome = match join::open(scratch, envelope) {
            Err(outcome) => outcome,
            Ok(opened) => {
                let group = opened.group();
                if !read && self.goes_on(step, group).await? {
                    return Ok(Err(Needed::Group(group)));
                }
                self.join(step, opened, identity, envelope).await?
            }
        };
        let joined = match outcome {
            Outcomes::Applied => Some(()),
            Outcomes::Held(code, reason) => {
                hold_or_expire(envelope, kept, &code, &reason, step);
                None
            }
            Outcomes::Rejected(code, reason) => {
                record_rejection(envelope, &code, &reason, &mut step.unit);
                None
            }
            Outcomes::Needs(references) => return Ok(Err(Needed::Identity(references))),
            Outcomes::Repeated | Outcomes::NeedsMessage(_) => {
                drop_kept(kept, step);
                None
            }
        };
        if joined.is_some() {
            drop_kept(kept, step);
        }
        self.advance_welcomes(step, envelope).await?;
        Ok(Ok(joined.and(step.joined_group())))
    }

    /// True when an earlier stay in a group has not come to its end here.
    async fn goes_on(&self, step: &mut Step<'_>, group: GroupId) -> Result<bool, Error> {
        let Some(ctx) = step.take_group(group).await? else { return Ok(false) };
        let goes_on = ctx.row.state == GroupState::Active || !ctx.intents.is_empty();
        step.keep_group(ctx);
        Ok(goes_on)
    }

    async fn join(
        &self,
        step: &mut Step<'_>,
        opened: join::OpenedJoin,
        identity: &States,
        envelope: &Incoming,
    ) -> Result<Outcomes, Error> {
        let existing = step.take_group(opened.group()).await?;
        let added = SequenceId(opened.facts.anchor);
        let outcome = existing.as_ref().and_then(|ctx| of_known(ctx, added, envelope.sequence_id));
        if let Some(outcome) = outcome {
            existing.into_iter().for_each(|ctx| step.keep_group(ctx));
            return Ok(outcome);
        }
        let mut thread = step.take_thread(opened.thread()).await?;
        let entity = crate::consent::Entity::Conversation(opened.group());
        if let Some(record) = self.consent_of(entity).await? {
            thread.consents.insert(opened.group(), record);
        }
        let row = existing.as_ref().map(|ctx| (&ctx.row, ctx.revision));
        match join::settle(&self.me, opened, row, &mut thread, identity, envelope, &mut step.unit) {
            Ok(mut ctx) => {
                if let Some(before) = existing {
                    settle::resume(&mut ctx, before, &mut step.unit);
                }
                step.keep_group(ctx);
                step.keep_thread(thread);
                Ok(Outcomes::Applied)
            }
            Err(outcome) => Ok(outcome),
        }
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
            hold_or_expire(envelope, kept, "identity", &error.message, step);
            self.advance_welcomes(step, envelope).await
        })
        .await
    }
}

/// What becomes of a Welcome to a known group without joining it. One whose commit was read already
/// is a repetition: joining by it would use its ratchet generations again. A commit ahead of us cannot
/// have added who is still here: it removes us first.
fn of_known(ctx: &GroupCtx, added: SequenceId, welcome: SequenceId) -> Option<Outcomes> {
    if added <= ctx.position.processed {
        return Some(Outcomes::Repeated);
    }
    match ctx.row.state == GroupState::Active {
        true if added >= welcome => Some(Outcomes::Repeated),
        true => Some(Outcomes::Held(EARLY.into(), "the removal before it was not read yet".into())),
        false => None,
    }
}

/// Keeps a Welcome that cannot be judged yet; one that waited for a key package we do not hold is
/// given up after a day (JOIN-077).
fn hold_or_expire(
    envelope: &Incoming,
    kept: Option<&EnvelopeRow>,
    code: &str,
    reason: &str,
    step: &mut Step<'_>,
) {
    let since: Nanos = kept.map_or(step.unit.now, |row| row.received_ns);
    let waited = step.unit.now.0.saturating_sub(since.0);
    if code == "welcome.unknown_key_package" && waited > DAY_NS {
        record_rejection(envelope, code, reason, &mut step.unit);
        return;
    }
    let state = EnvelopeState::Held(code.to_owned(), reason.to_owned());
    if kept.is_some_and(|row| row.state == state) {
        return;
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
