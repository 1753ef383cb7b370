//! What an app can get wrong, and clocks that are wrong.

use dovetail::base::{GroupId, InboxId, MessageId};
use dovetail::meta::component::GROUP_NAME;
use dovetail::store::rows::MessageStatus;
use openmls::prelude::Propose;

use crate::commits::{epoch, status};
use crate::common::dump::{self, Dump};
use crate::common::forge::Forger;
use crate::common::{User, World};

#[test]
fn an_unknown_inbox_fails_its_dm_and_can_be_tried_again() {
    let world = World::new(2);
    let alice = world.user("alice");
    let later = world.device("bo");
    let peer: InboxId = later.inbox();
    alice.offline(true);
    let group = alice.dm_to(peer).unwrap();
    let text = alice.text(group, "anybody?");
    assert_eq!(alice.conversations().len(), 1, "offline it is a conversation like any other");
    alice.offline(false);
    alice.sync();
    dump::check(&alice.store);
    assert_eq!(status(&alice, text), MessageStatus::Failed("dm.unknown_inbox".into()));
    assert_eq!(alice.conversations().len(), 0);
    assert_eq!(alice.try_text(group, "hello?").unwrap_err().code, "dm.unknown_inbox");
    assert_eq!(alice.texts(group), ["anybody?"], "what was written stays readable");

    let sign = crate::common::wallet(later.secret);
    later.call(move |client| async move { client.register(1, &sign).await }).unwrap();
    let again = alice.dm_to(peer).unwrap();
    assert_ne!(again, group);
    alice.text(again, "there you are");
    alice.sync();
    later.sync();
    assert_eq!(later.texts(again), ["there you are"]);
    assert_eq!(alice.conversations().len(), 1);
    dump::check(&alice.store);
}

#[test]
fn bad_input_is_a_typed_error_and_changes_nothing() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    let before = Dump::of(&alice.store);
    let unknown = GroupId([0xaa; 16]);
    let code = |result: Result<MessageId, dovetail::error::Error>| result.unwrap_err().code;
    assert_eq!(code(alice.try_text(unknown, "hi")), "conversation.not_found");
    assert_eq!(code(alice.try_text(group, "")), "message.empty");
    assert_eq!(code(alice.try_text(group, &"x".repeat(1 << 20))), "message.too_large");
    assert_eq!(code(alice.try_text(group, &"x".repeat(3 << 20))), "message.too_large");
    let raw = alice.call(move |client| async move { client.send(group, vec![0xff; 40], None).await });
    assert_eq!(code(raw), "input.value");
    assert_eq!(alice.dm_to(alice.inbox()).unwrap_err().code, "dm.self");
    let reads = alice.call(move |client| async move {
        let messages = client.messages(unknown, &Default::default()).await.err().unwrap().code;
        let inside = client.inspect(unknown).await.err().unwrap().code;
        let consent = client.set_conversation_consent(unknown, Default::default()).await.unwrap_err().code;
        (messages, inside, consent, client.conversation(unknown).await.unwrap().is_none())
    });
    assert_eq!(reads, ("conversation.not_found", "conversation.not_found", "conversation.not_found", true));
    assert!(Dump::of(&alice.store) == before, "{:?}", before.differences(&Dump::of(&alice.store)));
    // The greatest text that fits arrives.
    let text = "y".repeat(900_000);
    alice.text(group, &text);
    alice.sync();
    bo.sync();
    assert_eq!(bo.texts(group), [text]);
}

#[test]
fn members_whose_clocks_are_a_year_off_apply_commits_alike() {
    const YEAR: i64 = 365 * 24 * 3_600 * 1_000_000_000;
    let world = World::new(2);
    let (alice, ahead) = (world.user("alice"), world.user("alice"));
    let (bo, behind) = (world.user("bo"), world.user("bo"));
    ahead.device.skew_ns.set(YEAR);
    bo.device.skew_ns.set(2 * YEAR);
    behind.device.skew_ns.set(-YEAR);
    let all = [&alice, &ahead, &bo, &behind];
    let proposers: Vec<User> = (0..3).map(|_| world.user("bo")).collect();
    let group = alice.dm(&bo);
    alice.text(group, "from alice");
    alice.sync();
    let sync = || (0..2).for_each(|_| all.iter().for_each(|user| drop(user.sync())));
    sync();
    // A commit of each: somebody proposes, and the first who sees it commits.
    for (at, committer) in [&ahead, &bo, &behind].into_iter().enumerate() {
        proposers[at].sync();
        let proposer = Forger::of(&proposers[at]);
        let update =
            Propose::UpdateAppDataComponent { component_id: GROUP_NAME, update: vec![b'a' + at as u8] };
        proposer.publish(group, proposer.propose(group, update));
        committer.sync();
        assert_eq!(epoch(committer, group).0, 1 + at as u64, "nobody needs a commit yet");
        committer.text(group, &format!("from {at}"));
        committer.sync();
        sync();
        for user in all {
            assert_eq!(epoch(user, group), epoch(&alice, group));
            assert_eq!(user.inspect(group).groups[0].rejected, []);
        }
        assert_eq!(epoch(&alice, group).0, 2 + at as u64);
    }
    for user in all {
        assert_eq!(user.texts(group), ["from alice", "from 0", "from 1", "from 2"]);
        assert_eq!(user.conversations().len(), 1);
        dump::check(&user.store);
    }
}
