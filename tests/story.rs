//! The main job: two people who start a DM at the same moment see one conversation.

mod common;

use common::World;

#[test]
fn dms_005_007_009_013_two_dms_made_at_once_are_one_conversation() {
    let world = World::new(1);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    alice.offline(true);
    bo.offline(true);
    let from_alice = alice.dm(&bo);
    let from_bo = bo.dm(&alice);
    alice.text(from_alice, "hello from alice");
    bo.text(from_bo, "hello from bo");
    alice.offline(false);
    bo.offline(false);
    for _ in 0..2 {
        alice.sync();
        bo.sync();
    }
    let (a, b) = (alice.conversations(), bo.conversations());
    assert_eq!((a.len(), b.len()), (1, 1));
    assert_eq!(a[0].group.dm, b[0].group.dm);
    assert_eq!(a[0].group.id, b[0].group.id, "one winner");
    let texts = alice.texts(from_alice);
    assert_eq!(texts.len(), 2);
    for user in [&alice, &bo] {
        for group in [from_alice, from_bo] {
            assert_eq!(user.texts(group), texts);
        }
    }
    // The next message of each goes to the winner.
    let winner = a[0].group.id;
    for user in [&alice, &bo] {
        user.text(from_alice, "next");
        user.sync();
    }
    alice.sync();
    let rows = alice.history(winner, Default::default());
    assert_eq!(rows.iter().filter(|row| common::text_of(row) == "next" && row.group == winner).count(), 2);
}
