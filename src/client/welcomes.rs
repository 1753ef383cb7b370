//! Taking in Welcomes: each is judged on its own, a held one never stops the others.

use std::rc::Rc;

use crate::base::{GroupId, Nanos, Topic};
use crate::client::Inner;
use crate::client::driver::Step;
use crate::client::outbox::message_of;
use crate::delivery::Incoming;
use crate::engine::receive::{Outcomes, record_rejection};
use crate::engine::{join, publish};
use crate::error::Error;
use crate::members::States;
use crate::store::Table;
use crate::store::rows::{EnvelopeRow, EnvelopeState, GroupState, PositionRow, Row};

const PAGE: u32 = 100;
const DAY_NS: i64 = 24 * 60 * 60 * 1_000_000_000;
const UNKNOWN_KEY: &str = "welcome.unknown_key_package";
/// Anybody can send Welcomes made for no key of ours; so many of them are kept, and of this size.
const KEPT_UNKNOWN: usize = 100;
const KEPT_UNKNOWN_BYTES: usize = 256 * 1024;

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
        let mut unknown = 0;
        for kept in self.kept_envelopes(topic).await? {
            if let EnvelopeState::Held(code, _) = &kept.state {
                unknown += usize::from(code == UNKNOWN_KEY);
                let row = kept.clone();
                joined.extend(self.welcome(&incoming(row), Some(kept)).await?);
            }
        }
        self.room.set(KEPT_UNKNOWN.saturating_sub(unknown));
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
        loop {
            let outcome = self
                .step(async |step| self.welcome_step(step, envelope, kept.as_ref(), &identity).await)
                .await?;
            match outcome {
                Ok(group) => return Ok(group),
                Err(needed) => match self.identity.resolve(&needed).await {
                    Ok(states) => identity.extend(states),
                    Err(error) => {
                        // The log cannot be read now: this Welcome waits, later ones go on.
                        self.hold(envelope, kept.as_ref(), &error).await?;
                        return if error.code == "delivery.unavailable" { Err(error) } else { Ok(None) };
                    }
                },
            }
        }
    }

    async fn welcome_step(
        &self,
        step: &mut Step<'_>,
        envelope: &Incoming,
        kept: Option<&EnvelopeRow>,
        identity: &States,
    ) -> Result<Result<Option<GroupId>, std::collections::BTreeSet<crate::members::Reference>>, Error> {
        let scratch = step.globals().await?;
        let outcome = match join::open(scratch, envelope) {
            Err(outcome) => outcome,
            Ok(opened) => self.join(step, opened, identity, envelope).await?,
        };
        let joined = match outcome {
            Outcomes::Applied => Some(()),
            Outcomes::Held(code, _) if code == UNKNOWN_KEY && kept.is_none() && !self.takes(envelope) => {
                let reason = "made for a key package this device does not hold, like too many before";
                record_rejection(envelope, UNKNOWN_KEY, reason, &mut step.unit);
                None
            }
            Outcomes::Held(code, reason) => {
                hold_or_expire(envelope, kept, &code, &reason, step);
                None
            }
            Outcomes::Rejected(code, reason) => {
                record_rejection(envelope, &code, &reason, &mut step.unit);
                None
            }
            Outcomes::Needs(references) => return Ok(Err(references)),
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

    /// Whether one more Welcome for an unknown key package is kept.
    fn takes(&self, envelope: &Incoming) -> bool {
        let (room, fits) = (self.room.get(), envelope.payload.len() <= KEPT_UNKNOWN_BYTES);
        self.room.set(room.saturating_sub(usize::from(fits)));
        fits && room > 0
    }

    async fn join(
        &self,
        step: &mut Step<'_>,
        opened: join::OpenedJoin,
        identity: &States,
        envelope: &Incoming,
    ) -> Result<Outcomes, Error> {
        let mut existing = step.take_group(opened.group()).await?;
        if let Some(ctx) = existing.take_if(|ctx| ctx.row.state == GroupState::Active) {
            debug_assert!(ctx.is_active());
            step.keep_group(ctx);
            return Ok(Outcomes::Repeated);
        }
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
        match join::settle(&self.me, opened, row, &mut thread, identity, envelope, &mut step.unit) {
            Ok(ctx) => {
                if let Some(mut ended) = existing {
                    let ids: Vec<_> = ended.intents.keys().flat_map(|n| message_of(&ended, *n)).collect();
                    let rows = self.message_rows(&ids).await?.into_iter().flatten().collect();
                    publish::end_all(&mut ended, rows, "group.not_a_member", &mut step.unit);
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

/// Keeps a Welcome that cannot be judged yet; one that waited for a key package we do not hold is
/// given up after a day, a pointer after three (JOIN-077, design section 8).
fn hold_or_expire(
    envelope: &Incoming,
    kept: Option<&EnvelopeRow>,
    code: &str,
    reason: &str,
    step: &mut Step<'_>,
) {
    let since: Nanos = kept.map_or(step.unit.now, |row| row.received_ns);
    let waited = step.unit.now.0.saturating_sub(since.0);
    let patience = match code {
        UNKNOWN_KEY => DAY_NS,
        "welcome.pointer" => 3 * DAY_NS,
        _ => i64::MAX,
    };
    if waited > patience {
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
