//! How failures are sorted, outsiders, unencrypted frames, key packages that cannot be added.

use openmls::framing::errors::{MessageDecryptionError, SecretTreeError};
use openmls::prelude::tls_codec::{Deserialize as _, Serialize as _};
use openmls::prelude::{
    AppDataUpdateValidationError, Capabilities, ExternalCommitBuilder, KeyPackage, Lifetime,
    MlsMessageBodyIn, MlsMessageIn, PURE_PLAINTEXT_WIRE_FORMAT_POLICY, ProcessMessageError,
    ProposalOrRefType, ProposalValidationError, Propose, StageCommitError, ValidationError,
};

use super::*;
use crate::mls::facts::{ProposalKind, UnsupportedKind};

fn processing(error: ProcessMessageError<ScratchError>) -> OpenError {
    OpenError::processing(error, 5)
}

#[test]
fn gmod_001_refusals_caused_by_an_unused_kind_name_the_kind() {
    use UnsupportedKind as Kind;
    let proposal = StageCommitError::ProposalValidationError;
    let app_data = StageCommitError::AppDataUpdateValidationError;
    let cases = [
        (proposal(ProposalValidationError::UnsupportedProposalType), Kind::Custom(0)),
        (proposal(ProposalValidationError::ExternalInitProposalInRegularCommit), Kind::ExternalInit),
        (
            app_data(AppDataUpdateValidationError::CannotUpdateDictionaryDirectly),
            Kind::GroupContextExtensions,
        ),
        (app_data(AppDataUpdateValidationError::IncorrectOrder), Kind::GroupContextExtensions),
        (
            app_data(AppDataUpdateValidationError::CannotRemoveNonexistentComponent),
            Kind::GroupContextExtensions,
        ),
    ];
    for (error, kind) in cases {
        assert_eq!(OpenError::staging(error), OpenError::Unsupported(kind));
    }
    let conflict = app_data(AppDataUpdateValidationError::CombinedRemoveAndUpdateOperations);
    assert!(matches!(OpenError::staging(conflict), OpenError::Invalid(_)));
}

#[test]
fn gmod_002_senders_without_a_leaf_are_outsiders() {
    let cases = [
        ProcessMessageError::ValidationError(ValidationError::UnknownMember),
        ProcessMessageError::ValidationError(ValidationError::NoExternalSendersExtension),
        ProcessMessageError::UnauthorizedExternalCommitMessage,
        ProcessMessageError::InvalidCommit(StageCommitError::SenderTypeExternal),
        secret_tree(SecretTreeError::IndexOutOfBounds),
    ];
    for error in cases {
        assert_eq!(processing(error), OpenError::Outsider);
    }
}

fn secret_tree(error: SecretTreeError) -> ProcessMessageError<ScratchError> {
    let error = MessageDecryptionError::SecretTreeError(error);
    ProcessMessageError::ValidationError(ValidationError::UnableToDecrypt(error))
}

#[test]
fn failures_are_sorted_by_what_follows() {
    let cases = [
        (secret_tree(SecretTreeError::TooDistantInThePast), OpenError::TooOld),
        (secret_tree(SecretTreeError::TooDistantInTheFuture), OpenError::TooFarAhead),
        (secret_tree(SecretTreeError::SecretReuseError), OpenError::SecretReuse),
        (ValidationError::WrongEpoch.into(), OpenError::WrongEpoch { epoch: 5 }),
        (ValidationError::WrongGroupId.into(), OpenError::WrongGroup),
        (StageCommitError::MissingProposal.into(), OpenError::MissingProposal),
        (StageCommitError::OwnCommitMismatch.into(), OpenError::Own),
    ];
    for (error, expected) in cases {
        assert_eq!(processing(error), expected);
    }
    assert!(matches!(OpenError::staging(StageCommitError::MissingDecryptionKey), OpenError::Bug(_)));
    let signature = ValidationError::InvalidSignature.into();
    assert!(matches!(processing(signature), OpenError::Invalid(_)));
}

#[test]
fn gmod_002_a_strangers_external_commit_is_refused_before_openmls() {
    let mut all = parties(2);
    let stranger = Party::new(9);
    let info = all[0].run(|scratch, group, keys| {
        let info = group.mls.export_group_info(scratch.suite(), keys, true).unwrap();
        info.tls_serialize_detached().unwrap()
    });
    let info = MlsMessageIn::tls_deserialize(&mut info.as_slice()).unwrap();
    let MlsMessageBodyIn::GroupInfo(info) = info.extract() else { panic!() };
    let credential = profile::credential(stranger.inbox, stranger.keys.id());
    let builder = ExternalCommitBuilder::new().with_config(profile::join_config());
    let (scratch, crypto) = (&stranger.scratch, stranger.scratch.suite());
    let parameters =
        openmls::prelude::LeafNodeParameters::builder().with_capabilities(profile::capabilities());
    let builder = builder.build_group(scratch, info, credential).unwrap();
    let builder = builder.leaf_node_parameters(parameters.build()).load_psks(scratch).unwrap();
    let built = builder.build(crypto, crypto, &stranger.keys, |_| true).unwrap();
    let bytes = built.finalize(scratch).unwrap().1.into_messages().0.to_bytes().unwrap();

    assert_eq!(peek(&bytes).unwrap().kind, FrameKind::Public);
    assert_eq!(all[1].try_open(&bytes).err(), Some(OpenError::Unencrypted));
}

#[test]
fn a_members_unencrypted_proposal_is_refused() {
    let mut all = parties(2);
    let bytes = all[0].run(|scratch, group, keys| {
        let config = openmls::prelude::MlsGroupJoinConfig::builder();
        let config = config.wire_format_policy(PURE_PLAINTEXT_WIRE_FORMAT_POLICY).build();
        group.mls.set_configuration(scratch, &config).unwrap();
        let made = group.mls.propose(scratch, keys, Propose::Remove(1), ProposalOrRefType::Reference);
        made.unwrap().0.to_bytes().unwrap()
    });
    assert_eq!(peek(&bytes).unwrap().kind, FrameKind::Public);
    assert_eq!(all[1].try_open(&bytes).err(), Some(OpenError::Unencrypted));
}

#[test]
fn messages_of_other_groups_and_other_bytes_are_refused() {
    let mut all = parties(2);
    let mut other = Party::new(8);
    other.create(&dictionary());
    let mut foreign = all[0].send(b"text");
    foreign[5] ^= 1;
    assert_eq!(all[1].try_open(&foreign).err(), Some(OpenError::WrongGroup));
    let package = other.key_package().bytes;
    for bytes in [&[][..], &[0, 1], &[0, 2, 0, 2, 16], &package] {
        assert_eq!(peek(bytes), Err(OpenError::Malformed));
    }
}

/// A key package as another implementation makes it: with a lifetime.
fn bounded(party: &mut Party, lifetime: Lifetime) -> Vec<u8> {
    let bundle = KeyPackage::builder()
        .key_package_lifetime(lifetime)
        .leaf_node_capabilities(profile::capabilities())
        .mark_as_last_resort()
        .build(
            profile::SUITE,
            &party.scratch,
            &party.keys,
            profile::credential(party.inbox, party.keys.id()),
        );
    bundle.unwrap().key_package().tls_serialize_detached().unwrap()
}

#[test]
fn bounded_lifetimes_are_refused_by_adders_and_shown_to_receivers() {
    let mut all = parties(2);
    let mut fourth = Party::new(4);
    let current = bounded(&mut fourth, Lifetime::new(3600));
    let expired = bounded(&mut fourth, Lifetime::init(0, 1000));
    for package in [&current, &expired] {
        let checked = check_key_package(&all[0].scratch, package, NOW);
        assert_eq!(checked, Err(KeyPackageError::BoundedLifetime));
    }
    let plan = CommitPlan { dictionary_after: dictionary(), ..CommitPlan::default() };
    let late = CommitPlan { adds: vec![expired.into()], ..plan.clone() };
    let refused = all[0].run(|scratch, group, keys| commit(scratch, group, keys, late));
    assert_eq!(refused, Err(SealError::KeyPackage(KeyPackageError::BoundedLifetime)));
    let sealed = all[0].commit(CommitPlan { adds: vec![current.into()], ..plan });
    let mut group = all[1].group();
    let staged = open_and_stage(&all[1].scratch, &mut group, &sealed.bytes).unwrap();
    let add = &staged.facts().proposals[0].kind;
    assert_eq!(*add, ProposalKind::Add { leaf: fourth.leaf(0), bounded_lifetime: true });
}

#[test]
fn key_packages_that_cannot_be_added_say_why() {
    let mut party = Party::new(1);
    let made = party.key_package();
    let facts = check_key_package(&party.scratch, &made.bytes, NOW).unwrap();
    assert_eq!((facts.inbox, facts.installation), (party.inbox, party.keys.id()));
    assert!(facts.pointers);
    assert_eq!(facts.init_key.len(), 32);
    assert_eq!(facts.expires, Some(Nanos(NOW.0 + profile::KEY_PACKAGE_LIFETIME_NS)));
    assert_eq!(party.globals.keys().collect::<Vec<_>>(), [&made.id]);

    let mut tampered = made.bytes.clone();
    *tampered.last_mut().unwrap() ^= 1;
    let refused = check_key_package(&party.scratch, &tampered, NOW);
    assert!(matches!(refused, Err(KeyPackageError::Invalid(_))));
    assert_eq!(check_key_package(&party.scratch, &[1], NOW), Err(KeyPackageError::Malformed));

    let build = |capabilities: Capabilities, credential| {
        let bundle = KeyPackage::builder()
            .key_package_lifetime(profile::unbounded_lifetime())
            .leaf_node_capabilities(capabilities)
            .build(profile::SUITE, &party.scratch, &party.keys, credential);
        let bytes = bundle.unwrap().key_package().tls_serialize_detached().unwrap();
        check_key_package(&party.scratch, &bytes, NOW)
    };
    let credential = profile::credential(party.inbox, party.keys.id());
    let bare = build(Capabilities::new(None, None, None, None, None), credential.clone());
    assert_eq!(bare, Err(KeyPackageError::Unsupported("the app-data dictionary")));
    let mut nameless = credential.clone();
    nameless.credential = openmls::prelude::BasicCredential::new(b"somebody".to_vec()).into();
    assert_eq!(build(profile::capabilities(), nameless), Err(KeyPackageError::Credential));
    // Without our extension nothing is said about an end.
    let plain = build(profile::capabilities(), credential).unwrap();
    assert_eq!((plain.expires, plain.pointers), (None, false));
}

proptest::proptest! {
    #[test]
    fn peeking_never_panics(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60)) {
        let _ = peek(&bytes);
        let mut framed = vec![0, 1, 0, 2];
        framed.extend(bytes);
        let _ = peek(&framed);
    }
}
