//! Sealing of row bodies: XChaCha20-Poly1305 under the database's data key.
//!
//! A sealed body is a random 24-byte nonce, the ciphertext and the tag. Table, key and revision
//! are additional data, so a body opens only in the row it was written to. The nonce is long
//! enough to be drawn at random for every write.

use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};

use crate::store::{StoreError, Table};

const NONCE: usize = 24;
const TAG: usize = 16;

/// Where a row is: what its body is bound to.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) table: Table,
    pub(super) key: &'a [u8],
    pub(super) revision: u64,
}

impl Place<'_> {
    /// Table number and revision have a fixed length, so no two places read alike.
    fn bytes(&self) -> Vec<u8> {
        [&[self.table as u8], self.key, &self.revision.to_be_bytes()].concat()
    }
}

/// Seals and opens rows. Its key is wiped from memory when it is dropped.
pub(super) struct Sealer(XChaCha20Poly1305);

impl Sealer {
    /// A sealer under a data key.
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    /// Seals the body of the row at `place`.
    pub(super) fn seal(&self, place: Place<'_>, body: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.seal_with(&place.bytes(), body)
    }

    /// Opens the body of the row at `place`.
    pub(super) fn open(&self, place: Place<'_>, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.open_with(&place.bytes(), sealed).ok_or_else(|| {
            StoreError::Corrupt(format!("a row of table {} does not open", place.table.name()))
        })
    }

    /// Seals `body`, bound to `aad`.
    pub(super) fn seal_with(&self, aad: &[u8], body: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut out = vec![0; NONCE];
        fill(&mut out)?;
        out.reserve_exact(body.len() + TAG);
        out.extend_from_slice(body);
        let (nonce, text) = out.split_at_mut(NONCE);
        let tag = self
            .0
            .encrypt_in_place_detached(XNonce::from_slice(nonce), aad, text)
            .map_err(|_| StoreError::Failed("a row is too large to seal".into()))?;
        out.extend_from_slice(&tag);
        Ok(out)
    }

    /// Opens what [`Self::seal_with`] sealed; `None` for anything else.
    pub(super) fn open_with(&self, aad: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_at_checked(NONCE)?;
        let (text, tag) = rest.split_at_checked(rest.len().checked_sub(TAG)?)?;
        let mut body = text.to_vec();
        let tag = Tag::from_slice(tag);
        self.0.decrypt_in_place_detached(XNonce::from_slice(nonce), aad, &mut body, tag).ok()?;
        Some(body)
    }
}

/// Fills `out` from the browser's generator, which works without a secure context too.
pub(super) fn fill(out: &mut [u8]) -> Result<(), StoreError> {
    getrandom::fill(out)
        .map_err(|_| StoreError::Unavailable("there is no source of random bytes here".into()))
}
