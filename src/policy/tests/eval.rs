//! Evaluation in groups.

use proptest::prelude::*;

use super::*;

fn judge(components: &Components, proposer: InboxId, effect: &Effect) -> Result<(), Denial> {
    authority(components).judge_write(proposer, effect, &members(&[OWN, PEER]))
}

/// Asks `policy` about an update of [`APP`] by `proposer` in a group where OWN is super admin and
/// PEER is admin.
fn ask(policy: Policy, proposer: InboxId) -> Result<(), Denial> {
    let group = with_roles(group(ALL_MEMBERS), &[PEER], &[OWN]);
    let group = registered(group, APP, ComponentType::Bytes, policy);
    judge(&group, proposer, &effect(APP, Write::Update, None))
}

fn base(base: Base) -> Policy {
    Policy::Base(base)
}

const DENIED: Result<(), Denial> = Err(Denial::Policy(APP));
const MALFORMED: Result<(), Denial> = Err(Denial::Malformed(APP));

#[test]
fn perm_006_base_policies_read_the_roles() {
    let cases = [
        (Base::Allow, [true, true, true]),
        (Base::Deny, [false, false, false]),
        (Base::IfAdmin, [true, true, false]),
        (Base::IfSuperAdmin, [true, false, false]),
    ];
    for (policy, allowed) in cases {
        for (proposer, allowed) in [OWN, PEER, OTHER].into_iter().zip(allowed) {
            assert_eq!(ask(base(policy), proposer).is_ok(), allowed, "{policy:?}");
        }
    }
}

#[test]
fn perm_007_the_first_child_that_decides_gives_its_result() {
    let (allow, deny, broken) = (|| base(Base::Allow), || base(Base::Deny), || Policy::Malformed);
    let and = |children| ask(Policy::And(children), OTHER);
    assert_eq!(and(vec![allow(), allow()]), Ok(()));
    assert_eq!(and(vec![allow(), deny(), broken()]), DENIED);
    assert_eq!(and(vec![allow(), broken(), deny()]), MALFORMED);
    let any = |children| ask(Policy::Any(children), OTHER);
    assert_eq!(any(vec![deny(), allow(), broken()]), Ok(()));
    assert_eq!(any(vec![deny(), broken(), allow()]), MALFORMED);
    assert_eq!(any(vec![deny(), deny()]), DENIED);
    let nested = Policy::And(vec![Policy::Any(vec![deny(), base(Base::IfAdmin)]), allow()]);
    assert_eq!(ask(nested.clone(), PEER), Ok(()));
    assert_eq!(ask(nested, OTHER), DENIED);
}

#[test]
fn perm_008_a_malformed_policy_denies_everyone() {
    for policy in [Policy::Malformed, Policy::And(vec![]), Policy::Any(vec![])] {
        assert_eq!(ask(policy, OWN), MALFORMED);
    }
}

#[test]
fn perm_001_roles_come_from_the_committed_lists() {
    let before = group(ALL_MEMBERS);
    let promote = encode_set_delta(&[SetMutation::Insert(Key::Inbox(PEER))]);
    let list = [
        (SUPER_ADMIN_LIST, Op::Update(promote)),
        (MIN_SUPPORTED_PROTOCOL_VERSION, Op::Update(b"9.0.0".to_vec())),
    ];
    let (after, effects) = next_dictionary(&before, &list).unwrap();
    let floor = &effects[1];
    assert_eq!(judge(&before, PEER, floor), Err(Denial::Policy(MIN_SUPPORTED_PROTOCOL_VERSION)));
    assert_eq!(judge(&after, PEER, floor), Ok(()));
}

#[test]
fn perm_005_registry_and_super_admin_list_are_for_super_admins() {
    let group = with_roles(group(ALL_MEMBERS), &[PEER], &[OWN]);
    for write in WRITES {
        for effect in [
            effect(COMPONENT_REGISTRY, write, Some(Key::Component(APP))),
            of_inbox(SUPER_ADMIN_LIST, write, OTHER),
        ] {
            assert_eq!(judge(&group, OWN, &effect), Ok(()));
            for proposer in [PEER, OTHER] {
                let denied = Err(Denial::SuperAdminOnly(effect.component));
                assert_eq!(judge(&group, proposer, &effect), denied);
            }
        }
    }
    let touch = effect(SUPER_ADMIN_LIST, Write::Touch, None);
    assert_eq!(judge(&group, PEER, &touch), Err(Denial::SuperAdminOnly(SUPER_ADMIN_LIST)));
}

#[test]
fn perm_011_the_operation_selects_the_policy() {
    let group = group(ADMINS_ONLY);
    let asks = |proposer, write| judge(&group, proposer, &of_inbox(GROUP_MEMBERSHIP, write, OTHER));
    assert_eq!(asks(PEER, Write::Insert), Err(Denial::Policy(GROUP_MEMBERSHIP)));
    assert_eq!(asks(PEER, Write::Update), Ok(()));
    assert_eq!(asks(PEER, Write::Delete), Err(Denial::Policy(GROUP_MEMBERSHIP)));
    assert_eq!(asks(OWN, Write::Insert), Ok(()));
    assert_eq!(asks(PEER, Write::Touch), Ok(()));
}

#[test]
fn perm_012_what_is_not_registered_is_denied() {
    let group = group(ALL_MEMBERS);
    for write in WRITES.into_iter().chain([Write::Touch]) {
        let denied = Err(Denial::Unregistered(APP));
        assert_eq!(judge(&group, OWN, &effect(APP, write, None)), denied);
    }
    assert_eq!(
        judge(&dm(), OWN, &effect(GROUP_IMAGE, Write::Update, None)),
        Err(Denial::Unregistered(GROUP_IMAGE))
    );
}

#[test]
fn meta_004_immutable_and_reserved_components_are_denied() {
    let group = group(ALL_MEMBERS);
    for write in [Write::Update, Write::Delete] {
        let denied = Err(Denial::Immutable(CREATOR_INBOX_ID));
        assert_eq!(judge(&group, OWN, &effect(CREATOR_INBOX_ID, write, None)), denied);
    }
    // A first scalar write is an update, which the tables deny.
    let first = Effect { old: None, ..effect(CREATOR_INBOX_ID, Write::Update, None) };
    assert_eq!(judge(&group, OWN, &first), Err(Denial::Policy(CREATOR_INBOX_ID)));
    for id in [0x7000, 0xFF10] {
        assert_eq!(judge(&group, OWN, &effect(id, Write::Update, None)), Err(Denial::NotWritable(id)));
    }
}

#[test]
fn perm_027_own_key_or_a_key_without_member() {
    let group = group(ALL_MEMBERS);
    let names = |proposer, write, key| judge(&group, proposer, &of_inbox(USER_DISPLAY_NAME, write, key));
    let denied = Err(Denial::Policy(USER_DISPLAY_NAME));
    for write in WRITES {
        assert_eq!(names(PEER, write, PEER), Ok(()));
        assert_eq!(names(OWN, write, PEER), denied, "a super admin is no exception");
    }
    // OTHER is no member after the commit.
    assert_eq!(names(PEER, Write::Delete, OTHER), Ok(()));
    assert_eq!(names(PEER, Write::Insert, OTHER), denied);
    let whole = effect(USER_DISPLAY_NAME, Write::Delete, None);
    assert_eq!(judge(&group, OWN, &whole), denied);
}

#[test]
fn perm_027_other_keys_are_denied() {
    let policy = base(Base::IfSelfOrNonMember);
    let group = registered(group(ALL_MEMBERS), APP, ComponentType::MapBytesBytes, policy);
    for write in WRITES {
        let bytes = effect(APP, write, Some(Key::Bytes(OWN.0.to_vec())));
        assert_eq!(judge(&group, OWN, &bytes), DENIED);
    }
}

#[test]
fn perm_015_add_and_remove_use_the_membership_policies() {
    let group = with_roles(group(ADMINS_ONLY), &[PEER], &[OWN]);
    let judge = |proposer, change, before: &[InboxId], after: &[InboxId]| {
        authority(&group).judge_leaf(proposer, change, &members(before), &members(after))
    };
    let denied = Err(Denial::Policy(GROUP_MEMBERSHIP));
    let (pair, all) = ([OWN, PEER], [OWN, PEER, OTHER]);
    let (add, remove) = (LeafChange::Add(OTHER), LeafChange::Remove(OTHER));
    assert_eq!(judge(PEER, add, &pair, &all), Ok(()));
    assert_eq!(judge(OTHER, add, &pair, &all), denied);
    assert_eq!(judge(PEER, remove, &all, &pair), Ok(()));
    assert_eq!(judge(OTHER, remove, &all, &pair), denied);
    // Installations of an inbox that stays are anybody's to repair.
    assert_eq!(judge(OTHER, add, &all, &all), Ok(()));
    assert_eq!(judge(OTHER, remove, &all, &all), Ok(()));
    assert_eq!(judge(OTHER, LeafChange::Remove(OWN), &all, &all), Ok(()));
    // An Add of an inbox that does not end up a member is an addition all the same.
    assert_eq!(judge(OTHER, add, &all, &pair), denied);
}

#[test]
fn perm_003_super_admins_stay_members() {
    let group = with_roles(group(ALL_MEMBERS), &[], &[OWN, PEER]);
    let authority = authority(&group);
    let all = members(&[OWN, PEER, OTHER]);
    assert_eq!(authority.super_admins_stay(&all, &members(&[OWN, PEER])), Ok(()));
    let without_peer = members(&[OWN, OTHER]);
    assert_eq!(authority.super_admins_stay(&all, &without_peer), Err(Denial::SuperAdminRemoved));
    let removed = authority.judge_leaf(OWN, LeafChange::Remove(PEER), &all, &without_peer);
    assert_eq!(removed, Err(Denial::SuperAdminRemoved));
}

#[test]
fn perm_004_the_last_super_admin_stays() {
    let group = with_roles(group(ALL_MEMBERS), &[], &[OWN, PEER]);
    let remain = |list: &[(u16, Op)]| {
        let (_, effects) = next_dictionary(&group, list).unwrap();
        authority(&group).super_admins_remain(&effects)
    };
    let delta = |mutations: &[SetMutation]| (SUPER_ADMIN_LIST, Op::Update(encode_set_delta(mutations)));
    let drop = |inbox| SetMutation::Remove(Key::Inbox(inbox));
    let add = |inbox| SetMutation::Insert(Key::Inbox(inbox));
    assert_eq!(remain(&[delta(&[drop(OWN)])]), Ok(()));
    assert_eq!(remain(&[delta(&[drop(OWN), drop(PEER)])]), Err(Denial::LastSuperAdmin));
    assert_eq!(remain(&[delta(&[drop(OWN), drop(PEER), add(OTHER)])]), Ok(()));
    // Each proposal on its own keeps the list filled.
    let late = [delta(&[drop(OWN)]), delta(&[drop(PEER)]), delta(&[add(OTHER)])];
    assert_eq!(remain(&late), Err(Denial::LastSuperAdmin));
    assert_eq!(remain(&[(SUPER_ADMIN_LIST, Op::Remove)]), Err(Denial::LastSuperAdmin));
    let dm = dm();
    let (_, effects) = next_dictionary(&dm, &[delta(&[])]).unwrap();
    assert_eq!(authority(&dm).super_admins_remain(&effects), Ok(()));
}

fn trees() -> impl Strategy<Value = Policy> {
    let bases = [Base::Allow, Base::Deny, Base::IfAdmin, Base::IfSuperAdmin, Base::IfSelfOrNonMember];
    let leaf = prop_oneof![
        4 => prop::sample::select(bases.to_vec()).prop_map(Policy::Base),
        1 => Just(Policy::Malformed),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let children = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![children().prop_map(Policy::And), children().prop_map(Policy::Any)]
    })
}

/// Base policies as OTHER, who has no role, meets them on a component without key.
fn naive(policy: &Policy) -> Option<bool> {
    match policy {
        Policy::Base(base) => Some(*base == Base::Allow),
        Policy::Malformed => None,
        Policy::And(children) if children.is_empty() => None,
        Policy::Any(children) if children.is_empty() => None,
        Policy::And(children) => {
            children.iter().map(naive).find(|result| *result != Some(true)).unwrap_or(Some(true))
        }
        Policy::Any(children) => {
            children.iter().map(naive).find(|result| *result != Some(false)).unwrap_or(Some(false))
        }
    }
}

proptest! {
    #[test]
    fn evaluation_is_total_and_agrees_with_the_definition(policy in trees()) {
        let expected = match naive(&policy) {
            Some(true) => Ok(()),
            Some(false) => DENIED,
            None => MALFORMED,
        };
        prop_assert_eq!(ask(policy, OTHER), expected);
    }

    #[test]
    fn more_authority_never_loses_a_write_to_a_well_formed_policy(policy in trees()) {
        if policy.is_well_formed() && ask(policy.clone(), OTHER).is_ok() {
            prop_assert_eq!(ask(policy.clone(), PEER), Ok(()));
            prop_assert_eq!(ask(policy, OWN), Ok(()));
        }
    }

    #[test]
    fn judging_never_panics(
        component in any::<u16>(),
        write in prop::sample::select(WRITES.into_iter().chain([Write::Touch]).collect::<Vec<_>>()),
        key in prop_oneof![
            Just(None),
            any::<u16>().prop_map(|id| Some(Key::Component(id))),
            prop::sample::select(vec![OWN, PEER, OTHER]).prop_map(|inbox| Some(Key::Inbox(inbox))),
            Just(Some(Key::Bytes(vec![1]))),
        ],
        in_dm in any::<bool>(),
    ) {
        let components = if in_dm { dm() } else { group(ALL_MEMBERS) };
        for proposer in [OWN, PEER, OTHER] {
            let _ = judge(&components, proposer, &effect(component, write, key.clone()));
        }
    }
}
