//! Records that come from another device, in any order and any number of times, end in the same rows
//! (CONS-010), whatever they are about: copies of a DM, a group, what is not here yet, inboxes.

use std::collections::BTreeMap;

use dovetail::base::{GroupId, InboxId, Nanos};
use dovetail::consent::{Entity, Record, State, greatest};
use dovetail::wire::ConsentSave;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::User;
use crate::common::devices::records;
use crate::common::dump::{self, Dump};
use crate::common::group::sync_all;
use crate::devices::{told, two};
use crate::devices_bad::Rogue;

fn any_state() -> impl Strategy<Value = State> {
    proptest::sample::select(vec![State::Unknown, State::Allowed, State::Denied])
}

/// Times that meet each other, and the ends of what there is.
fn any_time(now: i64) -> impl Strategy<Value = i64> {
    prop_oneof![4 => now..now + 4, 2 => -2i64..3, 1 => Just(i64::MIN), 1 => Just(i64::MAX - 1), 1 => any::<i64>()]
}

/// A phone in two copies of a DM and in a group, the laptop that tells, and what is decided about.
fn place() -> (User, Rogue, Vec<Entity>) {
    let (phone, laptop) = two(21);
    let (bo, mate) = (phone.world.user("bo"), phone.world.user("bo"));
    bo.offline(true);
    mate.offline(true);
    let copies = [bo.dm(&phone), mate.dm(&phone)];
    bo.offline(false);
    mate.offline(false);
    let group = bo.group(&[&phone]);
    sync_all(&[&bo, &mate, &phone, &laptop]);
    let mut entities: Vec<_> = copies.into_iter().chain([group]).map(Entity::Conversation).collect();
    assert_eq!(Dump::of(&phone.store).threads().values().map(|row| row.groups.len()).max(), Some(2));
    entities.push(Entity::Conversation(GroupId([0xcd; 16])));
    entities.push(Entity::Inbox(bo.inbox()));
    entities.push(Entity::Inbox(InboxId([0xab; 32])));
    (phone, Rogue::of(&laptop), entities)
}

#[test]
fn cons_010_any_order_and_repetition_of_received_records_ends_in_the_same_rows() {
    let (phone, rogue, entities) = place();
    let now = phone.world.platform.now_ns();
    let record = (0..entities.len(), any_state(), any_time(now));
    let sets = proptest::collection::vec(record, 1..10);
    // Each is told where it stands, and some again anywhere.
    let orders = sets.prop_flat_map(|set| {
        let again = proptest::collection::vec(any::<prop::sample::Index>(), 0..8);
        again.prop_flat_map(move |again| {
            let mut all = set.clone();
            all.extend(again.iter().map(|at| set[at.index(set.len())]));
            (Just(set.clone()), Just(all).prop_shuffle())
        })
    });
    let mut runner = TestRunner::new(Config { cases: 80, failure_persistence: None, ..Config::default() });
    let ended = runner.run(&(orders, 1usize..6), |((set, order), together)| {
        let of = |(at, state, time): &(usize, State, i64)| Record {
            entity: entities[*at],
            state: *state,
            consented_at_ns: Nanos(*time),
        };
        let mut expected: BTreeMap<Entity, Record> = records(&Dump::of(&phone.store));
        let before = expected.clone();
        for entity in &entities {
            let all: Vec<Record> = set.iter().map(of).chain(before.get(entity).copied()).collect();
            if let Some(record) = greatest(all.iter().filter(|record| record.entity == *entity)) {
                expected.insert(*entity, *record);
            }
        }
        let (events, _listening) = told(&phone);
        for part in order.chunks(together) {
            rogue.tell(part.iter().map(of).map(|record| ConsentSave::from(&record)));
            if together % 2 == 0 {
                phone.sync();
            }
        }
        phone.sync();
        prop_assert_eq!(&records(&Dump::of(&phone.store)), &expected);
        dump::check(&phone.store);
        // What is told of an entity ends with the state it has, and is none where that is as before.
        for entity in &entities {
            let state =
                |of: &BTreeMap<Entity, Record>| of.get(entity).map_or(State::Unknown, |one| one.state);
            let last =
                events.borrow().iter().rev().find(|(about, _)| about == entity).map(|(_, state)| *state);
            prop_assert_eq!(last.unwrap_or_else(|| state(&before)), state(&expected));
        }
        Ok(())
    });
    ended.unwrap();
}
