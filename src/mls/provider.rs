//! What OpenMLS is handed: the suite's cryptography and the scratch.
//!
//! Randomness of MLS is RustCrypto's own, seeded by the system; nothing of ours branches on it.

use openmls_traits::OpenMlsProvider;

use super::scratch::Scratch;
use super::suite::SuiteCrypto;

impl OpenMlsProvider for Scratch {
    type CryptoProvider = SuiteCrypto;
    type RandProvider = SuiteCrypto;
    type StorageProvider = Self;

    fn storage(&self) -> &Self {
        self
    }

    fn crypto(&self) -> &SuiteCrypto {
        self.suite()
    }

    fn rand(&self) -> &SuiteCrypto {
        self.suite()
    }
}
