//! Reading topics: explicitly, and in the background when the service says there is news.

use crate::base::Gather as _;
use crate::base::{Map, Set};
use std::rc::Rc;

use futures::StreamExt;
use futures::channel::mpsc;

use crate::base::{GroupId, InboxId, SequenceId, Topic};
use crate::client::outbox::GATHER_MS;
use crate::client::process::{Processed, position};
use crate::client::{Client, Inner, load};
use crate::delivery::{DeliveryError, Incoming, Subscription};
use crate::error::Error;
use crate::store::rows::{GroupRow, GroupState, IntentRow, PositionRow};
use crate::store::{Read, Table};

/// Envelopes of one topic in one query.
const PAGE: u32 = 200;
/// Topics of one query.
const TOPICS: usize = 500;
/// How often reading what the service told of waits a moment while the app goes on sending.
const WAITS: usize = 2;

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

/// Background reading, ended by dropping it.
pub struct Live {
    topics: mpsc::UnboundedSender<Topic>,
    subscriptions: Map<Topic, Subscription>,
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

    /// Starts reading in the background. Returns at once; ends with [`Client::close`].
    pub fn go_live(&self) {
        if self.0.closed.get() || self.0.live.borrow().is_some() {
            return;
        }
        let (topics, mut news) = mpsc::unbounded();
        *self.0.live.borrow_mut() = Some(Live { topics, subscriptions: Map::new() });
        let inner = Rc::downgrade(&self.0);
        self.0.listen(Topic::Welcome(self.0.me.installation.0));
        self.0.listen(Topic::Identity(self.0.me.inbox));
        self.0.platform.spawn(Box::pin(async move {
            if let Some(inner) = inner.upgrade() {
                // Heard before it is read: what comes in between wakes its topic.
                inner.listen_to_groups().await;
                // First of all, what was missed and what a former life left unfinished. A service
                // out of reach wakes the topics again once it is back.
                let _ = Client(inner.clone()).sync().await;
                // Members that the sync found.
                inner.listen_to_groups().await;
            }
            while let Some(topic) = news.next().await {
                let Some(inner) = inner.upgrade() else { return };
                let mut woken = Set::from([topic]);
                while let Ok(more) = news.try_recv() {
                    woken.insert(more);
                }
                inner.wake(woken).await;
            }
        }));
    }
}

impl Inner {
    async fn wake(self: &Rc<Self>, topics: Set<Topic>) {
        // Several times what was sent is read back at once.
        for _ in 0..WAITS {
            if !self.sends.is_busy(self.platform.now()) {
                break;
            }
            self.platform.sleep(GATHER_MS).await;
        }
        for topic in topics {
            // Failures show on the conversation, or come back with the next wake-up or sync.
            match topic {
                Topic::Group(group) => {
                    // A run under way reads what it makes the service tell us of.
                    drop(self.outbox(group).lock().await);
                    let stuck = self.stuck.borrow().contains_key(&group);
                    if stuck {
                        let _ = self.run_outbox(group).await;
                    }
                    // Read meanwhile?
                    if !self.unread.borrow().contains_key(&group) {
                        continue;
                    }
                    let done = self.sync_group(group).await.unwrap_or_default();
                    if done.owes {
                        self.kick(group);
                    }
                    // A Welcome that adds us again may have come before the removal.
                    if done.ended {
                        let _ = self.sync_welcomes().await;
                    }
                    if done.moved
                        && let Ok(Some(row)) = self.group_row(group).await
                    {
                        self.listen_to_members(&row);
                    }
                }
                Topic::Welcome(_) => {
                    let _ = self.sync_welcomes().await;
                    // A sync group may be among what was joined.
                    self.tend_in(GATHER_MS);
                }
                Topic::Identity(inbox) => {
                    let _ = self.follow_inbox(inbox).await;
                    self.look_after(inbox).await;
                    if inbox == self.me.inbox {
                        self.tend_in(GATHER_MS);
                    }
                }
                Topic::KeyPackage(_) => {}
            }
        }
    }

    /// Subscribes to a topic, once.
    pub(super) fn listen(&self, topic: Topic) {
        let mut live = self.live.borrow_mut();
        let Some(live) = live.as_mut() else { return };
        if live.subscriptions.contains_key(&topic) {
            return;
        }
        let sender = live.topics.clone();
        let unread = self.unread.clone();
        let wake = Rc::new(move |topic| {
            if let Topic::Group(group) = topic {
                unread.borrow_mut().entry(group).or_default();
            }
            // The receiver is gone once the client is closed.
            let _ = sender.unbounded_send(topic);
        });
        live.subscriptions.insert(topic, self.delivery.subscribe(vec![topic], wake));
    }

    async fn listen_to_groups(&self) {
        // Without the list nothing is subscribed; an explicit sync still reads everything.
        for row in self.active_groups().await.unwrap_or_default() {
            self.listen(Topic::Group(row.id));
            self.listen_to_members(&row);
        }
    }

    /// Hears of new identity updates of a group's members.
    fn listen_to_members(&self, row: &GroupRow) {
        row.members.iter().for_each(|member| self.listen(Topic::Identity(member.inbox)));
    }

    /// An inbox has a new identity update: every group it is in is brought up to date (GMOD-029).
    async fn look_after(self: &Rc<Self>, inbox: InboxId) {
        let mut rows = self.active_groups().await.unwrap_or_default();
        rows.retain(|row| row.members.iter().any(|member| member.inbox == inbox));
        // What cannot be read now is looked at with the next sync.
        for group in self.refresh_members(&rows).await.unwrap_or_default() {
            self.kick(group);
        }
    }

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

    async fn active_groups(&self) -> Result<Vec<GroupRow>, Error> {
        let answer = self.store.read(vec![Read::prefix(Table::Groups, &[])]).await?;
        let mut rows = load::rows::<GroupRow>(answer.first().map_or(&[], Vec::as_slice))?;
        rows.retain(|row| row.state == GroupState::Active);
        Ok(rows)
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

    async fn follow_inbox(&self, inbox: InboxId) -> Result<(), Error> {
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
        let left = self.unread.borrow_mut().remove(&group);
        let read = self.read_group(group).await;
        if let (Some(left), Err(_)) = (left, &read) {
            self.unread.borrow_mut().entry(group).or_insert(left);
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
