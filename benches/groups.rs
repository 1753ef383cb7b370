//! A group of 250 inboxes: what one call costs, beside OpenMLS alone doing the same to a group of
//! the same size in memory: the same tree, the same dictionary, and no store, rules, identity or
//! delivery.
//!
//! OpenMLS alone trusts whoever a leaf names. What no client can leave out is to verify once the
//! identity log of each member it meets for the first time; the second pair of columns adds just
//! that to the floor, and nothing else.
//!
//! Every round has a world of its own, so that nobody knows anybody yet, and adds somebody new each
//! time. The figures are medians of the processor's time, where the system tells it, so that other
//! work on the machine counts little. Prints and judges nothing: `cargo bench --bench groups`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::rc::Rc;
use std::time::{Duration, Instant};

use common::forge::Forger;
use common::{User, World, crowd, secret_of};
use dovetail::base::{GroupId, InboxId, SequenceId, Topic};
use dovetail::client::NewGroup;
use dovetail::delivery::Incoming;
use dovetail::delivery::memory::Limits;
use dovetail::identity::{Log, MAX_INSTALLATIONS};
use dovetail::members::{Entry, Members};
use dovetail::meta::component::GROUP_MEMBERSHIP;
use dovetail::meta::{FIRST_FLOOR, NewConversation, Settings, encode_map_delta};
use dovetail::mls::facts::{AppDataOp, RawDictionary};
use dovetail::mls::{self, CommitPlan, Group, InstallationKeys, Opened, Scratch};
use dovetail::policy::{self, ALL_MEMBERS};
use dovetail::wire::ClientEnvelope;

const INBOXES: usize = 250;
const ROUNDS: usize = 5;
/// Commits of a kind in a round.
const COMMITS: usize = 3;
/// Messages in a round.
const MESSAGES: usize = 60;

/// What is measured, in this order.
const NAMES: [&str; 8] = [
    "create, all Welcomes out",
    "join",
    "add one",
    "follow that commit",
    "remove one",
    "follow that commit",
    "send",
    "receive",
];

/// A time for each of [`NAMES`].
type Figures = [Duration; 8];

/// The processor's time of this thread; the clock's where the system does not tell.
fn now(begun: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let told = told.and_then(|text| text.split(' ').next()?.parse().ok());
    told.map_or_else(|| begun.elapsed(), Duration::from_nanos)
}

fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let before = now(begun);
    let value = run();
    (now(begun).saturating_sub(before), value)
}

/// The same short call many times.
fn each(times: usize, mut run: impl FnMut()) -> Duration {
    timed(|| (0..times).for_each(|_| run())).0 / times as u32
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// OpenMLS with groups in memory, and the members the dictionary names.
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
        let mut dictionary_after = group.dictionary();
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
fn floor(members: &[User], joiner: &Forger, extras: &[User]) -> Figures {
    let package = |user: &User| joiner.key_package(user.client.installation());
    let packages: Vec<Vec<u8>> = members.iter().map(package).collect();
    let extra_packages: Vec<Vec<u8>> = extras.iter().map(package).collect();
    let own = InboxId([1; 32]);
    let entry = Entry { sequence_id: SequenceId(1), ..Entry::default() };
    let alone = Members([(own, Entry::default())].into());
    let mut all = Members([(own, entry.clone())].into());
    all.0.extend(members.iter().map(|user| (user.inbox(), entry.clone())));

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
    let (mut add, mut follow, mut remove, mut follow_on) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (extra, package) in extras.iter().zip(extra_packages) {
        let mut with_extra = all.clone();
        with_extra.0.insert(extra.inbox(), entry.clone());
        let (took, added) = timed(|| {
            let plan = CommitPlan { adds: vec![package.into()], ..CommitPlan::default() };
            raw.commit(&mut group, plan, with_extra)
        });
        add.push(took);
        follow.push(timed(|| follow_commit(joiner, &mut theirs, &added.bytes, &raw.members)).0);
        let last = group.facts().leaves.last().expect("leaves").index;
        let plan = CommitPlan { removes: vec![last], ..CommitPlan::default() };
        let (took, removed) = timed(|| raw.commit(&mut group, plan, all.clone()));
        remove.push(took);
        follow_on.push(timed(|| follow_commit(joiner, &mut theirs, &removed.bytes, &raw.members)).0);
    }
    let mut messages = Vec::new();
    let send = each(MESSAGES, || {
        messages.push(mls::message(&raw.scratch, &mut group, &raw.keys, b"hello").expect("a message"));
    });
    let mut sent = messages.iter();
    let receive = each(MESSAGES, || {
        let message = sent.next().expect("a message");
        mls::open(&joiner.scratch, &mut theirs, message).expect("opens");
    });
    [create, join, median(add), median(follow), median(remove), median(follow_on), send, receive]
}

fn follow_commit(joiner: &Forger, theirs: &mut Group, bytes: &[u8], members: &Members) {
    let opened = mls::open(&joiner.scratch, theirs, bytes).expect("opens");
    let Opened::Commit(opened) = opened else { panic!("a commit") };
    let mut after = theirs.dictionary();
    after.insert(GROUP_MEMBERSHIP, members.encode());
    let staged = mls::stage(&joiner.scratch, theirs, opened, &after).expect("stages");
    mls::merge(&joiner.scratch, theirs, staged).expect("merges");
}

/// Reads one conversation, as whoever is woken by news of it does.
fn read(user: &User, group: GroupId) {
    let report = user.call(move |client| async move { client.sync_conversation(group).await });
    assert_eq!(report.expect("read").failed, []);
}

/// The client, over a store and a service in memory.
fn client(alice: &User, members: &[User], extras: &[User]) -> Figures {
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
    let (mut add, mut follow, mut remove, mut follow_on) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for extra in extras {
        add.push(timed(|| alice.add(group, &[extra.inbox()]).expect("added")).0);
        follow.push(timed(|| read(joiner, group)).0);
        assert_eq!(joiner.members(group).len(), INBOXES);
        remove.push(timed(|| alice.remove(group, &[extra.inbox()]).expect("removed")).0);
        follow_on.push(timed(|| read(joiner, group)).0);
    }
    let send = each(MESSAGES, || {
        alice.text(group, "hello");
        alice.world.settle(100);
    });
    // One at a time, though all are there.
    *joiner.gate.twist.borrow_mut() = Some(Rc::new(|_, mut answer: Vec<Incoming>| {
        answer.truncate(1);
        Ok(answer)
    }));
    let receive = each(MESSAGES, || read(joiner, group));
    *joiner.gate.twist.borrow_mut() = None;
    assert_eq!(joiner.texts(group).len(), MESSAGES);
    [create, join, median(add), median(follow), median(remove), median(follow_on), send, receive]
}

/// One verification of the identity log of each of these inboxes.
fn identity(world: &World, inboxes: &[InboxId]) -> Duration {
    let update = |one: Incoming| match ClientEnvelope::decode(&one.payload) {
        Ok(ClientEnvelope::IdentityUpdate(update)) => (one.sequence_id, update),
        _ => panic!("an identity update"),
    };
    let log = |inbox: &InboxId| {
        let stored = world.delivery.stored(Topic::Identity(*inbox));
        (*inbox, stored.into_iter().map(update).collect::<Vec<_>>())
    };
    let logs: Vec<_> = inboxes.iter().map(log).collect();
    let verify = || {
        for (inbox, updates) in &logs {
            let log = Log::replay(*inbox, updates.iter().map(|(at, bytes)| (*at, bytes))).expect("a log");
            assert!(matches!(log.latest(), Ok(Some(_))));
        }
    };
    timed(verify).0
}

fn largest(world: &World) -> usize {
    let stored = world.delivery.topics().into_iter().map(|(topic, _)| world.delivery.stored(topic));
    stored.flatten().map(|one| one.payload.len()).max().unwrap_or(0)
}

fn print(ours: &[Figures], raw: &[Figures], logs: &[Figures]) {
    let median_of = |all: &[Figures], at: usize| median(all.iter().map(|one| one[at]).collect());
    let head = ["250 inboxes", "dovetail", "OpenMLS alone", "ratio", "and identity logs once", "ratio"];
    let [what, mine, alone, ratio, with, second] = head;
    println!("{what:<26}{mine:>12}{alone:>16}{ratio:>8}{with:>25}{second:>8}");
    for (at, name) in NAMES.iter().enumerate() {
        let (mine, alone, logs) = (median_of(ours, at), median_of(raw, at), median_of(logs, at));
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let ratio = |floor: Duration| mine.as_secs_f64() / floor.as_secs_f64();
        let (plain, with) = (ratio(alone), ratio(alone + logs));
        let (mine, alone, both) = (ms(mine), ms(alone), ms(alone + logs));
        println!("{name:<26}{mine:>9.2} ms{alone:>13.2} ms{plain:>7.2}x{both:>22.2} ms{with:>7.2}x");
    }
}

/// OpenMLS alone adding everybody with a key package in one commit, whatever its size.
fn all_at_once(world: &World, but: &User) -> Duration {
    let forger = Forger::of(but);
    let others = world.delivery.topics().into_iter().filter_map(|(topic, _)| match topic {
        Topic::KeyPackage(id) if id != but.client.installation() => Some(forger.key_package(id).into()),
        _ => None,
    });
    let adds = others.collect();
    let (own, members) = (InboxId([1; 32]), Members([(InboxId([1; 32]), Entry::default())].into()));
    let mut raw = Raw { scratch: Scratch::new(), keys: InstallationKeys::from_seed([9; 32]), members };
    let dictionary = raw.dictionary(own);
    let mut group =
        mls::create(&raw.scratch, &raw.keys, own, GroupId([5; 16]), &dictionary).expect("a group");
    let after = raw.members.clone();
    timed(|| raw.commit(&mut group, CommitPlan { adds, ..CommitPlan::default() }, after)).0
}

/// The most a sender allows: as many inboxes, each with as many installations as it may have. The
/// service takes no request of more than 1 MiB.
fn most() {
    let world = World::new(99);
    world.delivery.limit(Limits { envelope: 1 << 20, batch: 1 << 20 });
    let (alice, joiner) = (world.one_of_many("alice"), world.one_of_many("joiner"));
    let others = MAX_INSTALLATIONS - 1;
    let mut members: Vec<InboxId> =
        ["alice", "joiner"].map(|name| crowd::register(&world, &secret_of(name), others)).into();
    let crowd = |n| crowd::register(&world, &secret_of(&format!("member{n}")), MAX_INSTALLATIONS);
    members.extend((2..INBOXES).map(crowd));
    let alone = all_at_once(&world, &alice);
    let new = NewGroup { members, policies: ALL_MEMBERS.to_vec(), ..NewGroup::default() };
    let (create, group) = timed(|| {
        let group = alice.call(|client| async move { client.create_group(new).await }).expect("a group");
        alice.sync();
        group
    });
    let (join, _) = timed(|| joiner.sync());
    let leaves: usize = joiner.row(group).members.iter().map(|member| member.installations.len()).sum();
    assert_eq!(leaves, INBOXES * MAX_INSTALLATIONS);
    assert_eq!(alice.gate.refused.get(), 0);
    let commits = world.delivery.stored(Topic::Group(group)).len();
    println!(
        "{INBOXES} inboxes with {MAX_INSTALLATIONS} installations each: created in {create:.1?} by {commits} \
         commits (OpenMLS alone, by one and without its Welcomes' envelopes: {alone:.1?}), joined in \
         {join:.1?}; greatest envelope {} of {} bytes",
        largest(&world),
        1 << 20
    );
}

fn main() {
    // `cargo test` runs every target once; the figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let (mut ours, mut raw, mut logs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let world = World::new(round as u64 + 1);
        let alice = world.one_of_many("alice");
        let many = |count: usize, name: &str| -> Vec<User> {
            (0..count).map(|n| world.one_of_many(&format!("{name}{n}"))).collect()
        };
        let (members, extras) = (many(INBOXES - 2, "member"), many(COMMITS, "extra"));
        raw.push(floor(&members, &Forger::of(&members[0]), &extras));
        let all: Vec<InboxId> = members.iter().map(User::inbox).collect();
        let (all, one) = (identity(&world, &all), identity(&world, &[extras[0].inbox()]));
        let none = Duration::ZERO;
        logs.push([all, all, one, one, none, none, none, none]);
        ours.push(client(&alice, &members, &extras));
        if round == 0 {
            println!("greatest envelope published: {} bytes", largest(&world));
        }
    }
    print(&ours, &raw, &logs);
    most();
}
