//! Messages that disappear: when (META-050), for whom at once (META-051), and from the disk.

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, MessageId, Nanos};
use dovetail::client::{Interest, News, Setting};
use dovetail::engine::event::Event;
use dovetail::engine::history::{HistoryOptions, SortBy};
use dovetail::store::Table;
use dovetail::store::rows::{AnnotationRow, MessageRow, MessageStatus};

use crate::common::content::{edit, hung, of_types, reaction, receipt, reply, types};
use crate::common::dump::{self, Dump};
use crate::common::group::sync_all;
use crate::common::{User, World, text_of};

const SECOND: i64 = 1_000_000_000;

fn pair(seed: u64) -> (User, User, GroupId) {
    let world = World::new(seed);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    (alice, bo, group)
}

fn disappear(user: &User, group: GroupId, from: i64, seconds: i64) {
    user.set(group, Setting::DisappearFrom(from)).unwrap();
    user.set(group, Setting::DisappearIn(seconds * SECOND)).unwrap();
}

fn texts(user: &User, group: GroupId) -> Vec<String> {
    let rows = user.history(group, HistoryOptions::default());
    rows.iter().filter(|row| row.content_type.type_id == "text").map(text_of).collect()
}

/// What was told of messages that are gone: of the events, and of the stream.
type Told = (Rc<RefCell<Vec<MessageId>>>, Rc<RefCell<Vec<MessageRow>>>);

fn told(user: &User) -> (Told, impl Drop, impl Drop) {
    let told = Told::default();
    let (events, rows) = told.clone();
    let one = user.client.subscribe(move |event| {
        if let Event::MessageExpired { id, .. } = event {
            events.borrow_mut().push(*id);
        }
    });
    let listener = move |news| {
        if let News::Deletion(row) = news {
            rows.borrow_mut().push(*row);
        }
    };
    let two = user.call(move |client| async move { client.follow(Interest::Deletions, listener).await });
    (told, one, two.expect("follows"))
}

fn stored(user: &User, id: MessageId) -> Option<MessageRow> {
    Dump::of(&user.store).messages().remove(&id)
}

#[test]
fn meta_050_a_message_disappears_so_long_after_the_service_had_it() {
    let (alice, bo, group) = pair(1);
    let before = alice.text(group, "before");
    sync_all(&[&alice, &bo]);
    disappear(&alice, group, 1, 60);
    // By a clock that is a day ahead.
    alice.device.skew_ns.set(86_400 * SECOND);
    alice.offline(true);
    let id = alice.text(group, "text");
    assert_eq!(alice.message(id).unwrap().expires_ns, None, "it begins once the service has it");
    alice.device.skew_ns.set(0);
    alice.world.settle(300_000);
    assert!(alice.message(id).is_some());
    alice.offline(false);
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        let row = user.message(id).unwrap();
        assert_eq!(row.status, MessageStatus::Published);
        assert_eq!(row.expires_ns, Some(Nanos(row.sent_ns.0 + 60 * SECOND)));
        assert_eq!(user.message(before).unwrap().expires_ns, None);
    }
}

#[test]
fn meta_050_nothing_disappears_before_its_time_or_without_a_setting() {
    let (alice, bo, group) = pair(2);
    let later = alice.world.platform.now_ns() + 3_600 * SECOND;
    disappear(&alice, group, later, 60);
    let early = alice.text(group, "early");
    sync_all(&[&alice, &bo]);
    assert_eq!(bo.message(early).unwrap().expires_ns, None);
    disappear(&alice, group, 1, 0);
    let lasting = alice.text(group, "lasting");
    disappear(&alice, group, 0, 60);
    let other = alice.text(group, "other");
    sync_all(&[&alice, &bo]);
    for id in [lasting, other] {
        assert_eq!(bo.message(id).unwrap().expires_ns, None);
    }
    // A time beyond all clocks ends at the last one there is.
    alice.set(group, Setting::DisappearFrom(1)).unwrap();
    alice.set(group, Setting::DisappearIn(i64::MAX)).unwrap();
    let last = alice.text(group, "last");
    sync_all(&[&alice, &bo]);
    assert_eq!(bo.message(last).unwrap().expires_ns, Some(Nanos(i64::MAX)));
    assert_eq!(texts(&bo, group), ["early", "lasting", "other", "last"]);
}

#[test]
fn meta_051_it_is_gone_from_every_read_at_once_and_changes_stay() {
    let (alice, bo, group) = pair(3);
    let stays = alice.text(group, "stays");
    sync_all(&[&alice, &bo]);
    disappear(&alice, group, 1, 60);
    let gone = alice.text(group, "gone");
    let sign = alice.say(group, &reaction(stays, "+", true));
    alice.say(group, &edit(stays, "edited"));
    alice.say(group, &receipt());
    sync_all(&[&alice, &bo]);
    disappear(&alice, group, 0, 0);
    let answer = alice.say(group, &reply(gone, "answer"));
    sync_all(&[&alice, &bo]);
    let page = bo.page(group, HistoryOptions::default());
    assert!(hung(&page, answer).is_some() && hung(&page, stays).is_some());
    // No task runs between the clock and the reads.
    bo.device.skew_ns.set(61 * SECOND);
    let page = bo.page(group, HistoryOptions::default());
    let changes = ["group_updated"; 4];
    assert_eq!(
        types(&page.rows),
        [&["group_updated", "text"], &changes[..2], &changes[..2], &["reply"]].concat()
    );
    assert!(hung(&page, answer).is_none());
    // An edit goes with what it rewrites, so the first words do not come back.
    assert!(hung(&page, stays).is_some_and(|hung| hung.reactions.is_empty()));
    assert_eq!(text_of(&page.rows[1]), "edited");
    assert_eq!(bo.count(group, HistoryOptions::default()), 7);
    assert_eq!(bo.count(group, of_types(&["text"])), 1);
    assert!(bo.history(group, of_types(&["reaction", "readReceipt"])).is_empty());
    for sort_by in [SortBy::SentAt, SortBy::Delivered, SortBy::InsertedAt] {
        for descending in [false, true] {
            let options = HistoryOptions { sort_by, descending, ..HistoryOptions::default() };
            assert!(bo.history(group, options).iter().all(|row| row.id != gone && row.id != sign));
        }
    }
    assert!(bo.message(gone).is_none() && bo.message(stays).is_some());
    let row = stored(&bo, gone).expect("still on the disk");
    let dressed = bo.call(move |client| async move { client.dressed(vec![row]).await }).unwrap();
    assert!(dressed.rows.is_empty());
}

#[test]
fn meta_051_it_leaves_the_disk_within_seconds_without_a_call_and_is_told_once() {
    let (alice, bo, group) = pair(4);
    disappear(&alice, group, 1, 10);
    bo.sync();
    [&alice, &bo].into_iter().for_each(|user| user.client.go_live());
    alice.world.settle(3_000);
    let ((events, rows), _one, _two) = told(&bo);
    let first = alice.text(group, "first");
    let about = [alice.say(group, &reaction(first, "+", true)), alice.say(group, &edit(first, "edited"))];
    alice.world.settle(4_000);
    let second = alice.text(group, "second");
    alice.world.settle(5_900);
    assert!(stored(&bo, first).is_some());
    alice.world.settle(500);
    for user in [&alice, &bo] {
        assert!(stored(user, first).is_none() && stored(user, second).is_some());
        assert!(about.iter().all(|id| stored(user, *id).is_none()));
        assert!(Dump::of(&user.store).rows::<AnnotationRow>().is_empty());
        dump::check(&user.store);
    }
    assert_eq!(rows.borrow().iter().map(text_of).collect::<Vec<_>>(), ["first"]);
    alice.world.settle(60_000);
    assert!(stored(&bo, second).is_none());
    assert_eq!(rows.borrow().iter().map(text_of).collect::<Vec<_>>(), ["first", "second"]);
    let mut all = [&[first, second][..], &about].concat();
    all.sort_unstable();
    let mut heard = events.borrow().clone();
    heard.sort_unstable();
    assert_eq!(heard, all, "each once");
    assert_eq!(types(&bo.history(group, HistoryOptions::default())), ["group_updated"; 3]);
    assert!(bo.row(group).last_message_ns.is_some(), "activity stays");
}

#[test]
fn meta_051_what_expired_while_nobody_was_there_goes_after_opening() {
    let (alice, mut bo, group) = pair(5);
    disappear(&alice, group, 1, 10);
    let id = alice.text(group, "text");
    sync_all(&[&alice, &bo]);
    let late = stored(&bo, id).unwrap().expires_ns.unwrap();
    bo.reopen();
    bo.world.settle(5_000);
    assert!(stored(&bo, id).is_some(), "not before its time");
    let ms = (late.0 - bo.world.platform.now_ns()) / 1_000_000;
    bo.client.abandon();
    bo.world.settle(ms + 60_000);
    assert!(stored(&bo, id).is_some(), "nobody is there");
    bo.reopen();
    let ((events, _), _one, _two) = told(&bo);
    assert!(bo.message(id).is_none());
    bo.world.settle(5_000);
    assert!(stored(&bo, id).is_none());
    assert_eq!(*events.borrow(), [id]);
}

#[test]
fn meta_051_of_several_tabs_one_removes_it_and_every_one_may() {
    for (seed, leading) in [(6, true), (7, false)] {
        let (alice, bo, group) = pair(seed);
        let tab = bo.tab();
        disappear(&alice, group, 1, 10);
        sync_all(&[&alice, &bo]);
        if leading {
            bo.client.go_live();
        }
        bo.world.settle(5_000);
        let ((one, _), _a, _b) = told(&bo);
        let ((two, _), _c, _d) = told(&tab);
        let ids: Vec<MessageId> = (0..5).map(|n| alice.text(group, &n.to_string())).collect();
        alice.sync();
        bo.sync();
        tab.sync();
        bo.world.settle(20_000);
        assert!(ids.iter().all(|id| stored(&bo, *id).is_none()));
        let mut heard: Vec<MessageId> = one.borrow().iter().chain(two.borrow().iter()).copied().collect();
        heard.sort_unstable();
        let mut all = ids.clone();
        all.sort_unstable();
        assert_eq!(heard, all, "told once, by the tab that removed it");
        if leading {
            assert!(two.borrow().is_empty(), "the one that reads in the background was first");
        }
    }
}

#[test]
fn meta_051_a_frozen_leader_does_not_keep_what_expired() {
    let (alice, bo, group) = pair(8);
    disappear(&alice, group, 1, 10);
    let id = alice.text(group, "text");
    sync_all(&[&alice, &bo]);
    let tab = bo.tab();
    // It is there and does nothing.
    bo.client.abandon();
    bo.world.settle(15_000);
    assert!(stored(&bo, id).is_none());
    drop(tab);
}

#[test]
fn meta_051_a_full_disk_does_not_end_the_clearing() {
    let (alice, bo, group) = pair(9);
    disappear(&alice, group, 1, 10);
    bo.client.go_live();
    let id = alice.text(group, "text");
    sync_all(&[&alice, &bo]);
    bo.world.settle(5_000);
    bo.store.fail_apply(0, dovetail::store::StoreError::Quota);
    bo.world.settle(6_000);
    assert!(stored(&bo, id).is_some() && bo.message(id).is_none());
    bo.world.settle(10_000);
    assert!(stored(&bo, id).is_none());
}

#[test]
fn meta_051_many_go_in_batches_and_nothing_of_them_stays() {
    let (alice, bo, group) = pair(10);
    disappear(&alice, group, 1, 60);
    for n in 0..230 {
        alice.text(group, &n.to_string());
    }
    sync_all(&[&alice, &bo]);
    let messages = Dump::of(&bo.store).count(Table::Messages);
    assert_eq!(messages, 233);
    bo.world.settle(70_000);
    assert_eq!(Dump::of(&bo.store).count(Table::Messages), 3, "the changes stay");
    assert_eq!(Dump::of(&bo.store).count(Table::Annotations), 0);
    assert!(texts(&bo, group).is_empty());
}
