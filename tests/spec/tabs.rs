//! Several pages on one database: all work, nothing is lost or done twice.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use dovetail::base::GroupId;
use dovetail::consent::{Entity, State};
use dovetail::store::rows::MessageStatus;
use dovetail::store::{Changes, Table};
use dovetail::wire::EncodedContent;
use futures::FutureExt;

use crate::common::dump::{self, Dump};
use crate::common::{User, World};

fn joined(seed: u64) -> (User, User, User, GroupId) {
    let world = World::new(seed);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    bo.sync();
    let tab = alice.tab();
    (alice, tab, bo, group)
}

/// Sends in both tabs at once, over a service slow enough for them to meet.
fn both_send(one: &User, two: &User, group: GroupId, from: usize, count: usize) {
    let (first, second) = (one.client.clone(), two.client.clone());
    one.world.run(async move {
        let mut calls = Vec::new();
        for n in from..from + count {
            for (tab, client) in [&first, &second].into_iter().enumerate() {
                let content = EncodedContent::text(&format!("{tab}-{n}")).encode();
                calls.push(async move { client.send(group, content, None).await.unwrap() });
            }
        }
        futures::future::join_all(calls).await;
    });
}

fn assert_same(alice: &User, tab: &User, bo: &User, group: GroupId, count: usize) {
    let texts = bo.texts(group);
    assert_eq!(texts.len(), count);
    assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), count);
    assert_eq!(alice.texts(group), texts);
    assert_eq!(tab.texts(group), texts);
    for user in [alice, tab, bo] {
        let inside = user.inspect(group).groups.remove(0);
        assert_eq!((inside.rejected.as_slice(), inside.pending_intents), ([].as_slice(), 0));
        dump::check(&user.store);
    }
    let rows = alice.history(group, Default::default());
    assert!(rows.iter().all(|row| row.status == MessageStatus::Published));
}

#[test]
fn two_tabs_send_and_sync_and_nothing_is_lost_or_doubled() {
    for seed in 0..8 {
        let (alice, tab, bo, group) = joined(seed);
        for (at, user) in [&alice, &tab, &bo].into_iter().enumerate() {
            user.delivery.set(|faults| faults.delay_ms = 3 + 4 * at as u32);
        }
        if seed % 2 == 1 {
            [&alice, &tab, &bo].into_iter().for_each(|user| user.client.go_live());
        }
        for round in 0..4 {
            both_send(&alice, &tab, group, round * 5, 5);
            bo.text(group, &format!("bo-{round}"));
            let (first, second) = (alice.client.clone(), tab.client.clone());
            alice.world.run(async move {
                let (one, two) = futures::join!(first.sync(), second.sync());
                one.unwrap();
                two.unwrap();
            });
            bo.sync();
            dump::check(&alice.store);
        }
        for user in [&alice, &tab, &bo, &alice, &tab, &bo] {
            user.sync();
            user.world.settle(1_000);
        }
        assert_same(&alice, &tab, &bo, group, 4 * 11);
    }
}

#[test]
fn dms_005_two_tabs_creating_at_once_get_one_group() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let tab = alice.tab();
    let (first, second, peer) = (alice.client.clone(), tab.client.clone(), bo.inbox());
    let (one, two) = world.run(async move { futures::join!(first.create_dm(peer), second.create_dm(peer)) });
    assert_eq!(one.unwrap(), two.unwrap());
    assert_eq!(Dump::of(&alice.store).groups().len(), 1);
    alice.sync();
    tab.sync();
    bo.sync();
    assert_eq!(bo.conversations().len(), 1);
}

#[test]
fn a_tab_publishes_what_a_closed_one_left_behind() {
    let (alice, tab, bo, group) = joined(3);
    // The tab has the group loaded, and does not hear of what alice writes.
    tab.text(group, "one");
    tab.sync();
    alice.sync();
    alice.offline(true);
    alice.text(group, "two");
    alice.client.abandon();
    tab.sync();
    bo.sync();
    assert_eq!(bo.texts(group), ["one", "two"]);
    assert_eq!(tab.inspect(group).groups[0].pending_intents, 0);
    dump::check(&tab.store);
}

#[test]
fn a_tab_finishes_a_dm_a_closed_one_left_behind() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let tab = alice.tab();
    tab.sync();
    alice.offline(true);
    let group = alice.dm(&bo);
    alice.text(group, "hello");
    alice.client.abandon();
    assert_eq!(tab.dm(&bo), group);
    tab.sync();
    bo.sync();
    assert_eq!(bo.texts(group), ["hello"]);
    dump::check(&tab.store);
}

#[test]
fn dms_013_a_tab_writes_to_the_winner_another_one_learned_of() {
    let world = World::new(3);
    let (alice, bo, late) = (world.user("alice"), world.user("bo"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    // Somebody who knows one group only writes in it.
    let (loser, winner) = if a < b { (a, b) } else { (b, a) };
    let (first, second) = if loser == a { (&alice, &bo) } else { (&bo, &alice) };
    first.offline(false);
    first.sync();
    late.sync();
    second.offline(false);
    for user in [&alice, &bo, &alice] {
        user.sync();
    }
    let tab = alice.tab();
    // Loaded by the tab as it is now.
    tab.decide(a, State::Allowed);
    assert_eq!(tab.conversations()[0].group.id, winner, "without activity the greatest id");
    late.text(loser, "from one who knows one group");
    late.sync();
    // The other tab reads it; this one is not told, and writes to the new winner all the same.
    alice.sync();
    assert_eq!(alice.conversations()[0].group.id, loser);
    let id = tab.text(a, "to the winner");
    let row = tab.call(move |client| async move { client.message(id).await }).unwrap().unwrap();
    assert_eq!(row.group, loser);
    dump::check(&alice.store);
}

#[test]
fn cons_011_tabs_decide_and_join_in_any_order() {
    let world = World::new(5);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let tab = bo.tab();
    let group = alice.dm(&bo);
    alice.sync();
    let entity = Entity::Conversation(group);
    // One tab joins; the other, which has not heard of it, decides.
    bo.sync();
    tab.call(move |client| async move { client.set_consent(entity, State::Denied).await }).unwrap();
    assert_eq!(bo.consent(entity), State::Denied);
    assert!(bo.conversations().is_empty() && tab.conversations().is_empty());
    dump::check(&bo.store);
    // The first tab's cached thread is older: what it does next sees the decision.
    bo.text(group, "hi");
    bo.sync();
    assert_eq!(tab.consent(entity), State::Allowed, "CONS-021");
    dump::check(&bo.store);
    tab.decide(group, State::Denied);
    bo.decide(group, State::Allowed);
    assert_eq!(tab.consent(entity), State::Allowed);
    assert_eq!(tab.conversations().len(), 1);
    dump::check(&bo.store);
}

#[test]
fn cons_011_a_decision_at_the_very_moment_another_tab_joins_is_kept() {
    for (seed, state) in [(5, State::Denied), (6, State::Allowed)] {
        let world = World::new(seed);
        let (alice, bo) = (world.user("alice"), world.user("bo"));
        let tab = bo.tab();
        let group = alice.dm(&bo);
        alice.sync();
        let entity = Entity::Conversation(group);
        // bo has read that nothing is decided, and is about to store the conversation.
        let (other, times) = (tab.client.clone(), Cell::new(0));
        *bo.gate.between.borrow_mut() = Some(Rc::new(move |changes: &Changes| {
            let joins = changes.checks.iter().any(|check| check.table == Table::Groups);
            if joins && times.replace(times.get() + 1) < 2 {
                other.set_consent(entity, state).now_or_never().expect("ready").unwrap();
            }
        }));
        bo.sync();
        assert_eq!(bo.consent(entity), state);
        assert_eq!(tab.conversations().len(), usize::from(state != State::Denied));
        assert_eq!(bo.inspect(group).groups[0].consent.unwrap().state, state);
        dump::check(&bo.store);
    }
}

#[test]
fn dms_008_two_tabs_join_a_welcome_once() {
    let world = World::new(5);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let tab = bo.tab();
    let group = alice.dm(&bo);
    alice.text(group, "hello");
    alice.sync();
    bo.delivery.set(|faults| faults.delay_ms = 5);
    tab.delivery.set(|faults| faults.delay_ms = 5);
    let (first, second) = (bo.client.clone(), tab.client.clone());
    world.run(async move {
        let (one, two) = futures::join!(first.sync(), second.sync());
        one.unwrap();
        two.unwrap();
    });
    bo.sync();
    tab.sync();
    assert_same(&bo, &tab, &alice, group, 1);
    assert_eq!(Dump::of(&bo.store).groups().len(), 1);
}

#[test]
fn a_device_registered_in_one_tab_is_registered_in_the_other() {
    let world = World::new(5);
    let bo = world.user("bo");
    let alice = world.device("alice");
    let tab = alice.tab();
    assert_eq!(alice.client.installation(), tab.client.installation());
    for user in [&alice, &tab] {
        let sign = crate::common::wallet(user.secret);
        user.call(move |client| async move { client.register(1, &sign).await }).unwrap();
    }
    assert!(tab.client.is_registered());
    let peer = alice.inbox();
    let group = bo.dm_to(peer).unwrap();
    bo.text(group, "hello");
    bo.sync();
    tab.sync();
    assert_eq!(tab.texts(group), ["hello"], "a key package made by the other tab is found");
    let state = bo.call(move |client| async move { client.inbox_state(peer).await }).unwrap().unwrap();
    assert_eq!(state.installations().len(), 1);
}
