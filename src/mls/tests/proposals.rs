//! Standalone proposals, commits by reference, clocks, identities, unused kinds.

use openmls::prelude::{
    CustomProposal, Extension, KeyPackageIn, LeafNodeParameters, ProposalOrRefType, Propose, ProtocolVersion,
    tls_codec::DeserializeBytes as _,
};

use openmls::schedule::PreSharedKeyId;

use super::*;
use crate::mls::facts::{ProposalKind, SenderFacts, UnsupportedKind};

/// A standalone proposal, kept by its proposer and by everyone it is given to.
fn propose(party: &mut Party, what: Propose) -> Vec<u8> {
    party.run(|scratch, group, keys| {
        let made = group.mls.propose(scratch, keys, what, ProposalOrRefType::Reference);
        made.unwrap().0.to_bytes().unwrap()
    })
}

fn keep(party: &mut Party, bytes: &[u8]) -> facts::ProposalFacts {
    party.run(|scratch, group, _| {
        let Ok(Opened::Proposal(facts, pending)) = open(scratch, group, bytes) else { panic!() };
        keep_proposal(scratch, group, pending).unwrap();
        facts
    })
}

fn component(component_id: u16, value: &[u8]) -> Propose {
    Propose::UpdateAppDataComponent { component_id, update: value.to_vec() }
}

fn add(party: &Party, package: &[u8]) -> Propose {
    let package = KeyPackageIn::tls_deserialize_exact_bytes(package).unwrap();
    Propose::Add(package.validate(party.scratch.suite(), ProtocolVersion::Mls10).unwrap())
}

#[test]
fn kept_proposals_survive_a_reload_in_their_order() {
    let mut all = parties(3);
    let sent: Vec<_> = (0..6u8)
        .map(|n| propose(&mut all[usize::from(n % 2)], component(0x8010 + u16::from(n), &[n])))
        .collect();
    for (at, bytes) in sent.iter().enumerate() {
        for (number, party) in all.iter_mut().enumerate() {
            if number == at % 2 {
                assert_eq!(party.try_open(bytes).err(), Some(OpenError::Own));
            } else {
                keep(party, bytes);
            }
        }
    }
    let kept = all[2].group().kept_proposals();
    let components: Vec<_> = kept
        .iter()
        .map(|(_, facts)| match facts.kind {
            ProposalKind::AppData { component, .. } => component,
            _ => panic!(),
        })
        .collect();
    assert_eq!(components, (0x8010..0x8016).collect::<Vec<_>>());
    assert!(kept.iter().all(|(_, facts)| facts.by_reference));
    let proposers: Vec<_> = kept.iter().map(|(_, facts)| facts.proposer.clone()).collect();
    assert_eq!(proposers[0], SenderFacts::Member(all[0].leaf(0)));
    assert_eq!(proposers[1], SenderFacts::Member(all[1].leaf(1)));
    let refused = all[2].run(|scratch, group, keys| message(scratch, group, keys, b"blocked"));
    assert_eq!(refused, Err(SealError::KeptProposals));
}

#[test]
fn others_proposals_are_committed_by_reference_beside_our_own() {
    let mut all = parties(3);
    let first = propose(&mut all[0], component(0x8010, b"theirs"));
    let left_out = propose(&mut all[0], component(0x8011, b"left out"));
    for bytes in [&first, &left_out] {
        keep(&mut all[1], bytes);
        keep(&mut all[2], bytes);
    }
    let kept: Vec<_> = all[1].group().kept_proposals().into_iter().take(1).map(|(id, _)| id).collect();
    let ours = vec![update(0x8010, b"ours")];
    let dictionary_after = after(&dictionary(), &ours);
    let plan = CommitPlan { kept, app_data: ours, dictionary_after, ..CommitPlan::default() };
    let sealed = all[1].commit(plan);
    let facts = all[0].receive(&sealed.bytes);
    assert_eq!(all[2].receive(&sealed.bytes), facts);
    assert_eq!(all[1].read_back(), facts);
    let shown: Vec<_> = facts.proposals.iter().map(|p| (p.by_reference, p.proposer.clone())).collect();
    let member = |number: usize| SenderFacts::Member(all[number].leaf(number as u32));
    assert_eq!(shown, [(true, member(0)), (false, member(1))]);
    assert_eq!(facts.dictionary_after[&0x8010], b"ours");
    assert!(all.iter().all(|party| party.group().kept_proposals().is_empty()));
    assert_together(&all);
}

#[test]
fn a_proposal_that_was_not_kept_is_missing() {
    let mut all = parties(3);
    let seen = propose(&mut all[0], component(0x8010, b"value"));
    keep(&mut all[1], &seen);
    let kept = all[1].group().kept_proposals().into_iter().map(|(id, _)| id).collect();
    let dictionary_after = after(&dictionary(), &[update(0x8010, b"value")]);
    let sealed = all[1].commit(CommitPlan { kept, dictionary_after, ..CommitPlan::default() });
    assert_eq!(all[2].try_open(&sealed.bytes).err(), Some(OpenError::MissingProposal));
    keep(&mut all[2], &seen);
    all[2].receive(&sealed.bytes);
    all[1].read_back();
    assert_together(&all[1..]);
}

/// OpenMLS judges lifetimes by the system clock; ours never end by it, whatever a key package
/// states for its adder, inline and by reference.
#[test]
fn a_commit_is_applied_whatever_clock_its_receivers_have() {
    const YEAR: i64 = 365 * 24 * 60 * 60 * 1_000_000_000;
    let mut all = parties(3);
    let system = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let system = system.as_nanos() as i64;
    for (round, skew) in [-2 * YEAR, -YEAR, YEAR, 2 * YEAR].into_iter().enumerate() {
        let (mut inline, mut referenced) = (Party::new(50 + round as u8), Party::new(70 + round as u8));
        let made_at = Nanos(system + skew);
        let make = |party: &mut Party| {
            let made = make_key_package(&party.scratch, &party.keys, party.inbox, made_at).unwrap();
            party.reload();
            made
        };
        let packages = [make(&mut inline), make(&mut referenced)];
        let expires = Nanos(made_at.0 + profile::KEY_PACKAGE_LIFETIME_NS);
        let checked = |at| check_key_package(&all[0].scratch, &packages[0].bytes, at);
        assert_eq!(checked(Nanos(expires.0 - 1)).unwrap().expires, Some(expires));
        assert_eq!(checked(expires), Err(KeyPackageError::Expired));

        let what = add(&all[1], &packages[1].bytes);
        let proposal = propose(&mut all[1], what);
        keep(&mut all[0], &proposal);
        keep(&mut all[2], &proposal);
        let plan = CommitPlan {
            adds: vec![packages[0].bytes.clone().into()],
            kept: all[0].group().kept_proposals().into_iter().map(|(id, _)| id).collect(),
            dictionary_after: dictionary(),
            ..CommitPlan::default()
        };
        let sealed = all[0].commit(plan);
        all[0].read_back();
        let facts = all[1].receive(&sealed.bytes);
        assert_eq!(all[2].receive(&sealed.bytes), facts);
        let unbounded =
            |p: &facts::ProposalFacts| matches!(p.kind, ProposalKind::Add { bounded_lifetime: false, .. });
        assert!(facts.proposals.iter().all(unbounded));
        let welcome = sealed.welcome.unwrap();
        for (party, package) in [&mut inline, &mut referenced].into_iter().zip(&packages) {
            let join = inspect(&party.scratch, &welcome, 1).unwrap();
            join.join(&party.scratch, false).unwrap();
            party.reload();
            assert!(!package.id.is_empty());
        }
        assert_eq!(inline.group().authenticator(), all[0].group().authenticator());
        assert_eq!(referenced.group().authenticator(), all[0].group().authenticator());
        assert_together(&all);
    }
}

#[test]
fn an_update_shows_the_leaf_it_wants() {
    let mut all = parties(3);
    let (inbox, installation) = (all[2].inbox, all[1].keys.id());
    let parameters = LeafNodeParameters::builder()
        .with_credential_with_key(profile::credential(inbox, installation))
        .build();
    let proposal = propose(&mut all[1], Propose::Update(parameters));
    let facts = keep(&mut all[0], &proposal);
    keep(&mut all[2], &proposal);
    let wanted = LeafFacts { inbox: Some(inbox), ..all[1].leaf(1) };
    assert_eq!(facts.kind, ProposalKind::Update { leaf: wanted.clone() });
    assert_eq!(facts.proposer, SenderFacts::Member(all[1].leaf(1)));
    let kept = all[0].group().kept_proposals().into_iter().map(|(id, _)| id).collect();
    let sealed = all[0].commit(CommitPlan { kept, dictionary_after: dictionary(), ..CommitPlan::default() });
    all[0].read_back();
    let facts = all[1].receive(&sealed.bytes);
    assert_eq!(facts.leaves_after[1], wanted);
    assert_eq!(all[2].receive(&sealed.bytes), facts);
    assert_together(&all);
}

#[test]
fn a_path_leaf_of_another_inbox_is_shown() {
    let mut all = parties(2);
    let parameters = LeafNodeParameters::builder()
        .with_credential_with_key(profile::credential(all[1].inbox, all[0].keys.id()))
        .build();
    let bytes = all[0].run(|scratch, group, keys| {
        let builder = group.mls.commit_builder().leaf_node_parameters(parameters);
        let crypto = scratch.suite();
        let built = builder.load_psks(scratch).unwrap().build(crypto, crypto, keys, |_| true).unwrap();
        built.stage_commit(scratch).unwrap().into_messages().0.to_bytes().unwrap()
    });
    let facts = all[1].receive(&bytes);
    let shown = LeafFacts { inbox: Some(all[1].inbox), ..all[0].leaf(0) };
    assert_eq!(facts.path_leaf, Some(shown.clone()));
    assert_eq!(facts.leaves_after[0], shown);
}

#[test]
fn gmod_001_standalone_proposals_of_unused_kinds_are_named() {
    let mut all = parties(2);
    let custom = propose(&mut all[0], Propose::Custom(CustomProposal::new(0xF123, vec![1])));
    let facts = keep(&mut all[1], &custom);
    assert_eq!(facts.kind, ProposalKind::Unsupported(UnsupportedKind::Custom(0xF123)));
    let extensions = all[0].group().mls.extensions().clone();
    let context = propose(&mut all[0], Propose::GroupContextExtensions(extensions));
    let facts = keep(&mut all[1], &context);
    assert_eq!(facts.kind, ProposalKind::Unsupported(UnsupportedKind::GroupContextExtensions));
}

#[test]
fn gmod_001_a_context_change_in_a_commit_is_named() {
    let mut all = parties(2);
    let bytes = all[0].run(|scratch, group, keys| {
        let mut extensions = group.mls.extensions().clone();
        extensions.add(Extension::ExternalSenders(Vec::new())).unwrap();
        let builder = group.mls.commit_builder().propose_group_context_extensions(extensions).unwrap();
        let crypto = scratch.suite();
        let built = builder.load_psks(scratch).unwrap().build(crypto, crypto, keys, |_| true).unwrap();
        built.stage_commit(scratch).unwrap().into_messages().0.to_bytes().unwrap()
    });
    let mut group = all[1].group();
    let staged = open_and_stage(&all[1].scratch, &mut group, &bytes).unwrap();
    let facts = staged.facts();
    let kind = ProposalKind::Unsupported(UnsupportedKind::GroupContextExtensions);
    assert_eq!(facts.proposals[0].kind, kind);
    assert!(!facts.context_otherwise_unchanged);
    assert_eq!(facts.dictionary_after, facts.before.dictionary);
}

#[test]
fn gmod_001_a_pre_shared_key_in_a_commit_is_named() {
    let mut all = parties(2);
    let bytes = all[0].run(|scratch, group, keys| {
        let id = PreSharedKeyId::external(b"key".to_vec(), vec![7; 32]);
        id.store(scratch, &[1; 32]).unwrap();
        let standalone = group.mls.propose_pre_shared_key(scratch, keys, id).unwrap().0;
        let built = group.mls.commit_builder().load_psks(scratch).unwrap();
        let crypto = scratch.suite();
        let built = built.build(crypto, crypto, keys, |_| true).unwrap();
        let commit = built.stage_commit(scratch).unwrap().into_messages().0;
        [standalone.to_bytes().unwrap(), commit.to_bytes().unwrap()]
    });
    let kind = UnsupportedKind::PreSharedKey;
    assert_eq!(keep(&mut all[1], &bytes[0]).kind, ProposalKind::Unsupported(kind));
    assert_eq!(all[1].try_open(&bytes[1]).err(), Some(OpenError::Unsupported(kind)));
}
