//! DMs out of an archive: kept as archived whoever they are between, and never the place to write in.

use dovetail::base::{DmId, GroupId, InboxId, Nanos};
use dovetail::consent::{Entity, State};
use dovetail::engine::history::HistoryOptions;
use dovetail::engine::list::ListOptions;
use dovetail::store::Table;
use dovetail::store::rows::{GroupKind, GroupState, MessageKind};
use dovetail::wire::{ArchivedKind, ArchivedMessage, Element, EncodedContent, GroupUpdated};
use proptest::prelude::*;

use crate::archive_dm_join::Restored;
use crate::common::archive::{all, archive_of, decided, elements_of, group, said};
use crate::common::dump::{self, Dump};
use crate::common::forge::Forger;
use crate::common::{User, World};

pub const GROUP: GroupId = GroupId([0x77; 16]);
const OTHER: GroupId = GroupId([0x78; 16]);

pub fn dm_save(id: GroupId, pair: (InboxId, InboxId), last: Option<i64>) -> Element {
    let mut save = group(id, pair.0);
    save.kind = ArchivedKind::Dm(DmId::of(pair.0, pair.1).expect("a pair"));
    save.last_message_ns = last.map(Nanos);
    Element::Group(Box::new(save))
}

pub fn message(n: u8, id: GroupId, sender: InboxId, at: i64) -> Element {
    Element::Message(Box::new(said(n, id, sender, at)))
}

#[test]
fn dms_015_a_restored_dm_is_a_dm_and_listed_once_and_inactive() {
    let Restored { mallory, bo } = Restored::new();
    let list = bo.conversations();
    assert_eq!(list.len(), 1);
    let row = &list[0].group;
    assert_eq!((row.kind, &row.state), (GroupKind::Dm, &GroupState::Restored));
    assert_eq!(row.dm, DmId::of(mallory.inbox(), bo.inbox()));
    assert_eq!(list[0].peer, Some(mallory.inbox()));
    assert_eq!(list[0].consent, State::Unknown);
    assert_eq!(Dump::of(&bo.store).count(Table::Consent), 0, "no record of its own");
    assert_eq!(bo.try_text(GROUP, "no").unwrap_err().code, "group.not_a_member");
    assert!(bo.texts(GROUP).len() == 2);
}

#[test]
fn dms_005_a_restored_dm_is_no_reason_not_to_create_one() {
    let Restored { mallory, bo } = Restored::new();
    let created = bo.dm(&mallory);
    assert_ne!(created, GROUP);
    assert_eq!(bo.dm(&mallory), created);
    // One conversation; the live group is the one to write in, however old it is.
    let list = bo.conversations();
    assert_eq!((list.len(), list[0].group.id), (1, created));
    assert_eq!(bo.texts(created), ["archived 1", "archived 2"]);
    bo.text(GROUP, "into the live one");
    bo.sync();
    mallory.sync();
    assert_eq!(mallory.texts(created), ["into the live one"]);
    dump::check_imported(&bo.store);
}

#[test]
fn dms_013_a_live_group_wins_over_any_placeholder_however_active() {
    let world = World::new(6);
    let (mallory, bo) = (world.user("mallory"), world.user("bo"));
    let live = bo.dm(&mallory);
    bo.import(&archive_of(&[dm_save(GROUP, (mallory.inbox(), bo.inbox()), Some(i64::MAX))])).ok();
    assert_eq!(bo.conversations()[0].group.id, live);
    assert_eq!(bo.conversations().len(), 1);
    let all = bo.list(ListOptions { include_duplicates: true, ..ListOptions::default() });
    assert_eq!(all.iter().map(|one| one.group.id).collect::<Vec<_>>(), [live, GROUP]);
    dump::check_imported(&bo.store);
}

#[test]
fn dms_016_017_a_dm_of_two_other_inboxes_is_read_and_has_no_peer() {
    let world = World::new(6);
    let carol = world.user("carol");
    let (a, b) = (InboxId([0xa0; 32]), InboxId([0xb0; 32]));
    carol
        .import(&archive_of(&[
            dm_save(GROUP, (a, b), Some(40)),
            dm_save(OTHER, (b, a), Some(20)),
            message(1, GROUP, a, 30),
            message(2, OTHER, b, 20),
        ]))
        .ok();
    let list = carol.conversations();
    assert_eq!((list.len(), list[0].group.id, list[0].peer), (1, GROUP, None));
    assert_eq!(list[0].group.dm, DmId::of(a, b));
    assert_eq!(carol.texts(OTHER), ["archived 2", "archived 1"]);
    let others = carol.call(move |client| async move { client.duplicates(GROUP).await });
    assert_eq!(others.unwrap(), [OTHER]);
    // It can be decided about like any other.
    carol.decide(GROUP, State::Denied);
    assert!(carol.conversations().is_empty());
    assert_eq!(carol.consent(Entity::Conversation(OTHER)), State::Denied);
    carol.sync();
    dump::check_imported(&carol.store);
}

#[test]
fn dms_017_a_foreign_dm_survives_another_export() {
    let world = World::new(6);
    let (carol, dave) = (world.user("carol"), world.user("dave"));
    let (a, b) = (InboxId([0xa0; 32]), InboxId([0xb0; 32]));
    carol.import(&archive_of(&[dm_save(GROUP, (a, b), Some(40)), message(1, GROUP, a, 30)])).ok();
    let again = carol.export(all());
    dave.import(&again).ok();
    let row = |user: &User| user.inspect(GROUP).groups[0].row.clone();
    assert_eq!(row(&carol), row(&dave));
    assert_eq!(dave.texts(GROUP), ["archived 1"]);
}

#[test]
fn dms_015_a_message_from_outside_of_the_pair_ends_the_import_there() {
    let world = World::new(6);
    let carol = world.user("carol");
    let (a, b, c) = (InboxId([0xa0; 32]), InboxId([0xb0; 32]), InboxId([0xc0; 32]));
    let transcript = ArchivedMessage { transcript: true, ..said(3, GROUP, c, 35) };
    for outside in [
        message(2, GROUP, c, 35),
        Element::Message(Box::new(transcript)),
        message(2, GROUP, carol.inbox(), 35),
    ] {
        let imported = carol.import(&archive_of(&[
            dm_save(GROUP, (a, b), Some(40)),
            message(1, GROUP, a, 30),
            outside,
            message(4, GROUP, b, 40),
        ]));
        let error = imported.result.unwrap_err();
        assert_eq!(error.code, "archive.rule");
        assert!(error.message.contains("DMS-015"), "{}", error.message);
        assert_eq!(carol.texts(GROUP), ["archived 1"]);
        dump::check_imported(&carol.store);
    }
}

#[test]
fn dms_015_the_rule_binds_the_live_dm_too() {
    let world = World::new(6);
    let (mallory, bo) = (world.user("mallory"), world.user("bo"));
    let dm = bo.dm(&mallory);
    bo.sync();
    let imported = bo.import(&archive_of(&[message(1, dm, InboxId([9; 32]), 30)]));
    assert_eq!(imported.code(), "archive.rule");
    bo.import(&archive_of(&[message(1, dm, mallory.inbox(), 30)])).ok();
    assert_eq!(bo.texts(dm), ["archived 1"]);
}

#[test]
fn dms_011_an_archived_add_that_was_shown_stays_hidden() {
    let world = World::new(4);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let dm = alice.dm(&bo);
    alice.text(dm, "hi");
    alice.sync();
    bo.sync();
    let transcripts = |user: &User| {
        let kind = Some(MessageKind::MembershipChange);
        user.history(dm, HistoryOptions { kind, ..HistoryOptions::default() }).len()
    };
    let shown = transcripts(&bo);
    assert_eq!(shown, 1);
    // The same add, told again under other ids and in a duplicate group.
    let mut added = GroupUpdated::by(alice.inbox());
    added.added = vec![bo.inbox()];
    let repeated = |n: u8, id: GroupId| {
        let content = EncodedContent::group_updated(&added).encode();
        Element::Message(Box::new(ArchivedMessage {
            transcript: true,
            content,
            ..said(n, id, alice.inbox(), 30)
        }))
    };
    let save = dm_save(GROUP, (alice.inbox(), bo.inbox()), None);
    bo.import(&archive_of(&[save, repeated(1, dm), repeated(2, GROUP)])).ok();
    assert_eq!(transcripts(&bo), shown);
    // On a device that has shown nothing yet, once.
    let fresh = world.user("bo");
    let save = |id| dm_save(id, (alice.inbox(), bo.inbox()), None);
    fresh.import(&archive_of(&[save(dm), save(GROUP), repeated(1, dm), repeated(2, GROUP)])).ok();
    assert_eq!(transcripts(&fresh), 1);
    dump::check_imported(&fresh.store);
}

#[test]
fn dms_010_a_block_stays_when_an_archive_brings_another_copy_of_the_dm() {
    let world = World::new(6);
    let (mallory, bo) = (world.user("mallory"), world.user("bo"));
    let pair = (mallory.inbox(), bo.inbox());
    bo.import(&archive_of(&[dm_save(GROUP, pair, Some(30))])).ok();
    bo.decide(GROUP, State::Denied);
    let block = records_of(&bo, GROUP).unwrap();
    // Another device never heard of the block: its archive has the copy that is active later.
    bo.import(&archive_of(&[dm_save(OTHER, pair, Some(40))])).ok();
    assert_eq!(bo.inspect(GROUP).winner, OTHER);
    let inherited = records_of(&bo, OTHER).unwrap();
    assert_eq!((inherited.state, inherited.consented_at_ns), (State::Denied, block.consented_at_ns));
    assert!(bo.conversations().is_empty());
    // A later decision that the archive has wins as ever, and a second import changes nothing.
    let later = decided(1, &OTHER.to_string(), 2, block.consented_at_ns.0 + 1);
    for _ in 0..2 {
        bo.import(&archive_of(&[dm_save(OTHER, pair, Some(40)), later.clone()])).ok();
        assert_eq!(bo.consent(Entity::Conversation(OTHER)), State::Allowed);
        assert_eq!(bo.conversations().len(), 1);
    }
    dump::check_imported(&bo.store);
}

fn records_of(user: &User, group: GroupId) -> Option<dovetail::consent::Record> {
    crate::common::devices::records(&Dump::of(&user.store)).remove(&Entity::Conversation(group))
}

#[test]
fn dms_010_a_decision_before_a_restored_group_is_its_own_and_that_of_its_dm() {
    let world = World::new(6);
    let (mallory, bo) = (world.user("mallory"), world.user("bo"));
    let pair = (mallory.inbox(), bo.inbox());
    // Decided before anything of the conversation was here.
    bo.call(|client| async move { client.set_consent(Entity::Conversation(GROUP), State::Denied).await })
        .unwrap();
    bo.import(&archive_of(&[dm_save(GROUP, pair, Some(40)), dm_save(OTHER, pair, Some(30))])).ok();
    assert_eq!(bo.consent(Entity::Conversation(OTHER)), State::Denied);
    assert!(bo.conversations().is_empty());
    dump::check_imported(&bo.store);
    // A live group of the pair inherits the block.
    let restored = Restored { mallory, bo };
    Forger::of(&restored.mallory).offer(
        GroupId([0x79; 16]),
        &restored.dm(),
        &[restored.bo.client.installation()],
    );
    restored.bo.sync();
    assert!(restored.bo.conversations().is_empty());
    assert_eq!(restored.bo.consent(Entity::Conversation(GroupId([0x79; 16]))), State::Denied);
}

#[test]
fn dms_007_decisions_of_an_archive_move_its_conversations_between_the_lists() {
    let world = World::new(6);
    let (mallory, bo) = (world.user("mallory"), world.user("bo"));
    let pair = (mallory.inbox(), bo.inbox());
    let archive = archive_of(&[dm_save(GROUP, pair, Some(40)), decided(1, &GROUP.to_string(), 3, 50)]);
    bo.import(&archive).ok();
    assert!(bo.conversations().is_empty());
    let blocked = bo.list(ListOptions { consent: Some(vec![State::Denied]), ..ListOptions::default() });
    assert_eq!(blocked[0].group.id, GROUP);
    dump::check_imported(&bo.store);
    assert_eq!(elements_of(&bo.export(all())).len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Archives of any groups of a pair, in any order and cut anywhere, come to the same winner.
    #[test]
    fn dms_013_the_order_of_imports_decides_nothing(
        groups in proptest::collection::vec((0u8..4, proptest::option::of(0i64..5)), 1..8), turn in any::<usize>(),
    ) {
        let world = World::new(6);
        let (a, b) = (InboxId([0xa0; 32]), InboxId([0xb0; 32]));
        let save = |(id, last): &(u8, Option<i64>)| dm_save(GroupId([*id; 16]), (a, b), *last);
        let elements: Vec<Element> = groups.iter().map(save).collect();
        let (one, two) = (world.user("carol"), world.user("dave"));
        one.import(&archive_of(&elements)).ok();
        let mut turned = elements.clone();
        turned.rotate_left(turn % elements.len());
        let (first, second) = turned.split_at(turned.len() / 2);
        two.import(&archive_of(second)).ok();
        two.import(&archive_of(first)).ok();
        let winner = |user: &User| user.conversations().iter().map(|one| (one.group.id, one.group.last_message_ns)).collect::<Vec<_>>();
        prop_assert_eq!(winner(&one), winner(&two));
        dump::check_imported(&one.store);
        dump::check_imported(&two.store);
    }
}
