//! What an app may read of a group, derived from its MLS facts in the unit that applies them.

use crate::base::Map;

use crate::base::{InboxId, InstallationId};
use crate::members::Members;
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
    let mut leaves: Map<InboxId, Vec<InstallationId>> = Map::new();
    for leaf in &facts.leaves {
        if let Some(inbox) = leaf.inbox {
            leaves.entry(inbox).or_default().push(leaf.installation);
        }
    }
    Members::read(&facts.dictionary)
        .unwrap_or_default()
        .0
        .into_iter()
        .map(|(inbox, entry)| MemberView {
            inbox,
            installations: leaves.remove(&inbox).unwrap_or_default(),
            sequence_id: entry.sequence_id,
            failed: entry.failed.into_iter().collect(),
        })
        .collect()
}

fn settings(facts: &GroupFacts) -> SettingsView {
    let dictionary = Dictionary::new(&facts.dictionary);
    // A component that cannot be read shows as absent: the group goes on.
    let disappearing = dictionary.disappearing().unwrap_or_default();
    SettingsView {
        name: dictionary.name().unwrap_or_default().to_owned(),
        description: dictionary.description().unwrap_or_default().to_owned(),
        image_url: dictionary.image_url().unwrap_or_default().to_owned(),
        app_data: dictionary.app_data().unwrap_or_default().to_owned(),
        disappear_from_ns: disappearing.from_ns.unwrap_or_default(),
        disappear_in_ns: disappearing.in_ns.unwrap_or_default(),
        floor: dictionary.floor_text().unwrap_or_default().to_owned(),
        admins: dictionary.admins().unwrap_or_default().into_iter().collect(),
        super_admins: dictionary.super_admins().unwrap_or_default().into_iter().collect(),
    }
}
