//! Restored DMs are activated by a Welcome of the same kind and pair, and by no other (DMS-015).

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, InboxId, Nanos};
use dovetail::client::{Interest, News};
use dovetail::mls::facts::RawDictionary;
use dovetail::store::Table;
use dovetail::store::rows::{EnvelopeRow, EnvelopeState, GroupKind, GroupState};
use dovetail::wire::Element;

use crate::archive_dm::{GROUP, dm_save, message};
use crate::common::archive::{all, archive_of, group};
use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger};
use crate::common::{User, World};

/// Bo, who imported a DM with mallory, and mallory, who can offer one.
pub struct Restored {
    pub mallory: User,
    pub bo: User,
}

impl Restored {
    pub fn new() -> Self {
        let world = World::new(6);
        let (mallory, bo) = (world.user("mallory"), world.user("bo"));
        let pair = (mallory.inbox(), bo.inbox());
        bo.import(&archive_of(&[
            dm_save(GROUP, pair, Some(40)),
            message(1, GROUP, pair.0, 30),
            message(2, GROUP, pair.1, 40),
        ]))
        .ok();
        Self { mallory, bo }
    }

    pub fn entries(&self, users: &[&User]) -> Vec<(InboxId, dovetail::base::SequenceId)> {
        users.iter().map(|user| (user.inbox(), forge::newest_update(user))).collect()
    }

    pub fn dm(&self) -> RawDictionary {
        let entries = self.entries(&[&self.mallory, &self.bo]);
        forge::dm_dictionary(self.mallory.inbox(), self.bo.inbox(), &entries)
    }

    pub fn offer(&self, dictionary: &RawDictionary) {
        Forger::of(&self.mallory).offer(GROUP, dictionary, &[self.bo.client.installation()]);
    }

    pub fn rejected(&self) -> Vec<String> {
        let kept = Dump::of(&self.bo.store).rows::<EnvelopeRow>().into_iter();
        let reason = |row: EnvelopeRow| match row.state {
            EnvelopeState::Rejected(id, _) => Some(id),
            _ => None,
        };
        kept.filter_map(reason).collect()
    }
}

fn follow(user: &User) -> Rc<RefCell<Vec<GroupId>>> {
    let heard: Rc<RefCell<Vec<GroupId>>> = Rc::default();
    let into = heard.clone();
    let interest = Interest::Conversations { kind: None, states: None, duplicates: false };
    let subscription = user.call(move |client| async move {
        let tell = move |news| match news {
            News::Conversation(group) => into.borrow_mut().push(group),
            _ => panic!("something else"),
        };
        client.follow(interest, tell).await
    });
    std::mem::forget(subscription.expect("subscribed"));
    heard
}

#[test]
fn dms_015_a_welcome_of_the_same_pair_activates_it_and_keeps_its_history() {
    let restored = Restored::new();
    let heard = follow(&restored.bo);
    restored.offer(&restored.dm());
    restored.bo.sync();
    let Restored { mallory, bo } = &restored;
    assert_eq!(restored.rejected(), [] as [String; 0]);
    let row = bo.inspect(GROUP).groups[0].row.clone();
    assert_eq!(row.state, GroupState::Active);
    assert_eq!((row.creator, row.adder), (mallory.inbox(), mallory.inbox()));
    // When the conversation began is known from the archive alone.
    assert_eq!((row.created_ns, row.last_message_ns), (Nanos(10), Some(Nanos(40))));
    assert_eq!(row.members.len(), 2);
    assert_eq!(bo.texts(GROUP), ["archived 1", "archived 2"]);
    assert_eq!(*heard.borrow(), [GROUP], "a first join (JOIN-080)");
    bo.text(GROUP, "hello again");
    bo.sync();
    assert_eq!(bo.texts(GROUP).len(), 3);
    assert_eq!(bo.conversations().len(), 1);
    dump::check_imported(&bo.store);
}

#[test]
fn dms_015_a_welcome_of_another_kind_or_pair_is_rejected_and_the_history_stays() {
    let pair_of = |restored: &Restored, peer: &User| {
        let entries = restored.entries(&[peer, &restored.bo]);
        forge::dm_dictionary(peer.inbox(), restored.bo.inbox(), &entries)
    };
    // (b) as a group.
    let as_group = Restored::new();
    let entries = as_group.entries(&[&as_group.mallory, &as_group.bo]);
    let dictionary =
        forge::group_dictionary(as_group.mallory.inbox(), dovetail::policy::ALL_MEMBERS, &entries);
    as_group.bo.sync();
    let before = Dump::of(&as_group.bo.store);
    as_group.offer(&dictionary);
    untouched(&as_group, &before);
    // (c) as a DM of another pair: carol's.
    let of_carol = Restored::new();
    let carol = of_carol.bo.world.user("carol");
    of_carol.bo.sync();
    let before = Dump::of(&of_carol.bo.store);
    Forger::of(&carol).offer(GROUP, &pair_of(&of_carol, &carol), &[of_carol.bo.client.installation()]);
    untouched(&of_carol, &before);
}

fn untouched(restored: &Restored, before: &Dump) {
    let bo = &restored.bo;
    for _ in 0..2 {
        bo.sync();
        assert_eq!(restored.rejected(), ["DMS-015"]);
    }
    let apart = [Table::Positions, Table::Envelopes, Table::Associations];
    let (before, after) = (before.clone().without(&apart), Dump::of(&bo.store).without(&apart));
    assert_eq!(before.differences(&after), []);
    assert_eq!(bo.texts(GROUP), ["archived 1", "archived 2"]);
}

#[test]
fn dms_015_a_restored_group_is_not_activated_as_a_dm() {
    let world = World::new(6);
    let (mallory, bo) = (world.user("mallory"), world.user("bo"));
    let restored = Restored { mallory, bo };
    let save = Element::Group(Box::new(group(GROUP, restored.mallory.inbox())));
    restored.bo.import(&archive_of(&[save, message(1, GROUP, restored.mallory.inbox(), 30)])).ok();
    restored.offer(&restored.dm());
    restored.bo.sync();
    assert_eq!(restored.rejected(), ["DMS-015"]);
    let row = restored.bo.inspect(GROUP).groups[0].row.clone();
    assert_eq!((row.kind, row.state), (GroupKind::Group, GroupState::Restored));
    assert_eq!(restored.bo.texts(GROUP), ["archived 1"]);
}

#[test]
fn dms_015_the_own_new_device_is_added_over_what_it_imported() {
    let world = World::new(4);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let dm = alice.dm(&bo);
    alice.text(dm, "before");
    alice.sync();
    bo.sync();
    let archive = alice.export(all());
    let fresh = world.user("alice");
    fresh.import(&archive).ok();
    let heard = follow(&fresh);
    bo.sync();
    bo.text(dm, "for all your devices");
    bo.sync();
    fresh.sync();
    assert_eq!(fresh.texts(dm), ["before", "for all your devices"]);
    assert_eq!(fresh.inspect(dm).groups[0].row.state, GroupState::Active);
    assert_eq!(*heard.borrow(), [dm]);
    fresh.text(dm, "from the new one");
    fresh.sync();
    bo.sync();
    alice.sync();
    assert_eq!(bo.texts(dm), alice.texts(dm));
    assert_eq!(alice.texts(dm), fresh.texts(dm));
    dump::check_imported(&fresh.store);
}
