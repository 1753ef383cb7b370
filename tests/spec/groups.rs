//! Groups as their members use them: what an operation does, what it refuses, and what is left of
//! it when something stands in its way.

use dovetail::base::{InboxId, Topic};
use dovetail::client::{NewGroup, Role, Setting};
use dovetail::meta::{Base, Settings};
use dovetail::policy::{ADMINS_ONLY, ALL_MEMBERS, Action, custom};
use dovetail::store::rows::GroupState;

use crate::common::dump::Dump;
use crate::common::group::{break_key_package, code, commits, sync_all, together, transcripts};
use crate::common::{User, World};

#[test]
fn gmod_005_006_018_a_group_of_three_talks() {
    let world = World::new(1);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo, &cy]);
    let all = [&alice, &bo, &cy];
    together(group, &all);
    assert_eq!(alice.members(group).len(), 3);
    assert!(
        alice.row(group).members.iter().all(|member| member.sequence_id.0 > 0 && member.failed.is_empty())
    );
    alice.text(group, "hello");
    sync_all(&all);
    bo.text(group, "hi");
    sync_all(&all);
    for user in all {
        assert_eq!(user.texts(group), ["hello", "hi"]);
        assert_eq!(transcripts(user, group).len(), 1);
    }
    assert_eq!(transcripts(&alice, group)[0].added.len(), 2);
}

#[test]
fn a_group_is_created_offline_and_its_members_join_later() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    let settings = Settings { name: Some("friends".into()), ..Settings::default() };
    let new = NewGroup { members: vec![bo.inbox()], policies: ALL_MEMBERS.to_vec(), settings };
    let group = alice.call(move |client| async move { client.create_group(new).await }).expect("a group");
    alice.text(group, "written before anybody came");
    assert_eq!(alice.row(group).settings.name, "friends");
    alice.offline(false);
    sync_all(&[&alice, &bo]);
    together(group, &[&alice, &bo]);
    assert_eq!(bo.texts(group), ["written before anybody came"]);
    assert_eq!(bo.row(group).settings.name, "friends");
}

#[test]
fn gmod_016_settings_roles_and_policies_reach_everybody() {
    let world = World::new(3);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    alice.name(group, "one").unwrap();
    bo.set(group, Setting::Description("two".into())).unwrap();
    bo.set(group, Setting::ImageUrl("https://example.org/i".into())).unwrap();
    bo.set(group, Setting::AppData("{}".into())).unwrap();
    alice.set(group, Setting::DisappearFrom(5)).unwrap();
    alice.set(group, Setting::DisappearIn(6)).unwrap();
    alice.role(group, bo.inbox(), Role::Admin, true).unwrap();
    sync_all(&[&alice, &bo]);
    together(group, &[&alice, &bo]);
    let settings = bo.row(group).settings;
    assert_eq!((settings.name.as_str(), settings.description.as_str()), ("one", "two"));
    assert_eq!((settings.image_url.as_str(), settings.app_data.as_str()), ("https://example.org/i", "{}"));
    assert_eq!((settings.disappear_from_ns, settings.disappear_in_ns), (5, 6));
    assert_eq!(settings.admins, [bo.inbox()]);
    let before = commits(&world, group);
    alice.name(group, "one").unwrap();
    assert_eq!(commits(&world, group), before, "nothing to change, nothing published");
}

#[test]
fn perm_010_a_change_the_policies_do_not_allow_is_refused_before_anything_is_sent() {
    let world = World::new(4);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group_with(&[&bo], ADMINS_ONLY);
    let before = (commits(&world, group), Dump::of(&bo.store));
    assert_eq!(code(bo.name(group, "mine")), "group.permission_denied");
    assert_eq!(code(bo.add(group, &[cy.inbox()])), "group.permission_denied");
    assert_eq!(code(bo.remove(group, &[alice.inbox()])), "group.permission_denied");
    assert_eq!(code(bo.role(group, bo.inbox(), Role::Admin, true)), "group.permission_denied");
    assert_eq!(commits(&world, group), before.0);
    assert!(Dump::of(&bo.store).intents().is_empty(), "nothing is left of it");
    // A role granted a moment ago counts, without a sync in between.
    alice.role(group, bo.inbox(), Role::Admin, true).unwrap();
    bo.name(group, "ours").unwrap();
    bo.add(group, &[cy.inbox()]).unwrap();
    // A rule changed a moment ago refuses.
    alice.role(group, bo.inbox(), Role::Admin, false).unwrap();
    assert_eq!(code(bo.name(group, "mine")), "group.permission_denied");
    sync_all(&[&alice, &bo, &cy]);
    together(group, &[&alice, &bo, &cy]);
}

#[test]
fn perm_018_a_custom_policy_set_is_kept_and_changed() {
    let world = World::new(5);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    use dovetail::policy::{Preset, Shown};
    let group = alice.group_with(&[&bo], &custom(&[(Action::Name, Base::Deny)]));
    assert_eq!(code(alice.name(group, "x")), "group.permission_denied");
    let read = |user: &User| user.call(move |client| async move { client.policies(group).await }).unwrap();
    assert_eq!((read(&bo).preset, read(&bo).actions[4]), (Preset::Custom, Shown::Base(Base::Deny)));
    let allow = [Some(Base::Allow), Some(Base::Allow), None];
    let name = dovetail::meta::component::GROUP_NAME;
    assert_eq!(
        code(bo.call(move |client| async move { client.set_policies(group, name, allow).await })),
        "group.permission_denied"
    );
    alice.call(move |client| async move { client.set_policies(group, name, allow).await }).unwrap();
    bo.name(group, "ours").unwrap();
    assert_eq!(read(&bo).preset, Preset::AllMembers);
}

#[test]
fn perm_018_one_policy_of_two_components_is_set_in_one_commit() {
    let world = World::new(5);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let disappear = || vec![Setting::DisappearFrom(1), Setting::DisappearIn(2)];
    let change = move |user: &User| {
        user.call(move |client| async move { client.change_settings(group, disappear()).await })
    };
    assert_eq!(code(change(&bo)), "group.permission_denied");
    let before = commits(&world, group);
    alice
        .call(move |client| async move { client.set_policy(group, Action::Disappearing, Base::Allow).await })
        .unwrap();
    assert_eq!(commits(&world, group), before + 1);
    change(&bo).unwrap();
}

#[test]
fn perm_017_an_admin_list_open_to_all_is_refused_before_anything_is_there() {
    let world = World::new(5);
    let alice = world.user("alice");
    for action in [Action::AddAdmin, Action::RemoveAdmin] {
        let new = NewGroup { policies: custom(&[(action, Base::Allow)]), ..NewGroup::default() };
        assert_eq!(
            code(alice.call(move |client| async move { client.create_group(new).await })),
            "input.value"
        );
    }
    assert!(alice.conversations().is_empty());
    let group = alice.group(&[]);
    let before = commits(&world, group);
    let open = alice
        .call(move |client| async move { client.set_policy(group, Action::AddAdmin, Base::Allow).await });
    assert_eq!(code(open), "input.value");
    assert_eq!(commits(&world, group), before);
}

#[test]
fn gmod_039_removed_members_lose_the_group_and_their_role() {
    let world = World::new(6);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo, &cy]);
    alice.role(group, cy.inbox(), Role::Admin, true).unwrap();
    alice.text(group, "before");
    sync_all(&[&alice, &bo, &cy]);
    alice.remove(group, &[cy.inbox()]).unwrap();
    assert!(alice.row(group).settings.admins.is_empty(), "the role goes with the member");
    alice.text(group, "after");
    sync_all(&[&alice, &bo, &cy]);
    together(group, &[&alice, &bo]);
    let row = cy.row(group);
    assert_eq!(row.state, GroupState::Inactive);
    assert!(Dump::of(&cy.store).mls(group).is_none(), "no key is kept");
    assert_eq!(cy.texts(group), ["before"], "history stays readable");
    assert_eq!(code(cy.try_text(group, "hello?")), "group.not_a_member");
    assert_eq!(code(cy.name(group, "x")), "group.not_a_member");
    let removal = transcripts(&bo, group).pop().unwrap();
    assert_eq!(removal.removed, [cy.inbox()]);
    assert!(removal.left.is_empty());
}

#[test]
fn limits_are_typed_errors_before_anything_is_sent() {
    let world = World::new(8);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let before = world.delivery.stored(Topic::Group(group)).len();
    assert_eq!(code(alice.name(group, &"n".repeat(101))), "input.value");
    assert_eq!(code(alice.set(group, Setting::Description("d".repeat(1001)))), "input.value");
    assert_eq!(code(alice.set(group, Setting::ImageUrl("i".repeat(2049)))), "input.value");
    assert_eq!(code(alice.set(group, Setting::AppData("a".repeat(8193)))), "input.value");
    assert_eq!(code(alice.set(group, Setting::Floor("9.0.0".into()))), "input.value");
    assert_eq!(code(alice.set(group, Setting::Floor("one".into()))), "input.value");
    assert_eq!(code(alice.add(group, &[InboxId([9; 32])])), "group.unknown_inbox");
    assert_eq!(code(alice.remove(group, &[alice.inbox()])), "group.self");
    assert_eq!(code(alice.role(group, InboxId([9; 32]), Role::Admin, true)), "group.unknown_member");
    let many = NewGroup {
        members: (0..250).map(|n| InboxId([n as u8; 32])).collect(),
        policies: ALL_MEMBERS.to_vec(),
        ..NewGroup::default()
    };
    assert_eq!(code(alice.call(move |client| async move { client.create_group(many).await })), "group.limit");
    let long = NewGroup {
        policies: ALL_MEMBERS.to_vec(),
        settings: Settings { name: Some("n".repeat(101)), ..Settings::default() },
        ..NewGroup::default()
    };
    assert_eq!(code(alice.call(move |client| async move { client.create_group(long).await })), "input.value");
    assert_eq!(world.delivery.stored(Topic::Group(group)).len(), before);
    assert!(Dump::of(&alice.store).intents().is_empty());
    alice.name(group, &"n".repeat(100)).unwrap();
}

#[test]
fn an_operation_offline_leaves_nothing_and_passes_later() {
    let world = World::new(9);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo]);
    alice.offline(true);
    assert_eq!(code(alice.name(group, "x")), "delivery.unavailable");
    assert_eq!(code(alice.add(group, &[cy.inbox()])), "delivery.unavailable");
    assert!(Dump::of(&alice.store).intents().is_empty());
    alice.offline(false);
    alice.sync();
    assert_eq!(alice.row(group).settings.name, "");
    alice.name(group, "x").unwrap();
    alice.add(group, &[cy.inbox()]).unwrap();
}

#[test]
fn gmod_016_a_change_whose_answer_was_lost_goes_on_and_is_applied_once() {
    let world = World::new(10);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let before = commits(&world, group);
    alice.delivery.set(|faults| faults.lose_answers = 1);
    // Answered or not, what was handed out is found in the topic.
    let _ = alice.name(group, "x");
    world.settle(60_000);
    sync_all(&[&alice, &bo]);
    assert_eq!(commits(&world, group), before + 1);
    assert_eq!(bo.row(group).settings.name, "x");
    together(group, &[&alice, &bo]);
}

/// BR-043.
#[test]
fn gmod_009_whoever_cannot_be_brought_in_is_named_and_the_others_are_added() {
    let world = World::new(11);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let (good, broken) = (world.user("good"), world.user("broken"));
    let group = alice.group(&[&bo]);
    break_key_package(&broken);
    let left_out = alice.add(group, &[good.inbox(), broken.inbox()]).unwrap();
    assert_eq!(left_out.inboxes, [broken.inbox()]);
    assert!(alice.members(group).contains(&good.inbox()));
    assert!(!alice.members(group).contains(&broken.inbox()));
    assert_eq!(code(alice.add(group, &[broken.inbox()])), "group.no_installation");
    sync_all(&[&alice, &bo, &good]);
    together(group, &[&alice, &bo, &good]);
}

#[test]
fn gmod_009_one_broken_device_of_an_inbox_is_listed_as_failed() {
    let world = World::new(12);
    let (alice, phone, laptop) = (world.user("alice"), world.user("bo"), world.user("bo"));
    let group = alice.group(&[]);
    break_key_package(&laptop);
    let left_out = alice.add(group, &[phone.inbox()]).unwrap();
    assert_eq!(left_out.installations, [laptop.client.installation()]);
    let row = alice.row(group);
    let member = row.members.iter().find(|member| member.inbox == phone.inbox()).unwrap();
    assert_eq!(member.failed, [laptop.client.installation()]);
    phone.sync();
    together(group, &[&alice, &phone]);
}
