//! Welcomes: wrapped, inspected, joined, refused, and joined again after a removal.

use openmls::prelude::tls_codec::DeserializeBytes as _;
use openmls::prelude::{HpkeCiphertext, KeyPackageBundle, OpenMlsCrypto as _};

use super::*;
use crate::wire::{AEAD_CHACHA20_POLY1305, WelcomePointerV1};

/// A group of one and a second party's Welcome to it.
fn invited() -> (Party, Party, MadeKeyPackage, Vec<u8>) {
    let (mut first, mut second) = (Party::new(1), Party::new(2));
    first.create(&dictionary());
    let package = second.key_package();
    let adds = vec![package.bytes.clone().into()];
    let sealed = first.commit(CommitPlan { adds, dictionary_after: dictionary(), ..CommitPlan::default() });
    first.read_back();
    (first, second, package, sealed.welcome.unwrap())
}

fn init_key(party: &Party, package: &MadeKeyPackage) -> Vec<u8> {
    check_key_package(&party.scratch, &package.bytes, NOW).unwrap().init_key
}

#[test]
fn a_welcome_is_inspected_whole_before_anything_is_written() {
    let (first, mut second, _, welcome) = invited();
    let join = inspect(&second.scratch, &welcome, 42).unwrap();
    assert!(second.scratch.take_changes().unwrap().is_empty());
    assert!(!second.scratch.holds(GROUP));
    assert_eq!(join.facts().group, first.group().facts());
    assert_eq!(join.facts().adder, first.leaf(0));
    assert_eq!(join.facts().own, second.leaf(1));
    assert_eq!(join.facts().anchor, 42);
    join.join(&second.scratch, false).unwrap();
    second.reload();
    assert_together(&[first, second]);
}

#[test]
fn the_key_package_serves_again_until_it_is_retired() {
    let (_, mut second, package, welcome) = invited();
    second.join(&welcome, &package);
    let known = inspect(&second.scratch, &welcome, 1).unwrap();
    assert_eq!(known.join(&second.scratch, false).err(), Some(WelcomeError::Exists));
    let init_key = init_key(&second, &package);
    let wrapped = wrap_welcome(&welcome, 1, &init_key).unwrap();
    second.scratch.remove_global(&package.id);
    second.reload();
    assert!(second.scratch.globals().is_empty());
    assert_eq!(inspect(&second.scratch, &welcome, 1).err(), Some(WelcomeError::NoKey));
    let unwrapped = unwrap_welcome(&second.scratch, &wrapped, &init_key);
    assert_eq!(unwrapped.err(), Some(WelcomeError::NoKey));
}

#[test]
fn wrapping_hides_and_authenticates_welcome_and_cursor() {
    let (_, mut second, package, welcome) = invited();
    let init_key = init_key(&second, &package);
    let wrapped = wrap_welcome(&welcome, 99, &init_key).unwrap();
    assert_eq!(unwrap_welcome(&second.scratch, &wrapped, &init_key), Ok((welcome.clone(), 99)));
    // 32 bytes of KEM output behind a one-byte length, then the ciphertext.
    assert_eq!(wrapped.data[0], 32);
    assert!(!wrapped.data.windows(16).any(|part| part == &welcome[..16]));
    let mut other = wrapped.clone();
    *other.data.last_mut().unwrap() ^= 1;
    let undecryptable = Err(WelcomeError::Undecryptable);
    assert_eq!(unwrap_welcome(&second.scratch, &other, &init_key), undecryptable);
    let other = SealedWelcome { metadata: wrapped.data.clone(), ..wrapped.clone() };
    assert_eq!(unwrap_welcome(&second.scratch, &other, &init_key), undecryptable);
    let again = wrap_welcome(&welcome, 98, &init_key).unwrap();
    let other = SealedWelcome { metadata: again.metadata, ..wrapped };
    assert_eq!(unwrap_welcome(&second.scratch, &other, &init_key), undecryptable);
    let empty = SealedWelcome { data: vec![], metadata: vec![] };
    let malformed = Err(WelcomeError::Malformed);
    assert_eq!(unwrap_welcome(&second.scratch, &empty, &init_key), malformed);
    let short = wrap_welcome(&welcome, 1, &[1, 2, 3]);
    assert!(matches!(short, Err(WelcomeError::Invalid(_))));
    let second_package = second.key_package();
    let other_key = self::init_key(&second, &second_package);
    let wrapped = wrap_welcome(&welcome, 1, &other_key).unwrap();
    assert_eq!(unwrap_welcome(&second.scratch, &wrapped, &init_key), undecryptable);
}

/// The suite and the info string are MLS's: OpenMLS's own HPKE opens the first message.
#[test]
fn the_wrapping_is_the_hpke_of_the_group_suite() {
    let (_, second, package, welcome) = invited();
    let wrapped = wrap_welcome(&welcome, 3, &init_key(&second, &package)).unwrap();
    let sealed = HpkeCiphertext::tls_deserialize_exact_bytes(&wrapped.data).unwrap();
    let bundle: KeyPackageBundle = second.scratch.global(&package.id).unwrap().unwrap();
    let info = [&[19][..], b"MLS 1.0 MLS_WELCOME", &[0]].concat();
    let config = profile::SUITE.hpke_config();
    let crypto = second.scratch.suite();
    let opened = crypto.hpke_open(config, &sealed, bundle.init_private_key(), &info, &[]).unwrap();
    assert_eq!(opened, welcome);
}

#[test]
fn a_shared_welcome_is_opened_through_its_pointer() {
    let (_, second, package, welcome) = invited();
    let init_key = init_key(&second, &package);
    let pointer = WelcomePointerV1 {
        destination: [1; 32],
        aead_type: AEAD_CHACHA20_POLY1305,
        encryption_key: [2; 32],
        data_nonce: [3; 12],
        metadata_nonce: [4; 12],
    };
    let sealed = seal_shared_welcome(&welcome, 5, &pointer).unwrap();
    let wrapped = wrap_pointer(&pointer, &init_key).unwrap();
    let opened = unwrap_pointer(&second.scratch, &wrapped, &init_key).unwrap();
    assert_eq!(opened, pointer);
    assert_eq!(open_shared_welcome(&sealed, &opened), Ok((welcome.clone(), 5)));

    let mut other = sealed.clone();
    other.metadata[0] ^= 1;
    assert_eq!(open_shared_welcome(&other, &pointer), Err(WelcomeError::Undecryptable));
    let equal = WelcomePointerV1 { metadata_nonce: [3; 12], ..pointer.clone() };
    assert!(matches!(seal_shared_welcome(&welcome, 5, &equal), Err(WelcomeError::Bug(_))));
    let aead = WelcomePointerV1 { aead_type: 1, ..pointer };
    assert!(matches!(open_shared_welcome(&sealed, &aead), Err(WelcomeError::Invalid(_))));
}

#[test]
fn what_is_no_welcome_for_us_is_refused() {
    let (mut first, second, _, welcome) = invited();
    assert_eq!(inspect(&first.scratch, &welcome, 1).err(), Some(WelcomeError::NoKey));
    let message = first.send(b"no Welcome");
    assert_eq!(inspect(&second.scratch, &message, 1).err(), Some(WelcomeError::Malformed));
    assert_eq!(inspect(&second.scratch, &[], 1).err(), Some(WelcomeError::Malformed));
    let mut trailing = welcome.clone();
    trailing.push(0);
    assert_eq!(inspect(&second.scratch, &trailing, 1).err(), Some(WelcomeError::Malformed));
    let mut tampered = welcome;
    *tampered.last_mut().unwrap() ^= 1;
    assert!(matches!(inspect(&second.scratch, &tampered, 1), Err(WelcomeError::Invalid(_))));
}

#[test]
fn a_removed_device_is_told_and_joins_again_over_its_old_rows() {
    let (mut first, mut second, package, welcome) = invited();
    second.join(&welcome, &package);
    let plan = CommitPlan { dictionary_after: dictionary(), ..CommitPlan::default() };
    let sealed = first.commit(CommitPlan { removes: vec![1], ..plan.clone() });
    first.read_back();
    let facts = second.receive(&sealed.bytes);
    assert_eq!(facts.leaves_after, [first.leaf(0)]);
    assert!(!second.group().is_active());
    assert_eq!(second.group().own_leaf(), None);
    let text = first.send(b"without you");
    assert_eq!(second.try_open(&text).err(), Some(OpenError::Inactive));
    let refused = second.run(|scratch, group, keys| message(scratch, group, keys, b"let me"));
    assert_eq!(refused, Err(SealError::Inactive));
    let refused = second.run(|scratch, group, keys| commit(scratch, group, keys, plan.clone()));
    assert_eq!(refused, Err(SealError::Inactive));

    let sealed = first.commit(CommitPlan { adds: vec![package.bytes.clone().into()], ..plan });
    first.read_back();
    let sealed_welcome = sealed.welcome.unwrap();
    let join = inspect(&second.scratch, &sealed_welcome, 9).unwrap();
    join.join(&second.scratch, true).unwrap();
    second.reload();
    // Nothing of the first membership is left.
    let fresh = {
        let mut other = Party::new(2);
        other.scratch.load_globals(second.globals.clone());
        inspect(&other.scratch, &sealed_welcome, 9).unwrap().join(&other.scratch, false).unwrap();
        other.scratch.entry_keys(GROUP)
    };
    assert_eq!(second.scratch.entry_keys(GROUP), fresh);
    let text = first.send(b"welcome back");
    assert_eq!(second.read(&text).2, b"welcome back");
    assert_together(&[first, second]);
}

#[test]
fn forgetting_a_group_leaves_no_row_of_it() {
    let (mut first, ..) = invited();
    first.scratch.forget(GROUP);
    first.reload();
    assert!(Group::load(&first.scratch, GROUP).unwrap().is_none());
    assert!(first.pages.is_empty());
    first.create(&dictionary());
    let again = create(&first.scratch, &first.keys, first.inbox, GROUP, &dictionary());
    assert_eq!(again.err(), Some(CreateError::Exists));
}

#[test]
fn a_new_group_is_born_with_its_dictionary() {
    let mut party = Party::new(1);
    party.create(&dictionary());
    let facts = party.group().facts();
    assert_eq!((facts.group_id, facts.epoch), (GROUP, 0));
    assert_eq!(facts.leaves, [party.leaf(0)]);
    assert_eq!(facts.dictionary, dictionary());
    assert_eq!(party.group().own_leaf(), Some(party.leaf(0)));
    assert!(party.group().is_active());
    assert!(party.globals.is_empty());
}
