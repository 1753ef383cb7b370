//! What an app reads, decides and hears beyond the main story.

mod common;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use common::{User, World, text_of};
use dovetail::base::{GroupId, MessageId, Topic};
use dovetail::client::{EventSubscription, Interest, News, Overheard, SendOptions};
use dovetail::consent::{Entity, State};
use dovetail::engine::history::{HistoryOptions, SortBy};
use dovetail::store::rows::{GroupKind, MessageKind};
use dovetail::wire::{ClientEnvelope, ContentType, EncodedContent};

type Heard = Rc<RefCell<Vec<News>>>;

fn follow(user: &User, interest: Interest) -> (Heard, EventSubscription) {
    let heard = Heard::default();
    let into = heard.clone();
    let subscription = user.call(move |client| async move {
        client.follow(interest, move |news| into.borrow_mut().push(news)).await
    });
    (heard, subscription.expect("subscribed"))
}

fn messages(conversation: Option<GroupId>, states: Option<Vec<State>>) -> Interest {
    Interest::Messages { conversation, kind: None, states, types: Default::default() }
}

fn texts(heard: &Heard) -> Vec<String> {
    let text = |news: &News| match news {
        News::Message(row) => Some(text_of(row)),
        _ => None,
    };
    heard.borrow().iter().filter_map(text).collect()
}

fn decide(user: &User, decisions: Vec<(Entity, State)>) {
    user.call(move |client| async move { client.set_consents(&decisions).await }).expect("decided");
}

/// Two users with a DM that both have.
fn pair(seed: u64) -> (Rc<World>, User, User, GroupId) {
    let world = World::new(seed);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let dm = alice.dm(&bo);
    alice.sync();
    bo.sync();
    (world, alice, bo, dm)
}

#[test]
fn cons_042_043_a_denied_conversation_is_told_of_only_when_it_is_named() {
    let (_world, alice, bo, dm) = pair(1);
    decide(&bo, vec![(Entity::Conversation(dm), State::Denied)]);
    let (all, _a) = follow(&bo, messages(None, None));
    let (named, _b) = follow(&bo, messages(Some(dm), None));
    let (denied, _c) = follow(&bo, messages(None, Some(vec![State::Denied])));
    let (nothing, _d) = follow(&bo, messages(Some(dm), Some(Vec::new())));
    alice.text(dm, "hello");
    alice.sync();
    bo.sync();
    assert_eq!(texts(&all), [""; 0]);
    assert_eq!(texts(&named), ["hello"]);
    assert_eq!(texts(&denied), ["hello"]);
    assert_eq!(texts(&nothing), [""; 0]);
}

#[test]
fn cons_044_a_new_conversation_is_told_of_whatever_its_consent_and_a_duplicate_is_not() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let (made, _a) = follow(&bo, Interest::Conversations { kind: None, states: None, duplicates: false });
    let groups = Interest::Conversations { kind: Some(GroupKind::Group), states: None, duplicates: false };
    let (groups, _b) = follow(&bo, groups);
    let allowed =
        Interest::Conversations { kind: None, states: Some(vec![State::Allowed]), duplicates: false };
    let (allowed, _c) = follow(&bo, allowed);
    alice.offline(true);
    bo.offline(true);
    let (_, own) = (alice.dm(&bo), bo.dm(&alice));
    assert!(matches!(made.borrow()[..], [News::Conversation(group)] if group == own));
    alice.offline(false);
    bo.offline(false);
    for _ in 0..2 {
        alice.sync();
        bo.sync();
    }
    assert_eq!(made.borrow().len(), 1, "the second group of the DM is no new conversation");
    assert_eq!((groups.borrow().len(), allowed.borrow().len()), (0, 1));

    let cy = world.user("cy");
    cy.dm(&bo);
    cy.sync();
    bo.sync();
    assert_eq!((made.borrow().len(), allowed.borrow().len()), (2, 1), "a stranger's DM is unknown");
}

#[test]
fn every_message_is_told_once_own_ones_when_they_are_stored() {
    let (_world, alice, bo, dm) = pair(3);
    let (heard, subscription) = follow(&alice, messages(None, None));
    alice.offline(true);
    alice.text(dm, "own");
    assert_eq!(texts(&heard), ["own"], "before it is published");
    alice.offline(false);
    bo.text(dm, "theirs");
    bo.sync();
    alice.sync();
    alice.sync();
    let mut all = texts(&heard);
    all.sort();
    assert_eq!(all, ["own", "theirs"]);
    drop(subscription);
    alice.text(dm, "later");
    assert_eq!(texts(&heard).len(), 2);
    let unknown = messages(Some(GroupId([9; 16])), None);
    let error = alice.call(|client| async move { client.follow(unknown, |_| {}).await.err() });
    assert_eq!(error.expect("an error").code, "conversation.not_found");
}

#[test]
fn cons_011_041_several_decisions_are_one_act_at_one_time() {
    let (_world, alice, bo, dm) = pair(4);
    let (heard, _s) = follow(&bo, Interest::Consent);
    let (stranger, peer) = (Entity::Conversation(GroupId([3; 16])), Entity::Inbox(alice.inbox()));
    let all = [Entity::Conversation(dm), stranger, peer];
    decide(&bo, all.iter().map(|entity| (*entity, State::Denied)).chain([(peer, State::Allowed)]).collect());
    let want = [(all[0], State::Denied), (stranger, State::Denied), (peer, State::Allowed)];
    match &heard.borrow()[..] {
        [News::Consent(records)] => {
            let (told, want): (BTreeSet<_>, BTreeSet<_>) = (records.iter().collect(), want.iter().collect());
            assert_eq!(told, want);
        }
        other => panic!("{} events", other.len()),
    }
    for (entity, state) in want {
        let stored = bo.call(move |client| async move { client.consent(entity).await });
        assert_eq!(stored, Ok(state));
    }
    assert!(bo.conversations().is_empty());
    decide(&bo, vec![(peer, State::Allowed)]);
    assert_eq!(heard.borrow().len(), 1, "nothing changed");
}

#[test]
fn cons_031_a_sync_by_consent_leaves_denied_conversations_unread() {
    let (_world, alice, bo, dm) = pair(5);
    decide(&bo, vec![(Entity::Conversation(dm), State::Denied)]);
    alice.text(dm, "hello");
    alice.sync();
    let sync = |states: Option<Vec<State>>| {
        bo.call(move |client| async move { client.sync_by_consent(states.as_deref()).await })
            .expect("synced");
        bo.texts(dm).len()
    };
    assert_eq!(sync(None), 0);
    assert_eq!(sync(Some(vec![State::Allowed])), 0);
    assert_eq!(sync(Some(vec![State::Denied])), 1);
}

#[test]
fn sync_of_new_conversations_takes_in_welcomes() {
    let world = World::new(6);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let dm = alice.dm(&bo);
    alice.text(dm, "hello");
    alice.sync();
    bo.call(|client| async move { client.sync_new().await }).expect("synced");
    assert_eq!(bo.texts(dm), ["hello"]);
}

#[test]
fn counts_members_and_the_newest_message_agree_with_the_pages() {
    let (_world, alice, bo, dm) = pair(7);
    for n in 0..3 {
        alice.text(dm, &n.to_string());
    }
    alice.sync();
    bo.sync();
    let count = |options: HistoryOptions| {
        bo.call(move |client| async move { client.count_messages(dm, &options).await }).expect("a count")
    };
    // A DM's count leaves out the changes of its members, unless they are asked for.
    assert_eq!(count(HistoryOptions::default()), 3);
    let changes = HistoryOptions { kind: Some(MessageKind::MembershipChange), ..Default::default() };
    assert_eq!(count(changes.clone()), bo.history(dm, changes).len() as u64);
    let last = bo.call(move |client| async move { client.last_message(dm).await }).expect("read");
    assert_eq!(last.map(|row| text_of(&row)).as_deref(), Some("2"));

    let members = bo.call(move |client| async move { client.members(dm).await }).expect("members");
    let mut inboxes: Vec<_> = members.iter().map(|member| member.inbox).collect();
    inboxes.sort();
    let mut want = [alice.inbox(), bo.inbox()];
    want.sort();
    assert_eq!(inboxes, want);
    let other = members.iter().find(|member| member.inbox == alice.inbox()).expect("alice");
    assert_eq!(other.installations, [alice.client.installation()]);
    assert_eq!(other.accounts.len(), 1, "her log was read to judge the group");
}

#[test]
fn a_page_can_be_in_the_order_rows_were_stored_here() {
    let (_world, alice, bo, dm) = pair(8);
    alice.offline(true);
    alice.text(dm, "stored first");
    bo.text(dm, "delivered first");
    bo.sync();
    alice.offline(false);
    alice.sync();
    let page = |sort_by, descending, limit| {
        let options = HistoryOptions { sort_by, descending, limit, ..HistoryOptions::default() };
        alice.history(dm, options).iter().map(text_of).collect::<Vec<_>>()
    };
    assert_eq!(page(SortBy::SentAt, false, None), ["delivered first", "stored first"]);
    assert_eq!(page(SortBy::InsertedAt, false, None), ["stored first", "delivered first"]);
    assert_eq!(page(SortBy::InsertedAt, true, Some(1)), ["delivered first"]);
}

#[test]
fn receivers_are_notified_as_the_app_says_or_the_type_is_used() {
    let (world, alice, _bo, dm) = pair(9);
    let reaction =
        EncodedContent { content_type: ContentType::xmtp("reaction", 1, 0), ..EncodedContent::text("+1") };
    let cases = [
        (EncodedContent::text("a"), None, true),
        (EncodedContent::text("b"), Some(false), false),
        (reaction.clone(), None, false),
        (EncodedContent { content: b"+2".to_vec(), ..reaction }, Some(true), true),
    ];
    for (content, push, want) in cases {
        let options = SendOptions { key: None, push };
        alice
            .call(move |client| async move { client.send_with(dm, content.encode(), options).await })
            .expect("sent");
        alice.sync();
        let stored = world.delivery.stored(Topic::Group(dm)).pop().expect("an envelope");
        match ClientEnvelope::decode(&stored.payload) {
            Ok(ClientEnvelope::GroupMessage { should_push, .. }) => assert_eq!(should_push, want),
            _ => panic!("no group message"),
        }
    }
    let empty = EncodedContent::text("").encode();
    let error = alice.call(move |client| async move { client.send(dm, empty, None).await });
    assert_eq!(error.expect_err("refused").code, "message.empty");
}

#[test]
fn br_052_a_message_never_overtakes_one_that_waits() {
    let world = World::new(10);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let dm = alice.dm(&bo);
    // The first ones wait for the commit that adds bo; the others come while it is under way.
    let want: Vec<String> = (0..12).map(|n| n.to_string()).collect();
    for (n, text) in want.iter().enumerate() {
        alice.text(dm, text);
        world.settle(n as i64 % 4);
    }
    alice.sync();
    bo.sync();
    assert_eq!(bo.texts(dm), want);
}

#[test]
fn br_080_a_second_client_of_the_database_hears_what_the_first_committed() {
    let (world, alice, bo, dm) = pair(11);
    let twin = alice.tab();
    let told = Rc::new(RefCell::new(Vec::new()));
    let into = told.clone();
    let _relay = alice.client.subscribe_commits(move |events| {
        into.borrow_mut().push(events.iter().map(Overheard::of).collect::<Vec<_>>());
    });
    let relay = |told: Vec<Vec<Overheard>>| {
        for one in told {
            let hearing = Cell::new(false);
            twin.call(move |client| async move { client.overhear(&one, &hearing).await }).expect("heard");
        }
    };
    let (heard, _a) = follow(&twin, messages(None, None));
    let (decided, _b) = follow(&twin, Interest::Consent);
    bo.text(dm, "from bo");
    bo.sync();
    alice.sync();
    alice.text(dm, "from the other tab");
    alice.sync();
    decide(&alice, vec![(Entity::Conversation(dm), State::Denied)]);
    relay(told.take());
    assert_eq!(texts(&heard), ["from bo", "from the other tab"]);
    assert_eq!(decided.borrow().len(), 1);
    assert_eq!(twin.texts(dm).len(), 2);
    // What is not there any more is not told of.
    relay(vec![vec![Overheard::Message(MessageId([1; 32]), State::Allowed)]]);
    assert_eq!(texts(&heard).len(), 2);
    // And both go on writing.
    twin.text(dm, "from the twin");
    twin.sync();
    alice.text(dm, "and back");
    alice.sync();
    world.settle(1000);
    bo.sync();
    assert_eq!(bo.texts(dm).len(), 4);
}
