//! A group of 250 inboxes: what one call costs, beside OpenMLS alone doing the same to a group of
//! the same size in memory (no store, no rules, no identity, no delivery).
//!
//! Prints figures and judges nothing: `cargo bench --bench groups`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::rc::Rc;
use std::time::{Duration, Instant};

use common::forge::Forger;
use common::{User, World};
use dovetail::base::{GroupId, InboxId, Nanos, Topic};
use dovetail::client::NewGroup;
use dovetail::members::Entry;
use dovetail::meta::{FIRST_FLOOR, NewConversation, Settings};
use dovetail::mls::{self, CommitPlan, Group, InstallationKeys, Opened, Scratch};
use dovetail::policy::{self, ALL_MEMBERS};

const INBOXES: usize = 250;

fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let value = run();
    (begun.elapsed(), value)
}

struct Figures {
    create: Duration,
    join: Duration,
    add: Duration,
    remove: Duration,
    follow: Duration,
    send: Duration,
    receive: Duration,
}

/// OpenMLS alone.
fn floor(packages: &[Vec<u8>], joiner: &Forger, extra: Vec<u8>) -> Figures {
    let keys = InstallationKeys::from_seed([9; 32]);
    let (own, id, scratch) = (InboxId([1; 32]), GroupId([5; 16]), Scratch::new());
    let new = NewConversation {
        creator: own,
        creator_entry: &Entry::default().encode(),
        floor: FIRST_FLOOR,
        settings: &Settings::default(),
        commit_log_signer: None,
    };
    let dictionary = policy::new_group(&new, ALL_MEMBERS).expect("a dictionary");
    let commit = |group: &mut Group, adds: Vec<Vec<u8>>, removes: Vec<u32>| {
        let dictionary_after = group.facts().dictionary;
        let plan =
            CommitPlan { adds, removes, dictionary_after, force_self_update: true, ..Default::default() };
        let sealed = mls::commit(&scratch, group, &keys, plan).expect("a commit");
        mls::merge_pending(&scratch, group).expect("merged");
        sealed
    };
    let (create, (mut group, first)) = timed(|| {
        let mut group = mls::create(&scratch, &keys, own, id, &dictionary).expect("a group");
        let sealed = commit(&mut group, packages.to_vec(), Vec::new());
        (group, sealed)
    });
    let welcome = first.welcome.expect("a Welcome");
    println!("  commit {} kB, Welcome {} kB", first.bytes.len() / 1024, welcome.len() / 1024);
    let (join, mut theirs) = timed(|| {
        let pending = mls::inspect(&joiner.scratch, &welcome, 7).expect("a join");
        pending.join(&joiner.scratch, false).expect("joined")
    });
    let (add, added) = timed(|| commit(&mut group, vec![extra], Vec::new()));
    let (follow, ()) = timed(|| {
        let opened = mls::open(&joiner.scratch, &mut theirs, &added.bytes).expect("opens");
        let Opened::Commit(opened) = opened else { panic!("a commit") };
        let after = theirs.facts().dictionary;
        let staged = mls::stage(&joiner.scratch, &theirs, opened, &after).expect("stages");
        mls::merge(&joiner.scratch, &mut theirs, staged).expect("merges");
    });
    let last = group.facts().leaves.last().expect("leaves").index;
    let (send, message) = timed(|| mls::message(&scratch, &mut group, &keys, b"hello").expect("a message"));
    let (receive, _) = timed(|| mls::open(&joiner.scratch, &mut theirs, &message).expect("opens"));
    let (remove, _) = timed(|| commit(&mut group, Vec::new(), vec![last]));
    Figures { create, join, add, remove, follow, send, receive }
}

/// The client, over a store and a service in memory.
fn client(alice: &User, members: &[User], extra: &User) -> Figures {
    let joiner = &members[0];
    let all: Vec<InboxId> = members.iter().map(User::inbox).collect();
    let new = NewGroup { members: all, policies: ALL_MEMBERS.to_vec(), ..NewGroup::default() };
    let (create, group) = timed(|| {
        let group = alice.call(|client| async move { client.create_group(new).await }).expect("a group");
        alice.sync();
        group
    });
    assert_eq!(alice.members(group).len(), INBOXES - 1);
    let (join, _) = timed(|| joiner.sync());
    assert_eq!(joiner.members(group).len(), INBOXES - 1);
    let (add, _) = timed(|| alice.add(group, &[extra.inbox()]).expect("added"));
    let (follow, _) = timed(|| joiner.sync());
    let (send, _) = timed(|| {
        alice.text(group, "hello");
        alice.world.settle(100);
    });
    let (receive, _) = timed(|| joiner.sync());
    assert_eq!(joiner.texts(group), ["hello"]);
    let (remove, _) = timed(|| alice.remove(group, &[extra.inbox()]).expect("removed"));
    Figures { create, join, add, remove, follow, send, receive }
}

fn largest_request(world: &World, members: &[User]) -> usize {
    let size = |topic| world.delivery.stored(topic).iter().map(|one| one.payload.len()).max().unwrap_or(0);
    members.iter().map(|user| size(Topic::Welcome(user.client.installation().0))).max().unwrap_or(0)
}

fn main() {
    // `cargo test` runs every target once; the figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let world = World::new(1);
    println!("registering {INBOXES} inboxes");
    let alice = world.user("alice");
    let members: Vec<User> = (0..INBOXES - 2).map(|n| world.user(&format!("member{n}"))).collect();
    let extra = world.user("extra");
    let packages: Vec<Vec<u8>> =
        members.iter().map(|user| Forger::of(&alice).key_package(user.client.installation())).collect();
    let extra_package = Forger::of(&alice).key_package(extra.client.installation());
    let _ = Nanos(0);

    println!("OpenMLS alone:");
    let raw = floor(&packages, &Forger::of(&members[0]), extra_package);
    let whole = client(&alice, &members, &extra);
    println!("  greatest envelope in a Welcome topic: {} bytes", largest_request(&world, &members));
    println!("{:<28}{:>12}{:>12}{:>8}", "250 inboxes", "dovetail", "OpenMLS", "ratio");
    for (name, ours, floor) in [
        ("create, all Welcomes out", whole.create, raw.create),
        ("join", whole.join, raw.join),
        ("add one", whole.add, raw.add),
        ("follow that commit", whole.follow, raw.follow),
        ("send", whole.send, raw.send),
        ("receive", whole.receive, raw.receive),
        ("remove one", whole.remove, raw.remove),
    ] {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let ratio = ours.as_secs_f64() / floor.as_secs_f64();
        println!("{name:<28}{:>9.1} ms{:>9.1} ms{ratio:>7.1}x", ms(ours), ms(floor));
    }
    let _: &Rc<World> = &world;
}
