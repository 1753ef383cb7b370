//! Reading messages: one range read over the stitched thread, one limit (DMS-009).

use crate::base::{GroupId, MessageId, ThreadId};
use crate::client::{Client, Inner, load};
use crate::engine::history::{HistoryOptions, Span};
use crate::error::Error;
use crate::store::rows::{MessageRow, ThreadRow};
use crate::store::{Read, Record, Table};

/// Rows of one chunk when a filter may leave some out.
const CHUNK: usize = 200;

/// A page of a conversation.
pub struct Page {
    /// The group the conversation is listed as; `None` when it is not listed (a failed DM).
    pub listed: Option<GroupId>,
    /// Its messages.
    pub rows: Vec<MessageRow>,
}

impl Client {
    /// A page of a conversation, named by any of its groups. What is mostly all of it comes from
    /// one snapshot.
    pub async fn page(&self, group: GroupId, options: &HistoryOptions) -> Result<Page, Error> {
        self.0.open()?;
        let thread = self.0.thread_of(group).await?;
        self.0.history(thread, options).await
    }

    /// The messages of a [`Client::page`].
    pub async fn messages(&self, group: GroupId, options: &HistoryOptions) -> Result<Vec<MessageRow>, Error> {
        Ok(self.page(group, options).await?.rows)
    }

    /// One message; `None` when it is not stored here, or has expired.
    pub async fn message(&self, id: MessageId) -> Result<Option<MessageRow>, Error> {
        self.0.open()?;
        let row = self.0.message_rows(&[id]).await?.pop().flatten();
        let now = self.0.platform.now();
        Ok(row.filter(|row| row.expires_ns.is_none_or(|at| at > now)))
    }
}

impl Inner {
    /// How many rows there are, read in chunks.
    pub(super) async fn history_count(
        &self,
        thread: ThreadId,
        options: &HistoryOptions,
    ) -> Result<u64, Error> {
        let (now, mut count) = (self.platform.now(), 0);
        let bounds = options.bounds(&self.store.read(options.marks(thread)).await?);
        let mut span = options.span(thread, &bounds);
        loop {
            let rows = self.chunk(&mut span, options.descending, CHUNK).await?;
            count += rows.iter().filter(|row| options.admits(row, &bounds, now)).count() as u64;
            if rows.len() < CHUNK {
                return Ok(count);
            }
        }
    }

    /// The next rows of a span.
    async fn chunk(&self, span: &mut Span, descending: bool, size: usize) -> Result<Vec<MessageRow>, Error> {
        let read = span.read(descending, u32::try_from(size).unwrap_or(u32::MAX));
        let answer = self.store.read(vec![read]).await?;
        taken(span, answer.first().map_or(&[], Vec::as_slice), descending)
    }

    pub(super) async fn history(&self, thread: ThreadId, options: &HistoryOptions) -> Result<Page, Error> {
        let limit = options.limit.filter(|_| options.in_read_order()).unwrap_or(usize::MAX);
        let chunk = limit.clamp(1, CHUNK);
        let (now, descending) = (self.platform.now(), options.descending);
        let mut bounds = options.bounds(&[]);
        let mut span = options.span(thread, &bounds);
        // The first rows come from one snapshot with all else, and mostly are the whole page.
        let mut reads = vec![Read::Key(Table::Threads, thread.to_key())];
        reads.push(span.read(descending, u32::try_from(chunk).unwrap_or(u32::MAX)));
        reads.extend(options.marks(thread));
        let answers = self.store.read(reads).await?;
        let [stored, first, marks @ ..] = answers.as_slice() else { return Err(Error::bug("no answer")) };
        let listed = load::rows::<ThreadRow>(stored)?.first().map(|row| row.winner);
        let marked = options.bounds(marks);
        let mut rows = if marked == bounds {
            taken(&mut span, first, descending)?
        } else {
            (span, bounds) = (options.span(thread, &marked), marked);
            self.chunk(&mut span, descending, chunk).await?
        };
        let mut page = Vec::new();
        loop {
            let ended = rows.len() < chunk;
            page.extend(rows.into_iter().filter(|row| options.admits(row, &bounds, now)));
            if ended || page.len() >= limit {
                break;
            }
            rows = self.chunk(&mut span, descending, chunk).await?;
        }
        if !options.in_read_order() {
            options.sort(&mut page);
        }
        page.truncate(options.limit.unwrap_or(usize::MAX));
        Ok(Page { listed, rows: page })
    }
}

/// The rows of an answer; the span goes on behind them.
fn taken(span: &mut Span, answer: &[Record], descending: bool) -> Result<Vec<MessageRow>, Error> {
    let rows = load::rows::<MessageRow>(answer)?;
    if let Some(last) = rows.last() {
        span.after(last, descending);
    }
    Ok(rows)
}
