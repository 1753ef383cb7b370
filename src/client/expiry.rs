//! Messages that disappear are removed on time, without a call that asks for it (META-051).
//!
//! One task a client sleeps until the nearest expiry. Of several tabs the one that reads in the
//! background is first; the others come a moment later, should it be frozen, and mostly find
//! nothing left to do. Nobody removes the same message twice: the unit that does is alone.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use futures::channel::mpsc;
use futures::future::{Either, select};
use futures::{FutureExt as _, StreamExt as _};

use crate::base::{MessageId, Nanos};
use crate::client::{Inner, load};
use crate::engine::annotations::stretch;
use crate::engine::expire::expire;
use crate::error::Error;
use crate::store::rows::{AnnotationRow, MessageRow};
use crate::store::{Changes, Index, Read, Table, Write};

/// When a client that was just opened looks for what expired meanwhile, in milliseconds: opening
/// and a first list come before.
const FIRST_MS: u32 = 1_000;
/// How much later a tab looks that does not read in the background, in milliseconds.
const PATIENCE_MS: u32 = 2_000;
/// A failed look is repeated after this, in milliseconds.
const AGAIN_MS: u32 = 5_000;
/// No sleep is longer: the clock may be set, and timers cannot wait for ever. In milliseconds.
const LONGEST_MS: u32 = 600_000;
/// Messages removed in one commit.
const BATCH: u32 = 100;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// Tells the task of messages that expire.
#[derive(Default)]
pub struct Alarm(RefCell<Option<mpsc::UnboundedSender<Nanos>>>);

impl Alarm {
    /// Ends the task.
    pub fn stop(&self) {
        self.0.borrow_mut().take();
    }
}

/// The earliest expiry among the messages that are stored.
pub fn first_of(changes: &Changes) -> Option<Nanos> {
    let place = Table::Messages.indexes().iter().position(|index| *index == Index::Expiry)?;
    let due = |write: &Write| match write {
        Write::Put { table: Table::Messages, index, .. } => {
            let at: [u8; 8] = index.get(place)?.as_deref()?.try_into().ok()?;
            Some(Nanos(i64::from_be_bytes(at)))
        }
        _ => None,
    };
    changes.writes.iter().filter_map(due).min()
}

impl Inner {
    /// Starts the task.
    pub(super) fn watch_expiry(self: &Rc<Self>) {
        let (sender, earlier) = mpsc::unbounded();
        *self.expiry.0.borrow_mut() = Some(sender);
        self.platform.spawn(Box::pin(watch(Rc::downgrade(self), earlier)));
    }

    /// A message that expires was stored.
    pub(super) fn note_expiry(&self, at: Option<Nanos>) {
        if let (Some(at), Some(sender)) = (at, &*self.expiry.0.borrow()) {
            // The receiver is gone once the client is closed.
            let _ = sender.unbounded_send(at);
        }
    }

    /// Removes what has expired, and tells when to look again; `None` while nothing else expires.
    pub(super) async fn expire(&self) -> Result<Option<Nanos>, Error> {
        loop {
            let (next, more) = self
                .step(async |step| {
                    let now = self.platform.now();
                    let mut due = self.expiring(Some(now)).await?;
                    due.retain(|row| row.is_gone(now));
                    if due.is_empty() {
                        return Ok((self.expiring(None).await?.pop().and_then(|row| row.expires_ns), false));
                    }
                    let (about, more) = self.hanging_on(&due).await?;
                    let ids: Vec<MessageId> = about.iter().filter_map(AnnotationRow::message).collect();
                    let mut hanging: Vec<MessageRow> =
                        self.message_rows(&ids).await?.into_iter().flatten().collect();
                    hanging.retain(|row| due.iter().any(|due| due.thread == row.thread));
                    // What much was said about goes last, when all of that is gone.
                    if more {
                        due.clear();
                    }
                    expire(due, &about, &hanging, &mut step.unit);
                    Ok((None, true))
                })
                .await?;
            if !more {
                return Ok(next);
            }
        }
    }

    /// Messages in the order they expire: all until `until`, at most a batch, else the first.
    async fn expiring(&self, until: Option<Nanos>) -> Result<Vec<MessageRow>, Error> {
        let read = Read::Range {
            table: Table::Messages,
            index: Some(Index::Expiry),
            from: None,
            to: until.map(|at| at.0.saturating_add(1).to_be_bytes().to_vec()),
            descending: false,
            limit: Some(if until.is_some() { BATCH } else { 1 }),
        };
        Ok(load::all(&self.store.read(vec![read]).await?)?)
    }

    /// What was said about messages: at most a batch for each, and whether there is more.
    async fn hanging_on(&self, rows: &[MessageRow]) -> Result<(Vec<AnnotationRow>, bool), Error> {
        let about = |row: &MessageRow| stretch(AnnotationRow::about(row.id), false, BATCH);
        let answers = self.store.read(rows.iter().map(about).collect()).await?;
        let more = answers.iter().any(|answer| answer.len() >= BATCH as usize);
        Ok((load::all(&answers)?, more))
    }
}

async fn watch(inner: Weak<Inner>, mut earlier: mpsc::UnboundedReceiver<Nanos>) {
    let mut due = match inner.upgrade() {
        Some(inner) => Some(after(&inner, FIRST_MS)),
        None => return,
    };
    loop {
        let Some(at) = due else {
            due = earlier.next().await;
            if due.is_none() {
                return;
            }
            continue;
        };
        let (sleep, ms) = {
            let Some(inner) = inner.upgrade() else { return };
            let ms = (at.0.saturating_sub(inner.platform.now().0)).max(0) / NANOS_PER_MILLI;
            let ms = u32::try_from(ms).unwrap_or(u32::MAX);
            (inner.platform.sleep(ms.saturating_add(1).min(LONGEST_MS)), ms)
        };
        match select(sleep, earlier.next().boxed_local()).await {
            Either::Right((None, _)) => return,
            Either::Right((Some(other), _)) => due = Some(at.min(other)),
            Either::Left(_) if ms >= LONGEST_MS => {}
            Either::Left(_) => match look(&inner).await {
                Some(next) => due = next,
                None => return,
            },
        }
    }
}

/// Removes what has expired, and tells when to look again; `None` once the client is gone.
async fn look(inner: &Weak<Inner>) -> Option<Option<Nanos>> {
    let patience = inner.upgrade().filter(|inner| inner.live.borrow().is_none());
    let patience = patience.map(|inner| inner.platform.sleep(PATIENCE_MS));
    if let Some(patience) = patience {
        patience.await;
    }
    let inner = inner.upgrade()?;
    match inner.expire().await {
        Ok(next) => Some(next),
        Err(_) if inner.closed.get() => None,
        // A full disk, a database that is being opened again: it is tried again, and until then
        // every read leaves out what has expired.
        Err(_) => Some(Some(after(&inner, AGAIN_MS))),
    }
}

fn after(inner: &Inner, ms: u32) -> Nanos {
    Nanos(inner.platform.now().0.saturating_add(i64::from(ms) * NANOS_PER_MILLI))
}
