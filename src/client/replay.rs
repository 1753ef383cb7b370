//! Reading on from a place an app kept: a cursor (PROC-033, PROC-034). It leaves the durable stream
//! alone, and any number may read at once.

use crate::base::GroupId;
use crate::client::reader::Reader;
use crate::client::{Client, load};
use crate::engine::history::{HistoryOptions, SortBy};
use crate::engine::reader::{Selection, Turn};
use crate::error::Error;
use crate::store::Read;
use crate::store::rows::{CountersRow, MessageRow, Row};

/// A reader from a cursor on.
pub struct Replay(Reader);

impl Replay {
    /// Waits for the next message; `None` once it has ended.
    ///
    /// # Errors
    /// `client.closed`, `store.*`.
    pub async fn next(&self) -> Result<Option<MessageRow>, Error> {
        while !self.0.has_ended() {
            match self.0.next().await? {
                None => _ = self.0.wait().await,
                Some((row, Turn::Handed)) => return Ok(Some(row)),
                Some(_) => {}
            }
        }
        Ok(None)
    }

    /// Ends it: who waits for a message is told so.
    pub fn end(&self) {
        self.0.end();
    }
}

impl Client {
    /// The place behind a message: this database and its delivery number. `None` for one that is
    /// not deliverable yet (PROC-050).
    pub fn cursor(&self, row: &MessageRow) -> Option<String> {
        row.delivery.map(|number| format!("{}{number}", self.cursor_prefix()))
    }

    fn cursor_prefix(&self) -> String {
        let database = self.0.installation.borrow().database;
        format!("{}-", hex::encode(database))
    }

    /// Reads on behind a cursor; without one, from the oldest message on.
    ///
    /// # Errors
    /// `stream.foreign_cursor` for a cursor of another database; `input.value` for what is none;
    /// `client.closed`.
    pub fn replay(&self, after: Option<&str>, selection: Selection) -> Result<Replay, Error> {
        self.0.open()?;
        let position = after.map_or(Ok(0), |cursor| self.number_of(cursor))?;
        Ok(self.replay_behind(position, selection))
    }

    fn replay_behind(&self, position: u64, selection: Selection) -> Replay {
        let reader = Reader::new(self, selection);
        reader.seek(position);
        Replay(reader)
    }

    fn number_of(&self, cursor: &str) -> Result<u64, Error> {
        let malformed = || Error::new("input.value", "this is no cursor of a message");
        let (database, number) = cursor.split_once('-').ok_or_else(malformed)?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let hexadecimal = database.len() == 32 && database.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number: u64 = number.parse().map_err(|_| malformed())?;
        if !digits || !hexadecimal {
            return Err(malformed());
        }
        if !self.cursor_prefix().starts_with(database) {
            return Err(Error::new(
                "stream.foreign_cursor",
                "this cursor is of another database; begin without one, then keep those of this database",
            ));
        }
        Ok(number)
    }

    /// The newest messages of a conversation, named by any of its groups: of the whole thread those
    /// with the greatest delivery numbers, ascending by it (DMS-016). What is not published is not
    /// among them.
    ///
    /// # Errors
    /// `conversation.not_found`, `client.closed`, `store.*`.
    pub async fn snapshot(&self, group: GroupId, limit: usize) -> Result<Vec<MessageRow>, Error> {
        let sort_by = SortBy::Delivered;
        let options = HistoryOptions { sort_by, descending: true, limit: Some(limit), ..Default::default() };
        let mut rows = self.messages(group, &options).await?;
        rows.reverse();
        Ok(rows)
    }

    /// Reads a conversation on from its newest `count` messages: the snapshot of DMS-016, then what
    /// follows it, without a gap and none twice.
    ///
    /// # Errors
    /// Those of [`Client::snapshot`].
    pub async fn replay_recent(&self, group: GroupId, count: usize) -> Result<Replay, Error> {
        let threads = Some(vec![self.thread(group).await?]);
        // Read first: whatever comes meanwhile has a greater number.
        let reads = vec![Read::Key(CountersRow::TABLE, CountersRow::KEY.to_vec())];
        let counters = load::all::<CountersRow>(&self.0.store.read(reads).await?)?;
        let newest = counters.first().map_or(0, |counters| counters.delivery);
        let first = self.snapshot(group, count).await?.first().and_then(|row| row.delivery);
        let position = first.map_or(newest, |first| first - 1);
        Ok(self.replay_behind(position, Selection { threads, ..Selection::default() }))
    }
}
