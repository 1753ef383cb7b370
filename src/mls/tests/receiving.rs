//! Savepoints, tampering and wrong dictionaries: what a refused message leaves behind.

use super::*;

fn parts(party: &Party, part: u8) -> Vec<(u8, u16, Vec<u8>)> {
    let pages = party.scratch.pages(GROUP).unwrap();
    pages.into_iter().filter(|page| page.0 == part).collect()
}

fn rename(party: &mut Party) -> SealedCommit {
    let app_data = vec![update(0x8004, b"renamed")];
    let dictionary_after = after(&dictionary(), &app_data);
    party.commit(CommitPlan { app_data, dictionary_after, ..CommitPlan::default() })
}

#[test]
fn after_a_restored_savepoint_the_same_bytes_open_again() {
    let mut all = parties(2);
    let text = all[0].send(b"once more");
    let sealed = rename(&mut all[0]);
    let party = &mut all[1];
    let savepoint = party.scratch.savepoint();
    for bytes in [&text, &sealed.bytes] {
        let mut group = party.group();
        assert!(open(&party.scratch, &mut group, bytes).is_ok());
        assert_eq!(open(&party.scratch, &mut group, bytes).err(), Some(OpenError::SecretReuse));
        assert_eq!(open(&party.scratch, &mut party.group(), bytes).err(), Some(OpenError::SecretReuse));
        party.scratch.restore(&savepoint);
        assert!(party.scratch.take_changes().unwrap().is_empty());
    }
    assert_eq!(party.read(&text).2, b"once more");
    party.receive(&sealed.bytes);
}

#[test]
fn a_merged_commit_is_undone_by_its_savepoint() {
    let mut all = parties(2);
    let sealed = rename(&mut all[0]);
    let before = all[1].scratch.pages(GROUP).unwrap();
    let savepoint = all[1].scratch.savepoint();
    let mut group = all[1].group();
    let staged = open_and_stage(&all[1].scratch, &mut group, &sealed.bytes).unwrap();
    merge(&all[1].scratch, &mut group, staged).unwrap();
    all[1].scratch.restore(&savepoint);
    assert!(all[1].scratch.pages(GROUP).unwrap() == before);
    assert_eq!(all[1].group().epoch(), 1);
    all[1].receive(&sealed.bytes);
}

#[test]
fn gmod_021_a_rejected_commit_leaves_all_but_the_ratchet_as_it_was() {
    let mut all = parties(2);
    let sealed = rename(&mut all[0]);
    let (hot, cold, pending) = (parts(&all[1], 0), parts(&all[1], 1), parts(&all[1], 2));
    let savepoint = all[1].scratch.savepoint();
    let mut group = all[1].group();
    let staged = open_and_stage(&all[1].scratch, &mut group, &sealed.bytes).unwrap();
    drop(staged);
    all[1].scratch.restore_keeping_ratchet(&savepoint);
    all[1].reload();
    assert!(parts(&all[1], 0) != hot);
    assert!(parts(&all[1], 1) == cold);
    assert!(parts(&all[1], 2) == pending);
    assert_eq!(all[1].try_open(&sealed.bytes).err(), Some(OpenError::SecretReuse));
    let text = all[0].send(b"still here");
    assert_eq!(all[1].read(&text).2, b"still here");
}

#[test]
fn a_tampered_message_writes_nothing() {
    let mut all = parties(2);
    let text = all[0].send(b"text");
    let sealed = rename(&mut all[0]);
    let before = all[1].scratch.pages(GROUP).unwrap();
    for bytes in [&text, &sealed.bytes] {
        // Every region: header, sender data, ciphertext.
        for at in (4..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            let mut tampered = bytes.clone();
            tampered[at] ^= 0x40;
            assert!(all[1].try_open(&tampered).is_err(), "byte {at}");
            assert!(all[1].scratch.pages(GROUP).unwrap() == before, "byte {at}");
        }
        let cut = all[1].try_open(&bytes[..bytes.len() - 1]);
        assert_eq!(cut.err(), Some(OpenError::Malformed));
    }
    assert_eq!(all[1].read(&text).2, b"text");
    all[1].receive(&sealed.bytes);
}

#[test]
fn a_wrong_dictionary_is_refused_and_the_group_goes_on() {
    let mut all = parties(2);
    let sealed = rename(&mut all[0]);
    let savepoint = all[1].scratch.savepoint();
    let wrong = after(&dictionary(), &[update(0x8004, b"something else")]);
    let unnamed = after(&dictionary(), &[update(0x8005, b"unnamed")]);
    let attempt = |party: &mut Party, dictionary| {
        let mut group = party.group();
        let Ok(Opened::Commit(opened)) = open(&party.scratch, &mut group, &sealed.bytes) else { panic!() };
        let refused = stage(&party.scratch, &group, opened, dictionary);
        party.scratch.restore(&savepoint);
        refused.err()
    };
    assert!(matches!(attempt(&mut all[1], &wrong), Some(OpenError::Invalid(_))));
    assert!(matches!(attempt(&mut all[1], &unnamed), Some(OpenError::Bug(_))));
    all[1].receive(&sealed.bytes);
}

#[test]
fn several_envelopes_share_one_unit() {
    let mut all = parties(2);
    let texts: Vec<_> = (0..3u8).map(|n| all[0].send(&[n])).collect();
    let sealed = rename(&mut all[0]);
    all[0].read_back();
    let last = all[0].send(b"renamed");
    let party = &mut all[1];
    let mut group = party.group();
    for text in &texts {
        assert!(open(&party.scratch, &mut group, text).is_ok());
    }
    let staged = open_and_stage(&party.scratch, &mut group, &sealed.bytes).unwrap();
    merge(&party.scratch, &mut group, staged).unwrap();
    assert!(open(&party.scratch, &mut group, &last).is_ok());
    party.reload();
    assert_together(&all);
}
