//! A page of a thread: one range read over the union of its groups, one limit (DMS-009).
//!
//! DM history leaves membership-change messages out unless the app asks for them by kind
//! (spec/dms.txt, last paragraph); a group's history has them. Reactions, edits, deletions and read
//! receipts are no messages of their own: a page has them when the app asks for their type.

use crate::base::{InboxId, Nanos, ThreadId};
use crate::store::rows::{ContentTypeView, MessageKind, MessageRow, MessageStatus};
use crate::store::{Index, Read, Table, after_prefix};
use crate::wire::about::is_silent;

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
    /// Sent later than this.
    pub sent_after: Option<Nanos>,
    /// Sent earlier than this.
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

/// A stretch of an index, read on in chunks.
#[derive(Clone, Debug)]
pub struct Span {
    index: Index,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

impl Span {
    /// The next chunk.
    pub fn read(&self, descending: bool, limit: u32) -> Read {
        Read::Range {
            table: Table::Messages,
            index: Some(self.index),
            from: Some(self.from.clone()),
            to: self.to.clone(),
            descending,
            limit: Some(limit),
        }
    }

    /// Goes on behind `last`.
    pub fn after(&mut self, last: &MessageRow, descending: bool) {
        use crate::store::rows::Row;
        let position = self.index as usize;
        let Some(Some(key)) = last.index().into_iter().nth(position) else { return };
        if descending {
            self.to = Some(key);
        } else {
            self.from = key;
            self.from.push(0);
        }
    }
}

impl HistoryOptions {
    /// The newest message.
    pub fn newest() -> Self {
        Self { descending: true, limit: Some(1), ..Self::default() }
    }

    /// The stretches of the thread that can hold matches, in the order they are read.
    pub fn spans(&self, thread: ThreadId) -> Vec<Span> {
        let prefix = thread.to_key();
        let mut spans = match self.sort_by {
            SortBy::Delivered => {
                let (index, to) = (Index::ThreadDelivery, after_prefix(&prefix));
                return vec![Span { index, from: prefix, to }];
            }
            SortBy::SentAt | SortBy::InsertedAt => match self.sent_before {
                // One stretch: own messages not read back yet come right behind the published ones.
                None => vec![self.stretch(&prefix, [prefix.as_slice(), &[2]].concat())],
                Some(before) => vec![self.stretch(&prefix, at(&prefix, before)), unpublished(&prefix)],
            },
        };
        if self.descending {
            spans.reverse();
        }
        spans
    }

    /// True when a page is the first of what the spans hold, in the order they are read.
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

    /// Published messages from where the page begins, and on up to `to`.
    fn stretch(&self, prefix: &[u8], to: Vec<u8>) -> Span {
        let after = self.sent_after.map_or(Nanos(0), |after| Nanos(after.0.saturating_add(1)));
        Span { index: Index::ThreadSort, from: at(prefix, after), to: Some(to) }
    }

    /// Whether a row belongs to the page.
    pub fn admits(&self, row: &MessageRow, now: Nanos) -> bool {
        let default_kind = matches!(row.thread, ThreadId::Dm(_)).then_some(MessageKind::Application);
        let sent = |kind| (kind != MessageKind::MembershipChange) == row.is_sent();
        self.kind.or(default_kind).is_none_or(sent)
            && !row.is_gone(now)
            && self.sent_after.is_none_or(|after| row.sent_ns > after)
            && self.sent_before.is_none_or(|before| row.sent_ns < before)
            && self.status.as_ref().is_none_or(|status| same_status(status, &row.status))
            && self.types.admit(&row.content_type)
            && !self.exclude_senders.contains(&row.sender_inbox)
    }
}

/// Where published messages of a time begin.
fn at(prefix: &[u8], time: Nanos) -> Vec<u8> {
    [prefix, &[0], &time.0.max(0).to_be_bytes()].concat()
}

/// Own messages of a thread that are not read back yet.
pub fn unpublished(prefix: &[u8]) -> Span {
    Span { index: Index::ThreadSort, from: [prefix, &[1]].concat(), to: Some([prefix, &[2]].concat()) }
}

fn same_status(a: &MessageStatus, b: &MessageStatus) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}
