//! Noise in a group's topic: repetitions, messages in our name, taken ids, bytes that mean nothing.

use dovetail::base::{Nanos, SequenceId, Topic};
use dovetail::store::rows::{EnvelopeRow, EnvelopeState};
use dovetail::store::{Changes, Store, Table};
use dovetail::wire::{ClientEnvelope, EncodedContent, GroupUpdated, PlaintextV1};
use futures::FutureExt;

use crate::adversary::case;
use crate::common::User;
use crate::common::dump::Dump;
use crate::common::forge::{self, Forger};

#[test]
fn replayed_messages_are_shown_once() {
    let case = case();
    case.alice.text(case.group, "once");
    case.bo.text(case.group, "me too");
    case.sync();
    let stored = case.world.delivery.stored(Topic::Group(case.group));
    for one in &stored {
        // The same MLS message in another envelope: other bytes for the service.
        let data = forge::mls_of(&one.payload);
        let envelope = ClientEnvelope::GroupMessage { data, sender_hmac: vec![9], should_push: true };
        case.mallory.publish_raw(Topic::Group(case.group), envelope.encode());
    }
    case.assert_alive();
    assert_eq!(case.bo.texts(case.group)[..2], ["once", "me too"]);
    // And by the service itself, at positions of their own.
    case.alice.delivery.set(|faults| faults.replays = true);
    case.alice.text(case.group, "twice");
    case.alice.sync();
    case.alice.delivery.set(|faults| faults.replays = false);
    case.assert_alive();
    let texts = case.bo.texts(case.group);
    assert_eq!(texts.iter().filter(|text| *text == "twice").count(), 1);
}

#[test]
fn own_bytes_stored_twice_cost_no_commit() {
    let case = case();
    case.alice.delivery.set(|faults| faults.replays = true);
    for text in ["one", "two", "three"] {
        case.alice.text(case.group, text);
        case.alice.sync();
    }
    case.alice.delivery.set(|faults| faults.replays = false);
    case.sync();
    let row = Dump::of(&case.alice.store).groups().remove(&case.group).unwrap();
    assert_eq!((row.epoch, row.rolled_back), (1, false));
    assert_eq!(case.alice.inspect(case.group).groups[0].rejected, []);
    assert_eq!(case.bo.texts(case.group), ["one", "two", "three"]);
    case.assert_alive();
}

#[test]
fn a_message_in_our_name_stops_sending_until_a_self_update() {
    let case = case();
    let thief = Forger::of(&case.alice);
    let plaintext =
        PlaintextV1 { content: EncodedContent::text("not me").encode(), idempotency_key: "k".into() };
    let receipt = thief.publish(case.group, thief.message(case.group, &plaintext.encode()));
    case.alice.offline(true);
    case.alice.offline(false);
    case.alice
        .call({
            let group = case.group;
            move |client| async move { client.sync_conversation(group).await }
        })
        .unwrap();
    let row = Dump::of(&case.alice.store).groups().remove(&case.group).unwrap();
    assert!(row.rolled_back || row.epoch == 2);
    case.alice.text(case.group, "me");
    case.sync();
    let row = Dump::of(&case.alice.store).groups().remove(&case.group).unwrap();
    assert_eq!((row.rolled_back, row.epoch), (false, 2));
    let rejected = case.alice.inspect(case.group).groups.remove(0).rejected;
    assert_eq!(rejected.iter().map(|(at, ..)| *at).collect::<Vec<_>>(), [receipt.sequence_id]);
    // It was signed with alice's key, so bo cannot tell; what alice sends in the new epoch is read.
    assert_eq!(case.bo.texts(case.group), ["not me", "me"]);
    assert_eq!(case.alice.texts(case.group), ["me"]);
}

#[test]
fn a_database_restored_from_a_backup_goes_on_after_a_self_update() {
    let mut case = case();
    case.alice.text(case.group, "before");
    case.sync();
    let backup = case.alice.store.copy();
    case.alice.text(case.group, "after the backup");
    case.sync();
    case.alice.store = backup;
    case.alice.reopen();
    case.alice.sync();
    case.alice.text(case.group, "after the restore");
    case.sync();
    assert_eq!(case.bo.texts(case.group), ["before", "after the backup", "after the restore"]);
    assert_eq!(case.alice.texts(case.group), ["before", "after the restore"]);
    let row = Dump::of(&case.alice.store).groups().remove(&case.group).unwrap();
    assert_eq!((row.rolled_back, row.epoch), (false, 2));
}

#[test]
fn an_id_taken_by_another_sender_is_refused_and_nothing_is_overwritten() {
    let case = case();
    let (key, content) = ("the key".to_owned(), EncodedContent::text("mine").encode());
    let group = case.group;
    let sent = {
        let content = content.clone();
        let key = key.clone();
        case.alice.call(move |client| async move { client.send(group, content, Some(key)).await }).unwrap()
    };
    case.sync();
    // The same key and content, so the same id, from another inbox; between two others.
    let fine = |text: &str| {
        let content = EncodedContent::text(text).encode();
        case.mallory.message(group, &PlaintextV1 { content, idempotency_key: text.into() }.encode())
    };
    case.mallory.publish(group, fine("one"));
    let copy = case.mallory.message(group, &PlaintextV1 { content, idempotency_key: key }.encode());
    let receipt = case.mallory.publish(group, copy);
    case.mallory.publish(group, fine("two"));
    case.sync();
    let refused = Some("PROC-011".to_owned());
    assert_eq!(case.recorded(receipt.sequence_id), [refused.clone(), refused]);
    for user in [&case.alice, &case.bo] {
        assert_eq!(user.texts(group), ["mine", "one", "two"]);
        let row = user.call(move |client| async move { client.message(sent).await }).unwrap().unwrap();
        assert_eq!(row.sender_inbox, case.alice.inbox());
    }
    // The same sender repeating itself is no new message.
    let again = case.mallory.message(
        group,
        &PlaintextV1 { content: EncodedContent::text("one").encode(), idempotency_key: "one".into() }
            .encode(),
    );
    case.mallory.publish(group, again);
    case.sync();
    assert_eq!(case.alice.texts(group), ["mine", "one", "two"]);
    case.assert_alive();
}

#[test]
fn truncated_and_random_bytes_change_nothing() {
    let case = case();
    let plaintext =
        PlaintextV1 { content: EncodedContent::text("hello").encode(), idempotency_key: "k".into() };
    case.mallory.publish(case.group, case.mallory.message(case.group, &plaintext.encode()));
    case.sync();
    let good = case.world.delivery.stored(Topic::Group(case.group)).last().unwrap().payload.clone();
    let before = [&case.alice, &case.bo].map(|user| Dump::of(&user.store));
    let mut count = 0;
    let mut seed = 1u64;
    let mut publish = |payload: Vec<u8>| {
        case.mallory.publish_raw(Topic::Group(case.group), payload);
        count += 1;
    };
    for cut in (0..good.len()).step_by(11) {
        publish(good[..cut].to_vec());
        let mut flipped = good.clone();
        flipped[cut] ^= 0x11;
        publish(flipped);
        let mut data = forge::mls_of(&good);
        let at = cut % data.len();
        data[at] ^= 0x40;
        publish(ClientEnvelope::GroupMessage { data, sender_hmac: vec![], should_push: false }.encode());
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        publish((0..cut % 90).map(|n| (seed >> (n % 57)) as u8).collect());
    }
    // Envelopes of other kinds, and of another group.
    publish(ClientEnvelope::KeyPackage(vec![1, 2, 3]).encode());
    publish(ClientEnvelope::IdentityUpdate(vec![]).encode());
    case.sync();
    for (user, before) in [&case.alice, &case.bo].into_iter().zip(&before) {
        let apart = [Table::Positions, Table::Envelopes, Table::Groups];
        let after = Dump::of(&user.store);
        let differ = before.clone().without(&apart).differences(&after.clone().without(&apart));
        assert!(differ.is_empty(), "{differ:?}");
        let row = |dump: &Dump| dump.groups().remove(&case.group).unwrap();
        assert!(row(before) == row(&after));
        assert!(after.count(Table::Envelopes) <= count);
    }
    case.assert_alive();
}

#[test]
fn payloads_of_unknown_kinds_are_consumed_and_the_group_goes_on() {
    let case = case();
    for plaintext in [vec![], vec![0xff; 30], vec![0x12, 0x03, 1, 2, 3]] {
        case.mallory.publish(case.group, case.mallory.message(case.group, &plaintext));
    }
    // Content that does not decode keeps its bytes; a transcript type is only a message.
    let odd = PlaintextV1 { content: vec![0xff; 9], idempotency_key: "odd".into() }.encode();
    case.mallory.publish(case.group, case.mallory.message(case.group, &odd));
    let update = GroupUpdated { added: vec![case.alice.inbox()], ..GroupUpdated::by(case.bo.inbox()) };
    let forged = PlaintextV1 {
        content: EncodedContent::group_updated(&update).encode(),
        idempotency_key: "forged".into(),
    };
    case.mallory.publish(case.group, case.mallory.message(case.group, &forged.encode()));
    case.sync();
    for user in [&case.alice, &case.bo] {
        let rows = user.history(case.group, Default::default());
        assert!(rows.iter().all(|row| row.kind == dovetail::store::rows::MessageKind::Application));
    }
    let rows = case.alice.history(case.group, Default::default());
    assert!(rows.iter().any(|row| row.content == vec![0xff; 9]));
    let text = EncodedContent::text("still fine").encode();
    let group = case.group;
    case.alice.call(move |client| async move { client.send(group, text, None).await }).unwrap();
    case.sync();
    assert_eq!(case.bo.history(case.group, Default::default()).len(), rows.len() + 1);
}

#[test]
fn proc_011_of_any_number_of_refused_envelopes_the_newest_are_kept_and_none_is_read_on() {
    let mut case = case();
    let (group, welcomes) = (Topic::Group(case.group), Topic::Welcome(case.bo.client.installation().0));
    let kept = EnvelopeRow::REJECTED as usize;
    let mut places = Vec::new();
    for n in 0..3 * kept as u32 + 10 {
        places.push(case.mallory.publish_raw(group, n.to_be_bytes().to_vec()).sequence_id);
        case.mallory.publish_raw(welcomes, n.to_be_bytes().to_vec());
    }
    case.bo.sync();
    let newest = &places[places.len() - kept..];
    let rejected = |user: &User| -> Vec<SequenceId> {
        user.inspect(case.group).groups[0].rejected.iter().map(|(at, ..)| *at).collect()
    };
    assert_eq!(rejected(&case.bo), newest);
    assert_eq!(Dump::of(&case.bo.store).count(Table::Envelopes), 2 * kept);
    // What is not remembered any more is behind the positions, and stays refused.
    case.bo.reopen();
    let before = Dump::of(&case.bo.store);
    case.bo.store.reset_figures();
    case.bo.sync();
    assert!(case.bo.store.figures().rows < 64, "{:?}", case.bo.store.figures());
    assert!(before == Dump::of(&case.bo.store));
    case.assert_alive();
}

#[test]
fn proc_011_a_welcome_that_waited_and_is_refused_waits_no_more() {
    let case = case();
    let topic = Topic::Welcome(case.bo.client.installation().0);
    let row = |state| EnvelopeRow {
        topic,
        sequence_id: SequenceId(9),
        server_ns: Nanos(0),
        hash: [0; 32],
        payload: b"no Welcome".to_vec(),
        state,
        received_ns: Nanos(0),
    };
    let mut changes = Changes::default();
    changes.put(&row(EnvelopeState::Held("welcome.service".into(), "later".into())));
    case.bo.store.reopen().apply(changes).now_or_never().unwrap().unwrap();
    case.bo.sync();
    let left = Dump::of(&case.bo.store).rows::<EnvelopeRow>();
    assert_eq!(left.len(), 1);
    assert!(matches!(left[0].state, EnvelopeState::Rejected(..)) && left[0].payload.is_empty());
}
