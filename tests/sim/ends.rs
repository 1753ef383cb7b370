//! What has to be so once all is quiet.

use std::collections::{BTreeMap, BTreeSet};

use dovetail::base::{GroupId, InboxId, InstallationId, SequenceId, Topic};
use dovetail::consent::State;
use dovetail::identity::Log;
use dovetail::mls::{self, FrameKind};
use dovetail::store::rows::{EnvelopeRow, EnvelopeState, GroupRow, OwedDecisionRow, ThreadRow};
use dovetail::wire::ClientEnvelope;

use crate::common::devices::agree_but;
use crate::common::dump::Dump;
use crate::common::forge;
use crate::common::gate::distinct;
use crate::history::{History, stays};
use crate::world::Sim;

impl Sim {
    pub fn check_end(&self) {
        let dumps = self.dumps();
        let groups: BTreeSet<GroupId> = dumps.iter().flat_map(|dump| dump.groups().into_keys()).collect();
        let mut histories = BTreeMap::new();
        for group in groups {
            self.check_together(&dumps, group);
            self.check_commits(group);
            histories.insert(group, History::of(self, &dumps, group));
        }
        for (at, dump) in dumps.iter().enumerate() {
            let label = &self.devices[at].label;
            let left: Vec<_> = dump.intents().iter().map(|intent| intent.number).collect();
            // A revoked device that nobody can remove may be able to do nothing at all.
            let stuck = self.devices[at].revoked && dump.groups().values().any(|row| self.alone(row));
            assert!(left.is_empty() || stuck, "{label} has intents left: {left:?}");
            self.check_refusals(at, dump, &histories);
        }
        for page in &self.pages {
            let told = page.told.borrow();
            assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), told.len(), "a message was told twice");
        }
        self.check_consent(&dumps);
        self.check_promises(&histories);
        self.check_messages(&dumps, &histories);
    }

    /// All members of a group agree on everything, and they are who they should be.
    fn check_together(&self, dumps: &[Dump], group: GroupId) {
        let active = self.active(group);
        let Some(&first) = active.iter().find(|at| !self.devices[**at].revoked) else { return };
        let rows: Vec<Option<GroupRow>> = dumps.iter().map(|dump| dump.groups().remove(&group)).collect();
        let row = rows[first].as_ref().expect("a group");
        let leaves: BTreeSet<InstallationId> =
            row.members.iter().flat_map(|member| member.installations.iter().copied()).collect();
        for (at, device) in self.devices.iter().enumerate() {
            let label = &device.label;
            let is_in = leaves.contains(&device.installation);
            assert_eq!(active.contains(&at), is_in, "{label} is in the group / thinks so");
            let Some(other) = &rows[at] else { continue };
            if !is_in {
                assert!(dumps[at].pages(group).is_empty(), "{label} keeps keys");
                continue;
            }
            let epochs = (other.epoch, row.epoch);
            assert_eq!(epochs.0, epochs.1, "epochs of {label} and {}", self.devices[first].label);
            assert_eq!(other.authenticator, row.authenticator, "a fork: {label}");
            assert_eq!(other.members, row.members, "members at {label}");
            assert_eq!(other.settings, row.settings, "settings at {label}");
            assert!(other.hold.is_none(), "{label} waits: {:?}", other.hold);
            assert!(!other.rolled_back, "{label} is still rolled back");
            self.check_leaving(at, other);
        }
        for member in &row.members {
            let (at, installations) = self.newest(member.inbox);
            if self.put_off(dumps, member.inbox, group) {
                let gone: Vec<_> =
                    member.installations.iter().filter(|one| !installations.contains(one)).collect();
                assert!(gone.is_empty(), "a revoked device stays: {gone:?}");
                continue;
            }
            assert_eq!(member.sequence_id, at, "GMOD-029: {:?}", self.names(&[member.inbox]));
            let there: BTreeSet<_> = member.installations.iter().copied().collect();
            assert_eq!(there, installations, "GMOD-029, GMOD-009: {:?}", self.names(&[member.inbox]));
            assert!(member.failed.is_empty(), "failed: {:?}", member.failed);
        }
    }

    /// True where own new devices need not be: a device of the inbox has denied the conversation.
    fn put_off(&self, dumps: &[Dump], inbox: InboxId, group: GroupId) -> bool {
        let has = |thread: &ThreadRow| thread.groups.iter().any(|entry| entry.group == group);
        let denies =
            |dump: &Dump| dump.threads().values().any(|row| row.consent == State::Denied && has(row));
        self.devices.iter().zip(dumps).any(|(device, dump)| device.inbox == inbox && denies(dump))
    }

    /// Devices of one inbox agree about every decision, and have told all of theirs.
    fn check_consent(&self, dumps: &[Dump]) {
        for person in &self.people {
            let own: Vec<usize> =
                person.devices.iter().copied().filter(|at| !self.devices[*at].revoked).collect();
            // A conversation that was left and joined again begins anew, by the time of each Welcome.
            let mut again = BTreeSet::new();
            for at in &person.devices {
                let stays = self.devices[*at].stays.borrow();
                again.extend(stays.iter().filter(|(_, stays)| stays.len() > 1).map(|(group, _)| *group));
            }
            let set_back: Vec<_> =
                own.iter().map(|at| self.page_of(*at).gate.set_back.borrow().clone()).collect();
            agree_but(&own.iter().map(|at| &dumps[*at]).collect::<Vec<_>>(), &again, &set_back);
            for at in own.iter().filter(|_| own.len() > 1) {
                let owed = dumps[*at].rows::<OwedDecisionRow>();
                assert!(owed.is_empty(), "{} has not told: {owed:?}", self.devices[*at].label);
            }
        }
    }

    /// True for a group only revoked devices are in.
    pub fn alone(&self, row: &GroupRow) -> bool {
        self.active(row.id).iter().all(|at| self.devices[*at].revoked)
    }

    /// GMOD-033: a super admin's device leaves no request unserved that it knows of.
    fn check_leaving(&self, at: usize, row: &GroupRow) {
        let (device, supers) = (&self.devices[at], &row.settings.super_admins);
        if supers.contains(&device.inbox) && !device.revoked {
            let left: Vec<_> = row.leaving.iter().filter(|inbox| !supers.contains(inbox)).collect();
            assert!(left.is_empty(), "GMOD-033: {} left a request unserved", device.label);
        }
    }

    fn newest(&self, inbox: InboxId) -> (SequenceId, BTreeSet<InstallationId>) {
        let stored = self.world.delivery.stored(Topic::Identity(inbox));
        let updates = stored.iter().filter_map(|one| match ClientEnvelope::decode(&one.payload) {
            Ok(ClientEnvelope::IdentityUpdate(update)) => Some((one.sequence_id, update)),
            _ => None,
        });
        let log = Log::replay(inbox, updates).expect("a log");
        let state = log.latest().expect("a state").expect("an inbox");
        (log.head(), state.installations().into_iter().collect())
    }

    /// No installation handed out two commits of one epoch, unless the first was refused for good.
    fn check_commits(&self, group: GroupId) {
        for (at, device) in self.devices.iter().enumerate().filter(|_| !self.refused) {
            let mut epochs = BTreeSet::new();
            for payload in distinct(&self.page_of(at).gate.handed.borrow(), group) {
                let frame = mls::peek(&forge::mls_of(&payload)).expect("a frame");
                let new = frame.kind != FrameKind::Commit || epochs.insert(frame.epoch);
                assert!(new, "{} handed out two commits in epoch {}", device.label, frame.epoch);
            }
        }
    }

    /// Nothing of an honest member is refused but what lost a race.
    fn check_refusals(&self, at: usize, dump: &Dump, histories: &BTreeMap<GroupId, History>) {
        let label = &self.devices[at].label;
        for kept in dump.rows::<EnvelopeRow>() {
            let what = || format!("{label} at {}: {:?}", kept.sequence_id.0, kept.state);
            match (&kept.state, kept.topic) {
                (EnvelopeState::Rejected(code, reason), Topic::Group(group)) => {
                    let fine = self.tampered
                        || self.lost_a_race(at, &histories[&group], kept.sequence_id, code, reason);
                    assert!(fine, "refused for no good reason: {}", what());
                }
                (EnvelopeState::Held(..) | EnvelopeState::Pending, Topic::Welcome(_)) => {
                    panic!("a Welcome waits: {}", what());
                }
                (EnvelopeState::Rejected(..), _) => panic!("refused: {}", what()),
                _ => {}
            }
        }
    }

    fn lost_a_race(
        &self,
        at: usize,
        history: &History,
        position: SequenceId,
        code: &str,
        reason: &str,
    ) -> bool {
        let (_, epoch) = history.frames[&position];
        let before = |stay: &&crate::device::Stay| stay.has(position);
        let stays = stays(self, at, history.group);
        let too_early = stays.iter().find(before).is_some_and(|stay| epoch < history.first_epoch(stay));
        code == "GMOD-036"
            || too_early
            || reason.contains("past epoch")
            || reason.contains("no longer in the group")
            || reason.contains("after the own removal")
            || reason.contains("it is encrypted again")
            || self.too_old(history, position, epoch)
    }

    /// True for a message so many epochs behind that nobody can read it there.
    fn too_old(&self, history: &History, position: SequenceId, epoch: u64) -> bool {
        let commits = history.frames.range(..position).filter(|(_, (kind, _))| *kind == FrameKind::Commit);
        commits.map(|(_, (_, epoch))| epoch + 1).max().is_some_and(|now| epoch + 3 < now)
    }
}
