//! Archives: what is in them, what an import makes of them, and that it can be repeated.

use dovetail::archive::export::Options;
use dovetail::base::{GroupId, InboxId, Nanos};
use dovetail::client::{NewGroup, Setting};
use dovetail::consent::{Entity, State};
use dovetail::engine::event::Event;
use dovetail::engine::history::HistoryOptions;
use dovetail::meta::Settings;
use dovetail::store::Table;
use dovetail::store::rows::{GroupKind, GroupState, MessageKind, MessageRow};
use dovetail::wire::{ArchivedMessage, Element, EncodedContent};
use proptest::prelude::*;

use crate::common::archive::{KEY, all, archive_of, elements_of, group, said};
use crate::common::dump::{self, Dump};
use crate::common::{User, World, text_of};

const COUNTED: &[u8] = include_bytes!("../archives/counted.archive");
const CONSTANT: &[u8] = include_bytes!("../archives/constant.archive");

pub fn messages_of(archive: &[u8]) -> Vec<ArchivedMessage> {
    let message = |element| match element {
        Element::Message(message) => Some(*message),
        _ => None,
    };
    elements_of(archive).into_iter().filter_map(message).collect()
}

fn groups_of(archive: &[u8]) -> Vec<GroupId> {
    let group = |element| match element {
        Element::Group(group) => Some(group.id),
        _ => None,
    };
    elements_of(archive).into_iter().filter_map(group).collect()
}

/// Alice, who talked with bo in a DM and in a group, and her new device.
pub fn talked() -> (User, User, User, GroupId, GroupId) {
    let world = World::new(11);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let dm = alice.dm(&bo);
    let group = alice.group(&[&bo]);
    for round in 0..3 {
        alice.text(dm, &format!("dm {round}"));
        bo.sync();
        bo.text(group, &format!("group {round}"));
        alice.sync();
        bo.sync();
    }
    let fresh = world.user("alice");
    (alice, bo, fresh, dm, group)
}

pub fn told(user: &User) -> std::rc::Rc<std::cell::RefCell<Vec<Event>>> {
    let heard: std::rc::Rc<std::cell::RefCell<Vec<Event>>> = Default::default();
    let into = heard.clone();
    let subscription = user.client.subscribe(move |event| into.borrow_mut().push(event.clone()));
    std::mem::forget(subscription);
    heard
}

#[test]
fn arch_013_another_device_of_the_inbox_reads_what_the_first_one_held() {
    let (alice, _bo, fresh, dm, group) = talked();
    fresh.import(&alice.export(all())).ok();
    dump::check_imported(&fresh.store);
    for id in [dm, group] {
        assert_eq!(fresh.texts(id), alice.texts(id));
        let row = fresh.inspect(id).groups[0].row.clone();
        assert_eq!(row.state, GroupState::Restored);
        assert!(row.members.is_empty());
        let original = alice.inspect(id).groups[0].row.clone();
        assert_eq!((row.kind, row.dm), (original.kind, original.dm));
        assert_eq!((row.creator, row.adder), (original.creator, original.adder));
        assert_eq!((row.created_ns, row.last_message_ns), (original.created_ns, original.last_message_ns));
    }
    let order = |user: &User| user.conversations().iter().map(|one| one.group.id).collect::<Vec<_>>();
    assert_eq!(order(&fresh), order(&alice));
}

#[test]
fn arch_013_a_restored_conversation_is_listed_and_read_and_not_written_in_or_subscribed() {
    let (alice, bo, fresh, dm, _) = talked();
    fresh.import(&alice.export(all())).ok();
    assert_eq!(fresh.conversations().len(), 2);
    assert_eq!(fresh.try_text(dm, "no").unwrap_err().code, "group.not_a_member");
    // What is said there goes on unread: nobody added this device.
    bo.text(dm, "later");
    let before = Dump::of(&fresh.store);
    fresh.call(move |client| async move { client.sync_conversation(dm).await }).expect("nothing to read");
    assert!(!fresh.texts(dm).contains(&"later".to_owned()));
    assert!(Dump::of(&fresh.store) == before);
}

#[test]
fn arch_009_a_window_is_open_at_its_start_and_closed_at_its_end() {
    let (alice, ..) = talked();
    let whole = messages_of(&alice.export(all()));
    let times: Vec<_> = whole.iter().map(|message| message.sent_ns).collect();
    let mut sorted = times.clone();
    sorted.sort();
    let (start, end) = (sorted[2], sorted[6]);
    let options = Options { start: Some(start), end: Some(end), ..all() };
    let archive = alice.export(options);
    let expected: Vec<_> = times.iter().copied().filter(|at| *at > start && *at <= end).collect();
    let windowed: Vec<_> = messages_of(&archive).iter().map(|message| message.sent_ns).collect();
    assert_eq!(windowed, expected);
    assert!(windowed.contains(&end) && !windowed.contains(&start));
    // Groups and decisions have no window.
    assert_eq!(groups_of(&archive).len(), 2);
    let Element::Metadata(metadata) = &elements_of(&archive)[0] else { panic!("no metadata") };
    assert_eq!((metadata.start_ns, metadata.end_ns), (Some(start), Some(end)));
    assert!(elements_of(&archive).iter().any(|element| matches!(element, Element::Consent(_))));
}

#[test]
fn arch_009_only_what_is_asked_for_is_in_it() {
    let (alice, ..) = talked();
    let only = |messages, consent| {
        let archive = alice.export(Options { messages, consent, ..Options::default() });
        let kinds = |wanted: fn(&Element) -> bool| elements_of(&archive).iter().any(wanted);
        let talk = kinds(|e| matches!(e, Element::Group(_) | Element::Message(_)));
        (talk, kinds(|e| matches!(e, Element::Consent(_))))
    };
    assert_eq!(only(true, false), (true, false));
    assert_eq!(only(false, true), (false, true));
    assert_eq!(only(false, false), (false, false));
}

#[test]
fn arch_010_groups_come_before_messages_and_no_secret_is_in_it() {
    let (alice, ..) = talked();
    let archive = alice.export(all());
    let elements = elements_of(&archive);
    assert!(matches!(elements[0], Element::Metadata(_)));
    let last_group = elements.iter().rposition(|e| matches!(e, Element::Group(_))).unwrap();
    let first_message = elements.iter().position(|e| matches!(e, Element::Message(_))).unwrap();
    assert!(last_group < first_message);
    // Every secret of the database, looked for in every element.
    let dump = Dump::of(&alice.store);
    let seed = dump.rows::<dovetail::store::rows::InstallationRow>()[0].seed;
    let mut secrets = vec![seed.to_vec()];
    for id in groups_of(&archive) {
        let (_, mls) = dump.mls(id).expect("MLS state");
        secrets.push(mls.authenticator());
        let signer = mls.facts().dictionary[&dovetail::meta::component::COMMIT_LOG_SIGNER].clone();
        assert_eq!(signer.len(), 32);
        secrets.push(signer);
    }
    for element in elements.iter().map(Element::encode) {
        for secret in &secrets {
            assert!(!element.windows(secret.len()).any(|part| part == &secret[..]));
        }
    }
}

#[test]
fn arch_010_what_waits_or_failed_or_never_came_to_life_is_not_in_it() {
    let world = World::new(5);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let dm = alice.dm(&bo);
    alice.text(dm, "sent");
    alice.sync();
    let nobody = alice.dm_to(InboxId([9; 32])).expect("for now");
    alice.sync();
    assert!(matches!(alice.inspect(nobody).groups[0].row.state, GroupState::Failed(_)));
    alice.offline(true);
    alice.text(dm, "waits");
    let archive = alice.export(all());
    assert_eq!(groups_of(&archive), [dm]);
    let texts: Vec<_> =
        messages_of(&archive).iter().filter(|m| !m.transcript).map(|m| m.content.clone()).collect();
    assert_eq!(texts, [EncodedContent::text("sent").encode()]);
}

/// Alice with a group whose messages disappear after a second.
fn disappearing() -> (User, User, GroupId) {
    let world = World::new(8);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let members = vec![bo.inbox()];
    let settings = Settings { disappearing: Some((1, 1_000_000_000)), ..Settings::default() };
    let policies = dovetail::policy::ALL_MEMBERS.to_vec();
    let new = NewGroup { members, settings, policies };
    let group = alice.call(move |client| async move { client.create_group(new).await }).expect("a group");
    alice.sync();
    bo.sync();
    (alice, bo, group)
}

#[test]
fn arch_009_expired_messages_never_leave_and_disappearing_ones_only_if_wanted() {
    let (alice, _bo, group) = disappearing();
    alice.text(group, "old");
    alice.sync();
    alice.world.settle(5_000);
    alice.text(group, "new");
    alice.sync();
    let texts = |options| {
        let archive = alice.export(options);
        let talk = messages_of(&archive).into_iter().filter(|m| !m.transcript);
        talk.map(|m| m.expires_ns).collect::<Vec<_>>()
    };
    let kept = texts(all());
    assert_eq!(kept.len(), 1);
    assert!(kept[0].flatten().is_some(), "its expiry goes along");
    assert_eq!(texts(Options { exclude_disappearing: true, ..all() }), []);
}

#[test]
fn arch_019_an_expiry_that_is_not_known_follows_from_the_archived_settings() {
    let world = World::new(8);
    let alice = world.user("alice");
    let now = world.platform.now_ns();
    let id = GroupId([3; 16]);
    let mut archived = group(id, alice.inbox());
    (archived.disappear_from_ns, archived.disappear_in_ns) = (now - 100, 1_000);
    let message = |n, at, expires_ns| {
        Element::Message(Box::new(ArchivedMessage { expires_ns, ..said(n, id, alice.inbox(), at) }))
    };
    alice
        .import(&archive_of(&[
            Element::Group(Box::new(archived)),
            message(1, now - 10_000, None),
            message(2, now + 5_000, None),
            message(3, now - 50, Some(None)),
            message(4, now - 50, Some(Some(Nanos(now - 1)))),
        ]))
        .ok();
    let stored = Dump::of(&alice.store).messages();
    let expiry = |n: u8| stored.get(&dovetail::base::MessageId([n; 32])).map(|row| row.expires_ns);
    assert_eq!(expiry(1), Some(None), "sent before the setting");
    assert_eq!(expiry(2), Some(Some(Nanos(now + 6_000))));
    assert_eq!(expiry(3), Some(None), "known to stay");
    assert_eq!(expiry(4), None, "expired on the way");
}

#[test]
fn arch_020_settings_and_roles_are_as_archived() {
    let (alice, _bo, fresh, _, group) = talked();
    alice
        .call(move |client| async move {
            let settings = vec![Setting::Name("Sailing".into()), Setting::AppData("{}".into())];
            client.change_settings(group, settings).await
        })
        .expect("changed");
    fresh.import(&alice.export(all())).ok();
    let (own, original) =
        (fresh.inspect(group).groups[0].row.clone(), alice.inspect(group).groups[0].row.clone());
    assert_eq!(own.settings, original.settings);
    assert_eq!(own.settings.name, "Sailing");
    assert_eq!(own.settings.super_admins, [alice.inbox()]);
}

#[test]
fn arch_005_an_archive_made_by_another_program_is_read() {
    let world = World::new(1);
    let carol = world.user("carol");
    carol.import(COUNTED).ok();
    dump::check_imported(&carol.store);
    let (a, b) = (InboxId([0xa0; 32]), InboxId([0xb0; 32]));
    let sailing = carol.inspect(GroupId([1; 16])).groups[0].row.clone();
    assert_eq!((sailing.kind, sailing.creator, sailing.adder), (GroupKind::Group, a, b));
    assert_eq!((sailing.created_ns, sailing.last_message_ns), (Nanos(10), Some(Nanos(30))));
    assert_eq!((&*sailing.settings.name, &*sailing.settings.description), ("Sailing", "On the lake"));
    assert_eq!(sailing.settings.super_admins, [a]);
    assert_eq!(carol.texts(GroupId([2; 16])), ["Hello B", "Hello A"]);
    let dm = carol.inspect(GroupId([2; 16])).groups[0].row.clone();
    assert_eq!((dm.creator, dm.adder, dm.dm), (b, a, dovetail::base::DmId::of(a, b)));
    // Of the decisions two can be used.
    assert_eq!(carol.consent(Entity::Conversation(GroupId([1; 16]))), State::Allowed);
    assert_eq!(carol.consent(Entity::Inbox(b)), State::Denied);
    assert_eq!(Dump::of(&carol.store).count(Table::Consent), 2);
}

#[test]
fn arch_002_an_archive_with_one_nonce_for_all_frames_is_read() {
    let world = World::new(1);
    let carol = world.user("carol");
    carol.import(CONSTANT).ok();
    assert_eq!(carol.consent(Entity::Inbox(InboxId([0xb0; 32]))), State::Denied);
    assert_eq!(carol.consent(Entity::Inbox(InboxId([0xc0; 32]))), State::Allowed);
}

#[test]
fn gmod_035_a_row_is_a_transcript_only_where_it_was_archived_as_one() {
    let (alice, bo, fresh, _, group) = talked();
    let forged = EncodedContent::group_updated(&dovetail::wire::GroupUpdated::by(bo.inbox()));
    let mut archive = elements_of(&alice.export(all()));
    archive.remove(0);
    archive.push(Element::Message(Box::new(ArchivedMessage {
        content: forged.encode(),
        ..said(77, group, bo.inbox(), 5)
    })));
    fresh.import(&archive_of(&archive)).ok();
    let transcripts = |user: &User| {
        let kind = Some(MessageKind::MembershipChange);
        let rows = user.history(group, HistoryOptions { kind, ..HistoryOptions::default() });
        rows.iter().map(|row: &MessageRow| row.id).collect::<Vec<_>>()
    };
    assert_eq!(transcripts(&fresh), transcripts(&alice));
    assert!(!transcripts(&fresh).is_empty());
    let stored = Dump::of(&fresh.store).messages();
    assert_eq!(stored[&dovetail::base::MessageId([77; 32])].kind, MessageKind::Application);
}

#[test]
fn arch_012_the_key_has_32_bytes() {
    let (alice, ..) = talked();
    for length in [0, 16, 31, 33, 64] {
        let key = vec![7; length];
        assert_eq!(alice.export_with(all(), &key).unwrap_err().code, "archive.key");
        assert_eq!(alice.import_with(COUNTED, &key).code(), "archive.key");
    }
    assert!(alice.export_with(all(), &KEY).is_ok());
}

fn any_text() -> impl Strategy<Value = String> {
    "[a-z]{0,12}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any texts in any conversations come out on another device in the same order.
    #[test]
    fn arch_013_what_goes_in_comes_out(said in proptest::collection::vec((any::<bool>(), any_text()), 0..12)) {
        let world = World::new(2);
        let (alice, bo) = (world.user("alice"), world.user("bo"));
        let dm = alice.dm(&bo);
        alice.sync();
        bo.sync();
        for (mine, text) in &said {
            let user = if *mine { &alice } else { &bo };
            if !text.is_empty() {
                user.text(dm, text);
            }
            bo.sync();
        }
        alice.sync();
        let fresh = world.user("carol");
        fresh.import(&alice.export(all())).ok();
        let texts = |user: &User| user.history(dm, HistoryOptions::default()).iter().map(text_of).collect::<Vec<_>>();
        prop_assert_eq!(texts(&fresh), texts(&alice));
        dump::check_imported(&fresh.store);
    }
}
