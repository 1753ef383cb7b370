//! Reading messages: one range read over the stitched thread, one limit (DMS-009).

use crate::base::{GroupId, MessageId, ThreadId};
use crate::client::{Client, Inner, load};
use crate::engine::history::HistoryOptions;
use crate::error::Error;
use crate::store::rows::MessageRow;

/// Rows of one chunk when a filter may leave some out.
const CHUNK: usize = 200;

impl Client {
    /// A page of a conversation, named by any of its groups.
    pub async fn messages(&self, group: GroupId, options: &HistoryOptions) -> Result<Vec<MessageRow>, Error> {
        self.0.open()?;
        let thread = self.0.thread_of(group).await?;
        self.0.history(thread, options).await
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
    pub(super) async fn history(
        &self,
        thread: ThreadId,
        options: &HistoryOptions,
    ) -> Result<Vec<MessageRow>, Error> {
        let limit = options.limit.unwrap_or(usize::MAX);
        let chunk = limit.clamp(1, CHUNK);
        let now = self.platform.now();
        let mut page = Vec::new();
        for mut span in options.spans(thread) {
            while page.len() < limit {
                let read = span.read(options.descending, u32::try_from(chunk).unwrap_or(u32::MAX));
                let answer = self.store.read(vec![read]).await?;
                let rows = load::rows::<MessageRow>(answer.first().map_or(&[], Vec::as_slice))?;
                let ended = rows.len() < chunk;
                if let Some(last) = rows.last() {
                    span.after(last, options.descending);
                }
                page.extend(rows.into_iter().filter(|row| options.admits(row, now)));
                if ended {
                    break;
                }
            }
        }
        page.truncate(limit);
        Ok(page)
    }
}
