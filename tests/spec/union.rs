//! The thread of a stitched DM over random rows: every page is the page of the sorted union, and
//! reading on from a message's time misses nothing and repeats nothing (DMS-009).

use std::cell::Cell;

use dovetail::base::{GroupId, InboxId, MessageId, Nanos};
use dovetail::engine::history::{HistoryOptions, SortBy, Types};
use dovetail::store::Changes;
use dovetail::store::rows::{MessageKind, MessageRow, MessageStatus};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::{User, World, seed};

/// What a random message is, but for its id and thread.
#[derive(Clone, Debug)]
struct Draft {
    group: usize,
    status: MessageStatus,
    sent: i64,
    inserted: i64,
    kind: MessageKind,
    type_id: &'static str,
    sender: u8,
    expired: bool,
}

const TYPES: [&str; 3] = ["text", "reaction", "reply"];

fn status() -> impl Strategy<Value = MessageStatus> {
    prop_oneof![
        4 => Just(MessageStatus::Published),
        2 => Just(MessageStatus::Unpublished),
        1 => Just(MessageStatus::Failed("x".into())),
    ]
}

fn kind() -> impl Strategy<Value = MessageKind> {
    prop_oneof![
        6 => Just(MessageKind::Application),
        1 => Just(MessageKind::MembershipChange),
        1 => Just(MessageKind::Deleted),
    ]
}

fn draft(times: std::ops::Range<i64>) -> impl Strategy<Value = Draft> {
    let what = (kind(), proptest::sample::select(&TYPES[..]), 0u8..3, proptest::bool::weighted(0.1));
    (0usize..4, status(), times, -20i64..20, what).prop_map(
        |(group, status, sent, skew, (kind, type_id, sender, expired))| Draft {
            group,
            status,
            sent,
            inserted: sent + 20 + skew,
            kind,
            type_id,
            sender,
            expired,
        },
    )
}

fn options() -> impl Strategy<Value = HistoryOptions> {
    let time = || proptest::option::weighted(0.4, (-3i64..65).prop_map(Nanos));
    let types = || proptest::sample::subsequence(TYPES.map(str::to_owned).to_vec(), 0..=2);
    let order = proptest::sample::select(vec![SortBy::SentAt, SortBy::Delivered, SortBy::InsertedAt]);
    let kinds = proptest::option::weighted(0.3, kind());
    (
        (proptest::option::of(0usize..30), any::<bool>(), order),
        (time(), time(), kinds, proptest::option::weighted(0.2, status())),
        (proptest::option::weighted(0.3, types()), types(), types()),
        proptest::sample::subsequence(vec![sender(0), sender(1)], 0..=1),
    )
        .prop_map(
            |((limit, descending, sort_by), (after, before, kind, status), (only, also, except), senders)| {
                HistoryOptions {
                    limit,
                    descending,
                    sort_by,
                    sent_after: after,
                    sent_before: before,
                    kind,
                    status,
                    types: Types { only, also, except },
                    exclude_senders: senders,
                }
            },
        )
}

fn sender(n: u8) -> InboxId {
    InboxId([100 + n; 32])
}

/// Databases of one client: each case is the thread of a peer of its own.
struct Place {
    user: User,
    next: Cell<u32>,
}

impl Place {
    fn new() -> Self {
        Self { user: World::new(1).user("alice"), next: Cell::new(1) }
    }

    /// Stores the messages in a thread of four groups; ids of the groups, and the rows.
    fn store(&self, drafts: &[Draft]) -> (Vec<GroupId>, Vec<MessageRow>) {
        let number = self.next.replace(self.next.get() + 1).to_be_bytes();
        let mut peer = InboxId([9; 32]);
        peer.0[..4].copy_from_slice(&number);
        let id = |n: u8| {
            let mut id = [n; 16];
            id[..4].copy_from_slice(&number);
            GroupId(id)
        };
        let groups: Vec<_> = (0..4).map(|n| seed::group(&self.user, id(n), peer, i64::from(n))).collect();
        let mut changes = Changes::default();
        groups.iter().for_each(|group| changes.put(group));
        changes.put(&seed::thread(&groups));
        let row = |(at, draft): (usize, &Draft)| {
            // The order of ids is none of the others.
            let id = MessageId(dovetail::base::sha256(&[&number[..], &[at as u8]].concat()));
            let mut row = seed::message(&groups[draft.group], id, draft.sent, 1000 - (at as u64 * 7) % 64);
            row.delivery = row.delivery.filter(|_| draft.status == MessageStatus::Published);
            row.inserted_ns = Nanos(draft.inserted);
            row.status = draft.status.clone();
            row.content_type.type_id = draft.type_id.into();
            match draft.kind {
                MessageKind::Deleted => row.delete(row.sender_inbox),
                kind => row.kind = kind,
            }
            row.sender_inbox = sender(draft.sender);
            row.expires_ns = draft.expired.then_some(Nanos(1));
            row
        };
        let rows: Vec<_> = drafts.iter().enumerate().map(row).collect();
        rows.iter().for_each(|row| changes.put(row));
        seed::apply(&self.user, changes);
        (groups.iter().map(|group| group.id).collect(), rows)
    }
}

fn waits(row: &MessageRow) -> bool {
    row.status == MessageStatus::Unpublished
}

/// The union, filtered and sorted whole, then cut once.
fn model(rows: &[MessageRow], options: &HistoryOptions) -> Vec<MessageId> {
    let place = |row: &MessageRow| (waits(row), row.sent_ns);
    let bound = |at: Nanos| (rows.iter().any(|row| waits(row) && row.sent_ns == at), at);
    let same = |status: &MessageStatus, row: &MessageRow| {
        std::mem::discriminant(status) == std::mem::discriminant(&row.status)
    };
    let mut page: Vec<&MessageRow> = rows
        .iter()
        .filter(|row| row.expires_ns.is_none())
        .filter(|row| {
            let asked = options.kind.unwrap_or(MessageKind::Application);
            (asked == MessageKind::MembershipChange) == (row.kind == MessageKind::MembershipChange)
        })
        .filter(|row| options.sent_after.is_none_or(|after| place(row) > bound(after)))
        .filter(|row| options.sent_before.is_none_or(|before| place(row) < bound(before)))
        .filter(|row| options.status.as_ref().is_none_or(|status| same(status, row)))
        .filter(|row| !options.exclude_senders.contains(&row.sender_inbox))
        .filter(|row| {
            let Types { only, also, except } = &options.types;
            let type_id = &row.content_type.type_id;
            // Reactions are no messages of their own.
            let shown = type_id != "reaction" || also.contains(type_id);
            only.as_ref().map_or(shown, |only| only.contains(type_id)) && !except.contains(type_id)
        })
        .filter(|row| options.sort_by != SortBy::Delivered || row.delivery.is_some())
        .collect();
    page.sort_by_key(|row| match options.sort_by {
        SortBy::SentAt => {
            (i64::from(waits(row)), row.sent_ns, if waits(row) { row.inserted_ns } else { Nanos(0) }, row.id)
        }
        SortBy::InsertedAt => (0, row.inserted_ns, Nanos(0), row.id),
        SortBy::Delivered => (row.delivery.unwrap_or_default() as i64, Nanos(0), Nanos(0), row.id),
    });
    if options.descending {
        page.reverse();
    }
    page.truncate(options.limit.unwrap_or(usize::MAX));
    page.into_iter().map(|row| row.id).collect()
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

#[test]
fn dms_009_any_page_of_any_rows_is_the_page_of_the_sorted_union() {
    let place = Place::new();
    let drafts = proptest::collection::vec(draft(0..60), 0..48);
    let asked = proptest::collection::vec(options(), 8);
    let ended = runner(150).run(&(drafts, asked), |(drafts, asked)| {
        let (groups, rows) = place.store(&drafts);
        for (at, options) in asked.into_iter().enumerate() {
            let expected = model(&rows, &options);
            let through = groups[at % groups.len()];
            let page = place.user.history(through, options.clone());
            prop_assert_eq!(page.iter().map(|row| row.id).collect::<Vec<_>>(), expected, "{:?}", options);
            let whole = HistoryOptions { limit: None, ..options };
            let expected = model(&rows, &whole).len() as u64;
            let counted = move |client: dovetail::client::Client| async move {
                client.count_messages(through, &whole).await
            };
            prop_assert_eq!(place.user.call(counted).unwrap(), expected);
        }
        Ok(())
    });
    ended.unwrap();
}

/// A clock that is ahead or behind must not take anything from an app that scrolls.
#[test]
fn dms_009_reading_on_from_the_last_messages_time_misses_and_repeats_nothing() {
    let place = Place::new();
    let times = Just((0..40i64).collect::<Vec<_>>()).prop_shuffle();
    let drafts = (times, proptest::collection::vec(draft(0..1), 1..40)).prop_map(|(times, mut drafts)| {
        drafts.iter_mut().zip(times).for_each(|(draft, time)| draft.sent = time);
        drafts
    });
    let ended = runner(150).run(&(drafts, 1usize..7, any::<bool>()), |(drafts, size, descending)| {
        let (groups, rows) = place.store(&drafts);
        let whole = model(&rows, &HistoryOptions { descending, ..HistoryOptions::default() });
        let mut read = Vec::new();
        let mut options = HistoryOptions { descending, limit: Some(size), ..HistoryOptions::default() };
        loop {
            let page = place.user.history(groups[read.len() % 4], options.clone());
            let Some(last) = page.last() else { break };
            match descending {
                true => options.sent_before = Some(last.sent_ns),
                false => options.sent_after = Some(last.sent_ns),
            }
            read.extend(page.iter().map(|row| row.id));
            prop_assert!(read.len() <= whole.len(), "something is repeated");
        }
        prop_assert_eq!(read, whole);
        Ok(())
    });
    ended.unwrap();
}
