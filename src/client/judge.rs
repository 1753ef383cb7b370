//! Before a step commits: what the edits and deletions it stores do to messages, whichever of them
//! were stored before (PROC-037).

use crate::base::MessageId;
use crate::client::driver::Step;
use crate::client::load;
use crate::engine::annotations::{Said, judge};
use crate::error::Error;
use crate::store::rows::{AnnotationRow, MessageRow};
use crate::store::{Read, Table};

impl Step<'_> {
    /// Looks at every message that [`crate::engine::unit::Unit::judged`] names.
    pub(super) async fn judge(&mut self) -> Result<(), Error> {
        let mut targets = std::mem::take(&mut self.unit.judged);
        targets.sort_unstable();
        targets.dedup();
        let read = |id: &MessageId| [Read::Key(Table::Messages, id.as_bytes().to_vec()), load::about(*id)];
        let answers = self.inner.store.read(targets.iter().flat_map(read).collect()).await?;
        for (id, answer) in targets.into_iter().zip(answers.chunks(2)) {
            let [row, about] = answer else { return Err(Error::bug("a read without its answer")) };
            let stored = load::rows::<MessageRow>(row)?.pop();
            let target = self.unit.stored(id).or(stored);
            let said = self.said(id, load::annotations(about)?).await?;
            let of = |thread| said.iter().any(|one: &Said| one.row.thread == thread);
            let thread = self.threads.iter_mut().find(|thread| of(thread.id));
            judge(id, target, &said, thread, &mut self.unit);
        }
        Ok(())
    }

    /// Everything said about a message, with what this step adds.
    async fn said(&self, target: MessageId, stored: Vec<AnnotationRow>) -> Result<Vec<Said>, Error> {
        let mut about = self.unit.annotations(target);
        let new = about.len();
        let known = |one: &AnnotationRow| about.iter().any(|own| own.message == one.message);
        let stored: Vec<_> = stored.into_iter().filter(|one| !known(one)).collect();
        about.extend(stored);
        let ids: Vec<MessageId> = about.iter().skip(new).map(|one| one.message).collect();
        let mut rows: Vec<Option<MessageRow>> =
            about.iter().take(new).map(|one| self.unit.stored(one.message)).collect();
        if !ids.is_empty() {
            rows.extend(self.inner.message_rows(&ids).await?);
        }
        let said = |(one, row): (&AnnotationRow, Option<MessageRow>)| {
            Some(Said { row: row?, by_super_admin: one.by_super_admin })
        };
        Ok(about.iter().zip(rows).filter_map(said).collect())
    }
}
