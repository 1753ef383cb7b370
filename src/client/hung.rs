//! What hangs on messages that are read: reactions, the edit that counts, what a reply answers.
//!
//! In a conversation nobody ever reacted in, a page without replies costs nothing more; any other
//! page costs two further snapshots at most, and a third when a message it quotes was edited. However
//! much was said about a message, what is read for it has a limit ([`hanging`]).

use crate::base::{MessageId, Nanos, ThreadId};
use crate::client::said::{Named, message, named, said};
use crate::client::{Client, Inner, Page, load};
use crate::engine::annotations::{Said, fold, hanging};
use crate::error::Error;
use crate::store::rows::{Hangs, MessageRow, NotesRow, ThreadRow};
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
    /// Reactions in their order, those that take one back among them: the newest
    /// [`REACTIONS`](crate::engine::annotations::REACTIONS).
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
        let (mut page, kinds) = self.0.placed(rows).await?;
        page.hung = self.0.dress(&mut page.rows, kinds).await?;
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
    /// Where rows are listed, and what hangs on messages of their conversations.
    async fn placed(&self, rows: Vec<MessageRow>) -> Result<(Page, u8), Error> {
        self.open()?;
        let mut threads: Vec<ThreadId> = rows.iter().map(|row| row.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let (mut page, mut all) = (Page { rows, ..Page::default() }, 0);
        if threads.is_empty() {
            return Ok((page, all));
        }
        let read = |id: &ThreadId| [Read::Key(Table::Threads, id.to_key()), load::notes(*id)];
        let answers = self.store.read(threads.iter().flat_map(read).collect()).await?;
        for answer in answers.chunks(2) {
            let [thread, notes] = answer else { return Err(Error::bug("a read without its answer")) };
            page.listed.extend(load::rows::<ThreadRow>(thread)?.iter().map(|row| (row.id, row.winner)));
            all |= kinds(load::rows(notes)?);
        }
        Ok((page, all))
    }
}

/// What there is to look for, as notes say.
pub(super) fn kinds(notes: Vec<NotesRow>) -> u8 {
    notes.first().map_or(0, |notes| notes.kinds)
}

/// The reads of what hangs on each of `rows`. A deletion at its place took the rest with it.
fn reads(rows: &[MessageRow], kinds: u8) -> Vec<Vec<Read>> {
    let of = |row: &MessageRow| if row.deleted_by().is_some() { Vec::new() } else { hanging(row, kinds) };
    rows.iter().map(of).collect()
}

impl Inner {
    /// Puts into `rows` what edits and deletions make of them, and gives what hangs on them, of these
    /// kinds. Without any there is nothing but replies to look for.
    pub(super) async fn dress(&self, rows: &mut Vec<MessageRow>, kinds: u8) -> Result<Vec<Hung>, Error> {
        let replies: Vec<(usize, MessageId)> =
            rows.iter().enumerate().filter_map(|(at, row)| Some((at, answered(row)?))).collect();
        if kinds == 0 && replies.is_empty() {
            return Ok(Vec::new());
        }
        let shown = rows.len();
        let mut quoted: Vec<MessageId> = replies.iter().map(|(_, id)| *id).collect();
        quoted.sort_unstable();
        quoted.dedup();
        quoted.retain(|id| rows.iter().all(|row| row.id != *id));
        let quoted = quoted.into_iter().map(message).collect();
        let (quoted, about) = self.annotations(quoted, reads(rows, kinds)).await?;
        rows.extend(load::all::<MessageRow>(&quoted)?);
        let mut edits = self.fold_all(rows, shown, about, kinds).await?;
        let quoted = rows.split_off(shown);
        edits.retain(|(_, hung)| hung.edited_ns.is_some() || !hung.reactions.is_empty());
        Ok(gather(rows, &quoted, edits, &replies, self.platform.now()))
    }

    /// Folds what was said about each of `rows` into it. What is said about the first `shown` is
    /// `about`; the others are quoted, so that reactions to them do not show.
    async fn fold_all(
        &self,
        rows: &mut [MessageRow],
        shown: usize,
        about: Vec<Vec<Named>>,
        kinds: u8,
    ) -> Result<Vec<(MessageId, Hung)>, Error> {
        let (page, quoted) = rows.split_at_mut(shown);
        let ids = named(&about).into_iter().map(message).collect::<Vec<_>>();
        let further = reads(quoted, kinds & !Hangs::Reaction.bit());
        if ids.is_empty() && further.iter().all(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let (found, further) = self.annotations(ids, further).await?;
        let found = found.iter().map(|one| Ok(load::rows(one)?.pop())).collect::<Result<_, Error>>()?;
        let (mut folded, now) = (Vec::new(), self.platform.now());
        fold_into(page, said(about, found), now, &mut folded);
        let ids = named(&further);
        if !ids.is_empty() {
            fold_into(quoted, said(further, self.message_rows(&ids).await?), now, &mut folded);
        }
        Ok(folded)
    }
}

/// Makes each of `rows` what was said about it; what has disappeared says nothing.
fn fold_into(rows: &mut [MessageRow], said: Vec<Vec<Said>>, now: Nanos, folded: &mut Vec<(MessageId, Hung)>) {
    for (row, mut said) in rows.iter_mut().zip(said) {
        said.retain(|one| !one.row.is_gone(now));
        folded.push((row.id, view(row, &said)));
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
