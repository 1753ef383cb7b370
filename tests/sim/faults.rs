//! What goes wrong, and what strangers and thieves do.

use dovetail::base::{GroupId, Topic};
use dovetail::delivery::{Delivery, Outgoing};
use dovetail::identity::{Log, Request};
use dovetail::wire::ClientEnvelope;
use futures::FutureExt;

use crate::common::gate::Plan;
use crate::trace;
use crate::world::Sim;

impl Sim {
    pub fn trouble(&mut self, page: usize) {
        let label = self.label(page);
        match self.chance.below(10) {
            0 => {
                trace::note(format!("{label} goes off or on line"));
                self.pages[page].user.delivery.set(|faults| faults.offline = !faults.offline);
            }
            1 | 2 => self.spoil(page),
            3 => {
                trace::note(format!("{label} is opened again"));
                self.reopen(page);
            }
            4 | 5 => self.plan_death(page),
            6 => {
                trace::note(format!("{label} goes live"));
                self.revive(page);
                self.pages[page].go_live();
            }
            7 => self.freeze(page),
            8 if self.hostile => self.noise(),
            _ => {
                let hours = self.chance.below(5) as i64 - 2;
                trace::note(format!("the clock of {label} is {hours} h off"));
                self.pages[page].user.device.skew_ns.set(hours * 3_600_000_000_000);
            }
        }
    }

    fn spoil(&mut self, page: usize) {
        let choice = self.chance.below(8);
        let (replays, refusals) = (self.replays, self.refusals);
        self.tampered |= replays && choice == 6;
        self.refused |= refusals && choice == 7;
        trace::note(format!("spoils {} ({choice})", self.label(page)));
        self.pages[page].user.delivery.set(|faults| match choice {
            0 | 1 => faults.lose_answers = 1,
            2 => faults.duplicates = !faults.duplicates,
            3 => faults.shuffle = !faults.shuffle,
            4 | 5 => faults.delay_ms = if faults.delay_ms == 0 { 30 } else { 0 },
            6 => faults.replays = replays && !faults.replays,
            _ => faults.refuse = u32::from(refusals),
        });
    }

    fn plan_death(&mut self, page: usize) {
        let k = self.chance.next() % 8;
        let plan = match self.chance.below(6) {
            0 => Plan::KillBeforeApply(k),
            1 => Plan::KillAfterApply(k),
            2 => Plan::KillBeforeCall(k),
            3 => Plan::KillAfterCall(k),
            4 => Plan::FailCall(k),
            _ => Plan::LoseAnswer(k),
        };
        trace::note(format!("{} will have {plan:?}", self.label(page)));
        self.revive(page);
        self.pages[page].user.gate.plan(Some(plan));
    }

    /// One topic comes late, or all come again.
    fn freeze(&mut self, page: usize) {
        let link = &self.pages[page].user.delivery;
        let device = &self.devices[self.pages[page].device];
        let mut topics: Vec<Topic> = device.groups().iter().map(|row| Topic::Group(row.id)).collect();
        topics.push(Topic::Welcome(device.installation.0));
        if self.chance.one_in(3) {
            link.thaw();
            trace::note("thaws".into());
        } else {
            let topic = *self.chance.pick(&topics);
            link.freeze(topic);
            trace::note(format!("{topic:?} comes late at {}", device.label));
        }
    }

    /// A device is lost: its owner revokes it with the wallet.
    pub fn revoke(&mut self) {
        let person = self.chance.below(self.people.len());
        let inbox = self.people[person].inbox;
        let good: Vec<usize> =
            self.people[person].devices.iter().copied().filter(|at| !self.devices[*at].revoked).collect();
        if good.len() < 2 {
            return;
        }
        let at = *self.chance.pick(&good);
        let stored = self.world.delivery.stored(Topic::Identity(inbox));
        let updates = stored.iter().map(|one| match ClientEnvelope::decode(&one.payload) {
            Ok(ClientEnvelope::IdentityUpdate(update)) => (one.sequence_id, update),
            other => panic!("not an identity update: {other:?}"),
        });
        let log = Log::replay(inbox, updates).expect("a log");
        let state = log.latest().expect("a state").expect("an inbox");
        let device = &self.devices[at];
        let user = self.page_of(at);
        let now = dovetail::base::Nanos(self.world.platform.now_ns());
        let Ok(request) = Request::revoke(state, &[device.installation.into()], now) else { return };
        trace::note(format!("{} is revoked", device.label));
        let signature = dovetail::identity::sign_erc191(&user.secret, &request.text()).expect("signed");
        let update = request.sign(&signature, &[0; 32]).expect("an update");
        let payload = ClientEnvelope::IdentityUpdate(update.encode()).encode();
        self.publish(Topic::Identity(inbox), payload);
        self.devices[at].revoked = true;
    }

    fn publish(&self, topic: Topic, payload: Vec<u8>) {
        let batch = vec![Outgoing { topic, payload, identifiers: Vec::new() }];
        self.world.delivery.publish(batch).now_or_never().expect("ready").expect("stored");
    }

    /// Somebody publishes into a group's topic what does not belong there.
    fn noise(&mut self) {
        let groups: Vec<GroupId> =
            self.devices.iter().flat_map(|device| device.groups()).map(|row| row.id).collect();
        if groups.is_empty() {
            return;
        }
        let group = *self.chance.pick(&groups);
        let stored = self.world.delivery.stored(Topic::Group(group));
        let Some(one) = (!stored.is_empty()).then(|| self.chance.pick(&stored).payload.clone()) else {
            return;
        };
        let payload = match (self.chance.below(4), ClientEnvelope::decode(&one)) {
            (0, _) => self.chance.next().to_be_bytes().to_vec(),
            (1, Ok(ClientEnvelope::GroupMessage { mut data, .. })) => {
                data.truncate(self.chance.below(data.len()));
                ClientEnvelope::GroupMessage { data, sender_hmac: Vec::new(), should_push: false }.encode()
            }
            (2, Ok(ClientEnvelope::GroupMessage { mut data, .. })) => {
                let at = self.chance.below(data.len());
                data[at] ^= 1 << self.chance.below(8);
                ClientEnvelope::GroupMessage { data, sender_hmac: Vec::new(), should_push: false }.encode()
            }
            // The same message in another wrapping is another envelope.
            (_, Ok(ClientEnvelope::GroupMessage { data, .. })) => {
                let sender_hmac = self.chance.next().to_be_bytes().to_vec();
                ClientEnvelope::GroupMessage { data, sender_hmac, should_push: true }.encode()
            }
            _ => return,
        };
        trace::note("noise".into());
        self.tampered = true;
        self.publish(Topic::Group(group), payload);
    }
}
