//! Signatures: known vectors, encodings, contexts.

use k256::ecdsa::{RecoveryId, Signature as EcSignature, VerifyingKey};
use proptest::prelude::*;

use super::*;

const SECRET: &str = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";

fn secret() -> [u8; 32] {
    hex::decode(SECRET).unwrap().try_into().unwrap()
}

fn installation(seed: &[u8; 32]) -> InstallationId {
    Device(*seed).id()
}

fn signer(address: Address) -> MemberId {
    Identifier::Ethereum(address).into()
}

/// The same signature with the other `s`.
fn flipped(bytes: &[u8; 65]) -> [u8; 65] {
    let signature = EcSignature::from_slice(&bytes[..64]).unwrap();
    let s = -*signature.s();
    let high = EcSignature::from_scalars(signature.r().to_bytes(), s.to_bytes()).unwrap();
    let mut out = *bytes;
    out[..64].copy_from_slice(&high.to_bytes());
    out[64] = if bytes[64] == 27 { 28 } else { 27 };
    out
}

#[test]
fn ident_030_known_personal_signature() {
    let address = address_of(&secret()).unwrap();
    assert_eq!(address.to_string(), "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23");
    let signature = sign_erc191(&secret(), "Some data").unwrap();
    let want = "b91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd\
                6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c";
    assert_eq!(hex::encode(signature), want);
    assert_eq!(Signature::Erc191(signature).check("Some data").unwrap().signer, signer(address));
}

#[test]
fn ident_030_recovery_bytes_0_1_27_28_mean_the_same() {
    let signature = sign_erc191(&secret(), "text").unwrap();
    let plain = Signature::Erc191(signature).check("text").unwrap();
    let mut short = signature;
    short[64] -= 27;
    assert_eq!(Signature::Erc191(short).check("text").unwrap(), plain);
    for other in [2, 3, 26, 29, 255] {
        short[64] = other;
        assert_eq!(Signature::Erc191(short).check("text"), Err(Refusal::BadSignature));
    }
}

#[test]
fn ident_050_a_malleated_signature_has_the_same_replay_key() {
    let signature = sign_erc191(&secret(), "text").unwrap();
    let twin = flipped(&signature);
    assert_ne!(twin, signature);
    let plain = Signature::Erc191(signature).check("text").unwrap();
    assert_eq!(Signature::Erc191(twin).check("text").unwrap(), plain);
}

#[test]
fn ident_030_a_signature_over_other_text_is_not_by_the_account() {
    let signature = Signature::Erc191(sign_erc191(&secret(), "text").unwrap());
    let address = address_of(&secret()).unwrap();
    assert!(signature.check("other").map(|c| c.signer) != Ok(signer(address)));
    assert_eq!(Signature::Erc191([0; 65]).check("text"), Err(Refusal::BadSignature));
    assert_eq!(Signature::Erc191([0xff; 65]).check("text"), Err(Refusal::BadSignature));
}

#[test]
fn ident_030_installations_sign_with_a_context() {
    let (seed, context) = ([7; 32], SigningContext::IdentityUpdate);
    let id = installation(&seed);
    let signature = sign_installation(&seed, context, "text").unwrap();
    assert!(verify_installation(id, context, "text", &signature));
    assert!(!verify_installation(id, context, "other", &signature));
    assert!(!verify_installation(installation(&[8; 32]), context, "text", &signature));
    assert!(!verify_installation(id, SigningContext::App, "text", &signature));
    let for_app = sign_installation(&seed, SigningContext::App, "text").unwrap();
    let forged = Signature::Installation { installation: id, signature: for_app };
    assert_eq!(forged.check("text"), Err(Refusal::BadSignature));
}

#[test]
fn ident_060_account_ids_are_checked_before_any_chain() {
    let wallet = |account_id: &str| Signature::SmartContractWallet {
        account_id: account_id.into(),
        block_number: 1,
        signature: vec![1],
    };
    let upper = "ABCDEF1234567890abcdef123456789012345678";
    let checked = wallet(&format!("eip155:1:0x{upper}")).check("text").unwrap();
    assert_eq!(checked.unproven, Some(SignatureKind::SmartContractWallet));
    assert_eq!(checked.signer, signer(Address::from_app(&format!("0x{upper}")).unwrap()));
    for bad in ["", "eip155", "eip155:1", "eip155::0x", "cosmos:1:0x", "eip155:x:0x"] {
        assert_eq!(wallet(&format!("{bad}{upper}")).check("text"), Err(Refusal::BadSignature), "{bad}");
    }
}

#[test]
fn passkeys_are_read_and_left_unproven() {
    let passkey = Signature::Passkey {
        public_key: vec![4],
        signature: vec![1],
        authenticator_data: vec![2],
        client_data_json: vec![3],
    };
    let checked = passkey.check("text").unwrap();
    assert_eq!(checked.unproven, Some(SignatureKind::Passkey));
    assert_eq!(Signature::from_proto(Some(passkey.to_proto())), Ok(passkey));
}

#[test]
fn unusable_keys_and_answers_are_errors() {
    assert_eq!(address_of(&[0; 32]), Err(IdentityError::BadSecret));
    assert_eq!(sign_erc191(&[0xff; 32], "text"), Err(IdentityError::BadSecret));
    assert_eq!(Signature::from_wallet(&[1; 64]), Err(IdentityError::NotAWalletSignature(64)));
    assert_eq!(Signature::from_proto(None), Err(Refusal::BadSignature));
}

proptest! {
    #[test]
    fn accounts_sign_any_text(secret in any::<[u8; 32]>(), text in ".{0,80}") {
        prop_assume!(address_of(&secret).is_ok());
        let signature = Signature::Erc191(sign_erc191(&secret, &text).unwrap());
        prop_assert_eq!(signature.check(&text).unwrap().signer, signer(address_of(&secret).unwrap()));
    }

    #[test]
    fn ident_030_the_signer_is_whom_recovery_and_verification_find(
        secret in any::<[u8; 32]>(), text in ".{0,20}", change in proptest::option::of((0usize..64, 1u8..)),
        odd: bool,
    ) {
        prop_assume!(address_of(&secret).is_ok());
        let mut bytes = sign_erc191(&secret, &text).unwrap();
        if let Some((at, by)) = change {
            bytes[at] ^= by;
            bytes[64] = 27 + u8::from(odd);
        }
        let given = EcSignature::from_slice(&bytes[..64]).ok();
        let found = given.and_then(|given| {
            let (low, odd) = match given.normalize_s() {
                Some(low) => (low, bytes[64] == 27),
                None => (given, bytes[64] == 28),
            };
            let (hash, id) = (super::super::signature::personal_hash(&text), RecoveryId::new(odd, false));
            VerifyingKey::recover_from_prehash(&hash, &low, id).ok()
        });
        let expected = found.map(|key| signer(super::super::signature::address(&key)));
        prop_assert_eq!(Signature::Erc191(bytes).check(&text).ok().map(|checked| checked.signer), expected);
    }

    #[test]
    fn checking_never_panics(bytes: [u8; 32], v in 0u8..30, text in ".{0,8}") {
        let mut wallet = [v; 65];
        wallet[..32].copy_from_slice(&bytes);
        let _ = Signature::Erc191(wallet).check(&text);
        let _ = verify_installation(InstallationId(bytes), SigningContext::App, &text, &[v; 64]);
    }
}
