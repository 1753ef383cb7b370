//! Reading topics to their end, publishing what is owed before and after.

use crate::base::Gather as _;
use crate::base::{Map, Set};
use std::rc::Rc;

use crate::base::{GroupId, InboxId, SequenceId, Topic};
use crate::client::process::{Processed, position};
use crate::client::{Client, Inner, load};
use crate::delivery::{DeliveryError, Incoming};
use crate::error::Error;
use crate::store::rows::{GroupRow, GroupState, IntentRow, PositionRow};
use crate::store::{Read, Table};

/// Envelopes of one topic in one query.
pub(super) const PAGE: u32 = 200;
/// Topics of one query.
const TOPICS: usize = 500;
/// Groups read at once when all are looked through.
const CHUNK: u32 = 128;

/// What a sync did. One bad conversation never stops the others: it is listed here.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SyncReport {
    /// Groups read to their end.
    pub synced: usize,
    /// Groups that wait, with the code and the reason.
    pub held: Vec<(GroupId, String, String)>,
    /// Groups whose reading or publishing failed.
    pub failed: Vec<(GroupId, Error)>,
    /// Groups this installation was found removed from.
    pub ended: usize,
}

impl Client {
    /// Publishes what is owed, takes in Welcomes, and reads every active group to its end.
    ///
    /// # Errors
    /// `delivery.*` when the service cannot be reached at all; trouble of single groups is in the
    /// report.
    pub async fn sync(&self) -> Result<SyncReport, Error> {
        self.0.open()?;
        let mut report = SyncReport::default();
        let inbox = self.0.read_inbox().await?;
        self.0.run_outboxes(&mut report).await?;
        let welcomes = self.0.take_welcomes().await?;
        self.0.sync_groups(&mut report, |_| true).await?;
        self.0.return_to_groups(&report).await?;
        self.0.refresh(&report, |_| true).await?;
        // What was read can leave something to publish: a change to rebuild, Welcomes.
        self.0.run_outboxes(&mut report).await?;
        self.0.tell_devices(&mut report).await?;
        inbox.and(welcomes).map(|()| report)
    }

    /// Reads the groups of one conversation to their end, and publishes what they owe.
    pub async fn sync_conversation(&self, group: GroupId) -> Result<SyncReport, Error> {
        self.0.open()?;
        let mut report = SyncReport::default();
        for member in self.0.set_of(group).await? {
            self.0.run_noted(&mut report, member).await?;
            self.0.note(&mut report, member, self.0.sync_group(member).await);
        }
        Ok(report)
    }

    /// Publishes every stored message of a conversation now.
    ///
    /// # Errors
    /// `delivery.unavailable` when the service is out of reach, `client.installation_revoked`; the
    /// messages stay stored.
    pub async fn publish(&self, group: GroupId) -> Result<(), Error> {
        self.0.not_revoked()?;
        let mut report = SyncReport::default();
        for member in self.0.set_of(group).await? {
            self.0.run_noted(&mut report, member).await?;
        }
        report.failed.pop().map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl Inner {
    /// A Welcome that adds us again may have been met before the removal it follows.
    pub(super) async fn return_to_groups(self: &Rc<Self>, report: &SyncReport) -> Result<(), Error> {
        if report.ended == 0 {
            return Ok(());
        }
        self.take_welcomes().await?
    }

    /// Looks after the members of the active groups that are `wanted` (GMOD-029).
    /// What keeps it from doing so is told unless the report says it already.
    pub(super) async fn refresh(
        self: &Rc<Self>,
        report: &SyncReport,
        wanted: impl Fn(&GroupRow) -> bool,
    ) -> Result<(), Error> {
        let mut rows = self.active_groups().await?;
        rows.retain(wanted);
        self.refresh_rows(report, rows).await
    }

    /// The same for these groups.
    pub(super) async fn refresh_rows(
        self: &Rc<Self>,
        report: &SyncReport,
        rows: Vec<GroupRow>,
    ) -> Result<(), Error> {
        match self.refresh_members(&rows).await {
            Err(error) if report.failed.iter().all(|(_, known)| known.code != error.code) => Err(error),
            _ => Ok(()),
        }
    }

    /// Groups this installation is in. Read in chunks, so that among ten thousand the page is never
    /// kept waiting for long.
    pub(super) async fn active_groups(&self) -> Result<Vec<GroupRow>, Error> {
        let mut active = Vec::new();
        let mut from = None;
        loop {
            let (to, limit) = (None, Some(CHUNK));
            let read = Read::Range { table: Table::Groups, index: None, from, to, descending: false, limit };
            let answer = self.store.read(vec![read]).await?.pop().unwrap_or_default();
            active.extend(
                load::rows::<GroupRow>(&answer)?.into_iter().filter(|row| row.state == GroupState::Active),
            );
            let Some(last) = answer.last().filter(|_| answer.len() >= CHUNK as usize) else {
                return Ok(active);
            };
            from = Some([last.key.as_slice(), &[0]].concat());
        }
    }

    pub(super) async fn run_outboxes(self: &Rc<Self>, report: &mut SyncReport) -> Result<(), Error> {
        let answer = self.store.read(vec![Read::prefix(Table::Intents, &[])]).await?;
        let intents = load::rows::<IntentRow>(answer.first().map_or(&[], Vec::as_slice))?;
        let groups: Set<GroupId> = intents.into_iter().map(|intent| intent.group).gather();
        for group in groups {
            self.run_noted(report, group).await?;
        }
        Ok(())
    }

    /// Publishes what one group owes. Its own trouble is noted, once, and does not stop the others.
    pub(super) async fn run_noted(
        self: &Rc<Self>,
        report: &mut SyncReport,
        group: GroupId,
    ) -> Result<(), Error> {
        match self.run_outbox(group).await {
            Ok(()) => {}
            // Nothing leaves any more; reading goes on.
            Err(error) if error.code == "client.installation_revoked" => {}
            Err(error) if error.code == "delivery.unavailable" => return Err(error),
            Err(error) => {
                let failed = (group, error);
                if !report.failed.contains(&failed) {
                    report.failed.push(failed);
                }
            }
        }
        Ok(())
    }

    /// Takes in Welcomes. Trouble with them does not keep the groups from being read, unless
    /// nothing can be read at all.
    pub(super) async fn take_welcomes(self: &Rc<Self>) -> Result<Result<(), Error>, Error> {
        unless_out_of_reach(self.sync_welcomes().await)
    }

    /// Reads the own inbox's log on: an installation may have been added or revoked, this one too.
    /// Trouble with it does not keep the rest from being read, unless nothing can be read at all.
    pub(super) async fn read_inbox(&self) -> Result<Result<(), Error>, Error> {
        unless_out_of_reach(self.follow_inbox(self.me.inbox).await)
    }

    pub(super) async fn follow_inbox(&self, inbox: InboxId) -> Result<(), Error> {
        self.identity.read_on(inbox).await?;
        self.note_revocation().await
    }

    /// Reads every active group that is `wanted` to its end.
    pub(super) async fn sync_groups(
        self: &Rc<Self>,
        report: &mut SyncReport,
        wanted: impl Fn(GroupId) -> bool,
    ) -> Result<(), Error> {
        let mut groups = self.active_groups().await?;
        groups.retain(|row| wanted(row.id));
        self.sync_rows(report, groups).await
    }

    /// Reads these active groups to their end.
    pub(super) async fn sync_rows(
        self: &Rc<Self>,
        report: &mut SyncReport,
        groups: Vec<GroupRow>,
    ) -> Result<(), Error> {
        let answer = self.store.read(vec![Read::prefix(Table::Positions, &[0])]).await?;
        let positions: Map<Topic, SequenceId> =
            load::rows::<PositionRow>(answer.first().map_or(&[], Vec::as_slice))?
                .into_iter()
                .map(|row| (row.topic, row.processed))
                .gather();
        let topics: Vec<(Topic, SequenceId)> = groups
            .iter()
            .map(|row| Topic::Group(row.id))
            .map(|topic| (topic, positions.get(&topic).copied().unwrap_or_default()))
            .collect();
        for chunk in topics.chunks(TOPICS) {
            let answer = match self.delivery.query(chunk.to_vec(), PAGE).await {
                Ok(answer) => answer,
                // One bad entry spoils the whole answer: asked for one by one, the others are read.
                Err(DeliveryError::Invalid(_)) => {
                    for (topic, _) in chunk {
                        let Topic::Group(group) = *topic else { continue };
                        let result = self.sync_group(group).await;
                        self.note(report, group, result);
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let mut news: Map<GroupId, Vec<Incoming>> = Map::new();
            for envelope in answer {
                if let Topic::Group(group) = envelope.topic {
                    news.entry(group).or_default().push(envelope);
                }
            }
            for (topic, _) in chunk {
                let Topic::Group(group) = *topic else { continue };
                let result = match news.remove(&group) {
                    Some(envelopes) => self.process_all(group, envelopes).await,
                    None => Ok(Processed::default()),
                };
                self.note(report, group, result);
            }
        }
        Ok(())
    }

    fn note(&self, report: &mut SyncReport, group: GroupId, result: Result<Processed, Error>) {
        report.ended += usize::from(result.as_ref().is_ok_and(|done| done.ended));
        match result {
            Ok(Processed { held: Some((code, detail)), .. }) => report.held.push((group, code, detail)),
            Ok(_) => report.synced += 1,
            Err(error) => report.failed.push((group, error)),
        }
    }

    /// Applies a first page, then reads on until the end of the topic.
    async fn process_all(self: &Rc<Self>, group: GroupId, first: Vec<Incoming>) -> Result<Processed, Error> {
        let full = first.len() >= PAGE as usize;
        let done = self.process(group, &first).await?;
        if full && done.held.is_none() { self.sync_group(group).await } else { Ok(done) }
    }

    /// Reads one group's topic from its position to the end.
    pub(super) async fn sync_group(self: &Rc<Self>, group: GroupId) -> Result<Processed, Error> {
        // Before it is asked for: what comes in afterwards is told again.
        let before = self.pace.reading(group);
        let read = self.read_group(group).await;
        match read {
            Ok(_) => self.pace.follow(group),
            Err(_) => {
                self.pace.not_read(group, before);
                self.pace.unfollow(group);
            }
        }
        read
    }

    async fn read_group(self: &Rc<Self>, group: GroupId) -> Result<Processed, Error> {
        let mut total = Processed::default();
        loop {
            self.open()?;
            let Some(from) = self.position_of(group).await? else { return Ok(total) };
            let asked = [(Topic::Group(group), from)];
            let answer = self.delivery.query(asked.to_vec(), PAGE).await?;
            let full = answer.len() >= PAGE as usize;
            let done = self.process(group, &answer).await?;
            total.extend(done);
            if !full || total.held.is_some() {
                return Ok(total);
            }
        }
    }

    /// The position of an active group.
    pub(super) async fn position_of(&self, group: GroupId) -> Result<Option<SequenceId>, Error> {
        self.step(async |step| {
            let Some(ctx) = step.take_group(group).await? else { return Ok(None) };
            let at = ctx.is_active().then(|| position(&ctx));
            step.keep_group(ctx);
            Ok(at)
        })
        .await
    }
}

fn unless_out_of_reach(result: Result<(), Error>) -> Result<Result<(), Error>, Error> {
    match result {
        Err(error) if error.code == "delivery.unavailable" => Err(error),
        other => Ok(other),
    }
}
