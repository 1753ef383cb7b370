//! Pointers to shared Welcomes, received: followed, waited for, refused (JOIN-076, JOIN-079).

use std::rc::Rc;

use dovetail::base::{GroupId, SequenceId, Topic};
use dovetail::delivery::{DeliveryError, Incoming};
use dovetail::mls::facts::RawDictionary;
use dovetail::store::rows::{EnvelopeRow, EnvelopeState};
use dovetail::wire::{ClientEnvelope, WelcomeAlgorithm, WelcomeInput, WelcomePointerV1};

use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger};
use crate::common::gate::payload_is_shared;
use crate::common::{User, World};

const GROUP: GroupId = GroupId([0x77; 16]);
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// alice offers a DM to bo by hand.
struct Offer {
    alice: User,
    bo: User,
    forger: Forger,
    dictionary: RawDictionary,
    pointer: WelcomePointerV1,
}

impl Offer {
    fn new() -> Self {
        let world = World::new(6);
        let (alice, bo) = (world.user("alice"), world.user("bo"));
        let entries = [&alice, &bo].map(|user| (user.inbox(), forge::newest_update(user)));
        let dictionary = forge::dm_dictionary(alice.inbox(), bo.inbox(), &entries);
        let forger = Forger::of(&alice);
        Self { alice, bo, forger, dictionary, pointer: forge::pointer(3) }
    }

    /// A group with bo in it: its Welcome, and where its commit is.
    fn group(&self, id: GroupId) -> (Vec<u8>, SequenceId) {
        self.forger.create(id, &self.dictionary);
        let sealed = self.forger.add(id, &[self.bo.client.installation()]);
        let receipt = self.forger.publish(id, sealed.bytes);
        self.forger.merge(id);
        (sealed.welcome.unwrap(), receipt.sequence_id)
    }

    fn share(&self, (welcome, anchor): &(Vec<u8>, SequenceId)) {
        self.forger.share(welcome, *anchor, &self.pointer);
    }

    fn point(&self) {
        self.forger.point(&self.pointer, self.bo.client.installation());
    }

    fn destination(&self) -> Topic {
        Topic::Welcome(self.pointer.destination)
    }

    fn recorded(&self) -> Vec<(&'static str, String)> {
        let topic = Topic::Welcome(self.bo.client.installation().0);
        let kept = Dump::of(&self.bo.store).rows::<EnvelopeRow>().into_iter();
        kept.filter(|row| row.topic == topic)
            .map(|row| match row.state {
                EnvelopeState::Rejected(id, _) => ("rejected", id),
                EnvelopeState::Held(code, _) => ("held", code),
                EnvelopeState::Pending => ("pending", String::new()),
            })
            .collect()
    }

    fn assert_joined(&self, group: GroupId) {
        assert_eq!(self.recorded(), []);
        let listed: Vec<_> = self.bo.conversations().iter().map(|one| one.group.id).collect();
        assert_eq!(listed, [group]);
        dump::check(&self.bo.store);
    }

    fn assert_refused(&self, id: &str) {
        self.bo.sync();
        assert_eq!(self.recorded(), [("rejected", id.to_owned())]);
        assert!(self.bo.conversations().is_empty());
        dump::check(&self.bo.store);
        // Later Welcomes go on.
        let other = self.alice.world.user("carol");
        other.dm(&self.bo);
        other.sync();
        self.bo.sync();
        assert_eq!(self.bo.conversations().len(), 1);
    }

    /// What bo's service answers about the destination instead.
    fn twist(&self, answer: impl Fn(Vec<Incoming>) -> Result<Vec<Incoming>, DeliveryError> + 'static) {
        let destination = self.destination();
        *self.bo.gate.twist.borrow_mut() =
            Some(Rc::new(move |asked, real| match asked.iter().any(|(topic, _)| *topic == destination) {
                true => answer(real),
                false => Ok(real),
            }));
    }
}

fn held(code: &str) -> [(&'static str, String); 1] {
    [("held", code.to_owned())]
}

#[test]
fn join_079_a_pointer_waits_for_what_it_points_to() {
    let mut offer = Offer::new();
    let group = offer.group(GROUP);
    offer.point();
    for _ in 0..2 {
        offer.bo.sync();
        assert_eq!(offer.recorded(), held("welcome.pointer"));
        offer.bo.reopen();
    }
    assert!(offer.bo.conversations().is_empty());
    // Later ones do not wait for it.
    let carol = offer.alice.world.user("carol");
    let fine = carol.dm(&offer.bo);
    carol.sync();
    offer.bo.sync();
    assert_eq!(offer.bo.conversations()[0].group.id, fine);
    offer.share(&group);
    offer.bo.sync();
    assert_eq!(offer.recorded(), []);
    assert_eq!(offer.bo.conversations().len(), 2);
}

#[test]
fn join_079_a_waiting_pointer_is_tried_again_without_a_sync() {
    let offer = Offer::new();
    let group = offer.group(GROUP);
    offer.point();
    offer.bo.sync();
    offer.bo.world.settle(6 * MINUTE);
    assert_eq!(offer.recorded(), held("welcome.pointer"));
    offer.share(&group);
    offer.bo.world.settle(9 * MINUTE);
    offer.assert_joined(GROUP);
}

#[test]
fn join_079_a_pointer_to_nothing_is_given_up_after_three_days() {
    let offer = Offer::new();
    let group = offer.group(GROUP);
    offer.point();
    offer.bo.sync();
    offer.bo.world.settle(3 * DAY - MINUTE);
    offer.bo.sync();
    assert_eq!(offer.recorded(), held("welcome.pointer"));
    offer.bo.world.settle(2 * MINUTE);
    offer.bo.sync();
    assert_eq!(offer.recorded(), [("rejected", "welcome.pointer".to_owned())]);
    offer.share(&group);
    offer.bo.sync();
    assert!(offer.bo.conversations().is_empty());
}

#[test]
fn join_079_a_service_that_does_not_answer_ends_no_pointer() {
    let offer = Offer::new();
    let group = offer.group(GROUP);
    offer.point();
    offer.share(&group);
    offer.twist(|_| Err(DeliveryError::Unavailable("down".into())));
    assert_eq!(offer.bo.try_sync().unwrap_err().code, "delivery.unavailable");
    assert_eq!(offer.recorded(), held("welcome.service"));
    offer.bo.world.settle(4 * DAY);
    assert_eq!(offer.bo.try_sync().unwrap_err().code, "delivery.unavailable");
    assert_eq!(offer.recorded(), held("welcome.service"));
    *offer.bo.gate.twist.borrow_mut() = None;
    offer.bo.sync();
    offer.assert_joined(GROUP);
}

#[test]
fn join_079_what_does_not_open_is_passed_over() {
    for garbage in [1, 3, 4, 9] {
        let offer = Offer::new();
        let (welcome, anchor) = offer.group(GROUP);
        let other = WelcomePointerV1 { encryption_key: [1; 32], ..offer.pointer.clone() };
        for n in 0..garbage {
            match n % 3 {
                0 => offer.forger.publish_raw(offer.destination(), vec![n; 40]),
                1 => offer.forger.share(&welcome, anchor, &other),
                _ => offer.forger.publish_raw(
                    offer.destination(),
                    offer.forger.pointer_to(
                        &offer.pointer,
                        offer.bo.client.installation(),
                        WelcomeAlgorithm::Curve25519,
                    ),
                ),
            };
        }
        offer.share(&(welcome, anchor));
        offer.point();
        offer.bo.sync();
        offer.assert_joined(GROUP);
    }
}

#[test]
fn join_079_an_answer_cut_short_is_not_the_end() {
    let offer = Offer::new();
    let group = offer.group(GROUP);
    offer.forger.publish_raw(offer.destination(), vec![7; 40]);
    offer.share(&group);
    offer.point();
    offer.twist(|answer| Ok(answer.into_iter().filter(|one| !payload_is_shared(&one.payload)).collect()));
    assert!(offer.bo.try_sync().is_err());
    assert_eq!(offer.recorded(), held("welcome.service"));
    *offer.bo.gate.twist.borrow_mut() = None;
    offer.bo.sync();
    offer.assert_joined(GROUP);
}

#[test]
fn join_079_the_first_that_opens_is_the_welcome() {
    // Everyone who was sent the pointer could publish another one behind it.
    let offer = Offer::new();
    let (first, second) = (offer.group(GROUP), offer.group(GroupId([0x78; 16])));
    offer.share(&first);
    offer.share(&second);
    offer.point();
    offer.bo.sync();
    offer.assert_joined(GROUP);
}

#[test]
fn a_pointer_whose_target_does_not_open_is_refused() {
    // Nothing but garbage.
    let offer = Offer::new();
    offer.forger.publish_raw(offer.destination(), vec![7; 40]);
    offer.point();
    offer.assert_refused("JOIN");
    // Sealed under another key.
    let offer = Offer::new();
    let (welcome, anchor) = offer.group(GROUP);
    let other = WelcomePointerV1 { encryption_key: [1; 32], ..offer.pointer.clone() };
    offer.forger.share(&welcome, anchor, &other);
    offer.point();
    offer.assert_refused("JOIN");
    // Sealed as it should be, and no Welcome inside.
    let offer = Offer::new();
    offer.forger.share(b"no Welcome", SequenceId(1), &offer.pointer);
    offer.point();
    offer.assert_refused("JOIN");
    // More garbage than anyone would read.
    let offer = Offer::new();
    let group = offer.group(GROUP);
    for n in 0..64 {
        offer.forger.publish_raw(offer.destination(), vec![n; 40]);
    }
    offer.share(&group);
    offer.point();
    offer.assert_refused("JOIN");
}

#[test]
fn a_pointer_that_is_none_is_refused() {
    let offer = Offer::new();
    let to = offer.bo.client.installation();
    let good = offer.forger.pointer_to(&offer.pointer, to, WelcomeAlgorithm::Curve25519);
    let Ok(ClientEnvelope::Welcome(WelcomeInput::Pointer { pointer, hpke_public_key, .. })) =
        ClientEnvelope::decode(&good)
    else {
        panic!("a pointer")
    };
    let mut flipped = pointer.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for pointer in [Vec::new(), pointer[..40].to_vec(), flipped] {
        let input = WelcomeInput::Pointer {
            installation_key: to.0,
            pointer,
            hpke_public_key: hpke_public_key.clone(),
            algorithm: WelcomeAlgorithm::Curve25519,
        };
        offer.forger.publish_raw(Topic::Welcome(to.0), ClientEnvelope::Welcome(input).encode());
    }
    offer.bo.sync();
    assert_eq!(offer.recorded(), vec![("rejected", "JOIN".to_owned()); 3]);
}

#[test]
fn join_076_another_wrapping_or_cipher_than_offered_is_refused() {
    use WelcomeAlgorithm::{SymmetricKey, Unknown, XWingMlKem768Draft6};
    for algorithm in [Unknown(0), XWingMlKem768Draft6, SymmetricKey, Unknown(9)] {
        let offer = Offer::new();
        let group = offer.group(GROUP);
        offer.share(&group);
        let to = offer.bo.client.installation();
        let pointer = offer.forger.pointer_to(&offer.pointer, to, algorithm);
        offer.forger.publish_raw(Topic::Welcome(to.0), pointer);
        offer.assert_refused("JOIN-076");
    }
    let mut offer = Offer::new();
    let group = offer.group(GROUP);
    offer.share(&group);
    offer.pointer.aead_type = 1;
    offer.point();
    offer.assert_refused("JOIN-076");
    // A Welcome of its own, said to be wrapped otherwise.
    let offer = Offer::new();
    let (welcome, anchor) = offer.group(GROUP);
    let to = offer.bo.client.installation();
    let receipt = offer.forger.invite(&welcome, anchor, to);
    let good = offer.alice.world.delivery.stored(Topic::Welcome(to.0)).remove(0);
    assert_eq!(good.sequence_id, receipt.sequence_id);
    let Ok(ClientEnvelope::Welcome(WelcomeInput::V1 {
        installation_key,
        data,
        hpke_public_key,
        metadata,
        ..
    })) = ClientEnvelope::decode(&good.payload)
    else {
        panic!("a Welcome")
    };
    let algorithm = XWingMlKem768Draft6;
    let input = WelcomeInput::V1 { installation_key, data, hpke_public_key, algorithm, metadata };
    offer.forger.publish_raw(Topic::Welcome(to.0), ClientEnvelope::Welcome(input).encode());
    offer.bo.sync();
    assert_eq!(offer.recorded(), [("rejected", "JOIN-076".to_owned())]);
    assert_eq!(offer.bo.conversations().len(), 1);
}

#[test]
fn join_077_a_pointer_for_a_key_package_not_held_waits_a_day() {
    let offer = Offer::new();
    let to = offer.bo.client.installation();
    let good = offer.forger.pointer_to(&offer.pointer, to, WelcomeAlgorithm::Curve25519);
    let Ok(ClientEnvelope::Welcome(WelcomeInput::Pointer { installation_key, pointer, algorithm, .. })) =
        ClientEnvelope::decode(&good)
    else {
        panic!("a pointer")
    };
    let input = WelcomeInput::Pointer { installation_key, pointer, hpke_public_key: vec![3; 32], algorithm };
    offer.forger.publish_raw(Topic::Welcome(to.0), ClientEnvelope::Welcome(input).encode());
    offer.bo.sync();
    assert_eq!(offer.recorded(), held("welcome.unknown_key_package"));
    offer.bo.world.settle(DAY + MINUTE);
    offer.bo.sync();
    assert_eq!(offer.recorded(), [("rejected", "welcome.unknown_key_package".to_owned())]);
}
