//! What streams tell: by the consent and the name a conversation has once the commit is readable
//! (CONS-030, CONS-042 to CONS-044, DMS-007, DMS-009).

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::GroupId;
use dovetail::client::{EventSubscription, Interest, News};
use dovetail::consent::State;
use dovetail::store::rows::GroupState;

use crate::common::group::sync_all;
use crate::common::{User, World, text_of};
use crate::decisions::{decide_apart, two_copies};

struct Stream {
    told: Rc<RefCell<Vec<String>>>,
    _open: EventSubscription,
}

impl Stream {
    fn open(user: &User, interest: Interest) -> Self {
        let told: Rc<RefCell<Vec<String>>> = Rc::default();
        let into = told.clone();
        let open = user.call(move |client| async move {
            client.follow(interest, move |news| into.borrow_mut().extend(name(&news))).await
        });
        Self { told, _open: open.expect("followed") }
    }

    fn messages(user: &User, states: Option<Vec<State>>) -> Self {
        Self::open(user, messages(None, states))
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.borrow_mut())
    }
}

fn name(news: &News) -> Option<String> {
    match news {
        News::Message(row) => Some(text_of(row)),
        News::Conversation(group) | News::Duplicate(group) => Some(group.to_string()),
        News::Deletion(_) | News::Consent(_) => None,
    }
}

fn messages(conversation: Option<GroupId>, states: Option<Vec<State>>) -> Interest {
    Interest::Messages { conversation, kind: None, states, types: Default::default() }
}

fn conversations(states: Option<Vec<State>>, duplicates: bool) -> Interest {
    Interest::Conversations { kind: None, states, duplicates }
}

/// A message makes the copy it is in the winner: whether it is told is decided by what the list then
/// shows, not by the copy that was listed before.
#[test]
fn cons_042_a_message_is_told_by_the_consent_its_conversation_then_has() {
    for [listed_first, then] in [[State::Allowed, State::Denied], [State::Denied, State::Allowed]] {
        let world = World::new(11);
        let (bo, first, second) = (world.user("bo"), world.user("alice"), world.user("alice"));
        first.offline(true);
        second.offline(true);
        let [a, b] = [first.dm(&bo), second.dm(&bo)];
        first.offline(false);
        first.text(a, "one");
        first.sync();
        bo.sync();
        decide_apart(&bo, a, listed_first);
        decide_apart(&bo, b, then);
        let (all, blocked) = (Stream::messages(&bo, None), Stream::messages(&bo, Some(vec![State::Denied])));
        second.text(b, "makes its copy the winner");
        second.offline(false);
        second.sync();
        bo.sync();
        assert_eq!(bo.inspect(a).winner, b);
        let listed = bo.conversations().len();
        assert_eq!(listed, usize::from(then == State::Allowed), "the winner's record");
        assert_eq!((all.take().len(), blocked.take().len()), (listed, 1 - listed));
    }
}

#[test]
fn cons_044_dms_007_a_second_group_of_a_dm_is_told_to_whom_asked_for_duplicates() {
    let world = World::new(12);
    let (bo, first, second) = (world.user("bo"), world.user("alice"), world.user("alice"));
    let plain = Stream::open(&bo, conversations(None, false));
    let all = Stream::open(&bo, conversations(None, true));
    first.offline(true);
    second.offline(true);
    let groups = [first.dm(&bo), second.dm(&bo)];
    first.offline(false);
    first.sync();
    bo.sync();
    bo.decide(groups[0], State::Denied);
    second.offline(false);
    second.sync();
    bo.sync();
    assert_eq!(plain.take(), [groups[0].to_string()]);
    assert_eq!(all.take(), groups.map(|group| group.to_string()), "of every consent state");
}

#[test]
fn cons_030_a_conversation_stream_tells_its_states_only() {
    let world = World::new(13);
    let (bo, alice, cy) = (world.user("bo"), world.user("alice"), world.user("cy"));
    let streams = [Some(vec![]), Some(vec![State::Unknown]), Some(vec![State::Allowed, State::Denied]), None]
        .map(|states| Stream::open(&bo, conversations(states, false)));
    let theirs = alice.dm(&bo);
    alice.sync();
    bo.sync();
    let own = bo.dm(&cy);
    let (theirs, own) = (theirs.to_string(), own.to_string());
    let told = streams.map(|stream| stream.take());
    assert_eq!(told, [vec![], vec![theirs.clone()], vec![own.clone()], vec![theirs, own]]);
}

#[test]
fn cons_044_a_group_we_come_back_to_is_told_again() {
    let world = World::new(14);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let stream = Stream::open(&bo, conversations(None, false));
    let group = alice.group(&[&bo]);
    assert_eq!(stream.take(), [group.to_string()]);
    alice.remove(group, &[bo.inbox()]).unwrap();
    bo.sync();
    alice.add(group, &[bo.inbox()]).unwrap();
    sync_all(&[&bo]);
    assert_eq!(bo.row(group).state, GroupState::Active);
    assert_eq!(stream.take(), [group.to_string()], "it is to be decided about, or lived in, again");
}

#[test]
fn cons_043_dms_009_a_stream_through_one_copy_brings_what_arrives_in_any() {
    let (bo, devices, groups) = two_copies(15);
    bo.decide(groups[0], State::Denied);
    let through = groups.map(|group| Stream::open(&bo, messages(Some(group), None)));
    for (device, group) in devices.iter().zip(groups) {
        device.text(group, &group.to_string());
        device.sync();
    }
    bo.sync();
    for stream in through {
        let mut told = stream.take();
        told.sort();
        let mut expected = groups.map(|group| group.to_string());
        expected.sort();
        assert_eq!(told, expected);
    }
}
