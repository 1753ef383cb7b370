//! Archive files: their form, and which rows of a database they hold (ARCH; facts 6.3, 12.6).
//!
//! Compiled into a module of its own (feature `archive`), which a page loads when it first makes or
//! reads an archive. It opens no database: the module every page has hands it rows to put into a
//! file, and applies the rows it finds in one (`client::archive`, [`crate::engine::import`]).
//!
//! | file | owns |
//! |---|---|
//! | `container` | header, frames, sealing |
//! | `zstd` | the compressed stream around the frames |
//! | `export` | which rows go into an archive, and as what |
//! | `import` | what rows an archive's elements are |
//! | `module` | what JavaScript calls |
//!
//! Choices where the texts are silent:
//! - What is written is not compressed: ciphertext does not shrink. It is a zstd stream all the
//!   same, of raw blocks, which every decoder reads.
//! - Only what has its place in a conversation is archived: no text that waits or failed, and no
//!   DM that never came to life. Archived by others, such messages are passed over.
//! - Defaults of consent are not archived: they are no decisions, and every installation derives
//!   its own (CONS section 3).
//! - An element of more than 32 MiB is refused: nothing that can be sent comes near it, and a
//!   damaged length must not use up a page's memory.

pub mod container;
pub mod export;
pub mod import;
mod zstd;

#[cfg(target_arch = "wasm32")]
pub mod module;

/// The only version of the format.
pub const VERSION: u16 = 0;
