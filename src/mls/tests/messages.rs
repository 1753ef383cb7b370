//! Application messages: both ways, late, lost, padded, and how little of a group they move.

use super::*;

#[test]
fn messages_go_both_ways_and_name_their_sender() {
    let mut all = parties(2);
    assert_together(&all);
    let hello = all[0].send(b"hello");
    assert_eq!(all[1].read(&hello), (all[0].leaf(0), 1, b"hello".to_vec()));
    let back = all[1].send(b"and back");
    assert_eq!(all[0].read(&back), (all[1].leaf(1), 1, b"and back".to_vec()));
    let frame = Frame { group_id: GROUP, epoch: 1, kind: FrameKind::Application };
    assert_eq!(peek(&back), Ok(frame));
}

#[test]
fn messages_of_one_bucket_have_one_length() {
    let mut all = parties(2);
    let mut lengths = Vec::new();
    let sizes = [
        0, 1, 63, 64, 65, 256, 257, 1024, 1025, 4096, 4097, 8192, 8193, 12_288, 12_289, 16_383, 16_384,
        16_385,
    ];
    for size in sizes {
        let plaintext = vec![7; size];
        let bytes = all[0].send(&plaintext);
        assert_eq!(all[1].read(&bytes).2, plaintext);
        lengths.push(bytes.len());
    }
    lengths.dedup();
    assert_eq!(lengths.len(), 8);
    assert!(lengths.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn late_messages_of_three_past_epochs_name_the_leaf_of_their_epoch() {
    let mut all = parties(3);
    let old: Vec<_> = (0..2).map(|_| all[2].send(b"late")).collect();
    // The third party is removed, and another installation takes its leaf.
    let mut plan = CommitPlan { removes: vec![2], dictionary_after: dictionary(), ..CommitPlan::default() };
    let sealed = all[0].commit(plan.clone());
    all[0].read_back();
    all[1].receive(&sealed.bytes);
    let mut fourth = Party::new(4);
    plan = CommitPlan { adds: vec![fourth.key_package().bytes.into()], ..plan };
    plan.removes.clear();
    let sealed = all[1].commit(plan.clone());
    all[1].read_back();
    let facts = all[0].receive(&sealed.bytes);
    assert_eq!(facts.leaves_after[2], fourth.leaf(2));
    assert_eq!(all[0].read(&old[0]), (all[2].leaf(2), 1, b"late".to_vec()));

    for _ in 0..2 {
        let sealed = all[0].commit(CommitPlan { dictionary_after: dictionary(), ..CommitPlan::default() });
        all[0].read_back();
        all[1].receive(&sealed.bytes);
    }
    assert_eq!(all[0].try_open(&old[1]).err(), Some(OpenError::TooOld));
}

#[test]
fn own_messages_come_back_as_own_and_write_nothing() {
    let mut all = parties(2);
    let own = all[0].send(b"mine");
    let before = all[0].scratch.pages(GROUP).unwrap();
    assert_eq!(all[0].try_open(&own).err(), Some(OpenError::Own));
    assert!(all[0].scratch.pages(GROUP).unwrap() == before);
}

#[test]
fn a_message_from_a_later_epoch_waits_for_its_commit() {
    let mut all = parties(2);
    let sealed = all[0].commit(CommitPlan { dictionary_after: dictionary(), ..CommitPlan::default() });
    all[0].read_back();
    let ahead = all[0].send(b"ahead");
    assert_eq!(all[1].try_open(&ahead).err(), Some(OpenError::WrongEpoch { epoch: 2 }));
    all[1].receive(&sealed.bytes);
    assert_eq!(all[1].read(&ahead).1, 2);
    assert_eq!(all[1].try_open(&sealed.bytes).err(), Some(OpenError::WrongEpoch { epoch: 1 }));
}

#[test]
fn messages_may_be_lost_and_swapped_within_bounds() {
    let mut all = parties(2);
    let sent: Vec<_> = (0..8u8).map(|n| all[0].send(&[n])).collect();
    assert_eq!(all[1].read(&sent[7]).2, [7]);
    assert_eq!(all[1].read(&sent[4]).2, [4]);
    assert_eq!(all[1].try_open(&sent[0]).err(), Some(OpenError::TooOld));
    assert_eq!(all[1].try_open(&sent[4]).err(), Some(OpenError::SecretReuse));
}

#[test]
fn a_message_moves_few_pages_of_a_group_of_fifty() {
    let mut all: Vec<Party> = (1..=50).map(Party::new).collect();
    all[0].create(&dictionary());
    let packages: Vec<_> = all[1..].iter_mut().map(Party::key_package).collect();
    let adds = packages.iter().map(|package| package.bytes.clone().into()).collect();
    let sealed = all[0].commit(CommitPlan { adds, dictionary_after: dictionary(), ..CommitPlan::default() });
    all[0].read_back();
    all[1].join(&sealed.welcome.unwrap(), &packages[0]);
    // Past epochs fill the hot part up.
    for _ in 0..3 {
        let plan = CommitPlan { dictionary_after: dictionary(), ..CommitPlan::default() };
        let sealed = all[0].commit(CommitPlan { force_self_update: true, ..plan });
        all[0].read_back();
        all[1].receive(&sealed.bytes);
    }
    let first = all[0].send(b"first");
    all[1].read(&first);
    let sent = all[0].send(b"second");
    let mut group = all[1].group();
    let total = all[1].scratch.pages(GROUP).unwrap().len();
    let Ok(Opened::Application { .. }) = open(&all[1].scratch, &mut group, &sent) else { panic!() };
    let changes = all[1].scratch.take_changes().unwrap();
    assert!(changes.pages.len() <= 2, "{} of {total} pages", changes.pages.len());
    assert!(changes.pages.len() * 4 < total, "{} of {total} pages", changes.pages.len());
    assert!(changes.pages.iter().all(|page| page.part == 0));
    assert_eq!(all[1].scratch.compared, 1);
}
