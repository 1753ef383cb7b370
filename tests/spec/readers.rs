//! The durable stream and replay: what is handed out, in which order, and where it goes on
//! (PROC-024 to PROC-047, DMS-016).

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, MessageId};
use dovetail::client::{Consumer, Replay, Setting};
use dovetail::consent::State;
use dovetail::engine::history::Types;
use dovetail::engine::reader::Selection;
use dovetail::store::StoreError;
use dovetail::store::rows::{
    ConsumedRow, ConsumerRow, CountersRow, GroupKind, MessageKind, MessageRow, MessageStatus,
};
use dovetail::wire::{ContentType, EncodedContent};
use futures::FutureExt;

use crate::common::chance::Chance;
use crate::common::dump::{self, Dump};
use crate::common::gate::Plan;
use crate::common::{User, World, text_of};
use crate::dm::sync_all;

fn whole() -> Selection {
    Selection::default()
}

fn consume(user: &User, selection: Selection) -> Consumer {
    user.call(move |client| async move { client.consume(selection).await }).expect("the stream")
}

fn replay(user: &User, cursor: Option<String>, selection: Selection) -> Replay {
    user.client.replay(cursor.as_deref(), selection).expect("a replay")
}

/// Everything there is now; the last one is acknowledged by asking for more.
fn drain(consumer: &Consumer) -> Vec<MessageRow> {
    std::iter::from_fn(|| consumer.next().now_or_never()?.expect("a message")).collect()
}

fn rest(replay: &Replay) -> Vec<MessageRow> {
    std::iter::from_fn(|| replay.next().now_or_never()?.expect("a message")).collect()
}

fn next(consumer: &Consumer) -> Option<MessageRow> {
    consumer.next().now_or_never()?.expect("a message")
}

fn texts(rows: &[MessageRow]) -> Vec<String> {
    rows.iter().filter(|row| row.kind == MessageKind::Application).map(text_of).collect()
}

/// What the whole stream is to hand out of a database, in order.
fn deliverable(user: &User) -> Vec<MessageId> {
    let mut rows: Vec<MessageRow> = Dump::of(&user.store).messages().into_values().collect();
    rows.retain(|row| row.delivery.is_some() && row.status == MessageStatus::Published);
    rows.retain(|row| !(row.kind == MessageKind::MembershipChange && is_dm(row)));
    rows.sort_by_key(|row| row.delivery);
    rows.iter().map(|row| row.id).collect()
}

fn is_dm(row: &MessageRow) -> bool {
    matches!(row.thread, dovetail::base::ThreadId::Dm(_))
}

fn ids(rows: &[MessageRow]) -> Vec<MessageId> {
    rows.iter().map(|row| row.id).collect()
}

/// bo in a DM of two groups and in a group, with texts from both sides everywhere.
struct Talk {
    alice: User,
    bo: User,
    dm: [GroupId; 2],
    group: GroupId,
}

fn talk(rounds: usize) -> Talk {
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
    fn round(&self, round: usize) {
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

#[test]
fn proc_033_034_a_replay_goes_on_behind_its_cursor_and_leaves_the_stream_alone() {
    let talk = talk(2);
    let all = deliverable(&talk.bo);
    let consumer = consume(&talk.bo, whole());
    let rows = drain(&consumer);
    let before = Dump::of(&talk.bo.store);
    let cursor = talk.bo.client.cursor(&rows[6]).expect("a cursor");
    assert_eq!(ids(&rest(&replay(&talk.bo, Some(cursor.clone()), whole()))), all[7..]);
    assert_eq!(ids(&rest(&replay(&talk.bo, None, whole()))), all, "from the oldest on");
    let only = Selection { threads: Some(vec![rows[6].thread]), ..whole() };
    let own: Vec<_> = rows[7..].iter().filter(|row| row.thread == rows[6].thread).map(|row| row.id).collect();
    let on = replay(&talk.bo, Some(cursor.clone()), only);
    assert_eq!(ids(&rest(&on)), own);
    assert!(before == Dump::of(&talk.bo.store), "nothing is written");
    // It goes on with what comes.
    talk.alice.text(talk.dm[0], "news of the DM");
    talk.alice.text(talk.group, "news of the group");
    talk.alice.sync();
    talk.bo.sync();
    let news = texts(&rest(&on));
    let dm = matches!(rows[6].thread, dovetail::base::ThreadId::Dm(_));
    assert_eq!(news, [if dm { "news of the DM" } else { "news of the group" }]);
    // A tab of the same database takes the cursor, another database does not.
    assert!(talk.bo.tab().client.replay(Some(&cursor), whole()).is_ok());
    let refused = |cursor: &str| talk.alice.client.replay(Some(cursor), whole()).err().expect("refused").code;
    assert_eq!(refused(&cursor), "stream.foreign_cursor");
    let own = talk.alice.client.cursor(&rows[6]).unwrap();
    for wrong in ["", "-", "1", "zz-1", &own[..33], &format!("{own}x"), &own.replace('-', "-+"), &own[1..]] {
        assert_eq!(refused(wrong), "input.value", "{wrong}");
    }
    talk.bo.offline(true);
    talk.bo.text(talk.group, "not published");
    let unpublished = talk.bo.history(talk.group, Default::default()).pop().unwrap();
    assert_eq!(talk.bo.client.cursor(&unpublished), None);
}

#[test]
fn proc_047_a_scope_keeps_the_backlog_of_the_others_and_a_filter_consumes() {
    let mut talk = talk(2);
    let all = deliverable(&talk.bo);
    let rows = Dump::of(&talk.bo.store).messages();
    let of = |kind: GroupKind| -> Vec<MessageId> {
        all.iter().filter(|id| is_dm(&rows[id]) == (kind == GroupKind::Dm)).copied().collect()
    };
    // A stream about DMs alone.
    let narrow = consume(&talk.bo, Selection { kind: Some(GroupKind::Dm), ..whole() });
    assert_eq!(ids(&drain(&narrow)), of(GroupKind::Dm));
    drop(narrow);
    talk.bo.reopen();
    let again = consume(&talk.bo, Selection { kind: Some(GroupKind::Dm), ..whole() });
    assert!(drain(&again).is_empty());
    drop(again);
    // The others are still there, for the next one.
    let types = Types::only(&["group_updated"]);
    let filtered = consume(&talk.bo, Selection { types, ..whole() });
    let changes: Vec<_> = of(GroupKind::Group)
        .into_iter()
        .filter(|id| rows[id].kind == MessageKind::MembershipChange)
        .collect();
    assert_eq!(ids(&drain(&filtered)), changes);
    drop(filtered);
    talk.bo.reopen();
    // What the filter left out was consumed, and so were the DMs before.
    let rest = consume(&talk.bo, whole());
    assert!(drain(&rest).is_empty());
    drop(rest);
    consume(&talk.bo, whole());
    assert_eq!(Dump::of(&talk.bo.store).rows_under::<ConsumerRow>(talk.dm[0].as_bytes()), [], "tidied up");
}

#[test]
fn proc_047_a_scope_of_named_conversations_means_every_copy() {
    let talk = talk(2);
    for named in talk.dm {
        let thread = talk.bo.call(move |client| async move { client.thread(named).await }).unwrap();
        let selection = Selection { threads: Some(vec![thread]), ..whole() };
        let rows = rest(&replay(&talk.bo, None, selection));
        assert_eq!(ids(&rows), deliverable_of(&talk, true));
        let numbers: Vec<_> = rows.iter().map(|row| row.delivery).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "over the union");
        let groups: std::collections::BTreeSet<_> = rows.iter().map(|row| row.group).collect();
        assert_eq!(groups.len(), 2);
    }
}

fn deliverable_of(talk: &Talk, dm: bool) -> Vec<MessageId> {
    let rows = Dump::of(&talk.bo.store).messages();
    deliverable(&talk.bo).into_iter().filter(|id| is_dm(&rows[id]) == dm).collect()
}

#[test]
fn cons_042_043_the_stream_leaves_out_what_is_denied_unless_it_is_named() {
    let talk = talk(1);
    talk.bo.decide(talk.dm[0], State::Denied);
    let thread = talk.bo.call({
        let dm = talk.dm[0];
        move |client| async move { client.thread(dm).await }
    });
    let thread = thread.unwrap();
    let denied = deliverable_of(&talk, true);
    let others = deliverable_of(&talk, false);
    let of = |selection| ids(&rest(&replay(&talk.bo, None, selection)));
    assert_eq!(of(whole()), others);
    assert_eq!(of(Selection { threads: Some(vec![thread]), ..whole() }), denied);
    assert_eq!(of(Selection { states: Some(vec![State::Denied]), ..whole() }), denied);
    assert_eq!(of(Selection { states: Some(Vec::new()), ..whole() }), []);
    // As a filter it consumes; as a scope it keeps the backlog until the conversation is let in.
    let scope = Selection { scope_states: Some(vec![State::Allowed, State::Unknown]), ..whole() };
    let scoped = consume(&talk.bo, scope);
    assert_eq!(ids(&drain(&scoped)), others);
    talk.bo.decide(talk.dm[0], State::Allowed);
    assert_eq!(ids(&drain(&scoped)), denied, "let in while it runs");
    drop(scoped);
    assert!(drain(&consume(&talk.bo, whole())).is_empty());
}

#[test]
fn proc_047_the_backlog_of_a_conversation_comes_first_when_it_comes_into_scope_unheard() {
    [false, true].into_iter().for_each(comes_into_scope_unheard);
}

fn comes_into_scope_unheard(begun_again: bool) {
    let talk = talk(1);
    talk.bo.decide(talk.dm[0], State::Denied);
    let (backlog, others) = (deliverable_of(&talk, true), deliverable_of(&talk, false));
    let scope = Selection { scope_states: Some(vec![State::Allowed, State::Unknown]), ..whole() };
    let mut scoped = consume(&talk.bo, scope.clone());
    assert_eq!(ids(&drain(&scoped)), others);
    if begun_again {
        // It begins behind all of them, and has met none.
        drop(scoped);
        scoped = consume(&talk.bo, scope);
        assert!(drain(&scoped).is_empty());
    }
    // Another tab lets it in; nothing is told here until a message comes.
    talk.bo.tab().decide(talk.dm[0], State::Allowed);
    let later = talk.alice.text(talk.dm[0], "later");
    talk.alice.text(talk.group, "elsewhere");
    talk.alice.sync();
    talk.bo.sync();
    let handed = drain(&scoped);
    assert_eq!(ids(&handed)[..backlog.len()], backlog, "the backlog comes first");
    assert_eq!(texts(&handed[backlog.len()..]), ["later", "elsewhere"]);
    assert_eq!(handed[backlog.len()].id, later);
    drop(scoped);
    assert!(drain(&consume(&talk.bo, whole())).is_empty(), "and all of it was acknowledged");
    dump::check(&talk.bo.store);
}

#[test]
fn proc_047_whatever_comes_in_and_goes_out_each_message_comes_once_and_in_its_order() {
    for seed in 0..16 {
        let mut chance = Chance(seed);
        let mut talk = talk(1);
        let scope = Selection { scope_states: Some(vec![State::Allowed]), ..whole() };
        let mut scoped = consume(&talk.bo, scope.clone());
        let mut handed = Vec::new();
        for round in 0..12 {
            let group = chance.pick(&[talk.dm[0], talk.group]).to_owned();
            let state = *chance.pick(&[State::Allowed, State::Denied, State::Unknown]);
            match chance.below(6) {
                0 => talk.bo.decide(group, state),
                1 | 2 => talk.bo.tab().decide(group, state),
                3 => handed.extend((0..3).filter_map(|_| next(&scoped))),
                4 => {
                    // What is in hand comes again.
                    scoped.acknowledge().now_or_never().unwrap().unwrap();
                    drop(scoped);
                    talk.bo.reopen();
                    scoped = consume(&talk.bo, scope.clone());
                }
                _ => talk.round(round + 1),
            }
        }
        for group in [talk.dm[0], talk.group] {
            talk.bo.tab().decide(group, State::Allowed);
        }
        talk.round(20);
        handed.extend(drain(&scoped));
        for dm in [true, false] {
            let of: Vec<_> = handed.iter().filter(|row| is_dm(row) == dm).map(|row| row.id).collect();
            assert_eq!(of, deliverable_of(&talk, dm), "seed {seed}");
        }
    }
}

#[test]
fn proc_046_a_filter_is_judged_when_the_turn_of_a_message_comes() {
    let talk = talk(1);
    let consumer = consume(&talk.bo, whole());
    let first = next(&consumer).expect("a message");
    talk.bo.decide(talk.dm[0], State::Denied);
    let rows = drain(&consumer);
    assert!(rows.iter().all(|row| !is_dm(row)), "{}", is_dm(&first));
    talk.bo.decide(talk.dm[0], State::Allowed);
    assert!(drain(&consumer).is_empty(), "passed over for good");
}

#[test]
fn proc_047_what_is_no_message_of_its_own_is_passed_over_unless_it_is_named() {
    let talk = talk(1);
    let (named, plain) = (Types::only(&["readReceipt"]), consume(&talk.bo, whole()));
    drain(&plain);
    let of_type = ContentType::xmtp("readReceipt", 1, 0);
    let content = EncodedContent { content_type: of_type, ..EncodedContent::text("") }.encode();
    let dm = talk.dm[0];
    talk.alice.call(move |client| async move { client.send(dm, content, None).await }).expect("sent");
    talk.alice.sync();
    talk.bo.sync();
    assert!(drain(&plain).is_empty());
    assert_eq!(rest(&replay(&talk.bo, None, Selection { types: named, ..whole() })).len(), 1);
}

#[test]
fn dms_016_a_snapshot_is_the_newest_of_the_union_by_delivery() {
    let talk = talk(3);
    let rows: Vec<MessageRow> = Dump::of(&talk.bo.store).messages().into_values().collect();
    for limit in [0, 1, 2, 5, 11, 12, 13, 100] {
        // The model: of both groups together the greatest numbers, ascending.
        let mut union: Vec<MessageRow> = rows
            .iter()
            .filter(|row| talk.dm.contains(&row.group) && row.kind == MessageKind::Application)
            .cloned()
            .collect();
        union.sort_by_key(|row| row.delivery);
        let want = ids(&union[union.len() - limit.min(union.len())..]);
        for named in talk.dm {
            let taken =
                talk.bo.call(move |client| async move { client.snapshot(named, limit).await }).unwrap();
            assert_eq!(ids(&taken), want, "{limit}");
        }
    }
}

#[test]
fn dms_016_what_follows_a_snapshot_is_neither_missed_nor_repeated() {
    let talk = talk(2);
    for (named, count) in [(talk.dm[0], 3), (talk.dm[1], 0), (talk.dm[0], 500)] {
        let on = talk.bo.call(move |client| async move { client.replay_recent(named, count).await }).unwrap();
        let all = deliverable_of(&talk, true);
        let before = all.len() - count.min(all.len());
        // Some are there already, some come while it is read.
        let mut seen = Vec::new();
        for _ in 0..2 {
            seen.extend(on.next().now_or_never().into_iter().filter_map(|row| row.unwrap()));
        }
        talk.round(7 + count);
        seen.extend(rest(&on));
        assert_eq!(ids(&seen)[..], deliverable_of(&talk, true)[before..][..seen.len()]);
        let now = deliverable_of(&talk, true);
        assert!(now.ends_with(&ids(&seen)));
    }
    let unknown = GroupId([9; 16]);
    let error = talk.bo.call(move |client| async move { client.replay_recent(unknown, 1).await.err() });
    assert_eq!(error.expect("refused").code, "conversation.not_found");
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
