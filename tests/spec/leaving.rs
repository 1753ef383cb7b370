//! When messages leave and arrive by themselves: soon, also while more are sent and after the
//! service was out of reach.

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, Topic};
use dovetail::client::{Interest, News};
use dovetail::store::rows::MessageStatus;

use crate::common::{User, World, text_of};

fn live(seed: u64) -> (User, User, GroupId) {
    let world = World::new(seed);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    bo.sync();
    alice.sync();
    [&alice, &bo].into_iter().for_each(|user| user.client.go_live());
    world.settle(1_000);
    (alice, bo, group)
}

fn stored(user: &User, group: GroupId) -> usize {
    user.delivery.stored(Topic::Group(group)).len()
}

#[test]
fn messages_leave_within_100_ms_while_more_are_sent_and_several_at_once() {
    let (alice, _bo, group) = live(1);
    let before = (stored(&alice, group), alice.gate.publishes());
    const SENDS: usize = 100;
    const EVERY_MS: i64 = 5;
    for n in 0..SENDS {
        alice.text(group, &format!("{n}"));
        alice.world.settle(EVERY_MS);
        let left = stored(&alice, group) - before.0;
        assert!(left + (100 / EVERY_MS) as usize > n, "{left} of {n} have left");
    }
    alice.world.settle(100);
    assert_eq!(stored(&alice, group) - before.0, SENDS);
    // They are gathered: ten or so leave together.
    let calls = alice.gate.publishes() - before.1;
    assert!(calls < SENDS as u64 / 8, "{calls} calls");
    // What was put off is read back once it is quiet.
    alice.world.settle(100);
    let rows = alice.history(group, Default::default());
    assert!(rows.iter().all(|row| row.status == MessageStatus::Published));
}

#[test]
fn a_service_that_wakes_nobody_is_read_back_from_all_the_same() {
    let (alice, _bo, group) = live(2);
    alice.delivery.set(|faults| faults.no_wakes = true);
    for n in 0..200 {
        alice.text(group, &format!("{n}"));
        alice.world.settle(5);
    }
    // While it goes on, in time: not all that left still waits.
    let waits = |user: &User| user.inspect(group).groups[0].pending_intents;
    assert!(waits(&alice) < 150, "{} wait", waits(&alice));
    alice.world.settle(100);
    assert_eq!(waits(&alice), 0);
}

#[test]
fn a_peers_message_arrives_within_100_ms_while_more_are_sent() {
    let (alice, bo, group) = live(3);
    let heard = Rc::new(RefCell::new(Vec::new()));
    let (told, world) = (heard.clone(), alice.world.clone());
    let interest =
        Interest::Messages { conversation: Some(group), kind: None, states: None, types: Default::default() };
    let listener = move |news| {
        if let News::Message(row) = news {
            told.borrow_mut().push((text_of(&row), world.now_ms()));
        }
    };
    let _subscription =
        alice.call(move |client| async move { client.follow(interest, listener).await }).unwrap();
    for n in 0..60 {
        alice.text(group, &format!("mine {n}"));
        if n == 20 {
            bo.text(group, "theirs");
        }
        let sent = alice.world.now_ms();
        alice.world.settle(5);
        if n == 20 {
            heard.borrow_mut().push(("sent".into(), sent));
        }
    }
    alice.world.settle(100);
    let at = |text: &str| heard.borrow().iter().find(|(one, _)| one == text).expect("heard").1;
    let took = at("theirs") - at("sent");
    assert!(took <= 100, "{took} ms");
}

#[test]
fn what_is_sent_after_the_service_came_back_leaves_at_once() {
    let (alice, _bo, group) = live(4);
    let before = stored(&alice, group);
    alice.offline(true);
    alice.text(group, "one");
    // Long enough for the next try to be far away.
    alice.world.settle(10_000);
    alice.offline(false);
    alice.world.settle(100);
    assert_eq!(stored(&alice, group), before + 1);
    alice.text(group, "two");
    alice.world.settle(100);
    assert_eq!(stored(&alice, group), before + 2);
}

#[test]
fn out_of_reach_the_outbox_tries_again_by_itself() {
    let (alice, _bo, group) = live(5);
    let before = stored(&alice, group);
    alice.delivery.set(|faults| faults.no_wakes = true);
    alice.offline(true);
    for n in 0..3 {
        alice.text(group, &format!("{n}"));
        alice.world.settle(3_000);
    }
    alice.offline(false);
    alice.world.settle(30_000);
    assert_eq!(stored(&alice, group), before + 3);
}
