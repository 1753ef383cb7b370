//! Events as an app is told of them: each change once, when it can be read, in every tab (EVENT,
//! CONS-041).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use dovetail::base::GroupId;
use dovetail::client::{EventFilter, EventQueue, EventSubscription, Overheard, Role, Setting};
use dovetail::consent::{Entity, State};
use dovetail::engine::event::{Event, KINDS};
use dovetail::store::rows::{GroupKind, MessageStatus};
use futures::FutureExt;

use crate::common::dump::Dump;
use crate::common::{User, World, wallet};
use crate::dm::{duplicates, sync_all};
use crate::gang::open_gang;
use crate::groups_floor::raise;

fn place(kind: &str) -> usize {
    KINDS.iter().position(|known| *known == kind).expect("a kind")
}

fn watch(user: &User, filter: EventFilter) -> EventQueue {
    user.call(move |client| async move { client.events(filter, false).await }).expect("events")
}

fn watch_all(user: &User) -> EventQueue {
    watch(user, EventFilter::default())
}

fn watch_kinds(user: &User, kinds: &[&str]) -> EventQueue {
    let kinds = Some(kinds.iter().map(|kind| place(kind)).collect());
    watch(user, EventFilter { kinds, ..EventFilter::default() })
}

fn drain(queue: &EventQueue) -> Vec<Event> {
    std::iter::from_fn(|| queue.next().now_or_never().flatten()).collect()
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| KINDS[event.kind()]).collect()
}

fn decide(user: &User, decisions: &[(Entity, State)]) {
    let decisions = decisions.to_vec();
    user.call(move |client| async move { client.set_consents(&decisions).await }).expect("decided");
}

fn decisions(events: &[Event]) -> Vec<(Entity, State)> {
    let of = |event: &Event| match event {
        Event::Consent { entity, state } => (*entity, *state),
        other => panic!("{}", KINDS[other.kind()]),
    };
    events.iter().map(of).collect()
}

/// Tells one tab what the other commits, as the channel between them does.
struct Relay {
    sent: Rc<RefCell<Vec<Vec<u8>>>>,
    _subscription: EventSubscription,
}

impl Relay {
    fn from(user: &User) -> Self {
        let sent = Rc::<RefCell<Vec<Vec<u8>>>>::default();
        let into = sent.clone();
        let subscription = user.client.subscribe_commits(move |events| {
            let told: Vec<_> = events.iter().map(Overheard::of).collect();
            into.borrow_mut().push(Overheard::encode(&told));
        });
        Self { sent, _subscription: subscription }
    }

    fn to(&self, tab: &User) {
        for bytes in self.sent.take() {
            let told = Overheard::decode(&bytes).expect("its own words");
            tab.call(move |client| async move { client.overhear(&told, &Cell::new(false)).await })
                .expect("heard");
        }
    }
}

#[test]
fn cons_041_a_changed_state_is_told_once_in_every_tab() {
    let (alice, bo, a, b) = duplicates();
    let tab = bo.tab();
    let relay = Relay::from(&bo);
    let (own, other) = (watch_kinds(&bo, &["consent.changed"]), watch_kinds(&tab, &["consent.changed"]));
    let (dm, peer) = (Entity::Conversation(a), Entity::Inbox(alice.inbox()));
    decide(&bo, &[(dm, State::Denied), (peer, State::Allowed)]);
    // The same again, with a newer time: the state is what it was.
    decide(&bo, &[(dm, State::Denied), (peer, State::Allowed)]);
    bo.decide(a, State::Denied);
    relay.to(&tab);
    let told = decisions(&drain(&own));
    let twin = Entity::Conversation(b);
    assert_eq!(told, [(dm, State::Denied), (peer, State::Allowed), (twin, State::Denied)]);
    assert_eq!(decisions(&drain(&other)), told);
    for user in [&bo, &tab] {
        assert_eq!(user.consent(dm), State::Denied, "what is told can be read");
    }
}

#[test]
fn cons_041_no_record_and_a_record_of_unknown_are_one_state() {
    let (_alice, bo, ..) = duplicates();
    let told = watch_all(&bo);
    let stranger = Entity::Conversation(GroupId([7; 16]));
    decide(&bo, &[(stranger, State::Unknown)]);
    assert!(drain(&told).is_empty());
    decide(&bo, &[(stranger, State::Allowed)]);
    decide(&bo, &[(stranger, State::Unknown)]);
    let states: Vec<State> = decisions(&drain(&told)).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, [State::Allowed, State::Unknown]);
}

#[test]
fn event_a_conversation_is_joined_then_talked_in() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let (at_alice, at_bo) = (watch_all(&alice), watch_all(&bo));
    let group = alice.dm(&bo);
    match &drain(&at_alice)[..] {
        [
            Event::Conversation { group: told, kind: GroupKind::Dm, adder: None, .. },
            Event::Consent { state: State::Allowed, .. },
        ] => assert_eq!(*told, group),
        other => panic!("{:?}", kinds(other)),
    }
    alice.sync();
    match &drain(&at_alice)[..] {
        [Event::MembersChanged { added, removed, .. }] => {
            assert_eq!((added, removed.len()), (&vec![bo.inbox()], 0));
        }
        other => panic!("{:?}", kinds(other)),
    }
    let sent = alice.text(group, "hello");
    assert!(drain(&at_alice).is_empty(), "written is no change of a state");
    alice.sync();
    match &drain(&at_alice)[..] {
        [Event::MessageStatus { id, previous, status, .. }] => {
            assert_eq!(
                (*id, previous, status),
                (sent, &MessageStatus::Unpublished, &MessageStatus::Published)
            );
        }
        other => panic!("{:?}", kinds(other)),
    }
    bo.sync();
    match &drain(&at_bo)[..] {
        [
            Event::Conversation { adder: Some(adder), .. },
            Event::Received { id, group: stored, sender, content_type, .. },
        ] => {
            assert_eq!((*adder, *sender), (alice.inbox(), alice.inbox()));
            assert_eq!((*id, *stored), (sent, group));
            assert_eq!(content_type.as_ref().map(|of| of.type_id.as_str()), Some("text"));
        }
        other => panic!("{:?}", kinds(other)),
    }
}

#[test]
fn event_a_message_names_the_copy_it_is_stored_in_and_a_filter_any_copy() {
    let (alice, bo, a, b) = duplicates();
    let winner = bo.conversations()[0].group.id;
    let loser = if winner == a { b } else { a };
    let groups = |groups: &[GroupId]| EventFilter { groups: Some(groups.to_vec()), ..Default::default() };
    let (by_winner, by_loser) = (watch(&bo, groups(&[winner])), watch(&bo, groups(&[loser])));
    let other = watch(&bo, groups(&[GroupId([9; 16])]));
    alice.text(winner, "one");
    alice.sync();
    bo.sync();
    decide(
        &bo,
        &[(Entity::Conversation(loser), State::Denied), (Entity::Conversation(winner), State::Denied)],
    );
    for queue in [&by_winner, &by_loser] {
        let told = drain(queue);
        assert_eq!(kinds(&told), ["message.received", "consent.changed", "consent.changed"]);
        assert_eq!(told[0].group(), Some(winner));
    }
    // An event that names no group is not narrowed.
    decide(&bo, &[(Entity::Inbox(alice.inbox()), State::Denied)]);
    assert_eq!(kinds(&drain(&other)), ["consent.changed"]);
}

#[test]
fn event_a_filter_learns_a_copy_that_joins_later() {
    let world = World::new(4);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    let early = watch(&bo, EventFilter { groups: Some(vec![b]), ..Default::default() });
    let unknown = watch(&bo, EventFilter { groups: Some(vec![a]), ..Default::default() });
    alice.offline(false);
    bo.offline(false);
    sync_all(&[&alice, &bo]);
    drain(&early);
    drain(&unknown);
    decide(&bo, &[(Entity::Conversation(a), State::Denied), (Entity::Conversation(b), State::Denied)]);
    assert_eq!(drain(&early).len(), 2);
    assert!(!drain(&unknown).is_empty(), "known by its own id at least");
}

#[test]
fn event_only_selected_kinds_and_content_types_are_queued() {
    let (alice, bo, a, _) = duplicates();
    let types = Some(vec!["reaction".to_owned()]);
    let reactions = watch(&bo, EventFilter { content_types: types, ..Default::default() });
    let nothing = watch(&bo, EventFilter { kinds: Some(Vec::new()), ..Default::default() });
    let received = watch_kinds(&bo, &["message.received"]);
    alice.text(a, "a text");
    alice.sync();
    bo.sync();
    decide(&bo, &[(Entity::Conversation(a), State::Denied)]);
    assert_eq!(kinds(&drain(&reactions)), ["consent.changed"]);
    assert_eq!(kinds(&drain(&received)), ["message.received"]);
    assert!(drain(&nothing).is_empty());
}

#[test]
fn event_changes_of_a_group_are_told_one_by_one() {
    let world = World::new(5);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo]);
    let told = watch_all(&bo);
    alice.name(group, "one").unwrap();
    alice.add(group, &[cy.inbox()]).unwrap();
    alice.role(group, bo.inbox(), Role::Admin, true).unwrap();
    alice.remove(group, &[cy.inbox()]).unwrap();
    bo.sync();
    let events = drain(&told);
    let (mut changed, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for event in &events {
        match event {
            Event::SettingsChanged { changed: names, .. } => changed.extend(names.clone()),
            Event::MembersChanged { added: more, removed: less, .. } => {
                added.extend(more.clone());
                removed.extend(less.clone());
            }
            other => panic!("{}", KINDS[other.kind()]),
        }
    }
    assert_eq!(events.len(), 4, "one a commit");
    assert_eq!(changed, ["group_name", "ADMIN_LIST"]);
    assert_eq!((added, removed), (vec![cy.inbox()], vec![cy.inbox()]));
}

#[test]
fn event_a_removal_says_whether_it_was_asked_for() {
    let world = World::new(6);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo, &cy]);
    let (at_bo, at_cy) =
        (watch_kinds(&bo, &["conversation.removed"]), watch_kinds(&cy, &["conversation.removed"]));
    bo.leave(group).unwrap();
    alice.remove(group, &[cy.inbox()]).unwrap();
    crate::common::group::sync_all(&[&bo, &alice, &bo, &cy]);
    let left = |events: Vec<Event>| match events[..] {
        [Event::Removed { left, .. }] => left,
        _ => panic!("{:?}", kinds(&events)),
    };
    assert!(left(drain(&at_bo)));
    assert!(!left(drain(&at_cy)));
}

#[test]
fn event_a_paused_conversation_is_told_once() {
    let gang = open_gang(0);
    let told = watch_kinds(&gang.alice, &["conversation.paused"]);
    raise(&gang, "7.0.0");
    gang.sync();
    gang.sync();
    match &drain(&told)[..] {
        [Event::Paused { floor, .. }] => assert_eq!(floor, "7.0.0"),
        other => panic!("{:?}", kinds(other)),
    }
}

#[test]
fn event_a_message_that_has_expired_by_then_is_not_told() {
    let world = World::new(7);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    alice.set(group, Setting::DisappearIn(1_000_000_000)).unwrap();
    alice.set(group, Setting::DisappearFrom(1)).unwrap();
    bo.sync();
    let told = watch_kinds(&bo, &["message.received"]);
    alice.text(group, "gone too soon");
    alice.sync();
    world.settle(5_000);
    alice.text(group, "in time");
    alice.sync();
    bo.sync();
    assert_eq!(drain(&told).len(), 1);
}

#[test]
fn event_the_own_inbox_is_told_of_in_every_tab_and_nothing_twice() {
    let world = World::new(8);
    let first = world.device("alice");
    let tab = first.tab();
    let relay = Relay::from(&first);
    let kinds_of =
        ["identity.registered", "identity.own_installation_added", "identity.own_installation_revoked"];
    let (told, at_tab) = (watch_kinds(&first, &kinds_of), watch_kinds(&tab, &kinds_of));
    let sign = wallet(first.secret);
    first.call(move |client| async move { client.register(1, &sign).await }).unwrap();
    relay.to(&tab);
    assert_eq!(kinds(&drain(&told)), ["identity.own_installation_added", "identity.registered"]);
    assert_eq!(kinds(&drain(&at_tab)), ["identity.own_installation_added", "identity.registered"]);
    assert!(tab.client.is_registered());

    let second = world.user("alice");
    // Both read the log for themselves, and hear of what the other read.
    tab.sync();
    first.sync();
    relay.to(&tab);
    for queue in [&told, &at_tab] {
        match drain(queue)[..] {
            [Event::InstallationAdded { installation, .. }] => {
                assert_eq!(installation, second.client.installation());
            }
            ref other => panic!("{:?}", kinds(other)),
        }
    }
    let sign = wallet(first.secret);
    first.call(move |client| async move { client.revoke_others(&sign).await }).unwrap();
    relay.to(&tab);
    tab.sync();
    assert_eq!(kinds(&drain(&told)), ["identity.own_installation_revoked"]);
    assert_eq!(kinds(&drain(&at_tab)), ["identity.own_installation_revoked"]);
}

#[test]
fn event_what_is_told_can_be_read_and_tells_nobody_to_ask_the_service() {
    let (alice, bo, a, _) = duplicates();
    let store = bo.store.reopen();
    let seen = Rc::new(Cell::new(0));
    let count = seen.clone();
    bo.gate.plan(None);
    let _subscription = bo.client.subscribe(move |event| {
        if let Event::Received { id, .. } = event {
            assert!(Dump::of(&store).messages().contains_key(id));
            count.set(count.get() + 1);
        }
    });
    let queue = watch_all(&bo);
    assert_eq!(bo.gate.counts(), (0, 0));
    queue.end();
    alice.text(a, "hello");
    alice.sync();
    bo.sync();
    assert_eq!(seen.get(), 1);
}

#[test]
fn event_a_queue_ends_with_its_client_and_when_it_is_ended() {
    let (_alice, bo, a, _) = duplicates();
    let (ended, closed) = (watch_all(&bo), watch_all(&bo));
    ended.end();
    bo.decide(a, State::Denied);
    assert!(ended.next().now_or_never().expect("at once").is_none());
    let waits = bo.call(|client| async move {
        assert!(closed.next().await.is_some());
        assert!(closed.next().await.is_some());
        let (next, ()) = futures::join!(closed.next(), client.close());
        next.is_none()
    });
    assert!(waits);
    let refused = bo.call(|client| async move { client.events(EventFilter::default(), true).await.err() });
    assert_eq!(refused.expect("closed").code, "client.closed");
}

#[test]
fn event_noise_on_the_channel_between_tabs_is_nothing() {
    assert!(Overheard::decode(&[]).is_none());
    let (_alice, bo, a, _) = duplicates();
    for bytes in [[0xff; 9].as_slice(), &[1, 2, 1], b"\x01hello", &[2, 0]] {
        assert!(Overheard::decode(bytes).is_none());
        bo.call(|client| async move { client.overhear_noise().await });
    }
    bo.text(a, "it goes on");
    assert_eq!(bo.texts(a), ["it goes on"]);
}
