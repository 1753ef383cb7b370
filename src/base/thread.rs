//! What one conversation in a list is keyed by: its dm id, or its group id.

use serde::{Deserialize, Serialize};

use super::{DmId, GroupId};

/// The id of a thread: all groups of one stitched DM share one; any other group has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ThreadId {
    /// A stitched DM (DMS-001).
    Dm(DmId),
    /// A group that is not a DM.
    Group(GroupId),
}

impl ThreadId {
    /// A prefix-free byte form, used in keys: `d` and both inboxes, or `g` and the group id.
    pub fn to_key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(65);
        match self {
            Self::Dm(id) => {
                key.push(b'd');
                let [low, high] = id.pair();
                key.extend(low.0);
                key.extend(high.0);
            }
            Self::Group(id) => {
                key.push(b'g');
                key.extend(id.0);
            }
        }
        key
    }
}
