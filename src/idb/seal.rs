//! Sealing of row bodies: XChaCha20-Poly1305 under the database's data key.
//!
//! A sealed body is a random 24-byte nonce, the ciphertext and the tag. Table, key and revision
//! are additional data, so a body opens only in the row it was written to. The nonce is long
//! enough to be drawn at random for every write.
//!
//! A row read again, byte for byte the same, is not opened again. What was opened is let go of when
//! this store writes over its row or deletes it: nothing taken back stays in memory for that.

use std::cell::RefCell;

use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};

use crate::store::{StoreError, Table, Write};

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

/// Rows kept open.
const KEPT: usize = 1024;
/// Greatest sealed row that is kept open, in bytes.
const KEPT_BYTES: usize = 1024;

/// Seals and opens rows. Its key is wiped from memory when it is dropped.
pub(super) struct Sealer {
    cipher: XChaCha20Poly1305,
    /// Rows opened lately, each at a place that its table and key choose: those that lists and pages
    /// show are read over and over.
    kept: RefCell<Vec<Option<Kept>>>,
}

/// A row that was opened.
struct Kept {
    aad: Vec<u8>,
    sealed: Vec<u8>,
    body: Vec<u8>,
}

impl Kept {
    /// The table and the key of its row; behind them is the revision.
    fn place(&self) -> Option<(u8, &[u8])> {
        let (place, _) = self.aad.split_at_checked(self.aad.len().checked_sub(8)?)?;
        place.split_first().map(|(table, key)| (*table, key))
    }

    fn is(&self, table: Table, key: &[u8]) -> bool {
        self.place() == Some((table as u8, key))
    }

    fn lies(&self, table: Table, from: &[u8], to: &[u8]) -> bool {
        self.place().is_some_and(|(of, key)| of == table as u8 && (from..to).contains(&key))
    }
}

/// What a unit wrote over or deleted, of the rows that are kept open.
pub(super) enum Written {
    /// A row.
    Row(Table, Vec<u8>),
    /// Those with keys from the first to before the second.
    Rows(Table, Vec<u8>, Vec<u8>),
}

impl Written {
    /// What a write does to rows that may be kept.
    pub(super) fn of(write: &Write) -> Option<Self> {
        match write {
            Write::Put { table, key, .. } | Write::Delete { table, key } if is_shown(*table) => {
                Some(Self::Row(*table, key.clone()))
            }
            Write::DeleteRange { table, from, to } if is_shown(*table) => {
                Some(Self::Rows(*table, from.clone(), to.clone()))
            }
            _ => None,
        }
    }
}

impl Sealer {
    /// A sealer under a data key.
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self { cipher: XChaCha20Poly1305::new(key.into()), kept: RefCell::default() }
    }

    /// Seals the body of the row at `place`.
    pub(super) fn seal(&self, place: Place<'_>, body: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.seal_with(&place.bytes(), body)
    }

    /// Opens the body of the row at `place`.
    pub(super) fn open(&self, place: Place<'_>, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let aad = place.bytes();
        let at = kept_at(place.table, place.key).filter(|_| sealed.len() <= KEPT_BYTES);
        if let Some(at) = at
            && let Some(Some(kept)) = self.kept.borrow().get(at)
            && kept.sealed == sealed
            && kept.aad == aad
        {
            return Ok(kept.body.clone());
        }
        let body = self.open_with(&aad, sealed).ok_or_else(|| {
            StoreError::Corrupt(format!("a row of table {} does not open", place.table.name()))
        })?;
        if let Some(at) = at {
            let mut kept = self.kept.borrow_mut();
            kept.resize_with(KEPT, || None);
            kept[at] = Some(Kept { aad, sealed: sealed.to_vec(), body: body.clone() });
        }
        Ok(body)
    }

    /// Lets go of rows that were written over or deleted.
    pub(super) fn let_go(&self, written: &[Written]) {
        let mut kept = self.kept.borrow_mut();
        if kept.is_empty() {
            return;
        }
        for written in written {
            match written {
                Written::Row(table, key) => {
                    let slot = kept_at(*table, key).and_then(|at| kept.get_mut(at));
                    if let Some(slot) =
                        slot.filter(|slot| slot.as_ref().is_some_and(|one| one.is(*table, key)))
                    {
                        *slot = None;
                    }
                }
                Written::Rows(table, from, to) => {
                    let within = |slot: &&mut Option<Kept>| {
                        slot.as_ref().is_some_and(|one| one.lies(*table, from, to))
                    };
                    kept.iter_mut().filter(within).for_each(|slot| *slot = None);
                }
            }
        }
    }

    /// Whether an opened row with this body is kept.
    #[cfg(feature = "contract")]
    pub(super) fn keeps(&self, body: &[u8]) -> bool {
        self.kept.borrow().iter().flatten().any(|kept| kept.body == body)
    }

    /// Lets go of what was opened.
    pub(super) fn forget(&self) {
        self.kept.take();
    }

    /// Seals `body`, bound to `aad`.
    pub(super) fn seal_with(&self, aad: &[u8], body: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut out = vec![0; NONCE];
        fill(&mut out)?;
        out.reserve_exact(body.len() + TAG);
        out.extend_from_slice(body);
        let (nonce, text) = out.split_at_mut(NONCE);
        let tag = self
            .cipher
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
        self.cipher.decrypt_in_place_detached(XNonce::from_slice(nonce), aad, &mut body, tag).ok()?;
        Some(body)
    }
}

/// True for tables whose rows lists and pages show.
fn is_shown(table: Table) -> bool {
    use Table::{Consent, Groups, Listing, Messages, Threads};
    matches!(table, Messages | Groups | Threads | Listing | Consent)
}

/// Where a row is kept, if it is one that is shown.
fn kept_at(table: Table, key: &[u8]) -> Option<usize> {
    // FNV-1a.
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
    let hash = key.iter().fold(2_166_136_261 ^ table as u32, mix);
    is_shown(table).then_some((hash ^ (hash >> 16)) as usize % KEPT)
}

/// Fills `out` from the browser's generator, which works without a secure context too.
pub(super) fn fill(out: &mut [u8]) -> Result<(), StoreError> {
    getrandom::fill(out)
        .map_err(|_| StoreError::Unavailable("there is no source of random bytes here".into()))
}
