//! Reads stored messages on by delivery number, however they came here: by a sync, in another tab,
//! from an archive. Behind the last one it waits for news.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::base::ThreadId;
use crate::client::{Client, EventSubscription, load};
use crate::engine::event::Event;
use crate::engine::reader::{Selection, Turn};
use crate::error::Error;
use crate::store::rows::{ConsumedRow, MessageRow, Row, ThreadRow};
use crate::store::{Index, Read, Table};

/// Rows read at once.
const AHEAD: u32 = 32;

/// A place among all messages of a database, and what of them is read.
pub(super) struct Reader {
    pub(super) client: Client,
    pub(super) selection: Selection,
    /// The revision under which the durable stream is ours, for its reader.
    pub(super) claim: Cell<Option<u64>>,
    /// Everything up to this number had its turn.
    position: Cell<u64>,
    ahead: RefCell<(VecDeque<MessageRow>, Vec<ThreadRow>)>,
    news: Rc<News>,
    subscription: RefCell<Option<EventSubscription>>,
}

/// What was committed since it was last asked.
#[derive(Default)]
struct News {
    /// Something was.
    any: Cell<bool>,
    /// A consent state changed, or a conversation has another copy: a scope may have others in it.
    consent: Cell<bool>,
    ended: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl News {
    fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Ends the reader when its listener is dropped: by the reader, or because the client closes.
struct Ending(Rc<News>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.ended.set(true);
        self.0.wake();
    }
}

impl Reader {
    /// A reader that begins behind nothing; [`Reader::seek`] says where.
    pub(super) fn new(client: &Client, selection: Selection) -> Self {
        let news = Rc::new(News::default());
        let ending = Ending(news.clone());
        let subscription = client.subscribe_commits(move |events| {
            let news = &ending.0;
            news.any.set(true);
            let consent = |event: &Event| {
                use Event::{ArchiveRestored, Consent, Conversation};
                matches!(event, Consent { .. } | ArchiveRestored { .. } | Conversation { .. })
            };
            news.consent.set(news.consent.get() || events.iter().any(consent));
            news.wake();
        });
        Self {
            client: client.clone(),
            selection,
            claim: Cell::default(),
            position: Cell::default(),
            ahead: RefCell::default(),
            news,
            subscription: RefCell::new(Some(subscription)),
        }
    }

    /// Goes on behind this number.
    pub(super) fn seek(&self, position: u64) {
        self.position.set(position);
        self.ahead.take();
    }

    /// Everything up to this number had its turn.
    pub(super) fn position(&self) -> u64 {
        self.position.get()
    }

    /// Whether a consent state changed since this was last asked.
    pub(super) fn take_consent_news(&self) -> bool {
        self.news.consent.take()
    }

    /// The next message and what becomes of it; `None` when there is none now.
    ///
    /// # Errors
    /// `client.closed`, `store.*`; `stream.owned` when another reader took the durable stream.
    pub(super) async fn next(&self) -> Result<Option<(MessageRow, Turn)>, Error> {
        self.client.0.open()?;
        // What was read ahead counts as long as nothing was committed since.
        if self.news.any.take() {
            self.ahead.take();
        }
        if self.ahead.borrow().0.is_empty() {
            let ahead = self.read().await?;
            self.ahead.replace(ahead);
        }
        let mut ahead = self.ahead.borrow_mut();
        let Some(row) = ahead.0.pop_front() else { return Ok(None) };
        self.position.set(row.delivery.unwrap_or_default());
        let thread = ahead.1.iter().find(|thread| thread.id == row.thread);
        let turn = self.selection.turn(&row, thread, self.client.0.platform.now());
        Ok(Some((row, turn)))
    }

    async fn read(&self) -> Result<(VecDeque<MessageRow>, Vec<ThreadRow>), Error> {
        let from = (self.position.get().saturating_add(1)).to_be_bytes().to_vec();
        let index = Some(Index::Delivery);
        let (table, limit) = (Table::Messages, Some(AHEAD));
        let store = &self.client.0.store;
        let rows = Read::Range { table, index, from: Some(from), to: None, descending: false, limit };
        let answers =
            store.read(vec![rows, Read::Key(ConsumedRow::TABLE, ConsumedRow::KEY.to_vec())]).await?;
        let [rows, consumed] = answers.as_slice() else {
            return Err(Error::bug("a read without its answers"));
        };
        if let Some(claim) = self.claim.get()
            && consumed.first().is_none_or(|record| record.revision != claim)
        {
            return Err(owned());
        }
        let rows = load::rows::<MessageRow>(rows)?;
        let mut threads: Vec<ThreadId> = Vec::new();
        for row in &rows {
            if !threads.contains(&row.thread) {
                threads.push(row.thread);
            }
        }
        let reads = threads.iter().map(|thread| Read::Key(Table::Threads, thread.to_key())).collect();
        Ok((rows.into(), load::all(&store.read(reads).await?)?))
    }

    /// Waits until something was committed; false once the reader or its client has ended.
    pub(super) async fn wait(&self) -> bool {
        let news = &self.news;
        futures::future::poll_fn(|context| {
            if news.ended.get() || news.any.get() {
                return Poll::Ready(!news.ended.get());
            }
            *news.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    pub(super) fn has_ended(&self) -> bool {
        self.news.ended.get()
    }

    /// Ends it, and lets go who waits.
    pub(super) fn end(&self) {
        drop(self.subscription.borrow_mut().take());
        self.news.ended.set(true);
        self.news.wake();
    }
}

/// Another reader has the durable stream, or took it (PROC-031).
pub fn owned() -> Error {
    Error::new(
        "stream.owned",
        "another tab or client has the durable stream of this database; close it there, or read on with a cursor",
    )
}
