//! Messages whose form is wrong, of kinds that are not used, from the wrong sender, of the wrong
//! epoch; made by hand where OpenMLS's sender refuses.

use dovetail::base::{GroupId, Topic};
use dovetail::meta::component::*;
use dovetail::meta::{Key, MapMutation, encode_map_delta};
use dovetail::mls::facts::AppDataOp;
use dovetail::wire::{ClientEnvelope, EncodedContent, PlaintextV1};
use openmls::prelude::tls_codec::Serialize as _;

use crate::common::forge::{self, Body, Changes, Forger, Raw, by_reference, inline};
use crate::gang::{ADMIN, Gang, HAND, MALLORY, ROOT, open_gang};

/// A commit by hand of these inline proposals, which leads to what the component writes say.
fn by_hand(gang: &Gang, who: usize, proposals: &[Vec<u8>], writes: &[(u16, AppDataOp)]) -> Vec<u8> {
    with(gang, who, proposals, writes, &Changes::default())
}

fn with(
    gang: &Gang,
    who: usize,
    proposals: &[Vec<u8>],
    writes: &[(u16, AppDataOp)],
    changes: &Changes,
) -> Vec<u8> {
    let own = writes.iter().map(|(component, op)| forge::app_data(*component, op));
    let all: Vec<_> = proposals.iter().cloned().chain(own).map(|one| inline(&one)).collect();
    let after = forge::after(&gang.by(who).group(gang.group).facts().dictionary, writes);
    gang.by(who).frame(gang.group, &Body::Commit(&all, &after), changes)
}

fn name(text: &str) -> (u16, AppDataOp) {
    (GROUP_NAME, AppDataOp::Update(text.into()))
}

fn context(gang: &Gang) -> Vec<u8> {
    gang.by(ROOT).raw(gang.group).extensions().tls_serialize_detached().expect("encodes")
}

fn text(text: &str) -> Vec<u8> {
    PlaintextV1 { content: EncodedContent::text(text).encode(), idempotency_key: text.into() }.encode()
}

#[test]
fn gmod_021_a_commit_made_by_hand_is_a_commit() {
    let gang = open_gang(1);
    gang.apply(HAND, by_hand(&gang, HAND, &[], &[name("by hand")]), &[HAND]);
    assert_eq!(gang.row(&gang.alice).settings.name, "by hand");
    gang.assert_alive();
}

#[test]
fn gmod_001_unused_kinds_in_a_commit_follow_the_table() {
    let kinds = forge::unused_kinds(&context(&open_gang(0)));
    for (kind, proposal) in kinds {
        let gang = open_gang(1);
        let commit = by_hand(&gang, HAND, &[proposal], &[]);
        match kind {
            "PreSharedKey" => {
                gang.refuse(commit, "GMOD-001");
                gang.assert_alive();
            }
            _ => {
                gang.hold(commit, "unsupported_proposal", "group.held");
            }
        }
    }
}

#[test]
fn gmod_001_unused_kinds_on_their_own_are_held() {
    let kinds = forge::unused_kinds(&context(&open_gang(0)));
    for (_, proposal) in kinds {
        let gang = open_gang(0);
        let data = gang.by(MALLORY).frame(gang.group, &Body::Proposal(&proposal), &Changes::default());
        gang.hold(data, "unsupported_proposal", "group.held");
    }
}

#[test]
fn gmod_019_proposals_made_by_hand_are_kept_only_with_authority() {
    let gang = open_gang(1);
    let alone = |who: usize, proposal: &[u8]| {
        gang.by(who).frame(gang.group, &Body::Proposal(proposal), &Changes::default())
    };
    let write = |component, payload: &[u8]| forge::app_data(component, &AppDataOp::Update(payload.to_vec()));
    gang.refuse(alone(MALLORY, &forge::remove(40)), "PERM-015");
    gang.refuse(alone(MALLORY, &write(SUPER_ADMIN_LIST, &[0])), "PERM-005");
    gang.refuse(alone(MALLORY, &write(0xFF00, &[0])), "META-003");
    gang.refuse(alone(MALLORY, &write(GROUP_NAME, &[b'x'; 101])), "META-010");
    gang.refuse(alone(MALLORY, &write(ADMIN_LIST, &[9])), "META-013");
    let root = MapMutation::Delete(Key::Inbox(gang.by(ROOT).inbox));
    gang.refuse(alone(ADMIN, &write(GROUP_MEMBERSHIP, &encode_map_delta(&[root]))), "PERM-003");
    gang.refuse(alone(ROOT, &write(MIN_SUPPORTED_PROTOCOL_VERSION, b"1.0.0")), "GMOD-026");
    let kept = alone(MALLORY, &write(GROUP_NAME, b"kept"));
    gang.keep(MALLORY, kept);
    let sealed = gang.by(ADMIN).raw_commit(gang.group, Raw { kept: true, ..Raw::default() });
    // mallory never kept its own; it is not needed any more.
    gang.apply(ADMIN, sealed.bytes, &[MALLORY]);
    assert_eq!(gang.row(&gang.bo).settings.name, "kept");
    gang.assert_alive();
}

#[test]
fn gmod_030_lists_that_only_hands_make_are_refused() {
    let gang = open_gang(2);
    let drop = |component| (component, AppDataOp::Remove);
    let lists: [&[(u16, AppDataOp)]; 4] = [
        &[drop(GROUP_NAME), drop(GROUP_NAME)],
        &[drop(GROUP_NAME), name("new")],
        &[name("new"), drop(GROUP_NAME)],
        &[drop(APP_DATA)],
    ];
    for list in lists {
        gang.refuse(by_hand(&gang, ROOT, &[], list), "GMOD-030");
    }
    gang.apply(HAND, by_hand(&gang, HAND, &[], &[name("one"), name("two")]), &[HAND]);
    assert_eq!(gang.row(&gang.alice).settings.name, "two", "META-064: each on the one before");
    gang.assert_alive();
}

#[test]
fn gmod_021_the_dictionary_is_exactly_what_the_proposals_say() {
    let gang = open_gang(1);
    let before = gang.dictionary();
    let lie = |component: u16, value: &[u8]| {
        let mut after = before.clone();
        after.insert(component, value.to_vec());
        after
    };
    let mut gone = before.clone();
    gone.remove(&SUPER_ADMIN_LIST);
    for dictionary in [lie(GROUP_NAME, b"other"), lie(SUPER_ADMIN_LIST, &[0]), lie(0xFF00, &[1]), gone] {
        let proposals = [inline(&forge::app_data(GROUP_NAME, &name("said").1))];
        let data =
            gang.by(HAND).frame(gang.group, &Body::Commit(&proposals, &dictionary), &Changes::default());
        gang.refuse(data, "PROC-011");
        // The same with no proposal that would say so.
        let none = [inline(&forge::app_data(APP_DATA, &AppDataOp::Update(vec![])))];
        let data = gang.by(HAND).frame(gang.group, &Body::Commit(&none, &dictionary), &Changes::default());
        gang.refuse(data, "PROC-011");
    }
    gang.apply(HAND, by_hand(&gang, HAND, &[], &[name("said")]), &[HAND]);
    gang.assert_alive();
}

#[test]
fn gmod_021_signature_tag_and_header_have_to_be_right() {
    let gang = open_gang(1);
    let writes = [name("said")];
    let wrong = [
        Changes { unsigned: true, ..Changes::default() },
        Changes { unconfirmed: true, ..Changes::default() },
        // GMOD-002: another member's leaf, and one that is not there.
        Changes { sender: Some(0), ..Changes::default() },
        Changes { sender: Some(1000), ..Changes::default() },
        Changes { epoch: Some(2), ..Changes::default() },
        Changes { epoch: Some(u64::MAX), ..Changes::default() },
        Changes { epoch: Some(0), ..Changes::default() },
        Changes { group: Some(GroupId([1; 16])), ..Changes::default() },
    ];
    for changes in wrong {
        gang.refuse(with(&gang, HAND, &[], &writes, &changes), "PROC-011");
    }
    gang.apply(HAND, by_hand(&gang, HAND, &[], &writes), &[HAND]);
    gang.assert_alive();
}

#[test]
fn gmod_021_a_path_is_not_left_out() {
    let gang = open_gang(0);
    gang.refuse(by_hand(&gang, ADMIN, &[forge::remove(gang.leaf(gang.bo.inbox()))], &[]), "PROC-011");
    gang.refuse(by_hand(&gang, ADMIN, &[], &[]), "PROC-011");
    gang.assert_alive();
}

#[test]
fn gmod_021_a_commit_that_names_a_proposal_nobody_sent_is_refused() {
    let gang = open_gang(1);
    let after = forge::after(&gang.dictionary(), &[name("said")]);
    let stated = inline(&forge::app_data(GROUP_NAME, &name("said").1));
    for list in [vec![by_reference(&[7; 32])], vec![stated.clone(), by_reference(&[7; 32])]] {
        let data = gang.by(HAND).frame(gang.group, &Body::Commit(&list, &after), &Changes::default());
        gang.refuse(data, "PROC-011");
    }
    let data = gang.by(HAND).frame(gang.group, &Body::Commit(&[stated], &after), &Changes::default());
    gang.apply(HAND, data, &[HAND]);
    gang.assert_alive();
}

#[test]
fn gmod_021_future_past_and_replayed_commits_are_refused() {
    let gang = open_gang(0);
    let first = gang.by(ADMIN).raw_commit(gang.group, Raw::write(GROUP_NAME, "first")).bytes;
    // MALLORY builds on the present epoch what will be late, and ADMIN on a future one.
    let late = gang.by(MALLORY).raw_commit(gang.group, Raw::write(GROUP_NAME, "late")).bytes;
    gang.by(MALLORY).drop_commit(gang.group);
    gang.by(ADMIN).merge(gang.group);
    let second = gang.by(ADMIN).raw_commit(gang.group, Raw::write(GROUP_NAME, "second")).bytes;
    gang.refuse(second.clone(), "PROC-011");
    let receipt = gang.by(ADMIN).publish(gang.group, first.clone());
    gang.sync();
    assert_eq!(gang.recorded(receipt.sequence_id), [None, None]);
    gang.refuse(late, "PROC-011");
    gang.refuse_payload(envelope(first, 3), "PROC-011");
    // The refused future one is no longer the future.
    gang.by(ADMIN).publish_raw(Topic::Group(gang.group), envelope(second, 3));
    gang.sync();
    assert_eq!(gang.row(&gang.alice).settings.name, "second");
    // A refused commit, replayed in its own epoch: its secret is used up.
    let raw = Raw::drop(GROUP_NAME);
    let sealed = gang.by(ROOT).raw_commit(gang.group, raw);
    gang.by(ROOT).drop_commit(gang.group);
    gang.refuse(sealed.bytes, "PROC-011");
    gang.assert_alive();
}

fn envelope(data: Vec<u8>, salt: u8) -> Vec<u8> {
    ClientEnvelope::GroupMessage { data, sender_hmac: vec![salt], should_push: false }.encode()
}

#[test]
fn gmod_021_what_was_refused_stays_refused_when_it_is_replayed() {
    let gang = open_gang(0);
    let sealed = gang.by(MALLORY).raw_commit(gang.group, Raw::drop(GROUP_NAME));
    gang.by(MALLORY).drop_commit(gang.group);
    gang.refuse(sealed.bytes.clone(), "PERM-011");
    let before = gang.honest().map(|user| user.inspect(gang.group).groups.remove(0).rejected.len());
    let receipt = gang.by(ROOT).publish_raw(Topic::Group(gang.group), envelope(sealed.bytes, 9));
    gang.sync();
    let expected = Some("PROC-011".to_owned());
    assert_eq!(gang.recorded(receipt.sequence_id), [expected.clone(), expected]);
    for (user, before) in gang.honest().into_iter().zip(before) {
        assert_eq!(user.inspect(gang.group).groups[0].rejected.len(), before + 1);
    }
    gang.apply_commit(ADMIN, Raw::write(GROUP_NAME, "on"));
    gang.assert_alive();
}

#[test]
fn gmod_021_truncated_and_swollen_commits_are_refused() {
    let gang = open_gang(1);
    let good = by_hand(&gang, HAND, &[], &[name("good")]);
    let head = 4 + 17 + 8;
    for cut in (0..good.len()).step_by(29).chain([good.len() - 1]) {
        gang.refuse(good[..cut].to_vec(), "PROC-011");
    }
    let mut longer = good.clone();
    longer.push(0);
    gang.refuse(longer, "PROC-011");
    for at in (head..good.len()).step_by(37) {
        let mut flipped = good.clone();
        flipped[at] ^= 0x20;
        gang.refuse(flipped, "PROC-011");
    }
    // Fields as large as an envelope holds: refused for what they are, not for what they weigh.
    let huge = vec![b'x'; 900_000];
    gang.refuse(by_hand(&gang, MALLORY, &[], &[(APP_DATA, AppDataOp::Update(huge.clone()))]), "META-010");
    let entry = MapMutation::Insert(Key::Bytes(huge), vec![]);
    let list = encode_map_delta(&[entry]);
    gang.refuse(by_hand(&gang, MALLORY, &[], &[(ADMIN_LIST, AppDataOp::Update(list))]), "META-013");
    gang.apply(HAND, good, &[HAND]);
    gang.assert_alive();
}

#[test]
fn gmod_002_a_strangers_messages_are_refused() {
    let gang = open_gang(0);
    let stranger = Forger::of(&gang.world.user("stranger"));
    gang.refuse(stranger.external_commit(gang.by(ROOT), gang.group), "GMOD-002");
    gang.refuse(stranger.external_join(gang.by(ROOT), gang.group), "GMOD-002");
    // Encrypted with the secrets of a group of its own, under this group's id.
    let own = stranger.create(GroupId([0x66; 16]), &gang.dictionary());
    let changes = Changes { group: Some(gang.group), epoch: Some(1), ..Changes::default() };
    let body = forge::app_data(GROUP_NAME, &name("mine").1);
    gang.refuse(stranger.frame(own, &Body::Proposal(&body), &changes), "PROC-011");
    let after = gang.dictionary();
    gang.refuse(stranger.frame(own, &Body::Commit(&[inline(&body)], &after), &changes), "PROC-011");
    gang.assert_alive();
}

#[test]
fn gmod_002_own_ciphertext_from_elsewhere_is_not_applied() {
    let gang = open_gang(0);
    let thief = Forger::of(&gang.alice);
    let commit = thief.raw_commit(gang.group, Raw::write(GROUP_NAME, "not alice"));
    let before = gang.row(&gang.alice);
    let receipt = gang.by(ROOT).publish(gang.group, commit.bytes);
    let group = gang.group;
    gang.alice.call(move |client| async move { client.sync_conversation(group).await }).unwrap();
    assert_eq!(gang.recorded(receipt.sequence_id)[0].as_deref(), Some("PROC-011"));
    let row = gang.row(&gang.alice);
    assert_eq!((row.settings.name, row.state), (before.settings.name, before.state));
}

#[test]
fn a_message_of_a_member_is_read_beside_all_that_noise() {
    let gang = open_gang(0);
    gang.by(MALLORY).publish(gang.group, gang.by(MALLORY).message(gang.group, &text("hello")));
    gang.sync();
    let last = gang.bo.history(gang.group, Default::default()).pop().unwrap();
    assert_eq!((last.sender_inbox, crate::common::text_of(&last)), (gang.by(MALLORY).inbox, "hello".into()));
}
