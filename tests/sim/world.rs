//! A run: who is there, one step, and the quiet at its end.

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, InboxId, SequenceId, Topic};
use dovetail::client::Client;
use dovetail::delivery::memory::Faults;
use dovetail::error::Error;
use dovetail::store::rows::{GroupState, LeftOut};

use crate::common::chance::Chance;
use crate::common::dump::{self, Dump};
use crate::common::{User, World};
use crate::device::{Device, Page};
use crate::promises::{Answer, Promise, Running, Slot, Want, answer};
use crate::trace;

/// Devices an inbox may come to have.
pub const MOST_DEVICES: usize = 4;
const NAMES: [&str; 6] = ["ann", "bo", "cy", "di", "ed", "flo"];

/// A user with an inbox.
pub struct Person {
    pub name: &'static str,
    pub inbox: InboxId,
    /// Its devices.
    pub devices: Vec<usize>,
}

pub struct Sim {
    /// Everybody changes one group at once.
    pub storm: bool,
    /// Acts before it gets quiet.
    pub steps: usize,
    pub chance: Chance,
    pub world: Rc<World>,
    pub people: Vec<Person>,
    pub devices: Vec<Device>,
    pub pages: Vec<Page>,
    pub promises: Vec<Promise>,
    pub running: Vec<Running>,
    /// Groups wanted so far.
    pub created: usize,
    /// Texts made so far.
    pub texts: usize,
    /// Decisions of users.
    pub decisions: usize,
    /// The service repeats what was published; it refuses some; strangers publish too.
    pub replays: bool,
    pub refusals: bool,
    pub hostile: bool,
    /// Things the service did that may be noted at devices as refused.
    pub tampered: bool,
    pub refused: bool,
}

impl Sim {
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let world = World::new(seed);
        let (replays, refusals, hostile) = (chance.one_in(6), chance.one_in(4), chance.one_in(5));
        let steps = 25 + chance.below(40);
        let storm = chance.one_in(2);
        let mut sim = Self {
            storm,
            steps,
            chance,
            world,
            people: Vec::new(),
            devices: Vec::new(),
            pages: Vec::new(),
            promises: Vec::new(),
            running: Vec::new(),
            created: 0,
            texts: 0,
            decisions: 0,
            replays,
            refusals,
            hostile,
            tampered: false,
            refused: false,
        };
        let many = sim.chance.one_in(6);
        let people = 2 + sim.chance.below(if many { 5 } else { 3 });
        for name in &NAMES[..people] {
            sim.people.push(Person { name, inbox: InboxId([0; 32]), devices: Vec::new() });
            let devices = 1 + [0, 0, 0, 1, 1, 2][sim.chance.below(6)];
            for _ in 0..devices {
                sim.add_device(sim.people.len() - 1);
            }
        }
        sim
    }

    /// Another device of a person, registered.
    pub fn add_device(&mut self, person: usize) {
        let name = self.people[person].name;
        let user = self.world.device(name);
        let number = self.people[person].devices.len() + 1;
        let at = self.devices.len();
        let device = Device::new(format!("{name}{number}"), &user);
        user.gate.jitter.set(if self.chance.one_in(2) { self.chance.next() | 1 } else { 0 });
        self.people[person].inbox = user.inbox();
        self.people[person].devices.push(at);
        let mut page = Page::new(user, at, &device);
        page.register();
        if self.chance.one_in(3) {
            page.go_live();
        }
        if self.chance.one_in(5) {
            let tab = page.user.tab();
            self.pages.push(Page::new(tab, at, &device));
        }
        self.pages.push(page);
        self.devices.push(device);
    }

    /// One random act, and a look at the databases.
    pub fn step(&mut self) {
        self.act();
        self.harvest();
        let at = self.chance.below(self.devices.len());
        dump::check(&self.devices[at].store);
        self.devices.iter().for_each(Device::observe);
    }

    pub fn label(&self, page: usize) -> String {
        let Page { device, .. } = &self.pages[page];
        let tabs = self.pages[..page].iter().filter(|other| other.device == *device).count();
        format!("{}{}", self.devices[*device].label, "'".repeat(tabs))
    }

    pub fn revive(&mut self, page: usize) {
        if self.pages[page].user.gate.is_dead() {
            self.reopen(page);
        }
    }

    pub fn reopen(&mut self, page: usize) {
        self.lose(page);
        let Page { device, .. } = self.pages[page];
        self.pages[page].reopen(&self.devices[device]);
    }

    /// The calls under way on a page have nobody left to answer to.
    fn lose(&mut self, page: usize) {
        self.harvest();
        let (lost, kept) = std::mem::take(&mut self.running).into_iter().partition(|one| one.page == page);
        self.running = kept;
        let lost: Vec<Running> = lost;
        lost.into_iter().for_each(|one| self.promises[one.promise].answer = Answer::Unknown);
    }

    /// The end of a group's topic.
    pub fn end_of(&self, group: GroupId) -> SequenceId {
        let stored = self.world.delivery.stored(Topic::Group(group));
        stored.last().map_or(SequenceId(0), |envelope| envelope.sequence_id)
    }

    /// Begins a call on a page; with `wait` it goes on until it has ended or the page has died.
    pub fn begin<F>(
        &mut self,
        page: usize,
        group: GroupId,
        want: Want,
        wait: bool,
        f: impl FnOnce(Client) -> F,
    ) where
        F: Future<Output = Result<LeftOut, Error>> + 'static,
    {
        self.revive(page);
        let slot: Slot = Slot::default();
        let (future, result) = (f(self.pages[page].user.client.clone()), slot.clone());
        self.spawn(async move {
            let ended = future.await;
            *result.borrow_mut() = Some(ended);
        });
        // A topic that comes late is answered about as it was.
        let (end, shown) = (self.end_of(group), self.pages[page].user.delivery.until(Topic::Group(group)));
        let from = end.min(shown);
        let device = self.pages[page].device;
        self.promises.push(Promise { device, group, want, from, until: end, answer: Answer::Waiting });
        self.running.push(Running { page, promise: self.promises.len() - 1, slot: slot.clone() });
        if wait {
            self.wait(page, &slot);
        }
    }

    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        use dovetail::base::Platform;
        self.world.platform.spawn(Box::pin(task));
    }

    fn wait<T>(&self, page: usize, slot: &Rc<RefCell<Option<T>>>) {
        let user = &self.pages[page].user;
        let over = || user.gate.is_dead() || slot.borrow().is_some();
        self.world.attempt(futures::future::pending::<()>(), over);
        assert!(over(), "a call never ends");
    }

    /// Notes the answers of calls that have ended.
    pub fn harvest(&mut self) {
        let (ended, running) =
            std::mem::take(&mut self.running).into_iter().partition(|one| one.slot.borrow().is_some());
        self.running = running;
        let ended: Vec<Running> = ended;
        for one in ended {
            let result = one.slot.borrow_mut().take().expect("ended");
            let until = self.end_of(self.promises[one.promise].group);
            let label = self.label(one.page);
            let promise = &mut self.promises[one.promise];
            trace::note(format!("  {label}: {:?} -> {:?} at {}", promise.want, short(&result), until.0));
            promise.until = until;
            promise.answer = answer(result, self.devices[promise.device].revoked);
        }
    }

    /// A call nobody is promised anything by, as far as the page lives.
    pub fn call<T: 'static, F: Future<Output = T> + 'static>(
        &mut self,
        page: usize,
        f: impl FnOnce(Client) -> F,
    ) -> Option<T> {
        self.revive(page);
        self.pages[page].user.risk(f)
    }

    pub fn sync(&mut self, page: usize) {
        let report = self.call(page, |client| async move { client.sync().await });
        match report {
            Some(Ok(report)) => {
                let fine = |code: &str| matches!(code, "delivery.unavailable" | "delivery.refused");
                let bad = report.failed.iter().find(|(_, error)| !fine(error.code));
                assert!(bad.is_none(), "sync: {:?}", bad);
                // A service that shows an identity log in part holds a group until it shows it whole.
                let bad = report.held.iter().find(|(_, code, _)| code != "identity");
                assert!(bad.is_none(), "held: {:?}", report.held);
            }
            Some(Err(error)) => {
                assert!(matches!(error.code, "delivery.unavailable" | "delivery.refused"), "sync: {error}");
            }
            None => {}
        }
    }

    /// Everything works again; all devices talk until nothing is left to say.
    pub fn quieten(&mut self) {
        trace::note("quiet".into());
        for page in &self.pages {
            page.user.delivery.set(|faults| *faults = Faults::default());
            page.user.delivery.thaw();
            page.user.gate.plan(None);
        }
        // Deaths under way still happen.
        self.world.settle(60_000);
        (0..self.pages.len()).for_each(|page| self.revive(page));
        self.world.settle(60_000);
        for page in &self.pages {
            page.register();
        }
        for _ in 0..4 {
            for page in 0..self.pages.len() {
                self.sync(page);
            }
            self.world.settle(60_000);
            self.harvest();
        }
        for device in &self.devices {
            device.observe();
            dump::check(&device.store);
            let held = Dump::of(&device.store).groups().into_values().find(|group| group.hold.is_some());
            assert!(held.is_none(), "still held: {held:?}");
        }
        let left: Vec<_> = self.running.iter().map(|one| &self.promises[one.promise]).collect();
        assert!(left.is_empty(), "calls never end: {left:?}");
    }

    /// A page over a device's database.
    pub fn page_of(&self, device: usize) -> &User {
        &self.pages.iter().find(|page| page.device == device).expect("a page").user
    }

    /// The devices that are in a group, by their own account.
    pub fn active(&self, group: GroupId) -> Vec<usize> {
        let active = |device: &Device| {
            device.groups().iter().any(|row| row.id == group && row.state == GroupState::Active)
        };
        (0..self.devices.len()).filter(|at| active(&self.devices[*at])).collect()
    }

    pub fn dumps(&self) -> Vec<Dump> {
        self.devices.iter().map(|device| Dump::of(&device.store)).collect()
    }
}

fn short(result: &Result<LeftOut, Error>) -> String {
    match result {
        Ok(left) if left.inboxes.is_empty() && left.installations.is_empty() => "ok".into(),
        Ok(left) => format!("ok but {left:?}"),
        Err(error) => error.to_string(),
    }
}
