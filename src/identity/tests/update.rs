//! The wire form of updates: round trips, strictness, tampering.

use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::wire::proto;

fn any_signature() -> impl Strategy<Value = Signature> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..12);
    prop_oneof![
        (any::<[u8; 32]>(), any::<[u8; 32]>(), any::<u8>()).prop_map(|(r, s, v)| {
            let mut bytes = [v; 65];
            bytes[..32].copy_from_slice(&r);
            bytes[32..64].copy_from_slice(&s);
            Signature::Erc191(bytes)
        }),
        ("[a-z0-9:]{0,12}", any::<u64>(), bytes()).prop_map(|(account_id, block_number, signature)| {
            Signature::SmartContractWallet { account_id, block_number, signature }
        }),
        (any::<[u8; 32]>(), any::<u8>()).prop_map(|(key, byte)| {
            Signature::Installation { installation: InstallationId(key), signature: [byte; 64] }
        }),
        (bytes(), bytes(), bytes(), bytes()).prop_map(
            |(public_key, signature, authenticator_data, client_data_json)| Signature::Passkey {
                public_key,
                signature,
                authenticator_data,
                client_data_json,
            }
        ),
    ]
}

fn any_identifier() -> impl Strategy<Value = Identifier> {
    prop_oneof![
        any::<[u8; 20]>().prop_map(|bytes| Identifier::Ethereum(Address(bytes))),
        proptest::collection::vec(any::<u8>(), 0..34).prop_map(Identifier::Passkey),
    ]
}

fn any_member() -> impl Strategy<Value = MemberId> {
    prop_oneof![
        any_identifier().prop_map(MemberId::Account),
        any::<[u8; 32]>().prop_map(|key| MemberId::Installation(InstallationId(key))),
    ]
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (any_identifier(), any::<u64>(), any_signature())
            .prop_map(|(identifier, nonce, signature)| Action::CreateInbox { identifier, nonce, signature }),
        (any_member(), any_signature(), any_signature()).prop_map(|(member, existing, new)| Action::Add {
            member,
            existing,
            new
        }),
        (any_member(), any_signature()).prop_map(|(member, signature)| Action::Revoke { member, signature }),
        (any_identifier(), any_signature())
            .prop_map(|(identifier, signature)| Action::ChangeRecovery { identifier, signature }),
    ]
}

fn any_update() -> impl Strategy<Value = IdentityUpdate> {
    (any::<[u8; 32]>(), any::<u64>(), proptest::collection::vec(any_action(), 0..4)).prop_map(
        |(inbox, client_timestamp_ns, actions)| IdentityUpdate {
            inbox: InboxId(inbox),
            client_timestamp_ns,
            actions,
        },
    )
}

proptest! {
    #[test]
    fn ident_001_updates_round_trip(update in any_update()) {
        prop_assert_eq!(IdentityUpdate::decode(&update.encode()), Ok(update));
    }

    #[test]
    fn decoding_and_applying_never_panic(
        update in any_update(),
        noise in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let _ = apply(None, &update);
        let _ = apply(Some(&registered()), &update);
        let _ = IdentityUpdate::decode(&noise);
    }

    #[test]
    fn ident_020_a_tampered_registration_never_means_something_else(
        place: prop::sample::Index,
        flip in 1u8..=255,
    ) {
        let honest = update(1, &[create(OWNER), add_device(PHONE, By::Wallet(OWNER))]);
        let mut bytes = honest.encode();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        let Ok(tampered) = IdentityUpdate::decode(&bytes) else { return Ok(()) };
        if let Ok(mut state) = apply(None, &tampered) {
            // The text holds whole seconds, so a fraction of one may differ, and nothing else.
            for member in state.members.values_mut() {
                member.client_timestamp_ns -= member.client_timestamp_ns % 1_000_000_000;
            }
            prop_assert_eq!(state, registered());
        }
    }
}

fn decode(update: proto::IdentityUpdate) -> Result<IdentityUpdate, Refusal> {
    IdentityUpdate::decode(&update.encode_to_vec())
}

fn message(kind: Option<proto::identity_action::Kind>) -> proto::IdentityUpdate {
    proto::IdentityUpdate {
        actions: vec![proto::IdentityAction { kind }],
        client_timestamp_ns: 1,
        inbox_id: OWNER.inbox().to_string(),
    }
}

fn create_message(identifier: &str, kind: i32) -> proto::IdentityUpdate {
    message(Some(proto::identity_action::Kind::CreateInbox(proto::CreateInbox {
        initial_identifier: identifier.into(),
        nonce: 0,
        initial_identifier_signature: Some(Signature::Erc191([1; 65]).to_proto()),
        initial_identifier_kind: kind,
        relying_party: None,
    })))
}

#[test]
fn ident_001_unset_kinds_and_signatures_are_refused() {
    use proto::identity_action::Kind;
    assert!(matches!(decode(message(None)), Err(Refusal::Malformed(_))));
    let member = proto::MemberIdentifier { kind: None };
    let revoke = proto::RevokeAssociation {
        member_to_revoke: Some(member),
        recovery_identifier_signature: Some(Signature::Erc191([1; 65]).to_proto()),
    };
    assert!(matches!(decode(message(Some(Kind::Revoke(revoke)))), Err(Refusal::Malformed(_))));
    let unsigned = proto::RevokeAssociation {
        member_to_revoke: Some(proto::MemberIdentifier {
            kind: Some(proto::member_identifier::Kind::InstallationPublicKey(vec![1; 32])),
        }),
        recovery_identifier_signature: None,
    };
    assert_eq!(decode(message(Some(Kind::Revoke(unsigned)))), Err(Refusal::BadSignature));
    let mut foreign = message(None);
    foreign.inbox_id = foreign.inbox_id.to_uppercase();
    foreign.actions.clear();
    assert!(matches!(decode(foreign), Err(Refusal::Malformed(_))));
}

#[test]
fn ident_001_an_unspecified_identifier_kind_is_ethereum() {
    let address = OWNER.identifier().to_string();
    assert_eq!(decode(create_message(&address, 0)), decode(create_message(&address, 1)));
    assert!(decode(create_message("0102", 2)).is_ok());
    assert!(matches!(decode(create_message("01A2", 2)), Err(Refusal::Malformed(_))));
    assert!(matches!(decode(create_message(&address, 3)), Err(Refusal::Malformed(_))));
}

#[test]
fn ident_013_a_mixed_case_address_is_refused_not_rewritten() {
    let mixed = "0x1234567890ABCDEF1234567890abcdef12345678";
    assert_eq!(decode(create_message(mixed, 1)), Err(Refusal::BadAddress));
    let add = proto::AddAssociation {
        new_member_identifier: Some(proto::MemberIdentifier {
            kind: Some(proto::member_identifier::Kind::EthereumAddress(mixed.into())),
        }),
        existing_member_signature: Some(Signature::Erc191([1; 65]).to_proto()),
        new_member_signature: Some(Signature::Erc191([1; 65]).to_proto()),
        relying_party: None,
    };
    let add = message(Some(proto::identity_action::Kind::Add(add)));
    assert_eq!(decode(add), Err(Refusal::BadAddress));
}

#[test]
fn ident_032_the_retired_delegated_signature_is_refused() {
    let update = update(1, &[create(OWNER)]);
    let mut bytes = update.encode();
    // The signature's field key: ERC-191 (1) becomes the retired field 4.
    let key = bytes.windows(4).position(|w| w == [0x0a, 67, 0x0a, 65]).unwrap();
    bytes[key] = 0x22;
    assert_eq!(IdentityUpdate::decode(&bytes), Err(Refusal::BadSignature));
}

#[test]
fn accounts_of_an_update_are_those_it_makes_members() {
    let by = || By::Wallet(OWNER);
    let update = update(
        1,
        &[create(OWNER), add_device(PHONE, by()), add_wallet(OTHER, by()), revoke(OWNER.member(), OWNER)],
    );
    assert_eq!(update.accounts(), [OWNER.identifier(), OTHER.identifier()]);
}
