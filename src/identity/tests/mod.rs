//! Rules of updates, replay and requests, on real signatures.

mod register;
mod replay;
mod signature;
mod state;
mod update;

use ed25519_dalek::SigningKey;

use super::*;
use crate::base::{InboxId, InstallationId};

/// An Ethereum account with a key of its own.
#[derive(Clone, Copy)]
struct Wallet([u8; 32]);

impl Wallet {
    fn identifier(&self) -> Identifier {
        Identifier::Ethereum(address_of(&self.0).unwrap())
    }

    fn member(&self) -> MemberId {
        self.identifier().into()
    }

    fn inbox(&self) -> InboxId {
        inbox_id(&self.identifier(), 0)
    }
}

/// An installation with a key of its own.
#[derive(Clone, Copy)]
struct Device([u8; 32]);

impl Device {
    fn id(&self) -> InstallationId {
        InstallationId(SigningKey::from_bytes(&self.0).verifying_key().to_bytes())
    }

    fn member(&self) -> MemberId {
        self.id().into()
    }
}

const OWNER: Wallet = Wallet([1; 32]);
const OTHER: Wallet = Wallet([2; 32]);
const STRANGER: Wallet = Wallet([3; 32]);
const PHONE: Device = Device([11; 32]);
const LAPTOP: Device = Device([12; 32]);
const TABLET: Device = Device([13; 32]);

/// Whose signature an action carries.
#[derive(Clone)]
enum By {
    Wallet(Wallet),
    Device(Device),
    Given(Signature),
}

impl By {
    fn sign(&self, text: &str) -> Signature {
        match self {
            By::Wallet(wallet) => Signature::Erc191(sign_erc191(&wallet.0, text).unwrap()),
            By::Device(device) => Signature::Installation {
                installation: device.id(),
                signature: sign_installation(&device.0, SigningContext::IdentityUpdate, text).unwrap(),
            },
            By::Given(signature) => signature.clone(),
        }
    }
}

/// An action and who signs it: the second signer is the new member of an add.
type Signed = (Change, By, Option<By>);

fn create(wallet: Wallet) -> Signed {
    (Change::CreateInbox { identifier: wallet.identifier(), nonce: 0 }, By::Wallet(wallet), None)
}

fn add_device(device: Device, by: By) -> Signed {
    (Change::Add(device.member()), by, Some(By::Device(device)))
}

fn add_wallet(wallet: Wallet, by: By) -> Signed {
    (Change::Add(wallet.member()), by, Some(By::Wallet(wallet)))
}

fn revoke(member: MemberId, by: Wallet) -> Signed {
    (Change::Revoke(member), By::Wallet(by), None)
}

fn recover(to: Identifier, by: Wallet) -> Signed {
    (Change::ChangeRecovery(to), By::Wallet(by), None)
}

/// An update of the owner's inbox, `second` seconds after the epoch.
fn update(second: u64, signed: &[Signed]) -> IdentityUpdate {
    update_of(OWNER.inbox(), second, signed)
}

fn update_of(inbox: InboxId, second: u64, signed: &[Signed]) -> IdentityUpdate {
    let client_timestamp_ns = second * 1_000_000_000;
    let changes: Vec<Change> = signed.iter().map(|(change, ..)| change.clone()).collect();
    let text = signature_text(inbox, client_timestamp_ns, &changes);
    let action = |(change, by, new): &Signed| {
        let signature = by.sign(&text);
        match change.clone() {
            Change::CreateInbox { identifier, nonce } => Action::CreateInbox { identifier, nonce, signature },
            Change::Add(member) => {
                let new = new.as_ref().unwrap_or(by).sign(&text);
                Action::Add { member, existing: signature, new }
            }
            Change::Revoke(member) => Action::Revoke { member, signature },
            Change::ChangeRecovery(identifier) => Action::ChangeRecovery { identifier, signature },
        }
    };
    IdentityUpdate { inbox, client_timestamp_ns, actions: signed.iter().map(action).collect() }
}

/// The owner's inbox with the phone.
fn registered() -> AssociationState {
    let signed = [create(OWNER), add_device(PHONE, By::Wallet(OWNER))];
    apply(None, &update(1, &signed)).unwrap()
}

fn refusal(state: Option<&AssociationState>, update: &IdentityUpdate) -> Refusal {
    match apply(state, update) {
        Err(IdentityError::Refused(refusal)) => refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
