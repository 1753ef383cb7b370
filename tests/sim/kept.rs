//! Promises kept: what a call's answer said is so.

use std::collections::{BTreeMap, BTreeSet};

use dovetail::base::{GroupId, SequenceId};
use dovetail::client::Role;
use dovetail::engine::leave::is_request;
use dovetail::store::rows::{GroupKind, MessageKind, MessageRow, MessageStatus};

use crate::common::dump::Dump;
use crate::common::text_of;
use crate::history::{History, Moment, stays};
use crate::promises::{Answer, Promise, Want};
use crate::world::Sim;

impl Sim {
    pub fn check_promises(&self, histories: &BTreeMap<GroupId, History>) {
        for promise in &self.promises {
            // In a DM the change is made in whichever group of the two is listed.
            let group = histories.get(&promise.group).filter(|history| history.kind == GroupKind::Group);
            let Some(history) = group else { continue };
            match (&promise.want, &promise.answer) {
                (Want::Text(text), Answer::Done(_)) => {
                    let taken = history.taken(text);
                    let told = taken.is_some_and(|at| at > promise.from && at <= promise.until);
                    assert!(told, "said to be set and is not: {promise:?}, taken at {taken:?}");
                }
                (Want::Text(text), Answer::Refused) => {
                    assert!(history.taken(text).is_none(), "said to be refused and is set: {promise:?}");
                }
                (Want::Add(inboxes), Answer::Done(left_out)) => {
                    for inbox in inboxes.iter().filter(|inbox| !left_out.inboxes.contains(inbox)) {
                        self.somewhen(history, promise, |moment| moment.members.contains(inbox));
                    }
                }
                (Want::Remove(inboxes), Answer::Done(_)) => {
                    for inbox in inboxes {
                        self.somewhen(history, promise, |moment| !moment.members.contains(inbox));
                    }
                }
                (Want::Role(inbox, role, given), Answer::Done(_)) => {
                    self.somewhen(history, promise, |moment| match role {
                        Role::Admin => moment.admins.contains(inbox) == *given,
                        Role::SuperAdmin => moment.super_admins.contains(inbox) == *given,
                    });
                }
                _ => {}
            }
        }
    }

    fn somewhen(&self, history: &History, promise: &Promise, so: impl Fn(&Moment) -> bool) {
        let moments = history.moments(promise.from, promise.until);
        assert!(moments.iter().any(so), "said to be done and was not: {promise:?}");
    }

    /// Every accepted message is shown once where it belongs, and nowhere else.
    pub fn check_messages(&self, dumps: &[Dump], histories: &BTreeMap<GroupId, History>) {
        let shown: Vec<BTreeMap<String, MessageRow>> = dumps.iter().map(texts).collect();
        let mut known = BTreeSet::new();
        for promise in &self.promises {
            let Want::Send(text) = &promise.want else { continue };
            known.insert(text);
            let own = shown[promise.device].get(text);
            let anywhere = shown.iter().any(|texts| texts.contains_key(text));
            match (&promise.answer, own) {
                (Answer::Done(_), None) => panic!("accepted and lost: {promise:?}"),
                (Answer::Refused, _) => assert!(!anywhere, "refused and shown: {promise:?}"),
                (_, None) => assert!(!anywhere, "shown and not stored at its author: {promise:?}"),
                (_, Some(row)) => {
                    self.check_message(row, promise, &shown, &histories[&row.group]);
                }
            }
        }
        for texts in &shown {
            assert!(texts.keys().all(|text| known.contains(text)), "a message nobody wrote");
        }
    }

    fn check_message(
        &self,
        row: &MessageRow,
        promise: &Promise,
        shown: &[BTreeMap<String, MessageRow>],
        history: &History,
    ) {
        let text = text_of(row);
        if row.status == MessageStatus::Unpublished {
            let active = self.active(row.group);
            assert!(active.iter().all(|at| self.devices[*at].revoked), "still to be sent: {promise:?}");
            return;
        }
        for (at, texts) in shown.iter().enumerate().filter(|(at, _)| *at != promise.device) {
            let label = &self.devices[at].label;
            let there = texts.get(&text);
            if let MessageStatus::Failed(why) = &row.status {
                assert!(there.is_none(), "failed ({why}) and shown at {label}: {promise:?}");
                continue;
            }
            let position = row.sequence_id;
            let epoch = history.frames[&position].1;
            let entitled_at = |position: SequenceId| {
                let epoch = history.frames[&position].1;
                stays(self, at, row.group).iter().any(|stay| {
                    stay.has(position) && stay.end != Some(position) && history.first_epoch(stay) <= epoch
                })
            };
            let entitled = entitled_at(position);
            let what = format!("{promise:?} at {} in epoch {epoch}, at {label}", position.0);
            // One tab may encrypt again what is of an old epoch to it while another hands out the old bytes.
            // Who came in between reads the new ones alone.
            let again = there.map(|there| there.sequence_id).filter(|place| *place > position && !entitled);
            if let Some(place) = again {
                let late = history.frames[&place].1 > epoch;
                assert!(late && entitled_at(place), "shown again at {}: {what}", place.0);
                continue;
            }
            assert_eq!(there.is_some(), entitled, "shown / entitled: {what}");
            if let Some(there) = there {
                assert_eq!(there.sequence_id, position, "another place: {what}");
                assert_eq!(there.status, MessageStatus::Published);
            }
        }
    }
}

/// The texts a device shows or keeps. Two rows of one text are two messages.
fn texts(dump: &Dump) -> BTreeMap<String, MessageRow> {
    let mut found = BTreeMap::new();
    for row in dump.messages().into_values() {
        if row.kind == MessageKind::Application && !is_request(&row.content_type) {
            let old = found.insert(text_of(&row), row);
            assert!(old.is_none(), "a message is stored twice");
        }
    }
    found
}
