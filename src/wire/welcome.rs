//! Welcomes as published, their pointers, and the key-package extensions about them (facts 3.1, 3.2).

use std::fmt;

use prost::Message;

use super::error::decode;
use super::{WireError, proto};

const NAME: &str = "WelcomeMessage";

/// Key-package AEAD number of ChaCha20-Poly1305, the only one pointers use.
pub const AEAD_CHACHA20_POLY1305: i32 = 3;

/// How a Welcome is sealed for its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WelcomeAlgorithm {
    /// HPKE to the key package's init key.
    Curve25519,
    /// HPKE to a post-quantum key of the key package.
    XWingMlKem768Draft6,
    /// A symmetric key that a pointer carries.
    SymmetricKey,
    /// 0 or a number of a later version.
    Unknown(i32),
}

impl From<i32> for WelcomeAlgorithm {
    fn from(number: i32) -> Self {
        match number {
            1 => Self::Curve25519,
            2 => Self::XWingMlKem768Draft6,
            3 => Self::SymmetricKey,
            other => Self::Unknown(other),
        }
    }
}

impl From<WelcomeAlgorithm> for i32 {
    fn from(algorithm: WelcomeAlgorithm) -> Self {
        match algorithm {
            WelcomeAlgorithm::Curve25519 => 1,
            WelcomeAlgorithm::XWingMlKem768Draft6 => 2,
            WelcomeAlgorithm::SymmetricKey => 3,
            WelcomeAlgorithm::Unknown(number) => number,
        }
    }
}

/// A Welcome on its way to one installation, or to a pointer's destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WelcomeInput {
    /// The sealed Welcome itself.
    V1 {
        /// The topic: an installation, or a pointer's destination.
        installation_key: [u8; 32],
        /// The sealed MLS Welcome.
        data: Vec<u8>,
        /// Which of the receiver's keys it is sealed to; empty under a symmetric key.
        hpke_public_key: Vec<u8>,
        /// How it is sealed.
        algorithm: WelcomeAlgorithm,
        /// The sealed [`WelcomeMetadata`].
        metadata: Vec<u8>,
    },
    /// A sealed [`WelcomePointerV1`] to a Welcome shared by several installations.
    Pointer {
        /// The topic.
        installation_key: [u8; 32],
        /// The sealed pointer.
        pointer: Vec<u8>,
        /// Which of the receiver's keys it is sealed to.
        hpke_public_key: Vec<u8>,
        /// How it is sealed.
        algorithm: WelcomeAlgorithm,
    },
}

impl WelcomeInput {
    /// The identifier of the Welcome topic it belongs on.
    pub fn installation_key(&self) -> [u8; 32] {
        match self {
            Self::V1 { installation_key, .. } | Self::Pointer { installation_key, .. } => *installation_key,
        }
    }

    pub(super) fn to_proto(&self) -> proto::WelcomeMessage {
        use proto::welcome_message::{Pointer, V1, Version};
        let version = match self.clone() {
            Self::V1 { installation_key, data, hpke_public_key, algorithm, metadata } => Version::V1(V1 {
                installation_key: installation_key.to_vec(),
                data,
                hpke_public_key,
                wrapper_algorithm: algorithm.into(),
                welcome_metadata: metadata,
            }),
            Self::Pointer { installation_key, pointer, hpke_public_key, algorithm } => {
                Version::WelcomePointer(Pointer {
                    installation_key: installation_key.to_vec(),
                    welcome_pointer: pointer,
                    hpke_public_key,
                    wrapper_algorithm: algorithm.into(),
                })
            }
        };
        proto::WelcomeMessage { version: Some(version) }
    }

    pub(super) fn from_proto(message: proto::WelcomeMessage) -> Result<Self, WireError> {
        use proto::welcome_message::Version;
        let key = |bytes: Vec<u8>| {
            bytes.try_into().map_err(|_| WireError::BadField { message: NAME, field: "installation_key" })
        };
        match message.version {
            Some(Version::V1(v1)) => Ok(Self::V1 {
                installation_key: key(v1.installation_key)?,
                data: v1.data,
                hpke_public_key: v1.hpke_public_key,
                algorithm: v1.wrapper_algorithm.into(),
                metadata: v1.welcome_metadata,
            }),
            Some(Version::WelcomePointer(pointer)) => Ok(Self::Pointer {
                installation_key: key(pointer.installation_key)?,
                pointer: pointer.welcome_pointer,
                hpke_public_key: pointer.hpke_public_key,
                algorithm: pointer.wrapper_algorithm.into(),
            }),
            None => Err(WireError::Missing { message: NAME, field: "version" }),
        }
    }
}

/// Where a shared Welcome lies and how it is opened. Its `Debug` shows no key.
#[derive(Clone, PartialEq, Eq)]
pub struct WelcomePointerV1 {
    /// The topic the Welcome is the first envelope of.
    pub destination: [u8; 32],
    /// The AEAD's number ([`AEAD_CHACHA20_POLY1305`]).
    pub aead_type: i32,
    /// The key, 32 bytes.
    pub encryption_key: [u8; 32],
    /// Nonce of the Welcome.
    pub data_nonce: [u8; 12],
    /// Nonce of the metadata.
    pub metadata_nonce: [u8; 12],
}

impl WelcomePointerV1 {
    /// The plaintext to seal for each receiver.
    pub fn encode(&self) -> Vec<u8> {
        use proto::welcome_pointer::{V1, Version};
        let v1 = V1 {
            destination: self.destination.to_vec(),
            aead_type: self.aead_type,
            encryption_key: self.encryption_key.to_vec(),
            data_nonce: self.data_nonce.to_vec(),
            welcome_metadata_nonce: self.metadata_nonce.to_vec(),
        };
        proto::WelcomePointer { version: Some(Version::WelcomeV1Pointer(v1)) }.encode_to_vec()
    }

    /// Reads an opened pointer; keys and nonces of a wrong length are refused.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        use proto::welcome_pointer::Version;
        const NAME: &str = "WelcomePointer";
        fn fixed<const N: usize>(bytes: &[u8], field: &'static str) -> Result<[u8; N], WireError> {
            bytes.try_into().map_err(|_| WireError::BadField { message: NAME, field })
        }
        let Some(Version::WelcomeV1Pointer(v1)) = decode::<proto::WelcomePointer>(NAME, bytes)?.version
        else {
            return Err(WireError::Missing { message: NAME, field: "version" });
        };
        Ok(Self {
            destination: fixed(&v1.destination, "destination")?,
            aead_type: v1.aead_type,
            encryption_key: fixed(&v1.encryption_key, "encryption_key")?,
            data_nonce: fixed(&v1.data_nonce, "data_nonce")?,
            metadata_nonce: fixed(&v1.welcome_metadata_nonce, "welcome_metadata_nonce")?,
        })
    }
}

impl fmt::Debug for WelcomePointerV1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WelcomePointerV1").field("aead_type", &self.aead_type).finish_non_exhaustive()
    }
}

/// What is sealed beside a Welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WelcomeMetadata {
    /// The anchor: sequence id of the commit that added the receiver (JOIN-036).
    pub message_cursor: u64,
}

impl WelcomeMetadata {
    /// The plaintext to seal. An anchor of 0 encodes as no bytes.
    pub fn encode(&self) -> Vec<u8> {
        proto::WelcomeMetadata { message_cursor: self.message_cursor }.encode_to_vec()
    }

    /// Reads opened metadata.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let metadata: proto::WelcomeMetadata = decode("WelcomeMetadata", bytes)?;
        Ok(Self { message_cursor: metadata.message_cursor })
    }
}

/// Key-package extension 0xFF03: a key that Welcomes may be sealed to instead of the init key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WelcomeWrapperKey {
    /// The public key.
    pub public_key: Vec<u8>,
    /// What it is for.
    pub algorithm: WelcomeAlgorithm,
}

impl WelcomeWrapperKey {
    /// The extension's bytes.
    pub fn encode(&self) -> Vec<u8> {
        proto::WelcomeWrapperEncryption { pub_key: self.public_key.clone(), algorithm: self.algorithm.into() }
            .encode_to_vec()
    }

    /// Reads the extension.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let key: proto::WelcomeWrapperEncryption = decode("WelcomeWrapperEncryption", bytes)?;
        Ok(Self { public_key: key.pub_key, algorithm: key.algorithm.into() })
    }
}

/// Key-package extension 0xFF04: the AEADs a receiver accepts for shared Welcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WelcomePointeeAeadTypes(pub Vec<i32>);

impl WelcomePointeeAeadTypes {
    /// The extension's bytes.
    pub fn encode(&self) -> Vec<u8> {
        proto::WelcomePointeeAeadTypes { supported_aead_types: self.0.clone() }.encode_to_vec()
    }

    /// Reads the extension.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let types: proto::WelcomePointeeAeadTypes = decode("WelcomePointeeAeadTypes", bytes)?;
        Ok(Self(types.supported_aead_types))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ClientEnvelope;
    use super::*;

    fn pointer() -> WelcomePointerV1 {
        WelcomePointerV1 {
            destination: [1; 32],
            aead_type: AEAD_CHACHA20_POLY1305,
            encryption_key: [2; 32],
            data_nonce: [3; 12],
            metadata_nonce: [4; 12],
        }
    }

    #[test]
    fn inline_welcomes_use_the_service_numbers() {
        let welcome = WelcomeInput::V1 {
            installation_key: [9; 32],
            data: vec![1],
            hpke_public_key: vec![2],
            algorithm: WelcomeAlgorithm::Curve25519,
            metadata: vec![3],
        };
        let encoded = welcome.to_proto().encode_to_vec();
        assert_eq!(encoded[..4], [0x0a, 45, 0x0a, 32]);
        assert_eq!(encoded[36..], [0x12, 1, 1, 0x1a, 1, 2, 0x20, 1, 0x2a, 1, 3]);
    }

    #[test]
    fn a_welcome_without_version_or_with_a_short_key_is_refused() {
        let missing = WireError::Missing { message: NAME, field: "version" };
        assert_eq!(ClientEnvelope::decode(&[0x12, 0]), Err(missing));
        let short = WireError::BadField { message: NAME, field: "installation_key" };
        assert_eq!(ClientEnvelope::decode(&[0x12, 5, 0x0a, 3, 0x0a, 1, 7]), Err(short));
    }

    #[test]
    fn pointers_round_trip_and_refuse_wrong_lengths() {
        let bytes = pointer().encode();
        assert_eq!(WelcomePointerV1::decode(&bytes), Ok(pointer()));
        // The last field is the metadata nonce: shorten it by one byte, and both lengths above it.
        let mut short = bytes.clone();
        short.pop();
        let nonce_len = short.len() - 12;
        short[nonce_len] = 11;
        short[1] -= 1;
        let bad = WireError::BadField { message: "WelcomePointer", field: "welcome_metadata_nonce" };
        assert_eq!(WelcomePointerV1::decode(&short), Err(bad));
        let missing = WireError::Missing { message: "WelcomePointer", field: "version" };
        assert_eq!(WelcomePointerV1::decode(&[]), Err(missing));
    }

    #[test]
    fn metadata_and_extensions_round_trip() {
        for message_cursor in [0, 1, u64::MAX] {
            let metadata = WelcomeMetadata { message_cursor };
            assert_eq!(WelcomeMetadata::decode(&metadata.encode()), Ok(metadata));
        }
        let key = WelcomeWrapperKey { public_key: vec![5; 32], algorithm: WelcomeAlgorithm::Unknown(9) };
        assert_eq!(WelcomeWrapperKey::decode(&key.encode()), Ok(key));
        let types = WelcomePointeeAeadTypes(vec![AEAD_CHACHA20_POLY1305]);
        assert_eq!(types.encode(), [0x0a, 1, 3]);
        assert_eq!(WelcomePointeeAeadTypes::decode(&types.encode()), Ok(types));
    }

    proptest! {
        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = WelcomePointerV1::decode(&bytes);
            let _ = WelcomeMetadata::decode(&bytes);
            let _ = WelcomeWrapperKey::decode(&bytes);
            let _ = WelcomePointeeAeadTypes::decode(&bytes);
        }
    }
}
