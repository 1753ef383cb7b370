//! Reading messages: one range read over the stitched thread, one limit (DMS-009).

use crate::base::{GroupId, MessageId, ThreadId};
use crate::client::hung::{Hung, kinds};
use crate::client::{Client, Inner, load};
use crate::engine::history::{HistoryOptions, Span};
use crate::error::Error;
use crate::store::rows::{MessageRow, ThreadRow};
use crate::store::{Read, Record, Table};

/// Rows of one chunk when a filter may leave some out.
const CHUNK: usize = 200;

/// A page of messages.
#[derive(Default)]
pub struct Page {
    /// The groups that conversations are listed as; one that is not listed (a failed DM) is not
    /// among them.
    pub listed: Vec<(ThreadId, GroupId)>,
    /// The messages as they read now: edited, or without content where they were taken back.
    pub rows: Vec<MessageRow>,
    /// What hangs on those that something hangs on, by their place.
    pub hung: Vec<Hung>,
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

    /// One message as a page of at most one; none when it is not stored here, or has disappeared.
    pub async fn message_page(&self, id: MessageId) -> Result<Page, Error> {
        self.0.open()?;
        let row = self.0.message_rows(&[id]).await?.pop().flatten();
        self.dressed(row.into_iter().collect()).await
    }

    /// The message of a [`Client::message_page`].
    pub async fn message(&self, id: MessageId) -> Result<Option<MessageRow>, Error> {
        Ok(self.message_page(id).await?.rows.pop())
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
        let answers = self.store.read(span.reads(descending, size as u32)).await?;
        taken(span, &answers, descending, size)
    }

    pub(super) async fn history(&self, thread: ThreadId, options: &HistoryOptions) -> Result<Page, Error> {
        let limit = options.limit.filter(|_| options.in_read_order()).unwrap_or(usize::MAX);
        let first = limit.clamp(1, CHUNK);
        let (now, descending) = (self.platform.now(), options.descending);
        let mut bounds = options.bounds(&[]);
        let mut span = options.span(thread, &bounds);
        // The first rows come from one snapshot with all else, and mostly are the whole page.
        let mut reads = vec![Read::Key(Table::Threads, thread.to_key()), load::notes(thread)];
        let chunk = span.reads(descending, first as u32);
        let parts = chunk.len();
        reads.extend(chunk.into_iter().chain(options.marks(thread)));
        let answers = self.store.read(reads).await?;
        let [stored, notes, rest @ ..] = answers.as_slice() else {
            return Err(Error::bug("a read without its answers"));
        };
        let (found, marks) = rest.split_at(parts.min(rest.len()));
        let listed = load::rows::<ThreadRow>(stored)?.iter().map(|row| (row.id, row.winner)).collect();
        let kinds = kinds(load::rows(notes)?);
        let marked = options.bounds(marks);
        let mut rows = if marked == bounds {
            taken(&mut span, found, descending, first)?
        } else {
            (span, bounds) = (options.span(thread, &marked), marked);
            self.chunk(&mut span, descending, first).await?
        };
        let (mut page, mut chunk) = (Vec::new(), first);
        loop {
            let ended = rows.len() < chunk;
            page.extend(rows.into_iter().filter(|row| options.admits(row, &bounds, now)));
            if ended || page.len() >= limit {
                break;
            }
            // The more was left out so far, the more is read at once.
            chunk = (chunk * 4).min(CHUNK);
            rows = self.chunk(&mut span, descending, chunk).await?;
        }
        if !options.in_read_order() {
            options.sort(&mut page);
        }
        page.truncate(options.limit.unwrap_or(usize::MAX));
        let hung = self.dress(&mut page, kinds).await?;
        Ok(Page { listed, rows: page, hung })
    }
}

/// The rows of an answer; the span goes on behind them.
fn taken(
    span: &mut Span,
    answers: &[Vec<Record>],
    descending: bool,
    size: usize,
) -> Result<Vec<MessageRow>, Error> {
    let found = answers.iter().map(|rows| load::rows(rows)).collect::<Result<_, _>>()?;
    Ok(span.take(found, descending, size))
}
