//! Proposals other members published: a commit takes along what its receivers accept, whole, and
//! leaves out what is obsolete (GMOD-004, GMOD-019, GMOD-038).

use dovetail::base::{GroupId, InboxId, SequenceId, Topic};
use dovetail::client::Setting;
use dovetail::members::Entry;
use dovetail::meta::component::{GROUP_DESCRIPTION, GROUP_MEMBERSHIP, GROUP_NAME};
use dovetail::meta::{Key, MapMutation, encode_map_delta};
use dovetail::store::rows::GroupState;
use openmls::prelude::{
    KeyPackage, KeyPackageIn, Propose, ProtocolVersion, tls_codec::DeserializeBytes as _,
};
use openmls_traits::OpenMlsProvider as _;

use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger};
use crate::common::{User, World};

struct Case {
    world: std::rc::Rc<World>,
    alice: User,
    bo: User,
    cy: User,
    group: GroupId,
}

/// A group of alice and bo; cy is not in it.
fn case(seed: u64) -> Case {
    let world = World::new(seed);
    let (alice, bo, cy) = (world.user("alice"), world.user("bo"), world.user("cy"));
    let group = alice.group(&[&bo]);
    Case { world, alice, bo, cy, group }
}

fn update(component_id: u16, value: &[u8]) -> Propose {
    Propose::UpdateAppDataComponent { component_id, update: value.to_vec() }
}

fn package_of(forger: &Forger, device: &User) -> KeyPackage {
    let bytes = forger.key_package(device.client.installation());
    let package = KeyPackageIn::tls_deserialize_exact_bytes(&bytes).unwrap();
    package.validate(forger.scratch.crypto(), ProtocolVersion::Mls10).unwrap()
}

fn insert(inbox: InboxId, at: SequenceId) -> Propose {
    let entry = Entry { sequence_id: at, ..Entry::default() }.encode();
    update(GROUP_MEMBERSHIP, &encode_map_delta(&[MapMutation::Insert(Key::Inbox(inbox), entry)]))
}

impl Case {
    /// bo proposes to add cy: an Add for its device and the membership update.
    fn propose_cy(&self) {
        let forger = Forger::of(&self.bo);
        for what in [
            Propose::Add(package_of(&forger, &self.cy)),
            insert(self.cy.inbox(), forge::newest_update(&self.cy)),
        ] {
            forger.publish(self.group, forger.propose(self.group, what));
        }
    }

    fn kept(&self, user: &User) -> usize {
        Dump::of(&user.store).mls(self.group).unwrap().1.kept_proposals().len()
    }

    fn sync(&self) {
        for _ in 0..3 {
            [&self.alice, &self.bo, &self.cy].into_iter().for_each(|user| drop(user.sync()));
        }
    }

    fn together(&self, users: &[&User]) {
        let first = users[0].row(self.group);
        for user in users {
            let row = user.row(self.group);
            assert_eq!((row.epoch, &row.authenticator), (first.epoch, &first.authenticator));
            assert_eq!((&row.members, &row.settings), (&first.members, &first.settings));
            dump::check(&user.store);
        }
    }
}

#[test]
fn gmod_038_a_commit_takes_along_what_others_proposed() {
    let case = case(31);
    let forger = Forger::of(&case.bo);
    forger.publish(case.group, forger.propose(case.group, update(GROUP_DESCRIPTION, b"by bo")));
    case.alice.sync();
    assert_eq!(case.kept(&case.alice), 1);
    case.alice.name(case.group, "by alice").unwrap();
    let settings = case.alice.row(case.group).settings;
    assert_eq!((settings.name.as_str(), settings.description.as_str()), ("by alice", "by bo"));
    assert_eq!(case.kept(&case.alice), 0);
}

#[test]
fn gmod_038_a_proposed_member_gets_its_welcome_from_whoever_commits() {
    let case = case(32);
    case.propose_cy();
    case.alice.sync();
    assert_eq!(case.kept(&case.alice), 2);
    // Any commit takes it along, for example the one a message needs.
    case.alice.text(case.group, "welcome");
    case.alice.sync();
    case.cy.sync();
    case.cy.sync();
    assert_eq!(case.cy.row(case.group).state, GroupState::Active);
    assert_eq!(case.cy.texts(case.group), ["welcome"]);
    case.together(&[&case.alice, &case.cy]);
}

#[test]
fn gmod_038_two_adds_of_one_inbox_are_made_one() {
    let case = case(33);
    case.propose_cy();
    case.alice.sync();
    case.alice.add(case.group, &[case.cy.inbox()]).unwrap();
    case.cy.sync();
    case.cy.sync();
    assert_eq!(case.alice.members(case.group).len(), 3);
    case.together(&[&case.alice, &case.cy]);
}

#[test]
fn gmod_038_an_obsolete_add_is_left_out_with_its_membership_update() {
    let case = case(34);
    case.propose_cy();
    case.alice.sync();
    // cy offers another key package now: the proposed one is obsolete.
    let newer = {
        let laptop = case.world.user("dee");
        let bytes = Forger::of(&case.alice).key_package(laptop.client.installation());
        dovetail::wire::ClientEnvelope::KeyPackage(bytes).encode()
    };
    Forger::of(&case.cy).publish_raw(Topic::KeyPackage(case.cy.client.installation()), newer);
    case.alice.name(case.group, "goes on").unwrap();
    assert_eq!(case.alice.row(case.group).settings.name, "goes on");
    assert_eq!(case.alice.members(case.group).len(), 2, "neither leaf nor entry of cy");
    assert_eq!(case.kept(&case.alice), 0, "what was left out ended with the epoch");
}

#[test]
fn gmod_038_an_incomplete_or_forbidden_proposal_does_not_block_the_others() {
    let case = case(35);
    let forger = Forger::of(&case.bo);
    // An Add without its entry, an entry without its Add, and a good one.
    forger.publish(case.group, forger.propose(case.group, Propose::Add(package_of(&forger, &case.cy))));
    forger.publish(case.group, forger.propose(case.group, update(GROUP_DESCRIPTION, b"good")));
    case.alice.sync();
    assert_eq!(case.kept(&case.alice), 2);
    case.alice.name(case.group, "named").unwrap();
    let row = case.alice.row(case.group);
    assert_eq!((row.settings.name.as_str(), row.settings.description.as_str()), ("named", "good"));
    assert_eq!(row.members.len(), 2);
}

#[test]
fn gmod_038_what_the_app_asked_for_is_done_even_where_a_proposal_is_in_its_way() {
    let case = case(36);
    let forger = Forger::of(&case.bo);
    forger.publish(case.group, forger.propose(case.group, update(GROUP_NAME, b"by bo")));
    case.alice.sync();
    case.alice.name(case.group, "by alice").unwrap();
    assert_eq!(case.alice.row(case.group).settings.name, "by alice", "ours is applied on top");
}

#[test]
fn gmod_004_a_commit_of_ours_needs_no_proposal_published_before_it() {
    let case = case(37);
    case.alice.add(case.group, &[case.cy.inbox()]).unwrap();
    case.alice.set(case.group, Setting::Name("inline".into())).unwrap();
    let proposals = case.world.delivery.stored(Topic::Group(case.group)).into_iter().filter(|one| {
        dovetail::mls::peek(&forge::mls_of(&one.payload))
            .is_ok_and(|frame| frame.kind == dovetail::mls::FrameKind::Proposal)
    });
    assert_eq!(proposals.count(), 0, "what we propose travels inside the commit");
    case.sync();
    case.together(&[&case.alice, &case.bo, &case.cy]);
}

#[test]
fn gmod_004_a_commit_whose_proposals_never_came_is_refused_for_good() {
    let case = case(38);
    let forger = Forger::of(&case.bo);
    // Proposed and never published: only its reference is in the commit.
    forger.propose(case.group, update(GROUP_NAME, b"unseen"));
    let kept = forger.group(case.group).kept_proposals();
    let mut after = forger.group(case.group).facts().dictionary;
    after.insert(GROUP_NAME, b"unseen".to_vec());
    let plan = dovetail::mls::CommitPlan {
        kept: kept.into_iter().map(|(id, _)| id).collect(),
        dictionary_after: after,
        ..Default::default()
    };
    let commit = forger.commit(case.group, plan);
    let at = forger.publish(case.group, commit.bytes).sequence_id;
    case.alice.sync();
    let rejected = case.alice.inspect(case.group).groups[0].rejected.clone();
    assert!(rejected.iter().any(|(position, ..)| *position == at), "{rejected:?}");
    case.alice.name(case.group, "goes on").unwrap();
}
