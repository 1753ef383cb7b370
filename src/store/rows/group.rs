//! Rows of the table `groups`.

use serde::{Deserialize, Serialize};

use super::Row;
use crate::base::{DmId, GroupId, InboxId, InstallationId, Nanos, SequenceId, ThreadId};
use crate::store::Table;

/// What a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupKind {
    /// A group of any number of inboxes.
    Group,
    /// A DM.
    Dm,
    /// The sync group of one inbox's devices.
    Sync,
}

/// Where a group stands for us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupState {
    /// A member.
    Active,
    /// Removed, or left.
    Inactive,
    /// Imported without MLS state (ARCH-015).
    Restored,
    /// Never came to life: the reason's code.
    Failed(String),
}

/// A member inbox as an app reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// The inbox.
    pub inbox: InboxId,
    /// Its leaves.
    pub installations: Vec<InstallationId>,
    /// The identity state its entry names.
    pub sequence_id: SequenceId,
    /// Installations the group could not add.
    pub failed: Vec<InstallationId>,
}

/// Settings as an app reads them; absent text reads as empty (META-041).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsView {
    /// GROUP_NAME.
    pub name: String,
    /// GROUP_DESCRIPTION.
    pub description: String,
    /// GROUP_IMAGE_URL.
    pub image_url: String,
    /// APP_DATA.
    pub app_data: String,
    /// MESSAGE_DISAPPEAR_FROM_NS.
    pub disappear_from_ns: i64,
    /// MESSAGE_DISAPPEAR_IN_NS.
    pub disappear_in_ns: i64,
    /// MIN_SUPPORTED_PROTOCOL_VERSION.
    pub floor: String,
    /// ADMIN_LIST.
    pub admins: Vec<InboxId>,
    /// SUPER_ADMIN_LIST.
    pub super_admins: Vec<InboxId>,
}

/// Why a group waits (PROC-012, GMOD-025).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Stable code: `floor`, `identity`, `unsupported_proposal`, …
    pub code: String,
    /// A sentence for people.
    pub detail: String,
    /// The envelope it waits at.
    pub sequence_id: SequenceId,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRow {
    /// The MLS group id.
    pub id: GroupId,
    /// What it is.
    pub kind: GroupKind,
    /// For a DM, its pair.
    pub dm: Option<DmId>,
    /// Where it stands for us.
    pub state: GroupState,
    /// Who added us; ourselves for a group we created.
    pub adder: InboxId,
    /// CREATOR_INBOX_ID.
    pub creator: InboxId,
    /// When it was created (local clock of the creator's device, Welcome time at a joiner).
    pub created_ns: Nanos,
    /// When this installation joined it.
    pub joined_ns: Nanos,
    /// The commit that added us; 0 for a group we created.
    pub anchor: SequenceId,
    /// Retained activity (DMS-013).
    pub last_message_ns: Option<Nanos>,
    /// Why it waits, if it does.
    pub hold: Option<Hold>,
    /// GroupContext.epoch as of the last applied commit.
    pub epoch: u64,
    /// Bytes of the epoch authenticator, for comparing members.
    pub authenticator: Vec<u8>,
    /// Members as of the last applied commit.
    pub members: Vec<MemberView>,
    /// Settings as of the last applied commit.
    pub settings: SettingsView,
    /// Own state was rolled back from outside: no sends before a self-update is applied.
    pub rolled_back: bool,
    /// The last intent number given in this group.
    pub last_intent: u64,
    /// Members whose leave request was processed and who are still there (GMOD-032).
    pub leaving: Vec<InboxId>,
    /// The own inbox asked to leave and was removed (CONS-025).
    pub left: bool,
}

impl GroupRow {
    /// The thread it belongs to.
    pub fn thread(&self) -> ThreadId {
        self.dm.map_or(ThreadId::Group(self.id), ThreadId::Dm)
    }
}

impl Row for GroupRow {
    const TABLE: Table = Table::Groups;
    fn key(&self) -> Vec<u8> {
        self.id.as_bytes().to_vec()
    }
}
