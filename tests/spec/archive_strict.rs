//! Archives that are cut, altered, newer or malformed: a typed error, and what came before it stays.

use dovetail::archive::container::{Frame, Reader, Writer};
use dovetail::archive::import::Import;
use dovetail::base::{GroupId, InboxId, MessageId};
use dovetail::error::Error;
use dovetail::store::Table;
use dovetail::wire::{ArchivedKind, ArchivedMessage, Element};
use proptest::prelude::*;

use crate::common::World;
use crate::common::archive::{KEY, NONCE, archive_of, decided, group, metadata, said};
use crate::common::dump::{self, Dump};

const COUNTED: &[u8] = include_bytes!("../archives/counted.archive");
const CONSTANT: &[u8] = include_bytes!("../archives/constant.archive");

/// Reads an archive as an import does; the rows it gave, and how it ended.
fn read(archive: &[u8], key: &[u8]) -> (usize, Result<(), Error>) {
    let mut rows = 0;
    let result = Import::begin(archive.to_vec(), key).and_then(|mut import| {
        while let Some(batch) = import.read(64)? {
            rows += dovetail::store::rows::unpack(&batch).expect("packed rows").len();
        }
        Ok(())
    });
    (rows, result)
}

fn code(archive: &[u8]) -> &'static str {
    read(archive, &KEY).1.err().map_or("", |error| error.code)
}

#[test]
fn arch_018_every_cut_is_told_as_one() {
    for archive in [COUNTED, CONSTANT] {
        for length in 0..archive.len() {
            assert_eq!(code(&archive[..length]), "archive.truncated", "cut at {length}");
        }
        assert_eq!(code(archive), "");
    }
}

#[test]
fn arch_018_a_stream_that_ends_within_a_frame_is_cut_too() {
    let plain = frames_of(3);
    for length in 0..plain.len() {
        let rebuilt = raw(&plain[..length], true);
        let whole = boundaries(&plain).contains(&length);
        assert_eq!(code(&rebuilt), if whole { "" } else { "archive.truncated" }, "{length}");
    }
}

/// The frames of an archive of its metadata and `count` decisions, not compressed.
fn frames_of(count: u8) -> Vec<u8> {
    let decisions = (0..count).map(|n| decided(2, &InboxId([n; 32]).to_string(), 2, 5)).collect::<Vec<_>>();
    let archive = archive_of(&decisions);
    // Header 14, stream header 6, block header 3.
    archive[14 + 6 + 3..].to_vec()
}

/// Where frames end, the first one on.
fn boundaries(mut plain: &[u8]) -> Vec<usize> {
    let (mut at, mut ends) = (0, Vec::new());
    while let Some((length, _)) = plain.split_first_chunk() {
        let frame = 4 + u32::from_le_bytes(*length) as usize;
        at += frame;
        plain = &plain[frame..];
        ends.push(at);
    }
    ends
}

/// An archive of one raw block.
fn raw(plain: &[u8], last: bool) -> Vec<u8> {
    let mut archive = vec![0, 0];
    archive.extend(NONCE);
    archive.extend([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x30]);
    archive.extend(&((plain.len() as u32) << 3 | u32::from(last)).to_le_bytes()[..3]);
    archive.extend(plain);
    archive
}

#[test]
fn arch_018_a_frame_shorter_than_a_tag_or_impossibly_long_is_refused() {
    for length in [0u32, 1, 15, 32 * 1024 * 1024 + 1, u32::MAX] {
        let mut plain = frames_of(1);
        plain[..4].copy_from_slice(&length.to_le_bytes());
        assert_eq!(code(&raw(&plain, true)), "archive.malformed", "{length}");
    }
}

#[test]
fn arch_003_a_newer_version_fails_before_any_frame() {
    for version in [1u16, 2, 0x100, u16::MAX] {
        let mut archive = COUNTED.to_vec();
        archive[..2].copy_from_slice(&version.to_le_bytes());
        assert_eq!(code(&archive), "archive.version");
        // Whatever follows.
        assert_eq!(code(&archive[..2]), "archive.version");
        archive.truncate(14);
        archive.extend(b"no stream at all");
        assert_eq!(code(&archive), "archive.version");
    }
}

#[test]
fn arch_012_another_key_opens_nothing() {
    for at in 0..32 {
        let mut key = KEY;
        key[at] ^= 1;
        let (rows, result) = read(COUNTED, &key);
        assert_eq!((rows, result.unwrap_err().code), (0, "archive.key"));
    }
}

#[test]
fn arch_001_nonces_count_from_any_base_and_wrap() {
    for base in [[0; 12], [0xff; 12], NONCE] {
        let mut writer = Writer::new(&KEY, base).expect("a key");
        let elements: Vec<Vec<u8>> = (0..300u32).map(|n| n.to_le_bytes().to_vec()).collect();
        elements.iter().for_each(|element| writer.push(element).expect("written"));
        let mut reader = Reader::open(writer.finish(), &KEY).expect("opens");
        let mut read = Vec::new();
        loop {
            match reader.step().expect("reads") {
                Frame::Element(bytes) => read.push(bytes),
                Frame::More => {}
                Frame::End => break,
            }
        }
        assert_eq!(read, elements);
    }
}

#[test]
fn arch_001_frames_in_another_order_do_not_open() {
    let plain = frames_of(4);
    let ends = boundaries(&plain);
    let frame = |n: usize| &plain[ends[n - 1]..ends[n]];
    let swapped = [&plain[..ends[0]], frame(1), frame(3), frame(2), frame(4)].concat();
    let (rows, result) = read(&raw(&swapped, true), &KEY);
    assert_eq!((rows, result.unwrap_err().code), (1, "archive.altered"));
}

#[test]
fn arch_005_the_first_element_is_the_metadata() {
    let mut writer = Writer::new(&KEY, NONCE).expect("a key");
    writer.push(&decided(2, &InboxId([1; 32]).to_string(), 2, 5).encode()).expect("written");
    assert_eq!(code(&writer.finish()), "archive.malformed");
    let empty = Writer::new(&KEY, NONCE).expect("a key").finish();
    assert_eq!(code(&empty), "archive.truncated");
}

#[test]
fn arch_006_what_is_not_known_is_passed_over() {
    let mut writer = Writer::new(&KEY, NONCE).expect("a key");
    let decision = decided(2, &InboxId([1; 32]).to_string(), 2, 5).encode();
    // A retired element, one of a later version, an empty one, and the metadata again.
    for element in
        [metadata().encode(), vec![0x2a, 2, 8, 1], vec![0x9a, 6, 1, 7], vec![], metadata().encode()]
    {
        writer.push(&element).expect("written");
    }
    writer.push(&decision).expect("written");
    assert_eq!(read(&writer.finish(), &KEY), (1, Ok(())));
}

#[test]
fn arch_010_sync_groups_and_unsent_messages_are_passed_over() {
    let own = InboxId([1; 32]);
    let mut sync = group(GroupId([4; 16]), own);
    sync.kind = ArchivedKind::Virtual;
    let kept = group(GroupId([5; 16]), own);
    let unsent = ArchivedMessage { published: false, ..said(2, kept.id, own, 5) };
    let archive = archive_of(&[
        Element::Group(Box::new(sync)),
        Element::Group(Box::new(kept)),
        Element::Message(Box::new(said(1, GroupId([4; 16]), own, 5))),
        Element::Message(Box::new(unsent)),
        Element::Message(Box::new(said(3, GroupId([5; 16]), own, 5))),
    ]);
    let world = World::new(1);
    let carol = world.user("carol");
    carol.import(&archive).ok();
    let dump = Dump::of(&carol.store);
    assert_eq!(dump.groups().into_keys().collect::<Vec<_>>(), [GroupId([5; 16])]);
    assert_eq!(dump.messages().into_keys().collect::<Vec<_>>(), [MessageId([3; 32])]);
}

#[test]
fn arch_016_what_came_before_the_trouble_stays_and_nothing_behind_it_comes() {
    let own = InboxId([1; 32]);
    let decision = |n: u8| decided(2, &InboxId([n; 32]).to_string(), 2, 5);
    let stranger = Element::Message(Box::new(said(1, GroupId([9; 16]), own, 5)));
    let mut altered = archive_of(&(1..=80).map(decision).collect::<Vec<_>>());
    let last = altered.len() - 1;
    altered[last] ^= 1;
    let cut = archive_of(&(1..=80).map(decision).collect::<Vec<_>>())[..7_000].to_vec();
    let cases = [
        (archive_of(&[decision(1), decision(2), stranger, decision(3)]), "archive.malformed", Some(2)),
        (altered, "archive.altered", Some(79)),
        (cut, "archive.truncated", None),
    ];
    for (archive, code, kept) in cases {
        let world = World::new(1);
        let carol = world.user("carol");
        assert_eq!(carol.import(&archive).code(), code);
        let stored = Dump::of(&carol.store).count(Table::Consent);
        assert!(kept.is_none_or(|kept| kept == stored), "{code}: {stored}");
        dump::check_imported(&carol.store);
    }
}

#[test]
fn proc_011_a_stored_id_is_not_taken_by_another_sender() {
    let (own, other) = (InboxId([1; 32]), InboxId([2; 32]));
    let (first, second) = (GroupId([4; 16]), GroupId([5; 16]));
    let groups = [first, second].map(|id| Element::Group(Box::new(group(id, own))));
    let message = |sender, id| Element::Message(Box::new(said(1, id, sender, 5)));
    for taker in [message(other, first), message(own, second)] {
        let world = World::new(1);
        let carol = world.user("carol");
        let [a, b] = groups.clone();
        // In one batch, and against what is stored.
        let archive = archive_of(&[a, b, message(own, first), message(own, first), taker.clone()]);
        assert_eq!(carol.import(&archive).code(), "archive.rule");
        assert_eq!(carol.import(&archive_of(&[taker])).code(), "archive.rule");
        let stored = Dump::of(&carol.store).messages();
        assert_eq!((stored.len(), stored[&MessageId([1; 32])].sender_inbox), (1, own));
    }
}

/// Changes the bytes of a sealed element's wire form and reads it.
fn refused(element: &[u8]) -> &'static str {
    let mut writer = Writer::new(&KEY, NONCE).expect("a key");
    writer.push(&metadata().encode()).expect("written");
    writer.push(element).expect("written");
    code(&writer.finish())
}

#[test]
fn arch_020_malformed_elements_are_refused() {
    let own = InboxId([1; 32]);
    let good = group(GroupId([4; 16]), own);
    let dm = |text: &str| {
        // conversation_type 2 and a dm id, by hand.
        let mut body = vec![0x0a, 16];
        body.extend([4; 16]);
        body.extend([0x2a, 64]);
        body.extend(own.to_string().as_bytes());
        body.extend([0x40, 2, 0x4a, text.len() as u8, 1]);
        if text.len() < 128 {
            body.pop();
        }
        body.extend(text.as_bytes());
        let mut element = vec![0x12];
        element.extend(dovetail_varint(body.len()));
        element.extend(body);
        element
    };
    let pair = format!("dm:{}:{}", InboxId([1; 32]), InboxId([2; 32]));
    assert_eq!(refused(&dm(&pair)), "");
    let turned = format!("dm:{}:{}", InboxId([2; 32]), InboxId([1; 32]));
    let alone = format!("dm:{0}:{0}", InboxId([1; 32]));
    for bad in [turned.as_str(), alone.as_str(), "", "dm:", &pair.to_uppercase(), &pair[3..]] {
        assert_eq!(refused(&dm(bad)), "archive.malformed", "{bad}");
    }
    let mut nobody = Element::Group(Box::new(good.clone())).encode();
    let creator = own.to_string().into_bytes();
    while let Some(at) = nobody.windows(64).position(|part| part == creator) {
        nobody[at] = b'G';
    }
    assert_eq!(refused(&nobody), "archive.malformed");
    assert_eq!(refused(b"\x12\x05not a group"), "archive.malformed");
    assert_eq!(refused(&[0xff; 40]), "archive.malformed");
}

fn dovetail_varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Any bit that is turned is found out: nothing is read that was not sealed.
    #[test]
    fn arch_003_a_turned_bit_is_found_out(at in 0usize..4096, bit in 0u8..8, other in any::<bool>()) {
        let mut archive = if other { COUNTED.to_vec() } else { CONSTANT.to_vec() };
        let at = at % archive.len();
        let (before, _) = read(&archive, &KEY);
        archive[at] ^= 1 << bit;
        let (rows, result) = read(&archive, &KEY);
        // With one nonce throughout, as old archives have it, nothing says how often an element comes:
        // the compressed form may be turned into one that repeats some, which changes nothing.
        prop_assert!(!other || rows <= before);
        match result {
            Err(error) => prop_assert!(error.code.starts_with("archive."), "{}", error.code),
            // What is not sealed: parts of the compressed form that mean nothing.
            Ok(()) => prop_assert!(rows == before || (!other && rows > before), "{rows} of {before}"),
        }
    }

    #[test]
    fn arch_003_any_bytes_are_refused_or_read(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), header in any::<bool>()) {
        if header && bytes.len() > 20 {
            bytes[..2].copy_from_slice(&[0, 0]);
            bytes[14..18].copy_from_slice(&[0x28, 0xb5, 0x2f, 0xfd]);
        }
        let (rows, result) = read(&bytes, &KEY);
        prop_assert!(rows == 0 && result.is_err());
    }

    /// Whoever has the key may seal what they like: it is an element, or it is refused.
    #[test]
    fn arch_006_any_sealed_bytes_are_read_or_refused(elements in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..6)) {
        let mut writer = Writer::new(&KEY, NONCE).expect("a key");
        writer.push(&metadata().encode()).expect("written");
        elements.iter().for_each(|element| writer.push(element).expect("written"));
        let (_, result) = read(&writer.finish(), &KEY);
        prop_assert!(result.is_ok_and(|()| true) || elements.iter().any(|e| Element::decode(e).is_err()));
    }

    #[test]
    fn arch_020_elements_survive_the_wire(
        id in any::<[u8; 16]>(), pair in any::<(bool, [u8; 32], [u8; 32])>(), at in any::<i64>(),
        last in proptest::option::of(any::<i64>()), text in ".{0,20}", expires in proptest::option::of(proptest::option::of(any::<i64>())),
    ) {
        let (is_dm, a, b) = pair;
        let mut group = group(GroupId(id), InboxId(a));
        if let (true, Some(dm)) = (is_dm, dovetail::base::DmId::of(InboxId(a), InboxId(b))) {
            group.kind = ArchivedKind::Dm(dm);
        }
        group.created_ns = dovetail::base::Nanos(at);
        group.last_message_ns = last.map(dovetail::base::Nanos);
        group.admins = vec![InboxId(b)];
        group.attributes.insert("group_name".into(), text);
        let element = Element::Group(Box::new(group));
        prop_assert_eq!(Element::decode(&element.encode()), Ok(element));
        let message = ArchivedMessage {
            expires_ns: expires.map(|at| at.map(dovetail::base::Nanos)),
            sequence_id: last.and_then(|id| u64::try_from(id).ok()),
            ..said(3, GroupId(id), InboxId(b), at)
        };
        let element = Element::Message(Box::new(message));
        prop_assert_eq!(Element::decode(&element.encode()), Ok(element));
    }
}
