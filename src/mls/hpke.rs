//! HPKE over X25519 alone, by hpke-rs and x25519-dalek (RFC 9180): what Welcomes are wrapped with and
//! paths are encrypted with.

use hpke_rs::{Hpke, Mode};
use hpke_rs_crypto::HpkeCrypto;
use hpke_rs_crypto::error::Error as HpkeCryptoError;
use hpke_rs_crypto::types::{AeadAlgorithm, KdfAlgorithm, KemAlgorithm};
use hpke_rs_rust_crypto::HpkeRustCrypto;
use rand_core::Rng as _;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroize as _;

use super::suite::{expand, extract, only, seal, unseal};

/// HPKE over X25519, HKDF-SHA256 and ChaCha20-Poly1305.
#[derive(Debug)]
pub struct SuiteHpke;

type Pair = (Vec<u8>, Vec<u8>);

fn only_x25519(alg: KemAlgorithm) -> Result<(), HpkeCryptoError> {
    only(alg, KemAlgorithm::DhKem25519, HpkeCryptoError::UnknownKemAlgorithm)
}

fn only_hkdf_sha256(alg: KdfAlgorithm) -> Result<(), HpkeCryptoError> {
    only(alg, KdfAlgorithm::HkdfSha256, HpkeCryptoError::UnknownKdfAlgorithm)
}

fn only_hpke_chacha(alg: AeadAlgorithm) -> Result<(), HpkeCryptoError> {
    only(alg, AeadAlgorithm::ChaCha20Poly1305, HpkeCryptoError::UnknownAeadAlgorithm)
}

fn secret(sk: &[u8]) -> Result<StaticSecret, HpkeCryptoError> {
    let mut bytes: [u8; 32] = sk.try_into().map_err(|_| HpkeCryptoError::KemInvalidSecretKey)?;
    let secret = StaticSecret::from(bytes);
    bytes.zeroize();
    Ok(secret)
}

impl HpkeCrypto for SuiteHpke {
    type HpkePrng = <HpkeRustCrypto as HpkeCrypto>::HpkePrng;

    fn name() -> String {
        "X25519".into()
    }

    fn supports_kdf(alg: KdfAlgorithm) -> Result<(), HpkeCryptoError> {
        only_hkdf_sha256(alg)
    }

    fn supports_kem(alg: KemAlgorithm) -> Result<(), HpkeCryptoError> {
        only_x25519(alg)
    }

    fn supports_aead(alg: AeadAlgorithm) -> Result<(), HpkeCryptoError> {
        only_hpke_chacha(alg)
    }

    fn prng() -> Self::HpkePrng {
        HpkeRustCrypto::prng()
    }

    fn kdf_extract(alg: KdfAlgorithm, salt: &[u8], ikm: &[u8]) -> Result<Vec<u8>, HpkeCryptoError> {
        only_hkdf_sha256(alg)?;
        Ok(extract(salt, ikm))
    }

    fn kdf_expand(
        alg: KdfAlgorithm,
        prk: &[u8],
        info: &[u8],
        output_size: usize,
    ) -> Result<Vec<u8>, HpkeCryptoError> {
        only_hkdf_sha256(alg)?;
        expand(prk, info, output_size).ok_or(HpkeCryptoError::HpkeInvalidOutputLength)
    }

    /// RFC 7748 section 6.1: an all-zero result is refused.
    fn dh(alg: KemAlgorithm, pk: &[u8], sk: &[u8]) -> Result<Vec<u8>, HpkeCryptoError> {
        only_x25519(alg)?;
        let pk: [u8; 32] = pk.try_into().map_err(|_| HpkeCryptoError::KemInvalidPublicKey)?;
        let shared = secret(sk)?.diffie_hellman(&PublicKey::from(pk));
        if !shared.was_contributory() {
            return Err(HpkeCryptoError::KemInvalidPublicKey);
        }
        Ok(shared.as_bytes().to_vec())
    }

    fn secret_to_public(alg: KemAlgorithm, sk: &[u8]) -> Result<Vec<u8>, HpkeCryptoError> {
        only_x25519(alg)?;
        Ok(PublicKey::from(&secret(sk)?).as_bytes().to_vec())
    }

    fn kem_key_gen(alg: KemAlgorithm, prng: &mut Self::HpkePrng) -> Result<Pair, HpkeCryptoError> {
        only_x25519(alg)?;
        let mut bytes = [0; 32];
        prng.fill_bytes(&mut bytes);
        let secret = StaticSecret::from(bytes);
        bytes.zeroize();
        Ok((PublicKey::from(&secret).as_bytes().to_vec(), secret.to_bytes().to_vec()))
    }

    // The three below belong to post-quantum and NIST KEMs.
    fn kem_key_gen_derand(_: KemAlgorithm, _: &[u8]) -> Result<Pair, HpkeCryptoError> {
        Err(HpkeCryptoError::UnknownKemAlgorithm)
    }

    fn kem_encaps(_: KemAlgorithm, _: &[u8], _: &mut Self::HpkePrng) -> Result<Pair, HpkeCryptoError> {
        Err(HpkeCryptoError::UnknownKemAlgorithm)
    }

    fn kem_decaps(_: KemAlgorithm, _: &[u8], _: &[u8]) -> Result<Vec<u8>, HpkeCryptoError> {
        Err(HpkeCryptoError::UnknownKemAlgorithm)
    }

    fn dh_validate_sk(_: KemAlgorithm, _: &[u8]) -> Result<Vec<u8>, HpkeCryptoError> {
        Err(HpkeCryptoError::UnknownKemAlgorithm)
    }

    fn aead_seal(
        alg: AeadAlgorithm,
        key: &[u8],
        nonce: &[u8],
        aad: &[u8],
        msg: &[u8],
    ) -> Result<Vec<u8>, HpkeCryptoError> {
        only_hpke_chacha(alg)?;
        seal(key, nonce, aad, msg).ok_or_else(|| HpkeCryptoError::CryptoLibraryError("sealing".into()))
    }

    fn aead_open(
        alg: AeadAlgorithm,
        key: &[u8],
        nonce: &[u8],
        aad: &[u8],
        msg: &[u8],
    ) -> Result<Vec<u8>, HpkeCryptoError> {
        only_hpke_chacha(alg)?;
        unseal(key, nonce, aad, msg).ok_or(HpkeCryptoError::AeadOpenError)
    }
}

/// HPKE in base mode, the only one MLS uses.
pub fn hpke() -> Hpke<SuiteHpke> {
    Hpke::new(Mode::Base, KemAlgorithm::DhKem25519, KdfAlgorithm::HkdfSha256, AeadAlgorithm::ChaCha20Poly1305)
}
