//! What the sender plans, every receiver applies and every added installation joins.

use crate::base::{Map, Set};

use proptest::prelude::*;

use super::fixture::*;
use crate::base::{InboxId, InstallationId, SequenceId};
use crate::commit::{Latest, Plan, Verdict, judge_standalone, plan};
use crate::members::tests::{inbox, key, leaf, reference};
use crate::members::{Entry, Members, Resolution, States, check_join};
use crate::meta::component::{GROUP_MEMBERSHIP, SUPER_ADMIN_LIST};
use crate::mls::facts::{GroupFacts, JoinFacts, LeafFacts, ProposalFacts};

/// One inbox: its installations at its entry and at its latest update, and what becomes of it.
#[derive(Clone, Debug)]
struct Person {
    member: bool,
    /// Bits over four installations: known at the entry, placed in the tree, known at the latest
    /// update, key package at hand.
    at_entry: u8,
    placed: u8,
    at_latest: u8,
    usable: u8,
    moved: bool,
    wanted: bool,
    unwanted: bool,
}

fn person() -> impl Strategy<Value = Person> {
    let bits = || 0u8..16;
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (bits(), bits(), bits(), bits(), flags).prop_map(
        |(at_entry, placed, at_latest, usable, (member, moved, wanted, unwanted))| Person {
            member,
            at_entry,
            placed: placed & at_entry,
            at_latest,
            usable,
            moved,
            wanted,
            unwanted,
        },
    )
}

fn installations(of: u8, bits: u8) -> Set<InstallationId> {
    (0..4).filter(|bit| bits & (1 << bit) != 0).map(|bit| key(of * 10 + bit)).collect()
}

/// The group and everything fetched, from inbox 1 (always a member, with its key 10) on.
struct World {
    group: GroupFacts,
    states: States,
    latest: Map<InboxId, SequenceId>,
    usable: Set<InstallationId>,
    add: Set<InboxId>,
    remove: Set<InboxId>,
}

fn world(people: &[Person], newborn: bool) -> World {
    let mut group = group();
    group.leaves.clear();
    let (mut entries, mut states) = (Members::default(), States::default());
    let (mut latest, mut usable) = (Map::new(), Set::new());
    let (mut add, mut remove) = (Set::new(), Set::new());
    for (i, person) in people.iter().enumerate() {
        let of = i as u8 + 1;
        let mut person = person.clone();
        if of == 1 {
            let (at_entry, placed) = if newborn { (0, 1) } else { (person.at_entry | 1, person.placed | 1) };
            let at_latest = person.at_latest | 1;
            person = Person { member: true, at_entry, placed, at_latest, unwanted: false, ..person };
            person.moved |= newborn;
        }
        let id = inbox(of);
        let (entry, newest) = (u64::from(of) * 10, u64::from(of) * 10 + 5);
        let resolved = |bits| Resolution::Installations(installations(of, bits));
        states.insert(reference(of, entry), resolved(person.at_entry));
        states.insert(reference(of, newest), resolved(person.at_latest));
        if person.member {
            let at = if newborn && of == 1 { 0 } else { entry };
            let failed = installations(of, person.at_entry & !person.placed);
            entries.0.insert(id, Entry { sequence_id: SequenceId(at), failed });
            for installation in installations(of, person.placed) {
                let index = group.leaves.len() as u32;
                group.leaves.push(LeafFacts { index, inbox: Some(id), installation });
            }
        }
        if person.moved || (person.wanted && !person.member) {
            latest.insert(id, SequenceId(newest));
        }
        if person.wanted && !person.unwanted {
            add.insert(id);
        }
        if person.unwanted {
            remove.insert(id);
        }
        usable.extend(installations(of, person.usable));
    }
    group.dictionary.insert(GROUP_MEMBERSHIP, entries.encode());
    World { group, states, latest, usable, add, remove }
}

fn proposals(made: &Plan, group: &GroupFacts, by: &LeafFacts) -> Vec<ProposalFacts> {
    let adds = made.adds.iter().map(|(of, key)| add(by, of.0[0], key.0[0]));
    let gone = group.leaves.iter().filter(|leaf| made.removes.contains(&leaf.index));
    let removes = gone.map(|leaf| remove(by, leaf.clone()));
    let membership = made.membership.iter().map(|delta| write(by, GROUP_MEMBERSHIP, delta.clone()));
    adds.chain(membership).chain(removes).collect()
}

fn joins(case: &Case, installation: InstallationId) {
    let leaves = case.commit.leaves_after.clone();
    let own = leaves.iter().find(|leaf| leaf.installation == installation).unwrap().clone();
    let group = GroupFacts {
        epoch: case.commit.epoch_after,
        leaves,
        dictionary: case.commit.dictionary_after.clone(),
        ..case.commit.before.clone()
    };
    let SequenceId(anchor) = case.position;
    let join = JoinFacts { group, adder: leaf(0, 1, 10), own: own.clone(), anchor };
    let own = (own.inbox.unwrap(), installation);
    check_join(&join, own, SequenceId(anchor + 1), &case.states).unwrap();
}

proptest! {
    #[test]
    fn gmod_009_what_is_planned_is_applied_and_joined(
        people in proptest::collection::vec(person(), 1..5), newborn in any::<bool>(),
    ) {
        let people = if newborn {
            // A group just created has its creator only.
            people.into_iter().map(|p| Person { member: false, ..p }).collect()
        } else {
            people
        };
        let world = world(&people, newborn);
        let wanted = Latest {
            add: &world.add,
            remove: &world.remove,
            latest: &world.latest,
            states: &world.states,
            usable: &world.usable,
        };
        let made = plan(&world.group, (inbox(1), key(10)), &wanted).unwrap();
        let by = world.group.leaves[0].clone();
        let mut case = commit(world.group.clone(), &by, proposals(&made, &world.group, &by));
        case.states = world.states.clone();
        prop_assert_eq!(case.verdict(), Verdict::Applied);
        prop_assert_eq!(Members::read(&case.commit.dictionary_after).unwrap(), made.after.clone());
        for (_, installation) in &made.adds {
            joins(&case, *installation);
        }
    }

    #[test]
    fn gmod_021_judging_never_panics(
        component in prop_oneof![Just(GROUP_MEMBERSHIP), Just(SUPER_ADMIN_LIST), any::<u16>()],
        payload in proptest::collection::vec(any::<u8>(), 0..60),
        foreign in any::<bool>(),
    ) {
        let by = if foreign { leaf(9, 9, 99) } else { first() };
        let proposal = write(&by, component, payload.clone());
        let mut case = commit(group(), &first(), vec![proposal.clone()]);
        let _ = case.verdict();
        case.commit.dictionary_after.insert(component, payload);
        let _ = case.verdict();
        let _ = judge_standalone(&proposal, &group(), &"2.0.0".parse().unwrap());
    }
}
