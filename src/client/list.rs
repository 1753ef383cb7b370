//! Reading the conversation list. No MLS state is loaded.

use crate::base::{GroupId, InboxId};
use crate::client::{Client, Inner, load};
use crate::consent::{Entity, State, state_of};
use crate::engine::history::HistoryOptions;
use crate::engine::list::ListOptions;
use crate::error::Error;
use crate::store::rows::{ConsentRow, GroupRow, GroupState, MessageRow, ThreadRow};
use crate::store::{Read, Table};

/// A conversation as an app reads it.
#[derive(Clone)]
pub struct Conversation {
    /// The group: the winner of its set, unless duplicates were asked for.
    pub group: GroupRow,
    /// Consent of this group's conversation.
    pub consent: State,
    /// The other member of a DM; `None` for a group and for a foreign restored DM (DMS-017).
    pub peer: Option<InboxId>,
    /// The newest application message of the thread.
    pub last_message: Option<MessageRow>,
}

impl Client {
    /// Lists conversations, newest first, one a thread (DMS-007, CONS-030, CONS-031).
    pub async fn list(&self, options: &ListOptions) -> Result<Vec<Conversation>, Error> {
        self.0.open()?;
        let answers = self.0.store.read(options.reads()).await?;
        let lines = options.merge(answers)?;
        let groups = if options.include_duplicates {
            let reads = lines.iter().map(|line| Read::Key(Table::Threads, line.thread.to_key())).collect();
            let threads = self.0.store.read(reads).await?;
            let mut ids = Vec::new();
            for found in &threads {
                for thread in load::rows::<ThreadRow>(found)? {
                    // The winner first, then the others.
                    ids.push(thread.winner);
                    ids.extend(thread.groups.iter().map(|g| g.group).filter(|id| *id != thread.winner));
                }
            }
            ids
        } else {
            lines.iter().map(|line| line.winner).collect()
        };
        let rows = options.finish(self.0.group_rows(&groups).await?);
        let mut listed = self.0.describe(rows).await?;
        let mut threads = Vec::new();
        listed.retain(|one| options.wants(one.group.thread(), one.consent, &mut threads));
        Ok(listed)
    }

    /// The conversation a group belongs to: the winner for any group of a stitched DM (DMS-007).
    pub async fn conversation(&self, group: GroupId) -> Result<Option<Conversation>, Error> {
        self.0.open()?;
        if self.0.group_row(group).await?.is_none() {
            return Ok(None);
        }
        let winner = self.0.winner_of(group).await?;
        let rows = self.0.group_rows(&[winner]).await?;
        Ok(self.0.describe(rows).await?.pop())
    }
}

impl Inner {
    pub(super) async fn group_rows(&self, groups: &[GroupId]) -> Result<Vec<GroupRow>, Error> {
        let reads = groups.iter().map(|id| Read::Key(Table::Groups, id.as_bytes().to_vec())).collect();
        let answers = self.store.read(reads).await?;
        let mut rows = Vec::with_capacity(groups.len());
        for found in &answers {
            rows.extend(load::rows::<GroupRow>(found)?);
        }
        Ok(rows)
    }

    /// Adds consent and the newest message to rows, from one snapshot.
    pub(super) async fn describe(&self, rows: Vec<GroupRow>) -> Result<Vec<Conversation>, Error> {
        let newest = HistoryOptions { descending: true, ..HistoryOptions::default() };
        let mut reads = Vec::with_capacity(rows.len() * 3);
        for row in &rows {
            reads.push(Read::Key(Table::Consent, Entity::Conversation(row.id).to_key()));
            reads.extend(newest.spans(row.thread()).iter().map(|span| span.read(true, 1)));
        }
        let answers = self.store.read(reads).await?;
        let now = self.platform.now();
        let mut out = Vec::with_capacity(rows.len());
        for (group, found) in rows.into_iter().zip(answers.chunks(3)) {
            let consent =
                found.first().map_or(Ok(Vec::new()), |records| load::rows::<ConsentRow>(records))?;
            let mut last = None;
            for records in found.iter().skip(1) {
                last =
                    last.or(load::rows::<MessageRow>(records)?.into_iter().find(|m| newest.admits(m, now)));
            }
            let consent = state_of(consent.first().map(|row| &row.0));
            // A transcript in last place hides the message before it: read on for that thread.
            if last.is_none() && group.state != GroupState::Restored {
                last = self.newest_message(&group).await?;
            }
            let peer = group.dm.and_then(|dm| dm.peer_of(self.me.inbox));
            out.push(Conversation { group, consent, peer, last_message: last });
        }
        Ok(out)
    }

    async fn newest_message(&self, group: &GroupRow) -> Result<Option<MessageRow>, Error> {
        let options = HistoryOptions { descending: true, limit: Some(1), ..HistoryOptions::default() };
        Ok(self.history(group.thread(), &options).await?.pop())
    }
}
