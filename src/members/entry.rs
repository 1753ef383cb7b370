//! The GROUP_MEMBERSHIP component: reading, writing, and how entries may change (GMOD-005, 007,
//! 008).
//!
//! Choice: a failed installation that is not 32 bytes long names no installation key; it is read
//! as absent, because it can equal no key, rather than refused.

use crate::base::Gather as _;
use crate::base::{Map, Set};

use crate::base::{InboxId, InstallationId, SequenceId};
use crate::meta::MapMutation;
use crate::meta::component::GROUP_MEMBERSHIP;
use crate::meta::{Key, encode_inbox_map, inbox_entries};
use crate::mls::facts::RawDictionary;
use crate::wire::MembershipEntry;

/// What is wrong with a membership component or with a change of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembersError {
    /// The component is missing or is not a map keyed by inbox.
    #[error("the group has no readable membership component")]
    Component,
    /// An entry is not a GroupMembershipEntry with v1 set.
    #[error("the membership entry of inbox {0} cannot be read")]
    Entry(InboxId),
    /// An entry does not precede the commit that is judged.
    #[error("the membership entry of inbox {inbox} names {}, not before the commit's {}", named.0, commit.0)]
    NotBefore {
        /// Whose entry.
        inbox: InboxId,
        /// The position it names.
        named: SequenceId,
        /// The commit's position.
        commit: SequenceId,
    },
    /// An added entry asserts nothing.
    #[error("the added membership entry of inbox {0} names no identity update")]
    AddedAtZero(InboxId),
    /// An entry went back.
    #[error("the membership entry of inbox {inbox} falls from {} to {}", before.0, after.0)]
    Decreased {
        /// Whose entry.
        inbox: InboxId,
        /// Before the commit.
        before: SequenceId,
        /// After it.
        after: SequenceId,
    },
}

impl MembersError {
    /// The requirement it breaks.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Component | Self::Entry(_) => "GMOD-005",
            Self::NotBefore { .. } | Self::AddedAtZero(_) => "GMOD-007",
            Self::Decreased { .. } => "GMOD-008",
        }
    }
}

/// One inbox's entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The identity state the inbox's leaves are checked against; 0 only for a creator's own
    /// entry at creation.
    pub sequence_id: SequenceId,
    /// Installations the group could not add.
    pub failed: Set<InstallationId>,
}

impl Entry {
    /// The component's value for the inbox (GMOD-005).
    pub fn encode(&self) -> Vec<u8> {
        MembershipEntry {
            sequence_id: self.sequence_id.0,
            failed_installations: self.failed.iter().map(|key| key.0.to_vec()).collect(),
        }
        .encode()
    }

    fn decode(inbox: InboxId, bytes: &[u8]) -> Result<Self, MembersError> {
        let wire = MembershipEntry::decode(bytes).map_err(|_| MembersError::Entry(inbox))?;
        let keys = wire.failed_installations.iter();
        Ok(Self {
            sequence_id: SequenceId(wire.sequence_id),
            failed: keys.filter_map(|key| InstallationId::from_slice(key).ok()).gather(),
        })
    }
}

/// The members of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members(pub Map<InboxId, Entry>);

impl Members {
    /// Reads the component of a dictionary (GMOD-005).
    pub fn read(dictionary: &RawDictionary) -> Result<Self, MembersError> {
        let bytes = dictionary.get(&GROUP_MEMBERSHIP).ok_or(MembersError::Component)?;
        let raw = inbox_entries(bytes).map_err(|_| MembersError::Component)?;
        let entries = raw.into_iter().map(|(inbox, value)| Ok((inbox, Entry::decode(inbox, value)?)));
        entries.try_gather().map(Self)
    }

    /// The component's stored value.
    pub fn encode(&self) -> Vec<u8> {
        encode_inbox_map(&self.0.iter().map(|(inbox, entry)| (*inbox, entry.encode())).gather())
    }

    /// The entry of an inbox; `None` when it is not a member.
    pub fn get(&self, inbox: InboxId) -> Option<&Entry> {
        self.0.get(&inbox)
    }

    /// Whether the inbox is a member.
    pub fn contains(&self, inbox: InboxId) -> bool {
        self.0.contains_key(&inbox)
    }

    /// The mutations that lead from `self` to `after`, by inbox.
    pub fn mutations(&self, after: &Self) -> Vec<MapMutation> {
        let inboxes: Set<_> = self.0.keys().chain(after.0.keys()).copied().gather();
        let change = |inbox: InboxId| match (self.get(inbox), after.get(inbox)) {
            (None, Some(new)) => Some(MapMutation::Insert(Key::Inbox(inbox), new.encode())),
            (Some(old), Some(new)) if old != new => {
                Some(MapMutation::Update(Key::Inbox(inbox), new.encode()))
            }
            (Some(_), None) => Some(MapMutation::Delete(Key::Inbox(inbox))),
            _ => None,
        };
        inboxes.into_iter().filter_map(change).collect()
    }

    /// Inboxes `after` adds.
    pub fn added<'a>(&'a self, after: &'a Self) -> impl Iterator<Item = InboxId> + 'a {
        after.0.keys().copied().filter(|inbox| !self.contains(*inbox))
    }

    /// Inboxes `after` no longer has.
    pub fn removed<'a>(&'a self, after: &'a Self) -> impl Iterator<Item = InboxId> + 'a {
        after.added(self)
    }
}

/// Checks entries against the position of the commit that writes them (GMOD-007) and against what
/// they were (GMOD-008).
pub fn check_succession(before: &Members, after: &Members, commit: SequenceId) -> Result<(), MembersError> {
    for (inbox, entry) in &after.0 {
        let (inbox, named) = (*inbox, entry.sequence_id);
        if named >= commit {
            return Err(MembersError::NotBefore { inbox, named, commit });
        }
        match before.get(inbox) {
            None if named == SequenceId(0) => return Err(MembersError::AddedAtZero(inbox)),
            Some(old) if named < old.sequence_id => {
                return Err(MembersError::Decreased { inbox, before: old.sequence_id, after: named });
            }
            _ => {}
        }
    }
    Ok(())
}
