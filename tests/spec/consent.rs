//! Consent as an app lives it: defaults, decisions, what sending implies, what a duplicate inherits,
//! and what a list shows.

use std::rc::Rc;

use dovetail::base::{GroupId, Nanos, Topic};
use dovetail::consent::{Entity, Record, State};
use dovetail::engine::list::ListOptions;
use dovetail::meta::component::CREATOR_INBOX_ID;
use dovetail::meta::inbox_bytes;
use dovetail::store::rows::{ConsentRow, MessageStatus};

use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger};
use crate::common::gate::Twist;
use crate::common::{User, World};

fn record(user: &User, group: GroupId) -> Option<Record> {
    let entity = Entity::Conversation(group);
    Dump::of(&user.store).rows::<ConsentRow>().into_iter().map(|row| row.0).find(|row| row.entity == entity)
}

fn listed(user: &User, consent: Option<Vec<State>>) -> Vec<GroupId> {
    let options = ListOptions { consent, ..ListOptions::default() };
    user.list(options).iter().map(|one| one.group.id).collect()
}

fn state(user: &User, group: GroupId) -> State {
    user.consent(Entity::Conversation(group))
}

/// alice's DM with bo, joined by bo.
fn joined() -> (User, User, GroupId) {
    let world = World::new(9);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    bo.sync();
    (alice, bo, group)
}

/// A second group of the same pair, made by another device of alice before it heard of the first.
fn with_duplicate(first: &User, offer: impl FnOnce()) -> (User, GroupId) {
    let bo = first.call(|client| async move { client.list(&ListOptions::default()).await }).unwrap();
    let peer = bo[0].peer.unwrap();
    let second = first.world.user("alice");
    second.offline(true);
    let group = second.dm_to(peer).unwrap();
    offer();
    second.offline(false);
    second.sync();
    (second, group)
}

#[test]
fn cons_001_without_a_record_a_conversation_is_unknown() {
    let (_, bo, group) = joined();
    assert_eq!(record(&bo, group), None);
    assert_eq!(state(&bo, group), State::Unknown);
    assert_eq!(bo.consent(Entity::Inbox(bo.inbox())), State::Unknown);
    assert_eq!(state(&bo, GroupId([9; 16])), State::Unknown);
    assert_eq!(listed(&bo, Some(vec![State::Unknown])), [group]);
}

#[test]
fn cons_020_creating_stores_allowed_now() {
    let world = World::new(9);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    world.settle(77);
    let now = world.platform.now_ns();
    let group = alice.dm(&bo);
    let stored = record(&alice, group).unwrap();
    assert_eq!((stored.state, stored.consented_at_ns), (State::Allowed, Nanos(now)));
}

#[test]
fn cons_011_a_repeated_decision_is_stored_with_the_new_time() {
    let (alice, _, group) = joined();
    for wanted in [State::Denied, State::Denied, State::Allowed, State::Unknown, State::Allowed] {
        alice.world.settle(2_000);
        let now = alice.world.platform.now_ns();
        alice.decide(group, wanted);
        let stored = record(&alice, group).unwrap();
        assert_eq!((stored.state, stored.consented_at_ns), (wanted, Nanos(now)));
    }
    // A clock that was set back does not keep a decision from being stored as it is now.
    alice.device.skew_ns.set(-3_600_000_000_000);
    alice.decide(group, State::Denied);
    let stored = record(&alice, group).unwrap();
    assert_eq!(stored.state, State::Denied);
    assert!(stored.consented_at_ns < Nanos(alice.world.platform.now_ns() - 3_500_000_000_000));
    dump::check(&alice.store);
}

#[test]
fn cons_011_decisions_about_inboxes_and_conversations_not_here_yet_are_kept() {
    let (alice, bo, group) = joined();
    let peer = Entity::Inbox(bo.inbox());
    alice.call(move |client| async move { client.set_consent(peer, State::Denied).await }).unwrap();
    assert_eq!(alice.consent(peer), State::Denied);
    assert_eq!(state(&alice, group), State::Allowed, "a conversation has its own consent");

    // Decided before the Welcome came: the join keeps it.
    let world = World::new(4);
    let (carol, dave) = (world.user("carol"), world.user("dave"));
    let group = carol.dm(&dave);
    carol.sync();
    let entity = Entity::Conversation(group);
    dave.call(move |client| async move { client.set_consent(entity, State::Denied).await }).unwrap();
    dave.sync();
    assert_eq!(state(&dave, group), State::Denied);
    assert_eq!(listed(&dave, None), []);
    dump::check(&dave.store);
}

#[test]
fn cons_011_several_decisions_about_one_conversation_are_one_act() {
    let (alice, bo, group) = joined();
    let (_, other) = with_duplicate(&alice, || {});
    bo.sync();
    let decisions = [
        (Entity::Conversation(group), State::Allowed),
        (Entity::Conversation(other), State::Allowed),
        (Entity::Inbox(alice.inbox()), State::Denied),
        (Entity::Conversation(GroupId([8; 16])), State::Denied),
        (Entity::Conversation(other), State::Denied),
    ];
    bo.call(move |client| async move { client.set_consents(&decisions).await }).unwrap();
    let records = [group, other].map(|id| record(&bo, id).unwrap());
    assert_eq!(records.map(|one| one.state), [State::Allowed, State::Denied]);
    assert_eq!(records[0].consented_at_ns, records[1].consented_at_ns);
    assert_eq!(state(&bo, GroupId([8; 16])), State::Denied);
    dump::check(&bo.store);
}

#[test]
fn cons_021_sending_allows_every_group_of_the_conversation() {
    let (alice, bo, group) = joined();
    let (_, other) = with_duplicate(&alice, || {});
    bo.sync();
    for before in [State::Unknown, State::Denied] {
        bo.decide(group, before);
        bo.offline(true);
        bo.text(group, "hi");
        assert_eq!(state(&bo, group), before, "nothing is published yet");
        let now = bo.world.platform.now_ns();
        bo.offline(false);
        bo.world.settle(1_000);
        bo.sync();
        let records = [group, other].map(|id| record(&bo, id).unwrap());
        assert!(
            records
                .iter()
                .all(|one| one.state == State::Allowed && one.consented_at_ns == records[0].consented_at_ns)
        );
        assert!(records[0].consented_at_ns >= Nanos(now));
        dump::check(&bo.store);
    }
}

#[test]
fn cons_021_sending_where_it_is_allowed_writes_no_new_decision() {
    let (alice, _, group) = joined();
    let before = record(&alice, group);
    alice.text(group, "hi");
    alice.sync();
    assert_eq!(record(&alice, group), before);
}

#[test]
fn cons_021_a_block_after_writing_stays_when_the_message_leaves_later() {
    let (alice, bo, group) = joined();
    bo.offline(true);
    bo.text(group, "written before the block");
    bo.world.settle(1_000);
    bo.decide(group, State::Denied);
    let block = record(&bo, group);
    bo.offline(false);
    bo.world.settle(1_000);
    bo.sync();
    alice.sync();
    assert_eq!(alice.texts(group).last().map(String::as_str), Some("written before the block"));
    assert_eq!(record(&bo, group), block, "the block is the later decision");
    dump::check(&bo.store);
}

#[test]
fn cons_021_a_reply_after_a_block_allows_though_the_clock_was_set_back_between() {
    const YEAR: i64 = 365 * 86_400 * 1_000_000_000;
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    bo.sync();
    let entity = Entity::Conversation(group);
    for blocked_again in [false, true] {
        bo.device.skew_ns.set(YEAR);
        bo.decide(group, State::Denied);
        bo.device.skew_ns.set(0);
        bo.offline(true);
        bo.text(group, "I changed my mind");
        if blocked_again {
            bo.decide(group, State::Denied);
        }
        bo.offline(false);
        bo.sync();
        let expected = if blocked_again { State::Denied } else { State::Allowed };
        assert_eq!(bo.consent(entity), expected);
        dump::check(&bo.store);
    }
    alice.sync();
    assert_eq!(alice.texts(group).len(), 2);
}

#[test]
fn cons_021_a_message_that_is_not_published_changes_nothing() {
    let (_, bo, group) = joined();
    bo.delivery.set(|faults| faults.refuse = 1);
    let id = bo.text(group, "refused");
    bo.sync();
    let row = bo.call(move |client| async move { client.message(id).await }).unwrap().unwrap();
    assert!(matches!(row.status, MessageStatus::Failed(_)));
    assert_eq!(record(&bo, group), None);
    assert_eq!(state(&bo, group), State::Unknown);
}

#[test]
fn cons_022_a_join_stores_no_decision() {
    let (alice, bo, group) = joined();
    let (second, other) = with_duplicate(&alice, || {});
    bo.sync();
    alice.sync();
    second.sync();
    for id in [group, other] {
        assert_eq!(record(&bo, id), None);
    }
    // The group it made itself keeps the decision it was made with.
    assert!(
        record(&second, other)
            .is_some_and(|one| one.state == State::Allowed && one.consented_at_ns > Nanos(0))
    );
}

#[test]
fn cons_023_the_own_inboxs_group_is_allowed_at_time_0() {
    let world = World::new(9);
    let (first, second, bo) = (world.user("alice"), world.user("alice"), world.user("bo"));
    let group = first.dm(&bo);
    first.sync();
    // The decision itself comes later.
    let told = Topic::Group(first.sync_group());
    let late: Twist =
        Rc::new(move |_, answer| Ok(answer.into_iter().filter(|one| one.topic != told).collect()));
    *second.gate.twist.borrow_mut() = Some(late);
    second.sync();
    bo.sync();
    let stored = record(&second, group).unwrap();
    assert_eq!((stored.state, stored.consented_at_ns), (State::Allowed, Nanos(0)));
    assert_eq!(record(&bo, group), None);
    *second.gate.twist.borrow_mut() = None;
    second.sync();
    assert_eq!(record(&second, group), record(&first, group));
}

#[test]
fn cons_023_a_stranger_who_names_us_as_creator_is_not_allowed() {
    let world = World::new(9);
    let (mallory, bo) = (world.user("mallory"), world.user("bo"));
    let forger = Forger::of(&mallory);
    let entries = [&mallory, &bo].map(|user| (user.inbox(), forge::newest_update(user)));
    let mut dictionary = forge::dm_dictionary(mallory.inbox(), bo.inbox(), &entries);
    dictionary.insert(CREATOR_INBOX_ID, inbox_bytes(&bo.inbox()).to_vec());
    let group = GroupId([5; 16]);
    forger.offer(group, &dictionary, &[bo.client.installation()]);
    bo.sync();
    let listed = bo.conversations();
    assert_eq!((listed[0].group.id, listed[0].group.creator), (group, bo.inbox()));
    assert_eq!(record(&bo, group), None);
    assert_eq!(state(&bo, group), State::Unknown);
}

#[test]
fn cons_030_a_filter_lists_exactly_its_states_and_never_asks_inbox_consent() {
    let world = World::new(9);
    let alice = world.user("alice");
    let peers: Vec<User> = ["bo", "carol", "dave"].into_iter().map(|name| world.user(name)).collect();
    let groups: Vec<GroupId> = peers.iter().map(|peer| peer.dm(&alice)).collect();
    peers.iter().for_each(|peer| drop(peer.sync()));
    alice.sync();
    alice.decide(groups[0], State::Allowed);
    alice.decide(groups[1], State::Denied);
    let blocked = Entity::Inbox(peers[0].inbox());
    alice.call(move |client| async move { client.set_consent(blocked, State::Denied).await }).unwrap();
    let states = [State::Allowed, State::Denied, State::Unknown];
    for wanted in 0..8u8 {
        let filter: Vec<State> = (0..3).filter(|bit| wanted >> bit & 1 == 1).map(|bit| states[bit]).collect();
        let mut expected: Vec<GroupId> =
            (0..3).filter(|bit| wanted >> bit & 1 == 1).map(|bit| groups[bit]).collect();
        let mut found = listed(&alice, Some(filter));
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn cons_031_the_default_list_has_allowed_and_unknown_and_no_denied() {
    let (_, bo, group) = joined();
    assert_eq!(listed(&bo, None), [group]);
    bo.decide(group, State::Allowed);
    assert_eq!(listed(&bo, None), [group]);
    bo.decide(group, State::Denied);
    assert_eq!(listed(&bo, None), []);
    assert_eq!(listed(&bo, Some(Vec::new())), []);
    assert_eq!(bo.texts(group), Vec::<String>::new(), "the thread itself stays readable");
}

#[test]
fn dms_010_a_blocked_peer_does_not_come_back_through_a_duplicate() {
    let (alice, bo, group) = joined();
    let mut blocked = None;
    let (second, other) = with_duplicate(&alice, || {
        bo.decide(group, State::Denied);
        blocked = record(&bo, group);
    });
    second.text(other, "let me in");
    second.sync();
    bo.world.settle(5_000);
    bo.sync();
    let inherited = record(&bo, other).unwrap();
    assert_eq!(
        (inherited.state, inherited.consented_at_ns),
        (State::Denied, blocked.unwrap().consented_at_ns),
        "with its own time"
    );
    assert_eq!(bo.inspect(group).winner, other, "the duplicate is the winner");
    assert_eq!(listed(&bo, None), []);
    assert_eq!(listed(&bo, Some(vec![State::Denied])), [other]);
    assert_eq!(bo.texts(group), ["let me in"]);
    dump::check(&bo.store);
}

#[test]
fn cons_010_dms_010_the_greatest_record_of_the_set_is_inherited() {
    let (alice, bo, group) = joined();
    let (_, other) = with_duplicate(&alice, || {});
    bo.sync();
    // Two records of one time: denied is greater. A later clock reading would be greater still.
    let decide = |id: GroupId, wanted: State| {
        let entity = Entity::Conversation(id);
        bo.call(move |client| async move { client.set_consent(entity, wanted).await }).unwrap();
    };
    bo.world.settle(10_000);
    decide(other, State::Denied);
    let at = record(&bo, other).unwrap().consented_at_ns;
    bo.world.settle(10_000);
    bo.inspect(group);
    bo.device.skew_ns.set(at.0 - bo.world.platform.now_ns());
    decide(group, State::Allowed);
    assert_eq!(record(&bo, group).unwrap().consented_at_ns, at);
    bo.device.skew_ns.set(0);

    let third = bo.world.user("alice");
    third.offline(true);
    let newest = third.dm(&bo);
    third.offline(false);
    third.sync();
    bo.sync();
    let inherited = record(&bo, newest).unwrap();
    assert_eq!((inherited.state, inherited.consented_at_ns), (State::Denied, at));
    assert_eq!(state(&bo, group), State::Allowed, "its own record stays");
    dump::check(&bo.store);
}
