//! Welcomes that break a single check: each is refused with the requirement it breaks, recorded, and
//! leaves nothing behind.

use dovetail::base::{GroupId, InstallationId, SequenceId, Topic};
use dovetail::delivery::Receipt;
use dovetail::meta::component::*;
use dovetail::meta::{Base, encode_inbox_set};
use dovetail::mls::facts::RawDictionary;
use dovetail::policy::{ALL_MEMBERS, DM, Row, registry_of};
use dovetail::store::Table;
use dovetail::store::rows::{EnvelopeRow, EnvelopeState, PositionRow};

use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger};
use crate::common::{User, World};

pub const GROUP: GroupId = GroupId([0x77; 16]);

/// mallory, who offers a DM to bo, carol, who has nothing to do with it, and bo's other device.
pub struct Offer {
    pub mallory: User,
    pub carol: User,
    pub bo: User,
    /// Another device of bo, when there is one.
    other: Option<User>,
    dictionary: RawDictionary,
    /// Installations the commit adds.
    added: Vec<InstallationId>,
}

impl Offer {
    /// A DM that is what it claims; from bo's own other device when `own`.
    pub fn valid(own: bool) -> Self {
        let world = World::new(6);
        let (mallory, carol, bo) = (world.user("mallory"), world.user("carol"), world.user("bo"));
        let other = own.then(|| world.user("bo"));
        let entries = [&mallory, &bo].map(|user| (user.inbox(), forge::newest_update(user)));
        let (creator, peer) = if own { (&bo, &mallory) } else { (&mallory, &bo) };
        let dictionary = forge::dm_dictionary(creator.inbox(), peer.inbox(), &entries);
        let mut added = vec![bo.client.installation()];
        if own {
            added.push(mallory.client.installation());
        }
        Self { mallory, carol, bo, other, dictionary, added }
    }

    fn with(mut self, component: u16, value: Vec<u8>) -> Self {
        self.dictionary.insert(component, value);
        self
    }

    fn without(mut self, component: u16) -> Self {
        self.dictionary.remove(&component);
        self
    }

    pub fn deliver(&self) -> Receipt {
        let forger = Forger::of(self.other.as_ref().unwrap_or(&self.mallory));
        forger.offer(GROUP, &self.dictionary, &self.added)
    }

    pub fn topic(&self) -> Topic {
        Topic::Welcome(self.bo.client.installation().0)
    }

    /// What became of the Welcomes bo was sent: requirement or code.
    pub fn recorded(&self) -> Vec<(&'static str, String)> {
        let kept = Dump::of(&self.bo.store).rows::<EnvelopeRow>().into_iter();
        kept.filter(|row| row.topic == self.topic())
            .map(|row| match row.state {
                EnvelopeState::Rejected(id, _) => ("rejected", id),
                EnvelopeState::Held(code, _) => ("held", code),
                EnvelopeState::Pending => ("pending", String::new()),
            })
            .collect()
    }

    /// The Welcome topic was read to its end.
    pub fn assert_read(&self) {
        let last = self.bo.world.delivery.stored(self.topic()).last().unwrap().sequence_id;
        let mut positions = Dump::of(&self.bo.store).rows::<PositionRow>().into_iter();
        assert_eq!(positions.find(|row| row.topic == self.topic()).unwrap().processed, last);
    }

    /// Delivers it and expects it refused without a trace.
    fn refused(self, id: &str) {
        // The own inbox's log is read on with each sync.
        self.bo.sync();
        let before = Dump::of(&self.bo.store);
        self.deliver();
        self.expect_refused(&before, id);
    }

    fn expect_refused(&self, before: &Dump, id: &str) {
        for _ in 0..2 {
            self.bo.sync();
            assert_eq!(self.recorded(), [("rejected", id.to_owned())]);
            self.assert_read();
        }
        // Identity logs are public and cached; what decides before they are needed reads none.
        let reads_identity = ["GMOD-014", "JOIN-049", "JOIN-053"].contains(&id);
        let mut apart = vec![Table::Positions, Table::Envelopes];
        apart.extend(reads_identity.then_some(Table::Associations));
        let (before, after) = (before.clone().without(&apart), Dump::of(&self.bo.store).without(&apart));
        assert!(before == after, "left behind: {:?}", before.differences(&after));
        assert!(self.bo.conversations().is_empty());
        dump::check(&self.bo.store);
        // Later Welcomes go on.
        let fine = self.carol.dm(&self.bo);
        self.carol.sync();
        self.bo.sync();
        assert_eq!(self.bo.conversations()[0].group.id, fine);
    }
}

/// Whether the adder is a stranger or the own other device makes no difference.
fn both(change: impl Fn(Offer) -> Offer, id: &str) {
    for own in [false, true] {
        change(Offer::valid(own)).refused(id);
    }
}

#[test]
fn dms_003_the_unbroken_offer_is_joined() {
    for own in [false, true] {
        let offer = Offer::valid(own);
        offer.deliver();
        offer.bo.sync();
        assert_eq!(offer.recorded(), []);
        offer.assert_read();
        assert_eq!(offer.bo.conversations()[0].group.id, GROUP);
        dump::check(&offer.bo.store);
    }
}

#[test]
fn dms_003_a_pair_without_us() {
    both(
        |offer| {
            let pair = encode_inbox_set(&[offer.mallory.inbox(), offer.carol.inbox()]);
            offer.with(DM_MEMBERS, pair)
        },
        "DMS-003",
    );
}

#[test]
fn dms_003_a_pair_that_is_none() {
    let pair = |inboxes: fn(&Offer) -> Vec<dovetail::base::InboxId>| {
        move |offer: Offer| {
            let inboxes = inboxes(&offer);
            offer.with(DM_MEMBERS, encode_inbox_set(&inboxes))
        }
    };
    both(pair(|offer| vec![offer.bo.inbox()]), "META-030");
    both(pair(|_| vec![]), "META-030");
    both(pair(|offer| vec![offer.bo.inbox(), offer.mallory.inbox(), offer.carol.inbox()]), "META-030");
    both(|offer| offer.with(DM_MEMBERS, vec![1, 2, 3]), "META-030");
    both(|offer| offer.without(DM_MEMBERS), "META-030");
}

#[test]
fn dms_003_an_adder_outside_of_the_pair() {
    let mut offer = Offer::valid(false);
    let pair = [&offer.carol, &offer.bo].map(|user| (user.inbox(), forge::newest_update(user)));
    offer.dictionary = forge::dm_dictionary(offer.carol.inbox(), offer.bo.inbox(), &pair);
    offer.refused("DMS-003");
}

#[test]
fn dms_003_a_third_inbox_in_the_membership() {
    both(
        |offer| {
            let three = [&offer.mallory, &offer.bo, &offer.carol];
            let entries = three.map(|user| (user.inbox(), forge::newest_update(user)));
            offer.with(GROUP_MEMBERSHIP, forge::membership(&entries, &[]))
        },
        "DMS-003",
    );
    both(|offer| offer.without(GROUP_MEMBERSHIP), "DMS-003");
}

#[test]
fn dms_003_a_leaf_of_a_third_inbox() {
    both(
        |mut offer| {
            offer.added.push(offer.carol.client.installation());
            offer
        },
        "DMS-003",
    );
}

#[test]
fn dms_003_an_admin_or_a_super_admin() {
    for component in [ADMIN_LIST, SUPER_ADMIN_LIST] {
        for who in 0..3 {
            both(
                |offer| {
                    let inboxes = [offer.mallory.inbox(), offer.bo.inbox(), offer.carol.inbox()];
                    offer.with(component, encode_inbox_set(&inboxes[who..=who]))
                },
                "DMS-003",
            );
        }
        both(|offer| offer.with(component, vec![7]), "DMS-003");
    }
}

#[test]
fn dms_003_every_policy_of_the_first_table() {
    for component in [GROUP_MEMBERSHIP, ADMIN_LIST] {
        for other in [Base::Allow, Base::IfAdmin, Base::IfSuperAdmin] {
            for delete in [false, true] {
                let change = |mut row: Row| {
                    if row.component == component {
                        *(if delete { &mut row.delete } else { &mut row.insert }) = other;
                    }
                    row
                };
                let rows: Vec<Row> = DM.iter().copied().map(change).collect();
                Offer::valid(false).with(COMPONENT_REGISTRY, registry_of(&rows)).refused("DMS-003");
            }
        }
        let rows: Vec<Row> = DM.iter().copied().filter(|row| row.component != component).collect();
        both(|offer| offer.with(COMPONENT_REGISTRY, registry_of(&rows)), "DMS-003");
    }
    both(|offer| offer.with(COMPONENT_REGISTRY, registry_of(ALL_MEMBERS)), "DMS-003");
}

#[test]
fn dms_003_a_group_that_does_not_say_what_it_is() {
    for component in [CONVERSATION_TYPE, CREATOR_INBOX_ID, COMPONENT_REGISTRY] {
        both(|offer| offer.without(component), "META-019");
    }
    both(|offer| offer.with(CONVERSATION_TYPE, vec![0, 0, 0, 99]), "META-019");
}

#[test]
fn gmod_009_an_installation_that_is_not_accounted_for() {
    let world_has_another = Offer::valid(false);
    let second = world_has_another.bo.world.user("bo");
    // The entry names bo's newest state, which has a second installation.
    let entries =
        [&world_has_another.mallory, &second].map(|user| (user.inbox(), forge::newest_update(user)));
    let offer = world_has_another.with(GROUP_MEMBERSHIP, forge::membership(&entries, &[]));
    offer.refused("JOIN-053");
}

#[test]
fn gmod_007_an_entry_of_zero_or_not_before_the_commit() {
    for named in [0, 50, 10_000] {
        both(
            |offer| {
                let entries = [
                    (offer.mallory.inbox(), SequenceId(named)),
                    (offer.bo.inbox(), forge::newest_update(&offer.bo)),
                ];
                offer.with(GROUP_MEMBERSHIP, forge::membership(&entries, &[]))
            },
            "GMOD-007",
        );
    }
}

#[test]
fn gmod_014_an_entry_that_names_no_published_update() {
    // carol's update has that position, so bo has none there and never will.
    let offer = Offer::valid(false);
    let entries = [
        (offer.mallory.inbox(), forge::newest_update(&offer.carol)),
        (offer.bo.inbox(), forge::newest_update(&offer.bo)),
    ];
    offer.with(GROUP_MEMBERSHIP, forge::membership(&entries, &[])).refused("GMOD-014");
}

#[test]
fn gmod_005_an_entry_that_cannot_be_read() {
    both(
        |offer| {
            let map = [(offer.mallory.inbox(), vec![0xff, 0xff]), (offer.bo.inbox(), vec![])].into();
            offer.with(GROUP_MEMBERSHIP, dovetail::meta::encode_inbox_map(&map))
        },
        "GMOD-005",
    );
}

#[test]
fn gmod_010_a_leaf_its_inbox_never_authorised() {
    let mut offer = Offer::valid(false);
    // A device of mallory's account that never registered, with a key package all the same.
    let stray = offer.bo.world.device("mallory");
    let forger = Forger::of(&stray);
    let now = dovetail::base::Nanos(offer.bo.world.platform.now_ns());
    let package = dovetail::mls::make_key_package(&forger.scratch, &forger.keys, forger.inbox, now).unwrap();
    let envelope = dovetail::wire::ClientEnvelope::KeyPackage(package.bytes).encode();
    forger.publish_raw(Topic::KeyPackage(forger.installation()), envelope);
    offer.added.push(stray.client.installation());
    offer.refused("JOIN-049");
}

#[test]
fn gmod_018_a_welcome_that_names_no_commit_before_it() {
    for anchor in [0, 10_000] {
        let offer = Offer::valid(false);
        let before = Dump::of(&offer.bo.store);
        let forger = Forger::of(&offer.mallory);
        forger.create(GROUP, &offer.dictionary);
        let sealed = forger.add(GROUP, &offer.added);
        forger.publish(GROUP, sealed.bytes);
        forger.invite(&sealed.welcome.unwrap(), SequenceId(anchor), offer.bo.client.installation());
        offer.expect_refused(&before, "JOIN-037");
    }
}
