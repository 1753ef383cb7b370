//! Requests: built, signed, and noticed when they would not hold.

use super::*;
use crate::base::Nanos;

const AT: Nanos = Nanos(1_712_750_400_000_000_000);

fn wallet_signature(request: &Request, wallet: Wallet) -> [u8; 65] {
    sign_erc191(&wallet.0, &request.text()).unwrap()
}

fn finish(request: &Request, wallet: Wallet, device: Device) -> Result<IdentityUpdate, IdentityError> {
    request.sign(&wallet_signature(request, wallet), Some(&device.0))
}

/// An inbox with `count` installations.
fn with_devices(count: u8) -> AssociationState {
    let mut signed = vec![create(OWNER)];
    signed.extend((0..count).map(|n| add_device(Device([100 + n; 32]), By::Wallet(OWNER))));
    apply(None, &update(1, &signed)).unwrap()
}

#[test]
fn registration_creates_the_inbox_with_its_installation() {
    let request = Request::register(OWNER.identifier(), 0, PHONE.id(), AT);
    assert_eq!((request.inbox(), request.signer()), (OWNER.inbox(), &OWNER.identifier()));
    assert!(request.text().contains("Current time: 2024-04-10T12:00:00Z\n\n- Create inbox\n"));
    let update = finish(&request, OWNER, PHONE).unwrap();
    assert_eq!(update.signature_text(), request.text());
    let state = apply(None, &IdentityUpdate::decode(&update.encode()).unwrap()).unwrap();
    assert_eq!((state.inbox, state.installations()), (OWNER.inbox(), [PHONE.id()].into()));
    let other = Request::register(OWNER.identifier(), 1, PHONE.id(), AT);
    assert_ne!(other.inbox(), request.inbox());
}

#[test]
fn another_account_or_installation_is_noticed() {
    let request = Request::register(OWNER.identifier(), 0, PHONE.id(), AT);
    let wrong = IdentityError::WrongAccount(OWNER.identifier());
    assert_eq!(finish(&request, STRANGER, PHONE), Err(wrong.clone()));
    assert_eq!(request.sign(&[0; 65], Some(&PHONE.0)), Err(wrong));
    assert_eq!(request.sign(&[1; 96], None), Err(IdentityError::NotAWalletSignature(96)));
    let other_key = Err(IdentityError::Refused(Refusal::BadSignature));
    assert_eq!(finish(&request, OWNER, LAPTOP), other_key);
}

#[test]
fn an_installation_joins_an_inbox_by_account_or_recovery() {
    let state = registered();
    let request = Request::add_installation(&state, OWNER.identifier(), LAPTOP.id(), AT).unwrap();
    let next = apply(Some(&state), &finish(&request, OWNER, LAPTOP).unwrap()).unwrap();
    assert_eq!(next.installations(), [PHONE.id(), LAPTOP.id()].into());
    let account_gone = apply(Some(&state), &update(2, &[revoke(OWNER.member(), OWNER)])).unwrap();
    let by_recovery = Request::add_installation(&account_gone, OWNER.identifier(), LAPTOP.id(), AT).unwrap();
    assert!(finish(&by_recovery, OWNER, LAPTOP).is_ok());
}

#[test]
fn an_installation_is_not_added_twice_or_by_a_stranger() {
    let state = registered();
    let again = Request::add_installation(&state, OWNER.identifier(), PHONE.id(), AT);
    assert_eq!(again.err(), Some(IdentityError::AlreadyRegistered));
    let stranger = Request::add_installation(&state, STRANGER.identifier(), LAPTOP.id(), AT);
    assert_eq!(stranger.err(), Some(IdentityError::NotAuthorised));
}

#[test]
fn the_eleventh_installation_does_not_register_until_one_is_revoked() {
    let full = with_devices(10);
    let eleventh = Request::add_installation(&full, OWNER.identifier(), LAPTOP.id(), AT);
    assert_eq!(eleventh.err(), Some(IdentityError::TooManyInstallations(OWNER.inbox())));
    let oldest = *full.installations().first().unwrap();
    let request = Request::revoke(&full, &[oldest.into()], AT).unwrap();
    let nine = apply(Some(&full), &finish(&request, OWNER, LAPTOP).unwrap()).unwrap();
    assert!(Request::add_installation(&nine, OWNER.identifier(), LAPTOP.id(), AT).is_ok());
}

#[test]
fn a_log_in_which_two_devices_raced_past_the_ceiling_still_counts() {
    let full = with_devices(10);
    let raced = apply(Some(&full), &update(2, &[add_device(LAPTOP, By::Wallet(OWNER))])).unwrap();
    assert_eq!(raced.installations().len(), 11);
}

#[test]
fn revocation_is_signed_by_recovery_and_covers_all_named() {
    let state = with_devices(3);
    let all: Vec<MemberId> = state.installations().into_iter().map(MemberId::from).collect();
    let request = Request::revoke(&state, &all[1..], AT).unwrap();
    assert_eq!(request.signer(), &OWNER.identifier());
    let next = apply(Some(&state), &finish(&request, OWNER, LAPTOP).unwrap()).unwrap();
    assert_eq!(next.installations().len(), 1);
    assert_eq!(finish(&request, OTHER, LAPTOP), Err(IdentityError::WrongAccount(OWNER.identifier())));
}

#[test]
fn revoking_nobody_or_a_stranger_is_an_error() {
    let state = registered();
    for members in [vec![], vec![LAPTOP.member()], vec![PHONE.member(), OTHER.member()]] {
        assert_eq!(Request::revoke(&state, &members, AT).err(), Some(IdentityError::NothingToRevoke));
    }
}

#[test]
fn recovery_changes_hands() {
    let state = registered();
    let request = Request::change_recovery(&state, OTHER.identifier(), AT);
    let next = apply(Some(&state), &finish(&request, OWNER, PHONE).unwrap()).unwrap();
    assert_eq!(next.recovery, OTHER.identifier());
    assert_eq!(Request::revoke(&next, &[PHONE.member()], AT).unwrap().signer(), &OTHER.identifier());
}
