//! Welcomes nothing is known of yet, and bytes that are none: what is refused, what is kept, how long and
//! how much of it; others go on.

use dovetail::base::Topic;
use dovetail::mls;
use dovetail::wire::{ClientEnvelope, WelcomeAlgorithm, WelcomeInput};

use crate::common::dump::{self, Dump};
use crate::common::forge::Forger;
use crate::welcomes::{GROUP, Offer};

#[test]
fn a_welcome_of_broken_bytes_is_refused_and_others_go_on() {
    let offer = Offer::valid(false);
    let forger = Forger::of(&offer.mallory);
    let receipt = offer.deliver();
    let good = offer.bo.world.delivery.stored(offer.topic()).remove(0).payload;
    let before = Dump::of(&offer.bo.store);
    // A service cannot alter bytes unnoticed, but anyone may publish others.
    let mut count = 1;
    for cut in (0..good.len()).step_by(97) {
        forger.publish_raw(offer.topic(), good[..cut].to_vec());
        let mut flipped = good.clone();
        flipped[cut] ^= 0x20;
        forger.publish_raw(offer.topic(), flipped);
        count += 2;
    }
    offer.bo.sync();
    let joined = Dump::of(&offer.bo.store).groups().remove(&GROUP).expect("the good one is joined");
    assert_eq!(joined.anchor, receipt.sequence_id);
    let recorded = offer.recorded();
    assert!(recorded.len() >= count - 4, "{} of {count} recorded", recorded.len());
    assert!(recorded.iter().all(|(state, code)| match *state {
        "rejected" => code == "JOIN",
        // The altered bytes were the name of the key package.
        "held" => code == "welcome.unknown_key_package",
        _ => false,
    }));
    assert_eq!(offer.bo.conversations().len(), 1);
    assert!(before.groups().is_empty());
    dump::check(&offer.bo.store);
}

#[test]
fn a_welcome_for_a_key_package_not_held_is_given_up_after_a_day() {
    let offer = Offer::valid(false);
    let forger = Forger::of(&offer.mallory);
    offer.deliver();
    let good = offer.bo.world.delivery.stored(offer.topic()).remove(0).payload;
    let Ok(ClientEnvelope::Welcome(WelcomeInput::V1 { installation_key, data, algorithm, metadata, .. })) =
        ClientEnvelope::decode(&good)
    else {
        panic!("a Welcome")
    };
    let other =
        WelcomeInput::V1 { installation_key, data, hpke_public_key: vec![3; 32], algorithm, metadata };
    forger.publish_raw(offer.topic(), ClientEnvelope::Welcome(other).encode());
    let code = "welcome.unknown_key_package".to_owned();
    for _ in 0..3 {
        offer.bo.sync();
        assert_eq!(offer.recorded(), [("held", code.clone())]);
        offer.bo.world.settle(8 * 3_600_000 - 1);
    }
    offer.bo.world.settle(3_600_000);
    offer.bo.sync();
    assert_eq!(offer.recorded(), [("rejected", code)]);
}

#[test]
fn welcomes_for_no_key_of_ours_are_kept_up_to_a_number_and_a_size() {
    let offer = Offer::valid(false);
    let forger = Forger::of(&offer.mallory);
    let to = offer.bo.client.installation();
    let send = |n: u8, bytes: usize| {
        let sealed = mls::wrap_welcome(&vec![1; bytes], 1, &[n; 32]).unwrap();
        let input = WelcomeInput::V1 {
            installation_key: to.0,
            data: sealed.data,
            hpke_public_key: vec![n; 32],
            algorithm: WelcomeAlgorithm::Curve25519,
            metadata: sealed.metadata,
        };
        forger.publish_raw(Topic::Welcome(to.0), ClientEnvelope::Welcome(input).encode());
    };
    send(200, 512 * 1024);
    (20..140).for_each(|n| send(n, 100));
    let count = |what: &str| offer.recorded().iter().filter(|(state, _)| *state == what).count();
    for _ in 0..2 {
        offer.bo.sync();
        assert_eq!((count("held"), count("rejected")), (100, 21));
        offer.assert_read();
    }
    // A Welcome for a key we hold is not one of them.
    let fine = offer.carol.dm(&offer.bo);
    offer.carol.sync();
    offer.bo.sync();
    assert_eq!(offer.bo.conversations()[0].group.id, fine);
    offer.bo.world.settle(25 * 60 * 60 * 1_000);
    offer.bo.sync();
    assert_eq!((count("held"), count("rejected")), (0, 121));
    dump::check(&offer.bo.store);
}
