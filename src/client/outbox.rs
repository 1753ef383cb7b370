//! Publishes what a group owes, in order, until nothing is left or the service is out of reach.
//!
//! Only stored bytes are handed out. Bytes of an earlier life of the client are looked for in the
//! topic before they are handed out again.

use std::rc::Rc;

use crate::base::{GroupId, MessageId, Topic};
use crate::client::Inner;
use crate::client::driver::Step;
use crate::delivery::DeliveryError;
use crate::engine::build::{self, Built, Material};
use crate::engine::publish::{self, Work};
use crate::engine::state::GroupCtx;
use crate::engine::unit::Unit;
use crate::engine::{send, threads};
use crate::error::Error;
use crate::store::rows::{AttemptRow, GroupKind, GroupState, IntentState, Operation};
use crate::store::{Table, Write};

/// A run ends after so many rounds, each of up to 50 messages; what is left goes on with the next
/// sync. More than anybody writes: `publishMessages` promises that all of it has left.
const ROUNDS: usize = 1024;

impl Inner {
    /// Notes attempts as made in this life of the client: those a step puts that makes some.
    pub(super) fn note_fresh(&self, unit: &Unit) {
        let made = unit.changes.writes.iter().filter_map(|write| match write {
            Write::Put { table: Table::Attempts, key, .. } => key.last_chunk().copied(),
            _ => None,
        });
        self.fresh.borrow_mut().extend(made);
    }

    /// Publishes until nothing is left to do. While more is being sent, a `lazy` run leaves what may
    /// wait to the next one: then it answers true.
    ///
    /// A change that the service refuses for good is given up, and what is behind it goes on; whoever
    /// asked for the run is told of it at its end, and whoever asked for the change in any case.
    pub(super) async fn work_off(self: &Rc<Self>, group: GroupId, lazy: bool) -> Result<bool, Error> {
        let mut refused = None;
        let more = self.work(group, lazy, &mut refused).await?;
        refused.filter(|_| !lazy).map_or(Ok(more), Err)
    }

    async fn work(
        self: &Rc<Self>,
        group: GroupId,
        lazy: bool,
        refused: &mut Option<Error>,
    ) -> Result<bool, Error> {
        // Another tab may have left work behind. What was just sent here found the group as it is.
        if !lazy || !self.is_sending() {
            self.recheck(group).await?;
        }
        let (mut looked, mut ended, mut removed) = (false, false, false);
        for _ in 0..ROUNDS {
            self.open()?;
            let work = self.next_work(group).await?;
            if !matches!(work, Work::Publish(_)) && self.pace.owes_reading(group) {
                if lazy && matches!(work, Work::Nothing) && self.put_off_reading(group) {
                    return Ok(true);
                }
                self.sync_group(group).await?;
                continue;
            }
            // A revoked installation writes nothing new. Whom it added is still owed a Welcome
            // (GMOD-018), and what never will leave is ended.
            if !matches!(work, Work::Nothing | Work::GiveUp(..) | Work::Welcomes(_)) {
                self.not_revoked()?;
            }
            match work {
                Work::Nothing => return Ok(false),
                Work::Publish(attempts) => {
                    let commit = attempts.iter().any(|attempt| attempt.commit);
                    if !looked && !(self.knows_group_of(group, &attempts) && (lazy || commit)) {
                        looked = true;
                        self.sync_group(group).await?;
                        self.reopen_outdated(group).await?;
                        continue;
                    }
                    let all = attempts.len() < publish::BATCH;
                    let done = self.publish(group, attempts, lazy).await;
                    if done.is_err() {
                        self.pace.unfollow(group);
                    }
                    match done {
                        Err(error) if commit && error.code == "delivery.refused" => {
                            *refused = refused.take().or(Some(error));
                        }
                        Err(error) => return Err(error),
                        // The next ones are gathered again.
                        Ok(true) if all => return Ok(true),
                        Ok(_) => {}
                    }
                }
                Work::Build(number) => self.build(group, number).await?,
                Work::Encrypt(sends) => self.encrypt(group, sends).await?,
                Work::Snapshot(intent) => self.tell_snapshot(group, &intent).await?,
                Work::Welcomes(number) => self.publish_welcomes(group, number).await?,
                // Once a run: a commit that is given up again may pass later.
                Work::EndProposals if std::mem::replace(&mut ended, true) => return Ok(false),
                Work::EndProposals => self.end_proposals(group).await?,
                // What is told waits until that is possible.
                Work::RemoveLost if std::mem::replace(&mut removed, true) => return Ok(false),
                Work::RemoveLost => self.remove_lost(group).await?,
                Work::GiveUp(sends, code) => self.give_up(group, sends, code).await?,
            }
        }
        Ok(false)
    }

    /// Whether attempts were made with the newest commits in view: what is encrypted without is lost on
    /// whom those brought in.
    fn knows_group_of(&self, group: GroupId, attempts: &[AttemptRow]) -> bool {
        let fresh = |attempt: &AttemptRow| self.fresh.borrow().contains(&attempt.hash);
        self.pace.is_followed(group) && attempts.iter().all(fresh)
    }

    async fn next_work(&self, group: GroupId) -> Result<Work, Error> {
        self.step(async |step| {
            let Some(ctx) = step.take_group(group).await? else { return Ok(Work::Nothing) };
            let lost = ctx.row.kind == GroupKind::Sync && !self.is_sound(&ctx.row);
            let work = publish::next(&ctx, lost);
            step.keep_group(ctx);
            Ok(work)
        })
        .await
    }

    /// Wants the devices out of a sync group that were revoked, and takes back what was encrypted for
    /// them and has not left.
    async fn remove_lost(self: &Rc<Self>, group: GroupId) -> Result<(), Error> {
        let row = self
            .step(async |step| {
                let Some(mut ctx) = step.take_group(group).await? else { return Ok(None) };
                publish::withdraw(&mut ctx, &mut step.unit);
                let row = ctx.row.clone();
                step.keep_group(ctx);
                Ok(Some(row))
            })
            .await?;
        self.refresh_members(row.as_slice()).await?;
        Ok(())
    }

    /// True when reading back what left is put off.
    async fn publish(
        self: &Rc<Self>,
        group: GroupId,
        attempts: Vec<AttemptRow>,
        lazy: bool,
    ) -> Result<bool, Error> {
        match self.hand_out(group, &attempts).await? {
            Handed::Stored => {
                if self.put_off_reading(group) && lazy && attempts.iter().all(|a| !a.commit) {
                    return Ok(true);
                }
            }
            Handed::Refused(reason) => match attempts.as_slice() {
                [attempt] => {
                    self.drop_refused(group, attempt, &reason).await?;
                    return Ok(false);
                }
                // A refused batch stored nothing: its messages are tried one by one, so that one
                // that is refused for good does not take the others with it.
                _ => {
                    for attempt in attempts {
                        if let Handed::Refused(reason) =
                            self.hand_out(group, std::slice::from_ref(&attempt)).await?
                        {
                            self.drop_refused(group, &attempt, &reason).await?;
                        }
                    }
                }
            },
        }
        self.sync_group(group).await.map(|_| false)
    }

    /// Hands bytes to the service, once.
    async fn hand_out(&self, group: GroupId, attempts: &[AttemptRow]) -> Result<Handed, Error> {
        let answer = self.delivery.publish(publish::request(attempts)).await;
        // From now on they may be stored: before they leave again, the topic is read.
        attempts.iter().for_each(|attempt| _ = self.fresh.borrow_mut().remove(&attempt.hash));
        let receipts = match answer {
            Ok(receipts) => receipts,
            Err(DeliveryError::Refused(reason)) => return Ok(Handed::Refused(reason)),
            Err(error) => return Err(error.into()),
        };
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            publish::accepted(&mut ctx, attempts, &receipts);
            step.keep_group(ctx);
            Ok(())
        })
        .await?;
        Ok(Handed::Stored)
    }

    /// Gives up what the service refused, unless an earlier try of the same bytes was stored after
    /// all and only its answer was lost: then the topic has it.
    async fn drop_refused(
        self: &Rc<Self>,
        group: GroupId,
        attempt: &AttemptRow,
        reason: &str,
    ) -> Result<(), Error> {
        self.sync_group(group).await?;
        self.need_end(group).await?;
        let refused = self
            .step(async |step| {
                let Some(mut ctx) = step.take_group(group).await? else { return Ok(false) };
                let Some(known) = ctx.attempts.get(&attempt.hash).cloned() else {
                    step.keep_group(ctx);
                    return Ok(false);
                };
                let mut thread = step.take_thread(ctx.row.thread()).await?;
                let tells = publish::tells(&ctx, &known);
                let ids = message_of(&ctx, known.intent);
                let rows = self.message_rows(&ids).await?.into_iter().flatten().collect();
                publish::refused(&mut ctx, &known, rows, &mut step.unit)?;
                let failed = ctx.row.state != GroupState::Active;
                if failed {
                    threads::refresh(&mut thread, &ctx.row, &mut step.unit);
                }
                ctx.announce(&mut step.unit);
                step.keep_group(ctx);
                step.keep_thread(thread);
                Ok((known.commit || tells) && !failed)
            })
            .await?;
        if refused {
            return Err(Error::new(
                "delivery.refused",
                format!("the delivery service refused the change ({reason})"),
            ));
        }
        Ok(())
    }

    /// Fails unless the topic was read to its end: that it does not hold what was handed out is final,
    /// so a short answer alone does not say it.
    pub(super) async fn need_end(&self, group: GroupId) -> Result<(), Error> {
        let newest = self.delivery.newest(vec![Topic::Group(group)]).await?.pop().flatten();
        let Some(from) = self.position_of(group).await? else { return Ok(()) };
        if newest.is_none_or(|newest| newest.sequence_id <= from) {
            return Ok(());
        }
        Err(Error::new(
            "delivery.unavailable",
            "the delivery service did not answer in full; it is tried again when you sync",
        ))
    }

    async fn end_proposals(&self, group: GroupId) -> Result<(), Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            if (ctx.keeps_proposals() || ctx.row.rolled_back) && !ctx.commit_wanted() {
                ctx.add_intent(Operation::SelfUpdate, &mut step.unit);
            }
            step.keep_group(ctx);
            Ok(())
        })
        .await
    }

    /// Marks messages that can never leave as failed.
    async fn give_up(&self, group: GroupId, sends: Vec<u64>, code: String) -> Result<(), Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            let ids: Vec<_> = sends.iter().flat_map(|number| message_of(&ctx, *number)).collect();
            let mut rows = self.message_rows(&ids).await?.into_iter();
            for number in &sends {
                if !message_of(&ctx, *number).is_empty() {
                    let row = rows.next().flatten();
                    publish::give_up_message(&mut ctx, *number, row, &code, &mut step.unit);
                }
            }
            step.keep_group(ctx);
            Ok(())
        })
        .await
    }

    async fn reopen_outdated(&self, group: GroupId) -> Result<(), Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            publish::reopen_outdated(&mut ctx, &mut step.unit);
            step.keep_group(ctx);
            Ok(())
        })
        .await
    }

    async fn build(self: &Rc<Self>, group: GroupId, number: u64) -> Result<(), Error> {
        let material = match self.material(group, number).await {
            Err(error) if error.code == "dm.unknown_inbox" => {
                self.fail_group(group, error.code).await?;
                return Err(error);
            }
            other => other?,
        };
        let Some(mut material) = material else { return Ok(()) };
        loop {
            match self.step(async |step| self.build_step(step, group, number, &material).await).await? {
                Built::Attempt | Built::Ended => return Ok(()),
                Built::Needs(references) => material.states.extend(self.identity.resolve(&references).await?),
            }
        }
    }

    async fn build_step(
        &self,
        step: &mut Step<'_>,
        group: GroupId,
        number: u64,
        material: &Material,
    ) -> Result<Built, Error> {
        let Some(mut ctx) = step.take_group(group).await? else { return Ok(Built::Ended) };
        // Another tab, or a commit read meanwhile, may have been first.
        let still = ctx.intents.get(&number).is_some_and(|intent| intent.state == IntentState::ToPublish);
        if !still || !ctx.is_active() || ctx.row.hold.is_some() {
            step.keep_group(ctx);
            return Ok(Built::Ended);
        }
        let built = build::build(&mut ctx, &self.me, number, material, &mut step.unit)?;
        self.note_fresh(&step.unit);
        if ctx.row.state != GroupState::Active {
            let mut thread = step.take_thread(ctx.row.thread()).await?;
            threads::refresh(&mut thread, &ctx.row, &mut step.unit);
            ctx.announce(&mut step.unit);
            step.keep_thread(thread);
        }
        step.keep_group(ctx);
        Ok(built)
    }

    async fn encrypt(&self, group: GroupId, sends: Vec<u64>) -> Result<(), Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            let ids: Vec<_> = sends.iter().flat_map(|number| message_of(&ctx, *number)).collect();
            let mut rows = self.message_rows(&ids).await?.into_iter();
            for number in &sends {
                let Some(intent) = ctx.intents.get(number) else { continue };
                let waits = intent.state == IntentState::ToPublish;
                let content = match &intent.operation {
                    Operation::Tell { content, .. } => Some(content.clone()),
                    _ => rows.next().flatten().map(|row| row.content),
                };
                match content {
                    Some(content) if waits && send::ready(&ctx) => {
                        send::encrypt(&mut ctx, &self.me, *number, &content, &mut step.unit)?;
                    }
                    None if waits => ctx.end_intent(*number, &mut step.unit),
                    _ => {}
                }
            }
            self.note_fresh(&step.unit);
            step.keep_group(ctx);
            Ok(())
        })
        .await
    }

    /// A DM whose peer does not exist: it and its messages are failed, and it leaves the list.
    async fn fail_group(&self, group: GroupId, code: &'static str) -> Result<(), Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            if ctx.row.state != GroupState::Active {
                step.keep_group(ctx);
                return Ok(());
            }
            let mut thread = step.take_thread(ctx.row.thread()).await?;
            let ids: Vec<_> = ctx.intents.keys().flat_map(|number| message_of(&ctx, *number)).collect();
            let rows = self.message_rows(&ids).await?.into_iter().flatten().collect();
            publish::end_all(&mut ctx, rows, code, &mut step.unit);
            ctx.row_mut().state = GroupState::Failed(code.to_owned());
            ctx.drop_mls(&mut step.unit);
            threads::refresh(&mut thread, &ctx.row, &mut step.unit);
            ctx.announce(&mut step.unit);
            step.unit.changes.strict();
            step.keep_group(ctx);
            step.keep_thread(thread);
            Ok(())
        })
        .await
    }
}

/// What the service said of bytes handed to it.
enum Handed {
    Stored,
    Refused(String),
}

/// The message an intent publishes, if it publishes one.
pub(super) fn message_of(ctx: &GroupCtx, number: u64) -> Vec<MessageId> {
    match ctx.intents.get(&number).map(|intent| &intent.operation) {
        Some(Operation::Send { message, .. }) => vec![*message],
        _ => Vec::new(),
    }
}

/// True when the outbox has something to do, now or later: whatever is handed out has its intent.
pub(super) fn owes(ctx: &GroupCtx) -> bool {
    !ctx.intents.is_empty()
}
