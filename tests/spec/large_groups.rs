//! Groups whose commits and Welcomes come near the 1 MiB of an envelope: split where that helps, refused
//! before anything leaves where nothing does.

use dovetail::base::{GroupId, InboxId, Topic};
use dovetail::delivery::memory::Limits;
use dovetail::store::rows::LeftOut;

use crate::common::forge::Forger;
use crate::common::group::{break_key_package, code, commits, sync_all, together};
use crate::common::{User, World};

const MIB: usize = 1 << 20;

/// A service that takes no more than an envelope may have, in a whole request.
fn world(seed: u64) -> std::rc::Rc<World> {
    let world = World::new(seed);
    world.delivery.limit(Limits { envelope: MIB, batch: MIB });
    world
}

/// Users whose leaves, and the rest of whose key packages, are so much larger.
fn many(world: &std::rc::Rc<World>, count: usize, (leaf, rest): (usize, usize)) -> Vec<User> {
    let fat = |at| {
        let user = world.user(&format!("fat {at}"));
        Forger::of(&user).fatten(leaf, rest);
        user
    };
    (0..count).map(fat).collect()
}

fn inboxes(users: &[User]) -> Vec<InboxId> {
    users.iter().map(User::inbox).collect()
}

/// The sizes of the commits of a group.
fn sizes(world: &World, group: GroupId) -> Vec<usize> {
    world.delivery.stored(Topic::Group(group)).iter().map(|one| one.payload.len()).collect()
}

fn invited(user: &User) -> bool {
    let topic = Topic::Welcome(user.client.installation().0);
    !user.world.delivery.stored(topic).is_empty()
}

#[test]
fn gmod_018_an_add_too_large_for_one_commit_is_split_and_everybody_gets_a_welcome() {
    let world = world(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let mut fat = many(&world, 20, (0, 100 << 10));
    fat.sort_by_key(User::inbox);
    // None of those that come first can be added: that is not the end of it.
    let (lost, fine) = fat.split_at(8);
    lost.iter().for_each(break_key_package);
    let before = sizes(&world, group).len();
    let left_out = alice.add(group, &inboxes(&fat)).unwrap();
    assert_eq!(left_out, LeftOut { inboxes: inboxes(lost), ..LeftOut::default() });
    let added = sizes(&world, group).split_off(before);
    assert!(added.len() >= 2 && added.iter().all(|size| *size <= 769 << 10), "{added:?}");
    assert!(fine.iter().all(invited) && !lost.iter().any(invited));
    assert_eq!(alice.members(group).len(), 2 + fine.len());
    assert_eq!(alice.gate.refused.get(), 0, "nothing was refused on the way");
    alice.text(group, "hello");
    sync_all(&[&alice, &bo]);
    assert_eq!(bo.texts(group), ["hello"]);
    together(group, &[&alice, &bo]);
}

#[test]
fn gmod_018_a_welcome_near_the_limit_of_an_envelope_arrives() {
    let world = world(2);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo]);
    let mut fat = many(&world, 10, (108 << 10, 0));
    let one_more = fat.pop().unwrap();
    alice.add(group, &inboxes(&fat)).unwrap();
    // A tree that no splitting makes smaller leaves in one part.
    assert_eq!(commits(&world, group), 2);
    // Each later Welcome has it too.
    alice.add(group, &[cy.inbox()]).unwrap();
    sync_all(&[&cy, &bo]);
    alice.text(group, "hello");
    sync_all(&[&alice, &bo, &cy]);
    assert_eq!(cy.texts(group), ["hello"]);
    together(group, &[&alice, &bo, &cy]);
    assert_eq!(alice.gate.refused.get(), 0);
    let topic = Topic::Welcome(cy.client.installation().0);
    let welcome = world.delivery.stored(topic)[0].payload.len();
    assert!((972 << 10..MIB).contains(&welcome), "{welcome}");
    assert_eq!(code(alice.add(group, &[one_more.inbox()])), "group.limit");
}

#[test]
fn gmod_018_an_add_whose_last_welcome_would_be_too_large_leaves_nothing() {
    let world = world(3);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    // Half of them would fit.
    let fat = many(&world, 10, (108 << 10, 20 << 10));
    let (topic, handed) = (sizes(&world, group), alice.gate.handed.borrow().len());
    let error = alice.add(group, &inboxes(&fat)).unwrap_err();
    assert_eq!(error.code, "group.limit");
    assert!(error.message.contains("add fewer inboxes"), "{error}");
    assert_eq!(sizes(&world, group), topic, "no part of it was published");
    assert_eq!(alice.gate.handed.borrow().len(), handed, "nor anything else");
    assert_eq!(alice.inspect(group).groups[0].pending_intents, 0);
    // The group is as it was, and takes what fits.
    alice.add(group, &inboxes(&fat[..2])).unwrap();
    alice.text(group, "hello");
    sync_all(&[&alice, &bo]);
    assert_eq!(bo.texts(group), ["hello"]);
    together(group, &[&alice, &bo]);
}

#[test]
fn gmod_029_devices_too_many_for_one_commit_are_brought_in_one_part_after_the_other() {
    let world = world(4);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let first: Vec<User> = (0..12).map(|at| world.user(&format!("fat {at}"))).collect();
    let group = alice.group(&first.iter().chain([&bo]).collect::<Vec<_>>());
    let second = many(&world, 12, (0, 100 << 10));
    let before = sizes(&world, group).len();
    alice.sync();
    alice.sync();
    let added = sizes(&world, group).split_off(before);
    assert!(added.len() >= 2 && added.iter().all(|size| *size <= 769 << 10), "{added:?}");
    assert!(second.iter().all(invited));
    let devices = |member: &dovetail::store::rows::MemberView| member.installations.len();
    assert_eq!(alice.row(group).members.iter().map(devices).sum::<usize>(), 2 + 24);
    bo.sync();
    together(group, &[&alice, &bo]);
}
