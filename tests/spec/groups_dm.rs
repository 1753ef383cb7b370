//! What a DM's fixed policy adds to the rules of groups, at the receiver: a whole first commit of
//! another creator, and what a participant may do.

use dovetail::base::{GroupId, InboxId};
use dovetail::members::Entry;
use dovetail::meta::component::*;
use dovetail::meta::{
    Base, ComponentType, Entry as Row, Key, MapMutation, Policy, SetMutation, encode_map_delta,
    encode_set_delta,
};

use crate::adversary::{Case, case};
use crate::common::forge::{self, Raw};

impl Case {
    fn by_mallory(&self, raw: Raw) -> Vec<u8> {
        let sealed = self.mallory.raw_commit(self.group, raw);
        self.mallory.drop_commit(self.group);
        sealed.bytes
    }

    fn refuse(&self, raw: Raw, id: &str) {
        let receipt = self.mallory.publish(self.group, self.by_mallory(raw));
        self.sync();
        assert_eq!(self.recorded(receipt.sequence_id), [Some(id.to_owned()), Some(id.to_owned())]);
    }

    fn apply(&self, raw: Raw) {
        let sealed = self.mallory.raw_commit(self.group, raw);
        let receipt = self.mallory.publish(self.group, sealed.bytes);
        self.mallory.merge(self.group);
        self.sync();
        assert_eq!(self.recorded(receipt.sequence_id), [None, None]);
        let epoch = self.mallory.group(self.group).epoch();
        assert_eq!(self.alice.inspect(self.group).groups[0].row.epoch, epoch);
    }
}

fn registration(component: u16, policy: Base) -> Raw {
    let policy = Policy::Base(policy);
    let (insert, update, delete) = (policy.clone(), policy.clone(), policy);
    let entry = Row { type_number: ComponentType::Bytes as i32, insert, update, delete };
    let insert = MapMutation::Insert(Key::Component(component), entry.encode());
    Raw::write(COMPONENT_REGISTRY, encode_map_delta(&[insert]))
}

#[test]
fn perm_026_a_participant_registers_application_components_and_no_others() {
    let case = case();
    case.refuse(registration(0x8ABC, Base::Allow), "PERM-005");
    let delete = MapMutation::Delete(Key::Component(GROUP_NAME));
    case.refuse(Raw::write(COMPONENT_REGISTRY, encode_map_delta(&[delete])), "PERM-005");
    let own = SetMutation::Insert(Key::Inbox(case.bo.inbox()));
    case.refuse(Raw::write(SUPER_ADMIN_LIST, encode_set_delta(std::slice::from_ref(&own))), "PERM-005");
    case.refuse(Raw::write(ADMIN_LIST, encode_set_delta(&[own])), "PERM-011");
    case.apply(registration(0xC001, Base::IfSuperAdmin));
    // PERM-028: on these a participant is what a super admin is elsewhere.
    case.apply(Raw::write(0xC001, [1]));
    case.refuse(Raw::write(COMMIT_LOG_SIGNER, [1; 32]), "PERM-011");
    case.refuse(Raw::drop(GROUP_NAME), "GMOD-030");
    case.apply(Raw::write(GROUP_NAME, "us"));
    case.refuse(Raw::drop(GROUP_NAME), "PERM-011");
    case.assert_alive();
}

#[test]
fn dms_004_only_the_other_inbox_is_added_and_nobody_is_removed() {
    let case = case();
    let carol = case.world.user("carol");
    let insert = |inbox: InboxId, at: u64| {
        let entry = Entry { sequence_id: dovetail::base::SequenceId(at), failed: [].into() };
        encode_map_delta(&[MapMutation::Insert(Key::Inbox(inbox), entry.encode())])
    };
    let at = forge::newest_update(&carol).0;
    let adds = || vec![case.mallory.key_package(carol.client.installation())];
    let whole = Raw { adds: adds(), ..Raw::write(GROUP_MEMBERSHIP, insert(carol.inbox(), at)) };
    case.refuse(whole, "DMS-004");
    case.refuse(Raw::write(GROUP_MEMBERSHIP, insert(carol.inbox(), at)), "DMS-004");
    case.refuse(Raw { adds: adds(), ..Raw::default() }, "DMS-004");
    let gone = encode_map_delta(&[MapMutation::Delete(Key::Inbox(case.alice.inbox()))]);
    case.refuse(Raw { removes: vec![0], ..Raw::write(GROUP_MEMBERSHIP, gone) }, "PERM-011");
    case.assert_alive();
}

#[test]
fn dms_004_the_creator_adds_the_peer_and_a_bystander_does_not() {
    // carol made a DM with bo in which only her two devices are; a stolen one adds people.
    let case = case();
    let (carol, stolen) = (case.world.user("carol"), case.world.user("carol"));
    let root = forge::Forger::of(&carol);
    let at = |user: &crate::common::User| forge::newest_update(user);
    let dictionary = forge::dm_dictionary(carol.inbox(), case.bo.inbox(), &[(carol.inbox(), at(&stolen))]);
    let id = GroupId([0x44; 16]);
    root.offer(id, &dictionary, &[stolen.client.installation()]);
    stolen.sync();
    assert_eq!(stolen.inspect(id).groups[0].row.epoch, 1);
    let addition = |user: &crate::common::User| {
        let entry = Entry { sequence_id: at(user), failed: [].into() };
        let insert = MapMutation::Insert(Key::Inbox(user.inbox()), entry.encode());
        let adds = vec![root.key_package(user.client.installation())];
        Raw { adds, ..Raw::write(GROUP_MEMBERSHIP, encode_map_delta(&[insert])) }
    };
    let refused = root.raw_commit(id, addition(&case.alice));
    root.drop_commit(id);
    let receipt = root.publish(id, refused.bytes);
    stolen.sync();
    assert_eq!(stolen.inspect(id).groups[0].rejected[0].0, receipt.sequence_id);
    assert_eq!(stolen.inspect(id).groups[0].rejected[0].1, "DMS-004");
    let applied = root.raw_commit(id, addition(&case.bo));
    root.publish(id, applied.bytes.clone());
    root.merge(id);
    stolen.sync();
    assert_eq!(stolen.inspect(id).groups[0].row.epoch, 2);
}
