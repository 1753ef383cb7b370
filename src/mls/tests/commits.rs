//! Own and received commits: facts, order, races, refused plans, predicted trees.

use super::*;
use crate::mls::facts::{ProposalKind, SenderFacts};

fn plan(app_data: Vec<(u16, AppDataOp)>) -> CommitPlan {
    CommitPlan { dictionary_after: after(&dictionary(), &app_data), app_data, ..CommitPlan::default() }
}

#[test]
fn gmod_016_an_own_commit_shows_the_same_facts_as_at_its_receivers() {
    let mut all = parties(3);
    let mut fourth = Party::new(4);
    let mut plan = plan(vec![
        update(0x8004, b"new name"),
        update(0x8005, b"text"),
        update(0x8004, b"newest"),
        (0x8000, AppDataOp::Remove),
    ]);
    plan.adds = vec![fourth.key_package().bytes.into()];
    plan.removes = vec![2];
    let sealed = all[0].commit(plan);
    let facts = all[1].receive(&sealed.bytes);
    assert_eq!(all[0].read_back(), facts);
    assert_together(&all[..2]);

    assert_eq!(facts.committer, SenderFacts::Member(all[0].leaf(0)));
    assert_eq!((facts.before.epoch, facts.epoch_after), (1, 2));
    assert_eq!(facts.path_leaf, Some(all[0].leaf(0)));
    assert_eq!(facts.leaves_after, [all[0].leaf(0), all[1].leaf(1), fourth.leaf(2)]);
    assert!(facts.context_otherwise_unchanged);
    assert!(facts.proposals.iter().all(|p| !p.by_reference && p.proposer == facts.committer));
    let kinds: Vec<_> = facts.proposals.iter().map(|p| p.kind.clone()).collect();
    let app_data = |(component, op)| ProposalKind::AppData { component, op };
    assert_eq!(kinds[0], ProposalKind::Add { leaf: fourth.leaf(0), bounded_lifetime: false });
    assert_eq!(kinds[1], app_data(update(0x8004, b"new name")));
    assert_eq!(kinds[2], app_data(update(0x8005, b"text")));
    assert_eq!(kinds[3], app_data(update(0x8004, b"newest")));
    assert_eq!(kinds[4], app_data((0x8000, AppDataOp::Remove)));
    assert_eq!(kinds[5], ProposalKind::Remove { leaf: Some(all[2].leaf(2)) });
    let expected = RawDictionary::from([(0x8004, b"newest".to_vec()), (0x8005, b"text".to_vec())]);
    assert_eq!(facts.dictionary_after, expected);
}

#[test]
fn meta_064_updates_show_by_component_in_commit_order() {
    let mut all = parties(2);
    let writes = vec![update(0x8005, b"1"), update(0x8004, b"2"), update(0x8005, b"3")];
    let sealed = all[0].commit(plan(writes.clone()));
    let Ok(Opened::Commit(opened)) = all[1].try_open(&sealed.bytes) else { panic!() };
    assert_eq!(opened.committer(), &SenderFacts::Member(all[0].leaf(0)));
    assert_eq!(opened.app_data(), [writes[1].clone(), writes[0].clone(), writes[2].clone()]);
}

#[test]
fn repeated_writes_are_committed_once() {
    let mut all = parties(2);
    let writes = vec![update(0x8004, b"1"), update(0x8004, b"2"), update(0x8004, b"1")];
    assert_eq!(distinct(writes.clone()), writes[..2]);
    let plan = CommitPlan { app_data: writes.clone(), ..plan(distinct(writes)) };
    let sealed = all[0].commit(plan);
    let facts = all[1].receive(&sealed.bytes);
    assert_eq!(facts.dictionary_after[&0x8004], b"2");
    assert_eq!(all[0].read_back(), facts);
    assert_together(&all);
}

#[test]
fn one_commit_at_a_time() {
    let mut all = parties(2);
    all[0].commit(plan(vec![update(0x8004, b"1")]));
    assert!(all[0].group().has_pending_commit());
    let again = all[0].run(|scratch, group, keys| commit(scratch, group, keys, CommitPlan::default()));
    assert_eq!(again, Err(SealError::PendingCommit));
    assert_eq!(pending_facts(&all[0].group()).unwrap().dictionary_after[&0x8004], b"1");
    // Messages still go out in the old epoch.
    let text = all[0].send(b"meanwhile");
    assert_eq!(all[1].read(&text).1, 1);
    all[0].run(|scratch, group, _| clear_pending(scratch, group).unwrap());
    assert_eq!(pending_facts(&all[0].group()), None);
    all[0].run(|scratch, group, _| merge_pending(scratch, group).unwrap());
    assert_eq!(all[0].group().epoch(), 1);
}

#[test]
fn gmod_036_a_commit_that_lost_the_race_is_gone_once_the_winner_is_applied() {
    let mut all = parties(3);
    let lost = all[0].commit(plan(vec![update(0x8004, b"lost")]));
    let won = all[1].commit(plan(vec![update(0x8004, b"won")]));
    all[1].read_back();
    all[0].receive(&won.bytes);
    all[2].receive(&won.bytes);
    assert!(!all[0].group().has_pending_commit());
    assert_eq!(all[2].try_open(&lost.bytes).err(), Some(OpenError::WrongEpoch { epoch: 1 }));
    assert_together(&all);
}

#[test]
fn an_own_commit_is_never_opened() {
    let mut all = parties(2);
    let sealed = all[0].commit(plan(vec![update(0x8004, b"1")]));
    assert_eq!(all[0].try_open(&sealed.bytes).err(), Some(OpenError::Own));
    all[0].read_back();
    assert_eq!(all[0].try_open(&sealed.bytes).err(), Some(OpenError::WrongEpoch { epoch: 1 }));
}

#[test]
fn a_plan_must_name_what_it_changes() {
    let mut all = parties(2);
    let unnamed = CommitPlan { dictionary_after: RawDictionary::new(), ..plan(vec![]) };
    let refused = all[0].run(|scratch, group, keys| commit(scratch, group, keys, unnamed));
    assert_eq!(refused, Err(SealError::UnnamedComponent(0x8000)));
    let unknown = CommitPlan { kept: vec![ProposalId(vec![1; 32])], ..plan(vec![]) };
    let refused = all[0].run(|scratch, group, keys| commit(scratch, group, keys, unknown));
    assert_eq!(refused, Err(SealError::UnknownProposal));
    let own = CommitPlan { removes: vec![0], ..plan(vec![]) };
    let refused = all[0].run(|scratch, group, keys| commit(scratch, group, keys, own));
    assert!(matches!(refused, Err(SealError::Invalid(_))));
    let garbage = CommitPlan { adds: vec![vec![1, 2, 3].into()], ..plan(vec![]) };
    let refused = all[0].run(|scratch, group, keys| commit(scratch, group, keys, garbage));
    assert_eq!(refused, Err(SealError::KeyPackage(KeyPackageError::Malformed)));
    let twice = CommitPlan { adds: vec![all[1].key_package().bytes.into()], ..plan(vec![]) };
    let refused = all[0].run(|scratch, group, keys| commit(scratch, group, keys, twice));
    assert!(matches!(refused, Err(SealError::Invalid(_))));
    assert!(!all[0].group().has_pending_commit());
}

#[test]
fn updates_and_self_updates_show_their_leaf() {
    let mut all = parties(2);
    let sealed = all[0].commit(plan(vec![update(0x8004, b"1")]));
    assert_eq!(all[1].receive(&sealed.bytes).path_leaf, None);
    all[0].read_back();
    let plan = CommitPlan { dictionary_after: all[1].group().facts().dictionary, ..CommitPlan::default() };
    let sealed = all[1].commit(CommitPlan { force_self_update: true, ..plan });
    assert_eq!(all[0].receive(&sealed.bytes).path_leaf, Some(all[1].leaf(1)));
    all[1].read_back();
    assert_together(&all);
}

#[test]
fn growing_and_shrinking_keeps_every_prediction_of_the_tree() {
    let mut all = parties(6);
    for round in 0..8u8 {
        let base = all[0].group().facts();
        let mut plan = CommitPlan { dictionary_after: base.dictionary, ..CommitPlan::default() };
        let mut fresh: Vec<Party> = (0..round % 4).map(|n| Party::new(100 + 10 * round + n)).collect();
        let packages: Vec<_> = fresh.iter_mut().map(Party::key_package).collect();
        plan.adds = packages.iter().map(|package| package.bytes.clone().into()).collect();
        for _ in 0..(round + 1) % 3 {
            let leaving = all.remove(1 + usize::from(round) % (all.len() - 1));
            plan.removes.push(leaving.group().own_leaf().unwrap().index);
        }
        let sealed = all[0].commit(plan);
        all[0].read_back();
        for party in &mut all[1..] {
            party.receive(&sealed.bytes);
        }
        for (party, package) in fresh.iter_mut().zip(&packages) {
            party.join(sealed.welcome.as_ref().unwrap(), package);
        }
        all.append(&mut fresh);
        assert_together(&all);
    }
}
