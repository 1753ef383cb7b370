//! Members who were away while their group went on: removed and added again, removed with Welcomes
//! still owed, or shown late what they did themselves.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use dovetail::base::{GroupId, Platform, Topic};
use dovetail::client::Setting;
use dovetail::policy::ADMINS_ONLY;
use dovetail::store::rows::{GroupState, MessageRow, MessageStatus};
use dovetail::wire::ClientEnvelope;

use crate::common::dump::Dump;
use crate::common::forge::{self, Forger};
use crate::common::group::{code, sync_all, together as agree};
use crate::common::{User, World};

/// Everybody agrees, and nobody has anything left to do.
fn together(group: GroupId, users: &[&User]) {
    agree(group, users);
    assert!(users.iter().all(|user| Dump::of(&user.store).intents().is_empty()));
}

#[test]
fn gmod_018_whoever_was_removed_and_added_again_while_away_is_back_at_the_next_sync() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    alice.remove(group, &[bo.inbox()]).unwrap();
    alice.text(group, "unseen");
    alice.add(group, &[bo.inbox()]).unwrap();
    alice.text(group, "seen");
    alice.sync();
    bo.sync();
    assert_eq!(bo.row(group).state, GroupState::Active);
    assert_eq!(bo.texts(group), ["seen"]);
    bo.text(group, "back");
    sync_all(&[&bo, &alice]);
    together(group, &[&alice, &bo]);
    assert_eq!(alice.texts(group), ["unseen", "seen", "back"]);
}

#[test]
fn gmod_018_a_welcome_that_overtakes_the_removal_before_it_waits() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    bo.client.go_live();
    world.settle(1_000);
    bo.delivery.freeze(Topic::Group(group));
    alice.remove(group, &[bo.inbox()]).unwrap();
    alice.add(group, &[bo.inbox()]).unwrap();
    world.settle(1_000);
    bo.sync();
    assert_eq!(bo.row(group).state, GroupState::Active, "nothing is known of it yet");
    bo.delivery.thaw();
    world.settle(5_000);
    together(group, &[&alice, &bo]);
}

#[test]
fn gmod_018_welcomes_leave_although_the_adder_was_removed_meanwhile() {
    let world = World::new(3);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo]);
    // What bo did is stored, and bo does not see it.
    bo.delivery.freeze(Topic::Group(group));
    let (client, added) = (bo.client.clone(), cy.inbox());
    world.platform.spawn(Box::pin(async move { drop(client.add_members(group, &[added]).await) }));
    world.settle(1_000);
    alice.sync();
    assert_eq!(alice.members(group).len(), 3);
    alice.remove(group, &[bo.inbox()]).unwrap();
    bo.delivery.thaw();
    sync_all(&[&bo, &cy, &alice]);
    assert_eq!(bo.row(group).state, GroupState::Inactive);
    assert!(Dump::of(&bo.store).intents().is_empty());
    together(group, &[&alice, &cy]);
}

#[test]
fn gmod_016_a_topic_that_shows_an_own_commit_late_is_read_again() {
    let world = World::new(4);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let hidden = Cell::new(3);
    *bo.gate.twist.borrow_mut() = Some(Rc::new(move |_, mut answer| {
        if !answer.is_empty() && hidden.get() > 0 {
            hidden.set(hidden.get() - 1);
            answer.clear();
        }
        Ok(answer)
    }));
    bo.set(group, Setting::Name("late".into())).expect("done");
    assert_eq!(bo.row(group).settings.name, "late");
    alice.sync();
    together(group, &[&alice, &bo]);
}

#[test]
fn gmod_036_nothing_left_to_do_is_only_said_at_the_end_of_the_topic() {
    for (hidden, done) in [(2, true), (u32::MAX, false)] {
        let world = World::new(5);
        let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
        let group = alice.group(&[&bo, &cy]);
        alice.remove(group, &[cy.inbox()]).unwrap();
        // The service does not show bo the removal, so cy seems to be there.
        let left = Cell::new(hidden);
        *bo.gate.twist.borrow_mut() = Some(Rc::new(move |_, mut answer| {
            if answer.iter().any(|one| one.topic == Topic::Group(group)) && left.get() > 0 {
                left.set(left.get() - 1);
                answer.clear();
            }
            Ok(answer)
        }));
        let added = bo.add(group, &[cy.inbox()]);
        *bo.gate.twist.borrow_mut() = None;
        sync_all(&[&alice, &bo, &cy]);
        match done {
            true => assert_eq!(added.map(|_| alice.members(group).len()), Ok(3)),
            false => assert_eq!(code(added), "delivery.unavailable"),
        }
        assert_eq!(alice.members(group).contains(&cy.inbox()), done);
    }
}

#[test]
fn gmod_016_a_change_that_another_tab_gave_up_is_not_told_as_done() {
    let world = World::new(5);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group_with(&[&bo], ADMINS_ONLY);
    let tab = bo.tab();
    tab.sync();
    // The other tab runs the outbox while this one waits for the service.
    bo.gate.jitter.set(1);
    bo.delivery.set(|faults| faults.delay_ms = 30);
    let client = bo.client.clone();
    let slot = Rc::new(RefCell::new(None));
    let answer = slot.clone();
    world.platform.spawn(Box::pin(async move {
        let setting = vec![Setting::Name("not allowed".into())];
        *answer.borrow_mut() = Some(client.change_settings(group, setting).await);
    }));
    while slot.borrow().is_none() {
        world.settle(1);
        tab.sync();
    }
    let code = slot.borrow_mut().take().expect("answered").expect_err("refused").code;
    assert!(matches!(code, "commit.contended" | "group.permission_denied"), "{code}");
    assert_eq!(alice.row(group).settings.name, "");
    assert!(Dump::of(&bo.store).intents().is_empty());
}

/// The sender gives up what was not read back before its removal, so nobody may show it.
#[test]
fn gmod_002_a_message_of_an_earlier_stay_is_shown_to_nobody() {
    let world = World::new(6);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    // On its way to the service while bo is removed and added again.
    bo.delivery.set(|faults| faults.delay_ms = 1_000);
    bo.text(group, "too late");
    world.settle(500);
    alice.remove(group, &[bo.inbox()]).unwrap();
    alice.add(group, &[bo.inbox()]).unwrap();
    world.settle(10_000);
    bo.delivery.set(|faults| faults.delay_ms = 0);
    sync_all(&[&bo, &alice]);
    together(group, &[&alice, &bo]);
    let rows = bo.history(group, Default::default());
    let failed = |row: &MessageRow| row.status == MessageStatus::Failed("group.not_a_member".into());
    assert!(rows.iter().any(failed), "given up");
    assert!(alice.texts(group).is_empty());
    bo.text(group, "back");
    sync_all(&[&bo, &alice]);
    assert_eq!(alice.texts(group), ["back"]);
}

/// The same bytes were stored, their answer lost, and a later try refused while the topic did not
/// show them: dropping the pending commit then would fork its sender.
#[test]
fn gmod_016_a_refused_commit_is_dropped_only_when_the_topic_was_read_to_its_end() {
    let world = World::new(7);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    bo.delivery.set(|faults| faults.lose_answers = 1);
    let hide = Rc::new(Cell::new(true));
    let hidden = hide.clone();
    *bo.gate.twist.borrow_mut() = Some(Rc::new(move |_, mut answer| {
        answer.retain(|one| !hidden.get() || one.topic != Topic::Group(group));
        Ok(answer)
    }));
    assert!(bo.name(group, "stored").is_err());
    bo.delivery.set(|faults| faults.refuse = 1);
    assert!(bo.try_sync().is_err());
    hide.set(false);
    sync_all(&[&bo, &alice]);
    together(group, &[&alice, &bo]);
    assert_eq!(alice.row(group).settings.name, "stored");
    assert!(!bo.row(group).rolled_back);
}

/// A service repeats a Welcome after the removal: joining by it would go back to an old epoch.
#[test]
fn gmod_018_a_welcome_that_was_used_joins_nobody_again() {
    let world = World::new(8);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let hide = Rc::new(Cell::new(true));
    let (hidden, welcomes) = (hide.clone(), Topic::Welcome(bo.client.installation().0));
    *bo.gate.twist.borrow_mut() = Some(Rc::new(move |asked, mut answer| {
        let first = asked.iter().any(|(topic, after)| *topic == welcomes && after.0 == 0);
        let mut seen = false;
        answer.retain(|one| {
            let welcome = one.topic == welcomes && hidden.get();
            !welcome || (first && !std::mem::replace(&mut seen, true))
        });
        Ok(answer)
    }));
    alice.delivery.set(|faults| faults.replays = true);
    let group = alice.group(&[&bo]);
    alice.delivery.set(|faults| faults.replays = false);
    alice.text(group, "once");
    sync_all(&[&alice, &bo]);
    assert_eq!(bo.texts(group), ["once"]);
    alice.remove(group, &[bo.inbox()]).unwrap();
    bo.sync();
    let before = bo.row(group);
    hide.set(false);
    bo.sync();
    assert_eq!(world.delivery.stored(welcomes).len(), 2, "it came again");
    assert_eq!(bo.row(group), before);
    assert_eq!(before.state, GroupState::Inactive);
}

#[test]
fn proc_011_messages_behind_a_rolled_back_state_leave_although_its_end_was_refused_once() {
    let world = World::new(9);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    bo.text(group, "one");
    bo.sync();
    // The same message in another wrapping: in bo's name, and not from its database.
    let stored = world.delivery.stored(Topic::Group(group)).pop().unwrap();
    let data = forge::mls_of(&stored.payload);
    let again = ClientEnvelope::GroupMessage { data, sender_hmac: vec![1], should_push: false };
    Forger::of(&alice).publish_raw(Topic::Group(group), again.encode());
    bo.delivery.set(|faults| faults.refuse = 1);
    let _ = bo.try_sync();
    bo.text(group, "two");
    sync_all(&[&bo, &alice]);
    together(group, &[&alice, &bo]);
    assert_eq!(alice.texts(group), ["one", "two"]);
}

#[test]
fn texts_behind_a_refused_change_leave_without_another_call() {
    let world = World::new(10);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    bo.text(group, "one");
    bo.sync();
    let stored = world.delivery.stored(Topic::Group(group)).pop().unwrap();
    let data = forge::mls_of(&stored.payload);
    let again = ClientEnvelope::GroupMessage { data, sender_hmac: vec![1], should_push: false };
    Forger::of(&alice).publish_raw(Topic::Group(group), again.encode());
    bo.call(move |client| async move { client.sync_conversation(group).await }).unwrap();
    assert!(bo.row(group).rolled_back, "a change comes before the next text");
    bo.delivery.set(|faults| faults.refuse = 1);
    let two = bo.text(group, "two");
    // Nobody wakes it, and nobody asks.
    world.settle(1_000);
    assert_eq!(bo.message(two).map(|row| row.status), Some(MessageStatus::Published));
    sync_all(&[&alice]);
    assert_eq!(alice.texts(group), ["one", "two"]);
    together(group, &[&alice, &bo]);
}

#[test]
fn whoever_asks_for_a_refused_change_is_told_and_what_is_behind_it_leaves_with_the_same_run() {
    let world = World::new(11);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    alice.delivery.set(|faults| faults.refuse = 1);
    let results = alice.call(move |client| async move {
        let name = |name: &str| client.change_settings(group, vec![Setting::Name(name.into())]);
        futures::join!(name("first"), name("second"))
    });
    assert_eq!(code(results.0), "delivery.refused");
    results.1.unwrap();
    sync_all(&[&alice, &bo]);
    assert_eq!(bo.row(group).settings.name, "second");
}
