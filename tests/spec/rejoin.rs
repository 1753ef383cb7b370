//! Groups we are no longer in, offered again: as what they were, or as something else.

use dovetail::base::{GroupId, Topic};
use dovetail::members::Entry;
use dovetail::meta::component::GROUP_MEMBERSHIP;
use dovetail::meta::{FIRST_FLOOR, Key, MapMutation, NewConversation, Settings, encode_map_delta};
use dovetail::mls::CommitPlan;
use dovetail::mls::facts::{AppDataOp, RawDictionary};
use dovetail::policy::{self, ALL_MEMBERS};
use dovetail::store::rows::{EnvelopeRow, EnvelopeState, GroupKind, GroupState, MessageStatus};

use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger};
use crate::common::gate::Plan;
use crate::common::{User, World};

const GROUP: GroupId = GroupId([0x77; 16]);

/// The dictionary of a group of two.
fn group_dictionary(by: &User, other: &User) -> RawDictionary {
    let new = NewConversation {
        creator: by.inbox(),
        creator_entry: &Entry::default().encode(),
        floor: FIRST_FLOOR,
        settings: &Settings::default(),
        commit_log_signer: Some(&[9; 32]),
    };
    let mut dictionary = policy::new_group(&new, ALL_MEMBERS).unwrap();
    let entries = [by, other].map(|user| (user.inbox(), forge::newest_update(user)));
    dictionary.insert(GROUP_MEMBERSHIP, forge::membership(&entries, &[]));
    dictionary
}

/// mallory adds bo to a group, and bo writes in it.
fn joined() -> (User, User, Forger) {
    let world = World::new(2);
    let (mallory, bo) = (world.user("mallory"), world.user("bo"));
    let forger = Forger::of(&mallory);
    forger.offer(GROUP, &group_dictionary(&mallory, &bo), &[bo.client.installation()]);
    bo.sync();
    bo.text(GROUP, "in the group");
    bo.sync();
    (mallory, bo, forger)
}

/// mallory removes bo.
fn remove(mallory: &User, bo: &User, forger: &Forger) {
    let mut after = forger.group(GROUP).facts().dictionary;
    let left = [(mallory.inbox(), forge::newest_update(mallory))];
    after.insert(GROUP_MEMBERSHIP, forge::membership(&left, &[]));
    let delta = encode_map_delta(&[MapMutation::Delete(Key::Inbox(bo.inbox()))]);
    let plan = CommitPlan {
        removes: vec![1],
        app_data: vec![(GROUP_MEMBERSHIP, AppDataOp::Update(delta))],
        dictionary_after: after,
        ..CommitPlan::default()
    };
    forger.publish(GROUP, forger.commit(GROUP, plan).bytes);
}

/// bo was in the group and is no longer.
fn removed() -> (User, User) {
    let (mallory, bo, forger) = joined();
    remove(&mallory, &bo, &forger);
    bo.sync();
    assert_eq!(Dump::of(&bo.store).groups()[&GROUP].state, GroupState::Inactive);
    (mallory, bo)
}

/// A new MLS group under the old id.
fn offer_again(mallory: &User, bo: &User, dictionary: &RawDictionary) {
    Forger::of(mallory).offer(GROUP, dictionary, &[bo.client.installation()]);
    bo.sync();
}

#[test]
fn meta_004_a_group_we_left_does_not_come_back_as_another_conversation() {
    let (mallory, bo) = removed();
    let before = bo.texts(GROUP);
    let entries = [&mallory, &bo].map(|user| (user.inbox(), forge::newest_update(user)));
    offer_again(&mallory, &bo, &forge::dm_dictionary(mallory.inbox(), bo.inbox(), &entries));
    let row = Dump::of(&bo.store).groups().remove(&GROUP).unwrap();
    assert_eq!((row.kind, row.dm, row.state), (GroupKind::Group, None, GroupState::Inactive));
    assert_eq!(bo.texts(GROUP), before);
    assert_eq!(bo.conversations().len(), 1);
    let kept = Dump::of(&bo.store).rows::<EnvelopeRow>();
    let of = Topic::Welcome(bo.client.installation().0);
    let rejected = kept.iter().filter(|row| row.topic == of).map(|row| &row.state).collect::<Vec<_>>();
    assert!(matches!(rejected[..], [EnvelopeState::Rejected(id, _)] if id == "META-004"), "{rejected:?}");
    dump::check(&bo.store);
}

#[test]
fn join_080_a_group_we_left_comes_back_as_what_it_was() {
    let (mallory, bo) = removed();
    offer_again(&mallory, &bo, &group_dictionary(&mallory, &bo));
    let row = Dump::of(&bo.store).groups().remove(&GROUP).unwrap();
    assert_eq!((row.kind, row.state), (GroupKind::Group, GroupState::Active));
    assert!(bo.texts(GROUP).iter().any(|text| text == "in the group"));
    assert_eq!(bo.conversations().len(), 1);
    bo.text(GROUP, "back");
    bo.sync();
    dump::check(&bo.store);
}

#[test]
fn what_waited_at_the_removal_fails_and_is_not_sent_after_the_way_back() {
    let (mallory, mut bo, forger) = joined();
    let world = bo.world.clone();
    bo.offline(true);
    let waits = bo.text(GROUP, "too late");
    remove(&mallory, &bo, &forger);
    Forger::of(&mallory).offer(GROUP, &group_dictionary(&mallory, &bo), &[bo.client.installation()]);
    bo.delivery.set(|faults| faults.offline = false);
    // The page dies as soon as the removal is stored, and takes in the Welcome first when it is back.
    let ended = |bo: &User| Dump::of(&bo.store).groups()[&GROUP].state == GroupState::Inactive;
    bo.gate.plan(Some(Plan::KillAfterApply(0)));
    bo.risk(|client| async move { client.sync_conversation(GROUP).await });
    assert!(ended(&bo) && Dump::of(&bo.store).intents().len() == 1, "cut off at another place");
    bo.reopen();
    bo.call(|client| async move { client.sync_new().await }).unwrap();
    let row = bo.call(move |client| async move { client.message(waits).await }).unwrap().unwrap();
    assert_eq!(row.status, MessageStatus::Failed("group.not_a_member".into()));
    bo.text(GROUP, "back");
    bo.sync();
    dump::check(&bo.store);
    let out = world.delivery.stored(Topic::Group(GROUP)).len();
    bo.reopen();
    bo.sync();
    assert_eq!(world.delivery.stored(Topic::Group(GROUP)).len(), out);
    dump::check(&bo.store);
}
