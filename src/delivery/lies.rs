//! Answers that break the contract, for tests of what must happen then.

use sha2::{Digest, Sha256};

use super::Incoming;
use crate::base::{GroupId, Nanos, SequenceId, Topic};

/// A way to break the contract in every answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// An envelope of a topic nobody asked for.
    WrongTopic,
    /// Sequence ids that fall.
    FallingIds,
    /// A payload that does not match its hash.
    AlteredBytes,
    /// An altered payload with the hash made to match: only its cryptography can tell.
    Forged,
    /// A time before 1970.
    NegativeTime,
    /// A receipt too few.
    MissingReceipt,
}

/// Makes a lie of an honest answer; an empty one stays honest.
pub(super) fn tell(lie: Lie, answer: &mut [Incoming]) {
    match lie {
        Lie::FallingIds => return fall(answer),
        Lie::MissingReceipt => return,
        _ => {}
    }
    let Some(last) = answer.last_mut() else { return };
    match lie {
        Lie::WrongTopic => last.topic = Topic::Group(GroupId([0xee; 16])),
        Lie::AlteredBytes => alter(last),
        Lie::Forged => {
            alter(last);
            last.hash = Sha256::digest(&last.payload).into();
        }
        Lie::NegativeTime => last.server_ns = Nanos(-1),
        Lie::FallingIds | Lie::MissingReceipt => {}
    }
}

/// Ids in the opposite order; a single one becomes that of a position already read.
fn fall(answer: &mut [Incoming]) {
    match answer {
        [only] => only.sequence_id = SequenceId(0),
        _ => answer.reverse(),
    }
}

/// Changes the middle of a payload, where its cryptography is.
fn alter(envelope: &mut Incoming) {
    let middle = envelope.payload.len() / 2;
    match envelope.payload.get_mut(middle) {
        Some(byte) => *byte ^= 1,
        None => envelope.payload.push(1),
    }
}
