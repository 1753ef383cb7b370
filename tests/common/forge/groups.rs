//! Dictionaries and membership components of groups that are made by hand.

use dovetail::base::{InboxId, InstallationId, Map, SequenceId, Topic};
use dovetail::members::Entry;
use dovetail::meta::component::GROUP_MEMBERSHIP;
use dovetail::meta::{FIRST_FLOOR, NewConversation, Settings, encode_inbox_map};
use dovetail::mls::facts::RawDictionary;
use dovetail::policy;

use crate::common::User;

/// The dictionary of a group with the policies of `rows`, as it is once its members are in.
pub fn group_dictionary(
    creator: InboxId,
    rows: &[policy::Row],
    entries: &[(InboxId, SequenceId)],
) -> RawDictionary {
    let new = NewConversation {
        creator,
        creator_entry: &Entry::default().encode(),
        floor: FIRST_FLOOR,
        settings: &Settings { name: Some("team".into()), ..Settings::default() },
        commit_log_signer: None,
    };
    let mut dictionary = policy::new_group(&new, rows).expect("a group");
    dictionary.insert(GROUP_MEMBERSHIP, membership(entries, &[]));
    dictionary
}

/// The dictionary of a DM as its creator would have it after the first commit.
pub fn dm_dictionary(creator: InboxId, peer: InboxId, entries: &[(InboxId, SequenceId)]) -> RawDictionary {
    let new = NewConversation {
        creator,
        creator_entry: &Entry::default().encode(),
        floor: FIRST_FLOOR,
        settings: &Settings::default(),
        commit_log_signer: Some(&[9; 32]),
    };
    let mut dictionary = policy::new_dm(&new, peer).expect("a DM");
    dictionary.insert(GROUP_MEMBERSHIP, membership(entries, &[]));
    dictionary
}

/// A membership component; `failed` are failed installations of the first entry.
pub fn membership(entries: &[(InboxId, SequenceId)], failed: &[InstallationId]) -> Vec<u8> {
    let mut map = Map::new();
    for (at, (inbox, sequence_id)) in entries.iter().enumerate() {
        let failed = if at == 0 { failed.iter().copied().collect() } else { Default::default() };
        map.insert(*inbox, Entry { sequence_id: *sequence_id, failed }.encode());
    }
    encode_inbox_map(&map)
}

/// The position of an inbox's newest identity update.
pub fn newest_update(user: &User) -> SequenceId {
    let stored = user.world.delivery.stored(Topic::Identity(user.inbox()));
    stored.last().expect("an identity update").sequence_id
}
