//! Reads what was said about messages, as far as it may count.

use crate::base::MessageId;
use crate::client::{Inner, load};
use crate::engine::annotations::Said;
use crate::error::Error;
use crate::store::rows::{AnnotationRow, MessageRow};
use crate::store::{Read, Record, Table};

/// A message that says something, and whether its sender was a super admin there.
pub(super) type Named = (MessageId, bool);

/// The read of a message.
pub(super) fn message(id: MessageId) -> Read {
    Read::Key(Table::Messages, id.as_bytes().to_vec())
}

/// Every message that is named.
pub(super) fn named(about: &[Vec<Named>]) -> Vec<MessageId> {
    about.iter().flatten().map(|(id, _)| *id).collect()
}

/// What is said, by target; `rows` are those of [`named`], without what is not there.
pub(super) fn said(about: Vec<Vec<Named>>, rows: Vec<Option<MessageRow>>) -> Vec<Vec<Said>> {
    let mut rows = rows.into_iter();
    let mut of = |(_, by_super_admin)| Some(Said { row: rows.next().flatten()?, by_super_admin });
    about.into_iter().map(|about| about.into_iter().filter_map(&mut of).collect()).collect()
}

impl Inner {
    /// Answers `first`, and `reads` of annotations by target, from one snapshot.
    pub(super) async fn annotations(
        &self,
        first: Vec<Read>,
        reads: Vec<Vec<Read>>,
    ) -> Result<(Vec<Vec<Record>>, Vec<Vec<Named>>), Error> {
        let (own, counts): (_, Vec<usize>) = (first.len(), reads.iter().map(Vec::len).collect());
        let mut answers =
            self.store.read(first.into_iter().chain(reads.into_iter().flatten()).collect()).await?;
        let mut rest = answers.split_off(own.min(answers.len()));
        let mut about = Vec::with_capacity(counts.len());
        for count in counts {
            let further = rest.split_off(count.min(rest.len()));
            let rows: Vec<AnnotationRow> = load::all(&rest)?;
            about.push(rows.iter().filter_map(|row| Some((row.message()?, row.by_super_admin()))).collect());
            rest = further;
        }
        Ok((answers, about))
    }
}
