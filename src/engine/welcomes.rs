//! The Welcomes an applied commit owes (GMOD-018, facts 3.2).
//!
//! Up to two added installations get a Welcome each. Of more, those that can read pointers share
//! one: it is sealed once and stored at a random destination, and each gets a sealed pointer to it.
//! Destination and key are durable before anything leaves, so a repeated request stores the very
//! same shared Welcome. Own Welcomes and pointers are sealed anew; a second one is a repetition to
//! its receiver.
//!
//! An installation whose Welcome the service refuses for good is passed over, so that the others
//! and the group go on; a refused attempt says so.

use crate::base::{InstallationId, Topic, sha256};
use crate::delivery::Outgoing;
use crate::engine::build::Package;
use crate::engine::publish::BATCH_BYTES;
use crate::engine::settle;
use crate::engine::state::GroupCtx;
use crate::engine::unit::Unit;
use crate::error::Error;
use crate::mls::{self, SealedWelcome};
use crate::store::rows::{AttemptRow, Outcome, OwedWelcome, Recipient};
use crate::wire::{ClientEnvelope, WelcomeAlgorithm, WelcomeInput, WelcomePointerV1};

/// Up to so many added installations get a Welcome each.
const UNSHARED: usize = 2;
/// Envelopes of one request.
const BATCH: usize = 250;

/// One envelope of a request.
pub struct Parcel {
    /// Whom it serves; `None` for the shared Welcome.
    pub to: Option<InstallationId>,
    /// What leaves.
    pub outgoing: Outgoing,
}

/// What a commit that adds these installations owes them once it is applied.
pub fn owe(welcome: Vec<u8>, added: &[(InstallationId, &Package)]) -> OwedWelcome {
    let share = added.iter().filter(|(_, package)| package.pointers).count() > UNSHARED;
    let recipient = |(installation, package): &(InstallationId, &Package)| Recipient {
        installation: *installation,
        init_key: package.init_key.clone(),
        pointer: share && package.pointers,
    };
    OwedWelcome {
        anchor: Default::default(),
        welcome,
        recipients: added.iter().map(recipient).collect(),
        pointer: None,
        shared: false,
    }
}

/// True when a shared Welcome is owed and where it goes is not decided yet.
pub fn lacks_pointer(owed: &OwedWelcome) -> bool {
    owed.pointer.is_none() && owed.recipients.iter().any(|recipient| recipient.pointer)
}

/// The next request: the shared Welcome before its pointers, and as much as fits. Empty when all
/// are served.
pub fn next(owed: &OwedWelcome) -> Result<Vec<Parcel>, Error> {
    let pointer = owed.pointer.as_deref().map(WelcomePointerV1::decode).transpose().map_err(Error::bug)?;
    let mut parcels = Vec::new();
    let mut size = 0;
    if let Some(pointer) = pointer.as_ref().filter(|_| !owed.shared) {
        let first = shared_welcome(owed, pointer)?;
        size += first.outgoing.payload.len();
        parcels.push(first);
    }
    for recipient in &owed.recipients {
        if parcels.len() == BATCH {
            break;
        }
        let parcel = match pointer.as_ref().filter(|_| recipient.pointer) {
            Some(pointer) => pointer_to(recipient, pointer)?,
            None => own_welcome(owed, recipient)?,
        };
        size += parcel.outgoing.payload.len();
        if size > BATCH_BYTES && !parcels.is_empty() {
            break;
        }
        parcels.push(parcel);
    }
    Ok(parcels)
}

fn own_welcome(owed: &OwedWelcome, recipient: &Recipient) -> Result<Parcel, Error> {
    let sealed = mls::wrap_welcome(&owed.welcome, owed.anchor.0, &recipient.init_key).map_err(Error::bug)?;
    let key = recipient.init_key.clone();
    let input = inline(recipient.installation.0, sealed, key, WelcomeAlgorithm::Curve25519);
    Ok(parcel(Some(recipient.installation), input))
}

fn shared_welcome(owed: &OwedWelcome, pointer: &WelcomePointerV1) -> Result<Parcel, Error> {
    let sealed = mls::seal_shared_welcome(&owed.welcome, owed.anchor.0, pointer).map_err(Error::bug)?;
    let input = inline(pointer.destination, sealed, Vec::new(), WelcomeAlgorithm::SymmetricKey);
    Ok(parcel(None, input))
}

fn pointer_to(recipient: &Recipient, pointer: &WelcomePointerV1) -> Result<Parcel, Error> {
    let input = WelcomeInput::Pointer {
        installation_key: recipient.installation.0,
        pointer: mls::wrap_pointer(pointer, &recipient.init_key).map_err(Error::bug)?,
        hpke_public_key: recipient.init_key.clone(),
        algorithm: WelcomeAlgorithm::Curve25519,
    };
    Ok(parcel(Some(recipient.installation), input))
}

fn inline(
    installation_key: [u8; 32],
    sealed: SealedWelcome,
    hpke_public_key: Vec<u8>,
    algorithm: WelcomeAlgorithm,
) -> WelcomeInput {
    let SealedWelcome { data, metadata } = sealed;
    WelcomeInput::V1 { installation_key, data, hpke_public_key, algorithm, metadata }
}

fn parcel(to: Option<InstallationId>, input: WelcomeInput) -> Parcel {
    let topic = Topic::Welcome(input.installation_key());
    let payload = ClientEnvelope::Welcome(input).encode();
    Parcel { to, outgoing: Outgoing { topic, payload, identifiers: Vec::new() } }
}

/// Notes what the service stored and what it refused for good; whoever is in either is served. A
/// refused shared Welcome is replaced by one for each.
pub fn answered(ctx: &mut GroupCtx, number: u64, stored: &[Parcel], refused: &[Parcel], unit: &mut Unit) {
    let Some(mut intent) = ctx.intents.get(&number).cloned() else { return };
    let Some(owed) = intent.welcome.as_mut() else { return };
    for parcel in refused {
        match parcel.to {
            Some(installation) => {
                intent.left_out.installations.push(installation);
                ctx.put_attempt(refusal(ctx, number, &parcel.outgoing), unit);
            }
            None => {
                owed.pointer = None;
                owed.recipients.iter_mut().for_each(|recipient| recipient.pointer = false);
            }
        }
    }
    owed.shared |= stored.iter().any(|parcel| parcel.to.is_none());
    let served = |id: InstallationId| stored.iter().chain(refused).any(|parcel| parcel.to == Some(id));
    owed.recipients.retain(|recipient| !served(recipient.installation));
    let done = owed.recipients.is_empty();
    ctx.put_intent(intent, unit);
    if done {
        settle::completed(ctx, number, unit);
    }
    if !refused.is_empty() {
        ctx.announce(unit);
    }
    unit.changes.strict();
}

fn refusal(ctx: &GroupCtx, intent: u64, outgoing: &Outgoing) -> AttemptRow {
    AttemptRow {
        hash: sha256(&outgoing.payload),
        intent,
        group: ctx.row.id,
        topic: outgoing.topic,
        payload: Vec::new(),
        epoch: ctx.row.epoch,
        commit: false,
        outcome: Outcome::Refused,
    }
}

/// Added installations whose Welcome the service refused, as far as that is remembered (a few
/// epochs), with the intent that added them. They are in the group and do not know of it.
pub fn refused(ctx: &GroupCtx) -> Vec<(u64, InstallationId)> {
    let of = |attempt: &AttemptRow| match (attempt.outcome, attempt.topic) {
        (Outcome::Refused, Topic::Welcome(id)) => Some((attempt.intent, InstallationId(id))),
        _ => None,
    };
    ctx.attempts.values().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::SequenceId;
    use crate::wire::AEAD_CHACHA20_POLY1305;

    /// Of 32 bytes, and a point.
    const KEY: [u8; 32] = [9; 32];

    fn owed(welcome: usize, pointers: &[bool]) -> OwedWelcome {
        let package = |pointers: &bool| Package {
            addition: vec![].into(),
            init_key: KEY.to_vec(),
            pointers: *pointers,
        };
        let packages: Vec<Package> = pointers.iter().map(package).collect();
        let id = |at: usize| InstallationId([at as u8; 32]);
        let added: Vec<_> = packages.iter().enumerate().map(|(at, one)| (id(at), one)).collect();
        OwedWelcome { anchor: SequenceId(4), ..owe(vec![7; welcome], &added) }
    }

    fn shared(mut owed: OwedWelcome) -> OwedWelcome {
        let pointer = WelcomePointerV1 {
            destination: [1; 32],
            aead_type: AEAD_CHACHA20_POLY1305,
            encryption_key: [2; 32],
            data_nonce: [3; 12],
            metadata_nonce: [4; 12],
        };
        owed.pointer = Some(pointer.encode());
        owed
    }

    fn pointed(owed: &OwedWelcome) -> Vec<bool> {
        owed.recipients.iter().map(|recipient| recipient.pointer).collect()
    }

    /// Serves everything, request by request: how many envelopes and bytes each had.
    fn requests(mut owed: OwedWelcome) -> Vec<(usize, usize)> {
        let mut requests = Vec::new();
        loop {
            let parcels = next(&owed).unwrap();
            if parcels.is_empty() {
                return requests;
            }
            let size = parcels.iter().map(|parcel| parcel.outgoing.payload.len()).sum();
            requests.push((parcels.len(), size));
            for parcel in parcels {
                match parcel.to {
                    None => owed.shared = true,
                    Some(id) => owed.recipients.retain(|recipient| recipient.installation != id),
                }
            }
        }
    }

    #[test]
    fn gmod_018_only_more_than_two_that_can_read_pointers_get_them() {
        assert_eq!(pointed(&owed(9, &[true; 2])), [false; 2]);
        assert_eq!(pointed(&owed(9, &[true; 3])), [true; 3]);
        assert_eq!(pointed(&owed(9, &[true, false, true])), [false; 3]);
        assert_eq!(pointed(&owed(9, &[true, false, true, true])), [true, false, true, true]);
        assert!(lacks_pointer(&owed(9, &[true; 3])) && !lacks_pointer(&owed(9, &[true; 2])));
        assert!(!lacks_pointer(&shared(owed(9, &[true; 3]))));
    }

    #[test]
    fn gmod_018_the_shared_welcome_leaves_first_and_is_the_same_each_time() {
        let owed = shared(owed(9, &[true, false, true, true]));
        let (first, second) = (next(&owed).unwrap(), next(&owed).unwrap());
        let to: Vec<_> = first.iter().map(|parcel| parcel.to.map(|id| id.0[0])).collect();
        assert_eq!(to, [None, Some(0), Some(1), Some(2), Some(3)]);
        assert!(first[0].outgoing == second[0].outgoing);
        let kind = |parcel: &Parcel| match ClientEnvelope::decode(&parcel.outgoing.payload) {
            Ok(ClientEnvelope::Welcome(WelcomeInput::V1 { algorithm, .. })) => Some(algorithm),
            _ => None,
        };
        let (own, symmetric) = (Some(WelcomeAlgorithm::Curve25519), Some(WelcomeAlgorithm::SymmetricKey));
        assert_eq!(first.iter().map(kind).collect::<Vec<_>>(), [symmetric, None, own, None, None]);
        assert_eq!(first[0].outgoing.topic, Topic::Welcome([1; 32]));
    }

    #[test]
    fn gmod_018_requests_stay_below_the_size_limit() {
        // 100 kB each: seven fit.
        let each = requests(owed(100 * 1024, &[false; 20]));
        assert_eq!(each.iter().map(|(count, _)| *count).collect::<Vec<_>>(), [7, 7, 6]);
        assert!(each.iter().all(|(_, size)| *size <= BATCH_BYTES));
        // A Welcome above the limit leaves alone, and its pointers behind it.
        let large = requests(shared(owed(900 * 1024, &[true; 200])));
        assert_eq!(large.iter().map(|(count, _)| *count).collect::<Vec<_>>(), [1, 200]);
        // Nearly that large: with as many pointers as fit.
        let close = requests(shared(owed(BATCH_BYTES - 1024, &[true; 9])));
        assert!(close[0].0 > 1 && close.iter().all(|(_, size)| *size <= BATCH_BYTES));
        // Many small ones.
        let many = requests(shared(owed(9, &[true; 251])));
        assert_eq!(many.iter().map(|(count, _)| *count).collect::<Vec<_>>(), [250, 2]);
    }

    #[test]
    fn a_shared_welcome_without_its_pointer_is_a_bug_and_never_half_sent() {
        let mut owed = shared(owed(9, &[true; 3]));
        owed.pointer = Some(vec![1, 2, 3]);
        assert_eq!(next(&owed).err().map(|error| error.code), Some("bug.internal"));
    }
}
