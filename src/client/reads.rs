//! Further reads an app asks for: counts, the newest message, members, names of conversations.

use crate::base::{GroupId, InboxId, InstallationId, Nanos, ThreadId};
use crate::client::{Client, load};
use crate::consent::{Entity, State, state_of};
use crate::engine::history::{self, HistoryOptions};
use crate::error::Error;
use crate::identity::Identifier;
use crate::store::rows::{ConsentRow, GroupRow, MessageRow, NotesRow};
use crate::store::{Read, Table};
use crate::wire::about::is_receipt;

/// A member as an app reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The inbox.
    pub inbox: InboxId,
    /// Its accounts, as far as its identity log was read here.
    pub accounts: Vec<Identifier>,
    /// Its installations in the group.
    pub installations: Vec<InstallationId>,
    /// Installations the group could not add.
    pub failed: Vec<InstallationId>,
    /// In ADMIN_LIST.
    pub admin: bool,
    /// In SUPER_ADMIN_LIST.
    pub super_admin: bool,
    /// Consent about the inbox.
    pub consent: State,
}

impl Client {
    /// True once [`Client::close`] or [`Client::abandon`] was called.
    pub fn is_closed(&self) -> bool {
        self.0.closed.get()
    }

    /// How many messages a page without limit would have.
    pub async fn count_messages(&self, group: GroupId, options: &HistoryOptions) -> Result<u64, Error> {
        self.0.open()?;
        let thread = self.0.thread_of(group).await?;
        self.0.history_count(thread, options).await
    }

    /// The newest message of a conversation.
    pub async fn last_message(&self, group: GroupId) -> Result<Option<MessageRow>, Error> {
        Ok(self.messages(group, &HistoryOptions::newest()).await?.pop())
    }

    /// The time of the newest read receipt of each inbox in a conversation, the own ones included,
    /// published or not.
    pub async fn last_read_times(&self, group: GroupId) -> Result<Vec<(InboxId, Nanos)>, Error> {
        self.0.open()?;
        let thread = self.0.thread_of(group).await?;
        let waiting = history::waiting(thread, true);
        let answers = self.0.store.read(vec![load::notes(thread), waiting]).await?;
        let [notes, waiting] = answers.as_slice() else { return Err(Error::bug("no answer")) };
        let mut times = load::rows::<NotesRow>(notes)?.pop().map(|notes| notes.read).unwrap_or_default();
        for row in load::rows::<MessageRow>(waiting)? {
            if is_receipt(&row.content_type.authority, &row.content_type.type_id) {
                times.retain(|(inbox, _)| *inbox != row.sender_inbox);
                times.push((row.sender_inbox, row.sent_ns));
            }
        }
        Ok(times)
    }

    /// The thread of a conversation, named by any of its groups.
    pub async fn thread(&self, group: GroupId) -> Result<ThreadId, Error> {
        self.0.open()?;
        self.0.thread_of(group).await
    }

    /// The members of the group a conversation is listed as, without asking the delivery service.
    pub async fn members(&self, group: GroupId) -> Result<Vec<Member>, Error> {
        self.0.open()?;
        let winner = self.0.winner_of(group).await?;
        let row = self.0.group_row(winner).await?.ok_or_else(load::not_found)?;
        let reads =
            row.members.iter().map(|m| Read::Key(Table::Consent, Entity::Inbox(m.inbox).to_key())).collect();
        let records = self.0.store.read(reads).await?;
        let mut members = Vec::with_capacity(row.members.len());
        for (at, found) in records.iter().enumerate() {
            let record = load::rows::<ConsentRow>(found)?.pop();
            members.push(self.member(&row, at, state_of(record.as_ref().map(|row| &row.0))).await?);
        }
        Ok(members)
    }

    async fn member(&self, row: &GroupRow, at: usize, consent: State) -> Result<Member, Error> {
        let view = row.members.get(at).ok_or_else(|| Error::bug("a member that is not there"))?;
        let state = self.0.identity.states(&[view.inbox], false).await?.pop();
        Ok(Member {
            inbox: view.inbox,
            accounts: state.map(|state| state.identifiers().into_iter().collect()).unwrap_or_default(),
            installations: view.installations.clone(),
            failed: view.failed.clone(),
            admin: row.settings.admins.contains(&view.inbox),
            super_admin: row.settings.super_admins.contains(&view.inbox),
            consent,
        })
    }
}
