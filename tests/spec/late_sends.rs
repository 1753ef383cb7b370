//! What is written while others change the group: whoever is in it when the message leaves reads it.

use std::rc::Rc;

use crate::common::{User, World};

/// Alice and bo in a group; carol is added while bo knows nothing of it.
fn apart(world: &Rc<World>, cut_off: impl FnOnce(&mut User), back: impl FnOnce(&mut User)) {
    let (alice, mut bo, carol) = (world.user("alice"), world.user("bo"), world.user("carol"));
    let group = alice.group(&[&bo]);
    bo.sync();
    cut_off(&mut bo);
    let inbox = carol.inbox();
    alice.add(group, &[inbox]).expect("added");
    carol.sync();
    back(&mut bo);
    bo.text(group, "late");
    bo.delivery.set(|faults| faults.offline = false);
    bo.call(move |client| async move { client.publish(group).await }).expect("published");
    for user in [&alice, &carol, &bo] {
        user.sync();
        assert_eq!(user.texts(group), ["late"]);
    }
}

#[test]
fn gmod_018_a_text_written_offline_is_read_by_who_was_added_meanwhile() {
    let world = World::new(1);
    apart(&world, |bo| bo.delivery.set(|faults| faults.offline = true), |_| {});
}

#[test]
fn gmod_018_a_text_written_at_once_after_opening_is_read_by_who_was_added_before() {
    let world = World::new(2);
    apart(
        &world,
        |bo| bo.delivery.set(|faults| faults.offline = true),
        |bo| {
            bo.reopen();
            bo.delivery.set(|faults| faults.offline = false);
        },
    );
}
