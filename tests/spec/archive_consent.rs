//! Decisions out of an archive: merged like those of another device, unusable ones dropped one by
//! one, and told to nobody.

use dovetail::base::{GroupId, InboxId};
use dovetail::consent::{Entity, Record, State, greatest};
use dovetail::engine::event::Event;
use dovetail::store::Table;
use dovetail::store::rows::ConsentRow;
use dovetail::wire::{ConsentSave, Element};
use proptest::prelude::*;

use crate::common::archive::{all, archive_of, decided, elements_of, group};
use crate::common::dump::{self, Dump};
use crate::common::{User, World};

fn inbox(n: u8) -> String {
    InboxId([n; 32]).to_string()
}

fn records(user: &User) -> Vec<Record> {
    Dump::of(&user.store).rows::<ConsentRow>().into_iter().map(|row| row.0).collect()
}

#[test]
fn cons_010_an_archived_decision_is_merged_by_time_then_by_state() {
    let world = World::new(1);
    let carol = world.user("carol");
    let of = |state, at| archive_of(&[decided(2, &inbox(1), state, at)]);
    let stored = || records(&carol).first().map(|record| (record.state, record.consented_at_ns.0));
    for (state, at, expected) in [
        (2, 50, (State::Allowed, 50)),
        (3, 40, (State::Allowed, 50)),
        (2, 60, (State::Allowed, 60)),
        (3, 60, (State::Denied, 60)),
        (2, 60, (State::Denied, 60)),
        (1, 61, (State::Unknown, 61)),
    ] {
        carol.import(&of(state, at)).ok();
        assert_eq!(stored(), Some(expected));
    }
}

/// What an archive names is looked up in one range or one by one, by how close together it lies.
#[test]
fn cons_010_archived_decisions_meet_those_that_lie_next_to_them_or_far_apart() {
    let entity = |n: u16| {
        let mut id = [0x11; 32];
        id[..2].copy_from_slice(&n.to_be_bytes());
        InboxId(id)
    };
    let of = |numbers: &[u16], state, at| {
        let decisions = numbers.iter().map(|n| decided(2, &entity(*n).to_string(), state, at));
        archive_of(&decisions.collect::<Vec<_>>())
    };
    let world = World::new(1);
    let carol = world.user("carol");
    let all: Vec<u16> = (0..600).collect();
    carol.import_by(&of(&all, 2, 50), 64).ok();
    let (near, far): (Vec<u16>, Vec<u16>) = ((100..140).collect(), (0..600).step_by(15).collect());
    for named in [&near, &far] {
        carol.import_by(&of(named, 3, 40), 64).ok();
        carol.import_by(&of(named, 3, 60), 64).ok();
    }
    for record in records(&carol) {
        let later = near.iter().chain(&far).any(|n| Entity::Inbox(entity(*n)) == record.entity);
        let expected = if later { (State::Denied, 60) } else { (State::Allowed, 50) };
        assert_eq!((record.state, record.consented_at_ns.0), expected);
    }
    assert_eq!(records(&carol).len(), all.len());
}

#[test]
fn cons_010_011_br_018_the_old_devices_history_arrives_after_a_decision_on_the_new_one() {
    let world = World::new(1);
    let (bo, carol) = (world.user("bo"), world.user("carol"));
    let dm = bo.dm(&carol);
    bo.sync();
    carol.sync();
    let t1 = world.platform.now_ns();
    world.settle(10);
    carol.decide(dm, State::Allowed);
    let t2 = records(&carol)[0].consented_at_ns.0;
    assert!(t2 > t1);
    let archive = |at| archive_of(&[decided(1, &dm.to_string(), 3, at)]);
    carol.import(&archive(t1)).ok();
    assert_eq!(carol.consent(Entity::Conversation(dm)), State::Allowed);
    world.settle(10);
    carol.decide(dm, State::Allowed);
    let t3 = records(&carol)[0].consented_at_ns.0;
    assert!(t3 > t2 + 1, "a repeated decision moves the time");
    carol.import(&archive(t2 + 1)).ok();
    assert_eq!(carol.consent(Entity::Conversation(dm)), State::Allowed);
    assert_eq!(carol.conversations().len(), 1);
    // One that is later counts, and moves the conversation.
    carol.import(&archive(t3 + 1)).ok();
    assert!(carol.conversations().is_empty());
    dump::check_imported(&carol.store);
}

#[test]
fn cons_003_unusable_decisions_are_dropped_one_by_one() {
    let world = World::new(1);
    let carol = world.user("carol");
    let group = GroupId([5; 16]).to_string();
    carol
        .import(&archive_of(&[
            decided(0, &inbox(1), 2, 5),
            decided(3, "0x1234", 2, 5),
            decided(2, &inbox(2), 0, 5),
            decided(2, &inbox(3), 3, 5),
            decided(2, &inbox(4).to_uppercase().replace('0', "A"), 3, 5),
            decided(1, "not hexadecimal", 3, 5),
            decided(1, &inbox(5), 3, 5),
            decided(9, &inbox(6), 9, 5),
            decided(1, &group, 2, -5),
            decided(2, &inbox(7), 2, i64::MAX),
        ]))
        .ok();
    let kept = records(&carol);
    assert_eq!(kept.len(), 3);
    assert_eq!(carol.consent(Entity::Inbox(InboxId([3; 32]))), State::Denied);
    assert_eq!(carol.consent(Entity::Conversation(GroupId([5; 16]))), State::Allowed);
    // Times are compared as they stand, negative and far ones too.
    carol.import(&archive_of(&[decided(1, &group, 3, -4)])).ok();
    assert_eq!(carol.consent(Entity::Conversation(GroupId([5; 16]))), State::Denied);
}

#[test]
fn cons_002_decisions_are_archived_and_defaults_are_not() {
    let world = World::new(4);
    let carol = world.user("carol");
    let consents = || {
        let save = |element| match element {
            Element::Consent(save) => Some(save),
            _ => None,
        };
        elements_of(&carol.export(all())).into_iter().filter_map(save).collect::<Vec<ConsentSave>>()
    };
    // At time 0 it is a default: no decision, whoever sent it.
    let group = GroupId([5; 16]);
    carol.import(&archive_of(&[decided(1, &group.to_string(), 2, 0)])).ok();
    assert_eq!(carol.consent(Entity::Conversation(group)), State::Allowed);
    assert_eq!(consents(), []);
    carol
        .call(
            move |client| async move { client.set_consent(Entity::Conversation(group), State::Denied).await },
        )
        .unwrap();
    let record = records(&carol)[0];
    assert_eq!(consents(), [ConsentSave::from(&record)]);
    assert_eq!((consents()[0].entity_type, consents()[0].state), (1, 3));
}

#[test]
fn event_an_imported_decision_is_not_told_and_not_sent_on() {
    let world = World::new(4);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let other = world.user("alice");
    let dm = alice.dm(&bo);
    alice.text(dm, "hi");
    alice.sync();
    other.sync();
    let told = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = told.clone();
    let _subscription = alice.client.subscribe(move |event| {
        count.set(count.get() + usize::from(matches!(event, Event::Consent { .. })));
    });
    let owed = Dump::of(&alice.store).count(Table::Preferences);
    let later = world.platform.now_ns() * 2;
    alice.import(&archive_of(&[decided(1, &dm.to_string(), 3, later)])).ok();
    assert_eq!(alice.consent(Entity::Conversation(dm)), State::Denied);
    assert_eq!(told.get(), 0);
    assert_eq!(Dump::of(&alice.store).count(Table::Preferences), owed);
    alice.sync();
    other.sync();
    assert_ne!(other.consent(Entity::Conversation(dm)), State::Denied);
}

#[test]
fn cons_010_a_decision_meets_its_conversation_in_either_order() {
    let save = |n: u8| Element::Group(Box::new(group(GroupId([n; 16]), InboxId([1; 32]))));
    let denied = |n: u8| decided(1, &GroupId([n; 16]).to_string(), 3, 50);
    for elements in [[save(1), denied(1)], [denied(1), save(1)]] {
        let world = World::new(1);
        // In one unit, and in two.
        let (one, two) = (world.user("carol"), world.user("dave"));
        one.import(&archive_of(&elements)).ok();
        elements.iter().for_each(|element| two.import(&archive_of(std::slice::from_ref(element))).ok());
        for user in [one, two] {
            assert!(user.conversations().is_empty());
            assert_eq!(Dump::of(&user.store).threads().into_values().next().unwrap().consent, State::Denied);
            dump::check_imported(&user.store);
        }
    }
}

fn any_decision() -> impl Strategy<Value = (u8, i32, i64)> {
    (0u8..4, 1i32..4, -3i64..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Decisions of archives in any order, and any number of times, end in the same records.
    #[test]
    fn cons_010_any_order_of_archived_decisions_ends_in_the_same_records(
        decisions in proptest::collection::vec(any_decision(), 0..24), cut in any::<usize>(), known in any::<bool>(),
    ) {
        let world = World::new(1);
        let element = |(n, state, at): &(u8, i32, i64)| match n % 2 {
            0 => decided(2, &inbox(*n), *state, *at),
            _ => decided(1, &GroupId([*n; 16]).to_string(), *state, *at),
        };
        let elements: Vec<Element> = decisions.iter().map(element).collect();
        let (one, two) = (world.user("carol"), world.user("dave"));
        if known {
            one.import(&archive_of(&[Element::Group(Box::new(group(GroupId([1; 16]), InboxId([1; 32]))))])).ok();
        }
        one.import(&archive_of(&elements)).ok();
        let mut turned = elements.clone();
        turned.reverse();
        let (first, second) = turned.split_at(if turned.is_empty() { 0 } else { cut % turned.len() });
        for part in [second, first, second] {
            two.import(&archive_of(part)).ok();
        }
        prop_assert_eq!(records(&one), records(&two));
        let all: Vec<Record> = elements.iter().filter_map(|element| match element {
            Element::Consent(save) => Record::try_from(save).ok(),
            _ => None,
        }).collect();
        for record in records(&one) {
            let of_entity = all.iter().filter(|other| other.entity == record.entity);
            prop_assert_eq!(greatest(of_entity), Some(&record));
        }
        dump::check_imported(&one.store);
    }
}
