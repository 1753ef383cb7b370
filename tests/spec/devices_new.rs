//! A device that is new, was away or is lost: what it is told, what is told for it, and which
//! conversations it is brought into.

use std::rc::Rc;

use dovetail::base::{GroupId, InboxId, InstallationId, Set, Topic};
use dovetail::consent::{Entity, State};
use dovetail::mls::{self, FrameKind};
use dovetail::store::rows::{GroupState, IntentRow, IntentState, Operation};
use dovetail::wire::ClientEnvelope;

use crate::common::devices::{agree, records};
use crate::common::dump::Dump;
use crate::common::forge::mls_of;
use crate::common::gate::Refuse;
use crate::common::group::{break_key_package, frames, sync_all, together};
use crate::common::{User, World};
use crate::devices::{ELSEWHERE, SOMEBODY, two};
use crate::devices_group::{revoke, told_in};

#[test]
fn a_new_device_is_told_everything_whoever_adds_it() {
    let (phone, laptop) = two(10);
    let world = phone.world.clone();
    let bo = world.user("bo");
    let group = bo.dm(&phone);
    sync_all(&[&bo, &phone, &laptop]);
    phone.decide(group, State::Denied);
    laptop.set_consent(SOMEBODY, State::Denied);
    sync_all(&[&phone, &laptop]);
    let tablet = world.user("alice");
    // The phone, which made the group, is away.
    laptop.sync();
    tablet.sync();
    let all = [&phone, &laptop, &tablet];
    let dumps = all.map(|device| Dump::of(&device.store));
    agree(&dumps.each_ref(), &Default::default());
    assert_eq!(tablet.consent(Entity::Conversation(group)), State::Denied);
    assert_eq!(tablet.owed(), [], "what it was told is not its own decision");
    let before = told_in(&world, phone.sync_group());
    sync_all(&all);
    assert_eq!(told_in(&world, phone.sync_group()), before, "nothing is told because it was received");
    // Two that add it at once: one of them tells.
    let second = world.user("alice");
    phone.delivery.freeze(Topic::Group(phone.sync_group()));
    phone.sync();
    laptop.sync();
    phone.delivery.thaw();
    sync_all(&[&phone, &laptop, &tablet, &second]);
    assert_eq!(records(&Dump::of(&second.store)), records(&Dump::of(&tablet.store)));
    together(phone.sync_group(), &[&phone, &laptop, &tablet, &second]);
}

#[test]
fn a_decision_encrypted_before_a_device_came_is_told_to_it_all_the_same() {
    let (phone, laptop) = two(11);
    let world = phone.world.clone();
    phone.client.go_live();
    world.settle(1_000);
    // Encrypted, and not out.
    phone.offline(true);
    phone.set_consent(SOMEBODY, State::Denied);
    world.settle(1_000);
    let encrypted = |intent: &IntentRow| {
        matches!(intent.operation, Operation::Tell { .. })
            && matches!(intent.state, IntentState::Published(_))
    };
    assert!(Dump::of(&phone.store).intents().iter().any(encrypted), "the case this is about");
    let tablet = world.user("alice");
    laptop.sync();
    tablet.sync();
    assert_eq!(tablet.consent(SOMEBODY), State::Unknown);
    phone.offline(false);
    phone.sync();
    sync_all(&[&tablet, &laptop]);
    for device in [&laptop, &tablet] {
        assert_eq!(device.record(SOMEBODY), phone.record(SOMEBODY));
    }
    assert!(Dump::of(&phone.store).intents().is_empty());
}

#[test]
fn what_the_service_refuses_is_told_another_time() {
    let (phone, laptop) = two(12);
    let topic = Topic::Group(phone.sync_group());
    let refuse: Refuse = Rc::new(move |outgoing| outgoing.topic == topic);
    *phone.gate.refuse.borrow_mut() = Some(refuse);
    phone.set_consent(SOMEBODY, State::Denied);
    let report = phone.sync();
    assert_eq!(report.failed.iter().map(|(_, error)| error.code).collect::<Vec<_>>(), ["delivery.refused"]);
    *phone.gate.refuse.borrow_mut() = None;
    assert_eq!(phone.sync().failed, []);
    laptop.sync();
    assert_eq!(laptop.record(SOMEBODY), phone.record(SOMEBODY));
}

#[test]
fn what_a_revoked_device_still_had_to_tell_is_told_by_who_removes_it() {
    let (phone, laptop) = two(13);
    let world = phone.world.clone();
    let group = phone.sync_group();
    phone.set_consent(SOMEBODY, State::Denied);
    sync_all(&[&phone, &laptop]);
    let tablet = world.user("alice");
    // The laptop adds the new device and is lost before it tells it anything.
    let count = frames(&world, group, FrameKind::Commit);
    let told: Refuse = Rc::new(move |outgoing| {
        let message = matches!(ClientEnvelope::decode(&outgoing.payload), Ok(ClientEnvelope::GroupMessage { data, .. })
            if mls::peek(&data).is_ok_and(|frame| frame.kind == FrameKind::Application));
        outgoing.topic == Topic::Group(group) && message
    });
    *laptop.gate.refuse.borrow_mut() = Some(told);
    laptop.sync();
    assert_eq!(frames(&world, group, FrameKind::Commit), count + 1);
    tablet.sync();
    assert_eq!(tablet.record(SOMEBODY), None);
    revoke(&phone, &laptop);
    sync_all(&[&phone, &tablet]);
    assert_eq!(tablet.record(SOMEBODY), phone.record(SOMEBODY));
    assert_eq!(phone.row(group).members[0].installations.len(), 2);
    // And the lost one is told nothing any more.
    phone.set_consent(ELSEWHERE, State::Denied);
    sync_all(&[&phone, &tablet, &laptop]);
    assert_eq!((tablet.consent(ELSEWHERE), laptop.consent(ELSEWHERE)), (State::Denied, State::Unknown));
    assert_eq!(laptop.row(group).state, GroupState::Inactive);
}

/// The epochs of the messages in a group's topic.
fn told_at(world: &World, group: GroupId) -> Vec<u64> {
    let stored = world.delivery.stored(Topic::Group(group));
    let frames = stored.iter().map(|one| mls::peek(&mls_of(&one.payload)).expect("a frame"));
    frames.filter(|frame| frame.kind == FrameKind::Application).map(|frame| frame.epoch).collect()
}

#[test]
fn sync_010_what_waits_for_the_own_devices_does_not_reach_one_that_was_revoked_meanwhile() {
    for removed in [false, true] {
        let (phone, laptop) = two(18);
        let world = phone.world.clone();
        let tablet = world.user("alice");
        sync_all(&[&phone, &laptop, &tablet]);
        let group = phone.sync_group();
        // Stored and encrypted for the laptop too, and not handed out.
        phone.offline(true);
        phone.client.go_live();
        phone.set_consent(SOMEBODY, State::Denied);
        world.settle(1_000);
        let encrypted = |intent: &IntentRow| matches!(intent.state, IntentState::Published(_));
        assert!(Dump::of(&phone.store).intents().iter().any(encrypted), "the case this is about");
        let (before, commits) = (told_at(&world, group).len(), frames(&world, group, FrameKind::Commit));
        revoke(&tablet, &laptop);
        if removed {
            tablet.sync();
        }
        assert_eq!(frames(&world, group, FrameKind::Commit), commits + usize::from(removed));
        phone.offline(false);
        phone.sync();
        assert!(!leaves(&phone, group).contains(&laptop.client.installation()));
        let epoch = phone.row(group).epoch;
        let told = told_at(&world, group).split_off(before);
        assert!(!told.is_empty() && told.iter().all(|at| *at == epoch), "told at {told:?}, now {epoch}");
        sync_all(&[&laptop, &tablet]);
        assert_eq!((laptop.record(SOMEBODY), tablet.record(SOMEBODY)), (None, phone.record(SOMEBODY)));
        assert!(Dump::of(&phone.store).intents().is_empty());
    }
}

#[test]
fn sync_010_what_waits_for_the_own_devices_waits_until_the_revoked_one_can_be_removed() {
    let (phone, laptop) = two(19);
    let world = phone.world.clone();
    let tablet = world.user("alice");
    sync_all(&[&phone, &laptop, &tablet]);
    let group = phone.sync_group();
    phone.offline(true);
    phone.set_consent(SOMEBODY, State::Denied);
    world.settle(1_000);
    revoke(&tablet, &laptop);
    let before = told_at(&world, group).len();
    // The service takes no commit.
    let commits: Refuse = Rc::new(move |outgoing| {
        let ClientEnvelope::GroupMessage { data, .. } = ClientEnvelope::decode(&outgoing.payload).unwrap()
        else {
            return false;
        };
        outgoing.topic == Topic::Group(group)
            && mls::peek(&data).is_ok_and(|frame| frame.kind == FrameKind::Commit)
    });
    *phone.gate.refuse.borrow_mut() = Some(commits);
    phone.offline(false);
    phone.sync();
    assert_eq!(told_at(&world, group).len(), before, "nothing is told to the revoked device");
    *phone.gate.refuse.borrow_mut() = None;
    sync_all(&[&phone, &laptop, &tablet]);
    assert_eq!((laptop.record(SOMEBODY), tablet.record(SOMEBODY)), (None, phone.record(SOMEBODY)));
}

fn leaves(user: &User, group: GroupId) -> Set<InstallationId> {
    user.row(group).members.into_iter().flat_map(|member| member.installations).collect()
}

#[test]
fn gmod_029_new_devices_come_into_conversations_of_late_that_are_not_denied() {
    let world = World::new(14);
    let (phone, bo, carol) = (world.user("alice"), world.user("bo"), world.user("carol"));
    let [denied, old, open, unknown] = [&bo, &carol, &bo, &carol].map(|peer| phone.group(&[peer]));
    phone.text(old, "long ago");
    phone.sync();
    let day = 24 * 3_600_000;
    world.settle(91 * day);
    // Their key packages have expired.
    sync_all(&[&phone, &bo]);
    let unknown_from = bo.group(&[&phone]);
    for group in [denied, open, unknown] {
        phone.text(group, "of late");
    }
    phone.sync();
    phone.decide(denied, State::Denied);
    let laptop = world.user("alice");
    let device = laptop.client.installation();
    let has = |group: GroupId| leaves(&phone, group).contains(&device);
    // Nobody else is there to bring it in.
    sync_all(&[&phone, &laptop]);
    let groups = [denied, old, open, unknown, unknown_from];
    assert_eq!(groups.map(has), [false, false, true, true, true]);
    assert!(Dump::of(&laptop.store).groups().contains_key(&open));
    // Allowed, or written in, it comes with the next look.
    phone.decide(denied, State::Allowed);
    phone.text(old, "again");
    sync_all(&[&phone, &laptop]);
    assert_eq!([denied, old].map(has), [true, true]);
    sync_all(&[&laptop, &phone]);
    together(old, &[&phone, &laptop]);
}

#[test]
fn gmod_029_a_revoked_device_is_removed_from_old_and_denied_conversations_too() {
    let world = World::new(15);
    let (phone, laptop, bo) = (world.user("alice"), world.user("alice"), world.user("bo"));
    let (denied, old) = (phone.group(&[&bo]), phone.group(&[&bo]));
    sync_all(&[&phone, &laptop]);
    world.settle(91 * 24 * 3_600_000);
    phone.decide(denied, State::Denied);
    revoke(&phone, &laptop);
    phone.sync();
    for group in [denied, old, phone.sync_group()] {
        assert!(!leaves(&phone, group).contains(&laptop.client.installation()));
    }
}

#[test]
fn who_could_not_be_added_then_is_told_everything_in_its_own_sync_group() {
    let world = World::new(17);
    let (phone, laptop) = (world.user("alice"), world.user("alice"));
    break_key_package(&laptop);
    phone.set_consent(SOMEBODY, State::Denied);
    phone.sync();
    phone.set_consent(ELSEWHERE, State::Denied);
    phone.sync();
    assert_eq!((phone.owed(), leaves(&phone, phone.sync_group()).len()), (vec![], 1));
    // It comes back with a key package that can be used, and something to tell.
    world.settle(31 * 24 * 3_600_000);
    laptop.sync();
    laptop.set_consent(Entity::Inbox(InboxId([2; 32])), State::Allowed);
    sync_all(&[&laptop, &phone]);
    assert_eq!(phone.sync_groups().len(), 2);
    assert_eq!(records(&Dump::of(&laptop.store)), records(&Dump::of(&phone.store)));
    assert_eq!(records(&Dump::of(&laptop.store)).len(), 3);
}
