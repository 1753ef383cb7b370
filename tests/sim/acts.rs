//! What users do.

use dovetail::base::{InboxId, Platform as _};
use dovetail::client::{NewGroup, Role, Setting};
use dovetail::consent::{Entity, State};
use dovetail::engine::history::HistoryOptions;
use dovetail::meta::Base;
use dovetail::meta::component::{APP_DATA, GROUP_DESCRIPTION, GROUP_MEMBERSHIP, GROUP_NAME};
use dovetail::policy::{ADMINS_ONLY, ALL_MEMBERS, Action, Row, custom};
use dovetail::store::rows::{GroupKind, GroupRow, GroupState, LeftOut};
use dovetail::wire::EncodedContent;

use crate::promises::Want;
use crate::trace;
use crate::world::{MOST_DEVICES, Sim};

const MOST_GROUPS: usize = 2;
/// The acts of a storm, by their numbers in [`Sim::act`].
const STORM: [usize; 17] = [1, 1, 10, 15, 15, 20, 20, 23, 23, 23, 25, 28, 30, 34, 34, 47, 48];

impl Sim {
    pub fn act(&mut self) {
        let page = self.chance.below(self.pages.len());
        if self.created == 0 {
            return self.create(page);
        }
        // In a storm everybody changes the same group at once.
        let act = if self.storm { *self.chance.pick(&STORM) } else { self.chance.below(54) };
        match act {
            0 => self.create(page),
            1..=9 => self.write(page),
            10..=14 => self.read(page),
            15..=19 => self.set(page),
            20..=22 => self.add(page),
            23 | 24 => self.remove(page),
            25 | 26 => self.give_role(page),
            27 => self.set_policy(page),
            28 | 29 => self.leave(page),
            30 | 31 => self.new_device(),
            32 => self.revoke(),
            33 => self.create_dm(page),
            34..=42 => self.trouble(page),
            48..=53 => self.decide(page),
            _ => {
                let ms = [0, 1, 25, 700, 40_000][self.chance.below(5)];
                trace::note(format!("{ms} ms pass"));
                self.world.settle(ms);
            }
        }
    }

    fn create(&mut self, page: usize) {
        if self.created == MOST_GROUPS {
            return self.write(page);
        }
        if self.storm && self.created > 0 {
            return self.set(page);
        }
        self.created += 1;
        let inboxes: Vec<InboxId> = self.people.iter().map(|person| person.inbox).collect();
        let members = if self.storm { inboxes } else { self.chance.some(&inboxes) };
        let open = custom(&[(Action::RemoveMember, Base::Allow)]);
        let policies: &[Row] = match self.chance.below(4) {
            0 => ADMINS_ONLY,
            1 => ALL_MEMBERS,
            _ => &open,
        };
        trace::note(format!("{} creates a group of {:?}", self.label(page), self.names(&members)));
        let new = NewGroup { members, policies: policies.to_vec(), ..NewGroup::default() };
        let made = self.call(page, move |client| async move { client.create_group(new).await });
        if let Some(Err(error)) = made {
            assert_eq!(error.code, "client.installation_revoked", "a group: {error}");
        }
    }

    fn create_dm(&mut self, page: usize) {
        let own = self.devices[self.pages[page].device].inbox;
        let others: Vec<InboxId> =
            self.people.iter().map(|person| person.inbox).filter(|inbox| *inbox != own).collect();
        let peer = *self.chance.pick(&others);
        trace::note(format!("{} creates a DM with {:?}", self.label(page), self.names(&[peer])));
        let made = self.call(page, move |client| async move { client.create_dm(peer).await });
        if let Some(Err(error)) = made {
            assert_eq!(error.code, "client.installation_revoked", "a DM: {error}");
        }
    }

    /// Whether a call is waited for.
    fn waits(&mut self) -> bool {
        let n = if self.storm { 5 } else { 2 };
        self.chance.one_in(n)
    }

    /// A group the page knows, more likely one it is in.
    fn some_group(&mut self, page: usize) -> Option<GroupRow> {
        let mut rows = self.devices[self.pages[page].device].groups();
        rows.retain(|row| row.kind != GroupKind::Sync);
        if !self.chance.one_in(8) {
            rows.retain(|row| row.state == GroupState::Active);
        }
        if rows.is_empty() { None } else { Some(self.chance.pick(&rows).clone()) }
    }

    fn new_text(&mut self) -> String {
        self.texts += 1;
        format!("text {}", self.texts)
    }

    fn write(&mut self, page: usize) {
        let Some(GroupRow { id: group, .. }) = self.some_group(page) else { return self.sync(page) };
        if self.clock_is_behind(page, &[Entity::Conversation(group)]) {
            return self.sync(page);
        }
        for _ in 0..1 + self.chance.below(3) / 2 {
            let text = self.new_text();
            trace::note(format!("{} writes {text}", self.label(page)));
            let content = EncodedContent::text(&text).encode();
            let wait = self.waits();
            self.begin(page, group, Want::Send(text), wait, move |client| async move {
                client.send(group, content, None).await.map(|_| LeftOut::default())
            });
        }
    }

    fn read(&mut self, page: usize) {
        trace::note(format!("{} syncs", self.label(page)));
        self.sync(page);
        let Some(GroupRow { id: group, .. }) = self.some_group(page) else { return };
        let history = HistoryOptions::default();
        let rows = self.call(page, move |client| async move { client.messages(group, &history).await });
        rows.into_iter().for_each(|rows| drop(rows.expect("a page")));
    }

    fn set(&mut self, page: usize) {
        let Some(GroupRow { id: group, .. }) = self.some_group(page) else { return };
        for _ in 0..1 + self.chance.below(4) / 3 {
            let text = self.new_text();
            let setting = match self.chance.below(4) {
                0 => Setting::Name(text.clone()),
                1 => Setting::Description(text.clone()),
                2 => Setting::ImageUrl(text.clone()),
                _ => Setting::AppData(text.clone()),
            };
            trace::note(format!("{} sets {setting:?}", self.label(page)));
            let wait = self.waits();
            self.begin(page, group, Want::Text(text), wait, move |client| async move {
                client.change_settings(group, vec![setting]).await.map(|()| LeftOut::default())
            });
        }
    }

    fn add(&mut self, page: usize) {
        let Some(GroupRow { id: group, members, .. }) = self.some_group(page) else { return };
        let in_it = |inbox: &InboxId| members.iter().any(|member| member.inbox == *inbox);
        let mut others: Vec<InboxId> = self.people.iter().map(|person| person.inbox).collect();
        if !self.chance.one_in(6) {
            others.retain(|inbox| !in_it(inbox));
        }
        if others.is_empty() {
            return self.set(page);
        }
        let inboxes = self.chance.some(&others);
        trace::note(format!("{} adds {:?}", self.label(page), self.names(&inboxes)));
        let wait = self.waits();
        self.begin(page, group, Want::Add(inboxes.clone()), wait, move |client| async move {
            client.add_members(group, &inboxes).await
        });
    }

    fn remove(&mut self, page: usize) {
        let Some(GroupRow { id: group, members, .. }) = self.some_group(page) else { return };
        let inboxes = vec![self.chance.pick(&members).inbox];
        trace::note(format!("{} removes {:?}", self.label(page), self.names(&inboxes)));
        let wait = self.waits();
        self.begin(page, group, Want::Remove(inboxes.clone()), wait, move |client| async move {
            client.remove_members(group, &inboxes).await.map(|()| LeftOut::default())
        });
    }

    fn give_role(&mut self, page: usize) {
        let Some(GroupRow { id: group, members, .. }) = self.some_group(page) else { return };
        let inbox = self.chance.pick(&members).inbox;
        let role = if self.chance.one_in(2) { Role::Admin } else { Role::SuperAdmin };
        let given = !self.chance.one_in(3);
        trace::note(format!("{} role {role:?} of {:?}: {given}", self.label(page), self.names(&[inbox])));
        let wait = self.waits();
        self.begin(page, group, Want::Role(inbox, role, given), wait, move |client| async move {
            client.set_role(group, inbox, role, given).await.map(|()| LeftOut::default())
        });
    }

    fn set_policy(&mut self, page: usize) {
        let Some(GroupRow { id: group, .. }) = self.some_group(page) else { return };
        let component = *self.chance.pick(&[GROUP_NAME, GROUP_DESCRIPTION, APP_DATA, GROUP_MEMBERSHIP]);
        let base = *self.chance.pick(&[Base::Allow, Base::IfAdmin, Base::IfSuperAdmin]);
        let policies = [Some(base), (component != GROUP_MEMBERSHIP).then_some(base), None];
        trace::note(format!("{} sets policy of {component:#x} to {base:?}", self.label(page)));
        self.begin(page, group, Want::Other, true, move |client| async move {
            client.set_policies(group, component, policies).await.map(|()| LeftOut::default())
        });
    }

    fn leave(&mut self, page: usize) {
        let Some(GroupRow { id: group, .. }) = self.some_group(page) else { return };
        trace::note(format!("{} asks to leave", self.label(page)));
        self.begin(page, group, Want::Leave, true, move |client| async move {
            client.request_removal(group).await.map(|()| LeftOut::default())
        });
    }

    fn new_device(&mut self) {
        let person = self.chance.below(self.people.len());
        if self.people[person].devices.len() < MOST_DEVICES {
            trace::note(format!("{} has a new device", self.people[person].name));
            self.add_device(person);
        }
    }

    pub fn names(&self, inboxes: &[InboxId]) -> Vec<&'static str> {
        let name = |inbox: &InboxId| self.people.iter().find(|person| person.inbox == *inbox);
        inboxes.iter().map(|inbox| name(inbox).map_or("?", |person| person.name)).collect()
    }
}

impl Sim {
    /// Somebody allows or denies a conversation or an inbox.
    fn decide(&mut self, page: usize) {
        let state = if self.chance.one_in(2) { State::Denied } else { State::Allowed };
        let row = if self.chance.one_in(3) { None } else { self.some_group(page) };
        let inboxes: Vec<InboxId> = self.people.iter().map(|person| person.inbox).collect();
        let entity = match &row {
            Some(row) => Entity::Conversation(row.id),
            None => Entity::Inbox(*self.chance.pick(&inboxes)),
        };
        let set: Vec<Entity> = match row.as_ref().and_then(|row| row.dm) {
            Some(dm) => {
                let rows = self.devices[self.pages[page].device].groups().into_iter();
                rows.filter(|row| row.dm == Some(dm)).map(|row| Entity::Conversation(row.id)).collect()
            }
            None => vec![entity],
        };
        if self.clock_is_behind(page, &set) {
            return;
        }
        trace::note(format!("{} decides about {entity:?}: {state:?}", self.label(page)));
        let decided = self.call(page, move |client| async move {
            match entity {
                Entity::Conversation(group) => client.set_conversation_consent(group, state).await,
                entity => client.set_consent(entity, state).await,
            }
        });
        let decided = decided.unwrap_or(Ok(()));
        assert!(decided.is_ok(), "deciding: {decided:?}");
        self.decisions += 1;
    }

    /// A device whose clock is behind what another one decided shows its own decision and loses it to
    /// the other's everywhere else (a known limitation of CONS): nobody acts like that here. What was
    /// written with a right clock may still leave, and allow, with one that was set back since.
    fn clock_is_behind(&self, page: usize, entities: &[Entity]) -> bool {
        let user = &self.pages[page].user;
        let now = user.device.now();
        entities.iter().any(|entity| user.record(*entity).is_some_and(|record| record.consented_at_ns > now))
    }
}
