//! Welcomes sent: one for each of few installations, one shared by many, and what is refused
//! (GMOD-018).

use std::rc::Rc;

use dovetail::base::{GroupId, Topic};
use dovetail::wire::{ClientEnvelope, WelcomeAlgorithm, WelcomeInput};

use crate::common::dump;
use crate::common::gate::payload_is_shared;
use crate::common::{User, World};
use crate::exactly_once::{every_point, quiet, risky_sync, risky_text};

const GROUP: GroupId = GroupId([0x77; 16]);

/// alice, and bo with so many devices.
struct Story {
    alice: User,
    bo: Vec<User>,
    group: GroupId,
}

impl Story {
    fn new(devices: usize) -> Self {
        let world = World::new(9);
        let alice = world.user("alice");
        let bo = (0..devices).map(|_| world.user("bo")).collect();
        Self { alice, bo, group: GROUP }
    }

    fn create(&mut self) {
        self.group = self.alice.dm(&self.bo[0]);
        self.alice.text(self.group, "hello");
        self.alice.sync();
    }

    /// The only Welcome a device was sent.
    fn welcome(&self, device: usize) -> WelcomeInput {
        let topic = Topic::Welcome(self.bo[device].client.installation().0);
        let stored = self.alice.world.delivery.stored(topic);
        assert_eq!(stored.len(), 1);
        match ClientEnvelope::decode(&stored[0].payload) {
            Ok(ClientEnvelope::Welcome(input)) => input,
            other => panic!("{other:?}"),
        }
    }

    /// Every device but these has the DM with what was said in it, in alice's epoch.
    fn assert_joined(&self, but: &[usize]) {
        let standing = |user: &User| {
            let row = user.inspect(self.group).groups.remove(0).row;
            (row.epoch, row.authenticator)
        };
        for (at, device) in self.bo.iter().enumerate() {
            device.sync();
            dump::check(&device.store);
            if but.contains(&at) {
                assert!(device.conversations().is_empty());
                continue;
            }
            assert_eq!(device.texts(self.group), ["hello"]);
            assert_eq!(standing(device), standing(&self.alice));
        }
        assert_eq!(self.alice.inspect(self.group).groups[0].pending_intents, 0);
        dump::check(&self.alice.store);
    }

    /// Everything stored that is a shared Welcome.
    fn shared(&self) -> usize {
        let delivery = &self.alice.world.delivery;
        let stored = delivery.topics().into_iter().flat_map(|(topic, _)| delivery.stored(topic));
        stored.filter(|envelope| payload_is_shared(&envelope.payload)).count()
    }
}

#[test]
fn gmod_018_more_than_two_added_installations_share_one_welcome() {
    let mut story = Story::new(3);
    story.create();
    assert_eq!(story.shared(), 1);
    for device in 0..3 {
        let WelcomeInput::Pointer { pointer, algorithm, .. } = story.welcome(device) else {
            panic!("a Welcome of its own")
        };
        assert!(algorithm == WelcomeAlgorithm::Curve25519 && pointer.len() < 250);
    }
    story.assert_joined(&[]);
}

#[test]
fn gmod_018_two_added_installations_get_a_welcome_each() {
    let mut story = Story::new(2);
    story.create();
    assert_eq!(story.shared(), 0);
    for device in 0..2 {
        assert!(matches!(story.welcome(device), WelcomeInput::V1 { .. }));
    }
    story.assert_joined(&[]);
}

#[test]
fn gmod_018_shared_welcomes_arrive_wherever_their_publishing_is_cut_off() {
    let points = every_point(
        || Story::new(3),
        |story| &mut story.alice,
        |story| {
            let peer = story.bo[0].inbox();
            let made = story.alice.risk(move |client| async move { client.create_dm(peer).await });
            let Some(Ok(group)) = made else { return };
            story.group = group;
            if !story.alice.gate.is_dead() {
                risky_text(&story.alice, group, "hello");
            }
            risky_sync(&story.alice);
        },
        |story, plan| {
            story.group = story.alice.dm(&story.bo[0]);
            quiet(&[&story.alice]);
            if story.alice.texts(story.group).is_empty() {
                story.alice.text(story.group, "hello");
            }
            quiet(&[&story.alice]);
            story.assert_joined(&[]);
            // Whatever was cut off, what is shared is sealed once.
            assert_eq!(story.shared(), 1, "{plan:?}");
        },
    );
    println!("{points} points");
    assert!(points > 40);
}

#[test]
fn gmod_018_a_shared_welcome_is_joined_once_wherever_the_join_is_cut_off() {
    let points = every_point(
        || {
            let mut story = Story::new(3);
            story.create();
            story
        },
        |story| &mut story.bo[1],
        |story| risky_sync(&story.bo[1]),
        |story, plan| {
            story.assert_joined(&[]);
            assert_eq!(story.bo[1].conversations().len(), 1, "{plan:?}");
        },
    );
    println!("{points} points");
    assert!(points > 20);
}

/// What alice's service refuses.
fn refuse(story: &Story, what: impl Fn(Topic, &[u8]) -> bool + 'static) {
    *story.alice.gate.refuse.borrow_mut() = Some(Rc::new(move |one| what(one.topic, &one.payload)));
}

#[test]
fn gmod_018_a_refused_welcome_is_recorded_and_the_others_go_on() {
    let mut story = Story::new(3);
    let first = story.bo[0].client.installation();
    refuse(&story, move |topic, _| topic == Topic::Welcome(first.0));
    story.create();
    assert_eq!(story.alice.inspect(story.group).groups[0].refused_welcomes, [first]);
    story.assert_joined(&[0]);
    // The group goes on, also after a restart.
    story.alice.reopen();
    story.alice.text(story.group, "more");
    story.alice.sync();
    story.bo[1].sync();
    assert_eq!(story.bo[1].texts(story.group), ["hello", "more"]);
    assert_eq!(story.alice.inspect(story.group).groups[0].refused_welcomes, [first]);
}

#[test]
fn gmod_018_the_only_welcome_refused_does_not_block_the_group() {
    let mut story = Story::new(1);
    let only = story.bo[0].client.installation();
    refuse(&story, move |topic, _| topic == Topic::Welcome(only.0));
    story.create();
    story.assert_joined(&[0]);
    let inside = story.alice.inspect(story.group).groups.remove(0);
    assert_eq!((inside.pending_intents, inside.refused_welcomes), (0, vec![only]));
}

#[test]
fn gmod_018_a_refused_shared_welcome_is_replaced_by_one_for_each() {
    let mut story = Story::new(3);
    refuse(&story, |_, payload| payload_is_shared(payload));
    story.create();
    assert_eq!(story.shared(), 0);
    assert!((0..3).all(|device| matches!(story.welcome(device), WelcomeInput::V1 { .. })));
    story.assert_joined(&[]);
    assert_eq!(story.alice.inspect(story.group).groups[0].refused_welcomes, []);
}

#[test]
fn gmod_018_a_refusal_that_was_none_loses_nobody() {
    let mut story = Story::new(3);
    story.alice.offline(true);
    story.group = story.alice.dm(&story.bo[0]);
    story.alice.text(story.group, "hello");
    story.alice.delivery.freeze(Topic::Group(story.group));
    story.alice.offline(false);
    story.alice.sync();
    story.alice.delivery.thaw();
    story.alice.delivery.set(|faults| faults.refuse = 1);
    story.alice.sync();
    story.assert_joined(&[]);
    assert_eq!(story.alice.inspect(story.group).groups[0].refused_welcomes, []);
}
