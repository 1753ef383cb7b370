//! What an app may read of a group, derived from its MLS facts in the unit that applies them.

use std::collections::BTreeMap;

use crate::base::{InboxId, InstallationId, SequenceId};
use crate::members::entry;
use crate::meta::Dictionary;
use crate::mls::facts::GroupFacts;
use crate::store::rows::{GroupRow, MemberView, SettingsView};

/// Copies members, settings, epoch and authenticator into a group's row.
pub fn describe(row: &mut GroupRow, facts: &GroupFacts, authenticator: Vec<u8>) {
    row.epoch = facts.epoch;
    row.authenticator = authenticator;
    row.members = members(facts);
    row.settings = settings(facts);
}

fn members(facts: &GroupFacts) -> Vec<MemberView> {
    let mut leaves: BTreeMap<InboxId, Vec<InstallationId>> = BTreeMap::new();
    for leaf in &facts.leaves {
        if let Some(inbox) = leaf.inbox {
            leaves.entry(inbox).or_default().push(leaf.installation);
        }
    }
    entry::read_all(&facts.dictionary)
        .unwrap_or_default()
        .into_iter()
        .map(|(inbox, entry)| MemberView {
            inbox,
            installations: leaves.remove(&inbox).unwrap_or_default(),
            sequence_id: SequenceId(entry.sequence_id),
            failed: entry.failed,
        })
        .collect()
}

fn settings(facts: &GroupFacts) -> SettingsView {
    let dictionary = Dictionary::new(&facts.dictionary);
    SettingsView {
        name: dictionary.name(),
        description: dictionary.description(),
        image_url: dictionary.image_url(),
        app_data: dictionary.app_data(),
        disappear_from_ns: dictionary.disappear_from_ns(),
        disappear_in_ns: dictionary.disappear_in_ns(),
        floor: dictionary.floor().unwrap_or_default(),
        admins: dictionary.admins().unwrap_or_default(),
        super_admins: dictionary.super_admins().unwrap_or_default(),
    }
}
