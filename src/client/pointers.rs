//! Reads what Welcome pointers point to, and comes back to Welcomes that wait (JOIN-079).

use std::cell::Cell;
use std::rc::Rc;

use crate::base::Topic;
use crate::client::Inner;
use crate::engine::opening::Shared;
use crate::error::Error;

/// Envelopes of a destination read at once: each may be a megabyte, and the first is the one.
const PAGE: u32 = 4;
/// Pages of a destination looked through; anyone it was sent to can fill it.
const PAGES: u32 = 16;

/// Waits between tries: the first, and the longest, in milliseconds (facts 3.2).
const FIRST_MS: u32 = 5 * 60_000;
const LONGEST_MS: u32 = 2 * 60 * 60_000;
/// Tries without a sync of the app's.
const TRIES: usize = 100;

/// The one background run that comes back to Welcomes that wait.
#[derive(Default)]
pub struct Retry {
    /// Rises with each run; an older one ends.
    run: Cell<u32>,
    /// It has not tried yet.
    waiting: Cell<bool>,
}

impl Inner {
    /// Reads the next page of a pointer's destination.
    ///
    /// # Errors
    /// `delivery.*`, also when the service did not answer in full.
    pub(super) async fn read_shared(&self, topic: Topic, shared: &mut Shared) -> Result<(), Error> {
        shared.page = self.delivery.query(vec![(topic, shared.read)], PAGE).await?;
        shared.pages += 1;
        if let Some(last) = shared.page.last() {
            shared.read = last.sequence_id;
            shared.whole = shared.pages >= PAGES;
            return Ok(());
        }
        // That nothing more lies there is final when something did: a short answer does not say it.
        let newest = match shared.read.0 {
            0 => None,
            _ => self.delivery.newest(vec![topic]).await?.into_iter().flatten().next(),
        };
        if newest.is_some_and(|newest| newest.sequence_id > shared.read) {
            return Err(Error::new(
                "delivery.unavailable",
                "the delivery service did not answer in full; it is tried again when you sync",
            ));
        }
        shared.whole = true;
        Ok(())
    }

    /// Comes back to Welcomes that wait and key packages not published, less and less often. A sync
    /// of the app's starts anew.
    pub(super) fn retry_welcomes(self: &Rc<Self>) {
        if self.retry.waiting.replace(true) {
            return;
        }
        let run = self.retry.run.get().wrapping_add(1);
        self.retry.run.set(run);
        let (platform, client) = (self.platform.clone(), Rc::downgrade(self));
        self.platform.spawn(Box::pin(async move {
            let mut wait = FIRST_MS;
            for _ in 0..TRIES {
                platform.sleep(wait).await;
                let Some(inner) = client.upgrade() else { return };
                if inner.closed.get() || inner.retry.run.get() != run {
                    return;
                }
                inner.retry.waiting.set(false);
                match inner.take_in_welcomes().await {
                    Ok(true) => {}
                    Err(error) if error.retryable() => {}
                    _ => return,
                }
                wait = (wait / 2 * 3).min(LONGEST_MS);
            }
        }));
    }
}
