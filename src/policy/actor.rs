//! What a proposer is: roles from the committed lists, or part in a DM pair (PERM-001).

use crate::base::Set;

use crate::base::InboxId;
use crate::meta::{Dictionary, DictionaryError};

/// The roles a group has given, as committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The admin list.
    pub admins: Set<InboxId>,
    /// The super-admin list.
    pub super_admins: Set<InboxId>,
    /// The pair, when the group is a DM.
    pub dm_pair: Option<[InboxId; 2]>,
}

impl Roles {
    /// Reads the roles from the dictionary as it was before the commit.
    pub fn committed(dictionary: Dictionary<'_>) -> Result<Self, DictionaryError> {
        Ok(Self {
            admins: dictionary.admins()?,
            super_admins: dictionary.super_admins()?,
            dm_pair: dictionary.dm_pair()?,
        })
    }

    /// What `inbox` is in this group. That it is a member at all is not asked here.
    pub fn actor(&self, inbox: InboxId) -> Actor {
        Actor {
            inbox,
            admin: self.admins.contains(&inbox),
            super_admin: self.super_admins.contains(&inbox),
            dm_participant: self.dm_pair.is_some_and(|pair| pair.contains(&inbox)),
        }
    }
}

/// A proposer and its roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Its inbox.
    pub inbox: InboxId,
    /// In the admin list. A super admin need not be.
    pub admin: bool,
    /// In the super-admin list.
    pub super_admin: bool,
    /// In the pair of a DM.
    pub dm_participant: bool,
}
