//! Devices that join a member's inbox, members who leave, and a way back (GMOD-029, GMOD-031 to 033).

use dovetail::mls::FrameKind;
use dovetail::store::rows::GroupState;

use crate::common::World;
use crate::common::dump::Dump;
use crate::common::group::{code, commits, frames, sync_all, together, transcripts};

/// BR-030.
#[test]
fn a_member_added_removed_and_added_again_has_what_it_was_there_for() {
    let world = World::new(7);
    let (alice, mut bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let say = |text: &str| {
        alice.text(group, text);
        alice.sync();
    };
    say("1");
    bo.sync();
    alice.remove(group, &[bo.inbox()]).unwrap();
    say("2");
    bo.sync();
    bo.reopen();
    assert_eq!(bo.row(group).state, GroupState::Inactive);
    alice.add(group, &[bo.inbox()]).unwrap();
    say("3");
    bo.sync();
    bo.sync();
    assert_eq!(bo.row(group).state, GroupState::Active);
    assert_eq!(bo.texts(group), ["1", "3"]);
    bo.text(group, "4");
    sync_all(&[&bo, &alice]);
    assert_eq!(alice.texts(group), ["1", "2", "3", "4"]);
    assert_eq!(bo.conversations().len(), 1);
    together(group, &[&alice, &bo]);
}

#[test]
fn gmod_029_a_new_device_of_a_member_is_brought_into_group_and_dm() {
    let world = World::new(13);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let (group, dm) = (alice.group(&[&bo]), alice.dm(&bo));
    sync_all(&[&alice, &bo]);
    let laptop = world.user("bo");
    let all = [&alice, &bo, &laptop];
    sync_all(&all);
    for id in [group, dm] {
        together(id, &all);
    }
    laptop.text(group, "from the laptop");
    sync_all(&all);
    assert_eq!(alice.texts(group), ["from the laptop"]);
    assert_eq!(commits(&world, group), 2, "the racing members made one change");
}

#[test]
fn gmod_029_nothing_is_published_while_nobody_changed() {
    let world = World::new(14);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let before = commits(&world, group);
    sync_all(&[&alice, &bo]);
    assert_eq!(commits(&world, group), before);
}

#[test]
fn gmod_029_a_live_client_notices_a_new_device_by_itself() {
    let world = World::new(15);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    alice.client.go_live();
    world.settle(1_000);
    let laptop = world.user("bo");
    world.settle(5_000);
    laptop.sync();
    laptop.sync();
    assert_eq!(laptop.row(group).state, GroupState::Active);
}

/// BR-024.
#[test]
fn gmod_031_leaving_is_refused_where_it_makes_no_sense() {
    let world = World::new(16);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let (group, dm, alone) = (alice.group(&[&bo, &cy]), alice.dm(&bo), alice.group(&[]));
    sync_all(&[&alice, &bo, &cy]);
    let published = |id| frames(&world, id, FrameKind::Application);
    assert_eq!(code(alice.leave(dm)), "group.leave_dm");
    assert_eq!(code(alice.leave(alone)), "group.leave_alone");
    assert_eq!(code(alice.leave(group)), "group.leave_super_admin");
    alice.remove(group, &[cy.inbox()]).unwrap();
    cy.sync();
    assert_eq!(code(cy.leave(group)), "group.not_a_member");
    assert_eq!(published(group) + published(dm) + published(alone), 0);
    alice.client.abandon();
    bo.leave(group).unwrap();
    bo.leave(group).unwrap();
    bo.sync();
    assert_eq!(published(group), 1, "one request");
    assert_eq!(commits(&world, group), 2, "and no commit of its own");
}

/// BR-023.
#[test]
fn gmod_032_033_a_leave_request_is_served_by_a_super_admin() {
    let world = World::new(17);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let laptop = world.user("bo");
    let group = alice.group(&[&bo, &laptop, &cy]);
    bo.leave(group).unwrap();
    assert_eq!(bo.row(group).leaving, [bo.inbox()], "pending at once");
    bo.sync();
    cy.sync();
    laptop.sync();
    assert_eq!(laptop.row(group).leaving, [bo.inbox()]);
    assert_eq!(cy.row(group).state, GroupState::Active, "cy may not serve it");
    assert_eq!(alice.members(group).len(), 3);
    alice.sync();
    sync_all(&[&alice, &bo, &laptop, &cy]);
    together(group, &[&alice, &cy]);
    assert_eq!(alice.members(group).len(), 2);
    for device in [&bo, &laptop] {
        let row = device.row(group);
        assert_eq!((row.state, row.left), (GroupState::Inactive, true));
        assert!(row.leaving.is_empty());
    }
    let left = transcripts(&cy, group).pop().unwrap();
    assert_eq!((left.left, left.removed), (vec![bo.inbox()], vec![]));
    // Added again, it is active as before.
    alice.add(group, &[bo.inbox()]).unwrap();
    sync_all(&[&alice, &bo, &laptop, &cy]);
    together(group, &[&alice, &bo, &laptop, &cy]);
    assert!(!bo.row(group).left);
}

#[test]
fn gmod_033_a_request_stays_pending_when_the_removal_cannot_be_published() {
    let world = World::new(18);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo, &cy]);
    bo.leave(group).unwrap();
    bo.sync();
    alice.delivery.set(|faults| faults.refuse = 1);
    let _ = alice.try_sync();
    assert_eq!(alice.row(group).leaving, [bo.inbox()]);
    assert_eq!(alice.members(group).len(), 3);
    alice.delivery.set(|faults| faults.refuse = 0);
    sync_all(&[&alice, &bo]);
    assert_eq!(alice.members(group).len(), 2);
}

/// Removed and added again while offline: the Welcome is met before the removal.
#[test]
fn join_041_a_welcome_met_before_the_removal_it_follows_is_not_lost() {
    let world = World::new(22);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    bo.text(group, "first");
    sync_all(&[&bo, &alice]);
    bo.offline(true);
    bo.text(group, "handed out late");
    alice.remove(group, &[bo.inbox()]).unwrap();
    alice.text(group, "not for bo");
    alice.sync();
    alice.add(group, &[bo.inbox()]).unwrap();
    bo.offline(false);
    bo.sync();
    bo.sync();
    assert_eq!(bo.row(group).state, GroupState::Active);
    alice.text(group, "again");
    sync_all(&[&alice, &bo]);
    together(group, &[&alice, &bo]);
    // What bo handed out between removal and return belongs to the stay that had ended: nobody
    // takes it, and bo sees that it failed.
    assert_eq!(bo.texts(group), ["first", "again", "handed out late"]);
    assert!(Dump::of(&bo.store).intents().is_empty());
    assert_eq!(alice.texts(group), ["first", "not for bo", "again"]);
}
