//! The policies groups are created with, as data (PERM-019, DMS section 2).
//!
//! `USER_DISPLAY_NAME` is registered everywhere with the policies of PERM-029, `GROUP_IMAGE` in
//! groups like the image URL and never in a DM. Components that only some groups hold (the DM
//! pair) are registered where they exist.

use crate::meta::component::*;
use crate::meta::{Base, Entry, Policy, Registry, encode_registry};

use Base::{Allow, Deny, IfAdmin, IfSelfOrNonMember, IfSuperAdmin};

/// The policies of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The component, a well-known one.
    pub component: u16,
    /// Who may insert.
    pub insert: Base,
    /// Who may update.
    pub update: Base,
    /// Who may delete.
    pub delete: Base,
}

const fn row(component: u16, insert: Base, update: Base, delete: Base) -> Row {
    Row { component, insert, update, delete }
}

/// Groups whose settings and additions are open to all members.
pub const ALL_MEMBERS: &[Row] = &[
    row(ADMIN_LIST, IfSuperAdmin, IfSuperAdmin, IfSuperAdmin),
    row(GROUP_MEMBERSHIP, Allow, Allow, IfAdmin),
    row(GROUP_NAME, Allow, Allow, IfSuperAdmin),
    row(GROUP_DESCRIPTION, Allow, Allow, IfSuperAdmin),
    row(GROUP_IMAGE_URL, Allow, Allow, IfSuperAdmin),
    row(MESSAGE_DISAPPEAR_FROM_NS, IfAdmin, IfAdmin, IfSuperAdmin),
    row(MESSAGE_DISAPPEAR_IN_NS, IfAdmin, IfAdmin, IfSuperAdmin),
    row(APP_DATA, Allow, Allow, IfSuperAdmin),
    row(MIN_SUPPORTED_PROTOCOL_VERSION, IfSuperAdmin, IfSuperAdmin, IfSuperAdmin),
    row(COMMIT_LOG_SIGNER, IfSuperAdmin, IfSuperAdmin, IfSuperAdmin),
    row(USER_DISPLAY_NAME, IfSelfOrNonMember, IfSelfOrNonMember, IfSelfOrNonMember),
    row(GROUP_IMAGE, Allow, Allow, IfSuperAdmin),
    row(CREATOR_INBOX_ID, IfSuperAdmin, Deny, Deny),
    row(CONVERSATION_TYPE, IfSuperAdmin, Deny, Deny),
];

/// Groups whose settings and additions are for admins.
pub const ADMINS_ONLY: &[Row] = &[
    row(ADMIN_LIST, IfSuperAdmin, IfSuperAdmin, IfSuperAdmin),
    row(GROUP_MEMBERSHIP, IfAdmin, Allow, IfAdmin),
    row(GROUP_NAME, IfAdmin, IfAdmin, IfSuperAdmin),
    row(GROUP_DESCRIPTION, IfAdmin, IfAdmin, IfSuperAdmin),
    row(GROUP_IMAGE_URL, IfAdmin, IfAdmin, IfSuperAdmin),
    row(MESSAGE_DISAPPEAR_FROM_NS, IfAdmin, IfAdmin, IfSuperAdmin),
    row(MESSAGE_DISAPPEAR_IN_NS, IfAdmin, IfAdmin, IfSuperAdmin),
    row(APP_DATA, IfAdmin, IfAdmin, IfSuperAdmin),
    row(MIN_SUPPORTED_PROTOCOL_VERSION, IfSuperAdmin, IfSuperAdmin, IfSuperAdmin),
    row(COMMIT_LOG_SIGNER, IfSuperAdmin, IfSuperAdmin, IfSuperAdmin),
    row(USER_DISPLAY_NAME, IfSelfOrNonMember, IfSelfOrNonMember, IfSelfOrNonMember),
    row(GROUP_IMAGE, IfAdmin, IfAdmin, IfSuperAdmin),
    row(CREATOR_INBOX_ID, IfSuperAdmin, Deny, Deny),
    row(CONVERSATION_TYPE, IfSuperAdmin, Deny, Deny),
];

/// The fixed DM policy.
pub const DM: &[Row] = &[
    row(ADMIN_LIST, Deny, Deny, Deny),
    row(GROUP_MEMBERSHIP, Deny, Allow, Deny),
    row(GROUP_NAME, Allow, Allow, IfSuperAdmin),
    row(GROUP_DESCRIPTION, Allow, Allow, IfSuperAdmin),
    row(GROUP_IMAGE_URL, Allow, Allow, IfSuperAdmin),
    row(MESSAGE_DISAPPEAR_FROM_NS, Allow, Allow, IfSuperAdmin),
    row(MESSAGE_DISAPPEAR_IN_NS, Allow, Allow, IfSuperAdmin),
    row(APP_DATA, Allow, Allow, IfSuperAdmin),
    row(MIN_SUPPORTED_PROTOCOL_VERSION, Allow, Allow, IfSuperAdmin),
    row(COMMIT_LOG_SIGNER, IfSuperAdmin, IfSuperAdmin, IfSuperAdmin),
    row(USER_DISPLAY_NAME, IfSelfOrNonMember, IfSelfOrNonMember, IfSelfOrNonMember),
    row(DM_MEMBERS, IfSuperAdmin, Deny, Deny),
    row(CREATOR_INBOX_ID, IfSuperAdmin, Deny, Deny),
    row(CONVERSATION_TYPE, IfSuperAdmin, Deny, Deny),
];

/// The registry component a table stands for. A row of a component that is not well-known has no
/// type to register and is left out.
pub fn registry_of(rows: &[Row]) -> Vec<u8> {
    let entries: Vec<(u16, Entry)> = rows
        .iter()
        .filter_map(|row| {
            let entry = Entry {
                type_number: built_in_type(row.component)? as i32,
                insert: Policy::Base(row.insert),
                update: Policy::Base(row.update),
                delete: Policy::Base(row.delete),
            };
            Some((row.component, entry))
        })
        .collect();
    encode_registry(entries.iter().map(|(component, entry)| (*component, entry)))
}

/// Membership and admin list take insertions and deletions from nobody, as in the first table of
/// DMS section 2 (DMS-003).
pub fn matches_fixed_dm_policy(registry: &Registry) -> bool {
    let deny = Policy::Base(Deny);
    [GROUP_MEMBERSHIP, ADMIN_LIST].into_iter().all(|component| {
        registry.entry(component).is_some_and(|entry| entry.insert == deny && entry.delete == deny)
    })
}
