//! The installation key: signs leaves and messages, and is the installation's id.

use std::fmt;

use ed25519_dalek::{Signer as _, SigningKey};
use openmls_traits::signatures::{Signer, SignerError};
use openmls_traits::types::SignatureScheme;

use crate::base::InstallationId;

/// An installation's Ed25519 key pair. Cleared from memory when dropped.
pub struct InstallationKeys(SigningKey);

impl InstallationKeys {
    /// The keys of a 32-byte seed.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(SigningKey::from_bytes(&seed))
    }

    /// The installation: the public key.
    pub fn id(&self) -> InstallationId {
        InstallationId(self.0.verifying_key().to_bytes())
    }
}

impl fmt::Debug for InstallationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InstallationKeys").field(&self.id()).finish()
    }
}

impl Signer for InstallationKeys {
    fn sign(&self, payload: &[u8]) -> Result<Vec<u8>, SignerError> {
        Ok(self.0.sign(payload).to_bytes().to_vec())
    }

    fn signature_scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}
