//! The key package a device offers: used by many, replaced once used and in time, and its secrets
//! destroyed (JOIN-074, JOIN-077, BR-040, BR-041).

use dovetail::base::{GroupId, Nanos, SequenceId, Topic};
use dovetail::mls;
use dovetail::store::rows::{EnvelopeRow, EnvelopeState, MlsGlobalRow, OfferRow};
use dovetail::wire::ClientEnvelope;

use crate::common::dump::Dump;
use crate::common::forge::{self, Forger};
use crate::common::{User, World};
use crate::exactly_once::{every_point, quiet, risky_sync};

const GROUP: GroupId = GroupId([0x77; 16]);
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Key packages the service has of a device, oldest first.
fn published(user: &User) -> Vec<Vec<u8>> {
    let stored = user.world.delivery.stored(Topic::KeyPackage(user.client.installation()));
    let packages = stored.iter().map(|one| match ClientEnvelope::decode(&one.payload) {
        Ok(ClientEnvelope::KeyPackage(bytes)) => bytes,
        other => panic!("{other:?}"),
    });
    packages.collect()
}

fn offer(user: &User) -> OfferRow {
    Dump::of(&user.store).rows_under::<OfferRow>(OfferRow::KEY).pop().expect("an offer")
}

/// Key packages whose private keys are held, and of those the superseded ones.
fn held(user: &User) -> (usize, usize) {
    let keys = Dump::of(&user.store).rows_under::<MlsGlobalRow>(MlsGlobalRow::PREFIX);
    (keys.len(), keys.iter().filter(|row| row.retire_ns.is_some()).count())
}

/// The newest key package of the service is the offer, and its keys are held.
fn assert_usable(user: &User) {
    let offer = offer(user);
    assert!(offer.published && !offer.spent);
    assert_eq!(published(user).pop(), Some(offer.package.clone()));
    let keys = Dump::of(&user.store).rows_under::<MlsGlobalRow>(MlsGlobalRow::PREFIX);
    assert!(keys.iter().any(|row| row.id == offer.id && row.retire_ns.is_none()));
}

fn invite(from: &User, to: &User) -> GroupId {
    let group = from.dm(to);
    from.text(group, "hello");
    from.sync();
    group
}

/// What waits or was refused on a device's Welcome topic.
fn kept(user: &User) -> Vec<EnvelopeState> {
    let topic = Topic::Welcome(user.client.installation().0);
    let rows = Dump::of(&user.store).rows::<EnvelopeRow>().into_iter();
    rows.filter(|row| row.topic == topic).map(|row| row.state).collect()
}

#[test]
fn a_key_package_states_twelve_weeks() {
    let world = World::new(1);
    let alice = world.user("alice");
    let facts = |now| mls::check_key_package(&mls::Scratch::new(), &published(&alice)[0], Nanos(now));
    let made = offer(&alice).made_ns.0;
    let twelve_weeks = 12 * 7 * DAY * 1_000_000;
    assert_eq!(facts(made).unwrap().expires, Some(Nanos(made + twelve_weeks)));
    assert!(facts(made + twelve_weeks - 1).is_ok());
    assert_eq!(facts(made + twelve_weeks).err(), Some(mls::KeyPackageError::Expired));
}

#[test]
fn join_074_a_used_key_package_is_replaced_and_its_keys_are_destroyed_a_day_later() {
    let world = World::new(1);
    let (alice, bo, carol) = (world.user("alice"), world.user("bo"), world.user("carol"));
    let forger = Forger::of(&carol);
    let old = offer(&bo);
    assert_eq!((published(&bo).len(), held(&bo)), (1, (1, 0)));
    invite(&alice, &bo);
    bo.sync();
    assert_usable(&bo);
    assert_eq!((published(&bo).len(), held(&bo)), (2, (2, 1)));
    assert_ne!(offer(&bo).id, old.id);
    // Nothing more is made without a reason.
    quiet(&[&bo]);
    assert_eq!(published(&bo).len(), 2);
    // Within the day, a Welcome made with the old one still opens, and is no reason for another.
    let entries = [&carol, &bo].map(|user| (user.inbox(), forge::newest_update(user)));
    forger.create(GROUP, &forge::dm_dictionary(carol.inbox(), bo.inbox(), &entries));
    let plan = mls::CommitPlan { adds: vec![old.package.clone().into()], ..Default::default() };
    let sealed = forger.commit(GROUP, plan);
    let welcome = sealed.welcome.unwrap();
    let anchor = forger.publish(GROUP, sealed.bytes).sequence_id;
    let send = |anchor: SequenceId| {
        let sealed = mls::wrap_welcome(&welcome, anchor.0, &old.init_key).unwrap();
        let input = dovetail::wire::WelcomeInput::V1 {
            installation_key: bo.client.installation().0,
            data: sealed.data,
            hpke_public_key: old.init_key.clone(),
            algorithm: dovetail::wire::WelcomeAlgorithm::Curve25519,
            metadata: sealed.metadata,
        };
        let payload = ClientEnvelope::Welcome(input).encode();
        forger.publish_raw(Topic::Welcome(bo.client.installation().0), payload);
    };
    world.settle(DAY / 2);
    send(anchor);
    bo.sync();
    assert_eq!(bo.conversations().len(), 2);
    assert_eq!(published(&bo).len(), 2);
    world.settle(DAY / 2 - 5 * MINUTE);
    bo.sync();
    assert_eq!(held(&bo), (2, 1), "not before a day");
    world.settle(6 * MINUTE);
    bo.sync();
    assert_eq!(held(&bo), (1, 0));
    // From now on it waits a day and is given up.
    send(anchor);
    bo.sync();
    let unknown = |state: &EnvelopeState| match state {
        EnvelopeState::Held(code, _) | EnvelopeState::Rejected(code, _) => {
            code == "welcome.unknown_key_package"
        }
        EnvelopeState::Pending => false,
    };
    assert!(matches!(kept(&bo).as_slice(), [state @ EnvelopeState::Held(..)] if unknown(state)));
    world.settle(DAY + MINUTE);
    bo.sync();
    assert!(matches!(kept(&bo).as_slice(), [state @ EnvelopeState::Rejected(..)] if unknown(state)));
}

#[test]
fn join_074_keys_of_what_others_may_still_find_are_kept() {
    let world = World::new(1);
    let (alice, mut bo, carol) = (world.user("alice"), world.user("bo"), world.user("carol"));
    invite(&alice, &bo);
    // The next one does not get through, for days.
    *bo.gate.refuse.borrow_mut() = Some(std::rc::Rc::new(|one| matches!(one.topic, Topic::KeyPackage(_))));
    for _ in 0..3 {
        bo.sync();
        assert_eq!((published(&bo).len(), held(&bo)), (1, (2, 0)));
        world.settle(2 * DAY);
    }
    let next = offer(&bo);
    assert!(!next.published);
    // The old one is the one on offer still, and serves.
    invite(&carol, &bo);
    bo.sync();
    assert_eq!(bo.conversations().len(), 2);
    bo.reopen();
    bo.sync();
    assert_usable(&bo);
    assert_eq!(offer(&bo).id, next.id, "the one that was durable is published, no other");
    assert_eq!((published(&bo).len(), held(&bo)), (2, (2, 1)));
}

#[test]
fn join_074_a_key_package_is_replaced_after_thirty_days() {
    let world = World::new(1);
    let bo = world.user("bo");
    world.settle(30 * DAY - MINUTE);
    bo.sync();
    assert_eq!(published(&bo).len(), 1);
    world.settle(2 * MINUTE);
    bo.sync();
    assert_eq!((published(&bo).len(), held(&bo)), (2, (2, 1)));
    assert_usable(&bo);
    world.settle(DAY + MINUTE);
    bo.sync();
    assert_eq!(held(&bo), (1, 0));
}

#[test]
fn br_040_two_inviters_use_the_same_key_package() {
    let world = World::new(1);
    let (alice, carol, bo) = (world.user("alice"), world.user("carol"), world.user("bo"));
    let groups = [invite(&alice, &bo), invite(&carol, &bo)];
    bo.sync();
    for group in groups {
        assert_eq!(bo.texts(group), ["hello"]);
    }
    // Spent once, replaced once.
    assert_eq!(published(&bo).len(), 2);
    assert_usable(&bo);
}

#[test]
fn br_041_added_right_after_registering_and_thirty_times_while_offline() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    invite(&alice, &bo);
    bo.sync();
    bo.offline(true);
    for n in 0..30 {
        invite(&world.user(&format!("friend {n}")), &bo);
    }
    bo.offline(false);
    bo.sync();
    assert_eq!(bo.conversations().len(), 31);
    assert_eq!(kept(&bo), []);
    assert_eq!(published(&bo).len(), 3);
    assert_usable(&bo);
}

#[test]
fn br_041_a_live_client_replaces_it_at_once_and_in_the_background() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    bo.client.go_live();
    world.settle(MINUTE);
    invite(&alice, &bo);
    world.settle(5_000);
    assert_eq!(bo.conversations().len(), 1);
    assert_usable(&bo);
    assert_eq!(published(&bo).len(), 2);
    // One that does not get through comes back by itself.
    *bo.gate.refuse.borrow_mut() = Some(std::rc::Rc::new(|one| matches!(one.topic, Topic::KeyPackage(_))));
    invite(&world.user("carol"), &bo);
    world.settle(5_000);
    assert_eq!((bo.conversations().len(), published(&bo).len()), (2, 2));
    *bo.gate.refuse.borrow_mut() = None;
    world.settle(6 * MINUTE);
    assert_usable(&bo);
    assert_eq!(published(&bo).len(), 3);
}

#[test]
fn two_tabs_make_one_key_package() {
    for seed in 0..4 {
        let world = World::new(seed);
        let (alice, bo) = (world.user("alice"), world.user("bo"));
        let tab = bo.tab();
        invite(&alice, &bo);
        for user in [&bo, &tab] {
            user.delivery.set(|faults| faults.delay_ms = 5);
        }
        let (first, second) = (bo.client.clone(), tab.client.clone());
        world.run(async move {
            let (one, two) = futures::join!(first.sync(), second.sync());
            one.unwrap();
            two.unwrap();
        });
        assert_eq!((published(&bo).len(), held(&bo)), (2, (2, 1)));
        assert_usable(&tab);
        // Whichever tab comes first destroys the old one.
        world.settle(DAY + MINUTE);
        tab.sync();
        assert_eq!(held(&bo), (1, 0));
        bo.sync();
        assert_usable(&bo);
    }
}

#[test]
fn join_074_rotation_ends_well_wherever_it_is_cut_off() {
    let points = every_point(
        || {
            let world = World::new(7);
            let (alice, bo) = (world.user("alice"), world.user("bo"));
            invite(&alice, &bo);
            (alice, bo)
        },
        |(_, bo)| bo,
        |(_, bo)| risky_sync(bo),
        |(_, bo), plan| {
            quiet(&[bo]);
            assert_usable(bo);
            assert_eq!((published(bo).len(), held(bo)), (2, (2, 1)), "{plan:?}");
            let carol = bo.world.user("carol");
            let group = invite(&carol, bo);
            bo.sync();
            assert_eq!(bo.texts(group), ["hello"], "{plan:?}");
            bo.world.settle(DAY + MINUTE);
            bo.sync();
            assert_eq!(held(bo), (1, 0), "{plan:?}");
        },
    );
    println!("{points} points");
    assert!(points > 30);
}

#[test]
fn join_074_destroying_ends_well_wherever_it_is_cut_off() {
    let points = every_point(
        || {
            let world = World::new(7);
            let (alice, bo) = (world.user("alice"), world.user("bo"));
            invite(&alice, &bo);
            bo.sync();
            world.settle(DAY + MINUTE);
            (alice, bo)
        },
        |(_, bo)| bo,
        |(_, bo)| risky_sync(bo),
        |(_, bo), plan| {
            bo.sync();
            assert_eq!(held(bo), (1, 0), "{plan:?}");
            assert_usable(bo);
        },
    );
    println!("{points} points");
}
