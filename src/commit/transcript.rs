//! The membership-change message an applied commit or a join leaves (GMOD-034, facts 5.3).
//!
//! Derived from the validated commit alone, so that two members write the same one: lists are in a
//! fixed order, inboxes ascending by id bytes and fields by component id (DMS-011 compares order).
//!
//! Choices: a commit that changes nothing an app can see (a key update, new installations of
//! members) leaves no transcript. The commit-log signer is a key, so a change of it is named
//! without its values; so is a value that is not what its component holds.

use crate::base::Gather as _;
use crate::base::Set;

use super::verdict::Verdict;
use crate::base::InboxId;
use crate::meta::component::{
    ADMIN_LIST, APP_DATA, COMMIT_LOG_SIGNER, COMPONENT_REGISTRY, GROUP_DESCRIPTION, GROUP_IMAGE,
    GROUP_IMAGE_URL, GROUP_MEMBERSHIP, GROUP_NAME, MESSAGE_DISAPPEAR_FROM_NS, MESSAGE_DISAPPEAR_IN_NS,
    MIN_SUPPORTED_PROTOCOL_VERSION, SUPER_ADMIN_LIST, USER_DISPLAY_NAME,
};
use crate::meta::{Dictionary, DictionaryError};
use crate::mls::facts::{CommitFacts, RawDictionary, SenderFacts};
use crate::wire::{FieldChange, GroupUpdated};

/// Field names by component id (META-040).
const FIELDS: [(u16, &str); 8] = [
    (GROUP_NAME, "group_name"),
    (GROUP_DESCRIPTION, "description"),
    (GROUP_IMAGE_URL, "group_image_url_square"),
    (MESSAGE_DISAPPEAR_FROM_NS, "message_disappear_from_ns"),
    (MESSAGE_DISAPPEAR_IN_NS, "message_disappear_in_ns"),
    (APP_DATA, "app_data"),
    (MIN_SUPPORTED_PROTOCOL_VERSION, "minimum_supported_protocol_version"),
    (COMMIT_LOG_SIGNER, "_commit_log_signer"),
];

/// Names of components that transcripts do not list as fields.
const COMPONENTS: [(u16, &str); 5] = [
    (COMPONENT_REGISTRY, "COMPONENT_REGISTRY"),
    (SUPER_ADMIN_LIST, "SUPER_ADMIN_LIST"),
    (ADMIN_LIST, "ADMIN_LIST"),
    (USER_DISPLAY_NAME, "USER_DISPLAY_NAME"),
    (GROUP_IMAGE, "GROUP_IMAGE"),
];

/// The transcript of a commit that `judge` lets be applied; `None` when there is nothing
/// to show (GMOD-034).
///
/// `leaving` are the inboxes whose leave request was pending: those the commit removes are listed
/// as left. A commit that was not judged before can be malformed, which gives a rejection.
pub fn of_commit(commit: &CommitFacts, leaving: &Set<InboxId>) -> Result<Option<GroupUpdated>, Verdict> {
    let SenderFacts::Member(committer) = &commit.committer else {
        return Err(Verdict::rejected("GMOD-002", "the sender is not a member of the group"));
    };
    let Some(by) = committer.inbox else {
        return Err(Verdict::rejected("GMOD-002", "the sender's credential names no inbox"));
    };
    let transcript = difference(by, &commit.before.dictionary, &commit.dictionary_after, leaving)
        .map_err(|error| Verdict::rejected("GMOD-034", error))?;
    Ok((transcript != GroupUpdated::by(by)).then_some(transcript))
}

/// The transcript of a join: the adder added the own inbox.
pub fn of_join(adder: InboxId, own: InboxId) -> GroupUpdated {
    GroupUpdated { added: vec![own], ..GroupUpdated::by(adder) }
}

fn difference(
    by: InboxId,
    before: &RawDictionary,
    after: &RawDictionary,
    leaving: &Set<InboxId>,
) -> Result<GroupUpdated, DictionaryError> {
    let (old, new) = (Dictionary::new(before), Dictionary::new(after));
    let (members, members_after) = (old.members()?, new.members()?);
    let (admins, admins_after) = (old.admins()?, new.admins()?);
    let (supers, supers_after) = (old.super_admins()?, new.super_admins()?);
    let gone: Set<_> = minus(&members, &members_after).into_iter().gather();
    Ok(GroupUpdated {
        initiated_by: by,
        added: minus(&members_after, &members),
        removed: minus(&gone, leaving),
        left: gone.intersection(leaving).copied().collect(),
        field_changes: FIELDS.iter().filter_map(|(id, name)| field(before, after, *id, name)).collect(),
        added_admins: minus(&admins_after, &admins),
        removed_admins: minus(&admins, &admins_after),
        added_super_admins: minus(&supers_after, &supers),
        removed_super_admins: minus(&supers, &supers_after),
    })
}

/// Ascending by id bytes.
fn minus(a: &Set<InboxId>, b: &Set<InboxId>) -> Vec<InboxId> {
    a.difference(b).copied().collect()
}

fn field(before: &RawDictionary, after: &RawDictionary, id: u16, name: &str) -> Option<FieldChange> {
    let (old, new) = (before.get(&id), after.get(&id));
    let text = |value: Option<&Vec<u8>>| value.and_then(|bytes| text(id, bytes));
    (old != new).then(|| FieldChange {
        field_name: name.to_owned(),
        old_value: text(old),
        new_value: text(new),
    })
}

/// What a commit changed besides its members, by name: as in a transcript where META-040 has one for
/// it, else the component's, else `component:` and its id in four hexadecimal digits.
pub fn changed(before: &RawDictionary, after: &RawDictionary) -> Vec<String> {
    let added = after.keys().filter(|id| !before.contains_key(id));
    let ids = before.keys().chain(added).filter(|id| before.get(id) != after.get(id));
    ids.filter(|id| **id != GROUP_MEMBERSHIP).map(|id| name(*id)).collect()
}

fn name(id: u16) -> String {
    let named = FIELDS.iter().chain(&COMPONENTS).find(|(known, _)| *known == id);
    named.map_or_else(|| format!("component:{id:04x}"), |(_, name)| (*name).to_owned())
}

fn text(id: u16, bytes: &[u8]) -> Option<String> {
    match id {
        COMMIT_LOG_SIGNER => None,
        MESSAGE_DISAPPEAR_FROM_NS | MESSAGE_DISAPPEAR_IN_NS => {
            bytes.try_into().ok().map(|bytes| i64::from_be_bytes(bytes).to_string())
        }
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}
