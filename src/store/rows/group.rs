//! Rows of the table `groups`.

use serde::{Deserialize, Serialize};

use super::{FORMAT, Row, encoded};
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

    fn encode(&self) -> Vec<u8> {
        EncodedMembers::default().row(self)
    }
}

/// The members of a row as they were last encoded. They are most of a large group's row, and stay
/// the same from one write to the next until a commit is applied.
#[derive(Default)]
pub struct EncodedMembers {
    of: Vec<MemberView>,
    bytes: Vec<u8>,
}

impl EncodedMembers {
    /// The body of a row: its fields behind each other, in their order.
    pub fn row(&mut self, row: &GroupRow) -> Vec<u8> {
        if self.bytes.is_empty() || self.of != row.members {
            self.of.clone_from(&row.members);
            self.bytes = encoded(&self.of, Vec::new());
        }
        let before = (
            (row.id, row.kind, row.dm, &row.state, row.adder, row.creator),
            (row.created_ns, row.joined_ns, row.anchor, row.last_message_ns, &row.hold),
            (row.epoch, &row.authenticator),
        );
        let mut body = encoded(&before, vec![FORMAT]);
        body.extend_from_slice(&self.bytes);
        encoded(&(&row.settings, row.rolled_back, row.last_intent, &row.leaving, row.left), body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(members: u8) -> GroupRow {
        let id = |n| InboxId([n; 32]);
        let member = |n| MemberView {
            inbox: id(n),
            installations: vec![InstallationId([n; 32]); usize::from(n % 3)],
            sequence_id: SequenceId(u64::from(n) << 9),
            failed: vec![InstallationId([9; 32]); usize::from(n % 2)],
        };
        GroupRow {
            id: GroupId([1; 16]),
            kind: GroupKind::Dm,
            dm: DmId::of(id(1), id(2)),
            state: GroupState::Failed("why".into()),
            adder: id(3),
            creator: id(4),
            created_ns: Nanos(-5),
            joined_ns: Nanos(6),
            anchor: SequenceId(700),
            last_message_ns: Some(Nanos(8)),
            hold: Some(Hold { code: "c".into(), detail: "d".into(), sequence_id: SequenceId(9) }),
            epoch: 1000,
            authenticator: vec![1, 2, 3],
            members: (0..members).map(member).collect(),
            settings: SettingsView { name: "n".into(), admins: vec![id(5)], ..SettingsView::default() },
            rolled_back: true,
            last_intent: 1 << 20,
            leaving: vec![id(6)],
            left: true,
        }
    }

    #[test]
    fn a_row_is_encoded_like_its_fields_whatever_was_encoded_before() {
        let mut kept = EncodedMembers::default();
        for members in [0, 3, 3, 200, 2, 0] {
            let row = row(members);
            let plain = encoded(&row, vec![FORMAT]);
            assert_eq!(kept.row(&row), plain);
            assert_eq!(row.encode(), plain);
            assert_eq!(GroupRow::decode(&plain).unwrap(), row);
        }
    }
}
