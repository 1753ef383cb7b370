//! The decoders of the wire, of records, of components and of rows.

use dovetail::base::{DmId, GroupId, InboxId, InstallationId, MessageId, Topic, Version, read_varint};
use dovetail::identity::{Address, IdentityUpdate, Log};
use dovetail::members::Members;
use dovetail::meta::component::{GROUP_MEMBERSHIP, built_in_shape, check_well_known};
use dovetail::meta::*;
use dovetail::store::Table;
use dovetail::store::rows::*;
use dovetail::wire::*;

use crate::mutate::fuzz;
use crate::samples::{contents, samples};

/// Tries a decoder whose values encode again to something that decodes to the same.
fn fuzz_codec<T: PartialEq>(
    name: &str,
    samples: &[Vec<u8>],
    decode: impl Fn(&[u8]) -> Option<T>,
    encode: impl Fn(&T) -> Vec<u8>,
) {
    fuzz(name, samples, |bytes| {
        if let Some(value) = decode(bytes) {
            let again = decode(&encode(&value));
            assert!(again.is_some_and(|again| again == value), "does not decode to itself");
        }
    });
}

#[test]
fn envelopes() {
    fuzz_codec("envelope", &samples().envelopes, |b| ClientEnvelope::decode(b).ok(), ClientEnvelope::encode);
}

#[test]
fn content() {
    fuzz_codec("content", &contents(), |b| EncodedContent::decode(b).ok(), EncodedContent::encode);
    let plaintexts: Vec<_> = contents()
        .into_iter()
        .map(|content| PlaintextV1 { content, idempotency_key: "key".into() }.encode())
        .collect();
    fuzz("plaintext", &plaintexts, |bytes| drop(PlaintextEnvelope::decode(bytes)));
}

#[test]
fn records() {
    let save = ConsentSave { entity_type: 1, state: 2, entity: "ab".repeat(16), consented_at_ns: 7 };
    fuzz_codec("consent_save", &[save.encode()], |b| ConsentSave::decode(b).ok(), ConsentSave::encode);
    let entry = MembershipEntry { sequence_id: 9, failed_installations: vec![vec![1; 32], vec![2; 32]] };
    fuzz_codec("entry", &[entry.encode()], |b| MembershipEntry::decode(b).ok(), MembershipEntry::encode);
    let leave = LeaveRequest { authenticated_note: Some(vec![1, 2]) };
    fuzz_codec("leave_request", &[leave.encode()], |b| LeaveRequest::decode(b).ok(), LeaveRequest::encode);
    let credential = MlsCredential { inbox: InboxId([7; 32]) };
    fuzz_codec("credential", &[credential.encode()], |b| MlsCredential::decode(b).ok(), |c| c.encode());
    let update = EncodedContent::decode(&contents()[1]).expect("content").content;
    fuzz_codec("group_updated", &[update], |b| GroupUpdated::decode(b).ok(), GroupUpdated::encode);
}

#[test]
fn welcomes() {
    let pointer = WelcomePointerV1 {
        destination: [1; 32],
        aead_type: AEAD_CHACHA20_POLY1305,
        encryption_key: [2; 32],
        data_nonce: [3; 12],
        metadata_nonce: [4; 12],
    };
    let bytes = [pointer.encode()];
    fuzz_codec("pointer", &bytes, |b| WelcomePointerV1::decode(b).ok(), WelcomePointerV1::encode);
    let metadata = [WelcomeMetadata { message_cursor: 1 << 40 }.encode()];
    fuzz_codec("welcome_metadata", &metadata, |b| WelcomeMetadata::decode(b).ok(), |m| m.encode());
    let key = WelcomeWrapperKey { public_key: vec![9; 32], algorithm: WelcomeAlgorithm::Curve25519 };
    fuzz_codec("wrapper_key", &[key.encode()], |b| WelcomeWrapperKey::decode(b).ok(), |k| k.encode());
    let types = [WelcomePointeeAeadTypes(vec![1, 2, -1]).encode()];
    fuzz_codec("aead_types", &types, |b| WelcomePointeeAeadTypes::decode(b).ok(), |t| t.encode());
}

#[test]
fn identity_updates() {
    let inbox = InboxId([1; 32]);
    fuzz("identity_update", &samples().updates, |bytes| {
        let _ = IdentityUpdate::decode(bytes);
        let mut log = Log::new(inbox);
        for at in 1..4 {
            log.push(dovetail::base::SequenceId(at), bytes).expect("in order");
        }
        let _ = (log.latest().map(|_| ()), log.state_at(dovetail::base::SequenceId(2)).map(|_| ()));
    });
}

fn values() -> Vec<Vec<u8>> {
    samples().dictionaries.iter().flat_map(|one| one.values().cloned()).collect()
}

const KINDS: [KeyKind; 3] = [KeyKind::Inbox, KeyKind::Component, KeyKind::Bytes];

#[test]
fn maps_and_sets() {
    fuzz("collection", &values(), |bytes| {
        for kind in KINDS {
            if let Ok(map) = decode_map(kind, bytes) {
                assert_eq!(encode_map(&map), bytes);
            }
            if let Ok(set) = decode_set(kind, bytes) {
                assert_eq!(encode_set(&set), bytes);
            }
        }
        let _ = (inbox_entries(bytes), decode_inbox_set(bytes), read_inbox(bytes));
    });
}

#[test]
fn registries_and_entries() {
    let registries: Vec<_> =
        samples().dictionaries.iter().map(|one| one[&component::COMPONENT_REGISTRY].clone()).collect();
    fuzz("registry", &registries, |bytes| {
        if let Ok(registry) = Registry::decode(bytes) {
            let _ = registry.check_action_policies();
            registry.ids().for_each(|id| assert_eq!(registry.shape_of(id), registry.shape_of(id)));
        }
    });
    let entries: Vec<_> = registries
        .iter()
        .flat_map(|bytes| decode_map(KeyKind::Component, bytes).expect("a registry").into_values())
        .collect();
    fuzz_codec("registry_entry", &entries, Entry::decode, Entry::encode);
}

#[test]
fn memberships() {
    let samples: Vec<_> = samples().dictionaries.iter().map(|one| one[&GROUP_MEMBERSHIP].clone()).collect();
    let read = |bytes: &[u8]| Members::read(&[(GROUP_MEMBERSHIP, bytes.to_vec())].into()).ok();
    fuzz_codec("membership", &samples, read, Members::encode);
}

#[test]
fn dictionaries() {
    fuzz("dictionary", &values(), |bytes| {
        for id in 0x8000..=0x800D {
            let _ = (check_well_known(id, bytes), built_in_shape(id));
        }
        let all = (0x8000..0x800E).chain(0xBFFC..=0xBFFF).map(|id| (id, bytes.to_vec())).collect();
        let view = Dictionary::new(&all);
        let _ = (view.conversation_type(), view.creator(), view.dm_pair(), view.members(), view.admins());
        let _ = (view.super_admins(), view.registry(), view.name(), view.disappearing(), view.floor());
    });
}

#[test]
fn archives() {
    use crate::common::archive::{KEY, archive_of, decided, elements_of, group, said};
    let (id, inbox) = (GroupId([1; 16]), InboxId([2; 32]));
    let all = [
        Element::Group(Box::new(group(id, inbox))),
        Element::Message(Box::new(said(3, id, inbox, 5))),
        decided(1, &id.to_string(), 2, 7),
    ];
    let archive = archive_of(&all);
    let elements: Vec<_> = elements_of(&archive).iter().map(Element::encode).collect();
    fuzz_codec("archive_element", &elements, |b| Element::decode(b).ok(), Element::encode);
    let files = [archive, include_bytes!("../archives/constant.archive").to_vec()];
    fuzz("archive", &files, |bytes| {
        let Ok(mut import) = dovetail::archive::import::Import::begin(bytes.to_vec(), &KEY) else { return };
        while let Ok(Some(rows)) = import.read(64) {
            assert!(unpack(&rows).is_ok(), "rows that do not decode");
        }
    });
    let mut packed = Vec::new();
    for table in [Table::Groups, Table::Messages, Table::Consent] {
        samples().rows_of(table).iter().for_each(|body| pack(&mut packed, table, body));
    }
    fuzz("packed_rows", &[packed], |bytes| drop(unpack(bytes)));
}

#[test]
fn rows() {
    fn row<R: Row>() {
        let all = samples().rows_of(R::TABLE);
        fuzz(&format!("row_{}", R::TABLE.name()), all, |bytes| {
            if let Ok(row) = R::decode(bytes) {
                let _ = (row.key(), row.index());
                assert_eq!(R::decode(&row.encode()).expect("decodes").encode(), row.encode());
            }
        });
    }
    row::<GroupRow>();
    row::<ThreadRow>();
    row::<ListingRow>();
    row::<MessageRow>();
    row::<ConsentRow>();
    row::<IntentRow>();
    row::<AttemptRow>();
    row::<PositionRow>();
    row::<AssociationRow>();
    row::<TranscriptRow>();
    row::<MlsPageRow>();
    // Tables with several kinds of rows, and kinds of which there is no sample.
    let meta = samples().rows_of(Table::Meta);
    let mls = samples().rows_of(Table::Mls);
    let all: Vec<_> = meta.iter().chain(mls).cloned().collect();
    fuzz("row_other", &all, |bytes| {
        let _ = InstallationRow::decode(bytes).map(|row| row.key());
        let _ = CountersRow::decode(bytes).map(|row| row.key());
        let _ = MlsGlobalRow::decode(bytes).map(|row| row.key());
        let _ = EnvelopeRow::decode(bytes).map(|row| row.key());
    });
}

#[test]
fn ids_versions_and_lengths() {
    let texts = ["1.11.0-dev+build.7", "99.0.0", "0x00112233445566778899aabbccddeeff00112233"];
    let hex = ["ab".repeat(16), "cd".repeat(32), format!("dm:{}:{}", "ab".repeat(32), "cd".repeat(32))];
    let samples: Vec<Vec<u8>> = texts.map(Vec::from).into_iter().chain(hex.map(Vec::from)).collect();
    fuzz("ids", &samples, |bytes| {
        let _ = (GroupId::from_slice(bytes), InboxId::from_slice(bytes), InstallationId::from_slice(bytes));
        let _ = (MessageId::from_slice(bytes), Topic::from_bytes(bytes));
        if let Ok((value, rest)) = read_varint(bytes) {
            let mut again = Vec::new();
            dovetail::base::write_varint(value, &mut again);
            assert_eq!([&again[..], rest].concat(), bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        let _ = (text.parse::<GroupId>(), text.parse::<InboxId>(), text.parse::<DmId>());
        let _ = text.parse::<Address>();
        if let Ok(version) = text.parse::<Version>() {
            assert_eq!(version.to_string().parse::<Version>().ok(), Some(version));
        }
    });
}
