//! Messages taken back (PROC-037): by whom, which, and what is left of them.

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, MessageId};
use dovetail::client::Role;
use dovetail::engine::event::Event;
use dovetail::engine::history::HistoryOptions;
use dovetail::store::Table;
use dovetail::store::rows::{MessageKind, MessageStatus};
use dovetail::wire::{EncodedContent, PlaintextV1};

use crate::common::archive::all;
use crate::common::content::{deletion, edit, hung, of_types, reaction, typed, types};
use crate::common::dump::{self, Dump};
use crate::common::forge::Forger;
use crate::common::group::sync_all;
use crate::common::{User, World, text_of};

const SECRET: &str = "something said in confidence";

fn three(seed: u64) -> (User, User, User, GroupId) {
    let world = World::new(seed);
    let (alice, bo, caro) = (world.user("alice"), world.user("bo"), world.user("caro"));
    let group = alice.group(&[&bo, &caro]);
    (alice, bo, caro, group)
}

/// Whether the words are anywhere in a database.
fn holds(user: &User, words: &str) -> bool {
    let found = |body: &[u8]| body.windows(words.len()).any(|part| part == words.as_bytes());
    Dump::of(&user.store).0.values().any(|record| found(&record.body))
}

fn deletions_told(user: &User) -> (Rc<RefCell<Vec<MessageId>>>, impl Drop) {
    let told: Rc<RefCell<Vec<MessageId>>> = Rc::default();
    let into = told.clone();
    let subscription = user.client.subscribe(move |event| {
        if let Event::MessageDeleted { id, locally: false, .. } = event {
            into.borrow_mut().push(*id);
        }
    });
    (told, subscription)
}

#[test]
fn proc_037_a_sender_takes_a_message_back_and_its_content_leaves_every_disk() {
    let (alice, bo, caro, group) = three(1);
    bo.text(group, "before");
    let id = bo.text(group, SECRET);
    sync_all(&[&alice, &bo, &caro]);
    bo.say(group, &edit(id, &format!("{SECRET}, edited")));
    alice.say(group, &reaction(id, "+", true));
    sync_all(&[&alice, &bo, &caro]);
    let before = alice.message(id).unwrap();
    let activity = alice.row(group).last_message_ns;
    let (told, _subscription) = deletions_told(&alice);
    bo.say(group, &deletion(id));
    sync_all(&[&bo, &alice, &caro]);
    for user in [&alice, &bo, &caro] {
        assert!(!holds(user, SECRET), "the text, its edit");
        let page = user.page(group, HistoryOptions::default());
        assert_eq!(types(&page.rows), ["group_updated", "text", "text"]);
        assert_eq!(page.rows[2].deleted_by(), Some(bo.inbox()));
        assert!(page.hung.is_empty(), "neither the edit nor the reaction hang on it any more");
        assert_eq!(user.count(group, HistoryOptions::default()), 3);
        assert_eq!(user.history(group, HistoryOptions::newest())[0].id, id, "it keeps its place");
        dump::check(&user.store);
    }
    let after = alice.message(id).unwrap();
    assert_eq!(
        (after.sender_inbox, after.sent_ns, after.delivery),
        (before.sender_inbox, before.sent_ns, before.delivery)
    );
    assert!(alice.row(group).last_message_ns > activity, "DMS-013: the deletion is activity itself");
    assert_eq!(*told.borrow(), [id]);
    // A second deletion, and an edit that comes too late.
    bo.say(group, &deletion(id));
    bo.say(group, &edit(id, SECRET));
    sync_all(&[&bo, &alice, &caro]);
    assert!(!holds(&alice, SECRET) && !holds(&bo, SECRET));
    assert_eq!(*told.borrow(), [id]);
}

#[test]
fn proc_037_an_own_deletion_shows_at_once_and_takes_the_content_when_it_is_at_its_place() {
    let (alice, bo, _, group) = three(2);
    let id = alice.text(group, SECRET);
    sync_all(&[&alice, &bo]);
    alice.offline(true);
    alice.say(group, &deletion(id));
    let row = alice.message(id).unwrap();
    assert_eq!(row.deleted_by(), Some(alice.inbox()));
    assert!(holds(&alice, SECRET), "it may still never leave");
    alice.offline(false);
    sync_all(&[&alice, &bo]);
    assert!(!holds(&alice, SECRET) && !holds(&bo, SECRET));
}

#[test]
fn proc_037_a_deletion_that_never_leaves_takes_nothing() {
    let (alice, _, _, group) = three(3);
    let id = alice.text(group, SECRET);
    alice.sync();
    alice.delivery.set(|faults| faults.refuse = 1);
    alice.say(group, &deletion(id));
    alice.world.settle(50);
    assert!(matches!(alice.history(group, of_types(&["deleteMessage"]))[0].status, MessageStatus::Failed(_)));
    assert_eq!(alice.message(id).map(|row| text_of(&row)).as_deref(), Some(SECRET));
}

#[test]
fn proc_037_other_members_and_admins_cannot_and_super_admins_can() {
    let (alice, bo, caro, group) = three(4);
    alice.role(group, bo.inbox(), Role::Admin, true).unwrap();
    let id = caro.text(group, SECRET);
    sync_all(&[&alice, &bo, &caro]);
    let forged = bo.say(group, &deletion(id));
    sync_all(&[&bo, &alice, &caro]);
    for user in [&alice, &bo, &caro] {
        assert_eq!(user.message(id).map(|row| text_of(&row)).as_deref(), Some(SECRET));
        // It stays stored, and changes nothing.
        assert_eq!(user.history(group, of_types(&["deleteMessage"]))[0].id, forged);
    }
    alice.say(group, &deletion(id));
    sync_all(&[&alice, &bo, &caro]);
    for user in [&alice, &bo, &caro] {
        assert_eq!(user.message(id).unwrap().deleted_by(), Some(alice.inbox()));
        assert!(!holds(user, SECRET));
    }
}

#[test]
fn proc_037_who_is_a_super_admin_is_read_at_the_deletions_place() {
    let (alice, bo, caro, group) = three(5);
    let (first, second) = (caro.text(group, "first"), caro.text(group, "second"));
    sync_all(&[&alice, &bo, &caro]);
    alice.role(group, bo.inbox(), Role::SuperAdmin, true).unwrap();
    bo.sync();
    bo.say(group, &deletion(first));
    bo.sync();
    alice.role(group, bo.inbox(), Role::SuperAdmin, false).unwrap();
    // Written while he was one, ordered when he was none any more.
    bo.say(group, &deletion(second));
    bo.sync();
    // Whoever reads all of it later judges the same.
    for user in [&caro, &alice, &bo] {
        user.sync();
        assert_eq!(user.message(first).unwrap().deleted_by(), Some(bo.inbox()));
        assert_eq!(user.message(second).map(|row| text_of(&row)).as_deref(), Some("second"));
    }
}

#[test]
fn proc_037_in_a_dm_only_the_sender_can() {
    let world = World::new(6);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let dm = alice.dm(&bo);
    let (mine, yours) = (alice.text(dm, "mine"), alice.text(dm, "yours"));
    sync_all(&[&alice, &bo]);
    bo.say(dm, &deletion(mine));
    alice.say(dm, &deletion(yours));
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        assert_eq!(user.message(mine).map(|row| text_of(&row)).as_deref(), Some("mine"));
        assert_eq!(user.message(yours).unwrap().deleted_by(), Some(alice.inbox()));
        assert_eq!(
            user.history(dm, HistoryOptions { kind: Some(MessageKind::Application), ..Default::default() })
                .len(),
            2
        );
    }
}

#[test]
fn proc_037_in_a_stitched_dm_a_deletion_goes_to_the_group_of_its_message() {
    let world = World::new(10);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let (a, b) = (alice.dm(&bo), bo.dm(&alice));
    let ids = [alice.text(a, SECRET), alice.text(a, SECRET)];
    bo.text(b, "hello");
    alice.offline(false);
    bo.offline(false);
    sync_all(&[&alice, &bo]);
    bo.text(b, "hello again");
    sync_all(&[&alice, &bo]);
    let winner = alice.conversations()[0].group.id;
    assert_eq!((winner, alice.message(ids[0]).unwrap().group), (b, a), "written in the other one");
    for (id, through) in ids.into_iter().zip([a, b]) {
        let deletion = alice.say(through, &deletion(id));
        assert_eq!(alice.message(deletion).unwrap().group, a);
    }
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        assert!(ids.iter().all(|id| user.message(*id).unwrap().deleted_by() == Some(alice.inbox())));
        assert!(!holds(user, SECRET));
    }
}

#[test]
fn proc_037_what_is_no_content_stays() {
    let (alice, bo, _, group) = three(7);
    let text = alice.text(group, "text");
    let sign = alice.say(group, &reaction(text, "+", true));
    let poll = alice.say(group, &typed("poll", 1, b"poll".to_vec()));
    let first = alice.say(group, &deletion(sign));
    sync_all(&[&alice, &bo]);
    let change = alice.history(group, HistoryOptions::default())[0].id;
    for id in [poll, change, first] {
        alice.say(group, &deletion(id));
    }
    sync_all(&[&alice, &bo]);
    for user in [&alice, &bo] {
        let page = user.page(group, HistoryOptions::default());
        assert!(page.rows.iter().all(|row| row.deleted_by().is_none()));
        assert_eq!(hung(&page, text).unwrap().reactions[0].id, sign);
        let rows = Dump::of(&user.store).messages();
        let all = [sign, poll, change, first];
        assert!(all.iter().filter_map(|id| rows.get(id)).all(|row| row.kind != MessageKind::Deleted));
    }
}

#[test]
fn proc_037_a_deletion_that_comes_before_its_message_counts_when_that_comes() {
    let (alice, bo, caro, group) = three(8);
    // The id of a message is known to its sender before the message is sent.
    let content = EncodedContent::text(SECRET).encode();
    let id = dovetail::wire::message_id(group, "later", &content);
    bo.say(group, &deletion(id));
    sync_all(&[&bo, &alice, &caro]);
    let (told, _subscription) = deletions_told(&alice);
    let sent = bo.call({
        let content = content.clone();
        move |client| async move { client.send(group, content, Some("later".into())).await }
    });
    assert_eq!(sent.unwrap(), id);
    sync_all(&[&bo, &alice, &caro]);
    for user in [&alice, &bo, &caro] {
        assert_eq!(user.message(id).unwrap().deleted_by(), Some(bo.inbox()));
        assert!(!holds(user, SECRET));
    }
    assert_eq!(*told.borrow(), [id]);
}

#[test]
fn proc_037_archives_bring_a_message_and_its_deletion_in_any_order() {
    let (alice, bo, _, group) = three(11);
    let id = alice.text(group, SECRET);
    let other = alice.text(group, "other");
    alice.say(group, &edit(id, SECRET));
    sync_all(&[&alice, &bo]);
    let before = alice.export(all());
    alice.say(group, &deletion(id));
    sync_all(&[&alice, &bo]);
    let after = alice.export(all());
    for archives in [[&before, &after], [&after, &before]] {
        let fresh = alice.world.user("alice");
        archives.into_iter().for_each(|archive| fresh.import(archive).ok());
        assert!(!holds(&fresh, SECRET), "neither archive leaves it on the disk");
        let page = fresh.page(group, HistoryOptions::default());
        assert_eq!(types(&page.rows), ["group_updated", "text", "text"]);
        assert_eq!(fresh.message(id).unwrap().deleted_by(), Some(alice.inbox()));
        assert_eq!(fresh.message(other).map(|row| text_of(&row)).as_deref(), Some("other"));
    }
}

#[test]
fn proc_037_two_tabs_end_with_one_deletion() {
    for seed in 0..6 {
        let (alice, bo, _, group) = three(20 + seed);
        let ids: Vec<MessageId> = (0..6).map(|n| bo.text(group, &format!("{SECRET} {n}"))).collect();
        sync_all(&[&bo, &alice]);
        let tab = alice.tab();
        for (at, user) in [&alice, &tab].into_iter().enumerate() {
            user.delivery.set(|faults| faults.delay_ms = 2 + 3 * at as u32);
        }
        for id in &ids {
            bo.say(group, &deletion(*id));
        }
        bo.sync();
        let (one, _first) = deletions_told(&alice);
        let (two, _second) = deletions_told(&tab);
        let (first, second) = (alice.client.clone(), tab.client.clone());
        alice.world.run(async move {
            let (one, two) = futures::join!(first.sync(), second.sync());
            one.unwrap();
            two.unwrap();
        });
        let mut told: Vec<MessageId> = one.borrow().iter().chain(two.borrow().iter()).copied().collect();
        told.sort_unstable();
        let mut all = ids.clone();
        all.sort_unstable();
        assert_eq!(told, all, "each by the tab that committed it");
        assert!(!holds(&alice, SECRET));
        dump::check(&alice.store);
    }
}

#[test]
fn proc_037_a_flood_of_deletions_of_nothing_is_bounded() {
    let (alice, bo, _, group) = three(9);
    let forger = Forger::of(&bo);
    for n in 0..300u32 {
        let mut id = [7; 32];
        id[..4].copy_from_slice(&n.to_be_bytes());
        let content = deletion(MessageId(id)).encode();
        let plaintext = PlaintextV1 { content, idempotency_key: n.to_string() }.encode();
        forger.publish(group, forger.message(group, &plaintext));
    }
    alice.sync();
    assert!(alice.inspect(group).groups[0].rejected.is_empty());
    assert_eq!(Dump::of(&alice.store).count(Table::Annotations), 301, "one each, and the notes");
    let longest = Dump::of(&alice.store).0.values().map(|record| record.body.len()).max();
    assert!(longest < Some(64 * 1024));
}
