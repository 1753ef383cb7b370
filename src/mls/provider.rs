//! What OpenMLS is handed: RustCrypto and the scratch.
//!
//! Randomness of MLS is RustCrypto's own, seeded by the system; nothing of ours branches on it.

use openmls_rust_crypto::RustCrypto;
use openmls_traits::OpenMlsProvider;

use super::scratch::Scratch;

impl OpenMlsProvider for Scratch {
    type CryptoProvider = RustCrypto;
    type RandProvider = RustCrypto;
    type StorageProvider = Self;

    fn storage(&self) -> &Self {
        self
    }

    fn crypto(&self) -> &RustCrypto {
        self.rust_crypto()
    }

    fn rand(&self) -> &RustCrypto {
        self.rust_crypto()
    }
}
