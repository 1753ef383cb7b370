//! A page of a thread: one range read over the union of its groups, one limit (DMS-009).
//!
//! DM history leaves membership-change messages out unless the app asks for them by kind
//! (spec/dms.txt, last paragraph); a group's history has them. Reactions, edits, deletions and read
//! receipts are no messages of their own: a page has them when the app asks for their type.

use crate::base::{InboxId, Nanos, ThreadId};
use crate::store::rows::{ContentTypeView, MessageKind, MessageRow, MessageStatus};
use crate::store::{Index, Read, Record, Table, after_prefix};
use crate::wire::about::is_silent;
use crate::wire::content_type::AUTHORITY;

/// By what a page is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Delivery time, then message id; own messages not read back yet come last.
    #[default]
    SentAt,
    /// The order rows became deliverable here.
    Delivered,
    /// When rows were first stored here. No index has that order, so the whole thread is read.
    InsertedAt,
}

/// Which content types an app asks for, by type id. Of itself it gets all but those that are no
/// messages of their own.
#[derive(Clone, Debug, Default)]
pub struct Types {
    /// Only these.
    pub only: Option<Vec<String>>,
    /// With all others, these of the types that are left out otherwise.
    pub also: Vec<String>,
    /// None of these.
    pub except: Vec<String>,
}

impl Types {
    /// These and no others.
    pub fn only(types: &[&str]) -> Self {
        Self { only: Some(types.iter().map(|one| (*one).to_owned()).collect()), ..Self::default() }
    }

    /// Whether any of those is asked for that are no messages of their own.
    fn name_silent(&self) -> bool {
        self.only.iter().flatten().chain(&self.also).any(|one| is_silent(AUTHORITY, one))
    }

    /// Whether a content type is asked for.
    pub fn admit(&self, ContentTypeView { authority, type_id, .. }: &ContentTypeView) -> bool {
        let shown = || !is_silent(authority, type_id) || self.also.contains(type_id);
        self.only.as_ref().map_or_else(shown, |only| only.contains(type_id)) && !self.except.contains(type_id)
    }
}

/// What an app asks of a thread.
#[derive(Clone, Debug, Default)]
pub struct HistoryOptions {
    /// At most so many messages.
    pub limit: Option<usize>,
    /// Greatest first.
    pub descending: bool,
    /// Order.
    pub sort_by: SortBy,
    /// Sent later than this; see [`Bounds`] for what waits.
    pub sent_after: Option<Nanos>,
    /// Sent earlier than this; not what waits.
    pub sent_before: Option<Nanos>,
    /// Only this kind; what was taken back counts as sent.
    pub kind: Option<MessageKind>,
    /// Only this status.
    pub status: Option<MessageStatus>,
    /// Only of these content types.
    pub types: Types,
    /// Nothing sent by these inboxes.
    pub exclude_senders: Vec<InboxId>,
}

/// A stretch of a thread, read on in chunks: of its messages, and of those that are no messages of
/// their own if they are asked for.
#[derive(Clone, Debug)]
pub struct Span {
    index: Index,
    parts: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Span {
    /// The reads of the next chunk.
    pub fn reads(&self, descending: bool, limit: u32) -> Vec<Read> {
        let read = |(from, to): &(Vec<u8>, Option<Vec<u8>>)| Read::Range {
            table: Table::Messages,
            index: Some(self.index),
            from: Some(from.clone()),
            to: to.clone(),
            descending,
            limit: Some(limit),
        };
        self.parts.iter().map(read).collect()
    }

    /// The chunk, of the answers; goes on behind it.
    pub fn take(&mut self, found: Vec<Vec<MessageRow>>, descending: bool, limit: usize) -> Vec<MessageRow> {
        let mut parts = found.into_iter();
        let mut rows = parts.next().unwrap_or_default();
        if let Some(others) = parts.next() {
            // So many of each were read, so the first so many of all are among them.
            rows = self.merged(rows, others, descending);
            rows.truncate(limit);
        }
        for silent in [false, true] {
            let last = rows.iter().rev().find(|row| row.is_silent() == silent);
            if let (Some(last), Some(part)) = (last, self.parts.get_mut(usize::from(silent))) {
                go_on(part, self.index, last, descending);
            }
        }
        rows
    }

    /// Rows of two parts, each in its order, in one.
    fn merged(&self, rows: Vec<MessageRow>, others: Vec<MessageRow>, descending: bool) -> Vec<MessageRow> {
        let place = |row: &MessageRow| match self.index {
            Index::ThreadDelivery => row.delivery.unwrap_or_default().to_be_bytes().to_vec(),
            _ => row.sort_key(),
        };
        let mut all = Vec::with_capacity(rows.len() + others.len());
        let mut others = others.into_iter().peekable();
        for row in rows {
            let at = place(&row);
            while let Some(other) = others.next_if(|other| (place(other) < at) != descending) {
                all.push(other);
            }
            all.push(row);
        }
        all.extend(others);
        all
    }
}

/// Goes on behind `last`.
fn go_on((from, to): &mut (Vec<u8>, Option<Vec<u8>>), index: Index, last: &MessageRow, descending: bool) {
    use crate::store::rows::Row;
    let Some(Some(key)) = last.index().into_iter().nth(index as usize) else { return };
    if descending {
        *to = Some(key);
    } else {
        *from = key;
        from.push(0);
    }
}

/// Where a time lies in a thread: what still waits to be sent is behind all that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    waits: bool,
    at: Nanos,
}

impl Place {
    fn of(row: &MessageRow) -> Self {
        Self { waits: row.status == MessageStatus::Unpublished, at: row.sent_ns }
    }

    /// Where its messages begin in the index of a thread.
    fn key(self, prefix: &[u8]) -> Vec<u8> {
        [prefix, &[u8::from(self.waits)], &self.at.0.max(0).to_be_bytes()].concat()
    }
}

/// The read of what waits to be sent in a thread: of its messages, or of those that are no messages
/// of their own.
pub fn waiting(thread: ThreadId, silent: bool) -> Read {
    let from = [MessageRow::listed(thread, silent).as_slice(), &[1]].concat();
    let (index, to) = (Some(Index::ThreadSort), after_prefix(&from));
    Read::Range { table: Table::Messages, index, from: Some(from), to, descending: false, limit: None }
}

/// The places between which a page lies, both left out.
///
/// An app asks for the messages before or after the time it read on a message, to go on from
/// there. The time of one that still waits, by the local clock, says nothing about what was sent:
/// it stands for that message's place. Any other time is one of a sent message, and what waits is
/// after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    after: Option<Place>,
    before: Option<Place>,
}

impl HistoryOptions {
    /// The newest message.
    pub fn newest() -> Self {
        Self { descending: true, limit: Some(1), ..Self::default() }
    }

    /// The prefixes under which a thread's messages lie that may be asked for.
    fn prefixes(&self, thread: ThreadId) -> Vec<Vec<u8>> {
        let silent: &[bool] = if self.types.name_silent() { &[false, true] } else { &[false] };
        silent.iter().map(|silent| MessageRow::listed(thread, *silent)).collect()
    }

    /// Reads of what waits at the asked times, for [`HistoryOptions::bounds`].
    pub fn marks(&self, thread: ThreadId) -> Vec<Read> {
        let mark = |at: &Nanos| {
            let part = |silent| {
                let from = Place { waits: true, at: *at }.key(&MessageRow::listed(thread, silent));
                (from.clone(), after_prefix(&from))
            };
            Span { index: Index::ThreadSort, parts: [false, true].map(part).into() }.reads(false, 1)
        };
        self.sent_after.iter().chain(&self.sent_before).flat_map(mark).collect()
    }

    /// Where the page begins and ends; without `marks`, the answers, as if nothing waited there.
    pub fn bounds(&self, marks: &[Vec<Record>]) -> Bounds {
        let mut marks = marks.chunks(2);
        let mut found = || marks.next().is_some_and(|rows| rows.iter().any(|rows| !rows.is_empty()));
        // A time below 0 would find what is kept as 0.
        let mut place = |at: Nanos| Place { waits: found() && at.0 >= 0, at };
        Bounds { after: self.sent_after.map(&mut place), before: self.sent_before.map(&mut place) }
    }

    /// The stretch of the thread that can hold matches.
    pub fn span(&self, thread: ThreadId, bounds: &Bounds) -> Span {
        let delivered = self.sort_by == SortBy::Delivered;
        let behind = |Place { waits, at }| Place { waits, at: Nanos(at.0.saturating_add(1)) };
        let part = |prefix: Vec<u8>| {
            if delivered {
                let to = after_prefix(&prefix);
                return (prefix, to);
            }
            let to = match bounds.before {
                // A time below 0 is kept as 0.
                Some(Place { waits, at }) => Some(Place { waits, at: Nanos(at.0.max(1)) }.key(&prefix)),
                None => after_prefix(&prefix),
            };
            let from = bounds.after.map(|after| behind(after).key(&prefix));
            (from.unwrap_or(prefix), to)
        };
        let index = if delivered { Index::ThreadDelivery } else { Index::ThreadSort };
        Span { index, parts: self.prefixes(thread).into_iter().map(part).collect() }
    }

    /// True when a page is the first of what the span holds, in the order it is read.
    pub fn in_read_order(&self) -> bool {
        self.sort_by != SortBy::InsertedAt
    }

    /// Brings rows that were read whole into the asked order.
    pub fn sort(&self, rows: &mut [MessageRow]) {
        rows.sort_unstable_by_key(|row| (row.inserted_ns, row.id));
        if self.descending {
            rows.reverse();
        }
    }

    /// Whether a row belongs to the page.
    pub fn admits(&self, row: &MessageRow, bounds: &Bounds, now: Nanos) -> bool {
        let default_kind = matches!(row.thread, ThreadId::Dm(_)).then_some(MessageKind::Application);
        let sent = |kind| (kind != MessageKind::MembershipChange) == row.is_sent();
        self.kind.or(default_kind).is_none_or(sent)
            && !row.is_gone(now)
            && bounds.after.is_none_or(|after| Place::of(row) > after)
            && bounds.before.is_none_or(|before| Place::of(row) < before)
            && self.status.as_ref().is_none_or(|status| same_status(status, &row.status))
            && self.types.admit(&row.content_type)
            && !self.exclude_senders.contains(&row.sender_inbox)
    }
}

fn same_status(a: &MessageStatus, b: &MessageStatus) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}
