//! The other devices of the inbox: the sync group is made, they are told what was decided here, and
//! what they decided is merged (facts 6.1, 6.2, CONS-010).
//!
//! Choices: a sync group is made by the first device that has a decision to tell and knows of
//! another device, so a new device waits for the one it is added by. Several are possible all the
//! same, when two make one at once: each is read, and the newest is told in. Without another device
//! decisions stay owed, one an entity, so there are never more of them than of records; when a
//! device is added, they are part of what it is told.

use crate::base::Map;
use std::rc::Rc;

use crate::base::{Gather as _, GroupId, InstallationId, Nanos, ThreadId, Topic};
use crate::client::driver::Step;
use crate::client::pace::GATHER_MS;
use crate::client::sync::SyncReport;
use crate::client::{Client, Inner, load};
use crate::consent::{Entity, Record, merge};
use crate::engine::state::GroupCtx;
use crate::engine::{consent, create, devices, send};
use crate::error::Error;
use crate::store::rows::{
    ConsentRow, GroupKind, GroupRow, GroupState, IntentRow, Operation, OwedDecisionRow, Row, SyncGroupsRow,
};
use crate::store::{Read, Table};

/// Records of one message, and of one step that merges them.
pub const BATCH: usize = 250;

impl Client {
    /// Reads what the other devices of the inbox decided, and tells them what was decided here.
    ///
    /// # Errors
    /// `delivery.*` when the service cannot be reached at all; trouble of single groups is in the
    /// report.
    pub async fn sync_devices(&self) -> Result<SyncReport, Error> {
        self.0.open()?;
        let mut report = SyncReport::default();
        let inbox = self.0.read_inbox().await?;
        let welcomes = self.0.take_welcomes().await?;
        self.0.sync_rows(&mut report, self.0.sync_group_rows().await?).await?;
        self.0.return_to_groups(&report).await?;
        self.0.refresh_rows(&report, self.0.sync_group_rows().await?).await?;
        for row in self.0.sync_group_rows().await? {
            self.0.run_noted(&mut report, row.id).await?;
        }
        self.0.tell_devices(&mut report).await?;
        inbox.and(welcomes).map(|()| report)
    }
}

impl Inner {
    /// Whether an own device is revoked, as far as the inbox's log was read.
    pub(super) fn has_lost(&self, device: InstallationId) -> bool {
        self.identity.has_lost(self.me.inbox, device)
    }

    /// True when no revoked device is in it: one that is would read what is told.
    pub(super) fn is_sound(&self, row: &GroupRow) -> bool {
        !row.members.iter().flat_map(|member| &member.installations).any(|device| self.has_lost(*device))
    }

    /// The sync group decisions are told in.
    fn newest(&self, rows: &[GroupRow]) -> Option<GroupId> {
        let usable = rows.iter().filter(|row| devices::is_usable(row) && self.is_sound(row));
        usable.max_by_key(|row| (row.joined_ns, row.id)).map(|row| row.id)
    }

    async fn held_sync_groups(&self) -> Result<(SyncGroupsRow, u64), Error> {
        let stored = load::row::<SyncGroupsRow>(&*self.store, SyncGroupsRow::KEY.to_vec()).await?;
        Ok(stored.unwrap_or_default())
    }

    /// The sync groups this installation is in.
    pub(super) async fn sync_group_rows(&self) -> Result<Vec<GroupRow>, Error> {
        let mut rows = self.group_rows(&self.held_sync_groups().await?.0.groups).await?;
        rows.retain(|row| row.state == GroupState::Active);
        Ok(rows)
    }

    /// Writes down that this installation is in a sync group. With one before, it has told what it
    /// decided there; devices that were not in that are told everything.
    pub(super) async fn enter_sync_group(
        &self,
        step: &mut Step<'_>,
        ctx: &mut GroupCtx,
    ) -> Result<(), Error> {
        let (mut held, revision) = self.held_sync_groups().await?;
        let before = self.group_rows(&held.groups).await?;
        let again = devices::give_up(ctx, &mut step.unit) || devices::meets_others(&ctx.row, &before);
        if again && self.is_sound(&ctx.row) {
            devices::want_snapshot(ctx, &mut step.unit);
        }
        if !held.groups.contains(&ctx.row.id) {
            held.groups.push(ctx.row.id);
            step.unit.changes.put_checked(&held, revision);
        }
        Ok(())
    }

    /// Tells the own devices what is owed to them, and publishes it.
    pub(super) async fn tell_devices(self: &Rc<Self>, report: &mut SyncReport) -> Result<(), Error> {
        match self.tend_devices().await? {
            Some(group) => self.run_noted(report, group).await,
            None => Ok(()),
        }
    }

    /// Does the same in the background, soon, when something was decided.
    pub(super) fn kick_devices(self: &Rc<Self>) {
        if self.owing.take() && !self.tending.replace(true) {
            self.tend_in(GATHER_MS);
        }
    }

    /// Does the same in the background after a while.
    pub(super) fn tend_in(self: &Rc<Self>, ms: u32) {
        let (inner, pause) = (Rc::downgrade(self), self.platform.sleep(ms));
        self.platform.spawn(Box::pin(async move {
            pause.await;
            let Some(inner) = inner.upgrade() else { return };
            inner.tending.set(false);
            // What fails here is done by the next sync.
            if let Ok(Some(group)) = inner.tend_devices().await {
                inner.kick(group);
            }
        }));
    }

    /// Stores what is owed to the own devices as messages of a sync group, which it makes if there
    /// is none; names the group. Nothing without another device, as far as is known here.
    async fn tend_devices(self: &Rc<Self>) -> Result<Option<GroupId>, Error> {
        let rows = self.group_rows(&self.held_sync_groups().await?.0.groups).await?;
        if self.is_revoked() {
            self.move_on(&rows, None).await?;
        }
        if self.registered().is_err() || !self.has_other_devices().await? {
            return Ok(None);
        }
        rows.iter().filter(|row| devices::is_usable(row)).for_each(|row| self.listen(Topic::Group(row.id)));
        let group = match self.newest(&rows) {
            Some(group) => group,
            None if self.has_decisions().await? => self.make_sync_group().await?,
            None => return Ok(None),
        };
        self.move_on(&rows, Some(group)).await?;
        while self.tell_owed(group).await? {}
        Ok(Some(group))
    }

    async fn has_other_devices(&self) -> Result<bool, Error> {
        let own = self.identity.states(&[self.me.inbox], false).await?.pop();
        Ok(own.is_some_and(|state| state.installations().len() > 1))
    }

    /// Whether there is anything to tell: the first record with a time will do.
    async fn has_decisions(&self) -> Result<bool, Error> {
        if !self.owed_decisions().await?.is_empty() {
            return Ok(true);
        }
        let mut after = Vec::new();
        loop {
            let (records, reached) = self.records_after(after).await?;
            match reached {
                _ if !records.is_empty() => return Ok(true),
                Some(key) => after = key,
                None => return Ok(false),
            }
        }
    }

    async fn make_sync_group(&self) -> Result<GroupId, Error> {
        let mut chance = [0; 48];
        self.platform.random(&mut chance);
        let group = self.step(async |step| {
            // Another tab may have made one at this moment.
            if let Some(group) = self.newest(&self.sync_group_rows().await?) {
                return Ok(group);
            }
            let mut ctx = create::create_sync(&self.me, &chance, &mut step.unit)?;
            self.enter_sync_group(step, &mut ctx).await?;
            devices::want_snapshot(&mut ctx, &mut step.unit);
            let group = ctx.row.id;
            step.keep_group(ctx);
            Ok(group)
        });
        let group = group.await?;
        self.listen(Topic::Group(group));
        Ok(group)
    }

    /// What groups that ended, or that others got into, still had to tell is told in another one; by
    /// a revoked device it is not told at all.
    async fn move_on(&self, rows: &[GroupRow], to: Option<GroupId>) -> Result<(), Error> {
        for row in rows.iter().filter(|row| !devices::is_usable(row)) {
            let moved = self.step(async |step| {
                let Some(mut old) = step.take_group(row.id).await? else { return Ok(()) };
                let some = devices::give_up(&mut old, &mut step.unit);
                step.keep_group(old);
                if let Some(to) = to.filter(|_| some)
                    && let Some(mut new) = step.take_group(to).await?
                {
                    devices::want_snapshot(&mut new, &mut step.unit);
                    step.keep_group(new);
                }
                Ok(())
            });
            moved.await?;
        }
        Ok(())
    }

    /// Some of the decisions owed.
    async fn owed_decisions(&self) -> Result<Vec<Record>, Error> {
        let [from, to] = OwedDecisionRow::KEYS.map(<[u8]>::to_vec);
        let read = range(Table::Preferences, from, Some(to));
        let rows = load::all::<OwedDecisionRow>(&self.store.read(vec![read]).await?)?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }

    /// Stores a message with owed decisions; true when there may be more of them.
    async fn tell_owed(&self, group: GroupId) -> Result<bool, Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(false) };
            let owed = self.owed_decisions().await?;
            let tells = devices::is_usable(&ctx.row) && !owed.is_empty();
            if tells {
                devices::tell(&mut ctx, &owed, self.random_hex(), &mut step.unit);
                owed.iter().for_each(|record| step.unit.settle_owed(record));
            }
            step.keep_group(ctx);
            Ok(tells && owed.len() == BATCH)
        })
        .await
    }

    /// Stored decisions behind a key, and the key they reach to when there may be more behind it.
    /// Defaults are none (CONS-022).
    async fn records_after(&self, after: Vec<u8>) -> Result<(Vec<Record>, Option<Vec<u8>>), Error> {
        let mut from = after;
        if !from.is_empty() {
            from.push(0);
        }
        let answer = self.store.read(vec![range(Table::Consent, from, None)]).await?;
        let mut records: Vec<Record> =
            load::all::<ConsentRow>(&answer)?.into_iter().map(|row| row.0).collect();
        let last = records.last().filter(|_| records.len() == BATCH).map(|record| record.entity.to_key());
        records.retain(|record| record.consented_at_ns > Nanos(0));
        Ok((records, last))
    }

    /// Stores the message with the next part of a snapshot.
    pub(super) async fn tell_snapshot(&self, group: GroupId, snapshot: &IntentRow) -> Result<(), Error> {
        let Operation::Snapshot { after } = &snapshot.operation else {
            return Err(Error::bug("a snapshot that is none"));
        };
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            // Another tab may have gone on with it.
            if ctx.intents.get(&snapshot.number) == Some(snapshot) && send::ready(&ctx) {
                let (records, reached) = self.records_after(after.clone()).await?;
                let message = (records.as_slice(), self.random_hex());
                devices::go_on(&mut ctx, snapshot.clone(), message, reached, &mut step.unit);
            }
            step.keep_group(ctx);
            Ok(())
        })
        .await
    }

    /// Merges the records a step has met in a sync group, in the unit of the step (CONS-010). Only
    /// what is news is looked at more closely.
    pub(super) async fn merge_received(&self, step: &mut Step<'_>) -> Result<(), Error> {
        let mut greatest: Map<Entity, Record> = Map::new();
        for record in std::mem::take(&mut step.unit.received) {
            if let Some(record) = merge(greatest.get(&record.entity), &record) {
                greatest.insert(record.entity, record);
            }
        }
        let reads = greatest.keys().map(|entity| Read::Key(Table::Consent, entity.to_key())).collect();
        let answers = self.store.read(reads).await?;
        let mut news = Vec::new();
        for (record, found) in greatest.values().zip(&answers) {
            let row =
                found.first().map(|row| ConsentRow::decode(&row.body).map(|body| (body.0, row.revision)));
            let stored = row.transpose()?;
            if merge(stored.as_ref().map(|(stored, _)| stored), record).is_some() {
                news.push((record, stored));
            }
        }
        let group_of = |record: &Record| match record.entity {
            Entity::Conversation(group) => Some(group),
            Entity::Inbox(_) => None,
        };
        let ids: Vec<GroupId> = news.iter().filter_map(|(record, _)| group_of(record)).collect();
        let groups: Map<GroupId, GroupRow> =
            self.group_rows(&ids).await?.into_iter().map(|row| (row.id, row)).gather();
        let mut held: Map<ThreadId, Vec<(GroupId, Record)>> = Map::new();
        for (record, stored) in news {
            let group = group_of(record);
            match group.and_then(|group| groups.get(&group)) {
                // A sync group has no record.
                Some(row) if row.kind == GroupKind::Sync => {}
                Some(row) if !matches!(row.state, GroupState::Failed(_)) => {
                    held.entry(row.thread()).or_default().push((row.id, *record));
                }
                known => {
                    let unknown = group.is_some() && known.is_none();
                    consent::receive_apart(stored, record, unknown, &mut step.unit);
                }
            }
        }
        let threads: Vec<ThreadId> = held.keys().copied().collect();
        for mut thread in step.take_threads(&threads).await? {
            let received = held.get(&thread.id).map_or(&[][..], Vec::as_slice);
            consent::receive(&mut thread, received, &mut step.unit);
            step.keep_thread(thread);
        }
        Ok(())
    }
}

/// The first rows of a stretch of a table.
fn range(table: Table, from: Vec<u8>, to: Option<Vec<u8>>) -> Read {
    Read::Range { table, index: None, from: Some(from), to, descending: false, limit: Some(BATCH as u32) }
}
