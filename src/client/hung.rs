//! What hangs on messages that are read: reactions, the edit that counts, what a reply answers.
//!
//! In a conversation nobody ever reacted in, a page without replies costs nothing more; any other
//! page costs two further snapshots at most.

use crate::base::{MessageId, Nanos, ThreadId};
use crate::client::{Client, Inner, Page, load};
use crate::engine::annotations::{Said, fold};
use crate::error::Error;
use crate::store::rows::{AnnotationRow, MessageRow, NotesRow, ThreadRow};
use crate::store::{Read, Table};
use crate::wire::EncodedContent;
use crate::wire::about::replied_to;
use crate::wire::content_type::REPLY;

/// A message as it reads now, and when it was edited last.
pub type Quoted = (MessageRow, Option<Nanos>);

/// What hangs on one message of a page.
#[derive(Default)]
pub struct Hung {
    /// The message's place in the page.
    pub at: usize,
    /// When it was edited last; the page has the new content.
    pub edited_ns: Option<Nanos>,
    /// Reactions in their order, those that take one back among them.
    pub reactions: Vec<MessageRow>,
    /// The message it answers, if that is in the same conversation and still there.
    pub in_reply_to: Option<Quoted>,
}

impl Client {
    /// Messages of any conversations as a page, in the order given; what has disappeared is left
    /// out.
    ///
    /// # Errors
    /// `client.closed`, `store.*`.
    pub async fn dressed(&self, mut rows: Vec<MessageRow>) -> Result<Page, Error> {
        let now = self.0.platform.now();
        rows.retain(|row| !row.is_gone(now));
        let (mut page, annotated) = self.0.placed(rows).await?;
        page.hung = self.0.dress(&mut page.rows, annotated).await?;
        Ok(page)
    }

    /// Messages as a page, as they are and without what hangs on them.
    ///
    /// # Errors
    /// `client.closed`, `store.*`.
    pub async fn listed(&self, rows: Vec<MessageRow>) -> Result<Page, Error> {
        self.0.placed(rows).await.map(|(page, _)| page)
    }
}

impl Inner {
    /// Where rows are listed, and whether any of their conversations has annotations.
    async fn placed(&self, rows: Vec<MessageRow>) -> Result<(Page, bool), Error> {
        self.open()?;
        let mut threads: Vec<ThreadId> = rows.iter().map(|row| row.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let (mut page, mut annotated) = (Page { rows, ..Page::default() }, false);
        if threads.is_empty() {
            return Ok((page, annotated));
        }
        let read = |id: &ThreadId| [Read::Key(Table::Threads, id.to_key()), load::notes(*id)];
        let answers = self.store.read(threads.iter().flat_map(read).collect()).await?;
        for answer in answers.chunks(2) {
            let [thread, notes] = answer else { return Err(Error::bug("a read without its answer")) };
            page.listed.extend(load::rows::<ThreadRow>(thread)?.iter().map(|row| (row.id, row.winner)));
            annotated |= is_annotated(load::rows(notes)?);
        }
        Ok((page, annotated))
    }
}

/// Whether notes as read say that there is something to look for.
pub(super) fn is_annotated(notes: Vec<NotesRow>) -> bool {
    notes.iter().any(|notes| notes.annotated)
}

impl Inner {
    /// Puts into `rows` what edits and deletions make of them, and gives what hangs on them.
    /// Without `annotated` there is nothing but replies to look for.
    pub(super) async fn dress(
        &self,
        rows: &mut Vec<MessageRow>,
        annotated: bool,
    ) -> Result<Vec<Hung>, Error> {
        let replies: Vec<(usize, MessageId)> =
            rows.iter().enumerate().filter_map(|(at, row)| Some((at, answered(row)?))).collect();
        if !annotated && replies.is_empty() {
            return Ok(Vec::new());
        }
        let shown = rows.len();
        let mut quoted: Vec<MessageId> = replies.iter().map(|(_, id)| *id).collect();
        quoted.sort_unstable();
        quoted.dedup();
        quoted.retain(|id| rows.iter().all(|row| row.id != *id));
        let mut subjects: Vec<MessageId> = rows.iter().map(|row| row.id).collect();
        subjects.extend(&quoted);
        if !annotated {
            subjects.clear();
        }
        let key = |id: &MessageId| Read::Key(Table::Messages, id.as_bytes().to_vec());
        let reads = quoted.iter().map(key).chain(subjects.iter().map(|id| load::about(*id)));
        let mut answers = self.store.read(reads.collect()).await?;
        let about = answers.split_off(quoted.len());
        rows.extend(load::all::<MessageRow>(&answers)?);
        let edits = self.fold_all(rows, &subjects, &about).await?;
        let quoted = rows.split_off(shown);
        Ok(gather(rows, &quoted, edits, &replies, self.platform.now()))
    }

    /// Folds what was said about each of `subjects` into its row; `about` are the answers for them.
    async fn fold_all(
        &self,
        rows: &mut [MessageRow],
        subjects: &[MessageId],
        about: &[Vec<crate::store::Record>],
    ) -> Result<Vec<(MessageId, Hung)>, Error> {
        let about = about.iter().map(|records| load::annotations(records)).collect::<Result<Vec<_>, _>>()?;
        let ids: Vec<MessageId> = about.iter().flatten().map(|one| one.message).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.platform.now();
        let mut stored = self.message_rows(&ids).await?.into_iter();
        let mut folded = Vec::new();
        for (id, about) in subjects.iter().zip(about) {
            let said: Vec<Said> = about
                .iter()
                .zip(stored.by_ref())
                .filter_map(|(AnnotationRow { by_super_admin, .. }, row)| {
                    Some(Said { row: row.filter(|row| !row.is_gone(now))?, by_super_admin: *by_super_admin })
                })
                .collect();
            let Some(row) = rows.iter_mut().find(|row| row.id == *id) else { continue };
            let hung = view(row, &said);
            if hung.edited_ns.is_some() || !hung.reactions.is_empty() {
                folded.push((*id, hung));
            }
        }
        Ok(folded)
    }
}

/// The message a row answers, if it is a reply.
fn answered(row: &MessageRow) -> Option<MessageId> {
    if !row.is_sent() || row.content_type.type_id != REPLY {
        return None;
    }
    replied_to(&EncodedContent::decode(&row.content).ok()?)
}

/// Makes a row what was said about it, and gives what hangs on it.
fn view(row: &mut MessageRow, said: &[Said]) -> Hung {
    let mut hung = Hung::default();
    let folded = fold(row, said.iter());
    hung.reactions = folded.reactions.into_iter().cloned().collect();
    let (deletion, edit) = (folded.deletion.map(|row| row.sender_inbox), folded.edit);
    if let Some(by) = deletion {
        row.delete(by);
    } else if let Some((edit, content, of)) = edit {
        hung.edited_ns = Some(edit.sent_ns);
        (row.content, row.content_type) = (content, of);
    }
    hung
}

/// What hangs on each of `rows` that something hangs on.
fn gather(
    rows: &[MessageRow],
    quoted: &[MessageRow],
    folded: Vec<(MessageId, Hung)>,
    replies: &[(usize, MessageId)],
    now: Nanos,
) -> Vec<Hung> {
    let edited = |id: MessageId| folded.iter().find(|(of, _)| *of == id).and_then(|(_, hung)| hung.edited_ns);
    let quote = |at: usize| -> Option<Quoted> {
        let (_, id) = replies.iter().find(|(reply, _)| *reply == at)?;
        let found = rows.iter().chain(quoted).find(|row| row.id == *id)?;
        let same = rows.get(at).is_some_and(|row| row.thread == found.thread);
        (same && !found.is_gone(now)).then(|| (found.clone(), edited(*id)))
    };
    let mut quotes: Vec<(usize, Quoted)> =
        replies.iter().filter_map(|(at, _)| Some((*at, quote(*at)?))).collect();
    let mut all = Vec::new();
    let mut folded = folded;
    for (at, row) in rows.iter().enumerate() {
        let own = folded.iter().position(|(id, _)| *id == row.id).map(|at| folded.swap_remove(at).1);
        let quote = quotes.iter().position(|(of, _)| *of == at).map(|at| quotes.swap_remove(at).1);
        if own.is_some() || quote.is_some() {
            all.push(Hung { at, in_reply_to: quote, ..own.unwrap_or_default() });
        }
    }
    all
}
