//! The DM as an app sees it: its id, what its creator writes, one conversation of several groups,
//! the winner, peer and duplicates.

use std::collections::BTreeSet;

use dovetail::base::GroupId;
use dovetail::consent::State;
use dovetail::dm::winner;
use dovetail::engine::history::HistoryOptions;
use dovetail::engine::list::ListOptions;
use dovetail::meta::component::*;
use dovetail::meta::{Base, Dictionary, Policy, inbox_bytes};
use dovetail::mls::facts::RawDictionary;
use dovetail::store::rows::{GroupState, MessageKind};
use dovetail::wire::{EncodedContent, GroupUpdated};

use crate::common::dump::{self, Dump};
use crate::common::{User, World};

/// Two users with a group each, made offline, and everything read.
pub fn duplicates() -> (User, User, GroupId, GroupId) {
    let world = World::new(3);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    alice.offline(false);
    bo.offline(false);
    sync_all(&[&alice, &bo]);
    (alice, bo, a, b)
}

pub fn sync_all(users: &[&User]) {
    for _ in 0..2 {
        for user in users {
            user.sync();
            dump::check(&user.store);
        }
    }
}

fn dictionary_of(user: &User, group: GroupId) -> RawDictionary {
    Dump::of(&user.store).mls(group).expect("MLS state").1.facts().dictionary
}

#[test]
fn dms_001_the_dm_id_is_the_sorted_pair_at_both_sides() {
    let (alice, bo, a, b) = duplicates();
    let mut pair = [alice.inbox().to_string(), bo.inbox().to_string()];
    pair.sort();
    let expected = format!("dm:{}:{}", pair[0], pair[1]);
    for user in [&alice, &bo] {
        for group in [a, b] {
            let row = user.inspect(group).groups.into_iter().find(|one| one.row.id == group).unwrap().row;
            assert_eq!(row.dm.unwrap().to_string(), expected);
        }
    }
}

#[test]
fn dms_002_a_creator_writes_the_pair_empty_lists_and_the_fixed_policies() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    let group = alice.dm(&bo);
    let raw = dictionary_of(&alice, group);
    let view = Dictionary::new(&raw);
    assert_eq!(raw[&CONVERSATION_TYPE], [0, 0, 0, 2]);
    assert_eq!(view.creator().unwrap(), alice.inbox());
    let mut pair = [alice.inbox(), bo.inbox()];
    pair.sort();
    assert_eq!(view.dm_members().unwrap(), pair);
    assert!(view.admins().unwrap().is_empty() && view.super_admins().unwrap().is_empty());
    assert!(raw.contains_key(&ADMIN_LIST) && raw.contains_key(&SUPER_ADMIN_LIST));
    assert_eq!(raw[&CREATOR_INBOX_ID], inbox_bytes(&alice.inbox()));

    let registry = view.registry().unwrap();
    let policies = |component: u16| {
        let entry = registry.entry(component).unwrap_or_else(|| panic!("{component:#x} is not registered"));
        [entry.insert.clone(), entry.update.clone(), entry.delete.clone()]
    };
    let table = |component: u16, expected: [Base; 3]| {
        assert_eq!(policies(component), expected.map(Policy::Base), "{component:#x}");
    };
    table(GROUP_MEMBERSHIP, [Base::Deny, Base::Allow, Base::Deny]);
    table(ADMIN_LIST, [Base::Deny, Base::Deny, Base::Deny]);
    for component in [
        GROUP_NAME,
        GROUP_DESCRIPTION,
        GROUP_IMAGE_URL,
        APP_DATA,
        MESSAGE_DISAPPEAR_FROM_NS,
        MESSAGE_DISAPPEAR_IN_NS,
        MIN_SUPPORTED_PROTOCOL_VERSION,
    ] {
        table(component, [Base::Allow, Base::Allow, Base::IfSuperAdmin]);
    }
    table(COMMIT_LOG_SIGNER, [Base::IfSuperAdmin; 3]);
    table(USER_DISPLAY_NAME, [Base::IfSelfOrNonMember; 3]);
    for component in [CONVERSATION_TYPE, CREATOR_INBOX_ID, DM_MEMBERS] {
        table(component, [Base::IfSuperAdmin, Base::Deny, Base::Deny]);
    }
    assert!(registry.entry(GROUP_IMAGE).is_none());
}

#[test]
fn dms_002_a_dm_with_oneself_is_refused_and_leaves_nothing() {
    let world = World::new(1);
    let alice = world.user("alice");
    let before = Dump::of(&alice.store);
    let error = alice.dm_to(alice.inbox()).unwrap_err();
    assert_eq!(error.code, "dm.self");
    assert!(Dump::of(&alice.store) == before);
}

#[test]
fn dms_005_an_existing_dm_is_returned_and_no_group_is_made() {
    let (alice, bo, a, b) = duplicates();
    for user in [&alice, &bo] {
        let peer = if user.inbox() == alice.inbox() { bo.inbox() } else { alice.inbox() };
        let before = Dump::of(&user.store).groups().len();
        let winner = user.conversations()[0].group.id;
        for _ in 0..3 {
            assert_eq!(user.dm_to(peer).unwrap(), winner);
        }
        assert_eq!(Dump::of(&user.store).groups().len(), before);
        assert_eq!(user.call(move |client| async move { client.dm_with(peer).await }).unwrap(), Some(winner));
        assert!([a, b].contains(&winner));
    }
}

#[test]
fn dms_005_calls_at_once_make_one_group() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let peer = bo.inbox();
    let made = alice.call(move |client| async move {
        let calls = (0..5).map(|_| client.create_dm(peer));
        futures::future::join_all(calls).await
    });
    let ids: BTreeSet<_> = made.into_iter().map(|id| id.unwrap()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(Dump::of(&alice.store).groups().len(), 1);
}

#[test]
fn dms_007_list_and_resolution_name_the_winner_only() {
    let (alice, bo, a, b) = duplicates();
    alice.text(a, "one");
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        let list = user.conversations();
        assert_eq!(list.len(), 1);
        for group in [a, b] {
            let found = user.call(move |client| async move { client.conversation(group).await });
            assert_eq!(found.unwrap().unwrap().group.id, list[0].group.id);
        }
    }
}

#[test]
fn dms_008_a_second_group_is_joined_and_written_in() {
    let (alice, bo, a, b) = duplicates();
    for user in [&alice, &bo] {
        let inside = user.inspect(a);
        let ids: BTreeSet<_> = inside.groups.iter().map(|group| group.row.id).collect();
        assert_eq!(ids, BTreeSet::from([a, b]));
        assert!(
            inside.groups.iter().all(|group| group.row.state == GroupState::Active && group.row.epoch == 1)
        );
    }
}

#[test]
fn dms_013_the_winner_follows_the_activity_of_each_message() {
    let (alice, bo, a, b) = duplicates();
    let expected = |user: &User| {
        let inside = user.inspect(a);
        let candidates: Vec<_> = inside
            .groups
            .iter()
            .map(|group| dovetail::dm::Candidate {
                group: group.row.id,
                restored: false,
                last_message_ns: group.row.last_message_ns,
                created_ns: group.row.created_ns,
            })
            .collect();
        winner(&candidates).unwrap().group
    };
    let first = alice.conversations()[0].group.id;
    assert_eq!(first, a.max(b), "without activity the greatest id wins");
    assert_eq!(bo.conversations()[0].group.id, first);
    // Each client writes to what it holds as the winner: bo writes before it hears of alice.
    for round in 0..4 {
        for (user, other) in [(&alice, &bo), (&bo, &alice)] {
            other.offline(round % 2 == 0);
            user.text(a, &format!("round {round}"));
            user.sync();
            assert_eq!(user.conversations()[0].group.id, expected(user));
            other.offline(false);
            other.sync();
            assert_eq!(other.conversations()[0].group.id, expected(other));
            assert_eq!(expected(user), expected(other));
        }
    }
}

#[test]
fn dms_013_a_message_in_a_losing_group_makes_it_the_winner() {
    let world = World::new(3);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    // Both write in their own group, alice's message is stored last.
    alice.text(a, "from alice");
    bo.text(b, "from bo");
    bo.offline(false);
    bo.sync();
    alice.offline(false);
    sync_all(&[&alice, &bo]);
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        assert_eq!(user.conversations()[0].group.id, a, "the newest message decides");
    }
    let last = bo.inspect(a).groups.into_iter().find(|group| group.row.id == a).unwrap().row.last_message_ns;
    let rows = bo.history(a, HistoryOptions::default());
    assert_eq!(last, rows.iter().filter(|row| row.group == a).map(|row| row.sent_ns).max());
}

#[test]
fn dms_011_two_groups_of_one_creator_show_the_add_once() {
    let world = World::new(5);
    let (first, second, bo) = (world.user("alice"), world.user("alice"), world.user("bo"));
    first.offline(true);
    second.offline(true);
    let a = first.dm(&bo);
    second.dm(&bo);
    first.offline(false);
    second.offline(false);
    sync_all(&[&first, &second, &bo]);
    sync_all(&[&first, &second, &bo]);
    for user in [&first, &second, &bo] {
        assert_eq!(user.inspect(a).groups.len(), 2);
        let all = HistoryOptions { kind: Some(MessageKind::MembershipChange), ..HistoryOptions::default() };
        let shown: Vec<GroupUpdated> = user
            .history(a, all)
            .iter()
            .map(|row| EncodedContent::decode(&row.content).unwrap())
            .map(|content| GroupUpdated::decode(&content.content).unwrap())
            .filter(|update| !update.added.is_empty())
            .collect();
        for (at, update) in shown.iter().enumerate() {
            assert!(!shown[..at].contains(update), "an equal add is shown twice");
        }
        assert!(!shown.is_empty());
    }
}

#[test]
fn dms_017_peer_and_duplicates_are_readable() {
    let (alice, bo, a, b) = duplicates();
    for (user, other) in [(&alice, &bo), (&bo, &alice)] {
        let listed = &user.conversations()[0];
        assert_eq!(listed.peer, Some(other.inbox()));
        for (group, rest) in [(a, b), (b, a)] {
            let others = user.call(move |client| async move { client.duplicates(group).await });
            assert_eq!(others.unwrap(), [rest]);
        }
        let all = user.list(ListOptions { include_duplicates: true, ..ListOptions::default() });
        let ids: Vec<_> = all.iter().map(|one| one.group.id).collect();
        assert_eq!(ids[0], listed.group.id, "the winner first");
        assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([a, b]));
    }
}

#[test]
fn cons_030_031_dms_017_duplicates_are_listed_by_the_consent_of_their_conversation() {
    let (alice, _bo, a, b) = duplicates();
    let winner = alice.conversations()[0].group.id;
    let other = if winner == a { b } else { a };
    let list = |consent: Option<Vec<State>>| -> Vec<(GroupId, State)> {
        let options = ListOptions { consent, include_duplicates: true, ..ListOptions::default() };
        alice.list(options).iter().map(|one| (one.group.id, one.consent)).collect()
    };
    let both = |state| vec![(winner, state), (other, state)];
    assert_eq!(list(None), both(State::Allowed));
    // Whichever copy is named, one block is a block of the conversation, and so is its end.
    for (named, state) in [(other, State::Denied), (winner, State::Unknown), (winner, State::Denied)] {
        alice.world.settle(1_000);
        let entity = dovetail::consent::Entity::Conversation(named);
        alice.call(move |client| async move { client.set_consent(entity, state).await }).unwrap();
        let denied = state == State::Denied;
        assert_eq!(list(None), if denied { vec![] } else { both(state) }, "CONS-031");
        assert_eq!(list(Some(vec![state])), both(state));
        assert_eq!(list(Some(vec![State::Allowed])), []);
        assert_eq!(list(Some(Vec::new())), []);
        assert_eq!(alice.consent(entity), state, "the record of what is named");
    }
}

#[test]
fn gmod_037_group_ids_are_sixteen_random_bytes() {
    let world = World::new(1);
    let alice = world.user("alice");
    alice.offline(true);
    let mut ids = BTreeSet::new();
    for n in 0..500u32 {
        let mut inbox = [7; 32];
        inbox[..4].copy_from_slice(&n.to_be_bytes());
        let id = alice.dm_to(dovetail::base::InboxId(inbox)).unwrap();
        assert_eq!(id.as_bytes().len(), 16);
        assert!(ids.insert(id));
    }
    // Every bit takes both values about equally often: nothing of it is a constant or a counter.
    for bit in 0..128 {
        let ones = ids.iter().filter(|id| id.0[bit / 8] >> (bit % 8) & 1 == 1).count();
        assert!((150..350).contains(&ones), "bit {bit} is set {ones} times of 500");
    }
}
