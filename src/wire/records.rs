//! Small records: consent, membership entry, transcript, leave request, credential
//! (CONS-002, GMOD-005, facts 3.1, 5.3, 5.4).

use prost::Message;

use super::error::decode;
use super::{WireError, proto};
use crate::base::InboxId;

/// A consent record as sent to peer installations (CONS-002). Numbers are raw: `consent` judges
/// them one record at a time (CONS-003).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsentSave {
    /// 1 conversation, 2 inbox; 0 and 3 are unusable.
    pub entity_type: i32,
    /// 1 unknown, 2 allowed, 3 denied; 0 is unusable.
    pub state: i32,
    /// Lowercase hexadecimal group id or inbox id.
    pub entity: String,
    /// Nanoseconds since the Unix epoch; 0 for a default.
    pub consented_at_ns: i64,
}

impl ConsentSave {
    /// The canonical bytes.
    pub fn encode(&self) -> Vec<u8> {
        proto::ConsentSave {
            entity_type: self.entity_type,
            state: self.state,
            entity: self.entity.clone(),
            consented_at_ns: self.consented_at_ns,
        }
        .encode_to_vec()
    }

    /// Reads a record.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let save: proto::ConsentSave = decode("ConsentSave", bytes)?;
        Ok(Self {
            entity_type: save.entity_type,
            state: save.state,
            entity: save.entity,
            consented_at_ns: save.consented_at_ns,
        })
    }
}

/// What GROUP_MEMBERSHIP holds for one inbox (GMOD-005).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembershipEntry {
    /// The identity state the inbox's leaves are checked against; 0 only for a creator's own entry.
    pub sequence_id: u64,
    /// Signature keys of installations the group could not add, in the order written.
    pub failed_installations: Vec<Vec<u8>>,
}

impl MembershipEntry {
    /// The canonical bytes, `v1` set.
    pub fn encode(&self) -> Vec<u8> {
        use proto::group_membership_entry::{V1, Version};
        let v1 =
            V1 { sequence_id: self.sequence_id, failed_installations: self.failed_installations.clone() };
        proto::GroupMembershipEntry { version: Some(Version::V1(v1)) }.encode_to_vec()
    }

    /// Reads an entry; one without `v1` is refused.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        use proto::group_membership_entry::Version;
        const NAME: &str = "GroupMembershipEntry";
        match decode::<proto::GroupMembershipEntry>(NAME, bytes)?.version {
            Some(Version::V1(v1)) => {
                Ok(Self { sequence_id: v1.sequence_id, failed_installations: v1.failed_installations })
            }
            None => Err(WireError::Missing { message: NAME, field: "v1" }),
        }
    }
}

/// A setting a commit changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldChange {
    /// Its name (facts 5.3).
    pub field_name: String,
    /// Before; `None` when it was absent.
    pub old_value: Option<String>,
    /// After; `None` when it is absent.
    pub new_value: Option<String>,
}

/// What a commit did, as shown to the app (GMOD-034). Lists keep the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupUpdated {
    /// The committer.
    pub initiated_by: InboxId,
    /// Inboxes that became members.
    pub added: Vec<InboxId>,
    /// Inboxes that were removed.
    pub removed: Vec<InboxId>,
    /// Settings that changed.
    pub field_changes: Vec<FieldChange>,
    /// Inboxes removed at their own request.
    pub left: Vec<InboxId>,
    /// New admins.
    pub added_admins: Vec<InboxId>,
    /// Admins no more.
    pub removed_admins: Vec<InboxId>,
    /// New super admins.
    pub added_super_admins: Vec<InboxId>,
    /// Super admins no more.
    pub removed_super_admins: Vec<InboxId>,
}

impl GroupUpdated {
    /// A transcript that says nothing yet.
    pub fn by(initiated_by: InboxId) -> Self {
        Self {
            initiated_by,
            added: Vec::new(),
            removed: Vec::new(),
            field_changes: Vec::new(),
            left: Vec::new(),
            added_admins: Vec::new(),
            removed_admins: Vec::new(),
            added_super_admins: Vec::new(),
            removed_super_admins: Vec::new(),
        }
    }

    /// The canonical bytes: equal transcripts have equal bytes (DMS-011).
    pub fn encode(&self) -> Vec<u8> {
        use proto::group_updated::MetadataFieldChange;
        let change = |c: &FieldChange| MetadataFieldChange {
            field_name: c.field_name.clone(),
            old_value: c.old_value.clone(),
            new_value: c.new_value.clone(),
        };
        proto::GroupUpdated {
            initiated_by_inbox_id: self.initiated_by.to_string(),
            added_inboxes: inboxes_to(&self.added),
            removed_inboxes: inboxes_to(&self.removed),
            metadata_field_changes: self.field_changes.iter().map(change).collect(),
            left_inboxes: inboxes_to(&self.left),
            added_admin_inboxes: inboxes_to(&self.added_admins),
            removed_admin_inboxes: inboxes_to(&self.removed_admins),
            added_super_admin_inboxes: inboxes_to(&self.added_super_admins),
            removed_super_admin_inboxes: inboxes_to(&self.removed_super_admins),
        }
        .encode_to_vec()
    }

    /// Reads a transcript; every inbox id must be one.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let update: proto::GroupUpdated = decode("GroupUpdated", bytes)?;
        let change = |c: proto::group_updated::MetadataFieldChange| FieldChange {
            field_name: c.field_name,
            old_value: c.old_value,
            new_value: c.new_value,
        };
        Ok(Self {
            initiated_by: inbox("GroupUpdated", &update.initiated_by_inbox_id)?,
            added: inboxes_from(update.added_inboxes)?,
            removed: inboxes_from(update.removed_inboxes)?,
            field_changes: update.metadata_field_changes.into_iter().map(change).collect(),
            left: inboxes_from(update.left_inboxes)?,
            added_admins: inboxes_from(update.added_admin_inboxes)?,
            removed_admins: inboxes_from(update.removed_admin_inboxes)?,
            added_super_admins: inboxes_from(update.added_super_admin_inboxes)?,
            removed_super_admins: inboxes_from(update.removed_super_admin_inboxes)?,
        })
    }
}

/// A request to be removed (facts 5.4). The sender is the MLS sender, never the note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaveRequest {
    /// Carries no authority; never sent by us.
    pub authenticated_note: Option<Vec<u8>>,
}

impl LeaveRequest {
    /// The canonical bytes.
    pub fn encode(&self) -> Vec<u8> {
        proto::LeaveRequest { authenticated_note: self.authenticated_note.clone() }.encode_to_vec()
    }

    /// Reads a request.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let request: proto::LeaveRequest = decode("LeaveRequest", bytes)?;
        Ok(Self { authenticated_note: request.authenticated_note })
    }
}

/// The identity of a leaf's Basic credential (facts 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlsCredential {
    /// The inbox the leaf speaks for.
    pub inbox: InboxId,
}

impl MlsCredential {
    /// The credential's identity bytes.
    pub fn encode(&self) -> Vec<u8> {
        proto::MlsCredential { inbox_id: self.inbox.to_string() }.encode_to_vec()
    }

    /// Reads identity bytes; the inbox id must be 64 lowercase hexadecimal digits.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let credential: proto::MlsCredential = decode("MlsCredential", bytes)?;
        Ok(Self { inbox: inbox("MlsCredential", &credential.inbox_id)? })
    }
}

fn inbox(message: &'static str, text: &str) -> Result<InboxId, WireError> {
    text.parse().map_err(|_| WireError::BadField { message, field: "inbox_id" })
}

fn inboxes_to(inboxes: &[InboxId]) -> Vec<proto::group_updated::Inbox> {
    inboxes.iter().map(|id| proto::group_updated::Inbox { inbox_id: id.to_string() }).collect()
}

fn inboxes_from(inboxes: Vec<proto::group_updated::Inbox>) -> Result<Vec<InboxId>, WireError> {
    inboxes.iter().map(|i| inbox("GroupUpdated", &i.inbox_id)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inboxes() -> impl Strategy<Value = Vec<InboxId>> {
        proptest::collection::vec(any::<[u8; 32]>().prop_map(InboxId), 0..3)
    }

    fn transcript() -> impl Strategy<Value = GroupUpdated> {
        let value = || proptest::option::of(".{0,4}");
        let change = ("[a-z_]{0,6}", value(), value())
            .prop_map(|(field_name, old_value, new_value)| FieldChange { field_name, old_value, new_value });
        let lists = (inboxes(), inboxes(), inboxes(), inboxes(), inboxes(), inboxes(), inboxes());
        (any::<[u8; 32]>(), proptest::collection::vec(change, 0..3), lists).prop_map(
            |(by, field_changes, (added, removed, left, a, ra, s, rs))| GroupUpdated {
                initiated_by: InboxId(by),
                added,
                removed,
                field_changes,
                left,
                added_admins: a,
                removed_admins: ra,
                added_super_admins: s,
                removed_super_admins: rs,
            },
        )
    }

    proptest! {
        #[test]
        fn transcripts_round_trip(update in transcript()) {
            prop_assert_eq!(GroupUpdated::decode(&update.encode()), Ok(update));
        }

        #[test]
        fn cons_002_saves_round_trip(entity_type: i32, state: i32, entity in ".{0,8}", consented_at_ns: i64) {
            let save = ConsentSave { entity_type, state, entity, consented_at_ns };
            prop_assert_eq!(ConsentSave::decode(&save.encode()), Ok(save));
        }

        #[test]
        fn gmod_005_entries_round_trip(
            sequence_id: u64,
            failed in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..33), 0..3),
        ) {
            let entry = MembershipEntry { sequence_id, failed_installations: failed };
            prop_assert_eq!(MembershipEntry::decode(&entry.encode()), Ok(entry));
        }

        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = ConsentSave::decode(&bytes);
            let _ = MembershipEntry::decode(&bytes);
            let _ = GroupUpdated::decode(&bytes);
            let _ = LeaveRequest::decode(&bytes);
            let _ = MlsCredential::decode(&bytes);
        }
    }

    #[test]
    fn cons_002_saves_have_the_specified_numbers() {
        let save = ConsentSave { entity_type: 1, state: 2, entity: "ab".into(), consented_at_ns: 3 };
        assert_eq!(save.encode(), [0x08, 1, 0x10, 2, 0x1a, 2, b'a', b'b', 0x20, 3]);
    }

    #[test]
    fn gmod_005_entries_have_the_specified_numbers() {
        let entry = MembershipEntry { sequence_id: 5, failed_installations: vec![vec![6], vec![7]] };
        assert_eq!(entry.encode(), [0x0a, 8, 0x08, 5, 0x12, 1, 6, 0x12, 1, 7]);
        // The creator's entry at creation keeps its v1 although every field is a default.
        assert_eq!(MembershipEntry::default().encode(), [0x0a, 0]);
    }

    #[test]
    fn gmod_005_an_entry_without_v1_is_refused() {
        let missing = WireError::Missing { message: "GroupMembershipEntry", field: "v1" };
        assert_eq!(MembershipEntry::decode(&[]), Err(missing.clone()));
        assert_eq!(MembershipEntry::decode(&[0x12, 0]), Err(missing));
        assert!(matches!(MembershipEntry::decode(&[0x0a, 9]), Err(WireError::Malformed { .. })));
    }

    #[test]
    fn credentials_are_strict_about_the_inbox_id() {
        let credential = MlsCredential { inbox: InboxId([0xab; 32]) };
        let bytes = credential.encode();
        assert_eq!(bytes[..2], [0x0a, 64]);
        assert_eq!(MlsCredential::decode(&bytes), Ok(credential));
        assert!(MlsCredential::decode(&bytes.to_ascii_uppercase()).is_err());
        assert!(MlsCredential::decode(&[]).is_err());
    }

    #[test]
    fn leave_requests_tell_an_empty_note_from_none() {
        let noted = LeaveRequest { authenticated_note: Some(Vec::new()) };
        assert_eq!(LeaveRequest::decode(&noted.encode()), Ok(noted));
        assert_eq!(LeaveRequest::default().encode(), [0u8; 0]);
    }
}
