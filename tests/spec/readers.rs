//! The durable stream: what is handed out, in which order, and where it goes on (PROC-024 to PROC-031).

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, MessageId};
use dovetail::client::{Consumer, Replay, Setting};
use dovetail::engine::reader::Selection;
use dovetail::store::StoreError;
use dovetail::store::rows::{ConsumedRow, CountersRow, GroupKind, MessageKind, MessageRow, MessageStatus};
use futures::FutureExt;

use crate::common::chance::Chance;
use crate::common::dump::{self, Dump};
use crate::common::gate::Plan;
use crate::common::{User, World, text_of};
use crate::dm::sync_all;

pub fn whole() -> Selection {
    Selection::default()
}

pub fn consume(user: &User, selection: Selection) -> Consumer {
    user.call(move |client| async move { client.consume(selection).await }).expect("the stream")
}

pub fn replay(user: &User, cursor: Option<String>, selection: Selection) -> Replay {
    user.client.replay(cursor.as_deref(), selection).expect("a replay")
}

/// Everything there is now; the last one is acknowledged by asking for more.
pub fn drain(consumer: &Consumer) -> Vec<MessageRow> {
    std::iter::from_fn(|| consumer.next().now_or_never()?.expect("a message")).collect()
}

pub fn rest(replay: &Replay) -> Vec<MessageRow> {
    std::iter::from_fn(|| replay.next().now_or_never()?.expect("a message")).collect()
}

pub fn next(consumer: &Consumer) -> Option<MessageRow> {
    consumer.next().now_or_never()?.expect("a message")
}

pub fn texts(rows: &[MessageRow]) -> Vec<String> {
    rows.iter().filter(|row| row.kind == MessageKind::Application).map(text_of).collect()
}

/// What the whole stream is to hand out of a database, in order.
pub fn deliverable(user: &User) -> Vec<MessageId> {
    let mut rows: Vec<MessageRow> = Dump::of(&user.store).messages().into_values().collect();
    rows.retain(|row| row.delivery.is_some() && row.status == MessageStatus::Published);
    rows.retain(|row| !(row.kind == MessageKind::MembershipChange && is_dm(row)));
    rows.sort_by_key(|row| row.delivery);
    rows.iter().map(|row| row.id).collect()
}

pub fn is_dm(row: &MessageRow) -> bool {
    matches!(row.thread, dovetail::base::ThreadId::Dm(_))
}

pub fn ids(rows: &[MessageRow]) -> Vec<MessageId> {
    rows.iter().map(|row| row.id).collect()
}

/// bo in a DM of two groups and in a group, with texts from both sides everywhere.
pub struct Talk {
    pub alice: User,
    pub bo: User,
    pub dm: [GroupId; 2],
    pub group: GroupId,
}

pub fn talk(rounds: usize) -> Talk {
    let world = World::new(11);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    for at in 0..3 {
        alice.text(a, &format!("alice {at} before"));
        bo.text(b, &format!("bo {at} before"));
    }
    alice.offline(false);
    bo.offline(false);
    sync_all(&[&alice, &bo]);
    let group = alice.group(&[&bo]);
    let talk = Talk { alice, bo, dm: [a, b], group };
    (0..rounds).for_each(|round| talk.round(round));
    talk
}

impl Talk {
    pub fn round(&self, round: usize) {
        for (user, name) in [(&self.alice, "alice"), (&self.bo, "bo")] {
            for (at, group) in [self.dm[0], self.dm[1], self.group].into_iter().enumerate() {
                user.text(group, &format!("{name} {round} in {at}"));
            }
        }
        [&self.alice, &self.bo, &self.alice, &self.bo].into_iter().for_each(|user| drop(user.sync()));
    }
}

fn owned<T>(result: Option<Result<T, dovetail::error::Error>>) -> bool {
    matches!(result, Some(Err(error)) if error.code == "stream.owned")
}

#[test]
fn proc_024_numbers_rise_in_one_order_and_stay() {
    let talk = talk(2);
    let numbers = |user: &User| {
        let rows = Dump::of(&user.store).messages().into_values();
        let mut numbers: Vec<_> = rows.filter_map(|row| Some((row.delivery?, row.id))).collect();
        numbers.sort_unstable();
        numbers
    };
    let before = numbers(&talk.bo);
    assert!(before.windows(2).all(|pair| pair[0].0 < pair[1].0), "no number twice");
    for row in Dump::of(&talk.bo.store).messages().into_values() {
        assert_eq!(row.delivery.is_some(), row.status == MessageStatus::Published);
    }
    talk.round(2);
    let after = numbers(&talk.bo);
    assert_eq!(after[..before.len()], before, "what has one keeps it, what comes is above");
    let last = Dump::of(&talk.bo.store).rows::<CountersRow>()[0].delivery;
    assert!(after.last().unwrap().0 <= last);
}

#[test]
fn proc_025_only_what_is_published_and_not_expired_is_handed_out() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let consumer = consume(&alice, whole());
    drain(&consumer);
    alice.offline(true);
    alice.text(group, "still here only");
    assert!(drain(&consumer).is_empty());
    alice.offline(false);
    alice.sync();
    assert_eq!(texts(&drain(&consumer)), ["still here only"]);
    alice.set(group, Setting::DisappearIn(1_000_000_000)).unwrap();
    alice.set(group, Setting::DisappearFrom(1)).unwrap();
    alice.text(group, "gone before anybody asked");
    alice.sync();
    world.settle(3_000);
    alice.text(group, "in time");
    alice.sync();
    assert_eq!(texts(&drain(&consumer)), ["in time"]);
}

#[test]
fn proc_026_the_stream_goes_on_behind_what_was_acknowledged() {
    let mut talk = talk(2);
    let all = deliverable(&talk.bo);
    let consumer = consume(&talk.bo, whole());
    let first: Vec<_> = (0..5).filter_map(|_| next(&consumer)).collect();
    assert_eq!(ids(&first), all[..5]);
    // The fifth one was in hand when the page went.
    drop(consumer);
    talk.bo.reopen();
    let again = consume(&talk.bo, whole());
    assert_eq!(ids(&drain(&again)), all[4..]);
    drop(again);
    talk.bo.reopen();
    let later = consume(&talk.bo, whole());
    assert!(drain(&later).is_empty(), "reading on acknowledged the last one");
    // Stored while it waits, and in another tab.
    talk.round(2);
    let tab = talk.bo.tab();
    let fresh = ids(&drain(&later));
    assert_eq!(fresh, deliverable(&tab)[all.len()..]);
    dump::check(&talk.bo.store);
}

#[test]
fn proc_026_the_stream_needs_no_service() {
    let mut talk = talk(1);
    talk.bo.offline(true);
    talk.bo.reopen();
    let consumer = consume(&talk.bo, whole());
    assert_eq!(ids(&drain(&consumer)), deliverable(&talk.bo));
}

#[test]
fn proc_028_one_message_is_in_hand_and_counts_only_once_it_is_dealt_with() {
    let talk = talk(1);
    let all = deliverable(&talk.bo);
    let consumer = consume(&talk.bo, whole());
    let stored = |user: &User| Dump::of(&user.store).rows::<ConsumedRow>()[0].acknowledged;
    let one = next(&consumer).expect("a message");
    assert!(stored(&talk.bo) < one.delivery.unwrap());
    consumer.acknowledge().now_or_never().unwrap().unwrap();
    assert_eq!(stored(&talk.bo), one.delivery.unwrap());
    let two = next(&consumer).expect("a message");
    // An acknowledgement that is not written hands out nothing else.
    talk.bo.gate.plan(Some(Plan::FailApply(0, StoreError::Quota)));
    let error = consumer.next().now_or_never().unwrap().err().expect("refused");
    assert_eq!(error.code, "store.quota");
    drop(consumer);
    let again = consume(&talk.bo, whole());
    assert_eq!(next(&again).map(|row| row.id), Some(two.id));
    assert_eq!(all[..2], [one.id, two.id]);
    // Ending it does not acknowledge either.
    again.end();
    assert!(matches!(again.next().now_or_never(), Some(Ok(None))));
    let last = consume(&talk.bo, whole());
    assert_eq!(next(&last).map(|row| row.id), Some(two.id));
}

#[test]
fn proc_031_whoever_takes_the_stream_has_it_alone() {
    let talk = talk(2);
    let all = deliverable(&talk.bo);
    let tab = talk.bo.tab();
    let first = consume(&talk.bo, whole());
    assert_eq!(next(&first).map(|row| row.id), Some(all[0]));
    let second = consume(&tab, whole());
    assert_eq!(next(&second).map(|row| row.id), Some(all[0]), "it was never acknowledged");
    assert!(owned(first.next().now_or_never()));
    assert!(owned(first.acknowledge().now_or_never()));
    assert_eq!(next(&second).map(|row| row.id), Some(all[1]));
    // Also one that waits, or has nothing to write.
    drain(&second);
    let third = consume(&talk.bo, whole());
    talk.alice.text(talk.group, "news");
    talk.alice.sync();
    tab.sync();
    assert!(owned(second.next().now_or_never()));
    assert_eq!(texts(&drain(&third)), ["news"]);
    // A narrower scope is the same stream.
    let narrow = consume(&tab, Selection { kind: Some(GroupKind::Dm), ..whole() });
    assert!(owned(third.next().now_or_never()));
    drop(narrow);
}

pub fn deliverable_of(talk: &Talk, dm: bool) -> Vec<MessageId> {
    let rows = Dump::of(&talk.bo.store).messages();
    deliverable(&talk.bo).into_iter().filter(|id| is_dm(&rows[id]) == dm).collect()
}

/// Reads the stream in a page that may die at any moment, keeping what was handed out, until there
/// is nothing left or the page is dead.
fn live(bo: &User, selection: &Selection, lives: &Rc<RefCell<Vec<Vec<MessageId>>>>) {
    lives.borrow_mut().push(Vec::new());
    let (into, selection) = (lives.clone(), selection.clone());
    bo.risk(move |client| async move {
        let Ok(consumer) = client.consume(selection).await else { return };
        while let Some(Ok(Some(row))) = now(&consumer).await {
            into.borrow_mut().last_mut().expect("a life").push(row.id);
        }
    });
}

/// The next one, unless there is none now.
async fn now(consumer: &Consumer) -> Option<Result<Option<MessageRow>, dovetail::error::Error>> {
    consumer.next().now_or_never()
}

#[test]
fn proc_026_028_031_whatever_dies_nothing_is_lost_and_only_the_last_one_comes_twice() {
    for seed in 0..24 {
        let mut chance = Chance(seed);
        let mut talk = talk(1);
        let narrow = Selection { kind: Some(GroupKind::Dm), ..whole() };
        let selection = if seed % 3 == 0 { narrow } else { whole() };
        let lives = Rc::<RefCell<Vec<Vec<MessageId>>>>::default();
        for round in 0..6 {
            let at = chance.next() % 8;
            let plan = match chance.below(3) {
                0 => Plan::KillBeforeApply(at),
                1 => Plan::KillAfterApply(at),
                _ => Plan::FailApply(at, StoreError::Failed("told to".into())),
            };
            talk.bo.gate.plan(Some(plan));
            live(&talk.bo, &selection, &lives);
            talk.bo.reopen();
            if chance.one_in(2) {
                talk.round(round + 1);
            }
        }
        live(&talk.bo, &selection, &lives);
        let want: Vec<MessageId> = match selection.is_whole() {
            true => deliverable(&talk.bo),
            false => deliverable_of(&talk, true),
        };
        let mut handed: Vec<MessageId> = Vec::new();
        for life in lives.take() {
            let mut life = life.into_iter().peekable();
            // The one in hand when the page died.
            if handed.last().is_some_and(|last| life.peek() == Some(last)) {
                life.next();
            }
            handed.extend(life);
        }
        assert!(handed == want, "seed {seed}: {} of {}", handed.len(), want.len());
    }
}

#[test]
fn proc_031_tabs_that_take_it_from_each_other_lose_nothing() {
    for seed in 0..12 {
        let mut chance = Chance(seed);
        let talk = talk(2);
        let tabs = [talk.bo.tab(), talk.bo.tab()];
        let all = deliverable(&talk.bo);
        let (mut handed, mut of) = (Vec::new(), consume(&tabs[0], whole()));
        while handed.len() < all.len() {
            if chance.one_in(3) {
                let taken = consume(chance.pick(&tabs), whole());
                assert!(owned(of.next().now_or_never()), "the one before has lost it");
                of = taken;
            }
            let Some(row) = next(&of) else { break };
            if handed.last() != Some(&row.id) {
                handed.push(row.id);
            }
        }
        assert_eq!(handed, all, "seed {seed}");
    }
}

#[test]
fn a_stream_ends_with_its_client() {
    let talk = talk(1);
    let bo = &talk.bo;
    let consumer = consume(bo, whole());
    drain(&consumer);
    let replay = replay(bo, None, whole());
    rest(&replay);
    let ends = bo.call(|client| async move {
        let (one, two, ()) = futures::join!(consumer.next(), replay.next(), client.close());
        matches!((one, two), (Ok(None), Ok(None)))
    });
    assert!(ends);
    let error = bo.call(|client| async move { client.consume(Selection::default()).await.err() });
    assert_eq!(error.expect("closed").code, "client.closed");
}
