//! Groups in tests: what a user does in one, and what everybody has to agree about.

use dovetail::base::{GroupId, InboxId, Topic};
use dovetail::client::{NewGroup, Role, Setting};
use dovetail::error::Error;
use dovetail::mls::{self, FrameKind};
use dovetail::policy::{ALL_MEMBERS, Row};
use dovetail::store::rows::{GroupRow, LeftOut, MessageKind};
use dovetail::wire::{ClientEnvelope, EncodedContent, GroupUpdated};

use super::forge::{self, Forger};
use super::{User, World, dump};

impl User {
    /// A group with these members, added.
    pub fn group(&self, members: &[&User]) -> GroupId {
        self.group_with(members, ALL_MEMBERS)
    }

    /// A group with these members and policies, added.
    pub fn group_with(&self, members: &[&User], policies: &[Row]) -> GroupId {
        let new = NewGroup {
            members: members.iter().map(|user| user.inbox()).collect(),
            policies: policies.to_vec(),
            ..NewGroup::default()
        };
        let group = self.call(move |client| async move { client.create_group(new).await }).expect("a group");
        self.sync();
        members.iter().for_each(|member| drop(member.sync()));
        group
    }

    pub fn add(&self, group: GroupId, inboxes: &[InboxId]) -> Result<LeftOut, Error> {
        let inboxes = inboxes.to_vec();
        self.call(move |client| async move { client.add_members(group, &inboxes).await })
    }

    pub fn remove(&self, group: GroupId, inboxes: &[InboxId]) -> Result<(), Error> {
        let inboxes = inboxes.to_vec();
        self.call(move |client| async move { client.remove_members(group, &inboxes).await })
    }

    pub fn set(&self, group: GroupId, setting: Setting) -> Result<(), Error> {
        self.call(move |client| async move { client.change_settings(group, vec![setting]).await })
    }

    pub fn name(&self, group: GroupId, name: &str) -> Result<(), Error> {
        self.set(group, Setting::Name(name.into()))
    }

    pub fn role(&self, group: GroupId, inbox: InboxId, role: Role, given: bool) -> Result<(), Error> {
        self.call(move |client| async move { client.set_role(group, inbox, role, given).await })
    }

    pub fn leave(&self, group: GroupId) -> Result<(), Error> {
        self.call(move |client| async move { client.request_removal(group).await })
    }

    /// The stored row of a group.
    pub fn row(&self, group: GroupId) -> GroupRow {
        dump::Dump::of(&self.store).groups().remove(&group).expect("a group")
    }

    /// Member inboxes of a group, ascending.
    pub fn members(&self, group: GroupId) -> Vec<InboxId> {
        self.row(group).members.iter().map(|member| member.inbox).collect()
    }
}

/// Everybody syncs until nothing is left to say.
pub fn sync_all(users: &[&User]) {
    for _ in 0..3 {
        users.iter().for_each(|user| drop(user.sync()));
    }
}

/// Everybody is in the same epoch and sees the same members and settings.
pub fn together(group: GroupId, users: &[&User]) {
    let first = users[0].row(group);
    for user in users {
        let row = user.row(group);
        assert_eq!((row.epoch, &row.authenticator), (first.epoch, &first.authenticator));
        assert_eq!(row.members, first.members);
        assert_eq!(row.settings, first.settings);
        dump::check(&user.store);
    }
}

pub fn frames(world: &World, group: GroupId, kind: FrameKind) -> usize {
    let stored = world.delivery.stored(Topic::Group(group));
    let of = |payload: &[u8]| mls::peek(&forge::mls_of(payload)).is_ok_and(|frame| frame.kind == kind);
    stored.iter().filter(|one| of(&one.payload)).count()
}

pub fn commits(world: &World, group: GroupId) -> usize {
    frames(world, group, FrameKind::Commit)
}

pub fn transcripts(user: &User, group: GroupId) -> Vec<GroupUpdated> {
    let rows = user.history(group, Default::default());
    let changes = rows.iter().filter(|row| row.kind == MessageKind::MembershipChange);
    let of = |bytes: &[u8]| GroupUpdated::decode(&EncodedContent::decode(bytes).unwrap().content).unwrap();
    changes.map(|row| of(&row.content)).collect()
}

/// The code of a refusal.
pub fn code<T: std::fmt::Debug>(result: Result<T, dovetail::error::Error>) -> &'static str {
    result.expect_err("refused").code
}

/// The newest key package of a device becomes one that nobody can use.
pub fn break_key_package(device: &User) {
    let payload = ClientEnvelope::KeyPackage(b"no key package".to_vec()).encode();
    Forger::of(device).publish_raw(Topic::KeyPackage(device.client.installation()), payload);
}
