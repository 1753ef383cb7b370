//! Every replay rule, kept and broken.

use super::*;

fn owner() -> By {
    By::Wallet(OWNER)
}

fn contract_wallet(wallet: Wallet) -> By {
    By::Given(Signature::SmartContractWallet {
        account_id: format!("eip155:1:{}", wallet.identifier()),
        block_number: 1,
        signature: vec![1, 2, 3],
    })
}

fn passkey() -> (Identifier, By) {
    let signature = Signature::Passkey {
        public_key: vec![4; 33],
        signature: vec![1],
        authenticator_data: vec![2],
        client_data_json: vec![3],
    };
    (Identifier::Passkey(vec![4; 33]), By::Given(signature))
}

#[test]
fn ident_012_creation_makes_the_first_member_and_recovery() {
    let state = apply(None, &update(1, &[create(OWNER)])).unwrap();
    assert_eq!(state.inbox, OWNER.inbox());
    assert_eq!(state.recovery, OWNER.identifier());
    assert_eq!(state.identifiers(), [OWNER.identifier()].into());
    assert_eq!(state.installations(), [].into());
}

#[test]
fn ident_012_only_the_identifier_itself_creates() {
    let change = Change::CreateInbox { identifier: OWNER.identifier(), nonce: 0 };
    for by in [By::Wallet(STRANGER), By::Device(PHONE)] {
        let forged = update(1, &[(change.clone(), by, None)]);
        assert_eq!(refusal(None, &forged), Refusal::WrongSigner);
    }
}

#[test]
fn ident_011_creation_comes_first_and_once() {
    let state = registered();
    assert_eq!(refusal(Some(&state), &update(2, &[create(OWNER)])), Refusal::AlreadyCreated);
    let twice = update(1, &[create(OWNER), create(OWNER)]);
    assert_eq!(refusal(None, &twice), Refusal::AlreadyCreated);
    let before: [Signed; 3] =
        [add_device(PHONE, owner()), revoke(PHONE.member(), OWNER), recover(OTHER.identifier(), OWNER)];
    for signed in before {
        assert_eq!(refusal(None, &update(1, &[signed])), Refusal::NotCreated);
    }
}

#[test]
fn ident_003_an_update_names_its_inbox() {
    let wrong = update_of(OTHER.inbox(), 1, &[create(OWNER)]);
    assert_eq!(refusal(None, &wrong), Refusal::WrongInbox);
    let state = registered();
    let wrong = update_of(OTHER.inbox(), 2, &[add_device(LAPTOP, owner())]);
    assert_eq!(refusal(Some(&state), &wrong), Refusal::WrongInbox);
    let other_nonce = Change::CreateInbox { identifier: OWNER.identifier(), nonce: 1 };
    assert_eq!(refusal(None, &update(1, &[(other_nonce, owner(), None)])), Refusal::WrongInbox);
}

#[test]
fn ident_001_an_empty_update_is_refused() {
    assert_eq!(refusal(None, &update(1, &[])), Refusal::Empty);
    assert_eq!(refusal(Some(&registered()), &update(2, &[])), Refusal::Empty);
}

#[test]
fn ident_002_one_bad_action_refuses_the_whole_update() {
    let state = registered();
    let before = state.clone();
    let half = update(2, &[add_device(LAPTOP, owner()), revoke(PHONE.member(), STRANGER)]);
    assert_eq!(refusal(Some(&state), &half), Refusal::NotRecovery);
    assert_eq!(state, before);
}

#[test]
fn ident_042_an_add_records_adder_and_time() {
    let state = registered();
    let next = apply(Some(&state), &update(5, &[add_device(LAPTOP, owner())])).unwrap();
    let entry = &next.members[&LAPTOP.member()];
    assert_eq!(entry.added_by, Some(OWNER.member()));
    assert_eq!(entry.client_timestamp_ns, 5_000_000_000);
    assert_eq!(next.installations(), [PHONE.id(), LAPTOP.id()].into());
    assert!(next.has_installation(LAPTOP.id()) && next.has_identifier(&OWNER.identifier()));
}

#[test]
fn ident_040_both_sides_sign_an_add() {
    let state = registered();
    let laptop = || Change::Add(LAPTOP.member());
    let by_stranger = (laptop(), By::Wallet(STRANGER), Some(By::Device(LAPTOP)));
    assert_eq!(refusal(Some(&state), &update(2, &[by_stranger])), Refusal::NotMember);
    let not_by_new = (laptop(), owner(), Some(By::Device(TABLET)));
    assert_eq!(refusal(Some(&state), &update(2, &[not_by_new])), Refusal::WrongSigner);
    let owner_twice = (laptop(), owner(), Some(owner()));
    assert_eq!(refusal(Some(&state), &update(2, &[owner_twice])), Refusal::WrongSigner);
}

#[test]
fn ident_040_nobody_adds_itself_or_a_member() {
    let state = registered();
    let itself = add_wallet(OWNER, owner());
    assert_eq!(refusal(Some(&state), &update(2, &[itself])), Refusal::AddsItself);
    let again = add_device(PHONE, owner());
    assert_eq!(refusal(Some(&state), &update(2, &[again])), Refusal::AlreadyMember);
    let removed = [revoke(OWNER.member(), OWNER)];
    let without = apply(Some(&state), &update(2, &removed)).unwrap();
    let back = add_wallet(OWNER, owner());
    assert_eq!(refusal(Some(&without), &update(3, &[back])), Refusal::AddsItself);
}

#[test]
fn ident_040_the_recovery_identifier_adds_without_being_a_member() {
    let state = apply(Some(&registered()), &update(2, &[revoke(OWNER.member(), OWNER)])).unwrap();
    assert_eq!(state.identifiers(), [].into());
    assert_eq!(state.recovery, OWNER.identifier());
    let next = apply(Some(&state), &update(3, &[add_device(LAPTOP, owner())])).unwrap();
    assert_eq!(next.installations(), [LAPTOP.id()].into());
}

#[test]
fn ident_041_an_installation_adds_accounts_and_no_installations() {
    let state = registered();
    let device = add_device(LAPTOP, By::Device(PHONE));
    assert_eq!(refusal(Some(&state), &update(2, &[device])), Refusal::InstallationAddsInstallation);
    let account = add_wallet(OTHER, By::Device(PHONE));
    let next = apply(Some(&state), &update(2, &[account])).unwrap();
    assert_eq!(next.members[&OTHER.member()].added_by, Some(PHONE.member()));
    let by_other = add_device(LAPTOP, By::Wallet(OTHER));
    assert!(apply(Some(&next), &update(3, &[by_other])).is_ok());
}

#[test]
fn ident_043_only_the_recovery_identifier_revokes() {
    let both = apply(Some(&registered()), &update(2, &[add_wallet(OTHER, owner())])).unwrap();
    for by in [By::Wallet(OTHER), By::Wallet(STRANGER), By::Device(PHONE)] {
        let signed = (Change::Revoke(PHONE.member()), by, None);
        assert_eq!(refusal(Some(&both), &update(3, &[signed])), Refusal::NotRecovery);
    }
    let next = apply(Some(&both), &update(3, &[revoke(PHONE.member(), OWNER)])).unwrap();
    assert_eq!(next.installations(), [].into());
    assert_eq!(next.identifiers(), [OWNER.identifier(), OTHER.identifier()].into());
}

#[test]
fn ident_044_revocation_takes_the_installations_the_member_added() {
    let signed = [add_wallet(OTHER, owner()), add_device(LAPTOP, By::Wallet(OTHER))];
    let state = apply(Some(&registered()), &update(2, &signed)).unwrap();
    let tablet = [add_device(TABLET, owner()), add_wallet(STRANGER, By::Wallet(OTHER))];
    let state = apply(Some(&state), &update(3, &tablet)).unwrap();
    let next = apply(Some(&state), &update(4, &[revoke(OTHER.member(), OWNER)])).unwrap();
    assert_eq!(next.installations(), [PHONE.id(), TABLET.id()].into());
    // An account stays although its adder went.
    assert_eq!(next.identifiers(), [OWNER.identifier(), STRANGER.identifier()].into());
}

#[test]
fn ident_044_revoking_a_non_member_takes_what_it_added() {
    let state = apply(Some(&registered()), &update(2, &[revoke(OWNER.member(), OWNER)])).unwrap();
    assert_eq!(state.installations(), [].into());
    let state = apply(Some(&state), &update(3, &[add_device(LAPTOP, owner())])).unwrap();
    let next = apply(Some(&state), &update(4, &[revoke(OWNER.member(), OWNER)])).unwrap();
    assert_eq!(next.installations(), [].into());
    assert_eq!(next.recovery, OWNER.identifier());
}

#[test]
fn ident_045_recovery_is_handed_on_by_its_holder_alone() {
    let state = registered();
    let stolen = recover(STRANGER.identifier(), STRANGER);
    assert_eq!(refusal(Some(&state), &update(2, &[stolen])), Refusal::NotRecovery);
    let next = apply(Some(&state), &update(2, &[recover(OTHER.identifier(), OWNER)])).unwrap();
    assert_eq!(next.recovery, OTHER.identifier());
    assert_eq!(next.members, state.members);
    let old = revoke(PHONE.member(), OWNER);
    assert_eq!(refusal(Some(&next), &update(3, &[old])), Refusal::NotRecovery);
    assert!(apply(Some(&next), &update(3, &[revoke(PHONE.member(), OTHER)])).is_ok());
}

#[test]
fn ident_050_a_signature_is_used_once() {
    let add = update(2, &[add_device(LAPTOP, owner())]);
    let state = apply(Some(&registered()), &add).unwrap();
    let state = apply(Some(&state), &update(3, &[revoke(LAPTOP.member(), OWNER)])).unwrap();
    assert_eq!(refusal(Some(&state), &add), Refusal::Replayed);
    // Signed anew it is fine.
    assert!(apply(Some(&state), &update(4, &[add_device(LAPTOP, owner())])).is_ok());
}

#[test]
fn ident_050_a_re_encoded_signature_is_no_new_one() {
    let signed = [add_device(LAPTOP, owner())];
    let mut add = update(2, &signed);
    let state = apply(Some(&registered()), &add).unwrap();
    let state = apply(Some(&state), &update(3, &[revoke(LAPTOP.member(), OWNER)])).unwrap();
    let Action::Add { existing: Signature::Erc191(bytes), .. } = &mut add.actions[0] else {
        panic!("an add");
    };
    bytes[64] -= 27;
    assert_eq!(refusal(Some(&state), &add), Refusal::Replayed);
}

#[test]
fn ident_020_signatures_cover_every_action_of_their_update() {
    let mut tampered = update(2, &[add_device(LAPTOP, owner())]);
    tampered.client_timestamp_ns += 1_000_000_000;
    assert_eq!(refusal(Some(&registered()), &tampered), Refusal::BadSignature);
    let mut swapped = update(2, &[add_device(LAPTOP, owner()), add_wallet(OTHER, owner())]);
    swapped.actions.swap(0, 1);
    assert!(matches!(apply(Some(&registered()), &swapped), Err(IdentityError::Refused(_))));
}

#[test]
fn ident_046_a_contract_wallet_at_a_members_address_is_someone_else() {
    let state = registered();
    let add = (Change::Add(LAPTOP.member()), contract_wallet(OWNER), Some(By::Device(LAPTOP)));
    assert_eq!(refusal(Some(&state), &update(2, &[add])), Refusal::OtherChain);
    for change in [Change::Revoke(PHONE.member()), Change::ChangeRecovery(OTHER.identifier())] {
        let signed = (change, contract_wallet(OWNER), None);
        assert_eq!(refusal(Some(&state), &update(2, &[signed])), Refusal::OtherChain);
    }
}

#[test]
fn ident_061_an_unverifiable_signature_is_not_a_refusal() {
    let state = registered();
    let wallet = IdentityError::Unsupported(SignatureKind::SmartContractWallet);
    let key = IdentityError::Unsupported(SignatureKind::Passkey);
    let created =
        (Change::CreateInbox { identifier: OWNER.identifier(), nonce: 0 }, contract_wallet(OWNER), None);
    assert_eq!(apply(None, &update(1, &[created])), Err(wallet.clone()));
    let added = (Change::Add(OTHER.member()), owner(), Some(contract_wallet(OTHER)));
    assert_eq!(apply(Some(&state), &update(2, &[added])), Err(wallet));
    let (identifier, by) = passkey();
    let added = (Change::Add(identifier.clone().into()), owner(), Some(by.clone()));
    assert_eq!(apply(Some(&state), &update(2, &[added])), Err(key.clone()));
    let handed = apply(Some(&state), &update(2, &[recover(identifier, OWNER)])).unwrap();
    let revoked = (Change::Revoke(PHONE.member()), by, None);
    assert_eq!(apply(Some(&handed), &update(3, &[revoked])), Err(key));
}

#[test]
fn ident_061_an_unverifiable_signature_does_not_excuse_a_broken_rule() {
    let state = registered();
    let (identifier, by) = passkey();
    let stranger = (Change::Add(identifier.clone().into()), By::Wallet(STRANGER), Some(by.clone()));
    assert_eq!(refusal(Some(&state), &update(2, &[stranger])), Refusal::NotMember);
    let revoked = (Change::Revoke(PHONE.member()), by.clone(), None);
    assert_eq!(refusal(Some(&state), &update(2, &[revoked])), Refusal::NotRecovery);
    let added = (Change::Add(identifier.into()), owner(), Some(by));
    let later = update(2, &[added, revoke(PHONE.member(), STRANGER)]);
    assert_eq!(refusal(Some(&state), &later), Refusal::NotRecovery);
}
