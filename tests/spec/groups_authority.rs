//! Who may change what in a group: every check fires on its own violation and on nothing else.

use dovetail::base::InboxId;
use dovetail::members::Entry as Member;
use dovetail::meta::component::*;
use dovetail::meta::{
    Base, Entry, Key, MapMutation, Policy, SetMutation, encode_map_delta, encode_set_delta, key_hash,
};
use dovetail::mls::facts::AppDataOp;
use dovetail::policy::ADMINS_ONLY;
use openmls::prelude::Propose;

use crate::common::forge::{self, Raw};
use crate::gang::{ADMIN, Gang, MALLORY, ROOT, gang, open_gang};

fn map(component: u16, mutations: &[MapMutation]) -> Raw {
    Raw::write(component, encode_map_delta(mutations))
}

fn set(component: u16, mutations: &[SetMutation]) -> Raw {
    Raw::write(component, encode_set_delta(mutations))
}

fn register(component: u16, kind: ComponentType, policy: Policy) -> MapMutation {
    let (insert, update, delete) = (policy.clone(), policy.clone(), policy);
    let entry = Entry { type_number: kind as i32, insert, update, delete };
    MapMutation::Insert(Key::Component(component), entry.encode())
}

fn base(base: Base) -> Policy {
    Policy::Base(base)
}

fn of(inbox: InboxId) -> Key {
    Key::Inbox(inbox)
}

#[test]
fn perm_005_only_super_admins_write_registry_and_super_admin_list() {
    let gang = open_gang(0);
    let entry = || map(COMPONENT_REGISTRY, &[register(0xC001, ComponentType::Bytes, base(Base::Allow))]);
    let promote = || set(SUPER_ADMIN_LIST, &[SetMutation::Insert(of(gang.by(MALLORY).inbox))]);
    for who in [MALLORY, ADMIN] {
        gang.refuse_commit(who, entry(), "PERM-005");
        gang.refuse_commit(who, promote(), "PERM-005");
        gang.refuse_commit(who, set(SUPER_ADMIN_LIST, &[]), "PERM-005");
    }
    gang.apply_commit(ROOT, entry());
    gang.apply_commit(ROOT, promote());
    // Roles are those of the committed lists: what was refused for want of the role now applies.
    gang.apply_commit(MALLORY, map(COMPONENT_REGISTRY, &[MapMutation::Delete(Key::Component(0xC001))]));
    gang.assert_alive();
}

#[test]
fn perm_004_the_last_super_admin_stays_one() {
    let gang = open_gang(0);
    let (root, admin) = (gang.by(ROOT).inbox, gang.by(ADMIN).inbox);
    gang.refuse_commit(ROOT, set(SUPER_ADMIN_LIST, &[SetMutation::Remove(of(root))]), "PERM-004");
    let hash = SetMutation::RemoveByHash(key_hash(&of(root)));
    gang.refuse_commit(ROOT, set(SUPER_ADMIN_LIST, std::slice::from_ref(&hash)), "PERM-004");
    gang.refuse_commit(ROOT, Raw::drop(SUPER_ADMIN_LIST), "PERM-004");
    gang.apply_commit(ROOT, set(SUPER_ADMIN_LIST, &[SetMutation::Insert(of(admin)), hash]));
    assert_eq!(gang.row(&gang.alice).settings.super_admins, [admin]);
    gang.assert_alive();
}

/// What removes an inbox: its entry and its leaves.
fn expel(gang: &Gang, inbox: InboxId) -> Raw {
    let leaves = gang.by(ROOT).group(gang.group).facts().leaves;
    let removes = leaves.iter().filter(|leaf| leaf.inbox == Some(inbox)).map(|leaf| leaf.index).collect();
    Raw { removes, ..map(GROUP_MEMBERSHIP, &[MapMutation::Delete(of(inbox))]) }
}

#[test]
fn perm_003_a_super_admin_is_never_removed() {
    let gang = open_gang(0);
    let (root, mallory) = (gang.by(ROOT).inbox, gang.by(MALLORY).inbox);
    gang.refuse_commit(ADMIN, expel(&gang, root), "PERM-003");
    // Nor together with taking the role away.
    gang.apply_commit(ROOT, set(SUPER_ADMIN_LIST, &[SetMutation::Insert(of(gang.by(ADMIN).inbox))]));
    let demote = encode_set_delta(&[SetMutation::Remove(of(root))]);
    gang.refuse_commit(ADMIN, expel(&gang, root).and(SUPER_ADMIN_LIST, demote), "PERM-003");
    let sealed = gang.by(ADMIN).raw_commit(gang.group, expel(&gang, mallory));
    gang.apply(ADMIN, sealed.bytes, &[MALLORY]);
    gang.assert_alive();
}

#[test]
fn perm_011_a_policy_asks_for_a_role() {
    let gang = open_gang(0);
    let bo = gang.bo.inbox();
    let soon = || Raw::write(MESSAGE_DISAPPEAR_IN_NS, 7i64.to_be_bytes());
    gang.refuse_commit(MALLORY, soon(), "PERM-011");
    gang.apply_commit(ADMIN, soon());
    gang.refuse_commit(MALLORY, expel(&gang, bo), "PERM-011");
    // The same without authority over the leaf or over the entry alone.
    let entry_only = || map(GROUP_MEMBERSHIP, &[MapMutation::Delete(of(bo))]);
    gang.refuse_commit(MALLORY, entry_only(), "PERM-011");
    let role = || set(ADMIN_LIST, &[SetMutation::Insert(of(bo))]);
    gang.refuse_commit(MALLORY, role(), "PERM-011");
    gang.refuse_commit(ADMIN, role(), "PERM-011");
    gang.apply_commit(ROOT, role());
    gang.refuse_commit(ADMIN, Raw::drop(GROUP_NAME), "PERM-011");
    gang.apply_commit(ROOT, Raw::drop(GROUP_NAME));
    gang.apply_commit(MALLORY, Raw::write(GROUP_NAME, "open to all"));
    gang.assert_alive();
}

#[test]
fn perm_015_adding_is_for_admins_where_the_policy_says_so() {
    let gang = gang(ADMINS_ONLY, 0);
    let carol = gang.world.user("carol");
    let join = |who: usize| {
        let entry = Member { sequence_id: forge::newest_update(&carol), failed: [].into() };
        let insert = MapMutation::Insert(of(carol.inbox()), entry.encode());
        let adds = vec![gang.by(who).key_package(carol.client.installation())];
        Raw { adds, ..map(GROUP_MEMBERSHIP, &[insert]) }
    };
    gang.refuse_commit(MALLORY, join(MALLORY), "PERM-011");
    let leaf_only = Raw { writes: vec![], ..join(MALLORY) };
    gang.refuse_commit(MALLORY, leaf_only, "PERM-011");
    gang.refuse_commit(MALLORY, Raw::write(GROUP_NAME, "mine"), "PERM-011");
    // On its own as well (GMOD-019).
    let package = gang.by(MALLORY).parsed(&join(MALLORY).adds[0]);
    let alone = gang.by(MALLORY).propose(gang.group, Propose::Add(package));
    gang.by(MALLORY).forget_proposals(gang.group);
    gang.refuse(alone, "PERM-011");
    gang.apply_commit(ADMIN, join(ADMIN));
    gang.assert_alive();
}

#[test]
fn perm_012_components_are_registered_in_an_earlier_commit() {
    let gang = open_gang(0);
    let write = || Raw::write(0xC001, b"value".to_vec());
    let entry = register(0xC001, ComponentType::String, base(Base::Allow));
    gang.refuse_commit(ROOT, write(), "PERM-012");
    // PERM-010: the committed registry decides, not the one this commit makes.
    let both = map(COMPONENT_REGISTRY, std::slice::from_ref(&entry)).and(0xC001, b"value".to_vec());
    gang.refuse_commit(ROOT, both, "PERM-012");
    gang.apply_commit(ROOT, map(COMPONENT_REGISTRY, &[entry]));
    gang.apply_commit(MALLORY, write());
    gang.refuse_commit(MALLORY, Raw::write(0xC001, vec![0xff]), "META-010");
    gang.assert_alive();
}

#[test]
fn perm_008_a_malformed_policy_denies() {
    let gang = open_gang(0);
    let broken = Policy::Any(vec![base(Base::Deny), Policy::Malformed, base(Base::Allow)]);
    let early = Policy::Any(vec![base(Base::Allow), Policy::Malformed]);
    let entries = [
        register(0xC001, ComponentType::Bytes, broken),
        register(0xC002, ComponentType::Bytes, early),
        register(0xC003, ComponentType::Bytes, Policy::And(vec![base(Base::Allow), base(Base::IfAdmin)])),
    ];
    gang.apply_commit(ROOT, map(COMPONENT_REGISTRY, &entries));
    gang.refuse_commit(ROOT, Raw::write(0xC001, [1]), "PERM-008");
    // PERM-007: the first that allows decides; all have to allow.
    gang.apply_commit(MALLORY, Raw::write(0xC002, [1]));
    gang.refuse_commit(MALLORY, Raw::write(0xC003, [1]), "PERM-011");
    gang.apply_commit(ADMIN, Raw::write(0xC003, [1]));
    gang.assert_alive();
}

#[test]
fn perm_017_admin_and_membership_policies_stay_decidable() {
    let gang = open_gang(0);
    let replace = |component: u16, policy: Policy| {
        let kind = built_in_type(component).unwrap();
        let MapMutation::Insert(key, value) = register(component, kind, policy) else { panic!() };
        map(COMPONENT_REGISTRY, &[MapMutation::Update(key, value)])
    };
    gang.refuse_commit(ROOT, replace(ADMIN_LIST, base(Base::Allow)), "PERM-017");
    gang.refuse_commit(ROOT, replace(ADMIN_LIST, Policy::And(vec![base(Base::Deny)])), "PERM-017");
    gang.refuse_commit(ROOT, replace(GROUP_MEMBERSHIP, Policy::Malformed), "PERM-017");
    let gone = map(COMPONENT_REGISTRY, &[MapMutation::Delete(Key::Component(ADMIN_LIST))]);
    gang.refuse_commit(ROOT, gone, "PERM-017");
    gang.apply_commit(ROOT, replace(ADMIN_LIST, base(Base::IfAdmin)));
    gang.apply_commit(ADMIN, set(ADMIN_LIST, &[SetMutation::Insert(of(gang.bo.inbox()))]));
    gang.assert_alive();
}

#[test]
fn perm_027_a_display_name_is_ones_own_or_that_of_somebody_who_leaves() {
    let gang = open_gang(0);
    let (bo, mallory) = (gang.bo.inbox(), gang.by(MALLORY).inbox);
    let name = |inbox: InboxId| map(USER_DISPLAY_NAME, &[MapMutation::Insert(of(inbox), b"me".to_vec())]);
    gang.refuse_commit(MALLORY, name(bo), "PERM-011");
    gang.refuse_commit(ROOT, name(bo), "PERM-011");
    gang.apply_commit(MALLORY, name(mallory));
    let forget = || encode_map_delta(&[MapMutation::Delete(of(mallory))]);
    gang.refuse_commit(ADMIN, Raw::write(USER_DISPLAY_NAME, forget()), "PERM-011");
    gang.refuse_commit(ADMIN, Raw::drop(USER_DISPLAY_NAME), "PERM-011");
    // GMOD-039: in the commit that removes the member it is allowed.
    let sealed =
        gang.by(ADMIN).raw_commit(gang.group, expel(&gang, mallory).and(USER_DISPLAY_NAME, forget()));
    gang.apply(ADMIN, sealed.bytes, &[MALLORY]);
    gang.assert_alive();
}

#[test]
fn perm_009_each_proposal_is_judged_by_its_proposer() {
    let gang = gang(ADMINS_ONLY, 0);
    let rename =
        |text: &str| Propose::UpdateAppDataComponent { component_id: GROUP_NAME, update: text.into() };
    // Of a plain member it is not kept, so nobody can commit it.
    let stray = gang.by(MALLORY).propose(gang.group, rename("mine"));
    gang.refuse(stray, "PERM-011");
    gang.refuse_commit(MALLORY, Raw { kept: true, ..Raw::default() }, "PROC-011");
    gang.by(MALLORY).forget_proposals(gang.group);
    // An admin's is, and the plain member may commit it, though not add a word of its own.
    let data = gang.by(ADMIN).propose(gang.group, rename("ours"));
    gang.keep(ADMIN, data);
    let own = Raw { kept: true, ..Raw::write(GROUP_NAME, "mine") };
    gang.refuse_commit(MALLORY, own, "PERM-011");
    gang.apply_commit(MALLORY, Raw { kept: true, ..Raw::default() });
    assert_eq!(gang.row(&gang.alice).settings.name, "ours");
    gang.assert_alive();
}

#[test]
fn gmod_026_the_floor_only_rises_in_groups() {
    let gang = open_gang(0);
    let floor = |text: &str| Raw::write(MIN_SUPPORTED_PROTOCOL_VERSION, text.as_bytes());
    gang.refuse_commit(ROOT, floor("1.10.9"), "GMOD-026");
    gang.refuse_commit(ROOT, floor("1.11.0-alpha"), "GMOD-026");
    gang.refuse_commit(ROOT, Raw::drop(MIN_SUPPORTED_PROTOCOL_VERSION), "GMOD-026");
    gang.refuse_commit(ROOT, floor("soon"), "META-010");
    // Raised and lowered again in one commit.
    gang.refuse_commit(ROOT, floor("1.11.0").and(MIN_SUPPORTED_PROTOCOL_VERSION, *b"1.10.0"), "GMOD-026");
    gang.refuse_commit(MALLORY, floor("1.11.0"), "PERM-011");
    gang.apply_commit(ROOT, floor("1.11.0-dev+built.elsewhere"));
    gang.apply_commit(ROOT, floor("1.11.0"));
    gang.assert_alive();
}

#[test]
fn gmod_022_a_floor_raise_without_authority_does_not_pause() {
    let gang = open_gang(0);
    let raise = || Raw::write(MIN_SUPPORTED_PROTOCOL_VERSION, *b"99.0.0");
    gang.refuse_commit(MALLORY, raise(), "PERM-011");
    // Nor one that breaks another rule beside it.
    gang.refuse_commit(ROOT, raise().and(GROUP_NAME, vec![b'x'; 101]), "META-010");
    gang.refuse_commit(ROOT, Raw { removes: vec![gang.leaf(gang.bo.inbox())], ..raise() }, "GMOD-011");
    gang.assert_alive();
    let sealed = gang.by(ROOT).raw_commit(gang.group, raise());
    gang.hold(sealed.bytes, "floor", "group.paused");
    // GMOD-025: a paused group records no rejection, whatever comes behind.
    let junk = gang.by(ROOT).publish(gang.group, vec![1, 2, 3]);
    gang.sync();
    assert_eq!(gang.recorded(junk.sequence_id), [None, None]);
}

#[test]
fn gmod_030_conflicting_component_operations_are_refused() {
    let gang = open_gang(0);
    let mut both = Raw::write(GROUP_NAME, "new");
    both.writes.push((GROUP_NAME, AppDataOp::Remove));
    gang.refuse_commit(ROOT, both, "GMOD-030");
    gang.refuse_commit(ROOT, Raw::drop(GROUP_DESCRIPTION), "GMOD-030");
    gang.apply_commit(ROOT, Raw::write(GROUP_DESCRIPTION, "now it is there").and(GROUP_NAME, "new"));
    gang.apply_commit(ROOT, Raw::drop(GROUP_DESCRIPTION));
    gang.assert_alive();
}

#[test]
fn gmod_021_values_and_ids_keep_to_the_rules_of_components() {
    let gang = open_gang(0);
    for id in [0xFF00, 0xFFFF, 0x7FFF, 0] {
        gang.refuse_commit(ROOT, Raw::write(id, [1]), "META-003");
    }
    gang.refuse_commit(ROOT, Raw::write(CONVERSATION_TYPE, [0, 0, 0, 2]), "META-004");
    gang.refuse_commit(ROOT, Raw::drop(CREATOR_INBOX_ID), "META-004");
    for (id, limit) in
        [(GROUP_NAME, 100), (GROUP_DESCRIPTION, 1000), (GROUP_IMAGE_URL, 2048), (APP_DATA, 8192)]
    {
        gang.refuse_commit(MALLORY, Raw::write(id, vec![b'x'; limit + 1]), "META-010");
        gang.apply_commit(MALLORY, Raw::write(id, vec![b'x'; limit]));
    }
    gang.refuse_commit(ADMIN, Raw::write(MESSAGE_DISAPPEAR_FROM_NS, [0; 7]), "META-010");
    gang.apply_commit(ADMIN, Raw::write(MESSAGE_DISAPPEAR_FROM_NS, [0; 8]));
    // Deltas are strict and whole.
    let twice = [SetMutation::Insert(of(gang.bo.inbox())), SetMutation::Insert(of(gang.bo.inbox()))];
    gang.refuse_commit(ROOT, set(ADMIN_LIST, &twice), "META-013");
    gang.refuse_commit(ROOT, Raw::write(ADMIN_LIST, [1, 2, 3]), "META-013");
    gang.apply_commit(ROOT, set(ADMIN_LIST, &twice[..1]));
    assert!(gang.row(&gang.alice).settings.admins.contains(&gang.bo.inbox()));
    gang.assert_alive();
}

#[test]
fn gmod_021_registry_entries_keep_to_their_rules() {
    let gang = open_gang(0);
    let registry = |mutations: &[MapMutation]| map(COMPONENT_REGISTRY, mutations);
    let entry = |id: u16| register(id, ComponentType::Bytes, base(Base::Allow));
    for id in [SUPER_ADMIN_LIST, COMPONENT_REGISTRY, 0xFF00, 0x1000] {
        gang.refuse_commit(ROOT, registry(&[entry(id)]), "META-014");
    }
    let incomplete = MapMutation::Insert(Key::Component(0xC001), vec![0x08, 1]);
    gang.refuse_commit(ROOT, registry(&[incomplete]), "META-014");
    gang.refuse_commit(ROOT, Raw::drop(COMPONENT_REGISTRY), "META-015");
    // A component that is written once: its entry is frozen, its value too.
    gang.apply_commit(ROOT, registry(&[entry(0xFD00), entry(0xC001)]));
    gang.refuse_commit(ROOT, registry(&[MapMutation::Delete(Key::Component(0xFD00))]), "META-015");
    gang.apply_commit(ROOT, registry(&[MapMutation::Delete(Key::Component(0xC001))]));
    gang.refuse_commit(MALLORY, Raw::write(0xFD00, [1]).and(0xFD00, [2]), "META-004");
    gang.apply_commit(MALLORY, Raw::write(0xFD00, [1]));
    gang.refuse_commit(MALLORY, Raw::write(0xFD00, [1]), "META-004");
    gang.assert_alive();
}

#[test]
fn gmod_034_a_transcript_says_what_the_commit_did() {
    let gang = open_gang(0);
    let update = encode_set_delta(&[SetMutation::Insert(of(gang.bo.inbox()))]);
    gang.apply_commit(ROOT, Raw::write(GROUP_NAME, "crew").and(ADMIN_LIST, update));
    for user in gang.honest() {
        let row = user.history(gang.group, Default::default()).pop().unwrap();
        assert_eq!(row.kind, dovetail::store::rows::MessageKind::MembershipChange);
        let content = dovetail::wire::EncodedContent::decode(&row.content).unwrap().content;
        let told = dovetail::wire::GroupUpdated::decode(&content).unwrap();
        assert_eq!((told.initiated_by, told.added_admins), (gang.by(ROOT).inbox, vec![gang.bo.inbox()]));
        let change = &told.field_changes[0];
        let value = |text: &str| Some(text.to_owned());
        assert_eq!((&change.old_value, &change.new_value), (&value("team"), &value("crew")));
    }
    // A refused commit leaves none.
    let before = gang.alice.history(gang.group, Default::default()).len();
    gang.refuse_commit(MALLORY, Raw::drop(GROUP_NAME), "PERM-011");
    assert_eq!(gang.alice.history(gang.group, Default::default()).len(), before);
}
