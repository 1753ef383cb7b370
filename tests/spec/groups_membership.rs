//! Membership entries and leaves against identity state: every check fires on its own violation
//! and on nothing else.

use std::rc::Rc;

use dovetail::base::{InboxId, InstallationId, SequenceId, Topic};
use dovetail::delivery::DeliveryError;
use dovetail::members::Entry;
use dovetail::meta::component::GROUP_MEMBERSHIP;
use dovetail::meta::{Key, MapMutation, encode_map_delta};
use dovetail::mls::InstallationKeys;
use dovetail::store::rows::GroupState;
use openmls::prelude::{Lifetime, Propose};

use crate::common::User;
use crate::common::dump::Dump;
use crate::common::forge::{self, Forger, Raw};
use crate::gang::{ADMIN, Gang, HAND, MALLORY, ROOT, identity_topic, open_gang};

fn delta(mutations: &[MapMutation]) -> Raw {
    Raw::write(GROUP_MEMBERSHIP, encode_map_delta(mutations))
}

fn entry(at: u64) -> Vec<u8> {
    Entry { sequence_id: SequenceId(at), failed: [].into() }.encode()
}

fn update(inbox: InboxId, at: u64) -> MapMutation {
    MapMutation::Update(Key::Inbox(inbox), entry(at))
}

fn insert(inbox: InboxId, at: u64) -> MapMutation {
    MapMutation::Insert(Key::Inbox(inbox), entry(at))
}

/// Adds a user's installations under an entry.
fn join(by: &Forger, user: &User, at: u64, of: &[InstallationId]) -> Raw {
    let adds = of.iter().map(|one| by.key_package(*one)).collect();
    Raw { adds, ..delta(&[insert(user.inbox(), at)]) }
}

#[test]
fn gmod_005_an_entry_has_the_format_of_an_entry() {
    let gang = open_gang(0);
    let bo = gang.bo.inbox();
    let newest = forge::newest_update(&gang.bo).0;
    for bad in [vec![], vec![0xff, 1], vec![0x12, 0]] {
        gang.refuse_commit(ADMIN, delta(&[MapMutation::Update(Key::Inbox(bo), bad)]), "GMOD-005");
    }
    gang.refuse_commit(ADMIN, Raw::drop(GROUP_MEMBERSHIP), "GMOD-005");
    gang.apply_commit(MALLORY, delta(&[update(bo, newest)]));
    gang.assert_alive();
}

#[test]
fn gmod_007_references_precede_the_commit_and_an_added_one_is_not_zero() {
    let gang = open_gang(0);
    let carol = gang.world.user("carol");
    let (root, of) = (gang.by(ROOT), [carol.client.installation()]);
    let newest = forge::newest_update(&carol).0;
    gang.refuse_commit(ROOT, join(root, &carol, 0, &of), "GMOD-007");
    // The commit's own position is the next one.
    let next = gang.world.delivery.stored(Topic::Group(gang.apart)).last().unwrap().sequence_id.0;
    let next = gang.world.delivery.topics().iter().fold(next, |last, (topic, _)| {
        last.max(gang.world.delivery.stored(*topic).last().unwrap().sequence_id.0)
    }) + 1;
    gang.refuse_commit(ROOT, join(root, &carol, next, &of), "GMOD-007");
    gang.refuse_commit(ROOT, delta(&[update(gang.bo.inbox(), 1 << 40)]), "GMOD-007");
    gang.apply_commit(ROOT, join(root, &carol, newest, &of));
    gang.assert_alive();
}

#[test]
fn gmod_008_sequence_ids_do_not_fall() {
    let gang = open_gang(0);
    let bo = gang.bo.inbox();
    let newest = forge::newest_update(&gang.bo).0;
    gang.refuse_commit(ROOT, delta(&[update(bo, newest - 1)]), "GMOD-008");
    gang.refuse_commit(ROOT, delta(&[update(bo, 0)]), "GMOD-008");
    gang.apply_commit(ROOT, delta(&[update(bo, newest)]));
    gang.assert_alive();
}

#[test]
fn gmod_010_only_leaves_an_identity_authorises_are_added() {
    let gang = open_gang(0);
    let (carol, dave) = (gang.world.user("carol"), gang.world.user("dave"));
    let root = gang.by(ROOT);
    let at = forge::newest_update(&carol).0;
    let [carols, daves] = [&carol, &dave].map(|user| user.client.installation());
    // Nobody's entry allows it; another's entry does not; with its own beside a stowaway.
    let leaf_only = Raw { adds: vec![root.key_package(carols)], ..Raw::default() };
    gang.refuse_commit(ROOT, leaf_only, "GMOD-010");
    gang.refuse_commit(ROOT, join(root, &carol, at, &[daves]), "GMOD-010");
    gang.refuse_commit(ROOT, join(root, &carol, at, &[carols, daves]), "GMOD-010");
    // Dave's keys under carol's name.
    let stolen = Forger::of(&dave);
    let like = {
        let id = dovetail::base::GroupId([0x55; 16]);
        stolen.create(id, &gang.dictionary())
    };
    let masked = stolen.other_key_package(like, carol.inbox(), Lifetime::init(0, u64::MAX));
    let plan = Raw { adds: vec![masked], ..delta(&[insert(carol.inbox(), at)]) };
    gang.refuse_commit(ROOT, plan, "GMOD-010");
    gang.apply_commit(ROOT, join(root, &carol, at, &[carols]));
    gang.assert_alive();
}

#[test]
fn gmod_009_a_receiver_accepts_an_added_inbox_with_a_device_left_out() {
    let gang = open_gang(0);
    let (carol, second) = (gang.world.user("carol"), gang.world.user("carol"));
    let at = forge::newest_update(&second).0;
    gang.apply_commit(ROOT, join(gang.by(ROOT), &carol, at, &[carol.client.installation()]));
    gang.assert_alive();
}

#[test]
fn gmod_010_a_key_package_that_ends_is_refused_whatever_the_clock() {
    let gang = open_gang(0);
    let carol = gang.world.user("carol");
    let at = forge::newest_update(&carol).0;
    let stolen = Forger::of(&carol);
    let like = stolen.create(dovetail::base::GroupId([0x55; 16]), &gang.dictionary());
    let package = |lifetime| stolen.other_key_package(like, carol.inbox(), lifetime);
    let plan = |package| Raw { adds: vec![package], ..delta(&[insert(carol.inbox(), at)]) };
    gang.refuse_commit(ROOT, plan(package(Lifetime::new(3600))), "lifetime");
    let alone = gang.by(ROOT).parsed(&package(Lifetime::new(3600)));
    let alone = gang.by(ROOT).propose(gang.group, Propose::Add(alone));
    gang.by(ROOT).forget_proposals(gang.group);
    gang.refuse(alone, "lifetime");
    gang.apply_commit(ROOT, plan(package(Lifetime::init(0, u64::MAX))));
    gang.assert_alive();
}

#[test]
fn gmod_011_exactly_the_expected_leaves_are_removed() {
    let gang = open_gang(1);
    let (bo, mallory) = (gang.bo.inbox(), gang.by(MALLORY).inbox);
    let leaves = gang.by(ROOT).group(gang.group).facts().leaves;
    let of = |inbox| leaves.iter().filter(move |leaf| leaf.inbox == Some(inbox)).map(|leaf| leaf.index);
    let gone = || delta(&[MapMutation::Delete(Key::Inbox(mallory))]);
    let all: Vec<u32> = of(mallory).collect();
    assert_eq!(all.len(), 2);
    // A leaf without cause, an entry without its leaves, one leaf too few, one too many.
    gang.refuse_commit(ADMIN, Raw { removes: of(bo).collect(), ..Raw::default() }, "GMOD-011");
    gang.refuse_commit(ADMIN, gone(), "GMOD-011");
    gang.refuse_commit(ADMIN, Raw { removes: all[..1].to_vec(), ..gone() }, "GMOD-011");
    gang.refuse_commit(
        ADMIN,
        Raw { removes: all.iter().copied().chain(of(bo)).collect(), ..gone() },
        "GMOD-011",
    );
    let sealed = gang.by(ADMIN).raw_commit(gang.group, Raw { removes: all, ..gone() });
    let receipt = gang.apply(ADMIN, sealed.bytes, &[MALLORY, HAND]);
    assert!(receipt.sequence_id > SequenceId(0));
    gang.assert_alive();
    // An ex-member with the secrets of its last epoch is not heard any more, whatever it sends.
    let ex = gang.by(MALLORY);
    gang.refuse(ex.raw_commit(gang.group, Raw::default()).bytes, "PROC-011");
    ex.drop_commit(gang.group);
    let rename = Propose::UpdateAppDataComponent { component_id: 0x8004, update: b"back".to_vec() };
    gang.refuse(ex.propose(gang.group, rename), "PROC-011");
    ex.forget_proposals(gang.group);
    let plaintext = dovetail::wire::PlaintextV1 {
        content: dovetail::wire::EncodedContent::text("still here").encode(),
        idempotency_key: "k".into(),
    };
    gang.refuse(ex.message(gang.group, &plaintext.encode()), "PROC-011");
    gang.assert_alive();
}

#[test]
fn gmod_012_a_signing_key_belongs_to_its_inbox() {
    let gang = open_gang(0);
    let stray = InstallationKeys::from_seed([0x5a; 32]);
    gang.refuse_commit(MALLORY, Raw { signer: Some(stray), ..Raw::default() }, "GMOD-012");
    gang.apply_commit(MALLORY, Raw::default());
    gang.assert_alive();
}

#[test]
fn gmod_003_a_leaf_keeps_its_inbox_on_the_path_and_in_an_update() {
    let gang = open_gang(0);
    let mallory = gang.by(MALLORY);
    for inbox in [gang.bo.inbox(), InboxId([9; 32])] {
        let leaf = Some(mallory.leaf_of(inbox));
        gang.refuse_commit(MALLORY, Raw { leaf, ..Raw::default() }, "GMOD-003");
        let alone = mallory.propose(gang.group, Propose::Update(mallory.leaf_of(inbox)));
        mallory.forget_proposals(gang.group);
        gang.refuse(alone, "GMOD-003");
    }
    let alone = mallory.propose(gang.group, Propose::Update(mallory.leaf_of(mallory.inbox)));
    gang.keep(MALLORY, alone);
    let sealed = gang.by(ADMIN).raw_commit(gang.group, Raw { kept: true, ..Raw::default() });
    gang.apply(ADMIN, sealed.bytes, &[MALLORY]);
    let leaf = Some(gang.by(ADMIN).leaf_of(gang.by(ADMIN).inbox));
    let sealed = gang.by(ADMIN).raw_commit(gang.group, Raw { leaf, ..Raw::default() });
    gang.apply(ADMIN, sealed.bytes, &[MALLORY]);
    gang.assert_alive();
}

#[test]
fn gmod_014_a_reference_to_nothing_is_terminal() {
    let gang = open_gang(0);
    let bo = gang.bo.inbox();
    let other = forge::newest_update(&gang.world.user("carol")).0;
    gang.refuse_commit(ROOT, delta(&[update(bo, other)]), "GMOD-014");
    gang.apply_commit(ROOT, delta(&[update(bo, forge::newest_update(&gang.bo).0)]));
    gang.assert_alive();
}

/// Adds carol, by a commit of the root that is left pending.
fn addition(gang: &Gang, carol: &User) -> Vec<u8> {
    let at = forge::newest_update(carol).0;
    let raw = join(gang.by(ROOT), carol, at, &[carol.client.installation()]);
    gang.by(ROOT).raw_commit(gang.group, raw).bytes
}

#[test]
fn gmod_013_withheld_identity_updates_hold_the_group_until_they_arrive() {
    type Withhold = fn(&mut Vec<dovetail::delivery::Incoming>) -> Result<(), DeliveryError>;
    let ways: [Withhold; 3] = [
        |answer| {
            answer.clear();
            Ok(())
        },
        |answer| {
            answer.iter_mut().for_each(|one| one.payload.push(0));
            Ok(())
        },
        |_| Err(DeliveryError::Unavailable("this topic takes too long".into())),
    ];
    for withhold in ways {
        let gang = open_gang(0);
        let carol = gang.world.user("carol");
        let topic = identity_topic(&carol);
        for user in gang.honest() {
            *user.gate.twist.borrow_mut() = Some(Rc::new(move |asked, mut answer| {
                if asked.iter().any(|(one, _)| *one == topic) {
                    withhold(&mut answer)?;
                }
                Ok(answer)
            }));
        }
        let receipt = gang.hold(addition(&gang, &carol), "identity", "group.held");
        // What comes behind waits too, and is neither lost nor judged.
        let behind = gang.by(MALLORY).raw_commit(gang.group, Raw::default()).bytes;
        gang.by(MALLORY).publish(gang.group, behind);
        gang.sync();
        assert_eq!(gang.row(&gang.alice).hold.unwrap().sequence_id, receipt.sequence_id);
        gang.honest().into_iter().for_each(|user| *user.gate.twist.borrow_mut() = None);
        gang.sync();
        assert_eq!(gang.row(&gang.alice).epoch, 2);
        assert_eq!(gang.row(&gang.alice).hold, None);
        gang.assert_alive();
    }
}

#[test]
fn gmod_013_what_is_refused_without_identity_state_does_not_wait_for_it() {
    let gang = open_gang(0);
    let carol = gang.world.user("carol");
    let topic = identity_topic(&carol);
    for user in gang.honest() {
        *user.gate.twist.borrow_mut() =
            Some(Rc::new(move |asked, answer| match asked.iter().any(|(one, _)| *one == topic) {
                true => Err(DeliveryError::Unavailable("withheld".into())),
                false => Ok(answer),
            }));
    }
    let at = forge::newest_update(&carol).0;
    let raw = join(gang.by(MALLORY), &carol, at, &[carol.client.installation()]);
    let raw = raw.and(dovetail::meta::component::SUPER_ADMIN_LIST, vec![0]);
    gang.refuse_commit(MALLORY, raw, "PERM-005");
    gang.assert_alive();
}

#[test]
fn gmod_013_being_offline_holds_nothing() {
    let gang = open_gang(0);
    let carol = gang.world.user("carol");
    gang.by(ROOT).publish(gang.group, addition(&gang, &carol));
    let link = gang.alice.delivery.clone();
    // The connection goes with the answer that brings the commit.
    *gang.alice.gate.twist.borrow_mut() = Some(Rc::new(move |_, answer| {
        if !answer.is_empty() {
            link.set(|faults| faults.offline = true);
        }
        Ok(answer)
    }));
    let report = gang.alice.sync();
    assert_eq!((report.failed[0].0, report.failed[0].1.code), (gang.group, "delivery.unavailable"));
    assert_eq!(gang.row(&gang.alice).hold, None);
    gang.alice.text(gang.group, "written offline");
    *gang.alice.gate.twist.borrow_mut() = None;
    gang.alice.offline(false);
    gang.sync();
    assert_eq!(gang.row(&gang.alice).epoch, 2);
    gang.assert_alive();
}

#[test]
fn gmod_015_a_super_admin_replaces_a_leaf_and_its_owner_comes_back_by_welcome() {
    let gang = open_gang(0);
    let alice = gang.alice.client.installation();
    let replace = |who: usize| Raw {
        adds: vec![gang.by(who).key_package(alice)],
        removes: vec![gang.leaf(gang.alice.inbox())],
        ..Raw::default()
    };
    gang.refuse_commit(ADMIN, replace(ADMIN), "GMOD-011");
    gang.refuse_commit(MALLORY, replace(MALLORY), "GMOD-011");
    gang.alice.text(gang.group, "before");
    gang.sync();
    let sealed = gang.by(ROOT).raw_commit(gang.group, replace(ROOT));
    let receipt = gang.by(ROOT).publish(gang.group, sealed.bytes);
    gang.sync();
    // Out until the Welcome is there: history stays, sends are refused.
    assert_eq!(gang.row(&gang.alice).state, GroupState::Inactive);
    assert_eq!(gang.alice.try_text(gang.group, "hi").unwrap_err().code, "group.not_a_member");
    assert_eq!(Dump::of(&gang.alice.store).pages(gang.group).len(), 0);
    assert_eq!(gang.row(&gang.bo).epoch, 2);
    gang.by(ROOT).merge(gang.group);
    gang.by(ROOT).invite(&sealed.welcome.unwrap(), receipt.sequence_id, alice);
    gang.sync();
    assert_eq!(gang.row(&gang.alice).state, GroupState::Active);
    assert_eq!(gang.row(&gang.alice).authenticator, gang.row(&gang.bo).authenticator);
    gang.alice.text(gang.group, "and after");
    gang.sync();
    let last = gang.bo.history(gang.group, Default::default()).pop().unwrap();
    assert_eq!(crate::common::text_of(&last), "and after");
}
