//! The envelope around a Welcome (facts 3.2).
//!
//! A Welcome for one installation is sealed with HPKE to its key package's init key, the metadata
//! with the same context as second message. A Welcome for many is sealed once under a random key;
//! each installation gets a pointer to it, itself sealed with HPKE.

use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use hpke_rs::{Context, HpkePrivateKey, HpkePublicKey};
use openmls::prelude::KeyPackageBundle;
use openmls::prelude::tls_codec::{DeserializeBytes as _, Serialize as _};
use openmls_traits::types::HpkeCiphertext;

use super::hpke::{SuiteHpke, hpke};
use super::scratch::Scratch;
use super::storage::KEY_PACKAGE;
use super::welcome::WelcomeError;
use crate::base::write_varint;
use crate::wire::{AEAD_CHACHA20_POLY1305, WelcomeMetadata, WelcomePointerV1};

/// A sealed Welcome and its sealed metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedWelcome {
    /// The Welcome.
    pub data: Vec<u8>,
    /// The metadata.
    pub metadata: Vec<u8>,
}

/// Seals a Welcome to the init key of an added installation's key package. `cursor` is the
/// position of the commit that added it (JOIN-036).
pub fn wrap_welcome(welcome: &[u8], cursor: u64, init_key: &[u8]) -> Result<SealedWelcome, WelcomeError> {
    let (kem_output, mut context) = sender(init_key)?;
    let data = hpke_ciphertext(kem_output, seal(&mut context, welcome)?)?;
    let metadata = seal(&mut context, &WelcomeMetadata { message_cursor: cursor }.encode())?;
    Ok(SealedWelcome { data, metadata })
}

/// Opens what [`wrap_welcome`] sealed, with the key package whose init key is `init_key`: the
/// Welcome and the cursor.
pub fn unwrap_welcome(
    scratch: &Scratch,
    sealed: &SealedWelcome,
    init_key: &[u8],
) -> Result<(Vec<u8>, u64), WelcomeError> {
    let (mut context, ciphertext) = receiver(scratch, &sealed.data, init_key)?;
    let welcome = unseal(&mut context, &ciphertext)?;
    let metadata = unseal(&mut context, &sealed.metadata)?;
    Ok((welcome, cursor(&metadata)?))
}

/// Seals the pointer to a shared Welcome to the init key of an added installation's key package.
pub fn wrap_pointer(pointer: &WelcomePointerV1, init_key: &[u8]) -> Result<Vec<u8>, WelcomeError> {
    let (kem_output, mut context) = sender(init_key)?;
    let ciphertext = seal(&mut context, &pointer.encode())?;
    hpke_ciphertext(kem_output, ciphertext)
}

/// Opens what [`wrap_pointer`] sealed.
pub fn unwrap_pointer(
    scratch: &Scratch,
    sealed: &[u8],
    init_key: &[u8],
) -> Result<WelcomePointerV1, WelcomeError> {
    let (mut context, ciphertext) = receiver(scratch, sealed, init_key)?;
    let pointer = WelcomePointerV1::decode(&unseal(&mut context, &ciphertext)?);
    pointer.map_err(|_| WelcomeError::Malformed)
}

/// Seals a Welcome once for all who get `pointer`. Destination, key and both nonces of the pointer
/// are fresh random bytes, the nonces distinct.
pub fn seal_shared_welcome(
    welcome: &[u8],
    cursor: u64,
    pointer: &WelcomePointerV1,
) -> Result<SealedWelcome, WelcomeError> {
    if pointer.data_nonce == pointer.metadata_nonce {
        return Err(WelcomeError::Bug("both nonces of a shared Welcome are equal".into()));
    }
    let cipher = shared_cipher(pointer)?;
    let seal = |nonce: &[u8; 12], plaintext: &[u8]| {
        cipher.encrypt(Nonce::from_slice(nonce), plaintext).map_err(|e| WelcomeError::Bug(e.to_string()))
    };
    let metadata = WelcomeMetadata { message_cursor: cursor }.encode();
    Ok(SealedWelcome {
        data: seal(&pointer.data_nonce, welcome)?,
        metadata: seal(&pointer.metadata_nonce, &metadata)?,
    })
}

/// Opens a shared Welcome: the Welcome and the cursor.
pub fn open_shared_welcome(
    sealed: &SealedWelcome,
    pointer: &WelcomePointerV1,
) -> Result<(Vec<u8>, u64), WelcomeError> {
    let cipher = shared_cipher(pointer)?;
    let open = |nonce: &[u8; 12], ciphertext: &[u8]| {
        cipher.decrypt(Nonce::from_slice(nonce), ciphertext).map_err(|_| WelcomeError::Undecryptable)
    };
    let metadata = open(&pointer.metadata_nonce, &sealed.metadata)?;
    Ok((open(&pointer.data_nonce, &sealed.data)?, cursor(&metadata)?))
}

fn shared_cipher(pointer: &WelcomePointerV1) -> Result<ChaCha20Poly1305, WelcomeError> {
    if pointer.aead_type != AEAD_CHACHA20_POLY1305 {
        return Err(WelcomeError::Invalid(format!("unknown AEAD {}", pointer.aead_type)));
    }
    Ok(ChaCha20Poly1305::new(Key::from_slice(&pointer.encryption_key)))
}

fn cursor(metadata: &[u8]) -> Result<u64, WelcomeError> {
    let metadata = WelcomeMetadata::decode(metadata).map_err(|_| WelcomeError::Malformed)?;
    Ok(metadata.message_cursor)
}

type HpkeContext = Context<SuiteHpke>;

/// The EncryptContext of RFC 9420 section 5.1.3: label `MLS_WELCOME`, empty context.
fn info() -> Vec<u8> {
    const LABEL: &[u8] = b"MLS 1.0 MLS_WELCOME";
    let mut info = Vec::with_capacity(LABEL.len() + 2);
    write_varint(LABEL.len() as u64, &mut info);
    info.extend_from_slice(LABEL);
    write_varint(0, &mut info);
    info
}

fn sender(init_key: &[u8]) -> Result<(Vec<u8>, HpkeContext), WelcomeError> {
    let key = HpkePublicKey::new(init_key.to_vec());
    hpke()
        .setup_sender(&key, &info(), None, None, None)
        .map_err(|e| WelcomeError::Invalid(format!("init key: {e}")))
}

fn receiver(
    scratch: &Scratch,
    sealed: &[u8],
    init_key: &[u8],
) -> Result<(HpkeContext, Vec<u8>), WelcomeError> {
    let sealed = HpkeCiphertext::tls_deserialize_exact_bytes(sealed).map_err(|_| WelcomeError::Malformed)?;
    let key = HpkePrivateKey::new(private_key(scratch, init_key)?);
    let context = hpke()
        .setup_receiver(sealed.kem_output.as_slice(), &key, &info(), None, None, None)
        .map_err(|_| WelcomeError::Undecryptable)?;
    Ok((context, sealed.ciphertext.into()))
}

/// The private half of `init_key`, from the key package it belongs to.
fn private_key(scratch: &Scratch, init_key: &[u8]) -> Result<Vec<u8>, WelcomeError> {
    for id in scratch.global_ids(KEY_PACKAGE) {
        let Some(bundle) = scratch.global::<KeyPackageBundle>(&id)? else { continue };
        if bundle.key_package().hpke_init_key().as_slice() == init_key {
            return Ok(bundle.init_private_key().to_vec());
        }
    }
    Err(WelcomeError::NoKey)
}

fn seal(context: &mut HpkeContext, plaintext: &[u8]) -> Result<Vec<u8>, WelcomeError> {
    context.seal(&[], plaintext).map_err(|e| WelcomeError::Bug(e.to_string()))
}

fn unseal(context: &mut HpkeContext, ciphertext: &[u8]) -> Result<Vec<u8>, WelcomeError> {
    context.open(&[], ciphertext).map_err(|_| WelcomeError::Undecryptable)
}

fn hpke_ciphertext(kem_output: Vec<u8>, ciphertext: Vec<u8>) -> Result<Vec<u8>, WelcomeError> {
    let sealed = HpkeCiphertext { kem_output: kem_output.into(), ciphertext: ciphertext.into() };
    sealed.tls_serialize_detached().map_err(|e| WelcomeError::Bug(e.to_string()))
}
