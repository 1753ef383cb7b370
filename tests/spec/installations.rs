//! Installations of one inbox: added, listed, revoked; the greatest number of them and the way out.

use std::rc::Rc;

use dovetail::base::{InboxId, InstallationId, Nanos, Set, Topic};
use dovetail::client::{Logs, Sign};
use dovetail::delivery::Delivery;
use dovetail::error::Error;
use dovetail::identity::{Identifier, MAX_INSTALLATIONS};

use crate::common::gate::Plan;
use crate::common::{User, World, wallet};

/// As devices of one inbox see it: ascending.
pub fn ids<'a>(devices: impl IntoIterator<Item = &'a User>) -> Set<InstallationId> {
    devices.into_iter().map(|device| device.client.installation()).collect()
}

pub fn revoke(by: &User, installations: Set<InstallationId>) -> Result<(), Error> {
    revoke_with(by, installations, wallet(by.secret))
}

fn revoke_with(by: &User, installations: Set<InstallationId>, sign: Sign) -> Result<(), Error> {
    by.call(move |client| async move { client.revoke(&installations, &sign).await })
}

pub fn register(device: &User) -> Result<(), Error> {
    let sign = wallet(device.secret);
    device.call(move |client| async move { client.register(1, &sign).await })
}

/// The installations of a device's own inbox as it knows them.
pub fn known(device: &User, fetch: bool) -> Set<InstallationId> {
    device.call(move |client| async move { client.own_state(fetch).await }).unwrap().installations()
}

/// How many updates an inbox's log holds.
fn updates(world: &World, inbox: InboxId) -> usize {
    world.delivery.stored(Topic::Identity(inbox)).len()
}

fn account(user: &User) -> Identifier {
    Identifier::ethereum(&user.client.identifier()).unwrap()
}

fn without_database(world: &World) -> Rc<Logs> {
    Rc::new(Logs::without_database(Rc::new(world.delivery.link()) as Rc<dyn Delivery>))
}

/// A wallet that must not be asked.
pub fn untouched() -> Sign {
    Rc::new(|text| panic!("asked to sign {text}"))
}

#[test]
fn ident_040_a_second_device_is_added_and_listed_by_all() {
    let world = World::new(40);
    let (phone, bo) = (world.user("alice"), world.user("bo"));
    let laptop = world.user("alice");
    assert_eq!(laptop.inbox(), phone.inbox());
    let both = ids([&phone, &laptop]);
    assert_eq!(known(&laptop, false), both, "an own change shows without fetching");
    assert_eq!(known(&phone, false), ids([&phone]), "as far as it was read");
    phone.sync();
    assert_eq!(known(&phone, false), both, "noticed by a sync");
    assert_eq!(known(&bo, true), ids([&bo]));

    let inboxes = [bo.inbox(), InboxId([9; 32]), phone.inbox()];
    let states =
        bo.call(move |client| async move { client.identity()?.states(&inboxes, true).await }).unwrap();
    let found: Vec<_> = states.iter().map(|state| (state.inbox, state.installations())).collect();
    assert_eq!(found, [(bo.inbox(), ids([&bo])), (phone.inbox(), both.clone())]);
    let logs = without_database(&world);
    let found = world.run(async move { logs.states(&inboxes, true).await }).unwrap();
    assert_eq!(found, states, "the same without a database");
    assert_eq!(found[1].recovery, account(&phone));
}

#[test]
fn ident_040_a_device_of_a_stranger_is_not_added() {
    let world = World::new(41);
    let phone = world.user("alice");
    let device = world.device("alice");
    let stranger = wallet(world.device("bo").secret);
    let before = updates(&world, phone.inbox());
    let refused = device.call(move |client| async move { client.register(1, &stranger).await });
    assert_eq!(refused.unwrap_err().code, "client.signature");
    assert_eq!(updates(&world, phone.inbox()), before);
    assert!(!device.client.is_registered());
}

#[test]
fn ident_043_only_the_recovery_account_revokes() {
    let world = World::new(44);
    let (phone, bo) = (world.user("alice"), world.user("bo"));
    let laptop = world.user("alice");
    let before = updates(&world, phone.inbox());
    let named = ids([&phone]);

    let logs = without_database(&world);
    let (inbox, other, sign, ids) = (phone.inbox(), account(&bo), untouched(), named.clone());
    let stranger = world.run(async move { logs.revoke(inbox, &ids, &other, Nanos(1), &sign).await });
    let stranger = stranger.unwrap_err();
    assert_eq!(stranger.code, "client.signature");
    assert!(stranger.message.contains(&phone.client.identifier()), "{stranger}");

    let other = revoke_with(&laptop, named.clone(), wallet(bo.secret)).unwrap_err();
    assert_eq!(other.code, "client.signature");
    let declined: Sign = Rc::new(|_| Box::pin(async { Err("declined".to_owned()) }));
    let declined = revoke_with(&laptop, named.clone(), declined).unwrap_err();
    assert!(declined.code == "client.signature" && declined.message.contains("declined"), "{declined}");
    let short: Sign = Rc::new(|_| Box::pin(async { Ok(vec![0; 64]) }));
    assert_eq!(revoke_with(&laptop, named, short).unwrap_err().code, "client.signature");
    assert_eq!(updates(&world, phone.inbox()), before, "nothing was published");
    phone.sync();
    assert!(phone.client.is_registered());
}

#[test]
fn ident_044_all_others_are_revoked_in_one_update() {
    let world = World::new(45);
    let devices: Vec<User> = (0..4).map(|_| world.user("alice")).collect();
    let (own, inbox) = (&devices[2], devices[0].inbox());
    let before = updates(&world, inbox);
    let sign = wallet(own.secret);
    own.call(move |client| async move { client.revoke_others(&sign).await }).unwrap();
    assert_eq!(known(own, false), ids([own]));
    assert_eq!(updates(&world, inbox), before + 1);
    for device in &devices {
        device.sync();
        assert_eq!(device.client.is_revoked(), device.client.installation() != own.client.installation());
    }
    let sign = untouched();
    own.call(move |client| async move { client.revoke_others(&sign).await }).expect("there are no others");
    assert_eq!(updates(&world, inbox), before + 1, "and no update is spent on that");
}

#[test]
fn a_revocation_whose_answer_is_lost_is_repeated_without_another_update() {
    let world = World::new(46);
    let (phone, laptop) = (world.user("alice"), world.user("alice"));
    let before = updates(&world, phone.inbox());
    laptop.offline(true);
    assert_eq!(revoke(&laptop, ids([&phone])).unwrap_err().code, "delivery.unavailable");
    laptop.offline(false);
    assert_eq!(updates(&world, phone.inbox()), before);
    // Calls of a revocation: where the log ends, the update.
    laptop.gate.plan(Some(Plan::LoseAnswer(1)));
    assert_eq!(revoke(&laptop, ids([&phone])).unwrap_err().code, "delivery.unavailable");
    laptop.gate.plan(None);
    assert_eq!(updates(&world, phone.inbox()), before + 1, "it was stored");
    revoke_with(&laptop, ids([&phone]), untouched()).unwrap();
    revoke_with(&laptop, Set::new(), untouched()).unwrap();
    assert_eq!(updates(&world, phone.inbox()), before + 1);
    assert_eq!(known(&laptop, false), ids([&laptop]));
}

#[test]
fn what_never_was_an_installation_cannot_be_revoked() {
    let world = World::new(47);
    let (phone, bo) = (world.user("alice"), world.user("bo"));
    let before = updates(&world, phone.inbox());
    for named in [ids([&bo]), ids([&phone, &bo]), [InstallationId([0; 32])].into()] {
        assert_eq!(revoke_with(&phone, named, untouched()).unwrap_err().code, "identity.invalid");
    }
    assert_eq!(updates(&world, phone.inbox()), before);
    let (logs, named, by, sign) = (without_database(&world), ids([&phone]), account(&phone), untouched());
    let nobody = InboxId([7; 32]);
    let missing = world.run(async move { logs.revoke(nobody, &named, &by, Nanos(1), &sign).await });
    assert!(missing.unwrap_err().message.contains(&nobody.to_string()));
    let device = world.device("cy");
    let state = device.call(|client| async move { client.own_state(false).await });
    assert_eq!(state.unwrap_err().code, "client.not_registered");
}

#[test]
fn at_ten_installations_the_way_out_needs_no_database() {
    let world = World::new(48);
    let devices: Vec<User> = (0..MAX_INSTALLATIONS).map(|_| world.user("alice")).collect();
    let inbox = devices[0].inbox();
    let eleventh = world.device("alice");
    let before = updates(&world, inbox);
    let full = register(&eleventh).unwrap_err();
    assert_eq!(full.code, "identity.limit");
    for part in [" 10 installations", &inbox.to_string(), "Client.revokeInstallations("] {
        assert!(full.message.contains(part), "{full}");
    }
    assert_eq!(updates(&world, inbox), before);
    assert_eq!(known(&eleventh, true), ids(&devices), "a client that is not registered lists them too");

    let logs = without_database(&world);
    let (reader, sign, by) = (logs.clone(), wallet(eleventh.secret), account(&eleventh));
    let state = world.run(async move { reader.states(&[inbox], true).await }).unwrap().remove(0);
    assert_eq!(state.installations(), ids(&devices));
    let oldest = ids([&devices[0]]);
    let now = Nanos(world.platform.now_ns());
    world.run(async move { logs.revoke(inbox, &oldest, &by, now, &sign).await }).unwrap();
    register(&eleventh).unwrap();
    let now = ids(devices[1..].iter().chain([&eleventh]));
    assert_eq!(known(&eleventh, false), now);
    devices[0].sync();
    assert!(devices[0].client.is_revoked());
}

#[test]
fn in_the_background_added_and_revoked_installations_are_noticed_at_once() {
    let world = World::new(49);
    let (phone, laptop) = (world.user("alice"), world.user("alice"));
    laptop.client.go_live();
    world.settle(1_000);
    let tablet = world.user("alice");
    world.settle(1_000);
    assert_eq!(known(&laptop, false), ids([&phone, &laptop, &tablet]));
    revoke(&phone, ids([&laptop])).unwrap();
    world.settle(1_000);
    assert!(laptop.client.is_revoked());
}

#[test]
fn an_installation_may_revoke_itself() {
    let world = World::new(50);
    let (phone, laptop) = (world.user("alice"), world.user("alice"));
    revoke(&phone, ids([&phone])).unwrap();
    assert!(phone.client.is_revoked(), "known at once");
    assert_eq!(known(&laptop, true), ids([&laptop]));
}

#[test]
fn many_inboxes_are_asked_for_together_and_only_news_is_read() {
    let world = World::new(53);
    let alice = world.user("alice");
    let others: Vec<User> = (0..12).map(|n| world.user(&format!("user {n}"))).collect();
    let inboxes: Vec<InboxId> = others.iter().map(User::inbox).collect();
    let read = |calls| {
        let inboxes = inboxes.clone();
        alice.gate.plan(None);
        let states = alice.call(move |client| async move { client.identity()?.states(&inboxes, true).await });
        assert_eq!(alice.gate.counts().1, calls);
        states.unwrap()
    };
    assert_eq!(read(2).len(), 12, "where the logs end, and the logs");
    assert_eq!(read(1).len(), 12, "nothing moved");
    let again = world.user("user 3");
    assert_eq!(read(2)[3].installations(), ids([&others[3], &again]));
    let accounts: Vec<Identifier> =
        others.iter().map(account).chain([account(&world.device("nobody"))]).collect();
    alice.gate.plan(None);
    let reached =
        alice.call(move |client| async move { client.identity()?.reachable(&accounts).await }).unwrap();
    assert_eq!(alice.gate.counts().1, 2, "who claims the accounts, and where their logs end");
    assert!(reached[..12].iter().all(|reached| *reached) && !reached[12]);
}

#[test]
fn accounts_whose_last_installation_was_revoked_cannot_be_reached() {
    let world = World::new(54);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    revoke(&bo, ids([&bo])).unwrap();
    let accounts = [account(&alice), account(&bo)];
    let logs = without_database(&world);
    assert_eq!(world.run(async move { logs.reachable(&accounts).await }).unwrap(), [true, false]);
}

#[test]
fn key_packages_of_installations_are_judged_as_an_adder_would() {
    let world = World::new(55);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let nobody = InstallationId([1; 32]);
    let asked = [bo.client.installation(), nobody];
    let ask = |user: &User| {
        let statuses = user.call(move |client| async move { client.key_package_statuses(&asked).await });
        statuses.unwrap().into_iter().map(|status| (status.installation, status.usable)).collect::<Vec<_>>()
    };
    let now = world.platform.now_ns();
    let answer = ask(&alice);
    assert_eq!(answer[1], (nobody, Err("no key package is published".to_owned())));
    let (installation, usable) = answer[0].clone();
    let days = (usable.unwrap().unwrap().0 - now) / 86_400_000_000_000;
    assert_eq!((installation, days), (asked[0], 84));
    alice.device.skew_ns.set(85 * 86_400_000_000_000);
    assert!(ask(&alice)[0].1.as_ref().unwrap_err().contains("expired"));
}
