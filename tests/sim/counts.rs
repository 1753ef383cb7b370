//! How much happened in the seeds of a thread, so that one sees that enough did.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dovetail::mls::{self, FrameKind};
use dovetail::store::Table;
use dovetail::store::rows::{EnvelopeRow, EnvelopeState, GroupKind, MessageStatus};

use crate::common::dump::Dump;
use crate::promises::Answer;
use crate::world::Sim;

thread_local! {
    static COUNTS: RefCell<BTreeMap<&'static str, usize>> = const { RefCell::new(BTreeMap::new()) };
}

fn add(what: &'static str, count: usize) {
    COUNTS.with(|counts| *counts.borrow_mut().entry(what).or_default() += count);
}

pub fn text() -> String {
    COUNTS.with(|counts| format!("{:?}", counts.borrow()))
}

impl Sim {
    /// Counts what this seed did.
    pub fn count(&self) {
        add("seeds", 1);
        add("devices", self.devices.len());
        add("revoked", self.devices.iter().filter(|device| device.revoked).count());
        let answered = |of: fn(&Answer) -> bool| self.promises.iter().filter(|one| of(&one.answer)).count();
        add("decisions", self.decisions);
        add("calls done", answered(|answer| matches!(answer, Answer::Done(_))));
        add("calls refused", answered(|answer| matches!(answer, Answer::Refused)));
        add("calls cut off", answered(|answer| matches!(answer, Answer::Unknown)));
        for device in &self.devices {
            let dump = Dump::of(&device.store);
            add("consent records", dump.count(Table::Consent));
            add("sync groups held", device.groups().iter().filter(|row| row.kind == GroupKind::Sync).count());
            add("message rows", dump.messages().len());
            let failed = |row: &&_| matches!(row, MessageStatus::Failed(_));
            add("failed messages", dump.messages().values().map(|row| &row.status).filter(failed).count());
            for stays in device.stays.borrow().values() {
                add("stays", stays.len());
                add("joined again", stays.len() - 1);
            }
            let reason = |row: EnvelopeRow| match row.state {
                EnvelopeState::Rejected(code, _) => Some(code),
                _ => None,
            };
            let codes: Vec<String> = dump.rows().into_iter().filter_map(reason).collect();
            add("rejections", codes.len());
            add("own stale commits", codes.iter().filter(|code| *code == "GMOD-036").count());
        }
        for (topic, _) in self.world.delivery.topics() {
            let dovetail::base::Topic::Group(_) = topic else { continue };
            let stored = self.world.delivery.stored(topic);
            let frames =
                stored.iter().filter_map(|one| match dovetail::wire::ClientEnvelope::decode(&one.payload) {
                    Ok(dovetail::wire::ClientEnvelope::GroupMessage { data, .. }) => mls::peek(&data).ok(),
                    _ => None,
                });
            let kinds: Vec<FrameKind> = frames.map(|frame| frame.kind).collect();
            add("groups", 1);
            add("commits", kinds.iter().filter(|kind| **kind == FrameKind::Commit).count());
            add("messages", kinds.iter().filter(|kind| **kind == FrameKind::Application).count());
        }
    }
}
