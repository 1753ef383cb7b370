//! Topics: one kind byte and an identifier (TOPIC, facts 3.3).

use serde::{Deserialize, Serialize};

use super::{GroupId, InboxId, InstallationId};

/// What an envelope on a topic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TopicKind {
    /// 0x00, group messages.
    Group,
    /// 0x01, Welcomes for an installation (or a Welcome pointer's destination).
    Welcome,
    /// 0x02, identity updates of an inbox.
    Identity,
    /// 0x03, key packages of an installation.
    KeyPackage,
}

/// An ordered log of the delivery service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Topic {
    /// Messages, proposals and commits of a group.
    Group(GroupId),
    /// Welcomes of an installation.
    Welcome([u8; 32]),
    /// Identity updates of an inbox.
    Identity(InboxId),
    /// Key packages of an installation.
    KeyPackage(InstallationId),
}

impl Topic {
    /// Which kind this topic is.
    pub fn kind(&self) -> TopicKind {
        match self {
            Self::Group(_) => TopicKind::Group,
            Self::Welcome(_) => TopicKind::Welcome,
            Self::Identity(_) => TopicKind::Identity,
            Self::KeyPackage(_) => TopicKind::KeyPackage,
        }
    }

    /// The wire form: kind byte, then the identifier.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, id): (u8, &[u8]) = match self {
            Self::Group(id) => (0, id.as_bytes()),
            Self::Welcome(id) => (1, id),
            Self::Identity(id) => (2, id.as_bytes()),
            Self::KeyPackage(id) => (3, id.as_bytes()),
        };
        let mut out = vec![kind];
        out.extend_from_slice(id);
        out
    }

    /// Reads the wire form; `None` for an unknown kind or a wrong length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (kind, id) = bytes.split_first()?;
        match kind {
            0 => GroupId::from_slice(id).ok().map(Self::Group),
            1 => id.try_into().ok().map(Self::Welcome),
            2 => InboxId::from_slice(id).ok().map(Self::Identity),
            3 => InstallationId::from_slice(id).ok().map(Self::KeyPackage),
            _ => None,
        }
    }
}
