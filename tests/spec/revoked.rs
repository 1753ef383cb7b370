//! What an installation still does once it was revoked, and what it no longer does: it falls silent,
//! but for the Welcomes it owes, and stays readable.

use std::rc::Rc;
use std::sync::LazyLock;

use dovetail::base::{InboxId, Set, Topic};
use dovetail::client::NewGroup;
use dovetail::policy::ALL_MEMBERS;
use dovetail::store::rows::{GroupState, MessageStatus};

use crate::commits::status;
use crate::common::dump::{self, Dump};
use crate::common::gate::{Handed, Plan};
use crate::common::group::{commits, sync_all, together};
use crate::common::{User, World, wallet};
use crate::installations::{ids, known, register, revoke, untouched};

/// How an add was cut off, and what became of it.
struct CutOff {
    /// The service had stored the commit, and not everybody had a Welcome.
    owing: bool,
    /// What left the phone after it was revoked.
    left: Vec<Handed>,
}

/// A phone of alice's dies while it adds cy and dee to a group, at a call of the service; then it is
/// revoked, and comes back. `None` when the add came to its end.
fn revoked_while_adding(plan: Plan) -> Option<CutOff> {
    let world = World::new(60);
    let (mut phone, laptop, bo) = (world.user("alice"), world.user("alice"), world.user("bo"));
    let (cy, dee) = (world.user("cy"), world.user("dee"));
    let group = phone.group(&[&bo]);
    sync_all(&[&laptop, &phone, &bo]);
    let before = commits(&world, group);
    phone.gate.plan(Some(plan));
    let added = [cy.inbox(), dee.inbox()];
    if phone.risk(move |client| async move { client.add_members(group, &added).await }).is_some() {
        return None;
    }
    phone.reopen();
    phone.offline(true);
    let text = phone.text(group, "too late");
    revoke(&laptop, ids([&phone])).unwrap();
    let accepted = commits(&world, group) > before;
    let invited =
        |user: &User| !world.delivery.stored(Topic::Welcome(user.client.installation().0)).is_empty();
    let owing = accepted && !(invited(&cy) && invited(&dee));

    phone.offline(false);
    let already = phone.gate.handed.borrow().len();
    sync_all(&[&phone]);
    assert!(phone.client.is_revoked());
    let left = phone.gate.handed.borrow()[already..].to_vec();
    assert_eq!((invited(&cy), invited(&dee)), (accepted, accepted), "GMOD-018");
    assert_eq!(status(&phone, text), MessageStatus::Unpublished);

    // Nobody waits for anybody, and what the phone still wanted ends with its removal.
    sync_all(&[&cy, &dee, &laptop, &bo, &phone]);
    let members = if accepted { vec![&laptop, &bo, &cy, &dee] } else { vec![&laptop, &bo] };
    together(group, &members);
    assert_eq!(bo.members(group).len(), if accepted { 4 } else { 2 });
    assert_eq!(phone.row(group).state, GroupState::Inactive);
    assert!(Dump::of(&phone.store).intents().is_empty());
    assert_eq!(status(&phone, text), MessageStatus::Failed("group.not_a_member".into()));
    Some(CutOff { owing, left })
}

/// Every point at which an add can be cut off.
static CUTS: LazyLock<Vec<CutOff>> = LazyLock::new(|| {
    let until_done = |plan: fn(u64) -> Plan| (0..).map(plan).map_while(revoked_while_adding);
    until_done(Plan::KillBeforeCall).chain(until_done(Plan::KillAfterCall)).collect()
});

#[test]
fn gmod_018_a_revoked_installation_still_sends_the_welcomes_it_owes() {
    let owing = CUTS.iter().filter(|cut| cut.owing);
    assert!(owing.clone().count() >= 2, "cut off before and after the commit was read back");
    assert!(owing.clone().all(|cut| !cut.left.is_empty()));
}

#[test]
fn gmod_018_a_revoked_installation_sends_nothing_but_the_welcomes_it_owes() {
    let welcome = |one: &Handed| matches!(one.topic, Topic::Welcome(_));
    assert!(CUTS.iter().all(|cut| cut.left.iter().all(welcome)));
    assert!(CUTS.iter().any(|cut| !cut.owing && cut.left.is_empty()), "nor a commit that was not stored");
}

#[test]
fn ident_043_a_revoked_installation_falls_silent_and_stays_readable() {
    let world = World::new(43);
    let (mut phone, bo) = (world.user("alice"), world.user("bo"));
    let group = bo.dm(&phone);
    bo.text(group, "hello");
    bo.sync();
    phone.sync();
    let laptop = world.user("alice");
    revoke(&laptop, ids([&phone])).unwrap();
    assert_eq!(known(&laptop, false), ids([&laptop]));

    phone.offline(true);
    let unsent = phone.text(group, "written before it knows");
    assert!(phone.client.is_registered() && !phone.client.is_revoked());
    phone.offline(false);
    phone.sync();
    assert!(phone.client.is_revoked() && !phone.client.is_registered());
    assert_eq!(status(&phone, unsent), MessageStatus::Unpublished);
    bo.sync();
    assert_eq!(bo.texts(group), ["hello"], "nothing leaves a revoked installation");

    // Offline and after a restart it is known too.
    phone.reopen();
    phone.offline(true);
    let packages = world.delivery.stored(Topic::KeyPackage(phone.client.installation())).len();
    assert!(phone.client.is_revoked());
    assert_eq!(phone.texts(group), ["hello", "written before it knows"]);
    let code = "client.installation_revoked";
    assert_eq!(phone.try_text(group, "hi").unwrap_err().code, code);
    assert_eq!(phone.dm_to(laptop.inbox()).unwrap_err().code, "dm.self");
    assert_eq!(phone.dm_to(InboxId([3; 32])).unwrap_err().code, code);
    phone.offline(false);
    let sign = untouched();
    let again = phone.call(move |client| async move { client.register(1, &sign).await });
    assert_eq!(again.unwrap_err().code, code);
    let publish = phone.call(move |client| async move { client.publish(group).await });
    assert_eq!(publish.unwrap_err().code, code);
    bo.text(group, "are you there?");
    bo.sync();
    let report = phone.call(move |client| async move { client.sync_conversation(group).await }).unwrap();
    assert_eq!(report.failed, [], "reading goes on");
    let stored = world.delivery.stored(Topic::KeyPackage(phone.client.installation())).len();
    assert_eq!(stored, packages, "nothing registers it again");
    dump::check(&phone.store);
    // The wallet still decides, whichever device asks it.
    revoke(&phone, ids([&laptop])).unwrap();
    assert_eq!(known(&phone, true), Set::new());
}

#[test]
fn one_revoked_before_it_knew_of_its_registration_does_not_come_back() {
    let world = World::new(51);
    let phone = world.user("alice");
    let mut laptop = world.device("alice");
    // Writes of a registration: the key package, the log, that it is done.
    laptop.gate.plan(Some(Plan::KillBeforeApply(2)));
    let sign = wallet(laptop.secret);
    assert!(laptop.risk(move |client| async move { client.register(1, &sign).await }).is_none());
    assert_eq!(known(&phone, true), ids([&phone, &laptop]));
    revoke(&phone, ids([&laptop])).unwrap();
    laptop.reopen();
    assert!(!laptop.client.is_registered());
    assert_eq!(register(&laptop).unwrap_err().code, "client.installation_revoked");
    assert!(laptop.client.is_revoked());
    assert_eq!(known(&phone, true), ids([&phone]));
}

#[test]
fn whoever_withholds_or_mangles_the_log_hides_a_revocation_and_stops_nothing() {
    let world = World::new(52);
    let (phone, bo) = (world.user("alice"), world.user("bo"));
    let laptop = world.user("alice");
    let group = bo.dm(&phone);
    bo.sync();
    phone.sync();
    bo.text(group, "hello");
    bo.sync();
    revoke(&laptop, ids([&phone])).unwrap();
    let own = phone.inbox();
    *phone.gate.twist.borrow_mut() = Some(Rc::new(move |_, mut answer| {
        for envelope in answer.iter_mut().filter(|envelope| envelope.topic == Topic::Identity(own)) {
            envelope.payload.push(0);
        }
        Ok(answer)
    }));
    assert_eq!(phone.try_sync().unwrap_err().code, "delivery.invalid", "it is told");
    assert_eq!(phone.texts(group), ["hello"], "and the rest was read");
    *phone.gate.twist.borrow_mut() = Some(Rc::new(move |_, mut answer| {
        answer.retain(|envelope| envelope.topic != Topic::Identity(own));
        Ok(answer)
    }));
    phone.sync();
    assert!(!phone.client.is_revoked());
    bo.text(group, "and this arrives");
    bo.sync();
    phone.sync();
    assert_eq!(phone.texts(group), ["hello", "and this arrives"]);
    *phone.gate.twist.borrow_mut() = None;
    phone.sync();
    assert!(phone.client.is_revoked());
}

#[test]
fn gmod_029_a_revoked_installation_changes_no_group_and_is_taken_out_by_others() {
    let world = World::new(56);
    let (phone, bo) = (world.user("alice"), world.user("bo"));
    let group = phone.group(&[&bo]);
    phone.sync();
    bo.sync();
    phone.text(group, "hello");
    phone.sync();
    let laptop = world.user("alice");
    revoke(&laptop, ids([&phone])).unwrap();
    // The phone itself is the first to read of it.
    phone.sync();
    let before = world.delivery.stored(Topic::Group(group)).len();
    let code = "client.installation_revoked";
    assert_eq!(phone.name(group, "mine").unwrap_err().code, code);
    assert_eq!(phone.remove(group, &[bo.inbox()]).unwrap_err().code, code);
    assert_eq!(phone.leave(group).unwrap_err().code, code);
    let new = NewGroup { policies: ALL_MEMBERS.to_vec(), ..NewGroup::default() };
    let created = phone.call(move |client| async move { client.create_group(new).await });
    assert_eq!(created.unwrap_err().code, code);
    // Nor is a key package of it replaced, however old.
    phone.device.skew_ns.set(90 * 86_400_000_000_000);
    phone.sync();
    phone.device.skew_ns.set(0);
    assert_eq!(world.delivery.stored(Topic::KeyPackage(phone.client.installation())).len(), 1);
    assert_eq!(world.delivery.stored(Topic::Group(group)).len(), before, "nothing left it");

    for user in [&bo, &laptop, &phone, &bo] {
        user.sync();
    }
    let member =
        |user: &User| user.row(group).members.iter().find(|m| m.inbox == laptop.inbox()).cloned().unwrap();
    assert_eq!(member(&bo).installations, [laptop.client.installation()]);
    assert_eq!(phone.row(group).state, GroupState::Inactive);
    assert_eq!(phone.texts(group), ["hello"]);
    laptop.text(group, "from the new one");
    laptop.sync();
    bo.sync();
    assert_eq!(bo.texts(group), ["hello", "from the new one"]);
    [&phone, &laptop, &bo].into_iter().for_each(|user| dump::check(&user.store));
}
