//! The wire form of a record (CONS-002) and which received ones are usable (CONS-003).
//!
//! Beyond what CONS-003 names, a record whose entity is not exactly the lowercase hexadecimal of
//! a group id or an inbox id is unusable: stored under another spelling it would never merge with
//! the record of the same conversation. Enum numbers this version does not know are unusable too.

use super::{Entity, Record, State};
use crate::base::Nanos;
use crate::wire::ConsentSave;

/// Why a received record is not stored. The others of its batch are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Unspecified, address, or a number of a later version.
    #[error("a consent record has entity type {0}, which is not stored")]
    EntityType(i32),
    /// Unspecified, or a number of a later version.
    #[error("a consent record has state {0}, which is not stored")]
    State(i32),
    /// Not the lowercase hexadecimal id its type demands.
    #[error("a consent record does not name its entity in lowercase hexadecimal; it is not stored")]
    Entity,
}

const CONVERSATION_ID: i32 = 1;
const INBOX_ID: i32 = 2;

impl From<&Record> for ConsentSave {
    /// CONS-002.
    fn from(record: &Record) -> Self {
        let (entity_type, entity) = match record.entity {
            Entity::Conversation(id) => (CONVERSATION_ID, id.to_string()),
            Entity::Inbox(id) => (INBOX_ID, id.to_string()),
        };
        let state = match record.state {
            State::Unknown => 1,
            State::Allowed => 2,
            State::Denied => 3,
        };
        Self { entity_type, state, entity, consented_at_ns: record.consented_at_ns.0 }
    }
}

impl TryFrom<&ConsentSave> for Record {
    type Error = Unusable;

    /// CONS-003.
    fn try_from(save: &ConsentSave) -> Result<Self, Unusable> {
        let text = &save.entity;
        let entity = match save.entity_type {
            CONVERSATION_ID => text.parse().map(Entity::Conversation),
            INBOX_ID => text.parse().map(Entity::Inbox),
            other => return Err(Unusable::EntityType(other)),
        };
        let state = match save.state {
            1 => State::Unknown,
            2 => State::Allowed,
            3 => State::Denied,
            other => return Err(Unusable::State(other)),
        };
        let entity = entity.map_err(|_| Unusable::Entity)?;
        Ok(Self { entity, state, consented_at_ns: Nanos(save.consented_at_ns) })
    }
}

/// The usable records of a received batch, in its order; each unusable one is dropped by itself
/// (CONS-003).
pub fn usable(saves: &[ConsentSave]) -> Vec<Record> {
    saves.iter().filter_map(|save| Record::try_from(save).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{GroupId, InboxId};
    use proptest::prelude::*;

    const STATES: [(State, i32); 3] = [(State::Unknown, 1), (State::Allowed, 2), (State::Denied, 3)];

    fn save(entity_type: i32, state: i32, entity: &str) -> ConsentSave {
        ConsentSave { entity_type, state, entity: entity.to_owned(), consented_at_ns: 5 }
    }

    fn group_text() -> String {
        "ab".repeat(16)
    }

    #[test]
    fn cons_002_a_conversation_is_named_by_lowercase_group_id() {
        for (state, number) in STATES {
            let entity = Entity::Conversation(GroupId([0xab; 16]));
            let record = Record { entity, state, consented_at_ns: Nanos(5) };
            assert_eq!(ConsentSave::from(&record), save(1, number, &group_text()));
        }
    }

    #[test]
    fn cons_002_an_inbox_is_named_by_its_id() {
        let entity = Entity::Inbox(InboxId([0xcd; 32]));
        let record = Record { entity, state: State::Denied, consented_at_ns: Nanos(5) };
        assert_eq!(ConsentSave::from(&record), save(2, 3, &"cd".repeat(32)));
    }

    #[test]
    fn cons_003_unspecified_and_address_types_are_unusable() {
        for bad in [0, 3, 4, -1] {
            let read = Record::try_from(&save(bad, 2, &group_text()));
            assert_eq!(read, Err(Unusable::EntityType(bad)));
        }
    }

    #[test]
    fn cons_003_an_unspecified_state_is_unusable() {
        for bad in [0, 4, -1] {
            assert_eq!(Record::try_from(&save(1, bad, &group_text())), Err(Unusable::State(bad)));
        }
    }

    #[test]
    fn cons_003_malformed_and_upper_case_entities_are_unusable() {
        let (long, upper) = ("ab".repeat(32), group_text().to_uppercase());
        for bad in ["", "ab", "0x", " ", upper.as_str(), long.as_str()] {
            assert_eq!(Record::try_from(&save(1, 2, bad)), Err(Unusable::Entity), "{bad:?}");
        }
        assert_eq!(Record::try_from(&save(2, 2, &group_text())), Err(Unusable::Entity));
        assert_eq!(Record::try_from(&save(2, 2, &"AB".repeat(32))), Err(Unusable::Entity));
    }

    #[test]
    fn cons_003_one_unusable_record_does_not_take_the_batch_with_it() {
        let batch = [
            save(3, 2, "0x1234"),
            save(1, 2, &group_text()),
            save(1, 0, &group_text()),
            save(2, 3, &"cd".repeat(32)),
        ];
        let kept: Vec<_> = usable(&batch).iter().map(ConsentSave::from).collect();
        assert_eq!(kept, [batch[1].clone(), batch[3].clone()]);
    }

    proptest! {
        #[test]
        fn cons_002_every_record_survives_the_wire(
            inbox in any::<bool>(), bytes in any::<[u8; 32]>(), state in 0usize..3, at in any::<i64>(),
        ) {
            let entity = if inbox {
                Entity::Inbox(InboxId(bytes))
            } else {
                Entity::Conversation(GroupId::from_slice(&bytes[..16]).unwrap())
            };
            let record = Record { entity, state: STATES[state].0, consented_at_ns: Nanos(at) };
            let save = ConsentSave::from(&record);
            prop_assert_eq!(Record::try_from(&save), Ok(record));
            prop_assert_eq!(ConsentSave::decode(&save.encode()), Ok(save));
        }

        #[test]
        fn cons_003_reading_never_panics(kind in -2i32..6, state in -2i32..6, entity in ".{0,80}") {
            let _ = Record::try_from(&save(kind, state, &entity));
        }
    }
}
