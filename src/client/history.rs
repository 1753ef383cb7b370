//! Reading messages: one range read over the stitched thread, one limit (DMS-009).

use crate::base::{GroupId, MessageId, ThreadId};
use crate::client::{Client, Inner, load};
use crate::engine::history::{HistoryOptions, Span};
use crate::error::Error;
use crate::store::rows::{MessageRow, ThreadRow};
use crate::store::{Read, Table};

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
        for mut span in options.spans(thread) {
            loop {
                let rows = self.chunk(&mut span, options.descending, CHUNK).await?;
                count += rows.iter().filter(|row| options.admits(row, now)).count() as u64;
                if rows.len() < CHUNK {
                    break;
                }
            }
        }
        Ok(count)
    }

    /// The next rows of a span.
    async fn chunk(&self, span: &mut Span, descending: bool, size: usize) -> Result<Vec<MessageRow>, Error> {
        let read = span.read(descending, u32::try_from(size).unwrap_or(u32::MAX));
        let answer = self.store.read(vec![read]).await?;
        let rows = load::rows::<MessageRow>(answer.first().map_or(&[], Vec::as_slice))?;
        if let Some(last) = rows.last() {
            span.after(last, descending);
        }
        Ok(rows)
    }

    pub(super) async fn history(&self, thread: ThreadId, options: &HistoryOptions) -> Result<Page, Error> {
        let limit = options.limit.filter(|_| options.in_read_order()).unwrap_or(usize::MAX);
        let chunk = limit.clamp(1, CHUNK);
        let now = self.platform.now();
        let mut spans = options.spans(thread);
        // The first rows of every span come from one snapshot, and mostly are the whole page.
        let size = u32::try_from(chunk).unwrap_or(u32::MAX);
        let mut reads = vec![Read::Key(Table::Threads, thread.to_key())];
        reads.extend(spans.iter().map(|span| span.read(options.descending, size)));
        let answers = self.store.read(reads).await?;
        let (stored, answers) = answers.split_first().ok_or_else(|| Error::bug("no answer"))?;
        let listed = load::rows::<ThreadRow>(stored)?.first().map(|row| row.winner);
        let mut page = Vec::new();
        for (span, answer) in spans.iter_mut().zip(answers) {
            let mut rows = load::rows::<MessageRow>(answer)?;
            if let Some(last) = rows.last() {
                span.after(last, options.descending);
            }
            while page.len() < limit {
                let ended = rows.len() < chunk;
                page.extend(rows.into_iter().filter(|row| options.admits(row, now)));
                if ended || page.len() >= limit {
                    break;
                }
                rows = self.chunk(span, options.descending, chunk).await?;
            }
        }
        if !options.in_read_order() {
            options.sort(&mut page);
        }
        page.truncate(options.limit.unwrap_or(usize::MAX));
        Ok(Page { listed, rows: page })
    }
}
