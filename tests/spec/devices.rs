//! Devices of one inbox: what one decides, the others hold.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use dovetail::base::{GroupId, InboxId, Nanos};
use dovetail::client::EventSubscription;
use dovetail::consent::{Entity, State};
use dovetail::engine::event::Event;
use dovetail::store::rows::{GroupState, ThreadRow};

use crate::common::devices::agree;
use crate::common::dump::{self, Dump};
use crate::common::gate::Plan;
use crate::common::group::sync_all;
use crate::common::{User, World};

const HOUR: i64 = 3_600_000_000_000;
pub const SOMEBODY: Entity = Entity::Inbox(InboxId([0xab; 32]));
/// A conversation that is not here.
pub const ELSEWHERE: Entity = Entity::Conversation(GroupId([0xcd; 16]));

/// Two devices of alice that know each other's sync group.
pub fn two(seed: u64) -> (User, User) {
    let world = World::new(seed);
    let phone = world.user("alice");
    let laptop = world.user("alice");
    phone.set_consent(Entity::Inbox(InboxId([1; 32])), State::Allowed);
    sync_all(&[&phone, &laptop]);
    assert_eq!(phone.sync_group(), laptop.sync_group());
    (phone, laptop)
}

/// What a client said of consent.
type Told = Rc<RefCell<Vec<(Entity, State)>>>;

/// Consent events of a client from now on.
pub fn told(user: &User) -> (Told, EventSubscription) {
    let told = Told::default();
    let list = told.clone();
    let events = user.client.subscribe(move |event| {
        if let Event::Consent { entity, state } = event {
            list.borrow_mut().push((*entity, *state));
        }
    });
    (told, events)
}

fn same(devices: &[&User]) {
    let dumps: Vec<Dump> = devices.iter().map(|device| Dump::of(&device.store)).collect();
    agree(&dumps.iter().collect::<Vec<_>>(), &BTreeSet::new());
    devices.iter().for_each(|device| dump::check(&device.store));
}

#[test]
fn cons_010_a_decision_reaches_the_other_device_with_its_time() {
    let (phone, laptop) = two(1);
    for (entity, state) in
        [(SOMEBODY, State::Denied), (ELSEWHERE, State::Allowed), (SOMEBODY, State::Unknown)]
    {
        phone.world.settle(5_000);
        let (events, _listening) = told(&laptop);
        phone.set_consent(entity, state);
        let made = phone.record(entity).unwrap();
        phone.sync_devices();
        assert_eq!(phone.owed(), [], "told");
        laptop.sync_devices();
        assert_eq!(laptop.record(entity), Some(made));
        assert_eq!(*events.borrow(), [(entity, state)]);
    }
    same(&[&phone, &laptop]);
}

#[test]
fn cons_011_a_repeated_decision_travels_and_is_no_change_to_tell_an_app() {
    let (phone, laptop) = two(2);
    phone.set_consent(SOMEBODY, State::Denied);
    sync_all(&[&phone, &laptop]);
    let (events, _listening) = told(&laptop);
    phone.world.settle(60_000);
    phone.set_consent(SOMEBODY, State::Denied);
    let repeated = phone.record(SOMEBODY).unwrap();
    assert_eq!(phone.owed(), [repeated], "also where the state stays the same");
    // Made elsewhere in between, it loses.
    laptop.device.skew_ns.set(-30_000_000_000);
    laptop.set_consent(SOMEBODY, State::Allowed);
    sync_all(&[&phone, &laptop]);
    assert_eq!(laptop.record(SOMEBODY), Some(repeated));
    assert_eq!(*events.borrow(), [(SOMEBODY, State::Allowed), (SOMEBODY, State::Denied)]);
    events.borrow_mut().clear();
    phone.world.settle(60_000);
    phone.set_consent(SOMEBODY, State::Denied);
    sync_all(&[&phone, &laptop]);
    assert_eq!(laptop.record(SOMEBODY), phone.record(SOMEBODY));
    assert_eq!(*events.borrow(), [], "consent.changed is for a state that changed");
}

#[test]
fn cons_020_021_creating_and_writing_are_told() {
    let (phone, laptop) = two(3);
    let bo = phone.world.user("bo");
    let group = phone.dm(&bo);
    let created = phone.record(Entity::Conversation(group)).unwrap();
    sync_all(&[&phone, &laptop, &bo]);
    assert_eq!(laptop.record(Entity::Conversation(group)), Some(created), "not the default at time 0");
    // bo wrote first, and phone answers: it is allowed on both.
    let from_bo = bo.group(&[&phone]);
    sync_all(&[&phone, &laptop, &bo]);
    let entity = Entity::Conversation(from_bo);
    assert_eq!([phone.record(entity), laptop.record(entity)], [None, None]);
    phone.text(from_bo, "hello");
    sync_all(&[&phone, &laptop]);
    let implied = phone.record(entity).unwrap();
    assert_eq!((implied.state, laptop.record(entity)), (State::Allowed, Some(implied)));
    same(&[&phone, &laptop]);
}

#[test]
fn cons_010_offline_decisions_with_skewed_clocks_end_equal() {
    for (seed, skews) in [(0, [0, 0]), (1, [2 * HOUR, -HOUR]), (2, [-3 * HOUR, 1]), (3, [HOUR, HOUR])] {
        let (phone, laptop) = two(seed);
        let bo = phone.world.user("bo");
        let group = phone.dm(&bo);
        sync_all(&[&phone, &laptop, &bo]);
        let conversation = Entity::Conversation(group);
        for (device, skew) in [(&phone, skews[0]), (&laptop, skews[1])] {
            device.offline(true);
            // Behind what is stored here a clock would win over nothing but its own database.
            phone.world.settle(4 * HOUR / 1_000_000);
            device.device.skew_ns.set(skew);
        }
        for (state, other) in [(State::Denied, State::Allowed), (State::Allowed, State::Denied)] {
            phone.set_consent(SOMEBODY, state);
            laptop.set_consent(SOMEBODY, other);
            phone.decide(group, other);
            laptop.decide(group, state);
            phone.set_consent(ELSEWHERE, state);
        }
        let greatest = |entity| {
            [&phone, &laptop]
                .map(|device| device.record(entity))
                .into_iter()
                .flatten()
                .max_by_key(|r| r.rank())
        };
        let expected = [SOMEBODY, ELSEWHERE, conversation].map(|entity| (entity, greatest(entity)));
        for device in [&phone, &laptop] {
            device.offline(false);
        }
        sync_all(&[&laptop, &phone]);
        for (entity, record) in expected {
            for device in [&phone, &laptop] {
                assert_eq!(device.record(entity), record, "{entity:?} with {skews:?}");
            }
        }
        same(&[&phone, &laptop]);
    }
}

#[test]
fn cons_010_an_equal_time_is_decided_by_the_state_on_every_device() {
    let (phone, laptop) = two(4);
    let bo = phone.world.user("bo");
    let group = phone.dm(&bo);
    sync_all(&[&phone, &laptop, &bo]);
    [&phone, &laptop].iter().for_each(|device| device.offline(true));
    phone.world.settle(1_000);
    let now = phone.world.platform.now_ns();
    phone.decide(group, State::Denied);
    laptop.device.skew_ns.set(now - phone.world.platform.now_ns());
    laptop.decide(group, State::Allowed);
    let records = [&phone, &laptop].map(|device| device.record(Entity::Conversation(group)).unwrap());
    assert_eq!(records[0].consented_at_ns, records[1].consented_at_ns, "the case this is about");
    [&phone, &laptop].iter().for_each(|device| device.offline(false));
    sync_all(&[&phone, &laptop]);
    for device in [&phone, &laptop] {
        assert_eq!(device.record(Entity::Conversation(group)), Some(records[0]));
        assert_eq!(device.conversations().len(), 0, "denied is not listed");
    }
    same(&[&phone, &laptop]);
}

#[test]
fn cons_010_a_block_on_one_device_takes_the_conversation_off_the_list_of_the_other() {
    let (phone, laptop) = two(5);
    let bo = phone.world.user("bo");
    let group = bo.dm(&phone);
    bo.text(group, "buy this");
    sync_all(&[&bo, &phone, &laptop]);
    assert_eq!(laptop.conversations().len(), 1);
    phone.decide(group, State::Denied);
    sync_all(&[&phone, &laptop]);
    assert_eq!(laptop.conversations().len(), 0);
    let rows = Dump::of(&laptop.store).rows::<ThreadRow>();
    assert_eq!(rows.iter().map(|row| row.consent).collect::<Vec<_>>(), [State::Denied]);
    // Written before the block was known, offline: the block is the later decision and stays.
    phone.decide(group, State::Allowed);
    sync_all(&[&phone, &laptop]);
    laptop.offline(true);
    laptop.text(group, "written before");
    phone.world.settle(1_000);
    phone.decide(group, State::Denied);
    phone.sync();
    laptop.offline(false);
    sync_all(&[&laptop, &phone]);
    for device in [&phone, &laptop] {
        assert_eq!(device.consent(Entity::Conversation(group)), State::Denied);
    }
    same(&[&phone, &laptop]);
}

#[test]
fn cons_010_a_decision_about_a_conversation_not_here_yet_is_there_when_it_is_joined() {
    let (phone, laptop) = two(6);
    let bo = phone.world.user("bo");
    laptop.delivery.freeze(dovetail::base::Topic::Welcome(laptop.client.installation().0));
    let group = bo.dm(&phone);
    sync_all(&[&bo, &phone]);
    phone.decide(group, State::Denied);
    sync_all(&[&phone, &laptop]);
    assert!(!Dump::of(&laptop.store).groups().contains_key(&group));
    assert_eq!(laptop.record(Entity::Conversation(group)), phone.record(Entity::Conversation(group)));
    let (events, _listening) = told(&laptop);
    laptop.delivery.thaw();
    laptop.sync();
    assert_eq!(laptop.row(group).state, GroupState::Active);
    assert_eq!(laptop.conversations().len(), 0);
    assert_eq!(*events.borrow(), [], "it began as it was decided");
    same(&[&phone, &laptop]);
}

#[test]
fn cons_022_025_defaults_and_what_is_inherited_reset_or_received_is_never_owed() {
    let (phone, laptop) = two(7);
    let bo = phone.world.user("bo");
    // CONS-023: a default.
    phone.group(&[&bo]);
    phone.sync();
    laptop.sync();
    assert_eq!(laptop.owed(), []);
    // DMS-010: inherited.
    let first = bo.dm(&phone);
    sync_all(&[&bo, &phone, &laptop]);
    phone.decide(first, State::Denied);
    sync_all(&[&phone, &laptop]);
    let other_bo = phone.world.user("bo");
    other_bo.offline(true);
    let second = other_bo.dm(&phone);
    other_bo.offline(false);
    sync_all(&[&other_bo, &bo]);
    let settled = |device: &User| {
        device.sync();
        assert_eq!(device.owed(), []);
        device.record(Entity::Conversation(second)).unwrap()
    };
    let inherited = settled(&phone);
    assert_eq!(inherited.consented_at_ns, phone.record(Entity::Conversation(first)).unwrap().consented_at_ns);
    assert_eq!(settled(&laptop), inherited);
    // CONS-025: reset.
    let group = bo.group(&[&phone]);
    sync_all(&[&bo, &phone, &laptop]);
    phone.decide(group, State::Allowed);
    sync_all(&[&phone, &laptop]);
    phone.leave(group).unwrap();
    sync_all(&[&phone, &bo, &laptop]);
    assert_eq!(phone.row(group).state, GroupState::Inactive);
    phone.world.settle(1_000);
    bo.add(group, &[phone.inbox()]).unwrap();
    for device in [&phone, &laptop] {
        device.sync();
        assert_eq!(device.owed(), []);
    }
    let reset = phone.record(Entity::Conversation(group)).unwrap();
    assert!(reset.state == State::Unknown && reset.consented_at_ns > Nanos(0));
    // Each by the time of its own Welcome.
    assert_eq!(laptop.consent(Entity::Conversation(group)), State::Unknown);
}

#[test]
fn offline_decisions_wait_also_while_the_page_is_gone() {
    let (mut phone, laptop) = two(8);
    phone.offline(true);
    phone.set_consent(SOMEBODY, State::Denied);
    phone.world.settle(60_000);
    phone.set_consent(ELSEWHERE, State::Allowed);
    phone.reopen();
    phone.offline(true);
    phone.world.settle(60_000);
    assert!(phone.try_sync().is_err());
    phone.reopen();
    phone.offline(false);
    sync_all(&[&phone, &laptop]);
    assert_eq!(laptop.consent(SOMEBODY), State::Denied);
    assert_eq!(laptop.consent(ELSEWHERE), State::Allowed);
    same(&[&phone, &laptop]);
}

#[test]
fn a_page_that_dies_anywhere_on_the_way_loses_no_decision() {
    let plans: [fn(u64) -> Plan; 5] = [
        Plan::KillBeforeApply,
        Plan::KillAfterApply,
        Plan::KillBeforeCall,
        Plan::KillAfterCall,
        Plan::LoseAnswer,
    ];
    for plan in plans {
        for k in 0..12 {
            let (mut phone, mut laptop) = two(k);
            phone.set_consent(SOMEBODY, State::Denied);
            phone.gate.plan(Some(plan(k)));
            phone.risk(|client| async move { client.sync().await });
            if phone.gate.is_dead() {
                phone.reopen();
            }
            phone.gate.plan(None);
            phone.sync();
            laptop.gate.plan(Some(plan(k)));
            laptop.risk(|client| async move { client.sync().await });
            if laptop.gate.is_dead() {
                laptop.reopen();
            }
            laptop.gate.plan(None);
            sync_all(&[&laptop, &phone]);
            assert_eq!(laptop.record(SOMEBODY), phone.record(SOMEBODY), "{:?}", plan(k));
            assert_eq!(phone.owed(), []);
            assert!(Dump::of(&phone.store).intents().is_empty());
            same(&[&phone, &laptop]);
        }
    }
}

#[test]
fn in_the_background_a_decision_travels_without_a_call() {
    let (phone, laptop) = two(9);
    for device in [&phone, &laptop] {
        device.client.go_live();
    }
    phone.world.settle(1_000);
    let (events, _listening) = told(&laptop);
    phone.set_consent(SOMEBODY, State::Denied);
    phone.world.settle(1_000);
    assert_eq!(*events.borrow(), [(SOMEBODY, State::Denied)]);
    // A third device that registers now is told, too.
    let tablet = phone.world.user("alice");
    tablet.client.go_live();
    phone.world.settle(5_000);
    assert_eq!(tablet.record(SOMEBODY), phone.record(SOMEBODY));
    tablet.set_consent(SOMEBODY, State::Allowed);
    phone.world.settle(1_000);
    for device in [&phone, &laptop] {
        assert_eq!(device.record(SOMEBODY), tablet.record(SOMEBODY));
    }
}
