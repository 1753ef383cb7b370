//! The sync group itself: who makes it, who is let in, that it is no conversation, and how tabs share
//! it.

use std::rc::Rc;

use dovetail::base::{GroupId, InboxId, SequenceId, Set, Topic};
use dovetail::client::EventFilter;
use dovetail::consent::{Entity, State};
use dovetail::engine::event::Event;
use dovetail::engine::list::ListOptions;
use dovetail::members::Entry;
use dovetail::meta::component::GROUP_MEMBERSHIP;
use dovetail::meta::{FIRST_FLOOR, Key, MapMutation, NewConversation, Settings, encode_map_delta};
use dovetail::mls::facts::RawDictionary;
use dovetail::mls::{self, FrameKind, Opened};
use dovetail::policy;
use dovetail::store::rows::{EnvelopeRow, EnvelopeState, GroupKind, MessageRow, PositionRow};
use dovetail::store::{Changes, Store, Table, Write};
use dovetail::wire::{ClientEnvelope, ConsentSave, EncodedContent, PlaintextEnvelope, consents_of};
use futures::FutureExt;

use crate::common::devices::records;
use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger, Raw};
use crate::common::gate::Between;
use crate::common::group::{code, frames, sync_all, together};
use crate::common::{User, World, wallet};
use crate::devices::{ELSEWHERE, SOMEBODY, two};

const FORGED: GroupId = GroupId([0x5c; 16]);

pub fn told_in(world: &World, group: GroupId) -> usize {
    frames(world, group, FrameKind::Application)
}

/// The dictionary of a sync group with these membership entries.
fn dictionary(creator: InboxId, entries: &[(InboxId, SequenceId)]) -> RawDictionary {
    let mut dictionary = policy::new_sync(&NewConversation {
        creator,
        creator_entry: &Entry::default().encode(),
        floor: FIRST_FLOOR,
        settings: &Settings::default(),
        commit_log_signer: None,
    })
    .unwrap();
    dictionary.insert(GROUP_MEMBERSHIP, forge::membership(entries, &[]));
    dictionary
}

fn entries(users: &[&User]) -> Vec<(InboxId, SequenceId)> {
    users.iter().map(|user| (user.inbox(), forge::newest_update(user))).collect()
}

pub fn revoke(by: &User, device: &User) {
    let (sign, gone) = (wallet(by.secret), Set::from([device.client.installation()]));
    by.call(move |client| async move { client.revoke(&gone, &sign).await }).unwrap();
}

/// Welcomes refused for good, by code.
fn refused(user: &User) -> Vec<String> {
    let code = |row: EnvelopeRow| match row.state {
        EnvelopeState::Rejected(code, _) => Some(code),
        _ => None,
    };
    Dump::of(&user.store).rows().into_iter().filter_map(code).collect()
}

#[test]
fn without_another_device_or_a_decision_there_is_no_sync_group() {
    let world = World::new(1);
    let phone = world.user("alice");
    phone.set_consent(SOMEBODY, State::Denied);
    phone.sync();
    assert_eq!(phone.sync_groups(), [], "no other device");
    assert_eq!(phone.owed().len(), 1);
    for _ in 0..3 {
        phone.set_consent(SOMEBODY, State::Allowed);
        phone.sync();
    }
    assert_eq!(phone.owed().len(), 1, "one an entity: as many as there are records");
    let laptop = world.user("alice");
    laptop.sync();
    assert_eq!(laptop.sync_groups(), [], "it has nothing to tell, and waits to be added");
    phone.sync();
    assert_eq!(phone.owed(), [], "part of what the new device is told");
    laptop.sync();
    assert_eq!(laptop.sync_group(), phone.sync_group());
    assert_eq!(laptop.record(SOMEBODY), phone.record(SOMEBODY));
    assert_eq!(told_in(&world, phone.sync_group()), 1, "told once");
    together(phone.sync_group(), &[&phone, &laptop]);
}

#[test]
fn two_that_make_one_at_once_tell_each_other_in_both() {
    let world = World::new(2);
    let (phone, laptop) = (world.user("alice"), world.user("alice"));
    phone.set_consent(SOMEBODY, State::Denied);
    laptop.set_consent(ELSEWHERE, State::Denied);
    // Neither sees the other's Welcome before it makes its own.
    let both = [&phone, &laptop];
    both.iter().for_each(|one| one.delivery.freeze(Topic::Welcome(one.client.installation().0)));
    both.iter().for_each(|one| drop(one.sync()));
    both.iter().for_each(|one| one.delivery.thaw());
    sync_all(&[&phone, &laptop]);
    assert_eq!((phone.sync_groups().len(), laptop.sync_groups().len()), (2, 2));
    for device in [&phone, &laptop] {
        assert_eq!(device.consent(SOMEBODY), State::Denied);
        assert_eq!(device.consent(ELSEWHERE), State::Denied);
    }
    // Each tells in the one it joined last, and reads both.
    phone.set_consent(SOMEBODY, State::Allowed);
    laptop.set_consent(ELSEWHERE, State::Allowed);
    let before: Vec<_> = phone.sync_groups().iter().map(|group| told_in(&world, *group)).collect();
    sync_all(&[&phone, &laptop]);
    let after: Vec<_> = phone.sync_groups().iter().map(|group| told_in(&world, *group)).collect();
    assert_eq!(after, before.iter().map(|count| count + 1).collect::<Vec<_>>());
    assert_eq!((phone.consent(ELSEWHERE), laptop.consent(SOMEBODY)), (State::Allowed, State::Allowed));
    // A third device is brought into both.
    let tablet = world.user("alice");
    sync_all(&[&phone, &laptop, &tablet]);
    assert_eq!(tablet.sync_groups().len(), 2);
    assert_eq!(records(&Dump::of(&tablet.store)), records(&Dump::of(&phone.store)));
}

#[test]
fn sync_005_a_sync_group_is_no_conversation() {
    let world = World::new(3);
    let phone = world.user("alice");
    let told = |device: &User| {
        device.call(|client| async move { client.events(EventFilter::default(), false).await })
    };
    let mut queues = vec![told(&phone).expect("events")];
    phone.set_consent(SOMEBODY, State::Denied);
    let laptop = world.user("alice");
    queues.push(told(&laptop).expect("events"));
    sync_all(&[&phone, &laptop]);
    phone.set_consent(SOMEBODY, State::Allowed);
    laptop.set_consent(ELSEWHERE, State::Allowed);
    sync_all(&[&phone, &laptop]);
    revoke(&phone, &laptop);
    sync_all(&[&phone, &laptop]);
    let group = phone.sync_group();
    for device in [&phone, &laptop] {
        assert_eq!(device.row(group).kind, GroupKind::Sync);
        for kind in [None, Some(GroupKind::Sync)] {
            for include_duplicates in [false, true] {
                let consent = Some(vec![State::Unknown, State::Allowed, State::Denied]);
                let options = ListOptions { consent, kind, include_duplicates, ..ListOptions::default() };
                assert_eq!(device.list(options).len(), 0);
            }
        }
        let found = device.call(move |client| async move { client.conversation(group).await });
        assert!(found.unwrap().is_none());
        let page =
            device.call(move |client| async move { client.messages(group, &Default::default()).await });
        assert_eq!(code(page.map(|page| page.len())), "conversation.not_found");
        let entity = Entity::Conversation(group);
        let decided =
            device.call(move |client| async move { client.set_consent(entity, State::Denied).await });
        assert_eq!(code(decided), "conversation.not_found");
        assert_eq!(code(device.name(group, "devices")), "conversation.not_found");
        assert_eq!(device.record(entity), None);
        assert!(Dump::of(&device.store).rows::<MessageRow>().is_empty());
        dump::check(&device.store);
    }
    assert_eq!(code(phone.try_text(group, "hello")), "conversation.not_found");
    for queue in queues {
        let events: Vec<Event> = std::iter::from_fn(|| queue.next().now_or_never().flatten()).collect();
        assert!(events.iter().any(|event| matches!(event, Event::Consent { .. })));
        assert!(events.iter().all(|event| event.group().is_none_or(|named| named != group)), "named");
    }
}

#[test]
fn sync_010_a_strangers_sync_group_is_refused_for_good() {
    let world = World::new(4);
    let (mallory, mut bo) = (world.user("mallory"), world.user("bo"));
    let device = bo.client.installation();
    // All hers but the one she wants to decide for, and one that names bo as the only member.
    let offers =
        [dictionary(mallory.inbox(), &entries(&[&mallory, &bo])), dictionary(bo.inbox(), &entries(&[&bo]))];
    for (at, dictionary) in offers.iter().enumerate() {
        Forger::of(&mallory).offer(GroupId([at as u8; 16]), dictionary, &[device]);
        bo.sync();
    }
    assert_eq!(refused(&bo), ["SYNC-010", "SYNC-010"]);
    assert!(bo.sync_groups().is_empty() && Dump::of(&bo.store).groups().is_empty());
    // It is not tried again, and what is told in it decides nothing.
    bo.reopen();
    bo.sync();
    assert!(Dump::of(&bo.store).groups().is_empty());
    assert_eq!(bo.consent(SOMEBODY), State::Unknown);
}

#[test]
fn sync_010_an_own_device_cannot_let_others_in() {
    for (seed, leaf) in [(5, true), (6, false)] {
        let world = World::new(seed);
        let (phone, laptop, mallory) = (world.user("alice"), world.user("alice"), world.user("mallory"));
        let mut added = vec![laptop.client.installation()];
        let mut members = vec![&phone];
        if leaf {
            added.push(mallory.client.installation());
        } else {
            members.push(&mallory);
        }
        let dictionary = dictionary(phone.inbox(), &entries(&members));
        Forger::of(&phone).offer(FORGED, &dictionary, &added);
        laptop.sync();
        assert_eq!(refused(&laptop), ["SYNC-010"], "a foreign leaf: {leaf}");
        assert!(laptop.sync_groups().is_empty());
    }
}

#[test]
fn sync_010_nothing_is_told_where_a_stranger_got_in_later() {
    let (phone, laptop) = two(7);
    let world = phone.world.clone();
    let (tablet, mallory) = (world.user("alice"), world.user("mallory"));
    sync_all(&[&phone, &laptop, &tablet]);
    let group = phone.sync_group();
    // A device that does what none should.
    let rogue = Forger::of(&tablet);
    let entry = Entry { sequence_id: forge::newest_update(&mallory), ..Entry::default() }.encode();
    let insert = encode_map_delta(&[MapMutation::Insert(Key::Inbox(mallory.inbox()), entry)]);
    let package = rogue.key_package(mallory.client.installation());
    let raw = Raw { adds: vec![package], ..Raw::write(GROUP_MEMBERSHIP, insert) };
    rogue.publish(group, rogue.raw_commit(group, raw).bytes);
    phone.sync();
    assert_eq!(phone.members(group).len(), 2, "the commit itself breaks no rule");
    let before = told_in(&world, group);
    phone.set_consent(SOMEBODY, State::Denied);
    sync_all(&[&phone, &laptop]);
    assert_eq!(told_in(&world, group), before);
    let other: Vec<_> = phone.sync_groups().into_iter().filter(|id| *id != group).collect();
    assert_eq!(other.len(), 1, "a new one is made");
    assert_eq!(laptop.record(SOMEBODY), phone.record(SOMEBODY));
}

#[test]
fn a_sync_groups_welcome_held_by_an_older_version_is_tried_again() {
    let world = World::new(8);
    let phone = world.user("alice");
    phone.set_consent(SOMEBODY, State::Denied);
    let laptop = world.user("alice");
    phone.sync();
    let topic = Topic::Welcome(laptop.client.installation().0);
    let welcome = world.delivery.stored(topic).remove(0);
    let at = welcome.sequence_id;
    let mut changes = Changes::default();
    changes.put(&EnvelopeRow {
        topic,
        sequence_id: at,
        server_ns: welcome.server_ns,
        hash: welcome.hash,
        payload: welcome.payload,
        state: EnvelopeState::Held("welcome.sync".into(), "sync groups are not supported yet".into()),
        received_ns: welcome.server_ns,
    });
    changes.put(&PositionRow { topic, received: at, processed: at });
    laptop.store.reopen().apply(changes).now_or_never().unwrap().unwrap();
    laptop.sync();
    assert_eq!(laptop.sync_group(), phone.sync_group());
    assert_eq!(laptop.record(SOMEBODY), phone.record(SOMEBODY));
    assert!(Dump::of(&laptop.store).rows::<EnvelopeRow>().is_empty());
}

#[test]
fn cons_002_what_is_told_has_the_one_wire_form() {
    let world = World::new(9);
    let phone = world.user("alice");
    phone.set_consent(SOMEBODY, State::Denied);
    phone.set_consent(ELSEWHERE, State::Allowed);
    let laptop = world.user("alice");
    phone.sync();
    let group = phone.sync_group();
    let (scratch, mut opened) = forge::join_apart(&laptop);
    let mut found = Vec::new();
    for envelope in world.delivery.stored(Topic::Group(group)) {
        let Ok(ClientEnvelope::GroupMessage { data, should_push, .. }) =
            ClientEnvelope::decode(&envelope.payload)
        else {
            panic!("no group message")
        };
        if mls::peek(&data).unwrap().kind != FrameKind::Application {
            continue;
        }
        assert!(!should_push);
        let Ok(Opened::Application { plaintext, .. }) = mls::open(&scratch, &mut opened, &data) else {
            panic!("not for the new device")
        };
        let Ok(PlaintextEnvelope::V1(message)) = PlaintextEnvelope::decode(&plaintext) else {
            panic!("not V1")
        };
        let content = EncodedContent::decode(&message.content).unwrap();
        assert_eq!(content.content_type.to_string(), "xmtp.org/application/x-protobuf:1.0");
        found.extend(consents_of(&content).unwrap());
    }
    let mut expected: Vec<ConsentSave> =
        records(&Dump::of(&phone.store)).values().map(ConsentSave::from).collect();
    expected.sort_by_key(|save| save.entity_type);
    found.sort_by_key(|save| save.entity_type);
    assert_eq!(found, expected);
    assert_eq!((found[0].entity.as_str(), found[0].state), ("cd".repeat(16).as_str(), 2));
    assert_eq!((found[1].entity.as_str(), found[1].state), ("ab".repeat(32).as_str(), 3));
}

#[test]
fn two_tabs_make_one_sync_group_and_tell_a_decision_once() {
    for seed in 0..6 {
        let world = World::new(seed);
        let phone = world.user("alice");
        let tab = phone.tab();
        let laptop = world.user("alice");
        phone.set_consent(SOMEBODY, State::Denied);
        phone.gate.jitter.set(seed * 2 + 1);
        let (one, two) = (phone.client.clone(), tab.client.clone());
        world.run(async move {
            let (first, second) = futures::join!(one.sync(), two.sync());
            (first.unwrap(), second.unwrap())
        });
        sync_all(&[&phone, &tab, &laptop]);
        let group = phone.sync_group();
        assert_eq!(told_in(&world, group), 1, "told once");
        let (one, two) = (phone.client.clone(), tab.client.clone());
        let done = world.run(async move {
            let decided = one.set_consent(ELSEWHERE, State::Denied);
            let decided = futures::join!(decided, two.set_consent(SOMEBODY, State::Allowed));
            let synced = futures::join!(one.sync(), two.sync());
            decided.0.and(decided.1).and(synced.0).and(synced.1)
        });
        done.unwrap();
        sync_all(&[&phone, &tab, &laptop]);
        assert_eq!(records(&Dump::of(&laptop.store)), records(&Dump::of(&phone.store)));
        assert_eq!(phone.owed(), []);
        together(group, &[&phone, &tab, &laptop]);
    }
}

#[test]
fn a_decision_another_tab_makes_while_an_older_one_is_told_stays_owed() {
    let (phone, laptop) = two(16);
    let tab = phone.tab();
    phone.set_consent(SOMEBODY, State::Denied);
    let client = tab.client.clone();
    let gate = phone.gate.clone();
    let between: Between = Rc::new(move |changes| {
        let tells = |write: &Write| matches!(write, Write::Delete { table: Table::Preferences, .. });
        if changes.writes.iter().any(tells) {
            // Once: the next try finds it.
            gate.between.borrow_mut().take();
            let decided = client.set_consent(SOMEBODY, State::Allowed).now_or_never();
            assert!(decided.is_some_and(|result| result.is_ok()));
        }
    });
    *phone.gate.between.borrow_mut() = Some(between);
    phone.sync();
    phone.sync();
    laptop.sync();
    assert_eq!(phone.consent(SOMEBODY), State::Allowed);
    assert_eq!(laptop.record(SOMEBODY), phone.record(SOMEBODY));
    assert_eq!(phone.owed(), []);
}
