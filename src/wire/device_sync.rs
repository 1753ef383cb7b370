//! What the devices of one inbox tell each other in their sync group (facts 6.2, SYNC): consent
//! records, in updates of preferences.
//!
//! Other kinds of this content, and updates of later versions, say nothing to this one.

use prost::Message;

use super::content_type::DEVICE_SYNC;
use super::error::decode;
use super::{ConsentSave, ContentType, EncodedContent, WireError, proto};

/// The content that carries these records.
pub fn preference_updates(saves: impl Iterator<Item = ConsentSave>) -> EncodedContent {
    let update = |save: ConsentSave| proto::PreferenceUpdate { consent: Some(save.encode()) }.encode_to_vec();
    let updates = proto::device_sync_content::PreferenceUpdates { updates: saves.map(update).collect() };
    let content = proto::DeviceSyncContent { preference_updates: Some(updates) };
    EncodedContent::plain(ContentType::xmtp(DEVICE_SYNC, 1, 0), content.encode_to_vec())
}

/// The records a content carries, in its order; each that does not decode is left out by itself.
///
/// # Errors
/// [`WireError`] when the content says it is of this kind and does not decode as a whole.
pub fn consents_of(content: &EncodedContent) -> Result<Vec<ConsentSave>, WireError> {
    let ContentType { authority, type_id, major, .. } = &content.content_type;
    let ours = ContentType::xmtp(DEVICE_SYNC, 1, 0);
    let known = (authority, type_id, *major) == (&ours.authority, &ours.type_id, ours.major);
    if !known || content.compression.is_some() {
        return Ok(Vec::new());
    }
    let content: proto::DeviceSyncContent = decode("DeviceSyncContent", &content.content)?;
    let updates = content.preference_updates.unwrap_or_default().updates;
    let consent = |bytes: &Vec<u8>| {
        let update: proto::PreferenceUpdate = decode("PreferenceUpdate", bytes).ok()?;
        ConsentSave::decode(&update.consent?).ok()
    };
    Ok(updates.iter().filter_map(consent).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn save(state: i32) -> ConsentSave {
        ConsentSave { entity_type: 1, state, entity: "ab".into(), consented_at_ns: 7 }
    }

    /// A length-delimited field.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    fn content(updates: &[Vec<u8>]) -> EncodedContent {
        let list: Vec<u8> = updates.iter().flat_map(|update| field(1, update)).collect();
        EncodedContent::plain(ContentType::xmtp(DEVICE_SYNC, 1, 0), field(4, &list))
    }

    #[test]
    fn cons_002_updates_have_the_specified_numbers() {
        let made = preference_updates([save(2), save(3)].into_iter());
        let update = |state| field(1, &save(state).encode());
        assert_eq!(made, content(&[update(2), update(3)]));
        assert!(!made.content_type.pushes_by_default());
        assert_eq!(consents_of(&made), Ok(vec![save(2), save(3)]));
    }

    #[test]
    fn cons_003_an_update_that_does_not_decode_takes_no_other_with_it() {
        let no_text = field(1, &[0x1a, 2, 0xff, 0xfe]);
        let cut = field(1, &[0x1a, 9, b'a']);
        let hmac = field(2, &[0x0a, 1, 1]);
        let good = field(1, &save(3).encode());
        let made = content(&[no_text, cut, hmac, good, vec![0xff]]);
        assert_eq!(consents_of(&made), Ok(vec![save(3)]));
    }

    #[test]
    fn other_content_carries_no_records() {
        assert_eq!(consents_of(&EncodedContent::text("hi")), Ok(vec![]));
        let mut later = content(&[field(1, &save(2).encode())]);
        later.content_type.major = 2;
        assert_eq!(consents_of(&later), Ok(vec![]));
        let acknowledge = EncodedContent { content: field(2, &[0x0a, 1, b'x']), ..content(&[]) };
        assert_eq!(consents_of(&acknowledge), Ok(vec![]));
        let broken = EncodedContent { content: vec![0x22, 9, 1], ..content(&[]) };
        assert!(consents_of(&broken).is_err());
    }

    proptest! {
        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = consents_of(&EncodedContent { content: bytes, ..content(&[]) });
        }
    }
}
