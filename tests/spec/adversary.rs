//! A member that does not play by the rules: whatever it publishes, others apply the same, keep the
//! same state, and can go on writing.

use dovetail::base::{GroupId, InboxId, SequenceId, Topic};
use dovetail::engine::receive::paused_for;
use dovetail::meta::component::*;
use dovetail::meta::{Key, MapMutation, Op, encode_map_delta, next_dictionary};
use dovetail::mls::facts::AppDataOp;
use dovetail::mls::{self, CommitPlan};
use dovetail::store::rows::{MessageStatus, MlsPageRow};
use openmls::prelude::{
    CustomProposal, LeafNodeParameters, MlsGroupJoinConfig, PURE_PLAINTEXT_WIRE_FORMAT_POLICY, Propose,
};

use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger};
use crate::common::{User, World};

/// alice and bo in a DM, and mallory: another device of bo whose keys are in the wrong hands.
pub struct Case {
    pub world: std::rc::Rc<World>,
    pub alice: User,
    pub bo: User,
    pub mallory: Forger,
    pub group: GroupId,
}

pub fn case() -> Case {
    let world = World::new(4);
    let (alice, bo, stolen) = (world.user("alice"), world.user("bo"), world.user("bo"));
    let group = alice.dm(&bo);
    alice.sync();
    bo.sync();
    stolen.sync();
    let mallory = Forger::of(&stolen);
    stolen.client.abandon();
    Case { world, alice, bo, mallory, group }
}

impl Case {
    pub fn sync(&self) {
        for _ in 0..2 {
            for user in [&self.alice, &self.bo] {
                user.sync();
                dump::check(&user.store);
            }
        }
    }

    /// Both still write, read each other, and are in the same epoch.
    pub fn assert_alive(&self) {
        self.sync();
        let before = self.alice.texts(self.group).len();
        self.alice.text(self.group, "alive");
        self.bo.text(self.group, "alive too");
        self.sync();
        let texts = self.alice.texts(self.group);
        assert_eq!(self.bo.texts(self.group), texts);
        assert_eq!(texts.len(), before + 2);
        let state = |user: &User| {
            let row = Dump::of(&user.store).groups().remove(&self.group).unwrap();
            (row.epoch, row.authenticator, row.members, row.settings)
        };
        assert!(state(&self.alice) == state(&self.bo));
        for user in [&self.alice, &self.bo] {
            assert_eq!(user.inspect(self.group).groups[0].pending_intents, 0);
        }
    }

    /// What both recorded of an envelope.
    pub fn recorded(&self, at: SequenceId) -> [Option<String>; 2] {
        [&self.alice, &self.bo].map(|user| {
            let rejected = user.inspect(self.group).groups.remove(0).rejected;
            rejected.into_iter().find(|(position, ..)| *position == at).map(|(_, id, _)| id)
        })
    }

    /// Publishes something and expects both to refuse it for the same reason, keeping everything of
    /// the MLS state but the ratchet step of an authentic message.
    fn refused(&self, data: Vec<u8>, id: &str) {
        let before = [&self.alice, &self.bo].map(|user| mls_pages(user, self.group));
        let receipt = self.mallory.publish(self.group, data);
        self.sync();
        assert_eq!(self.recorded(receipt.sequence_id), [Some(id.to_owned()), Some(id.to_owned())]);
        for (user, before) in [&self.alice, &self.bo].into_iter().zip(before) {
            assert!(mls_pages(user, self.group) == before, "tree, context, proposals or epoch changed");
        }
    }
}

/// The parts of a group's MLS state but the message secrets.
fn mls_pages(user: &User, group: GroupId) -> Vec<MlsPageRow> {
    let rows = Dump::of(&user.store).rows_under::<MlsPageRow>(&MlsPageRow::group_prefix(group));
    rows.into_iter().filter(|row| row.part != 0).collect()
}

fn name(text: &str) -> Propose {
    Propose::UpdateAppDataComponent { component_id: GROUP_NAME, update: text.as_bytes().to_vec() }
}

#[test]
fn gmod_019_kept_proposals_do_not_block_messages() {
    let case = case();
    for round in 0..5 {
        // Several at once, each round: whoever wants to write commits first.
        for n in 0..3 {
            let data = case.mallory.propose(case.group, name(&format!("{round}-{n}")));
            case.mallory.publish(case.group, data);
        }
        case.sync();
        let kept = Dump::of(&case.alice.store).mls(case.group).unwrap().1.kept_proposals().len();
        assert_eq!(kept, 3);
        let text = case.alice.text(case.group, "through");
        case.alice.sync();
        let row = case.alice.call(move |client| async move { client.message(text).await });
        assert_eq!(row.unwrap().unwrap().status, MessageStatus::Published);
        case.assert_alive();
        // mallory follows, so that the next round is of the present epoch.
        let stored = case.world.delivery.stored(Topic::Group(case.group));
        for one in stored.iter().skip_while(|one| one.sequence_id <= SequenceId(0)) {
            follow(&case.mallory, case.group, &one.payload);
        }
        assert_eq!(case.mallory.group(case.group).epoch(), 2 + round);
    }
    assert_eq!(case.alice.inspect(case.group).groups[0].row.settings.name, "4-2", "taken along");
}

/// Applies a commit of others at a forger; anything else is skipped.
fn follow(forger: &Forger, id: GroupId, payload: &[u8]) {
    let mut group = forger.group(id);
    if let Ok(mls::Opened::Commit(opened)) = mls::open(&forger.scratch, &mut group, &forge::mls_of(payload)) {
        let op = |op: &AppDataOp| match op {
            AppDataOp::Update(payload) => Op::Update(payload.clone()),
            AppDataOp::Remove => Op::Remove,
        };
        let updates: Vec<_> = opened.app_data().iter().map(|(id, update)| (*id, op(update))).collect();
        let (after, _) = next_dictionary(&group.facts().dictionary, &updates).expect("a dictionary");
        let staged = mls::stage(&forger.scratch, &group, opened, &after).expect("stages");
        mls::merge(&forger.scratch, &mut group, staged).expect("merges");
    }
}

#[test]
fn gmod_019_proposals_without_authority_are_not_kept() {
    let case = case();
    let stranger = case.world.user("stranger");
    let propose = |what: Propose| {
        let data = case.mallory.propose(case.group, what);
        case.mallory.forget_proposals(case.group);
        data
    };
    let package = case.mallory.key_package(stranger.client.installation());
    let package = {
        use openmls::prelude::tls_codec::DeserializeBytes as _;
        use openmls_traits::OpenMlsProvider as _;
        let package = openmls::prelude::KeyPackageIn::tls_deserialize_exact_bytes(&package).unwrap();
        let crypto = case.mallory.scratch.crypto();
        package.validate(crypto, openmls::prelude::ProtocolVersion::Mls10).unwrap()
    };
    // Another inbox than the pair's, the membership, what is immutable, what is nobody's.
    case.refused(propose(Propose::Add(package)), "DMS-004");
    let insert = MapMutation::Insert(Key::Inbox(stranger.inbox()), vec![0x0a, 2, 8, 1]);
    let update = |component_id, update| Propose::UpdateAppDataComponent { component_id, update };
    case.refused(propose(update(GROUP_MEMBERSHIP, encode_map_delta(&[insert]))), "DMS-004");
    case.refused(propose(update(CONVERSATION_TYPE, vec![0, 0, 0, 1])), "META-004");
    case.refused(propose(update(COMMIT_LOG_SIGNER, vec![1; 32])), "PERM-011");
    case.assert_alive();
}

#[test]
fn gmod_001_an_unsupported_proposal_holds_its_group_and_no_other() {
    let case = case();
    let carol = case.world.user("carol");
    let other = carol.dm(&case.alice);
    carol.text(other, "hello");
    carol.sync();
    let custom = Propose::Custom(CustomProposal::new(0xf042, vec![1]));
    let data = case.mallory.propose(case.group, custom);
    case.mallory.publish(case.group, data);
    case.mallory.forget_proposals(case.group);
    case.mallory.publish(case.group, case.mallory.message(case.group, b"behind it"));
    let report = case.alice.sync();
    assert_eq!(report.held.len(), 1);
    assert_eq!(report.held[0].0, case.group);
    assert_eq!(case.alice.try_text(case.group, "hi").unwrap_err().code, "group.held");
    let hold = case.alice.inspect(case.group).groups[0].row.hold.clone().unwrap();
    assert_eq!(hold.code, report.held[0].1);
    assert_eq!(case.alice.texts(other), ["hello"]);
    case.alice.text(other, "hi carol");
    case.alice.sync();
    carol.sync();
    assert_eq!(carol.texts(other), ["hello", "hi carol"]);
    dump::check(&case.alice.store);
}

#[test]
fn gmod_002_unencrypted_messages_are_refused() {
    let case = case();
    let mut raw = case.mallory.raw(case.group);
    let plain = MlsGroupJoinConfig::builder().wire_format_policy(PURE_PLAINTEXT_WIRE_FORMAT_POLICY).build();
    raw.set_configuration(&case.mallory.scratch, &plain).unwrap();
    let what = name("in the clear");
    let made = raw.propose(
        &case.mallory.scratch,
        &case.mallory.keys,
        what,
        openmls::prelude::ProposalOrRefType::Reference,
    );
    case.refused(made.unwrap().0.to_bytes().unwrap(), "GMOD-002");
    let commit = raw.self_update(&case.mallory.scratch, &case.mallory.keys, LeafNodeParameters::default());
    if let Ok(bundle) = commit {
        case.refused(bundle.into_commit().to_bytes().unwrap(), "GMOD-002");
    }
    case.assert_alive();
}

#[test]
fn gmod_021_commits_that_break_a_rule_leave_the_state_as_it_was() {
    let case = case();
    let stranger = case.world.user("stranger");
    let members = case.mallory.group(case.group).facts().dictionary;
    let commit = |plan: CommitPlan| {
        let sealed = case.mallory.commit(case.group, plan);
        mls::clear_pending(&case.mallory.scratch, &mut case.mallory.group(case.group)).unwrap();
        sealed.bytes
    };
    let with = |component: u16, delta: Vec<u8>| {
        let ops = [(component, dovetail::meta::Op::Update(delta.clone()))];
        let (dictionary_after, _) = dovetail::meta::next_dictionary(&members, &ops).unwrap();
        let app_data = vec![(component, AppDataOp::Update(delta))];
        CommitPlan { app_data, dictionary_after, force_self_update: true, ..CommitPlan::default() }
    };
    // A third inbox, with and without its membership entry.
    let adds = vec![case.mallory.key_package(stranger.client.installation()).into()];
    case.refused(commit(CommitPlan { adds: adds.clone(), ..CommitPlan::default() }), "DMS-004");
    let entry = dovetail::members::Entry { sequence_id: forge::newest_update(&stranger), failed: [].into() };
    let insert = MapMutation::Insert(Key::Inbox(stranger.inbox()), entry.encode());
    let plan = with(GROUP_MEMBERSHIP, encode_map_delta(&[insert]));
    case.refused(commit(CommitPlan { adds, ..plan }), "DMS-004");
    // Throwing alice out, by leaf and by entry.
    case.refused(commit(CommitPlan { removes: vec![0], ..CommitPlan::default() }), "GMOD-011");
    let delete = MapMutation::Delete(Key::Inbox(case.alice.inbox()));
    case.refused(commit(with(GROUP_MEMBERSHIP, encode_map_delta(&[delete]))), "PERM-011");
    // An entry lowered, and one raised to what was never published.
    let entry = |inbox: InboxId, at: u64| {
        let entry = dovetail::members::Entry { sequence_id: SequenceId(at), failed: [].into() };
        encode_map_delta(&[MapMutation::Update(Key::Inbox(inbox), entry.encode())])
    };
    case.refused(commit(with(GROUP_MEMBERSHIP, entry(case.alice.inbox(), 0))), "GMOD-008");
    case.refused(commit(with(GROUP_MEMBERSHIP, entry(case.alice.inbox(), 1 << 40))), "GMOD-007");
    let nowhere = forge::newest_update(&case.bo).0 + 2;
    case.refused(commit(with(GROUP_MEMBERSHIP, entry(case.bo.inbox(), nowhere))), "GMOD-014");
    // Lowering the floor.
    case.refused(commit(with(MIN_SUPPORTED_PROTOCOL_VERSION, b"1.0.0".to_vec())), "GMOD-026");
    case.assert_alive();
}

#[test]
fn gmod_034_a_permitted_commit_of_the_same_member_is_applied_by_all() {
    let case = case();
    let mut dictionary = case.mallory.group(case.group).facts().dictionary;
    dictionary.insert(GROUP_NAME, b"ours".to_vec());
    let app_data = vec![(GROUP_NAME, AppDataOp::Update(b"ours".to_vec()))];
    let plan = CommitPlan { app_data, dictionary_after: dictionary, ..CommitPlan::default() };
    case.mallory.publish(case.group, case.mallory.commit(case.group, plan).bytes);
    case.sync();
    for user in [&case.alice, &case.bo] {
        let row = Dump::of(&user.store).groups().remove(&case.group).unwrap();
        assert_eq!((row.settings.name.as_str(), row.epoch), ("ours", 2));
    }
    case.assert_alive();
}

#[test]
fn gmod_025_a_floor_above_us_pauses_and_a_forbidden_one_does_not() {
    let case = case();
    let mut dictionary = case.mallory.group(case.group).facts().dictionary;
    dictionary.insert(MIN_SUPPORTED_PROTOCOL_VERSION, b"99.0.0".to_vec());
    let app_data = vec![(MIN_SUPPORTED_PROTOCOL_VERSION, AppDataOp::Update(b"99.0.0".to_vec()))];
    let plan = CommitPlan { app_data, dictionary_after: dictionary, ..CommitPlan::default() };
    let receipt = case.mallory.publish(case.group, case.mallory.commit(case.group, plan).bytes);
    for _ in 0..2 {
        case.sync();
        for user in [&case.alice, &case.bo] {
            let group = user.inspect(case.group).groups.remove(0);
            let hold = group.row.hold.unwrap();
            assert_eq!((hold.code.as_str(), hold.sequence_id), ("floor", receipt.sequence_id));
            assert_eq!(paused_for(&hold), Some("99.0.0"), "though it is not committed");
            assert!(group.rejected.is_empty() && group.row.epoch == 1);
            assert_eq!(user.try_text(case.group, "hi").unwrap_err().code, "group.paused");
        }
    }
    assert_eq!(
        case.world.delivery.stored(Topic::Group(case.group)).last().unwrap().sequence_id,
        receipt.sequence_id
    );
}
