//! The form of an archive: `u16` version, 12-byte nonce, and a zstd stream of frames; a frame is
//! `u32` length and one sealed element (facts 6.3, 12.6: ARCH-001, 002, 003, 012, 018). Numbers are
//! little-endian.
//!
//! A frame's nonce is the archive's plus the frame's number. Older writers used one nonce for all
//! frames; so where a frame does not open, the nonce before is tried too, and reading goes on from
//! the one that opened it.

use aes_gcm::aead::{AeadInPlace, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};

use super::VERSION;
use super::zstd::{self, BLOCK, Unpacker};
use crate::error::Error;

const NONCE: usize = 12;
const TAG: usize = 16;
const HEADER: usize = 2 + NONCE;
/// Bytes of the longest frame that is read.
const MAX_FRAME: usize = 32 * 1024 * 1024;
/// Buffered bytes that were read are dropped when there are so many.
const DROPPED: usize = 1024 * 1024;

/// What a step of reading gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// An element, opened.
    Element(Vec<u8>),
    /// None is whole yet.
    More,
    /// There is none left.
    End,
}

/// An archive being read.
pub struct Reader {
    stream: Unpacker,
    cipher: Aes256Gcm,
    /// The nonce of the next frame.
    nonce: u128,
    /// Unpacked, from `at` on not read yet.
    plain: Vec<u8>,
    at: usize,
    opened: bool,
}

impl Reader {
    /// Begins to read; no frame is touched before the version is known.
    ///
    /// # Errors
    /// `archive.key` unless the key has 32 bytes; `archive.truncated`; `archive.version`.
    pub fn open(input: Vec<u8>, key: &[u8]) -> Result<Self, Error> {
        let cipher = cipher(key)?;
        let version = input.first_chunk().map(|bytes| u16::from_le_bytes(*bytes)).ok_or_else(truncated)?;
        if version > VERSION {
            return Err(Error::new(
                "archive.version",
                format!(
                    "the file has format {version}, this version reads archives up to {VERSION}: it is of a \
                     newer app, so update this one, or no archive at all"
                ),
            ));
        }
        let base = input.get(2..HEADER).ok_or_else(truncated)?;
        let mut nonce = [0; 16];
        nonce[..NONCE].copy_from_slice(base);
        let nonce = u128::from_le_bytes(nonce);
        let stream = Unpacker::new(input, HEADER);
        Ok(Self { stream, cipher, nonce, plain: Vec::new(), at: 0, opened: false })
    }

    /// How many bytes of the archive were read, of how many.
    pub fn progress(&self) -> (usize, usize) {
        (self.stream.position(), self.stream.len())
    }

    /// The next element, or one step towards it.
    ///
    /// # Errors
    /// `archive.truncated`; `archive.malformed`; `archive.key` when the first frame does not open,
    /// `archive.altered` when a later one does not.
    pub fn step(&mut self) -> Result<Frame, Error> {
        if let Some(sealed) = self.frame()? {
            return self.unseal(&sealed).map(Frame::Element);
        }
        if self.stream.step(&mut self.plain)? {
            return Ok(Frame::More);
        }
        // An archive has at least its metadata, and ends behind a frame.
        if self.opened && self.at == self.plain.len() { Ok(Frame::End) } else { Err(truncated()) }
    }

    /// The next frame, once it is whole.
    fn frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let rest = &self.plain[self.at..];
        let Some((length, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if !(TAG..=MAX_FRAME).contains(&length) {
            return Err(malformed("an element has an impossible length"));
        }
        let Some(sealed) = rest.get(..length) else { return Ok(None) };
        let sealed = sealed.to_vec();
        self.at += 4 + length;
        if self.at >= DROPPED || self.at == self.plain.len() {
            self.plain.drain(..self.at);
            self.at = 0;
        }
        Ok(Some(sealed))
    }

    fn unseal(&mut self, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let (text, tag) = sealed.split_at(sealed.len() - TAG);
        for nonce in [self.nonce, self.nonce.wrapping_sub(1)] {
            let mut text = text.to_vec();
            let opened =
                self.cipher.decrypt_in_place_detached(&bytes_of(nonce), &[], &mut text, Tag::from_slice(tag));
            if opened.is_ok() {
                self.nonce = nonce.wrapping_add(1);
                self.opened = true;
                return Ok(text);
            }
        }
        Err(match self.opened {
            false => {
                Error::new("archive.key", "the key does not open the archive, or the archive was altered")
            }
            true => Error::new(
                "archive.altered",
                "an element of the archive was altered; nothing behind it is read",
            ),
        })
    }
}

/// An archive being written.
pub struct Writer {
    cipher: Aes256Gcm,
    nonce: u128,
    /// Written and not taken yet.
    out: Vec<u8>,
    /// Frames not in a block yet.
    frames: Vec<u8>,
}

impl Writer {
    /// Begins an archive; `nonce` is random.
    ///
    /// # Errors
    /// `archive.key` unless the key has 32 bytes.
    pub fn new(key: &[u8], nonce: [u8; NONCE]) -> Result<Self, Error> {
        let mut base = [0; 16];
        base[..NONCE].copy_from_slice(&nonce);
        let mut out = VERSION.to_le_bytes().to_vec();
        out.extend(nonce);
        zstd::begin(&mut out);
        Ok(Self { cipher: cipher(key)?, nonce: u128::from_le_bytes(base), out, frames: Vec::new() })
    }

    /// Adds an element.
    ///
    /// # Errors
    /// `bug.internal` for an element too large for the cipher.
    pub fn push(&mut self, element: &[u8]) -> Result<(), Error> {
        let mut text = element.to_vec();
        let tag = self.cipher.encrypt_in_place_detached(&bytes_of(self.nonce), &[], &mut text);
        let tag = tag.map_err(|_| Error::bug("an element too large to seal"))?;
        self.nonce = self.nonce.wrapping_add(1);
        self.frames.extend(((text.len() + TAG) as u32).to_le_bytes());
        self.frames.extend(text);
        self.frames.extend(tag);
        while self.frames.len() > BLOCK {
            zstd::block(&mut self.out, &self.frames[..BLOCK], false);
            self.frames.drain(..BLOCK);
        }
        Ok(())
    }

    /// What was written since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Ends the archive: the rest of it.
    pub fn finish(mut self) -> Vec<u8> {
        zstd::block(&mut self.out, &self.frames, true);
        self.out
    }
}

/// The low 12 bytes: counting is modulo 2^96.
fn bytes_of(nonce: u128) -> Nonce<aes_gcm::aead::consts::U12> {
    *Nonce::from_slice(&nonce.to_le_bytes()[..NONCE])
}

fn cipher(key: &[u8]) -> Result<Aes256Gcm, Error> {
    Aes256Gcm::new_from_slice(key).map_err(|_| {
        let length = key.len();
        Error::new("archive.key", format!("the key of an archive has 32 bytes, this one has {length}"))
    })
}

pub(super) fn truncated() -> Error {
    Error::new("archive.truncated", "the archive ends too early; what came before that is imported")
}

pub(super) fn malformed(what: &str) -> Error {
    Error::new("archive.malformed", format!("this is no archive that can be read: {what}"))
}
