//! DMs: the fixed policies, the one addition, application components.

use super::*;

fn judge(proposer: InboxId, effect: &Effect) -> Result<(), Denial> {
    authority(&dm()).judge_write(proposer, effect, &members(&[OWN, PEER]))
}

fn judge_leaf(
    proposer: InboxId,
    change: LeafChange,
    before: &[InboxId],
    after: &[InboxId],
) -> Result<(), Denial> {
    authority(&dm()).judge_leaf(proposer, change, &members(before), &members(after))
}

#[test]
fn dms_004_either_participant_adds_exactly_the_other() {
    assert!(dm_add_allowed([OWN, PEER], OWN, PEER));
    assert!(dm_add_allowed([OWN, PEER], PEER, OWN));
    for (proposer, added) in [(OWN, OWN), (OWN, OTHER), (OTHER, OWN), (OTHER, PEER), (OTHER, OTHER)] {
        assert!(!dm_add_allowed([OWN, PEER], proposer, added));
    }
}

#[test]
fn dms_004_the_pair_is_added_despite_the_deny_policy() {
    let insert = |inbox| of_inbox(GROUP_MEMBERSHIP, Write::Insert, inbox);
    assert_eq!(judge(OWN, &insert(PEER)), Ok(()));
    assert_eq!(judge(PEER, &insert(OWN)), Ok(()));
    assert_eq!(judge_leaf(OWN, LeafChange::Add(PEER), &[OWN], &[OWN, PEER]), Ok(()));
    assert_eq!(judge_leaf(PEER, LeafChange::Add(OWN), &[PEER], &[OWN, PEER]), Ok(()));
}

#[test]
fn dms_004_any_other_addition_is_rejected() {
    let insert = |inbox| of_inbox(GROUP_MEMBERSHIP, Write::Insert, inbox);
    for (proposer, added) in [(OWN, OTHER), (OWN, OWN), (PEER, OTHER), (OTHER, PEER)] {
        assert_eq!(judge(proposer, &insert(added)), Err(Denial::DmAddition));
        let leaf = judge_leaf(proposer, LeafChange::Add(added), &[], &[OWN, PEER, OTHER]);
        assert_eq!(leaf, Err(Denial::DmAddition));
    }
}

#[test]
fn dms_004_holds_even_where_the_registry_would_allow_more() {
    let open = registered(dm(), GROUP_MEMBERSHIP, ComponentType::MapInboxBytes, Policy::Base(Base::Allow));
    let insert = of_inbox(GROUP_MEMBERSHIP, Write::Insert, OTHER);
    let after = members(&[OWN, PEER, OTHER]);
    assert_eq!(authority(&open).judge_write(OWN, &insert, &after), Err(Denial::DmAddition));
    let leaf = authority(&open).judge_leaf(OWN, LeafChange::Add(OTHER), &members(&[OWN, PEER]), &after);
    assert_eq!(leaf, Err(Denial::DmAddition));
}

#[test]
fn dms_004_a_proposal_with_a_third_inbox_fails_as_a_whole() {
    let delta = encode_map_delta(&[
        MapMutation::Insert(Key::Inbox(PEER), vec![]),
        MapMutation::Insert(Key::Inbox(OTHER), vec![]),
    ]);
    let (_, effects) = next_dictionary(&dm(), &[(GROUP_MEMBERSHIP, Op::Update(delta))]).unwrap();
    let verdicts: Vec<_> = effects.iter().map(|effect| judge(OWN, effect)).collect();
    assert_eq!(verdicts, [Ok(()), Err(Denial::DmAddition)]);
}

#[test]
fn dms_004_is_not_for_groups() {
    let group = group(ADMINS_ONLY);
    let insert = of_inbox(GROUP_MEMBERSHIP, Write::Insert, OTHER);
    let denied = Err(Denial::Policy(GROUP_MEMBERSHIP));
    assert_eq!(authority(&group).judge_write(PEER, &insert, &members(&[OWN, PEER, OTHER])), denied);
}

#[test]
fn dms_004_installations_of_members_are_updates() {
    let pair = [OWN, PEER];
    for change in [LeafChange::Add(PEER), LeafChange::Remove(PEER), LeafChange::Add(OWN)] {
        assert_eq!(judge_leaf(OWN, change, &pair, &pair), Ok(()));
    }
    let update = of_inbox(GROUP_MEMBERSHIP, Write::Update, PEER);
    assert_eq!(judge(OWN, &update), Ok(()));
}

#[test]
fn nobody_leaves_a_dm_and_nobody_gets_a_role() {
    let denied = Err(Denial::Policy(GROUP_MEMBERSHIP));
    assert_eq!(judge_leaf(OWN, LeafChange::Remove(PEER), &[OWN, PEER], &[OWN]), denied);
    assert_eq!(judge(OWN, &of_inbox(GROUP_MEMBERSHIP, Write::Delete, PEER)), denied);
    for write in WRITES {
        assert_eq!(judge(OWN, &of_inbox(ADMIN_LIST, write, OWN)), Err(Denial::Policy(ADMIN_LIST)));
        let list = of_inbox(SUPER_ADMIN_LIST, write, OWN);
        assert_eq!(judge(OWN, &list), Err(Denial::SuperAdminOnly(SUPER_ADMIN_LIST)));
    }
}

#[test]
fn settings_of_a_dm_are_open_to_both_but_not_removable() {
    for component in [GROUP_NAME, APP_DATA, MESSAGE_DISAPPEAR_IN_NS, MIN_SUPPORTED_PROTOCOL_VERSION] {
        for proposer in [OWN, PEER] {
            assert_eq!(judge(proposer, &effect(component, Write::Update, None)), Ok(()));
            let removed = judge(proposer, &effect(component, Write::Delete, None));
            assert_eq!(removed, Err(Denial::Policy(component)));
        }
    }
    let signer = effect(COMMIT_LOG_SIGNER, Write::Update, None);
    assert_eq!(judge(OWN, &signer), Err(Denial::Policy(COMMIT_LOG_SIGNER)));
}

#[test]
fn perm_026_participants_register_application_components_only() {
    for write in WRITES {
        let entry = |id| effect(COMPONENT_REGISTRY, write, Some(Key::Component(id)));
        for id in [0xC000, 0xFCFF, 0xFD00, 0xFEFF] {
            assert_eq!(judge(PEER, &entry(id)), Ok(()));
            assert_eq!(judge(OTHER, &entry(id)), Err(Denial::SuperAdminOnly(COMPONENT_REGISTRY)));
        }
        for id in [GROUP_MEMBERSHIP, GROUP_NAME, 0xBFFF, 0xFF00] {
            assert_eq!(judge(PEER, &entry(id)), Err(Denial::SuperAdminOnly(COMPONENT_REGISTRY)));
        }
    }
    let whole = effect(COMPONENT_REGISTRY, Write::Delete, None);
    assert_eq!(judge(PEER, &whole), Err(Denial::SuperAdminOnly(COMPONENT_REGISTRY)));
}

#[test]
fn perm_028_participants_stand_in_for_super_admins_on_application_components() {
    for policy in [Base::IfSuperAdmin, Base::IfAdmin] {
        let dm = registered(dm(), APP, ComponentType::Bytes, Policy::Base(policy));
        let write = effect(APP, Write::Update, None);
        let judge = |proposer| authority(&dm).judge_write(proposer, &write, &members(&[OWN, PEER]));
        assert_eq!(judge(OWN), Ok(()));
        assert_eq!(judge(PEER), Ok(()));
        assert_eq!(judge(OTHER), Err(Denial::Policy(APP)));
    }
    let dm = registered(dm(), APP, ComponentType::Bytes, Policy::Base(Base::Deny));
    let write = effect(APP, Write::Update, None);
    let denied = authority(&dm).judge_write(OWN, &write, &members(&[OWN, PEER]));
    assert_eq!(denied, Err(Denial::Policy(APP)));
}
