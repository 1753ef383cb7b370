//! Inboxes with many installations whose clients nobody runs: an identity log and key packages.

use dovetail::base::{InboxId, Nanos, Topic};
use dovetail::delivery::{Delivery, Outgoing};
use dovetail::identity::{Identifier, Log, Request, address_of, inbox_id, sign_erc191};
use dovetail::mls::{self, InstallationKeys, Scratch};
use dovetail::wire::ClientEnvelope;
use futures::FutureExt;

use super::World;

/// Registers so many more installations of an account; the first of all creates its inbox.
pub fn register(world: &World, secret: &[u8; 32], count: usize) -> InboxId {
    let account = Identifier::Ethereum(address_of(secret).expect("a key"));
    let inbox = inbox_id(&account, 1);
    let mut log = Log::new(inbox);
    for one in world.delivery.stored(Topic::Identity(inbox)) {
        let Ok(ClientEnvelope::IdentityUpdate(update)) = ClientEnvelope::decode(&one.payload) else {
            panic!("no identity update")
        };
        log.push(one.sequence_id, &update).expect("a log");
    }
    for number in 0..count {
        let mut seed = *secret;
        seed[31] ^= 1 + number as u8;
        let keys = InstallationKeys::from_seed(seed);
        let now = Nanos(world.platform.now_ns());
        let request = match log.latest().expect("a state") {
            None => Request::register(account.clone(), 1, keys.id(), now),
            Some(state) => {
                Request::add_installation(state, account.clone(), keys.id(), now).expect("room for it")
            }
        };
        let wallet = sign_erc191(secret, &request.text()).expect("signed");
        let update = request.sign(&wallet, Some(&seed)).expect("an update").encode();
        let package = mls::make_key_package(&Scratch::new(), &keys, inbox, now).expect("a key package");
        let envelopes = [
            (Topic::Identity(inbox), ClientEnvelope::IdentityUpdate(update.clone())),
            (Topic::KeyPackage(keys.id()), ClientEnvelope::KeyPackage(package.bytes)),
        ];
        let outgoing = |(topic, envelope): (Topic, ClientEnvelope)| Outgoing {
            topic,
            payload: envelope.encode(),
            identifiers: vec![],
        };
        let stored = world.delivery.publish(envelopes.map(outgoing).into()).now_or_never();
        let receipts = stored.expect("ready").expect("stored");
        log.push(receipts[0].sequence_id, &update).expect("accepted");
    }
    inbox
}
