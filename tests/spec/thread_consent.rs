//! The consent of a stitched DM: the greatest record of all its groups, whichever is the winner,
//! whatever came first, and by whichever way (CONS-010, CONS-030, CONS-031, DMS-010).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use dovetail::base::{GroupId, Nanos};
use dovetail::client::{Interest, News, Overheard};
use dovetail::consent::{Entity, Record, State, greatest};
use dovetail::engine::list::ListOptions;
use dovetail::wire::ConsentSave;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::archive_dm::dm_save;
use crate::common::archive::{archive_of, decided};
use crate::common::dump;
use crate::common::forge::{self, Forger};
use crate::common::group::sync_all;
use crate::common::{User, text_of};
use crate::decisions::{decide_apart, record, two_copies};
use crate::devices::{told, two};
use crate::devices_bad::Rogue;

const GROUPS: [GroupId; 3] = [GroupId([0x71; 16]), GroupId([0x72; 16]), GroupId([0x73; 16])];

/// Alice's phone, what her laptop says, and who makes DMs with her.
struct Place {
    phone: User,
    rogue: Rogue,
    mallory: User,
    devices: Vec<dovetail::base::InstallationId>,
}

impl Place {
    fn new(seed: u64) -> Self {
        let (phone, laptop) = two(seed);
        let mallory = phone.world.user("mallory");
        let devices = [&phone, &laptop].map(|one| one.client.installation()).to_vec();
        Self { rogue: Rogue::of(&laptop), phone, mallory, devices }
    }

    /// By the sync group.
    fn tell(&self, record: &Record) {
        self.rogue.tell([ConsentSave::from(record)]);
        self.phone.sync();
    }

    fn welcome(&self, group: GroupId) {
        let pair = [&self.mallory, &self.phone];
        let entries = pair.map(|user| (user.inbox(), forge::newest_update(user)));
        let dictionary = forge::dm_dictionary(self.mallory.inbox(), self.phone.inbox(), &entries);
        Forger::of(&self.mallory).offer(group, &dictionary, &self.devices);
        self.phone.sync();
    }

    /// As a placeholder, out of an archive.
    fn restore(&self, group: GroupId) {
        let pair = (self.mallory.inbox(), self.phone.inbox());
        self.phone.import(&archive_of(&[dm_save(group, pair, Some(40))])).ok();
    }

    fn restore_decision(&self, record: &Record) {
        let ConsentSave { entity_type, entity, state, consented_at_ns } = ConsentSave::from(record);
        self.phone.import(&archive_of(&[decided(entity_type, &entity, state, consented_at_ns)])).ok();
    }
}

fn about(group: GroupId, state: State, at: i64) -> Record {
    Record { entity: Entity::Conversation(group), state, consented_at_ns: Nanos(at) }
}

fn list(user: &User, consent: Option<Vec<State>>, include_duplicates: bool) -> Vec<(GroupId, State)> {
    let options = ListOptions { consent, include_duplicates, ..ListOptions::default() };
    user.list(options).iter().map(|one| (one.group.id, one.consent)).collect()
}

/// Whatever a conversation is asked by, and whichever of its groups is named, it is in this state.
fn assert_state(user: &User, groups: &[GroupId], expected: State) {
    dump::check_imported(&user.store);
    let named = groups.to_vec();
    let described = user.call(move |client| async move { client.describe_groups(&named).await }).unwrap();
    assert_eq!(described.iter().map(|one| one.consent).collect::<Vec<_>>(), vec![expected; groups.len()]);
    let winner = user.inspect(groups[0]).winner;
    for group in groups {
        let group = *group;
        let one = user.call(move |client| async move { client.conversation(group).await }).unwrap().unwrap();
        assert_eq!((one.group.id, one.consent), (winner, expected));
        assert_eq!(user.inspect(group).consent, expected);
        let own = record(user, group).map_or(State::Unknown, |record| record.state);
        assert_eq!(user.consent(Entity::Conversation(group)), own, "CONS-001: the entity that is named");
    }
    for state in [State::Unknown, State::Allowed, State::Denied] {
        let count = usize::from(state == expected);
        assert_eq!(list(user, Some(vec![state]), false), vec![(winner, expected); count], "CONS-030");
        assert_eq!(list(user, Some(vec![state]), true).len(), count * groups.len(), "DMS-017");
    }
    assert_eq!(list(user, None, false).len(), usize::from(expected != State::Denied), "CONS-031");
}

/// What happens at the phone.
#[derive(Clone, Debug)]
enum Step {
    Welcome(usize),
    Restore(usize),
    Tell(usize, State, i64),
    RestoreDecision(usize, State, i64),
}

fn decision() -> impl Strategy<Value = Step> {
    let state = proptest::sample::select(vec![State::Unknown, State::Allowed, State::Denied]);
    (0..GROUPS.len(), state, 1i64..5, any::<bool>()).prop_map(|(at, state, time, archived)| match archived {
        true => Step::RestoreDecision(at, state, time),
        false => Step::Tell(at, state, time),
    })
}

/// Groups that come once, out of an archive, or that way first or later; decisions about any of them,
/// some of them again; all in any order.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let decisions = proptest::collection::vec(decision(), 1..7);
    let again = proptest::collection::vec(any::<prop::sample::Index>(), 0..4);
    let coming = proptest::array::uniform3(0..3);
    (decisions, again, coming).prop_flat_map(|(mut all, again, coming)| {
        all.extend(again.iter().map(|at| at.get(&all).clone()).collect::<Vec<_>>());
        for (at, way) in coming.into_iter().enumerate() {
            all.extend((way != 1).then_some(Step::Welcome(at)));
            all.extend((way != 0).then_some(Step::Restore(at)));
        }
        Just(all).prop_shuffle()
    })
}

#[test]
fn dms_010_cons_010_030_031_any_order_of_records_and_groups_ends_in_the_greatest_over_the_set() {
    let mut runner = TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
    let ended = runner.run(&steps(), |steps| {
        let place = Place::new(23);
        let (mut records, mut held) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Welcome(at) => place.welcome(GROUPS[at]),
                Step::Restore(at) => place.restore(GROUPS[at]),
                Step::Tell(at, state, time) => place.tell(&about(GROUPS[at], state, time)),
                Step::RestoreDecision(at, state, time) => {
                    place.restore_decision(&about(GROUPS[at], state, time));
                }
            }
            match step {
                Step::Welcome(at) | Step::Restore(at) if !held.contains(&GROUPS[at]) => held.push(GROUPS[at]),
                Step::Tell(at, state, time) | Step::RestoreDecision(at, state, time) => {
                    records.push(about(GROUPS[at], state, time));
                }
                _ => {}
            }
            // At every moment it is what is known of the groups that are here.
            let counts = |one: &&Record| held.iter().any(|id| one.entity == Entity::Conversation(*id));
            let decided = greatest(records.iter().filter(counts));
            if !held.is_empty() {
                assert_state(&place.phone, &held, decided.map_or(State::Unknown, |one| one.state));
            }
        }
        Ok(())
    });
    ended.unwrap();
}

/// What a stream of all messages delivers from now on.
fn stream(user: &User) -> (Rc<RefCell<Vec<String>>>, dovetail::client::EventSubscription) {
    let heard: Rc<RefCell<Vec<String>>> = Rc::default();
    let into = heard.clone();
    let interest =
        Interest::Messages { conversation: None, kind: None, states: None, types: Default::default() };
    let listening = user.call(move |client| async move {
        let tell = move |news| match news {
            News::Message(row) => into.borrow_mut().push(text_of(&row)),
            _ => panic!("a message"),
        };
        client.follow(interest, tell).await
    });
    (heard, listening.unwrap())
}

/// The copy that was here before a block of another one came, with what it had itself.
#[test]
fn dms_010_cons_010_031_042_a_newer_block_of_another_copy_blocks_the_winner() {
    for (own, archived) in [None, Some(0), Some(1)].into_iter().flat_map(|own| [(own, false), (own, true)]) {
        let (phone, laptop) = two(24);
        let rogue = Rogue::of(&laptop);
        let place = Place { rogue, mallory: phone.world.user("mallory"), devices: vec![], phone };
        let (bo, mate) = (place.phone.world.user("bo"), place.phone.world.user("bo"));
        bo.offline(true);
        mate.offline(true);
        let copies = [bo.dm(&place.phone), mate.dm(&place.phone)];
        bo.offline(false);
        mate.offline(false);
        sync_all(&[&bo, &mate, &place.phone]);
        let winner = place.phone.inspect(copies[0]).winner;
        let other = if winner == copies[0] { copies[1] } else { copies[0] };
        own.into_iter().for_each(|at| place.tell(&about(winner, State::Allowed, at)));
        assert_state(&place.phone, &copies, own.map_or(State::Unknown, |_| State::Allowed));
        let (heard, _listening) = stream(&place.phone);
        let block = about(other, State::Denied, 2);
        if archived {
            place.restore_decision(&block)
        } else {
            place.tell(&block)
        }
        assert_state(&place.phone, &copies, State::Denied);
        assert_eq!(record(&place.phone, winner), own.map(|at| about(winner, State::Allowed, at)));
        // Activity in either copy brings back nobody.
        for copy in copies {
            let writer =
                if bo.row(copy).state == dovetail::store::rows::GroupState::Active { &bo } else { &mate };
            writer.text(winner, "here I am again");
            sync_all(&[&bo, &mate]);
            let report =
                place.phone.call(|client| async move { client.sync_by_consent(None).await }).unwrap();
            assert_eq!(report.synced, 1, "the sync group alone is read");
            place.phone.sync();
            assert_state(&place.phone, &copies, State::Denied);
        }
        assert_eq!(*heard.borrow(), [""; 0]);
        // An older block of one copy is none for a DM that was allowed since.
        place.tell(&about(winner, State::Allowed, 4));
        place.tell(&about(other, State::Denied, 3));
        assert_state(&place.phone, &copies, State::Allowed);
        bo.text(winner, "welcome back");
        sync_all(&[&bo, &place.phone]);
        assert_eq!(*heard.borrow(), ["welcome back"]);
    }
}

#[test]
fn cons_041_a_time_that_moves_a_block_above_another_copys_decision_is_told() {
    let place = Place::new(25);
    let [a, b, c] = GROUPS;
    [a, b].into_iter().for_each(|group| place.welcome(group));
    place.tell(&about(b, State::Denied, 10));
    place.tell(&about(a, State::Allowed, 20));
    let (events, _listening) = told(&place.phone);
    place.tell(&about(b, State::Denied, 15));
    assert_eq!(*events.borrow(), [], "nothing has another state");
    place.tell(&about(b, State::Denied, 30));
    assert_eq!(*events.borrow(), [(Entity::Conversation(b), State::Denied)]);
    assert_state(&place.phone, &[a, b], State::Denied);
    // What was decided about a copy before it came counts with it.
    events.borrow_mut().clear();
    place.tell(&about(c, State::Allowed, 40));
    assert_state(&place.phone, &[a, b], State::Denied);
    events.borrow_mut().clear();
    place.welcome(c);
    assert_eq!(*events.borrow(), [(Entity::Conversation(c), State::Allowed)]);
    assert_state(&place.phone, &GROUPS, State::Allowed);
}

#[test]
fn cons_041_another_tab_reads_the_block_of_a_copy_it_has_not_loaded() {
    let place = Place::new(26);
    let [a, b, _] = GROUPS;
    place.welcome(b);
    place.welcome(a);
    let winner = place.phone.inspect(a).winner;
    let other = if winner == a { b } else { a };
    let tab = place.phone.tab();
    // The tab has the thread and its winner loaded, and not the other copy.
    tab.text(winner, "hi");
    tab.sync();
    let heard: Rc<RefCell<Vec<Vec<Overheard>>>> = Rc::default();
    let into = heard.clone();
    let _commits = place.phone.client.subscribe_commits(move |events| {
        into.borrow_mut().push(events.iter().map(Overheard::of).collect());
    });
    decide_apart(&place.phone, other, State::Denied);
    for told in heard.take() {
        tab.call(move |client| async move { client.overhear(&told, &Cell::new(false)).await }).unwrap();
    }
    let (messages, _listening) = stream(&tab);
    tab.text(winner, "written in a blocked DM");
    assert_eq!(*messages.borrow(), [""; 0], "CONS-042");
    assert_state(&tab, &[a, b], State::Denied);
}

#[test]
fn cons_020_creating_a_dm_allows_it_whatever_its_placeholders_were() {
    let place = Place::new(27);
    let [a, ..] = GROUPS;
    place.restore(a);
    let now = place.phone.world.platform.now_ns();
    // Blocked by a clock that is ahead of this one.
    place.restore_decision(&about(a, State::Denied, now + 3_600_000_000_000));
    assert_state(&place.phone, &[a], State::Denied);
    let made = place.phone.dm_to(place.mallory.inbox()).unwrap();
    assert_state(&place.phone, &[made, a], State::Allowed);
    let records = [made, a].map(|group| record(&place.phone, group).unwrap());
    assert_eq!(records[0].rank(), records[1].rank());
}

#[test]
fn gmod_029_cons_030_a_new_device_is_not_brought_into_a_dm_that_another_copy_blocks() {
    let (bo, _, groups) = two_copies(28);
    let winner = bo.inspect(groups[0]).winner;
    let other = if winner == groups[0] { groups[1] } else { groups[0] };
    decide_apart(&bo, winner, State::Allowed);
    bo.world.settle(1_000);
    decide_apart(&bo, other, State::Denied);
    let laptop = bo.world.user("bo");
    bo.sync();
    let device = laptop.client.installation();
    let in_it = |group: GroupId| bo.row(group).members.iter().any(|one| one.installations.contains(&device));
    assert_eq!(groups.map(in_it), [false; 2]);
    bo.world.settle(1_000);
    decide_apart(&bo, winner, State::Allowed);
    bo.sync();
    assert_eq!(groups.map(in_it), [true; 2]);
}
