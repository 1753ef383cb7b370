//! Decisions and what crosses them: clocks that were set back, copies decided about apart, groups
//! left and joined again.

use std::collections::BTreeSet;

use dovetail::base::{GroupId, InboxId, Nanos};
use dovetail::consent::{Entity, Record, State};
use dovetail::engine::list::ListOptions;
use dovetail::store::rows::{ConsentRow, GroupState};

use crate::common::devices::agree_but;
use crate::common::dump::{self, Dump};
use crate::common::forge::Raw;
use crate::common::group::sync_all;
use crate::common::{User, World};
use crate::devices::two;
use crate::gang::{ROOT, open_gang};

const HOUR: i64 = 3_600_000_000_000;

pub fn record(user: &User, group: GroupId) -> Option<Record> {
    let entity = Entity::Conversation(group);
    Dump::of(&user.store).rows::<ConsentRow>().into_iter().map(|row| row.0).find(|row| row.entity == entity)
}

/// Decides about one entity alone.
pub fn decide_apart(user: &User, group: GroupId, state: State) {
    let entity = Entity::Conversation(group);
    user.call(move |client| async move { client.set_consent(entity, state).await }).expect("decided");
}

/// bo in two copies of the DM with alice, each made by a device of hers: bo, alice's devices, and
/// the copies.
pub fn two_copies(seed: u64) -> (User, [User; 2], [GroupId; 2]) {
    let world = World::new(seed);
    let (bo, first, second) = (world.user("bo"), world.user("alice"), world.user("alice"));
    first.offline(true);
    second.offline(true);
    let groups = [first.dm(&bo), second.dm(&bo)];
    for device in [&first, &second] {
        device.offline(false);
        device.sync();
    }
    bo.sync();
    (bo, [first, second], groups)
}

#[test]
fn cons_021_a_block_stays_though_the_clock_was_set_back_after_writing() {
    for through_the_dm in [true, false] {
        let (bo, [alice, _], groups) = two_copies(3);
        bo.offline(true);
        bo.device.skew_ns.set(HOUR);
        bo.text(groups[0], "written with a clock that is ahead");
        bo.device.skew_ns.set(0);
        match through_the_dm {
            true => bo.decide(groups[0], State::Denied),
            false => groups.iter().for_each(|group| decide_apart(&bo, *group, State::Denied)),
        }
        let blocks = groups.map(|group| record(&bo, group));
        bo.offline(false);
        bo.world.settle(2 * HOUR / 1_000_000);
        bo.sync();
        alice.sync();
        assert_eq!(alice.texts(groups[0]), ["written with a clock that is ahead"]);
        assert_eq!(groups.map(|group| record(&bo, group)), blocks, "the block is the later decision");
        assert_eq!(bo.conversations().len(), 0);
        // A reply after it is one again.
        bo.text(groups[0], "never mind");
        bo.sync();
        assert!(groups.iter().all(|group| record(&bo, *group).unwrap().state == State::Allowed));
        dump::check(&bo.store);
    }
}

#[test]
fn cons_021_an_unblock_after_such_a_block_is_not_undone() {
    let (bo, _, groups) = two_copies(3);
    bo.offline(true);
    bo.device.skew_ns.set(HOUR);
    bo.text(groups[0], "hi");
    bo.device.skew_ns.set(0);
    bo.decide(groups[0], State::Denied);
    bo.decide(groups[0], State::Unknown);
    bo.offline(false);
    bo.sync();
    assert!(groups.iter().all(|group| record(&bo, *group).unwrap().state == State::Allowed));
}

#[test]
fn cons_021_a_block_of_one_copy_made_meanwhile_stays() {
    let (bo, _, groups) = two_copies(4);
    let sent_in = bo.conversations()[0].group.id;
    let other = if sent_in == groups[0] { groups[1] } else { groups[0] };
    bo.offline(true);
    bo.text(sent_in, "hi");
    bo.world.settle(1_000);
    decide_apart(&bo, other, State::Denied);
    let block = record(&bo, other);
    bo.offline(false);
    bo.sync();
    assert_eq!((record(&bo, sent_in), record(&bo, other)), (None, block));
    assert_eq!(bo.inspect(sent_in).consent, State::Denied, "the DM is one conversation");
    dump::check(&bo.store);
}

#[test]
fn cons_021_a_reply_in_a_dm_that_a_copy_blocks_allows_all_of_it() {
    let (bo, _, groups) = two_copies(4);
    let sent_in = bo.conversations()[0].group.id;
    let other = if sent_in == groups[0] { groups[1] } else { groups[0] };
    decide_apart(&bo, sent_in, State::Allowed);
    bo.world.settle(1_000);
    decide_apart(&bo, other, State::Denied);
    assert!(bo.conversations().is_empty());
    bo.world.settle(1_000);
    bo.text(sent_in, "never mind");
    bo.sync();
    let records = groups.map(|group| record(&bo, group).unwrap());
    assert!(records.iter().all(|one| one.state == State::Allowed), "{records:?}");
    assert_eq!(records[0].consented_at_ns, records[1].consented_at_ns);
    assert_eq!(bo.conversations().len(), 1);
    dump::check(&bo.store);
}

#[test]
fn cons_021_a_block_of_another_copy_is_later_than_what_was_written_with_a_clock_ahead() {
    let (bo, _, groups) = two_copies(4);
    let sent_in = bo.conversations()[0].group.id;
    let other = if sent_in == groups[0] { groups[1] } else { groups[0] };
    bo.offline(true);
    bo.device.skew_ns.set(HOUR);
    bo.text(sent_in, "written with a clock that is ahead");
    bo.device.skew_ns.set(0);
    decide_apart(&bo, other, State::Denied);
    let block = record(&bo, other);
    bo.offline(false);
    bo.sync();
    assert_eq!((record(&bo, sent_in), record(&bo, other)), (None, block));
    assert!(bo.conversations().is_empty());
}

/// A known limitation of CONS: the reply allows with the time it leaves at (CONS-021), which is behind
/// that of the block. The device keeps its own decision, the others the greater record (CONS-010).
#[test]
fn cons_010_011_021_a_reply_that_leaves_after_the_clock_was_set_back_loses_at_the_other_devices() {
    let (phone, laptop) = two(18);
    let bo = phone.world.user("bo");
    let group = bo.dm(&phone);
    sync_all(&[&bo, &phone, &laptop]);
    phone.offline(true);
    phone.decide(group, State::Denied);
    let block = phone.record(Entity::Conversation(group)).unwrap();
    phone.world.settle(1_000);
    phone.text(group, "never mind");
    phone.device.skew_ns.set(-HOUR);
    phone.offline(false);
    sync_all(&[&phone, &laptop, &phone]);
    let own = phone.record(Entity::Conversation(group)).unwrap();
    assert_eq!(own.state, State::Allowed);
    assert!(own.consented_at_ns < block.consented_at_ns);
    assert_eq!(laptop.record(Entity::Conversation(group)), Some(block));
    let dumps = [&phone, &laptop].map(|device| Dump::of(&device.store));
    let set_back = [&phone, &laptop].map(|device| device.gate.set_back.borrow().clone());
    agree_but(&dumps.each_ref(), &BTreeSet::new(), &set_back);
    assert_eq!(set_back, [BTreeSet::from([Entity::Conversation(group)]), BTreeSet::new()]);
    // A decision with a right clock ends it.
    phone.device.skew_ns.set(0);
    phone.decide(group, State::Allowed);
    sync_all(&[&phone, &laptop]);
    assert_eq!(laptop.record(Entity::Conversation(group)), phone.record(Entity::Conversation(group)));
}

#[test]
fn cons_011_a_dm_that_never_came_to_life_can_be_decided_about() {
    let world = World::new(5);
    let alice = world.user("alice");
    let group = alice.dm_to(InboxId([9; 32])).unwrap();
    let _ = alice.try_sync();
    assert!(matches!(Dump::of(&alice.store).groups()[&group].state, GroupState::Failed(_)));
    alice.decide(group, State::Denied);
    assert_eq!(alice.consent(Entity::Conversation(group)), State::Denied);
    assert_eq!(alice.list(ListOptions::default()).len(), 0);
    dump::check(&alice.store);
}

/// alice's group with bo in it, which bo has allowed and left.
fn left(seed: u64) -> (User, User, GroupId) {
    let world = World::new(seed);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo, &cy]);
    bo.decide(group, State::Allowed);
    bo.leave(group).unwrap();
    sync_all(&[&bo, &alice, &bo]);
    assert_eq!(bo.row(group).state, GroupState::Inactive);
    (alice, bo, group)
}

#[test]
fn cons_025_a_group_left_and_offered_again_is_to_be_decided_about() {
    let (alice, bo, group) = left(6);
    alice.world.settle(1_000);
    let from = alice.world.platform.now_ns();
    alice.add(group, &[bo.inbox()]).unwrap();
    bo.world.settle(5_000);
    bo.sync();
    let reset = record(&bo, group).unwrap();
    assert_eq!(reset.state, State::Unknown);
    assert!((from..from + 4_000_000_000).contains(&reset.consented_at_ns.0), "the Welcome's time");
    // Later decisions stand, and being removed is not leaving.
    bo.decide(group, State::Allowed);
    alice.remove(group, &[bo.inbox()]).unwrap();
    bo.sync();
    alice.add(group, &[bo.inbox()]).unwrap();
    bo.sync();
    assert_eq!(bo.row(group).state, GroupState::Active);
    assert_eq!(record(&bo, group).unwrap().state, State::Allowed);
    dump::check(&bo.store);
}

#[test]
fn cons_025_a_decision_later_than_the_welcome_stays() {
    let (alice, bo, group) = left(7);
    alice.add(group, &[bo.inbox()]).unwrap();
    bo.world.settle(5_000);
    bo.decide(group, State::Denied);
    let decided = record(&bo, group);
    bo.sync();
    assert_eq!(bo.row(group).state, GroupState::Active);
    assert_eq!(record(&bo, group), decided);
}

#[test]
fn cons_025_a_request_that_never_left_resets_nothing() {
    let world = World::new(8);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo, &cy]);
    bo.decide(group, State::Allowed);
    let decided = record(&bo, group);
    bo.offline(true);
    bo.leave(group).unwrap();
    alice.remove(group, &[bo.inbox()]).unwrap();
    bo.offline(false);
    bo.sync();
    bo.sync();
    assert_eq!(bo.row(group).state, GroupState::Inactive);
    alice.add(group, &[bo.inbox()]).unwrap();
    bo.sync();
    assert_eq!(bo.row(group).state, GroupState::Active);
    assert_eq!(record(&bo, group), decided);
}

#[test]
fn cons_025_removed_and_added_by_one_commit_with_a_request_pending_resets() {
    let gang = open_gang(0);
    gang.alice.decide(gang.group, State::Allowed);
    gang.world.settle(1_000);
    gang.alice.leave(gang.group).unwrap();
    gang.sync();
    let alice = gang.alice.client.installation();
    let replace = Raw {
        adds: vec![gang.by(ROOT).key_package(alice)],
        removes: vec![gang.leaf(gang.alice.inbox())],
        ..Raw::default()
    };
    let sealed = gang.by(ROOT).raw_commit(gang.group, replace);
    let receipt = gang.by(ROOT).publish(gang.group, sealed.bytes);
    gang.sync();
    gang.by(ROOT).merge(gang.group);
    gang.by(ROOT).invite(&sealed.welcome.unwrap(), receipt.sequence_id, alice);
    gang.sync();
    assert_eq!(gang.alice.row(gang.group).state, GroupState::Active);
    assert_eq!(record(&gang.alice, gang.group).unwrap().state, State::Unknown);
}

#[test]
fn dms_011_showing_an_add_moves_the_threads_revision() {
    // Another tab that holds the thread finds out that it knows too little.
    let world = World::new(9);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    let group = alice.dm(&bo);
    let revision = |user: &User| {
        let rows = Dump::of(&user.store).0;
        let of = |((table, _), row): (&(dovetail::store::Table, Vec<u8>), &dovetail::store::Record)| {
            (*table == dovetail::store::Table::Threads).then_some(row.revision)
        };
        rows.iter().find_map(of).expect("a thread")
    };
    let before = revision(&alice);
    alice.offline(false);
    alice.sync();
    assert_eq!(alice.row(group).epoch, 1);
    assert!(revision(&alice) > before);
}

#[test]
fn cons_011_an_act_with_a_clock_that_is_behind_is_what_a_list_shows_and_a_copy_inherits() {
    let (bo, _, groups) = two_copies(10);
    bo.device.skew_ns.set(HOUR);
    bo.decide(groups[0], State::Allowed);
    bo.device.skew_ns.set(0);
    let now = bo.world.platform.now_ns();
    bo.decide(groups[1], State::Denied);
    assert!(groups.iter().all(|group| {
        record(&bo, *group).unwrap()
            == Record {
                entity: Entity::Conversation(*group),
                state: State::Denied,
                consented_at_ns: Nanos(now),
            }
    }));
    assert_eq!(bo.conversations().len(), 0);
    let third = bo.world.user("alice");
    third.offline(true);
    let newest = third.dm(&bo);
    third.offline(false);
    third.sync();
    third.text(newest, "again");
    third.sync();
    bo.sync();
    assert_eq!(record(&bo, newest).unwrap().state, State::Denied);
    assert_eq!(bo.conversations().len(), 0);
    dump::check(&bo.store);
}
