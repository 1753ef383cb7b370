//! Valid bytes of every kind, from a conversation that took place.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use dovetail::base::GroupId;
use dovetail::mls::facts::RawDictionary;
use dovetail::store::Table;
use dovetail::wire::{ClientEnvelope, EncodedContent, GroupUpdated, WelcomeInput};

use crate::common::dump::Dump;
use crate::common::forge::{self, Forger};
use crate::common::{User, World};

/// What passed through a service, and what a database holds of it.
#[derive(Default)]
pub struct Samples {
    pub envelopes: Vec<Vec<u8>>,
    pub updates: Vec<Vec<u8>>,
    pub packages: Vec<Vec<u8>>,
    /// Sealed Welcomes: data, metadata and the key they are sealed to.
    pub welcomes: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>,
    /// What the Welcomes are opened with.
    pub globals: Vec<(Vec<u8>, Vec<u8>)>,
    pub rows: BTreeMap<u8, Vec<Vec<u8>>>,
    pub dictionaries: Vec<RawDictionary>,
}

impl Samples {
    pub fn rows_of(&self, table: Table) -> &[Vec<u8>] {
        &self.rows[&(table as u8)]
    }
}

/// The samples, made once.
pub fn samples() -> &'static Samples {
    static SAMPLES: OnceLock<Samples> = OnceLock::new();
    SAMPLES.get_or_init(make)
}

/// alice, her second device and bo in a DM and a group, with everything synced.
pub fn conversation() -> (std::rc::Rc<World>, [User; 3], GroupId) {
    let world = World::new(70);
    let (alice, second, bo) = (world.user("alice"), world.user("alice"), world.user("bo"));
    let group = alice.dm(&bo);
    for user in [&alice, &bo, &second] {
        user.sync();
        user.text(group, "hello");
    }
    for user in [&alice, &bo, &second] {
        user.sync();
    }
    (world, [alice, second, bo], group)
}

fn make() -> Samples {
    let (world, users, group) = conversation();
    let mut samples = Samples::default();
    let root = Forger::of(&users[1]);
    let entries: Vec<_> = users.iter().map(|user| (user.inbox(), forge::newest_update(user))).collect();
    for rows in [dovetail::policy::ALL_MEMBERS, dovetail::policy::ADMINS_ONLY] {
        samples.dictionaries.push(forge::group_dictionary(root.inbox, rows, &entries));
    }
    samples.dictionaries.push(root.group(group).facts().dictionary);
    users[2].offline(true);
    users[2].text(group, "waits");
    for (topic, _) in world.delivery.topics() {
        samples.envelopes.extend(world.delivery.stored(topic).into_iter().map(|one| one.payload));
    }
    for payload in &samples.envelopes {
        match ClientEnvelope::decode(payload).expect("decodes") {
            ClientEnvelope::IdentityUpdate(update) => samples.updates.push(update),
            ClientEnvelope::KeyPackage(package) => samples.packages.push(package),
            ClientEnvelope::Welcome(WelcomeInput::V1 { data, metadata, hpke_public_key, .. }) => {
                samples.welcomes.push((data, metadata, hpke_public_key));
            }
            _ => {}
        }
    }
    for user in &users {
        samples.globals.extend(Forger::of(user).scratch.globals());
        for ((table, _), record) in &Dump::of(&user.store).0 {
            samples.rows.entry(*table as u8).or_default().push(record.body.clone());
        }
    }
    samples
}

/// Contents an app sends.
pub fn contents() -> Vec<Vec<u8>> {
    let who = dovetail::base::InboxId([3; 32]);
    let mut update = GroupUpdated { added: vec![who], removed: vec![who], ..GroupUpdated::by(who) };
    update.field_changes.push(dovetail::wire::FieldChange {
        field_name: "group_name".into(),
        old_value: None,
        new_value: Some("new".into()),
    });
    vec![EncodedContent::text("hello").encode(), EncodedContent::group_updated(&update).encode()]
}
