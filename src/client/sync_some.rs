//! Syncs of less than everything: new conversations only, or conversations by consent.

use crate::base::Gather as _;
use crate::base::Set;

use crate::base::GroupId;
use crate::client::sync::SyncReport;
use crate::client::{Client, Inner, load};
use crate::consent::{Filter, State};
use crate::error::Error;
use crate::store::rows::ThreadRow;
use crate::store::{Read, Table};

impl Client {
    /// Takes in Welcomes: new conversations, read to their end.
    ///
    /// # Errors
    /// `delivery.*`, `store.*`.
    pub async fn sync_new(&self) -> Result<(), Error> {
        self.0.open()?;
        let inbox = self.0.read_inbox().await?;
        inbox.and(self.0.sync_welcomes().await)
    }

    /// Like [`Client::sync`], and reads only conversations whose consent is one of `states`;
    /// absent: allowed and unknown, as in a list (CONS-031).
    ///
    /// # Errors
    /// `delivery.*` when the service cannot be reached at all; trouble of single groups is in the
    /// report.
    pub async fn sync_by_consent(&self, states: Option<&[State]>) -> Result<SyncReport, Error> {
        self.0.open()?;
        let mut report = SyncReport::default();
        let inbox = self.0.read_inbox().await?;
        self.0.run_outboxes(&mut report).await?;
        let welcomes = self.0.take_welcomes().await?;
        let mut wanted = self.0.groups_by_consent(Filter::listing(states)).await?;
        wanted.extend(self.0.sync_group_rows().await?.iter().map(|row| row.id));
        self.0.sync_groups(&mut report, |group| wanted.contains(&group)).await?;
        self.0.return_to_groups(&report).await?;
        self.0.refresh(&report, |row| wanted.contains(&row.id)).await?;
        self.0.run_outboxes(&mut report).await?;
        self.0.tell_devices(&mut report).await?;
        inbox.and(welcomes).map(|()| report)
    }
}

impl Inner {
    /// Every group of the conversations the filter includes.
    async fn groups_by_consent(&self, filter: Filter) -> Result<Set<GroupId>, Error> {
        let answer = self.store.read(vec![Read::prefix(Table::Threads, &[])]).await?;
        let threads = load::rows::<ThreadRow>(answer.first().map_or(&[], Vec::as_slice))?;
        Ok(threads
            .into_iter()
            .filter(|thread| filter.includes(thread.consent))
            .flat_map(|thread| thread.groups.into_iter().map(|entry| entry.group))
            .gather())
    }
}
