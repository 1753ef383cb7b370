//! A service that lies, is late or fails: typed errors, nothing changed by what is not believed,
//! and other conversations unaffected.

use std::rc::Rc;

use dovetail::base::{GroupId, SequenceId, Topic};
use dovetail::delivery::memory::Lie;
use dovetail::delivery::{DeliveryError, Incoming};
use dovetail::store::Table;

use crate::common::dump::{self, Dump};
use crate::common::gate::Plan;
use crate::common::{User, World};

/// bo has conversations with alice and carol, each with something new to read.
struct Inbox {
    alice: User,
    carol: User,
    bo: User,
    from_alice: GroupId,
    from_carol: GroupId,
}

fn inbox() -> Inbox {
    let world = World::new(8);
    let (alice, carol, bo) = (world.user("alice"), world.user("carol"), world.user("bo"));
    let (from_alice, from_carol) = (alice.dm(&bo), carol.dm(&bo));
    [&alice, &carol, &bo].into_iter().for_each(|user| drop(user.sync()));
    alice.text(from_alice, "one");
    alice.text(from_alice, "two");
    carol.text(from_carol, "hello");
    alice.sync();
    carol.sync();
    Inbox { alice, carol, bo, from_alice, from_carol }
}

impl Inbox {
    fn assert_all_read(&self) {
        self.bo.sync();
        assert_eq!(self.bo.texts(self.from_alice), ["one", "two"]);
        assert_eq!(self.bo.texts(self.from_carol), ["hello"]);
        for group in [self.from_alice, self.from_carol] {
            assert_eq!(self.bo.inspect(group).groups[0].rejected, []);
        }
        dump::check(&self.bo.store);
    }
}

#[test]
fn a_service_that_breaks_its_contract_changes_nothing() {
    for lie in [Lie::WrongTopic, Lie::FallingIds, Lie::AlteredBytes, Lie::NegativeTime] {
        let inbox = inbox();
        let before = Dump::of(&inbox.bo.store);
        inbox.bo.delivery.set(|faults| faults.lie = Some(lie));
        let report = inbox.bo.try_sync();
        match report {
            Err(error) => assert_eq!(error.code, "delivery.invalid", "{lie:?}"),
            Ok(report) => {
                assert!(!report.failed.is_empty(), "{lie:?}");
                assert!(report.failed.iter().all(|(_, error)| error.code == "delivery.invalid"), "{lie:?}");
            }
        }
        let after = Dump::of(&inbox.bo.store);
        assert!(before == after, "{lie:?}: {:?}", before.differences(&after));
        inbox.bo.delivery.set(|faults| faults.lie = None);
        inbox.assert_all_read();
    }
}

#[test]
fn forged_bytes_are_refused_by_their_cryptography_alone() {
    let inbox = inbox();
    let before = Dump::of(&inbox.bo.store);
    inbox.bo.delivery.set(|faults| faults.lie = Some(Lie::Forged));
    inbox.bo.sync();
    let (kept, now) = (before.groups(), Dump::of(&inbox.bo.store));
    // The last envelope of the answer was altered: one message is refused, the others are there.
    let refused: usize = [inbox.from_alice, inbox.from_carol]
        .into_iter()
        .map(|group| inbox.bo.inspect(group).groups[0].rejected.len())
        .sum();
    assert_eq!(refused, 1);
    assert_eq!(now.messages().len(), before.messages().len() + 2);
    for (id, group) in kept {
        assert_eq!((now.groups()[&id].epoch, &now.groups()[&id].state), (group.epoch, &group.state));
    }
    dump::check(&inbox.bo.store);
    inbox.bo.delivery.set(|faults| faults.lie = None);
    inbox.alice.text(inbox.from_alice, "three");
    inbox.carol.text(inbox.from_carol, "bye");
    inbox.alice.sync();
    inbox.carol.sync();
    inbox.bo.sync();
    assert_eq!(inbox.bo.texts(inbox.from_alice).last().unwrap(), "three");
    assert_eq!(inbox.bo.texts(inbox.from_carol).last().unwrap(), "bye");
}

#[test]
fn a_missing_receipt_leaves_the_message_to_be_sent_once() {
    let inbox = inbox();
    inbox.bo.sync();
    inbox.bo.delivery.set(|faults| faults.lie = Some(Lie::MissingReceipt));
    inbox.bo.text(inbox.from_alice, "reply");
    inbox.bo.world.settle(100);
    inbox.bo.delivery.set(|faults| faults.lie = None);
    inbox.bo.sync();
    inbox.alice.sync();
    assert_eq!(inbox.alice.texts(inbox.from_alice), ["one", "two", "reply"]);
    dump::check(&inbox.bo.store);
}

type Change = fn(&mut Vec<Incoming>);

/// Lies about one topic only.
fn twist(user: &User, topic: Topic, change: Change) {
    *user.gate.twist.borrow_mut() = Some(Rc::new(move |asked, mut answer| {
        if asked.iter().any(|(one, _)| *one == topic) && answer.iter().any(|one| one.topic == topic) {
            change(&mut answer);
        }
        Ok(answer)
    }));
}

#[test]
fn a_lie_about_one_conversation_does_not_touch_the_others() {
    let changes: [Change; 4] = [
        |answer| answer.iter_mut().for_each(|one| one.payload.push(0)),
        |answer| answer.iter_mut().for_each(|one| one.sequence_id = SequenceId(1)),
        |answer| answer.reverse(),
        |answer| answer.iter_mut().for_each(|one| one.topic = Topic::Group(GroupId([1; 16]))),
    ];
    for change in changes {
        let inbox = inbox();
        twist(&inbox.bo, Topic::Group(inbox.from_alice), change);
        let report = inbox.bo.sync();
        assert_eq!(report.failed.len(), 1);
        assert_eq!((report.failed[0].0, report.failed[0].1.code), (inbox.from_alice, "delivery.invalid"));
        assert_eq!(inbox.bo.texts(inbox.from_carol), ["hello"]);
        assert_eq!(inbox.bo.texts(inbox.from_alice), Vec::<String>::new());
        dump::check(&inbox.bo.store);
        *inbox.bo.gate.twist.borrow_mut() = None;
        inbox.assert_all_read();
    }
}

#[test]
fn a_lie_about_the_welcomes_does_not_keep_conversations_from_being_read() {
    let inbox = inbox();
    let dave = inbox.bo.world.user("dave");
    let from_dave = dave.dm(&inbox.bo);
    dave.sync();
    let topic = Topic::Welcome(inbox.bo.client.installation().0);
    twist(&inbox.bo, topic, |answer| answer.iter_mut().for_each(|one| one.payload.push(0)));
    assert_eq!(inbox.bo.try_sync().unwrap_err().code, "delivery.invalid");
    assert_eq!(inbox.bo.texts(inbox.from_carol), ["hello"]);
    assert_eq!(inbox.bo.conversations().len(), 2);
    *inbox.bo.gate.twist.borrow_mut() = None;
    inbox.assert_all_read();
    assert!(inbox.bo.conversations().iter().any(|one| one.group.id == from_dave));
}

#[test]
fn a_lie_about_an_identity_holds_the_welcome_that_needs_it() {
    let world = World::new(8);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.text(group, "hello");
    alice.sync();
    let topic = Topic::Identity(alice.inbox());
    twist(&bo, topic, |answer| answer.iter_mut().for_each(|one| one.payload.push(0)));
    for _ in 0..2 {
        bo.sync();
        assert!(bo.conversations().is_empty());
        assert_eq!(Dump::of(&bo.store).count(Table::Groups), 0);
    }
    *bo.gate.twist.borrow_mut() = None;
    bo.sync();
    assert_eq!(bo.texts(group), ["hello"]);
    assert_eq!(Dump::of(&bo.store).count(Table::Envelopes), 0);
}

#[test]
fn gmod_014_a_log_the_service_does_not_show_in_full_decides_nothing() {
    let world = World::new(8);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.text(group, "hello");
    alice.sync();
    // An empty answer is not the end of a log: the newest update is known to exist.
    twist(&bo, Topic::Identity(alice.inbox()), Vec::clear);
    assert_eq!(bo.try_sync().unwrap_err().code, "delivery.unavailable");
    assert!(bo.conversations().is_empty());
    *bo.gate.twist.borrow_mut() = None;
    bo.sync();
    assert_eq!(bo.texts(group), ["hello"]);
    // The same for somebody to be written to.
    let carol = world.user("carol");
    twist(&bo, Topic::Identity(carol.inbox()), Vec::clear);
    let made = bo.dm(&carol);
    assert_eq!(bo.try_sync().unwrap_err().code, "delivery.unavailable");
    assert_eq!(bo.conversations().len(), 2, "not taken for an unknown inbox");
    *bo.gate.twist.borrow_mut() = None;
    bo.sync();
    carol.sync();
    assert_eq!(carol.conversations()[0].group.id, made);
}

#[test]
fn late_answers_are_waited_for() {
    let inbox = inbox();
    inbox.bo.delivery.set(|faults| faults.delay_ms = 9_000);
    inbox.bo.text(inbox.from_alice, "slow");
    inbox.bo.sync();
    inbox.bo.delivery.set(|faults| faults.delay_ms = 0);
    inbox.alice.sync();
    assert_eq!(inbox.alice.texts(inbox.from_alice), inbox.bo.texts(inbox.from_alice));
    assert_eq!(inbox.bo.texts(inbox.from_alice), ["one", "two", "slow"]);
}

#[test]
fn a_slow_service_does_not_stop_reading_and_writing() {
    let inbox = inbox();
    inbox.bo.sync();
    inbox.bo.delivery.set(|faults| faults.delay_ms = 60_000);
    let group = inbox.from_alice;
    let before = inbox.bo.world.platform.now_ns();
    let content = dovetail::wire::EncodedContent::text("now").encode();
    let texts = inbox.bo.call(move |client| async move {
        // A sync is under way, and nobody waits for it.
        let sync = client.sync();
        futures::pin_mut!(sync);
        let work = async {
            client.send(group, content, None).await.unwrap();
            client.messages(group, &Default::default()).await.unwrap().len()
        };
        futures::pin_mut!(work);
        match futures::future::select(work, sync).await {
            futures::future::Either::Left((count, _)) => count,
            futures::future::Either::Right(_) => panic!("the sync was first"),
        }
    });
    assert_eq!(texts, 3);
    assert_eq!(inbox.bo.world.platform.now_ns(), before, "no time passed");
}

#[test]
fn a_service_that_fails_at_any_call_gives_a_typed_error_and_loses_nothing() {
    let calls = {
        let inbox = inbox();
        inbox.bo.text(inbox.from_alice, "reply");
        inbox.bo.gate.plan(None);
        inbox.bo.sync();
        inbox.bo.gate.counts().1
    };
    assert!(calls > 2);
    for k in 0..calls {
        let inbox = inbox();
        inbox.bo.text(inbox.from_alice, "reply");
        inbox.bo.gate.plan(Some(Plan::FailCall(k)));
        match inbox.bo.try_sync() {
            Err(error) => assert_eq!(error.code, "delivery.unavailable"),
            Ok(report) => {
                assert!(report.failed.iter().all(|(_, error)| error.code == "delivery.unavailable"))
            }
        }
        dump::check(&inbox.bo.store);
        inbox.bo.gate.plan(None);
        inbox.bo.sync();
        assert_eq!(inbox.bo.texts(inbox.from_alice), ["one", "two", "reply"]);
        inbox.alice.sync();
        assert_eq!(inbox.alice.texts(inbox.from_alice), ["one", "two", "reply"]);
    }
}

#[test]
fn an_answer_of_refusal_to_a_query_is_an_error_too() {
    let inbox = inbox();
    *inbox.bo.gate.twist.borrow_mut() =
        Some(Rc::new(|_, _| Err(DeliveryError::Refused("no service for you".into()))));
    let before = Dump::of(&inbox.bo.store);
    assert_eq!(inbox.bo.try_sync().unwrap_err().code, "delivery.refused");
    assert!(Dump::of(&inbox.bo.store) == before);
    *inbox.bo.gate.twist.borrow_mut() = None;
    inbox.assert_all_read();
}
