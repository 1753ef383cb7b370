//! Own commits: applied only where the topic returns them, judged like any other, rebuilt when they
//! lose, and never left addressed to nobody.

use std::rc::Rc;

use dovetail::base::{GroupId, MessageId, SequenceId, Topic};
use dovetail::mls::{self, FrameKind};
use dovetail::store::rows::{GroupState, IntentState, MessageStatus, Operation};
use openmls::prelude::Propose;

use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger};
use crate::common::{User, World};

const GROUP_NAME: u16 = dovetail::meta::component::GROUP_NAME;

pub fn status(user: &User, id: MessageId) -> MessageStatus {
    user.call(move |client| async move { client.message(id).await }).unwrap().unwrap().status
}

pub fn epoch(user: &User, group: GroupId) -> (u64, Vec<u8>) {
    let row = Dump::of(&user.store).groups().remove(&group).expect("a group");
    (row.epoch, row.authenticator)
}

fn welcomes(user: &User) -> usize {
    user.world.delivery.stored(Topic::Welcome(user.client.installation().0)).len()
}

fn commits(world: &World, group: GroupId) -> Vec<SequenceId> {
    let stored = world.delivery.stored(Topic::Group(group)).into_iter();
    let of = |payload: &[u8]| mls::peek(&forge::mls_of(payload)).unwrap().kind == FrameKind::Commit;
    stored.filter(|one| of(&one.payload)).map(|one| one.sequence_id).collect()
}

#[test]
fn gmod_016_an_own_commit_is_not_applied_before_it_is_read_back() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    let group = alice.dm(&bo);
    let text = alice.text(group, "hello");
    alice.delivery.freeze(Topic::Group(group));
    alice.offline(false);
    for _ in 0..3 {
        alice.sync();
        assert_eq!(commits(&world, group).len(), 1, "published once");
        assert_eq!(epoch(&alice, group).0, 0, "and not applied");
        assert!(Dump::of(&alice.store).mls(group).unwrap().1.has_pending_commit());
        assert_eq!(status(&alice, text), MessageStatus::Unpublished);
        assert_eq!(welcomes(&bo), 0, "GMOD-018: no Welcome before the read-back");
        dump::check(&alice.store);
    }
    alice.delivery.thaw();
    alice.sync();
    assert_eq!(epoch(&alice, group).0, 1);
    assert_eq!(status(&alice, text), MessageStatus::Published);
    bo.sync();
    assert_eq!(epoch(&bo, group), epoch(&alice, group));
    assert_eq!(bo.texts(group), ["hello"]);
}

#[test]
fn gmod_018_every_added_installation_gets_one_welcome_that_names_the_commit() {
    let world = World::new(2);
    let (first, second) = (world.user("alice"), world.user("alice"));
    let (bo, other_bo) = (world.user("bo"), world.user("bo"));
    let group = first.dm(&bo);
    first.sync();
    let commit = commits(&world, group)[0];
    // The own other device is brought into the sync group too.
    for (user, count) in [(&second, 2), (&bo, 1), (&other_bo, 1)] {
        assert_eq!(welcomes(user), count);
        user.sync();
        let row = Dump::of(&user.store).groups().remove(&group).unwrap();
        assert_eq!((row.anchor, row.epoch), (commit, 1));
        assert!(row.members.iter().all(|member| member.sequence_id > SequenceId(0)));
        assert_eq!(row.members.iter().map(|member| member.installations.len()).sum::<usize>(), 4);
    }
    assert_eq!(welcomes(&first), 0);
}

#[test]
fn gmod_018_welcomes_that_do_not_get_through_are_owed_until_they_do() {
    let world = World::new(2);
    let (mut alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    let group = alice.dm(&bo);
    alice.text(group, "hello");
    alice.delivery.freeze(Topic::Group(group));
    alice.offline(false);
    alice.sync();
    // The commit is stored; now it is read back, and the Welcome is refused and lost.
    alice.delivery.thaw();
    alice.delivery.set(|faults| faults.lose_answers = 1);
    assert!(alice.try_sync().is_err());
    alice.offline(true);
    let owed = |user: &User| {
        Dump::of(&user.store).intents().iter().any(|intent| intent.state == IntentState::Committed)
    };
    assert!(owed(&alice));
    alice.reopen();
    assert!(owed(&alice));
    alice.offline(false);
    alice.sync();
    assert!(!owed(&alice));
    bo.sync();
    assert_eq!(bo.texts(group), ["hello"]);
    assert_eq!(bo.conversations().len(), 1);
}

#[test]
fn gmod_016_an_own_commit_that_fails_its_checks_fails_the_dm() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    let group = alice.dm(&bo);
    let text = alice.text(group, "hello");
    // A service that gives the commit a place before the identity updates it names (GMOD-007).
    *alice.gate.twist.borrow_mut() = Some(Rc::new(move |asked, answer| {
        let after = |topic: Topic| asked.iter().find(|(t, _)| *t == topic).map(|(_, after)| *after);
        let shift = |mut one: dovetail::delivery::Incoming| {
            if one.topic == Topic::Group(group) {
                one.sequence_id = SequenceId(1);
            }
            one
        };
        let shifted = answer.into_iter().map(shift);
        Ok(shifted.filter(|one| after(one.topic).is_none_or(|after| one.sequence_id > after)).collect())
    }));
    alice.offline(false);
    alice.sync();
    dump::check(&alice.store);
    let inside = alice.inspect(group);
    assert_eq!(inside.groups[0].rejected[0].1, "GMOD-007");
    assert_eq!(inside.groups[0].row.state, GroupState::Failed("commit.rejected".into()));
    assert_eq!(inside.groups[0].pending_intents, 0);
    assert_eq!(status(&alice, text), MessageStatus::Failed("commit.rejected".into()));
    assert_eq!(alice.conversations().len(), 0);
    assert_eq!(welcomes(&bo), 0);
    assert_eq!(alice.try_text(group, "more").unwrap_err().code, "group.not_a_member");

    *alice.gate.twist.borrow_mut() = None;
    let again = alice.dm(&bo);
    assert_ne!(again, group);
    alice.text(again, "hello again");
    alice.sync();
    bo.sync();
    assert_eq!(bo.texts(again), ["hello again"]);
    dump::check(&alice.store);
}

#[test]
fn a_refused_first_commit_fails_the_dm_and_it_can_be_created_again() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    let group = alice.dm(&bo);
    let text = alice.text(group, "hello");
    alice.delivery.set(|faults| faults.refuse = 1);
    alice.offline(false);
    alice.sync();
    dump::check(&alice.store);
    assert_eq!(status(&alice, text), MessageStatus::Failed("delivery.refused".into()));
    assert_eq!(alice.conversations().len(), 0);
    let again = alice.dm(&bo);
    alice.text(again, "hello again");
    alice.sync();
    bo.sync();
    assert_eq!(bo.texts(again), ["hello again"]);
    assert_eq!(alice.conversations().len(), 1);
}

#[test]
fn a_message_stored_before_it_was_refused_is_not_failed() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    alice.delivery.set(|faults| faults.lose_answers = 1);
    let text = alice.text(group, "hello");
    alice.world.settle(50);
    alice.delivery.set(|faults| faults.refuse = 5);
    alice.sync();
    assert_eq!(status(&alice, text), MessageStatus::Published);
    bo.sync();
    assert_eq!(bo.texts(group), ["hello"]);
}

#[test]
fn one_refused_message_does_not_take_the_others_with_it() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    alice.offline(true);
    let ids: Vec<_> = ["one", "two", "three"].into_iter().map(|text| alice.text(group, text)).collect();
    // The batch is refused, then its first message.
    alice.delivery.set(|faults| faults.refuse = 2);
    alice.offline(false);
    alice.sync();
    let states: Vec<_> = ids.iter().map(|id| status(&alice, *id)).collect();
    let refused = MessageStatus::Failed("delivery.refused".into());
    assert_eq!(states, [refused, MessageStatus::Published, MessageStatus::Published]);
    bo.sync();
    assert_eq!(bo.texts(group), ["two", "three"]);
    dump::check(&alice.store);
}

/// Two devices of alice and bo's, in one DM; another device proposes something, which both of
/// alice's want to commit. The second publishes its commit behind that of the first, which it has not seen.
struct Race {
    first: User,
    second: User,
    bo: User,
    group: GroupId,
}

fn race(prepare: impl FnOnce(&mut User, GroupId)) -> Race {
    let world = World::new(2);
    let (first, mut second, bo) = (world.user("alice"), world.user("alice"), world.user("bo"));
    let proposer = world.user("bo");
    let group = first.dm(&bo);
    first.sync();
    [&second, &bo, &proposer].into_iter().for_each(|user| drop(user.sync()));
    prepare(&mut second, group);
    let forger = Forger::of(&proposer);
    let update = Propose::UpdateAppDataComponent { component_id: GROUP_NAME, update: b"name".to_vec() };
    forger.publish(group, forger.propose(group, update));
    second.delivery.freeze(Topic::Group(group));
    first.sync();
    first.text(group, "first");
    first.sync();
    second.sync();
    second.text(group, "second");
    second.world.settle(100);
    assert_eq!(commits(&world, group).len(), 3);
    assert_eq!(epoch(&second, group).0, 1, "it has not read the first commit yet");
    second.delivery.thaw();
    Race { first, second, bo, group }
}

fn sync_all(race: &Race) {
    for _ in 0..2 {
        for user in [&race.first, &race.second, &race.bo] {
            user.sync();
            dump::check(&user.store);
        }
    }
}

#[test]
fn gmod_036_a_commit_that_lost_is_not_applied_and_dropped_when_nothing_is_left_to_do() {
    let race = race(|_, _| {});
    sync_all(&race);
    let inside = race.second.inspect(race.group).groups.remove(0);
    assert_eq!(inside.rejected.len(), 1);
    assert_eq!(inside.rejected[0].1, "GMOD-036");
    assert_eq!((inside.pending_intents, inside.row.epoch), (0, 2));
    for user in [&race.first, &race.bo] {
        assert_eq!(epoch(user, race.group), epoch(&race.second, race.group));
    }
    assert_eq!(race.bo.texts(race.group), ["first", "second"]);
}

#[test]
fn gmod_036_a_commit_that_lost_is_built_again_on_the_present_state() {
    // The second device needs its commit: its own state was rolled back.
    let race = race(|second, group| {
        let backup = second.store.copy();
        second.text(group, "forgotten here");
        second.sync();
        second.store = backup;
        second.reopen();
    });
    assert!(Dump::of(&race.second.store).groups()[&race.group].rolled_back);
    let wanted = Dump::of(&race.second.store).intents();
    assert!(wanted.iter().any(|intent| intent.operation == Operation::SelfUpdate));
    sync_all(&race);
    let inside = race.second.inspect(race.group).groups.remove(0);
    assert_eq!((inside.pending_intents, inside.row.epoch, inside.row.rolled_back), (0, 3, false));
    assert!(inside.rejected.iter().any(|(_, id, _)| id == "GMOD-036"));
    for user in [&race.first, &race.bo] {
        assert_eq!(epoch(user, race.group), epoch(&race.second, race.group));
        assert_eq!(user.texts(race.group), ["forgotten here", "first", "second"]);
    }
}

#[test]
fn a_message_overtaken_by_many_epochs_is_encrypted_again() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    bo.sync();
    // Encrypted in epoch 1 and published at once; meanwhile the group has moved on unseen.
    let forger = Forger::of(&bo);
    for round in 0..5u8 {
        let sealed = forger.commit(group, mls::CommitPlan { force_self_update: true, ..Default::default() });
        forger.publish(group, sealed.bytes);
        forger.merge(group);
        if round == 0 {
            bo.sync();
        }
    }
    let text = alice.text(group, "late");
    alice.world.settle(100);
    alice.sync();
    assert_eq!(status(&alice, text), MessageStatus::Published);
    assert_eq!(epoch(&alice, group).0, 6);
    dump::check(&alice.store);
    bo.sync();
    assert_eq!(epoch(&bo, group).0, 2, "its own commits after the first were made behind its back");
    // Somebody who followed can read it: exactly one readable copy is in the topic, under its id.
    let stored = world.delivery.stored(Topic::Group(group));
    let mut state = forger.group(group);
    let open = |one: &dovetail::delivery::Incoming, state: &mut mls::Group| {
        mls::open(&forger.scratch, state, &forge::mls_of(&one.payload)).is_ok()
    };
    assert_eq!(stored.iter().filter(|one| open(one, &mut state)).count(), 1);
}
