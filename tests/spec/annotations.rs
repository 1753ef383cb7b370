//! Reactions, edits, replies and read receipts: what a page makes of messages about messages.

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, MessageId};
use dovetail::client::{Interest, News, Page};
use dovetail::engine::history::{HistoryOptions, Types};
use dovetail::store::rows::{MessageRow, MessageStatus};
use dovetail::wire::EncodedContent;

use crate::common::content::{
    deletion, edit, edit_to, hung, of_types, old_reaction, reaction, receipt, reply, typed, types,
};
use crate::common::group::sync_all;
use crate::common::{User, World, text_of};

fn pair(seed: u64) -> (User, User, GroupId) {
    let world = World::new(seed);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    (alice, bo, group)
}

fn texts(page: &Page) -> Vec<String> {
    page.rows.iter().filter(|row| row.content_type.type_id == "text").map(text_of).collect()
}

/// What hangs on a message: who reacted, in order.
fn reactions(page: &Page, id: MessageId) -> Vec<MessageId> {
    hung(page, id).map(|hung| hung.reactions.iter().map(|row| row.id).collect()).unwrap_or_default()
}

#[test]
fn reactions_hang_on_their_message_in_order_and_are_no_messages() {
    let (alice, bo, group) = pair(1);
    let first = alice.text(group, "first");
    let second = alice.text(group, "second");
    sync_all(&[&alice, &bo]);
    let signs = [
        bo.say(group, &reaction(first, "+", true)),
        bo.say(group, &reaction(first, "+", false)),
        bo.say(group, &old_reaction(second, "-")),
    ];
    sync_all(&[&bo, &alice]);
    let own = alice.say(group, &reaction(first, "*", true));
    // Also before it left.
    assert_eq!(reactions(&alice.page(group, HistoryOptions::default()), first), [signs[0], signs[1], own]);
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        let page = user.page(group, HistoryOptions::default());
        assert_eq!(types(&page.rows), ["group_updated", "text", "text"]);
        assert_eq!(reactions(&page, first), [signs[0], signs[1], own]);
        assert_eq!(reactions(&page, second), [signs[2]]);
        assert_eq!(user.count(group, HistoryOptions::default()), 3);
        assert_eq!(
            text_of(&user.history(group, HistoryOptions::newest())[0]),
            "second",
            "the newest message"
        );
    }
}

#[test]
fn silent_types_are_listed_when_they_are_asked_for() {
    let (alice, bo, group) = pair(2);
    let first = alice.text(group, "first");
    let about = [reaction(first, "+", true), receipt(), edit(first, "new"), deletion(first)];
    for content in &about {
        alice.say(group, content);
    }
    sync_all(&[&alice, &bo]);
    let all = ["reaction", "readReceipt", "editMessage", "deleteMessage"];
    for user in [&alice, &bo] {
        for type_id in all {
            assert_eq!(types(&user.history(group, of_types(&[type_id]))), [type_id]);
            assert_eq!(user.count(group, of_types(&[type_id])), 1);
        }
        let also = Types { also: vec!["readReceipt".into()], ..Types::default() };
        let some = HistoryOptions { types: also, ..HistoryOptions::default() };
        assert_eq!(types(&user.history(group, some)), ["group_updated", "text", "readReceipt"]);
        assert_eq!(user.count(group, HistoryOptions::default()), 2);
    }
    // Another authority's type of the same name is a message like any other.
    let mut other = typed("reaction", 1, Vec::new());
    other.content_type.authority = "example.org".into();
    alice.say(group, &other);
    assert_eq!(types(&alice.history(group, HistoryOptions::newest())), ["reaction"]);
}

#[test]
fn the_newest_message_is_found_behind_many_reactions() {
    let (alice, _, group) = pair(3);
    let text = alice.text(group, "text");
    for n in 0..450 {
        alice.say(group, &reaction(text, &n.to_string(), true));
    }
    alice.sync();
    let newest = alice.page(group, HistoryOptions::newest());
    assert_eq!((texts(&newest), reactions(&newest, text).len()), (vec!["text".to_owned()], 450));
    let page = HistoryOptions { limit: Some(2), descending: true, ..HistoryOptions::default() };
    assert_eq!(types(&alice.history(group, page)), ["text", "group_updated"]);
}

#[test]
fn a_page_without_annotations_is_one_snapshot_and_any_other_at_most_three() {
    let (alice, bo, group) = pair(4);
    let ids: Vec<MessageId> = (0..60).map(|n| alice.text(group, &n.to_string())).collect();
    sync_all(&[&alice, &bo]);
    let page = || HistoryOptions { limit: Some(50), descending: true, ..HistoryOptions::default() };
    let snapshots = |options: HistoryOptions| {
        bo.store.reset_figures();
        bo.page(group, options);
        bo.store.figures().reads
    };
    bo.page(group, page());
    assert_eq!(snapshots(page()), 1);
    alice.say(group, &receipt());
    sync_all(&[&alice, &bo]);
    assert_eq!(snapshots(page()), 1, "the receipt lies apart");
    alice.say(group, &reply(ids[0], "what?"));
    sync_all(&[&alice, &bo]);
    assert_eq!(snapshots(HistoryOptions { limit: Some(1), ..page() }), 2, "the message it answers");
    for id in &ids {
        alice.say(group, &reaction(*id, "+", true));
    }
    sync_all(&[&alice, &bo]);
    let asked = of_types(&["text"]);
    assert_eq!(snapshots(HistoryOptions { limit: Some(200), ..asked }), 3);
}

#[test]
fn the_latest_edit_of_the_sender_counts_and_nobody_elses() {
    let (alice, bo, group) = pair(5);
    let text = alice.text(group, "text");
    sync_all(&[&alice, &bo]);
    bo.say(group, &edit(text, "forged"));
    alice.say(group, &edit(text, "second"));
    sync_all(&[&bo, &alice, &bo]);
    let last = alice.say(group, &edit(text, "third"));
    assert_eq!(texts(&alice.page(group, HistoryOptions::default())), ["third"], "before it left");
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        let page = user.page(group, HistoryOptions::default());
        assert_eq!(texts(&page), ["third"]);
        let sent = user.history(group, of_types(&["editMessage"])).into_iter().find(|row| row.id == last);
        assert_eq!(hung(&page, text).and_then(|hung| hung.edited_ns), sent.map(|row| row.sent_ns));
        assert_eq!(user.message(text).map(|row| text_of(&row)).as_deref(), Some("third"));
        assert_eq!(text_of(&user.history(group, HistoryOptions::newest())[0]), "third");
    }
    // To what is no content of people, nothing changes.
    alice.say(group, &edit_to(text, &reaction(text, "+", true)));
    alice.say(group, &typed("editMessage", 1, vec![0xff]));
    sync_all(&[&alice, &bo]);
    assert_eq!(texts(&bo.page(group, HistoryOptions::default())), ["third"]);
}

#[test]
fn an_edit_that_never_left_changes_nothing() {
    let (alice, _, group) = pair(6);
    let text = alice.text(group, "text");
    alice.sync();
    alice.delivery.set(|faults| faults.refuse = 1);
    let refused = alice.say(group, &edit(text, "refused"));
    alice.world.settle(50);
    let row = alice.history(group, of_types(&["editMessage"])).remove(0);
    assert_eq!((row.id, matches!(row.status, MessageStatus::Failed(_))), (refused, true));
    assert_eq!(texts(&alice.page(group, HistoryOptions::default())), ["text"]);
}

#[test]
fn a_reply_shows_what_it_answers_as_that_reads_now() {
    let (alice, bo, group) = pair(7);
    let first = alice.text(group, "first");
    sync_all(&[&alice, &bo]);
    let answer = bo.say(group, &reply(first, "answer"));
    alice.say(group, &edit(first, "edited"));
    sync_all(&[&bo, &alice, &bo]);
    let quoted = |user: &User, options: HistoryOptions| {
        let page = user.page(group, options);
        let quote = hung(&page, answer).and_then(|hung| hung.in_reply_to.clone());
        quote.map(|(row, edited)| (row.id, text_of(&row), edited.is_some()))
    };
    for user in [&alice, &bo] {
        let edited = Some((first, "edited".to_owned(), true));
        assert_eq!(quoted(user, HistoryOptions::default()), edited);
        assert_eq!(quoted(user, HistoryOptions::newest()), edited, "not on the page");
    }
    alice.say(group, &deletion(first));
    sync_all(&[&alice, &bo]);
    let page = bo.page(group, HistoryOptions::newest());
    let (row, _) = hung(&page, answer).and_then(|hung| hung.in_reply_to.clone()).unwrap();
    assert_eq!(row.deleted_by(), Some(alice.inbox()));
}

#[test]
fn nothing_reaches_across_conversations() {
    let (alice, bo, group) = pair(8);
    let other = alice.group(&[&bo]);
    let text = alice.text(group, "text");
    sync_all(&[&alice, &bo]);
    let answer = bo.say(other, &reply(text, "answer"));
    bo.say(other, &reaction(text, "+", true));
    alice.say(other, &edit(text, "edited elsewhere"));
    alice.say(other, &deletion(text));
    sync_all(&[&bo, &alice, &bo]);
    for user in [&alice, &bo] {
        let page = user.page(group, HistoryOptions::default());
        assert_eq!(texts(&page), ["text"]);
        assert!(page.hung.is_empty());
        let page = user.page(other, HistoryOptions::default());
        assert!(hung(&page, answer).is_none());
    }
}

#[test]
fn in_a_stitched_dm_what_is_said_in_one_group_hangs_on_messages_of_the_other() {
    let world = World::new(12);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    let (mine, yours) = (alice.text(a, "mine"), bo.text(b, "yours"));
    alice.offline(false);
    bo.offline(false);
    sync_all(&[&alice, &bo]);
    assert_ne!(alice.message(mine).unwrap().group, alice.message(yours).unwrap().group);
    // Both go to the winner.
    let signs = [bo.say(b, &reaction(mine, "+", true)), bo.say(b, &reaction(yours, "+", true))];
    let answer = bo.say(b, &reply(mine, "answer"));
    alice.say(a, &edit(mine, "edited"));
    sync_all(&[&bo, &alice, &bo]);
    for user in [&alice, &bo] {
        for group in [a, b] {
            let page = user.page(group, HistoryOptions::default());
            assert_eq!((reactions(&page, mine), reactions(&page, yours)), (vec![signs[0]], vec![signs[1]]));
            let (quoted, _) = hung(&page, answer).unwrap().in_reply_to.clone().unwrap();
            assert_eq!((quoted.id, text_of(&quoted)), (mine, "edited".to_owned()));
        }
    }
}

#[test]
fn last_read_times_are_the_newest_receipt_of_each_the_own_one_too() {
    let (alice, bo, group) = pair(9);
    let times = |user: &User| {
        let mut times =
            user.call(move |client| async move { client.last_read_times(group).await }).expect("times");
        times.sort_unstable();
        times
    };
    assert!(times(&alice).is_empty());
    bo.say(group, &receipt());
    sync_all(&[&bo, &alice]);
    bo.world.settle(1_000);
    bo.say(group, &receipt());
    sync_all(&[&bo, &alice]);
    let receipts = alice.history(group, of_types(&["readReceipt"]));
    let newest = |user: &User| {
        receipts.iter().filter(|row| row.sender_inbox == user.inbox()).map(|row| row.sent_ns).max()
    };
    assert_eq!(times(&alice), [(bo.inbox(), newest(&bo).unwrap())]);
    alice.offline(true);
    let own = alice.say(group, &receipt());
    let waiting = alice.message(own).unwrap().sent_ns;
    assert!(times(&alice).contains(&(alice.inbox(), waiting)), "also before it left");
    alice.offline(false);
    sync_all(&[&alice, &bo]);
    assert_eq!(times(&alice), times(&bo));
    assert_eq!(times(&bo).len(), 2);
    alice.store.reset_figures();
    times(&alice);
    assert!(alice.store.figures().rows <= 2, "no message is read for it");
}

/// Rows a stream told, by type id.
fn follow(user: &User, types: Option<&[&str]>) -> (Rc<RefCell<Vec<MessageRow>>>, impl Drop) {
    let types = types.map(Types::only).unwrap_or_default();
    let interest = Interest::Messages { conversation: None, kind: None, states: None, types };
    let told: Rc<RefCell<Vec<MessageRow>>> = Rc::default();
    let into = told.clone();
    let listener = move |news| {
        if let News::Message(row) = news {
            into.borrow_mut().push(*row);
        }
    };
    let subscription =
        user.call(move |client| async move { client.follow(interest, listener).await }).expect("follows");
    (told, subscription)
}

#[test]
fn streams_leave_silent_types_out_unless_asked_and_dress_replies() {
    let (alice, bo, group) = pair(10);
    let text = alice.text(group, "text");
    sync_all(&[&alice, &bo]);
    let (default, _one) = follow(&bo, None);
    let (asked, _two) = follow(&bo, Some(&["reaction", "deleteMessage"]));
    for content in [
        reaction(text, "+", true),
        receipt(),
        edit(text, "new"),
        reply(text, "answer"),
        deletion(text),
        EncodedContent::text("last"),
    ] {
        alice.say(group, &content);
    }
    sync_all(&[&alice, &bo]);
    assert_eq!(types(&default.borrow()), ["reply", "text"]);
    assert_eq!(types(&asked.borrow()), ["reaction", "deleteMessage"]);
    let rows = default.borrow().clone();
    let page = bo.call(move |client| async move { client.dressed(rows).await }).expect("dressed");
    let (quoted, _) = page.hung[0].in_reply_to.clone().expect("what it answers");
    assert_eq!((quoted.id, quoted.deleted_by()), (text, Some(alice.inbox())));
    assert_eq!(page.listed.iter().map(|(_, id)| *id).collect::<Vec<_>>(), [group]);
}

#[test]
fn names_of_targets_that_are_keys_of_other_rows_do_no_harm() {
    let (alice, bo, group) = pair(11);
    let dm = alice.dm(&bo);
    sync_all(&[&alice, &bo]);
    // In the same table, the notes of a DM begin with `d` and an inbox.
    let key = alice.call(move |client| async move { client.thread(dm).await }).unwrap().to_key();
    alice.say(dm, &reaction(MessageId([5; 32]), "+", true));
    let target = MessageId::from_slice(&key[..32]).unwrap();
    bo.say(group, &deletion(target));
    bo.say(group, &edit(target, "x"));
    bo.say(group, &reply(target, "x"));
    sync_all(&[&bo, &alice, &bo]);
    for user in [&alice, &bo] {
        assert!(user.inspect(group).groups[0].rejected.is_empty());
        assert_eq!(types(&user.history(group, Default::default())), ["group_updated", "reply"]);
    }
}
