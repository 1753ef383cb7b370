//! The zstd stream of an archive: written as raw blocks, read in whatever form it has.

use std::io::{self, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::container::{malformed, truncated};
use crate::error::Error;

/// Bytes of a written block, and the window a reader needs.
pub(super) const BLOCK: usize = 64 * 1024;
/// Magic number; no checksum, size or dictionary; a window of [`BLOCK`] bytes.
const HEADER: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x30];
/// The greatest window that is read: what zstd's own tools need a flag for is refused.
const MAX_WINDOW: u64 = 128 * 1024 * 1024;

/// Begins a stream.
pub(super) fn begin(out: &mut Vec<u8>) {
    out.extend(HEADER);
}

/// Adds a block of at most [`BLOCK`] bytes.
pub(super) fn block(out: &mut Vec<u8>, bytes: &[u8], last: bool) {
    let header = (bytes.len() as u32) << 3 | u32::from(last);
    out.extend(&header.to_le_bytes()[..3]);
    out.extend(bytes);
}

/// A stream being read, block by block.
pub(super) struct Unpacker {
    input: Vec<u8>,
    at: usize,
    decoder: FrameDecoder,
    begun: bool,
}

impl Unpacker {
    /// The stream in `input` from `at` on.
    pub fn new(input: Vec<u8>, at: usize) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { input, at, decoder, begun: false }
    }

    /// How many bytes of the input were read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.input.len()
    }

    /// Reads a header or a block and adds to `out` what can be given out by then; false at the end.
    ///
    /// # Errors
    /// `archive.truncated` when the input ends within the stream, `archive.malformed`.
    pub fn step(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        let next = self.decoder.is_finished();
        if next && self.begun && self.at == self.input.len() {
            return Ok(false);
        }
        self.begun = true;
        let mut source = Source { input: &self.input, at: &mut self.at, starved: false };
        let read = match next {
            true => self.decoder.reset(&mut source),
            false => {
                self.decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1)).map(|_| ())
            }
        };
        match read {
            Ok(()) => {}
            Err(_) if source.starved => return Err(truncated()),
            Err(_) => return Err(malformed("its compressed stream is damaged")),
        }
        // Writing to memory does not fail.
        self.decoder.collect_to_writer(out).map(|_| true).map_err(Error::bug)
    }
}

/// Notes that more was wanted than there is, which the decoder tells in a dozen ways.
struct Source<'a> {
    input: &'a [u8],
    at: &'a mut usize,
    starved: bool,
}

impl Read for Source<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = self.input.get(*self.at..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        *self.at += count;
        self.starved |= count < out.len();
        Ok(count)
    }
}
