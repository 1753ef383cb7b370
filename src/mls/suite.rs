//! The cryptography of the one suite the protocol uses (0x0003), and of no other.
//!
//! OpenMLS's RustCrypto provider picks every algorithm at run time, so it brings every suite's
//! curves and ciphers into the download. Here each algorithm of the suite is called in the crate it
//! comes from, the very crates RustCrypto calls: hpke-rs over x25519-dalek, ed25519-dalek, hkdf and
//! sha2, chacha20poly1305. Any other algorithm is an error.

use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use hkdf::Hkdf;
use hpke_rs::{Hpke, HpkeError};
use openmls_traits::crypto::OpenMlsCrypto;
use openmls_traits::random::OpenMlsRand;
use openmls_traits::types::{
    AeadType, Ciphersuite, CryptoError, ExporterSecret, HashType, HpkeAeadType, HpkeCiphertext, HpkeConfig,
    HpkeKdfType, HpkeKemType, HpkeKeyPair, SignatureScheme,
};
use sha2::{Digest, Sha256};
use tls_codec::SecretVLBytes;

use super::hpke::{SuiteHpke, hpke};

/// Fails with `other` for any algorithm but the suite's.
pub(super) fn only<A: PartialEq, E>(asked: A, ours: A, other: E) -> Result<(), E> {
    if asked == ours { Ok(()) } else { Err(other) }
}

fn only_sha256(hash: HashType) -> Result<(), CryptoError> {
    only(hash, HashType::Sha2_256, CryptoError::UnsupportedHashAlgorithm)
}

fn only_chacha(alg: AeadType) -> Result<(), CryptoError> {
    only(alg, AeadType::ChaCha20Poly1305, CryptoError::UnsupportedAeadAlgorithm)
}

fn only_ed25519(alg: SignatureScheme) -> Result<(), CryptoError> {
    only(alg, SignatureScheme::ED25519, CryptoError::UnsupportedSignatureScheme)
}

/// HMAC-SHA256 under `salt`, which is what HKDF extracts with (RFC 5869 section 2.2).
pub(super) fn extract(salt: &[u8], ikm: &[u8]) -> Vec<u8> {
    Hkdf::<Sha256>::extract(Some(salt), ikm).0.to_vec()
}

pub(super) fn expand(prk: &[u8], info: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut okm = vec![0; length];
    Hkdf::<Sha256>::from_prk(prk).ok()?.expand(info, &mut okm).ok()?;
    Some(okm)
}

pub(super) fn seal(key: &[u8], nonce: &[u8], aad: &[u8], msg: &[u8]) -> Option<Vec<u8>> {
    let nonce: &[u8; 12] = nonce.try_into().ok()?;
    ChaCha20Poly1305::new_from_slice(key).ok()?.encrypt(nonce.into(), Payload { msg, aad }).ok()
}

pub(super) fn unseal(key: &[u8], nonce: &[u8], aad: &[u8], msg: &[u8]) -> Option<Vec<u8>> {
    let nonce: &[u8; 12] = nonce.try_into().ok()?;
    ChaCha20Poly1305::new_from_slice(key).ok()?.decrypt(nonce.into(), Payload { msg, aad }).ok()
}

fn configured(config: &HpkeConfig) -> Result<Hpke<SuiteHpke>, CryptoError> {
    match config {
        HpkeConfig(HpkeKemType::DhKem25519, HpkeKdfType::HkdfSha256, HpkeAeadType::ChaCha20Poly1305) => {
            Ok(hpke())
        }
        _ => Err(CryptoError::UnsupportedCiphersuite),
    }
}

/// What OpenMLS computes with.
#[derive(Debug, Default)]
pub struct SuiteCrypto;

/// The platform has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the platform gives no random numbers")]
pub struct NoRandomness;

impl OpenMlsRand for SuiteCrypto {
    type Error = NoRandomness;

    fn random_array<const N: usize>(&self) -> Result<[u8; N], Self::Error> {
        let mut out = [0; N];
        getrandom::fill(&mut out).map_err(|_| NoRandomness)?;
        Ok(out)
    }

    fn random_vec(&self, len: usize) -> Result<Vec<u8>, Self::Error> {
        let mut out = vec![0; len];
        getrandom::fill(&mut out).map_err(|_| NoRandomness)?;
        Ok(out)
    }
}

impl OpenMlsCrypto for SuiteCrypto {
    fn supports(&self, ciphersuite: Ciphersuite) -> Result<(), CryptoError> {
        match ciphersuite {
            super::profile::SUITE => Ok(()),
            _ => Err(CryptoError::UnsupportedCiphersuite),
        }
    }

    fn supported_ciphersuites(&self) -> Vec<Ciphersuite> {
        vec![super::profile::SUITE]
    }

    fn hkdf_extract(&self, hash: HashType, salt: &[u8], ikm: &[u8]) -> Result<SecretVLBytes, CryptoError> {
        only_sha256(hash)?;
        Ok(extract(salt, ikm).into())
    }

    fn hmac(&self, hash: HashType, key: &[u8], message: &[u8]) -> Result<SecretVLBytes, CryptoError> {
        only_sha256(hash)?;
        Ok(extract(key, message).into())
    }

    fn hkdf_expand(
        &self,
        hash: HashType,
        prk: &[u8],
        info: &[u8],
        len: usize,
    ) -> Result<SecretVLBytes, CryptoError> {
        only_sha256(hash)?;
        expand(prk, info, len).map(Into::into).ok_or(CryptoError::HkdfOutputLengthInvalid)
    }

    fn hash(&self, hash: HashType, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
        only_sha256(hash)?;
        Ok(Sha256::digest(data).to_vec())
    }

    fn aead_encrypt(
        &self,
        alg: AeadType,
        key: &[u8],
        data: &[u8],
        nonce: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        only_chacha(alg)?;
        seal(key, nonce, aad, data).ok_or(CryptoError::CryptoLibraryError)
    }

    fn aead_decrypt(
        &self,
        alg: AeadType,
        key: &[u8],
        ct_tag: &[u8],
        nonce: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        only_chacha(alg)?;
        unseal(key, nonce, aad, ct_tag).ok_or(CryptoError::AeadDecryptionError)
    }

    fn signature_key_gen(&self, alg: SignatureScheme) -> Result<(Vec<u8>, Vec<u8>), CryptoError> {
        only_ed25519(alg)?;
        let seed = self.random_array().map_err(|_| CryptoError::InsufficientRandomness)?;
        let key = SigningKey::from_bytes(&seed);
        Ok((seed.to_vec(), key.verifying_key().to_bytes().to_vec()))
    }

    fn verify_signature(
        &self,
        alg: SignatureScheme,
        data: &[u8],
        pk: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        only_ed25519(alg)?;
        let key = VerifyingKey::try_from(pk).map_err(|_| CryptoError::CryptoLibraryError)?;
        let signature = Signature::from_slice(signature).map_err(|_| CryptoError::CryptoLibraryError)?;
        key.verify_strict(data, &signature).map_err(|_| CryptoError::InvalidSignature)
    }

    fn sign(&self, alg: SignatureScheme, data: &[u8], key: &[u8]) -> Result<Vec<u8>, CryptoError> {
        only_ed25519(alg)?;
        let key = SigningKey::try_from(key).map_err(|_| CryptoError::CryptoLibraryError)?;
        Ok(key.sign(data).to_bytes().to_vec())
    }

    fn hpke_seal(
        &self,
        config: HpkeConfig,
        pk_r: &[u8],
        info: &[u8],
        aad: &[u8],
        ptxt: &[u8],
    ) -> Result<HpkeCiphertext, CryptoError> {
        let (kem_output, ciphertext) =
            configured(&config)?.seal(&pk_r.into(), info, aad, ptxt, None, None, None).map_err(refused)?;
        Ok(HpkeCiphertext { kem_output: kem_output.into(), ciphertext: ciphertext.into() })
    }

    fn hpke_open(
        &self,
        config: HpkeConfig,
        input: &HpkeCiphertext,
        sk_r: &[u8],
        info: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        let (kem_output, ciphertext) = (input.kem_output.as_slice(), input.ciphertext.as_slice());
        configured(&config)?
            .open(kem_output, &sk_r.into(), info, aad, ciphertext, None, None, None)
            .map_err(|_| CryptoError::HpkeDecryptionError)
    }

    fn hpke_setup_sender_and_export(
        &self,
        config: HpkeConfig,
        pk_r: &[u8],
        info: &[u8],
        exporter_context: &[u8],
        exporter_length: usize,
    ) -> Result<(Vec<u8>, ExporterSecret), CryptoError> {
        let (kem_output, context) = configured(&config)?
            .setup_sender(&pk_r.into(), info, None, None, None)
            .map_err(|_| CryptoError::SenderSetupError)?;
        let exported = context.export(exporter_context, exporter_length);
        Ok((kem_output, exported.map_err(|_| CryptoError::ExporterError)?.into()))
    }

    fn hpke_setup_receiver_and_export(
        &self,
        config: HpkeConfig,
        enc: &[u8],
        sk_r: &[u8],
        info: &[u8],
        exporter_context: &[u8],
        exporter_length: usize,
    ) -> Result<ExporterSecret, CryptoError> {
        let context = configured(&config)?
            .setup_receiver(enc, &sk_r.into(), info, None, None, None)
            .map_err(|_| CryptoError::ReceiverSetupError)?;
        let exported = context.export(exporter_context, exporter_length);
        Ok(exported.map_err(|_| CryptoError::ExporterError)?.into())
    }

    fn derive_hpke_keypair(&self, config: HpkeConfig, ikm: &[u8]) -> Result<HpkeKeyPair, CryptoError> {
        let (private, public) = configured(&config)?.derive_key_pair(ikm).map_err(refused)?.into_keys();
        Ok(HpkeKeyPair { private: private.as_slice().into(), public: public.as_slice().into() })
    }
}

fn refused(error: HpkeError) -> CryptoError {
    match error {
        HpkeError::InvalidInput => CryptoError::InvalidLength,
        _ => CryptoError::CryptoLibraryError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpke_rs_crypto::HpkeCrypto as _;
    use hpke_rs_crypto::types::KemAlgorithm;
    use openmls_rust_crypto::RustCrypto;

    const CONFIG: HpkeConfig =
        HpkeConfig(HpkeKemType::DhKem25519, HpkeKdfType::HkdfSha256, HpkeAeadType::ChaCha20Poly1305);

    #[test]
    fn computes_what_rust_crypto_computes() {
        let (ours, theirs) = (SuiteCrypto, RustCrypto::default());
        let pair = ours.derive_hpke_keypair(CONFIG, &[7; 32]).unwrap();
        let same = theirs.derive_hpke_keypair(CONFIG, &[7; 32]).unwrap();
        assert_eq!((&pair.public, pair.private.as_ref()), (&same.public, same.private.as_ref()));
        for (seal, open) in [(true, false), (false, true)] {
            let sealed = match seal {
                true => ours.hpke_seal(CONFIG, &pair.public, b"info", b"aad", b"text"),
                false => theirs.hpke_seal(CONFIG, &pair.public, b"info", b"aad", b"text"),
            };
            let sealed = sealed.unwrap();
            let opened = match open {
                true => ours.hpke_open(CONFIG, &sealed, &pair.private, b"info", b"aad"),
                false => theirs.hpke_open(CONFIG, &sealed, &pair.private, b"info", b"aad"),
            };
            assert_eq!(opened.unwrap(), b"text");
            assert!(ours.hpke_open(CONFIG, &sealed, &pair.private, b"info", b"other").is_err());
        }
    }

    #[test]
    fn derives_seals_and_signs_what_rust_crypto_does() {
        let (ours, theirs) = (SuiteCrypto, RustCrypto::default());
        let (hash, aead) = (HashType::Sha2_256, AeadType::ChaCha20Poly1305);
        for key in [b"".as_slice(), b"key", &[7; 64], &[9; 100]] {
            assert_eq!(ours.hmac(hash, key, b"m").unwrap(), theirs.hmac(hash, key, b"m").unwrap());
            let prk = ours.hkdf_extract(hash, key, b"ikm").unwrap();
            assert_eq!(prk, theirs.hkdf_extract(hash, key, b"ikm").unwrap());
            let (a, b) = (
                ours.hkdf_expand(hash, prk.as_slice(), key, 77),
                theirs.hkdf_expand(hash, prk.as_slice(), key, 77),
            );
            assert_eq!(a.unwrap(), b.unwrap());
        }
        assert!(ours.hkdf_expand(hash, &[1; 32], b"", 255 * 32 + 1).is_err());
        assert!(ours.hkdf_expand(hash, &[1; 31], b"", 32).is_err());
        assert_eq!(ours.hash(hash, b"data"), theirs.hash(hash, b"data"));
        let sealed = ours.aead_encrypt(aead, &[1; 32], b"text", &[2; 12], b"aad").unwrap();
        assert_eq!(sealed, theirs.aead_encrypt(aead, &[1; 32], b"text", &[2; 12], b"aad").unwrap());
        assert_eq!(ours.aead_decrypt(aead, &[1; 32], &sealed, &[2; 12], b"aad").unwrap(), b"text");
        let other = ours.aead_decrypt(aead, &[1; 32], &sealed, &[2; 12], b"other");
        assert_eq!(other, Err(CryptoError::AeadDecryptionError));
        assert!(ours.aead_encrypt(aead, &[1; 31], b"", &[2; 12], b"").is_err());
        assert!(ours.aead_encrypt(aead, &[1; 32], b"", &[2; 11], b"").is_err());
        let (private, public) = ours.signature_key_gen(SignatureScheme::ED25519).unwrap();
        let signature = ours.sign(SignatureScheme::ED25519, b"data", &private).unwrap();
        assert_eq!(signature, theirs.sign(SignatureScheme::ED25519, b"data", &private).unwrap());
        let verify = |data: &[u8], signature: &[u8]| {
            let ours = ours.verify_signature(SignatureScheme::ED25519, data, &public, signature);
            assert_eq!(ours, theirs.verify_signature(SignatureScheme::ED25519, data, &public, signature));
            ours.is_ok()
        };
        assert!(verify(b"data", &signature));
        assert!(!verify(b"other", &signature) && !verify(b"data", &signature[..63]));
        assert_ne!(ours.random_array::<16>().unwrap().to_vec(), ours.random_vec(16).unwrap());
    }

    #[test]
    fn refuses_other_suites_and_low_order_keys() {
        let ours = SuiteCrypto;
        let other =
            HpkeConfig(HpkeKemType::DhKemP256, HpkeKdfType::HkdfSha256, HpkeAeadType::ChaCha20Poly1305);
        assert!(ours.derive_hpke_keypair(other, &[7; 32]).is_err());
        assert!(ours.hash(HashType::Sha2_512, b"").is_err());
        assert!(ours.aead_encrypt(AeadType::Aes128Gcm, &[0; 16], b"", &[0; 12], b"").is_err());
        assert!(ours.signature_key_gen(SignatureScheme::ECDSA_SECP256R1_SHA256).is_err());
        assert!(SuiteHpke::dh(KemAlgorithm::DhKem25519, &[0; 32], &[7; 32]).is_err());
        assert!(SuiteHpke::dh(KemAlgorithm::DhKem25519, &[1; 31], &[7; 32]).is_err());
    }
}
