use super::fixture::*;
use crate::base::SequenceId;
use crate::commit::kinds::{Place, unsupported};
use crate::commit::{Verdict, needed};
use crate::members::tests::{leaf, members, reference};
use crate::members::{Reference, Resolution, States};
use crate::meta::MapMutation;
use crate::meta::component::*;
use crate::mls::facts::{LeafFacts, ProposalKind, SenderFacts, UnsupportedKind};

const UNSUPPORTED: [UnsupportedKind; 7] = [
    UnsupportedKind::GroupContextExtensions,
    UnsupportedKind::PreSharedKey,
    UnsupportedKind::ReInit,
    UnsupportedKind::ExternalInit,
    UnsupportedKind::SelfRemove,
    UnsupportedKind::AppEphemeral,
    UnsupportedKind::Custom(0xf042),
];

fn held(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Held { code: "unsupported_proposal", .. })
}

#[test]
fn gmod_021_a_commit_that_passes_every_check_is_applied() {
    busy().applies();
    first_of_dm().applies();
    // A key update: no proposals, only a path.
    commit(group(), &third(), vec![]).applies();
}

#[test]
fn gmod_021_the_next_epoch_follows() {
    for epoch in [4, 5, 7] {
        let mut case = busy();
        case.commit.epoch_after = epoch;
        assert_eq!(case.rejected(), "GMOD-021");
    }
}

#[test]
fn gmod_021_no_other_context_extension_changes() {
    let mut case = busy();
    case.commit.context_otherwise_unchanged = false;
    assert_eq!(case.rejected(), "GMOD-021");
}

#[test]
fn gmod_021_the_dictionary_is_exactly_what_the_proposals_say() {
    let mut more = busy();
    more.commit.dictionary_after.insert(GROUP_DESCRIPTION, b"new".to_vec());
    let mut less = busy();
    less.commit.dictionary_after.insert(GROUP_NAME, b"team".to_vec());
    let mut lost = busy();
    lost.commit.dictionary_after.remove(&USER_DISPLAY_NAME);
    for case in [more, less, lost] {
        assert_eq!(case.rejected(), "META-064");
    }
}

#[test]
fn gmod_002_the_committer_is_a_member() {
    let mut outside = busy();
    outside.commit.committer = SenderFacts::Outsider;
    // A leaf that is not, or no longer, in the group.
    let mut gone = busy();
    gone.commit.committer = SenderFacts::Member(leaf(6, 1, 12));
    let mut moved = busy();
    moved.commit.committer = SenderFacts::Member(LeafFacts { index: 2, ..first() });
    for case in [outside, gone, moved] {
        assert_eq!(case.rejected(), "GMOD-002");
    }
}

#[test]
fn gmod_002_every_proposer_is_a_member() {
    for at in 0..busy().commit.proposals.len() {
        let mut case = busy();
        case.commit.proposals[at].proposer = SenderFacts::Outsider;
        assert_eq!(case.rejected(), "GMOD-002");
    }
}

#[test]
fn gmod_002_a_sender_whose_credential_names_nobody_is_refused() {
    let mut case = busy();
    let nameless = LeafFacts { inbox: None, ..first() };
    case.commit.before.leaves[0] = nameless.clone();
    case.commit.committer = SenderFacts::Member(nameless);
    assert_eq!(case.rejected(), "GMOD-002");
}

#[test]
fn gmod_002_the_sender_rule_comes_before_the_table() {
    let mut case = busy();
    case.commit.committer = SenderFacts::Outsider;
    let kind = ProposalKind::Unsupported(UnsupportedKind::GroupContextExtensions);
    case.commit.proposals.push(proposal(&first(), kind));
    assert_eq!(case.rejected(), "GMOD-002");
}

#[test]
fn gmod_001_the_table_of_unsupported_proposals() {
    for kind in UNSUPPORTED {
        assert!(held(&unsupported(kind, Place::Standalone)), "{kind:?}");
        let in_commit = unsupported(kind, Place::Commit);
        let terminal = kind == UnsupportedKind::PreSharedKey;
        assert_eq!(matches!(in_commit, Verdict::Rejected { id: "GMOD-001", .. }), terminal);
        assert_eq!(held(&in_commit), !terminal, "{kind:?}");
    }
}

#[test]
fn gmod_001_a_commit_with_an_unsupported_proposal_is_judged_by_the_table() {
    for kind in UNSUPPORTED {
        let mut case = busy();
        case.commit.proposals.push(proposal(&first(), ProposalKind::Unsupported(kind)));
        assert_eq!(case.verdict(), unsupported(kind, Place::Commit), "{kind:?}");
        // The table decides before anything a newer client might judge differently.
        case.commit.context_otherwise_unchanged = false;
        assert_eq!(case.verdict(), unsupported(kind, Place::Commit), "{kind:?}");
    }
}

#[test]
fn gmod_001_a_terminal_kind_beats_a_held_one() {
    let mut case = busy();
    for kind in [UnsupportedKind::ReInit, UnsupportedKind::PreSharedKey] {
        case.commit.proposals.push(proposal(&first(), ProposalKind::Unsupported(kind)));
    }
    assert_eq!(case.rejected(), "GMOD-001");
}

#[test]
fn an_added_key_package_that_expires_is_refused_whatever_the_clock() {
    let mut case = busy();
    if let ProposalKind::Add { bounded_lifetime, .. } = &mut case.commit.proposals[1].kind {
        *bounded_lifetime = true;
    }
    assert_eq!(case.rejected(), "lifetime");
}

#[test]
fn gmod_003_an_update_keeps_its_inbox() {
    let kept = vec![by_reference(update(&third(), third()))];
    commit(group(), &first(), kept).applies();
    let moved = vec![by_reference(update(&third(), leaf(4, 2, 31)))];
    assert_eq!(commit(group(), &first(), moved).rejected(), "GMOD-003");
    let nameless = LeafFacts { inbox: None, ..third() };
    let nameless = commit(group(), &first(), vec![update(&third(), nameless)]);
    assert_eq!(nameless.rejected(), "GMOD-003");
}

#[test]
fn gmod_003_a_path_leaf_keeps_its_inbox() {
    let mut case = busy();
    case.commit.path_leaf = Some(leaf(0, 2, 11));
    assert_eq!(case.rejected(), "GMOD-003");
}

#[test]
fn gmod_030_conflicting_operations_on_one_component_are_refused() {
    let by = first();
    let name = |text: &[u8]| write(&by, GROUP_NAME, text.to_vec());
    let gone = || drop_component(&by, GROUP_NAME);
    let invalid = [
        vec![name(b"x"), gone()],
        vec![gone(), name(b"x")],
        vec![gone(), gone()],
        vec![drop_component(&by, GROUP_DESCRIPTION)],
    ];
    for proposals in invalid {
        assert_eq!(commit(group(), &by, proposals).rejected(), "GMOD-030");
    }
    for proposals in [vec![name(b"x"), name(b"y")], vec![gone()]] {
        commit(group(), &by, proposals).applies();
    }
}

#[test]
fn gmod_021_reserved_and_foreign_ids_are_never_written() {
    for id in [0xff00, 0xffff, 0x7fff, 0] {
        let case = commit(group(), &first(), vec![write(&first(), id, vec![])]);
        assert_eq!(case.rejected(), "META-003");
    }
}

#[test]
fn gmod_021_immutable_and_malformed_values_are_refused() {
    let by = first();
    for (id, value, expected) in [
        (CONVERSATION_TYPE, vec![0, 0, 0, 2], "META-004"),
        (CREATOR_INBOX_ID, vec![0; 33], "META-004"),
        (GROUP_NAME, vec![b'x'; 101], "META-010"),
        (GROUP_MEMBERSHIP, vec![9], "META-013"),
        (0xc000, vec![1], "PERM-012"),
    ] {
        let refused = commit(group(), &by, vec![write(&by, id, value)]).rejected();
        assert_eq!(refused, expected, "{id:#x}");
    }
}

#[test]
fn gmod_005_an_entry_that_cannot_be_read_is_refused() {
    let by = first();
    let broken = MapMutation::Update(inbox_key(3), vec![0x12, 0]);
    let case = commit(group(), &by, vec![mutate(&by, GROUP_MEMBERSHIP, broken)]);
    assert_eq!(case.rejected(), "GMOD-005");
    let gone = commit(group(), &by, vec![drop_component(&by, GROUP_MEMBERSHIP)]);
    assert_eq!(gone.rejected(), "GMOD-005");
}

#[test]
fn gmod_007_every_reference_precedes_the_commit() {
    let mut case = busy();
    case.position = SequenceId(41);
    case.applies();
    case.position = SequenceId(40);
    assert_eq!(case.rejected(), "GMOD-007");
}

#[test]
fn gmod_007_an_added_inbox_names_an_update() {
    let by = first();
    let after = members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[32]), (4, 0, &[])]);
    let case = commit(group(), &by, vec![enrol(&by, &entries(), &after)]);
    assert_eq!(case.rejected(), "GMOD-007");
}

#[test]
fn gmod_008_an_entry_never_falls() {
    let by = first();
    let after = members(&[(1, 10, &[]), (2, 19, &[]), (3, 30, &[32])]);
    let case = commit(group(), &by, vec![enrol(&by, &entries(), &after)]).state(2, 19, &[21]);
    assert_eq!(case.rejected(), "GMOD-008");
}

#[test]
fn gmod_013_a_commit_is_held_until_its_references_are_resolved() {
    let case = busy();
    let named = needed(&case.commit);
    let expected = [(1, 10), (2, 20), (2, 25), (3, 30), (4, 40)];
    assert_eq!(named, expected.map(|(of, at)| reference(of, at)).into());

    // Without any one of them the commit is held, and never decided otherwise.
    for left_out in &named {
        let known = named.iter().filter(|reference| *reference != left_out);
        let resolved = |reference: &Reference| {
            let keys = case.states.installations(reference.inbox, reference.sequence_id).unwrap();
            (*reference, Resolution::Installations(keys.clone()))
        };
        let states: States = known.map(resolved).collect();
        let waiting = Case { states, ..case.clone() };
        assert!(matches!(waiting.verdict(), Verdict::Held { code: "identity", .. }), "{left_out:?}");
    }
}

#[test]
fn gmod_013_what_needs_no_state_is_decided_without_it() {
    let mut case = busy();
    case.states = States::default();
    case.commit.epoch_after += 1;
    assert_eq!(case.rejected(), "GMOD-021");
}

#[test]
fn gmod_025_a_committed_floor_above_the_client_pauses_before_anything_else() {
    let mut case = busy();
    case.client = "0.9.0";
    case.commit.committer = SenderFacts::Outsider;
    assert_eq!(case.verdict(), Verdict::Paused { floor: "1.0.0".into() });
}

fn raise(by: &LeafFacts, to: &str) -> Case {
    commit(group(), by, vec![write(by, MIN_SUPPORTED_PROTOCOL_VERSION, to.as_bytes().to_vec())])
}

#[test]
fn gmod_025_a_valid_raise_above_the_client_pauses_and_one_within_it_applies() {
    raise(&first(), "2.0.0").applies();
    assert_eq!(raise(&first(), "2.0.1").verdict(), Verdict::Paused { floor: "2.0.1".into() });
    raise(&first(), "2.0.0-rc.1").applies();
}

#[test]
fn gmod_022_an_invalid_raise_is_rejected_and_does_not_pause() {
    // Only a super admin may raise it.
    assert_eq!(raise(&second(), "9.0.0").rejected(), "PERM-011");
    let mut forged = raise(&first(), "9.0.0");
    forged.commit.path_leaf = Some(leaf(0, 1, 19));
    assert_eq!(forged.rejected(), "GMOD-012");
}

#[test]
fn gmod_022_an_unresolved_raise_is_held_and_does_not_pause() {
    let mut waiting = raise(&first(), "9.0.0");
    waiting.states = States::default();
    assert!(matches!(waiting.verdict(), Verdict::Held { code: "identity", .. }));
}

#[test]
fn gmod_026_a_lowered_or_removed_floor_is_rejected() {
    assert_eq!(raise(&first(), "0.9.9").rejected(), "GMOD-026");
    let by = first();
    let gone = commit(group(), &by, vec![drop_component(&by, MIN_SUPPORTED_PROTOCOL_VERSION)]);
    assert_eq!(gone.rejected(), "GMOD-026");
    // Each proposal by itself: rising first does not excuse falling below the committed floor.
    let floor = |to: &str| write(&by, MIN_SUPPORTED_PROTOCOL_VERSION, to.as_bytes().to_vec());
    assert_eq!(commit(group(), &by, vec![floor("0.5.0"), floor("1.5.0")]).rejected(), "GMOD-026");
    commit(group(), &by, vec![floor("1.5.0"), floor("1.2.0")]).applies();
}
