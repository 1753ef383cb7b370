//! An envelope of the Welcome topic, opened on a scratch: a Welcome of its own, or a pointer to one
//! that several installations share (facts 3.2, JOIN-076, JOIN-079).
//!
//! The shared Welcome is read from the service between two steps; nothing opened is kept meanwhile.
//! Anyone who knows a destination can publish there, so what does not open with the pointer's key
//! is passed over, and the first that does is the Welcome.

use crate::base::{DmId, GroupId, SequenceId, ThreadId, Topic};
use crate::delivery::Incoming;
use crate::engine::receive::{Outcomes, reject};
use crate::meta::Dictionary;
use crate::mls::facts::JoinFacts;
use crate::mls::{self, PendingJoin, Scratch, SealedWelcome, WelcomeError};
use crate::wire::{AEAD_CHACHA20_POLY1305, ClientEnvelope, WelcomeAlgorithm, WelcomeInput, WelcomePointerV1};

/// A Welcome opened on a scratch, not joined.
pub struct OpenedJoin {
    /// The scratch it was opened on.
    pub scratch: Scratch,
    /// The pending join.
    pub pending: PendingJoin,
    /// What it describes.
    pub facts: JoinFacts,
    /// The HPKE key of the own key package it was sent to.
    pub init_key: Vec<u8>,
}

impl OpenedJoin {
    /// The group.
    pub fn group(&self) -> GroupId {
        self.facts.group.group_id
    }

    /// The thread it belongs to: its dm id when it is a DM with a readable pair.
    pub fn thread(&self) -> ThreadId {
        let dictionary = Dictionary::new(&self.facts.group.dictionary);
        let pair = dictionary.dm_pair().ok().flatten();
        let dm = pair.and_then(|[a, b]| DmId::of(a, b));
        dm.map_or(ThreadId::Group(self.group()), ThreadId::Dm)
    }
}

/// What lies at a pointer's destination, read page by page.
#[derive(Default)]
pub struct Shared {
    /// The page read last.
    pub page: Vec<Incoming>,
    /// How far the destination was read.
    pub read: SequenceId,
    /// In so many pages.
    pub pages: u32,
    /// There is no page behind it.
    pub whole: bool,
}

/// Why a Welcome is not open.
pub enum Unopened {
    /// It is settled, or waits.
    Outcome(Outcomes),
    /// The next page of this topic is needed first.
    Pointee(Topic),
}

/// Why a Welcome waits whose key package is not held.
pub const UNKNOWN_KEY_PACKAGE: &str = "welcome.unknown_key_package";
/// Why a Welcome waits whose shared Welcome is not there.
pub const POINTER: &str = "welcome.pointer";

/// Opens an envelope of the Welcome topic with the key packages of `scratch`.
pub fn open(scratch: Scratch, envelope: &Incoming, shared: &Shared) -> Result<OpenedJoin, Unopened> {
    let input = match ClientEnvelope::decode(&envelope.payload) {
        Ok(ClientEnvelope::Welcome(input)) => input,
        Ok(_) => return Err(refused("not a Welcome")),
        Err(error) => return Err(refused(&error.to_string())),
    };
    let (init_key, (welcome, cursor)) = match input {
        WelcomeInput::V1 { data, metadata, hpke_public_key, algorithm, .. } => {
            wrapped_for_us(algorithm)?;
            let sealed = SealedWelcome { data, metadata };
            let opened = mls::unwrap_welcome(&scratch, &sealed, &hpke_public_key).map_err(failed)?;
            (hpke_public_key, opened)
        }
        WelcomeInput::Pointer { pointer, hpke_public_key, algorithm, .. } => {
            wrapped_for_us(algorithm)?;
            let pointer = mls::unwrap_pointer(&scratch, &pointer, &hpke_public_key).map_err(failed)?;
            (hpke_public_key, follow(&pointer, shared)?)
        }
    };
    let pending = mls::inspect(&scratch, &welcome, cursor).map_err(failed)?;
    let facts = pending.facts().clone();
    Ok(OpenedJoin { scratch, pending, facts, init_key })
}

/// We offer one way to wrap for us; another one is weaker than what we asked for, or not ours.
fn wrapped_for_us(algorithm: WelcomeAlgorithm) -> Result<(), Unopened> {
    match algorithm {
        WelcomeAlgorithm::Curve25519 => Ok(()),
        _ => Err(downgraded("wrapped in a way our key package does not offer")),
    }
}

/// The shared Welcome and its cursor.
fn follow(pointer: &WelcomePointerV1, shared: &Shared) -> Result<(Vec<u8>, u64), Unopened> {
    if pointer.aead_type != AEAD_CHACHA20_POLY1305 {
        return Err(downgraded("points to a Welcome sealed in a way our key package does not offer"));
    }
    if let Some(opened) = shared.page.iter().find_map(|envelope| pointee(envelope, pointer)) {
        return Ok(opened);
    }
    if !shared.whole {
        return Err(Unopened::Pointee(Topic::Welcome(pointer.destination)));
    }
    Err(match shared.read {
        SequenceId(0) => Unopened::Outcome(Outcomes::Held(
            POINTER.into(),
            "the shared Welcome it points to is not there yet".into(),
        )),
        _ => refused("nothing where it points to opens with its key"),
    })
}

fn pointee(envelope: &Incoming, pointer: &WelcomePointerV1) -> Option<(Vec<u8>, u64)> {
    match ClientEnvelope::decode(&envelope.payload) {
        Ok(ClientEnvelope::Welcome(WelcomeInput::V1 {
            data,
            metadata,
            algorithm: WelcomeAlgorithm::SymmetricKey,
            ..
        })) => mls::open_shared_welcome(&SealedWelcome { data, metadata }, pointer).ok(),
        _ => None,
    }
}

fn refused(reason: &str) -> Unopened {
    Unopened::Outcome(reject("JOIN", reason))
}

fn downgraded(reason: &str) -> Unopened {
    Unopened::Outcome(reject("JOIN-076", reason))
}

fn failed(error: WelcomeError) -> Unopened {
    match error {
        WelcomeError::NoKey => Unopened::Outcome(Outcomes::Held(
            UNKNOWN_KEY_PACKAGE.into(),
            "made for a key package this device does not hold".into(),
        )),
        error => refused(&error.to_string()),
    }
}
