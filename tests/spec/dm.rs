//! The DM as an app sees it: its id, what its creator writes, one conversation of several groups,
//! one page over all of them, the winner, peer and duplicates.

use std::collections::BTreeSet;

use dovetail::base::{GroupId, Nanos};
use dovetail::consent::State;
use dovetail::dm::winner;
use dovetail::engine::history::{HistoryOptions, SortBy};
use dovetail::engine::list::ListOptions;
use dovetail::meta::component::*;
use dovetail::meta::{Base, Dictionary, Policy, inbox_bytes};
use dovetail::mls::facts::RawDictionary;
use dovetail::store::rows::{GroupState, MessageKind, MessageRow, MessageStatus};
use dovetail::wire::{EncodedContent, GroupUpdated};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::dump::{self, Dump};
use crate::common::{User, World, text_of};

/// Two users with a group each, made offline, and everything read.
fn duplicates() -> (User, User, GroupId, GroupId) {
    let world = World::new(3);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    alice.offline(false);
    bo.offline(false);
    sync_all(&[&alice, &bo]);
    (alice, bo, a, b)
}

fn sync_all(users: &[&User]) {
    for _ in 0..2 {
        for user in users {
            user.sync();
            dump::check(&user.store);
        }
    }
}

fn dictionary_of(user: &User, group: GroupId) -> RawDictionary {
    Dump::of(&user.store).mls(group).expect("MLS state").1.facts().dictionary
}

#[test]
fn dms_001_the_dm_id_is_the_sorted_pair_at_both_sides() {
    let (alice, bo, a, b) = duplicates();
    let mut pair = [alice.inbox().to_string(), bo.inbox().to_string()];
    pair.sort();
    let expected = format!("dm:{}:{}", pair[0], pair[1]);
    for user in [&alice, &bo] {
        for group in [a, b] {
            let row = user.inspect(group).groups.into_iter().find(|one| one.row.id == group).unwrap().row;
            assert_eq!(row.dm.unwrap().to_string(), expected);
        }
    }
}

#[test]
fn dms_002_a_creator_writes_the_pair_empty_lists_and_the_fixed_policies() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    let group = alice.dm(&bo);
    let raw = dictionary_of(&alice, group);
    let view = Dictionary::new(&raw);
    assert_eq!(raw[&CONVERSATION_TYPE], [0, 0, 0, 2]);
    assert_eq!(view.creator().unwrap(), alice.inbox());
    let mut pair = [alice.inbox(), bo.inbox()];
    pair.sort();
    assert_eq!(view.dm_members().unwrap(), pair);
    assert!(view.admins().unwrap().is_empty() && view.super_admins().unwrap().is_empty());
    assert!(raw.contains_key(&ADMIN_LIST) && raw.contains_key(&SUPER_ADMIN_LIST));
    assert_eq!(raw[&CREATOR_INBOX_ID], inbox_bytes(&alice.inbox()));

    let registry = view.registry().unwrap();
    let policies = |component: u16| {
        let entry = registry.entry(component).unwrap_or_else(|| panic!("{component:#x} is not registered"));
        [entry.insert.clone(), entry.update.clone(), entry.delete.clone()]
    };
    let table = |component: u16, expected: [Base; 3]| {
        assert_eq!(policies(component), expected.map(Policy::Base), "{component:#x}");
    };
    table(GROUP_MEMBERSHIP, [Base::Deny, Base::Allow, Base::Deny]);
    table(ADMIN_LIST, [Base::Deny, Base::Deny, Base::Deny]);
    for component in [
        GROUP_NAME,
        GROUP_DESCRIPTION,
        GROUP_IMAGE_URL,
        APP_DATA,
        MESSAGE_DISAPPEAR_FROM_NS,
        MESSAGE_DISAPPEAR_IN_NS,
        MIN_SUPPORTED_PROTOCOL_VERSION,
    ] {
        table(component, [Base::Allow, Base::Allow, Base::IfSuperAdmin]);
    }
    table(COMMIT_LOG_SIGNER, [Base::IfSuperAdmin; 3]);
    table(USER_DISPLAY_NAME, [Base::IfSelfOrNonMember; 3]);
    for component in [CONVERSATION_TYPE, CREATOR_INBOX_ID, DM_MEMBERS] {
        table(component, [Base::IfSuperAdmin, Base::Deny, Base::Deny]);
    }
    assert!(registry.entry(GROUP_IMAGE).is_none());
}

#[test]
fn dms_002_a_dm_with_oneself_is_refused_and_leaves_nothing() {
    let world = World::new(1);
    let alice = world.user("alice");
    let before = Dump::of(&alice.store);
    let error = alice.dm_to(alice.inbox()).unwrap_err();
    assert_eq!(error.code, "dm.self");
    assert!(Dump::of(&alice.store) == before);
}

#[test]
fn dms_005_an_existing_dm_is_returned_and_no_group_is_made() {
    let (alice, bo, a, b) = duplicates();
    for user in [&alice, &bo] {
        let peer = if user.inbox() == alice.inbox() { bo.inbox() } else { alice.inbox() };
        let before = Dump::of(&user.store).groups().len();
        let winner = user.conversations()[0].group.id;
        for _ in 0..3 {
            assert_eq!(user.dm_to(peer).unwrap(), winner);
        }
        assert_eq!(Dump::of(&user.store).groups().len(), before);
        assert_eq!(user.call(move |client| async move { client.dm_with(peer).await }).unwrap(), Some(winner));
        assert!([a, b].contains(&winner));
    }
}

#[test]
fn dms_005_calls_at_once_make_one_group() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let peer = bo.inbox();
    let made = alice.call(move |client| async move {
        let calls = (0..5).map(|_| client.create_dm(peer));
        futures::future::join_all(calls).await
    });
    let ids: BTreeSet<_> = made.into_iter().map(|id| id.unwrap()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(Dump::of(&alice.store).groups().len(), 1);
}

#[test]
fn dms_007_list_and_resolution_name_the_winner_only() {
    let (alice, bo, a, b) = duplicates();
    alice.text(a, "one");
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        let list = user.conversations();
        assert_eq!(list.len(), 1);
        for group in [a, b] {
            let found = user.call(move |client| async move { client.conversation(group).await });
            assert_eq!(found.unwrap().unwrap().group.id, list[0].group.id);
        }
    }
}

#[test]
fn dms_008_a_second_group_is_joined_and_written_in() {
    let (alice, bo, a, b) = duplicates();
    for user in [&alice, &bo] {
        let inside = user.inspect(a);
        let ids: BTreeSet<_> = inside.groups.iter().map(|group| group.row.id).collect();
        assert_eq!(ids, BTreeSet::from([a, b]));
        assert!(
            inside.groups.iter().all(|group| group.row.state == GroupState::Active && group.row.epoch == 1)
        );
    }
}

#[test]
fn dms_013_the_winner_follows_the_activity_of_each_message() {
    let (alice, bo, a, b) = duplicates();
    let expected = |user: &User| {
        let inside = user.inspect(a);
        let candidates: Vec<_> = inside
            .groups
            .iter()
            .map(|group| dovetail::dm::Candidate {
                group: group.row.id,
                restored: false,
                last_message_ns: group.row.last_message_ns,
                created_ns: group.row.created_ns,
            })
            .collect();
        winner(&candidates).unwrap().group
    };
    let first = alice.conversations()[0].group.id;
    assert_eq!(first, a.max(b), "without activity the greatest id wins");
    assert_eq!(bo.conversations()[0].group.id, first);
    // Each client writes to what it holds as the winner: bo writes before it hears of alice.
    for round in 0..4 {
        for (user, other) in [(&alice, &bo), (&bo, &alice)] {
            other.offline(round % 2 == 0);
            user.text(a, &format!("round {round}"));
            user.sync();
            assert_eq!(user.conversations()[0].group.id, expected(user));
            other.offline(false);
            other.sync();
            assert_eq!(other.conversations()[0].group.id, expected(other));
            assert_eq!(expected(user), expected(other));
        }
    }
}

#[test]
fn dms_013_a_message_in_a_losing_group_makes_it_the_winner() {
    let world = World::new(3);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    // Both write in their own group, alice's message is stored last.
    alice.text(a, "from alice");
    bo.text(b, "from bo");
    bo.offline(false);
    bo.sync();
    alice.offline(false);
    sync_all(&[&alice, &bo]);
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        assert_eq!(user.conversations()[0].group.id, a, "the newest message decides");
    }
    let last = bo.inspect(a).groups.into_iter().find(|group| group.row.id == a).unwrap().row.last_message_ns;
    let rows = bo.history(a, HistoryOptions::default());
    assert_eq!(last, rows.iter().filter(|row| row.group == a).map(|row| row.sent_ns).max());
}

#[test]
fn dms_011_two_groups_of_one_creator_show_the_add_once() {
    let world = World::new(5);
    let (first, second, bo) = (world.user("alice"), world.user("alice"), world.user("bo"));
    first.offline(true);
    second.offline(true);
    let a = first.dm(&bo);
    second.dm(&bo);
    first.offline(false);
    second.offline(false);
    sync_all(&[&first, &second, &bo]);
    sync_all(&[&first, &second, &bo]);
    for user in [&first, &second, &bo] {
        assert_eq!(user.inspect(a).groups.len(), 2);
        let all = HistoryOptions { kind: Some(MessageKind::MembershipChange), ..HistoryOptions::default() };
        let shown: Vec<GroupUpdated> = user
            .history(a, all)
            .iter()
            .map(|row| EncodedContent::decode(&row.content).unwrap())
            .map(|content| GroupUpdated::decode(&content.content).unwrap())
            .filter(|update| !update.added.is_empty())
            .collect();
        for (at, update) in shown.iter().enumerate() {
            assert!(!shown[..at].contains(update), "an equal add is shown twice");
        }
        assert!(!shown.is_empty());
    }
}

#[test]
fn dms_017_peer_and_duplicates_are_readable() {
    let (alice, bo, a, b) = duplicates();
    for (user, other) in [(&alice, &bo), (&bo, &alice)] {
        let listed = &user.conversations()[0];
        assert_eq!(listed.peer, Some(other.inbox()));
        for (group, rest) in [(a, b), (b, a)] {
            let others = user.call(move |client| async move { client.duplicates(group).await });
            assert_eq!(others.unwrap(), [rest]);
        }
        let all = user.list(ListOptions { include_duplicates: true, ..ListOptions::default() });
        let ids: Vec<_> = all.iter().map(|one| one.group.id).collect();
        assert_eq!(ids[0], listed.group.id, "the winner first");
        assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([a, b]));
    }
}

#[test]
fn dms_017_duplicates_are_listed_by_their_own_consent() {
    let (alice, _bo, a, b) = duplicates();
    let winner = alice.conversations()[0].group.id;
    let other = if winner == a { b } else { a };
    let entity = dovetail::consent::Entity::Conversation(other);
    alice.call(move |client| async move { client.set_consent(entity, State::Denied).await }).unwrap();
    let list = |consent: Option<Vec<State>>| -> Vec<GroupId> {
        let options = ListOptions { consent, include_duplicates: true, ..ListOptions::default() };
        alice.list(options).iter().map(|one| one.group.id).collect()
    };
    assert_eq!(list(None), [winner], "CONS-031: what is denied is not in the default list");
    assert_eq!(list(Some(vec![State::Denied])), [other]);
    assert_eq!(list(Some(vec![State::Allowed, State::Denied])).len(), 2);
    assert_eq!(list(Some(Vec::new())), []);
}

#[test]
fn gmod_037_group_ids_are_sixteen_random_bytes() {
    let world = World::new(1);
    let alice = world.user("alice");
    alice.offline(true);
    let mut ids = BTreeSet::new();
    for n in 0..500u32 {
        let mut inbox = [7; 32];
        inbox[..4].copy_from_slice(&n.to_be_bytes());
        let id = alice.dm_to(dovetail::base::InboxId(inbox)).unwrap();
        assert_eq!(id.as_bytes().len(), 16);
        assert!(ids.insert(id));
    }
    // Every bit takes both values about equally often: nothing of it is a constant or a counter.
    for bit in 0..128 {
        let ones = ids.iter().filter(|id| id.0[bit / 8] >> (bit % 8) & 1 == 1).count();
        assert!((150..350).contains(&ones), "bit {bit} is set {ones} times of 500");
    }
}

// --- DMS-009 ---

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
    let mut page: Vec<MessageRow> =
        rows.iter()
            .filter(|row| row.kind == options.kind.unwrap_or(MessageKind::Application))
            .filter(|row| options.sent_after.is_none_or(|after| row.sent_ns > after))
            .filter(|row| options.sent_before.is_none_or(|before| row.sent_ns < before))
            .filter(|row| {
                options.status.as_ref().is_none_or(|status| {
                    std::mem::discriminant(status) == std::mem::discriminant(&row.status)
                })
            })
            .filter(|row| !options.exclude_senders.contains(&row.sender_inbox))
            .filter(|row| {
                let type_id = &row.content_type.type_id;
                options.content_types.as_ref().is_none_or(|types| types.contains(type_id))
                    && !options.exclude_content_types.contains(type_id)
            })
            .filter(|row| options.sort_by != SortBy::Delivered || row.delivery.is_some())
            .cloned()
            .collect();
    page.sort_by(|a, b| match options.sort_by {
        SortBy::Delivered => a.delivery.cmp(&b.delivery),
        SortBy::InsertedAt => (a.inserted_ns, a.id).cmp(&(b.inserted_ns, b.id)),
        SortBy::SentAt => {
            let place = |row: &MessageRow| (row.status != MessageStatus::Published, row.sent_ns);
            place(a).cmp(&place(b)).then(a.inserted_ns.cmp(&b.inserted_ns)).then(a.id.cmp(&b.id))
        }
    });
    if options.descending {
        page.reverse();
    }
    page.truncate(options.limit.unwrap_or(usize::MAX));
    page
}

fn options(
    times: Vec<Nanos>,
    senders: Vec<dovetail::base::InboxId>,
) -> impl Strategy<Value = HistoryOptions> {
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
                    content_types: types,
                    exclude_content_types: not,
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
