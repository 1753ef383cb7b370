//! Archives meet what is here already, or what comes later: each row once, under one number.

use dovetail::base::{GroupId, InboxId, MessageId, Nanos};
use dovetail::engine::event::Event;
use dovetail::engine::reader::Selection;
use dovetail::wire::{ArchivedKind, ArchivedMessage, ContentType, Element, EncodedContent};
use futures::FutureExt;

use crate::archive::{messages_of, talked, told};
use crate::common::archive::{all, archive_of, elements_of, group, said};
use crate::common::dump::{self, Dump};
use crate::common::group::sync_all;
use crate::common::{User, World};

#[test]
fn arch_014_importing_again_changes_nothing() {
    let (alice, _bo, fresh, ..) = talked();
    let archive = alice.export(all());
    fresh.import(&archive).ok();
    let once = Dump::of(&fresh.store);
    fresh.import(&archive).ok();
    assert_eq!(once.differences(&Dump::of(&fresh.store)), []);
    let own = Dump::of(&alice.store);
    alice.import(&archive).ok();
    assert_eq!(own.differences(&Dump::of(&alice.store)), []);
    dump::check(&alice.store);
}

#[test]
fn arch_014_known_rows_stay_and_what_is_missing_comes() {
    let (alice, bo, fresh, dm, _) = talked();
    let archive = alice.export(all());
    // The new device is added by a commit, and has the conversation from there on.
    bo.sync();
    bo.text(dm, "welcome");
    bo.sync();
    fresh.sync();
    alice.sync();
    assert_eq!(fresh.texts(dm), ["welcome"]);
    let before = fresh.inspect(dm).groups[0].row.clone();
    fresh.import(&archive).ok();
    assert_eq!(fresh.texts(dm), alice.texts(dm));
    let after = fresh.inspect(dm).groups[0].row.clone();
    assert_eq!(after, before, "a known group is unchanged");
    dump::check_imported(&fresh.store);
    // It works on.
    fresh.text(dm, "thanks");
    fresh.sync();
    bo.sync();
    assert_eq!(bo.texts(dm).last().map(String::as_str), Some("thanks"));
}

#[test]
fn dms_013_an_import_raises_activity_by_maximum_and_lowers_it_never() {
    let (alice, _bo, _fresh, dm, _) = talked();
    let row = alice.inspect(dm).groups[0].row.clone();
    let (stored, created) = (row.last_message_ns.unwrap(), row.creator);
    let archived = |at| {
        let mut group = group(dm, created);
        (group.kind, group.last_message_ns) = (ArchivedKind::Dm(row.dm.unwrap()), at);
        archive_of(&[Element::Group(Box::new(group))])
    };
    for lower in [None, Some(Nanos(5)), Some(stored)] {
        let before = Dump::of(&alice.store);
        alice.import(&archived(lower)).ok();
        assert!(Dump::of(&alice.store) == before);
    }
    let later = Nanos(stored.0 + 7);
    alice.import(&archived(Some(later))).ok();
    assert_eq!(alice.inspect(dm).groups[0].row.last_message_ns, Some(later));
    dump::check_imported(&alice.store);
    // What a step has loaded before does not bring the old value back.
    alice.text(dm, "still here");
    alice.sync();
    assert!(alice.inspect(dm).groups[0].row.last_message_ns >= Some(later));
}

#[test]
fn arch_013_an_import_is_told_once_at_its_end() {
    let (alice, _bo, fresh, ..) = talked();
    let heard = told(&fresh);
    let archive = alice.export(all());
    fresh.import(&archive).ok();
    let heard = heard.borrow();
    assert!(
        matches!(heard.as_slice(), [Event::ArchiveRestored { complete: true }]),
        "{} events",
        heard.len()
    );
}

#[test]
fn proc_024_imported_messages_have_numbers_in_the_order_of_the_archive() {
    let (alice, _bo, fresh, dm, _) = talked();
    let archive = alice.export(all());
    fresh.import(&archive).ok();
    let stored = Dump::of(&fresh.store).messages();
    let numbers: Vec<_> = messages_of(&archive).iter().map(|m| stored[&m.id].delivery.unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
    // The next message of the database goes on behind them.
    let next = fresh.dm_to(InboxId([9; 32]));
    assert!(next.is_ok() || next.is_err());
    assert!(stored.values().all(|row| row.sent_ns != Nanos(0)), "{dm:?}");
}

#[test]
fn arch_013_a_page_that_dies_in_the_middle_goes_on_with_a_second_import() {
    let (alice, _bo, mut fresh, dm, group) = talked();
    let mut whole = elements_of(&alice.export(all()));
    whole.remove(0);
    let half = whole.len() / 2;
    fresh.import(&archive_of(&whole[..half])).ok();
    fresh.reopen();
    fresh.import(&archive_of(&whole)).ok();
    for id in [dm, group] {
        assert_eq!(fresh.texts(id), alice.texts(id));
    }
    dump::check_imported(&fresh.store);
}

#[test]
fn proc_037_archived_deletions_take_back_what_they_are_about_in_either_order() {
    let (a, b) = (InboxId([1; 32]), InboxId([2; 32]));
    let id = GroupId([4; 16]);
    let save = Element::Group(Box::new(group(id, a)));
    let target = said(1, id, a, 5);
    let deletion = |n: u8, sender| {
        // deleteMessage 1.0: the target's id in hexadecimal, as field 1.
        let mut body = vec![0x0a, 64];
        body.extend(target.id.to_string().as_bytes());
        let mut content = EncodedContent::text("");
        content.content_type = ContentType::xmtp("deleteMessage", 1, 0);
        (content.parameters, content.content) = (Default::default(), body);
        Element::Message(Box::new(ArchivedMessage { content: content.encode(), ..said(n, id, sender, 6) }))
    };
    let of = |target: &ArchivedMessage| Element::Message(Box::new(target.clone()));
    for (by, taken_back) in [(a, true), (b, false)] {
        for elements in [[of(&target), deletion(2, by)], [deletion(2, by), of(&target)]] {
            let world = World::new(1);
            // In one unit, and one by one.
            let (one, two) = (world.user("carol"), world.user("dave"));
            one.import(&archive_of(&[save.clone(), elements[0].clone(), elements[1].clone()])).ok();
            two.import(&archive_of(std::slice::from_ref(&save))).ok();
            elements.iter().for_each(|element| two.import(&archive_of(std::slice::from_ref(element))).ok());
            for user in [one, two] {
                let row = Dump::of(&user.store).messages().remove(&target.id).unwrap();
                assert_eq!(row.content != target.content, taken_back, "{by:?}");
            }
        }
    }
}

#[test]
fn proc_024_a_transcript_that_an_archive_brings_before_its_commit_is_read_has_one_number() {
    let world = World::new(41);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let phone = world.user("bo");
    sync_all(&[&bo, &alice, &phone, &bo, &alice, &phone]);
    alice.name(group, "renamed").unwrap();
    alice.text(group, "behind it");
    sync_all(&[&alice, &phone]);
    bo.import(&phone.export(all())).ok();
    let consumer = bo.call(|client| async move { client.consume(Selection::default()).await }).unwrap();
    let drain = || -> Vec<MessageId> {
        std::iter::from_fn(|| consumer.next().now_or_never()?.expect("a message")).map(|row| row.id).collect()
    };
    let numbers = |user: &User| -> Vec<(MessageId, Option<u64>)> {
        Dump::of(&user.store).messages().into_values().map(|row| (row.id, row.delivery)).collect()
    };
    let (imported, before) = (drain(), numbers(&bo));
    assert_eq!(bo.texts(group), ["behind it"]);
    assert!(bo.row(group).settings.name != "renamed", "its commit was not read yet");
    let heard = told(&bo);
    bo.sync();
    assert_eq!(bo.row(group).settings.name, "renamed");
    assert_eq!(numbers(&bo), before, "each keeps the number it was given");
    assert_eq!(drain(), [], "{imported:?}");
    assert!(!heard.borrow().iter().any(|event| matches!(event, Event::Message { .. })));
    dump::check(&bo.store);
}
