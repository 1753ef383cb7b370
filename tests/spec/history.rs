//! A page of a stitched thread is the page of the sorted union (DMS-009).

use std::collections::BTreeSet;

use dovetail::base::{GroupId, InboxId, Nanos};
use dovetail::engine::history::{HistoryOptions, SortBy, Types};
use dovetail::store::rows::{MessageKind, MessageRow, MessageStatus};
use dovetail::wire::EncodedContent;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::dump::Dump;
use crate::common::{User, text_of};
use crate::dm::{duplicates, sync_all};

/// A thread of two groups with published, waiting and failed messages of both sides.
fn thread() -> (User, User, GroupId) {
    let (alice, bo, a, _) = duplicates();
    for n in 0..6 {
        // Apart from each other each writes to its own winner, so both groups get messages.
        alice.text(a, &format!("a{n}"));
        alice.world.settle(3);
        bo.text(a, &format!("b{n}"));
        bo.world.settle(7);
        if n % 3 == 2 {
            sync_all(&[&alice, &bo]);
        }
    }
    sync_all(&[&alice, &bo]);
    alice.delivery.set(|faults| faults.refuse = 1);
    alice.text(a, "refused");
    alice.world.settle(50);
    alice.offline(true);
    alice.text(a, "waits 1");
    alice.text(a, "waits 2");
    (alice, bo, a)
}

fn model(rows: &[MessageRow], options: &HistoryOptions) -> Vec<MessageRow> {
    let waits = |row: &MessageRow| row.status == MessageStatus::Unpublished;
    let place = |row: &MessageRow| (waits(row), row.sent_ns);
    let bound = |at: Nanos| (rows.iter().any(|row| waits(row) && row.sent_ns == at), at);
    let mut page: Vec<MessageRow> =
        rows.iter()
            .filter(|row| row.kind == options.kind.unwrap_or(MessageKind::Application))
            .filter(|row| options.sent_after.is_none_or(|after| place(row) > bound(after)))
            .filter(|row| options.sent_before.is_none_or(|before| place(row) < bound(before)))
            .filter(|row| {
                options.status.as_ref().is_none_or(|status| {
                    std::mem::discriminant(status) == std::mem::discriminant(&row.status)
                })
            })
            .filter(|row| !options.exclude_senders.contains(&row.sender_inbox))
            .filter(|row| {
                let type_id = &row.content_type.type_id;
                options.types.only.as_ref().is_none_or(|types| types.contains(type_id))
                    && !options.types.except.contains(type_id)
            })
            .filter(|row| options.sort_by != SortBy::Delivered || row.delivery.is_some())
            .cloned()
            .collect();
    page.sort_by(|a, b| match options.sort_by {
        SortBy::Delivered => a.delivery.cmp(&b.delivery),
        SortBy::InsertedAt => (a.inserted_ns, a.id).cmp(&(b.inserted_ns, b.id)),
        SortBy::SentAt => {
            place(a).cmp(&place(b)).then(a.inserted_ns.cmp(&b.inserted_ns)).then(a.id.cmp(&b.id))
        }
    });
    if options.descending {
        page.reverse();
    }
    page.truncate(options.limit.unwrap_or(usize::MAX));
    page
}

fn options(times: Vec<Nanos>, senders: Vec<InboxId>) -> impl Strategy<Value = HistoryOptions> {
    let time = proptest::option::weighted(0.3, proptest::sample::select(times));
    let kind = proptest::option::weighted(
        0.2,
        prop_oneof![Just(MessageKind::Application), Just(MessageKind::MembershipChange)],
    );
    let status = proptest::option::weighted(
        0.3,
        prop_oneof![
            Just(MessageStatus::Published),
            Just(MessageStatus::Unpublished),
            Just(MessageStatus::Failed(String::new()))
        ],
    );
    let types = || proptest::sample::subsequence(vec!["text".to_owned(), "group_updated".to_owned()], 0..=2);
    (
        (
            proptest::option::of(0usize..20),
            any::<bool>(),
            proptest::sample::select(vec![SortBy::SentAt, SortBy::Delivered, SortBy::InsertedAt]),
        ),
        (time.clone(), time),
        (kind, status),
        (proptest::option::weighted(0.3, types()), types().prop_filter("few", |types| types.len() < 2)),
        proptest::sample::subsequence(senders, 0..=1),
    )
        .prop_map(
            |((limit, descending, sort_by), (after, before), (kind, status), (types, not), senders)| {
                HistoryOptions {
                    limit,
                    descending,
                    sort_by,
                    sent_after: after,
                    sent_before: before,
                    kind,
                    status,
                    types: Types { only: types, also: Vec::new(), except: not },
                    exclude_senders: senders,
                }
            },
        )
}

#[test]
fn dms_009_a_page_is_the_page_of_the_sorted_union_through_either_group() {
    let (alice, bo, a) = thread();
    let rows: Vec<MessageRow> = Dump::of(&alice.store).messages().into_values().collect();
    let groups: BTreeSet<_> = rows.iter().map(|row| row.group).collect();
    assert_eq!(groups.len(), 2, "both groups hold messages");
    let statuses = |want: fn(&MessageStatus) -> bool| rows.iter().filter(|row| want(&row.status)).count();
    assert_eq!(statuses(|status| matches!(status, MessageStatus::Failed(_))), 1);
    assert_eq!(statuses(|status| *status == MessageStatus::Unpublished), 2);
    let times = rows.iter().map(|row| row.sent_ns).collect();
    let strategy = options(times, vec![alice.inbox(), bo.inbox()]);
    let mut runner = TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let ended = runner.run(&strategy, |options| {
        let expected: Vec<_> = model(&rows, &options).iter().map(|row| row.id).collect();
        for group in &groups {
            let page: Vec<_> = alice.history(*group, options.clone()).iter().map(|row| row.id).collect();
            prop_assert_eq!(&page, &expected);
        }
        Ok(())
    });
    ended.unwrap();
    let texts: Vec<_> = alice.texts(a);
    assert_eq!(texts[texts.len() - 3..], ["refused", "waits 1", "waits 2"]);
}

#[test]
fn a_failed_message_stays_where_it_was_written() {
    let (alice, bo, a) = thread();
    alice.offline(false);
    alice.sync();
    bo.sync();
    bo.world.settle(5_000);
    bo.text(a, "later");
    bo.sync();
    alice.sync();
    let texts = alice.texts(a);
    let place = |text: &str| texts.iter().position(|one| one == text).unwrap();
    assert!(place("a5") < place("refused") && place("refused") < place("later"));
    assert_eq!(place("later"), texts.len() - 1);
    let newest = alice.history(a, HistoryOptions::newest()).remove(0);
    assert_eq!(text_of(&newest), "later", "the preview is the newest message");
}

#[test]
fn dms_009_pages_read_one_after_another_are_the_whole() {
    let (alice, _, a) = thread();
    let all =
        alice.history(a, HistoryOptions { status: Some(MessageStatus::Published), ..Default::default() });
    for size in [1, 2, 5] {
        let mut read: Vec<MessageRow> = Vec::new();
        loop {
            let page = alice.history(
                a,
                HistoryOptions {
                    limit: Some(size),
                    sent_after: read.last().map(|row| row.sent_ns),
                    status: Some(MessageStatus::Published),
                    ..HistoryOptions::default()
                },
            );
            if page.is_empty() {
                break;
            }
            read.extend(page);
        }
        assert!(read.iter().map(text_of).eq(all.iter().map(text_of)));
    }
}

#[test]
fn a_long_backlog_arrives_whole_and_in_order() {
    let (alice, bo, a, _) = duplicates();
    const COUNT: usize = 450;
    alice.offline(true);
    alice.call(move |client| async move {
        let content = |n: usize| EncodedContent::text(&n.to_string()).encode();
        let calls = (0..COUNT).map(|n| client.send(a, content(n), None));
        let sent = futures::future::join_all(calls).await;
        assert!(sent.into_iter().all(|one| one.is_ok()));
    });
    alice.offline(false);
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        let texts = user.texts(a);
        assert!(
            texts.iter().map(String::as_str).eq((0..COUNT).map(|n| n.to_string()).collect::<Vec<_>>().iter())
        );
        assert!(user.inspect(a).groups.iter().all(|group| group.rejected.is_empty()));
    }
}
