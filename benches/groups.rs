//! A group of 250 inboxes: what one call costs, beside OpenMLS alone doing the same to a group of
//! the same size in memory: the same tree, the same dictionary, and no store, rules, identity or
//! delivery.
//!
//! OpenMLS alone trusts whoever a leaf names. What no client can leave out is to verify once the
//! identity log of each member it meets for the first time; the second pair of columns adds just
//! that to the floor, and nothing else.
//!
//! Every round has a world of its own, so that nobody knows anybody yet; the figures are medians.
//! Prints and judges nothing: `cargo bench --bench groups`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::forge::Forger;
use common::{User, World};
use dovetail::base::{GroupId, InboxId, SequenceId, Topic};
use dovetail::client::NewGroup;
use dovetail::identity::Log;
use dovetail::members::{Entry, Members};
use dovetail::meta::component::GROUP_MEMBERSHIP;
use dovetail::meta::{FIRST_FLOOR, NewConversation, Settings, encode_map_delta};
use dovetail::mls::facts::{AppDataOp, RawDictionary};
use dovetail::mls::{self, CommitPlan, Group, InstallationKeys, Opened, Scratch};
use dovetail::policy::{self, ALL_MEMBERS};
use dovetail::wire::ClientEnvelope;

const INBOXES: usize = 250;
const ROUNDS: usize = 5;
/// Of the short calls, so many in a round.
const REPEATS: usize = 4;

/// What is measured, in this order.
const NAMES: [&str; 7] =
    ["create, all Welcomes out", "join", "add one", "follow that commit", "send", "receive", "remove one"];

/// A time for each of [`NAMES`].
type Figures = [Duration; 7];

fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let value = run();
    (begun.elapsed(), value)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The same call a few times.
fn each(mut run: impl FnMut()) -> Duration {
    median((0..REPEATS).map(|_| timed(&mut run).0).collect())
}

/// OpenMLS with a group in memory, and the members its dictionary names.
struct Raw {
    scratch: Scratch,
    keys: InstallationKeys,
    members: Members,
}

impl Raw {
    fn dictionary(&self, own: InboxId) -> RawDictionary {
        let new = NewConversation {
            creator: own,
            creator_entry: &Entry::default().encode(),
            floor: FIRST_FLOOR,
            settings: &Settings::default(),
            commit_log_signer: None,
        };
        policy::new_group(&new, ALL_MEMBERS).expect("a dictionary")
    }

    /// A commit that brings the dictionary's members to `after`, applied at once.
    fn commit(&mut self, group: &mut Group, plan: CommitPlan, after: Members) -> mls::SealedCommit {
        let delta = encode_map_delta(&self.members.mutations(&after));
        let mut dictionary_after = group.facts().dictionary;
        dictionary_after.insert(GROUP_MEMBERSHIP, after.encode());
        self.members = after;
        let app_data = vec![(GROUP_MEMBERSHIP, AppDataOp::Update(delta))];
        let plan = CommitPlan { dictionary_after, app_data, force_self_update: true, ..plan };
        let sealed = mls::commit(&self.scratch, group, &self.keys, plan).expect("a commit");
        mls::merge_pending(&self.scratch, group).expect("merged");
        sealed
    }
}

/// OpenMLS alone.
fn floor(members: &[User], joiner: &Forger, extra: &User) -> Figures {
    let packages: Vec<Vec<u8>> =
        members.iter().map(|user| joiner.key_package(user.client.installation())).collect();
    let extra_package = joiner.key_package(extra.client.installation());
    let own = InboxId([1; 32]);
    let entry = Entry { sequence_id: SequenceId(1), ..Entry::default() };
    let alone = Members([(own, Entry::default())].into());
    let mut all = Members([(own, entry.clone())].into());
    all.0.extend(members.iter().map(|user| (user.inbox(), entry.clone())));
    let mut with_extra = all.clone();
    with_extra.0.insert(extra.inbox(), entry);

    let keys = InstallationKeys::from_seed([9; 32]);
    let mut raw = Raw { scratch: Scratch::new(), keys, members: alone };
    let (create, (mut group, welcome)) = timed(|| {
        let dictionary = raw.dictionary(own);
        let created = mls::create(&raw.scratch, &raw.keys, own, GroupId([5; 16]), &dictionary);
        let mut group = created.expect("a group");
        let adds = packages.iter().cloned().map(Into::into).collect();
        let sealed = raw.commit(&mut group, CommitPlan { adds, ..CommitPlan::default() }, all.clone());
        (group, sealed.welcome.expect("a Welcome"))
    });
    let (join, mut theirs) = timed(|| {
        let pending = mls::inspect(&joiner.scratch, &welcome, 7).expect("a join");
        pending.join(&joiner.scratch, false).expect("joined")
    });
    let (mut add, mut follow, mut remove) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let plan = CommitPlan { adds: vec![extra_package.clone().into()], ..CommitPlan::default() };
        let (took, added) = timed(|| raw.commit(&mut group, plan, with_extra.clone()));
        add.push(took);
        follow.push(timed(|| follow_commit(joiner, &mut theirs, &added.bytes, &raw.members)).0);
        let last = group.facts().leaves.last().expect("leaves").index;
        let plan = CommitPlan { removes: vec![last], ..CommitPlan::default() };
        let (took, removed) = timed(|| raw.commit(&mut group, plan, all.clone()));
        remove.push(took);
        follow_commit(joiner, &mut theirs, &removed.bytes, &raw.members);
    }
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let (took, message) =
            timed(|| mls::message(&raw.scratch, &mut group, &raw.keys, b"hello").expect("a message"));
        sends.push(took);
        receives.push(timed(|| mls::open(&joiner.scratch, &mut theirs, &message).expect("opens")).0);
    }
    [create, join, median(add), median(follow), median(sends), median(receives), median(remove)]
}

fn follow_commit(joiner: &Forger, theirs: &mut Group, bytes: &[u8], members: &Members) {
    let opened = mls::open(&joiner.scratch, theirs, bytes).expect("opens");
    let Opened::Commit(opened) = opened else { panic!("a commit") };
    let mut after = theirs.facts().dictionary;
    after.insert(GROUP_MEMBERSHIP, members.encode());
    let staged = mls::stage(&joiner.scratch, theirs, opened, &after).expect("stages");
    mls::merge(&joiner.scratch, theirs, staged).expect("merges");
}

/// The client, over a store and a service in memory.
#[inline(never)]
fn phase_create(alice: &User, members: &[User]) -> GroupId {
    let all: Vec<InboxId> = members.iter().map(User::inbox).collect();
    let new = NewGroup { members: all, policies: ALL_MEMBERS.to_vec(), ..NewGroup::default() };
    let group = alice.call(|client| async move { client.create_group(new).await }).expect("a group");
    alice.sync();
    group
}

#[inline(never)]
fn phase_join(joiner: &User) {
    std::hint::black_box(1);
    joiner.sync();
}

#[inline(never)]
fn phase_follow(joiner: &User) {
    std::hint::black_box(2);
    joiner.sync();
}

#[inline(never)]
fn phase_add(alice: &User, group: GroupId, extra: &User) {
    alice.add(group, &[extra.inbox()]).expect("added");
}

#[inline(never)]
fn phase_remove(alice: &User, group: GroupId, extra: &User) {
    alice.remove(group, &[extra.inbox()]).expect("removed");
}

#[inline(never)]
fn phase_send(alice: &User, group: GroupId) {
    alice.text(group, "hello");
    alice.world.settle(100);
}

#[inline(never)]
fn phase_receive(joiner: &User) {
    std::hint::black_box(3);
    joiner.sync();
}

fn client(alice: &User, members: &[User], extra: &User) -> Figures {
    let joiner = &members[0];
    let (create, group) = timed(|| phase_create(alice, members));
    assert_eq!(alice.members(group).len(), INBOXES - 1);
    let (join, ()) = timed(|| phase_join(joiner));
    assert_eq!(joiner.members(group).len(), INBOXES - 1);
    let (mut add, mut follow, mut remove) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        add.push(timed(|| phase_add(alice, group, extra)).0);
        follow.push(timed(|| phase_follow(joiner)).0);
        remove.push(timed(|| phase_remove(alice, group, extra)).0);
        joiner.sync();
    }
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        sends.push(timed(|| phase_send(alice, group)).0);
        receives.push(timed(|| phase_receive(joiner)).0);
    }
    assert_eq!(joiner.texts(group).len(), REPEATS);
    [create, join, median(add), median(follow), median(sends), median(receives), median(remove)]
}

/// One verification of the identity log of each of these inboxes.
fn identity(world: &World, inboxes: &[InboxId]) -> Duration {
    let logs: Vec<_> = inboxes
        .iter()
        .map(|inbox| {
            let update = |one: dovetail::delivery::Incoming| match ClientEnvelope::decode(&one.payload) {
                Ok(ClientEnvelope::IdentityUpdate(update)) => (one.sequence_id, update),
                _ => panic!("an identity update"),
            };
            let stored = world.delivery.stored(Topic::Identity(*inbox));
            (*inbox, stored.into_iter().map(update).collect::<Vec<_>>())
        })
        .collect();
    let verify = || {
        for (inbox, updates) in &logs {
            let log = Log::replay(*inbox, updates.iter().map(|(at, bytes)| (*at, bytes))).expect("a log");
            assert!(matches!(log.latest(), Ok(Some(_))));
        }
    };
    each(verify)
}

fn largest_request(world: &World, members: &[User]) -> usize {
    let size = |topic| world.delivery.stored(topic).iter().map(|one| one.payload.len()).max().unwrap_or(0);
    let topics = world.delivery.topics();
    let _ = members;
    topics.into_iter().map(|(topic, _)| size(topic)).max().unwrap_or(0)
}

fn main() {
    // `cargo test` runs every target once; the figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let (mut ours, mut raw, mut logs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let world = World::new(round as u64 + 1);
        let alice = world.user("alice");
        let members: Vec<User> = (0..INBOXES - 2).map(|n| world.user(&format!("member{n}"))).collect();
        let extra = world.user("extra");
        raw.push(floor(&members, &Forger::of(&members[0]), &extra));
        let all: Vec<InboxId> = members.iter().map(User::inbox).collect();
        let (many, one) = (identity(&world, &all), identity(&world, &[extra.inbox()]));
        logs.push([many, many, one, one, Duration::ZERO, Duration::ZERO, Duration::ZERO]);
        ours.push(client(&alice, &members, &extra));
        if round == 0 {
            println!("greatest envelope: {} bytes", largest_request(&world, &members));
        }
    }
    let median_of = |all: &[Figures], at: usize| median(all.iter().map(|one| one[at]).collect());
    println!(
        "{:<26}{:>12}{:>12}{:>8}{:>22}{:>8}",
        "250 inboxes", "dovetail", "OpenMLS", "ratio", "with identity logs", "ratio"
    );
    for (at, name) in NAMES.iter().enumerate() {
        let (mine, floor, logs) = (median_of(&ours, at), median_of(&raw, at), median_of(&logs, at));
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let ratio = |floor: Duration| mine.as_secs_f64() / floor.as_secs_f64();
        println!(
            "{name:<26}{:>9.2} ms{:>9.2} ms{:>7.2}x{:>19.2} ms{:>7.2}x",
            ms(mine),
            ms(floor),
            ratio(floor),
            ms(floor + logs),
            ratio(floor + logs)
        );
    }
}
