//! A small world for native tests: virtual clock, seeded chance, one delivery, many clients.
#![allow(dead_code)] // each test file uses its part

pub mod archive;
pub mod chance;
pub mod content;
pub mod crowd;
pub mod devices;
pub mod dump;
pub mod forge;
pub mod gate;
pub mod group;
pub mod seed;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::task::{Poll, Waker};

use chance::Chance;
use dovetail::base::{GroupId, InboxId, MessageId, Nanos, Platform, SharedPlatform};
use dovetail::client::{Client, Conversation, Inspection, OpenOptions, Sign, SyncReport};
use dovetail::consent::{Entity, State};
use dovetail::delivery::{Delivery, MemoryDelivery};
use dovetail::engine::history::HistoryOptions;
use dovetail::engine::leave::is_request as is_leave_request;
use dovetail::engine::list::ListOptions;
use dovetail::error::Error;
use dovetail::identity::{Identifier, address_of, sign_erc191};
use dovetail::store::rows::{MessageKind, MessageRow};
use dovetail::store::{MemoryStore, Store};
use dovetail::wire::EncodedContent;
use futures::executor::{LocalPool, LocalSpawner};
use futures::future::LocalBoxFuture;
use futures::task::LocalSpawnExt;
use gate::{Gate, GatedDelivery, GatedStore};

/// 2026-01-01, so that times look like times.
const START: i64 = 1_767_225_600_000_000_000;

/// Everything in one process: tasks, time, chance, and the service's log.
pub struct World {
    pool: RefCell<LocalPool>,
    pub platform: Rc<TestPlatform>,
    pub delivery: MemoryDelivery,
}

/// Virtual time and seeded chance, shared by everything in a world.
pub struct TestPlatform {
    now: Cell<i64>,
    seed: Cell<u64>,
    spawner: LocalSpawner,
    sleepers: RefCell<Vec<(i64, Waker)>>,
}

impl Platform for TestPlatform {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    fn random(&self, out: &mut [u8]) {
        for byte in out {
            let mut chance = Chance(self.seed.get());
            *byte = chance.next() as u8;
            self.seed.set(chance.0);
        }
    }

    fn sleep(&self, ms: u32) -> LocalBoxFuture<'static, ()> {
        let until = self.now.get() + i64::from(ms) * 1_000_000;
        // The future outlives the borrow of the platform: it finds the thread's world again.
        Box::pin(futures::future::poll_fn(move |cx| {
            CURRENT.with(|current| {
                let current = current.borrow();
                let platform = current.as_ref().expect("a world");
                if platform.now.get() >= until {
                    return Poll::Ready(());
                }
                platform.sleepers.borrow_mut().push((until, cx.waker().clone()));
                Poll::Pending
            })
        }))
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        self.spawner.spawn_local(task).expect("the pool outlives its clients");
    }
}

impl TestPlatform {
    /// The world's time.
    pub fn now_ns(&self) -> i64 {
        self.now.get()
    }
}

/// A device's own clock, off by `skew_ns`.
pub struct Device {
    world: Rc<TestPlatform>,
    pub skew_ns: Cell<i64>,
}

impl Platform for Device {
    fn now(&self) -> Nanos {
        Nanos(self.world.now().0 + self.skew_ns.get())
    }

    fn random(&self, out: &mut [u8]) {
        self.world.random(out);
    }

    fn sleep(&self, ms: u32) -> LocalBoxFuture<'static, ()> {
        self.world.sleep(ms)
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        self.world.spawn(task);
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<TestPlatform>>> = const { RefCell::new(None) };
}

impl World {
    pub fn new(seed: u64) -> Rc<Self> {
        let pool = LocalPool::new();
        let platform = Rc::new(TestPlatform {
            now: Cell::new(START),
            seed: Cell::new(seed),
            spawner: pool.spawner(),
            sleepers: RefCell::default(),
        });
        CURRENT.with(|current| *current.borrow_mut() = Some(platform.clone()));
        let delivery = MemoryDelivery::new(platform.clone() as SharedPlatform);
        Rc::new(Self { pool: RefCell::new(pool), platform, delivery })
    }

    /// Runs a future to its end; background tasks go on meanwhile, and time passes when all wait.
    pub fn run<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> T {
        self.attempt(future, || false).expect("nothing left to wait for, and the future is not done")
    }

    /// Like [`World::run`], until `over` says that nobody waits for the answer any more.
    pub fn attempt<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
        over: impl Fn() -> bool,
    ) -> Option<T> {
        let done = Rc::new(RefCell::new(None));
        let slot = done.clone();
        self.platform.spawn(Box::pin(async move {
            let value = future.await;
            *slot.borrow_mut() = Some(value);
        }));
        for _ in 0..10_000 {
            self.pool.borrow_mut().run_until_stalled();
            let value = done.borrow_mut().take();
            if value.is_some() || over() || !self.next_sleeper(i64::MAX) {
                return value;
            }
        }
        panic!("the future does not end");
    }

    /// Lets background work go on until it rests, letting at most `ms` pass.
    pub fn settle(&self, ms: i64) {
        let end = self.platform.now.get() + ms * 1_000_000;
        loop {
            self.pool.borrow_mut().run_until_stalled();
            if !self.next_sleeper(end) {
                break;
            }
        }
        self.platform.now.set(end.max(self.platform.now.get()));
    }

    /// Lets time pass until the next sleeper, if one wakes by `end`.
    fn next_sleeper(&self, end: i64) -> bool {
        let mut sleepers = self.platform.sleepers.borrow_mut();
        let Some(next) = sleepers.iter().map(|(at, _)| *at).filter(|at| *at <= end).min() else {
            return false;
        };
        self.platform.now.set(next.max(self.platform.now.get()));
        sleepers.retain(|(at, waker)| {
            let wait = *at > next;
            if !wait {
                waker.wake_by_ref();
            }
            wait
        });
        true
    }

    /// The time, in milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.platform.now.get() / 1_000_000
    }

    /// A new user with a database of its own, registered. Equal names are one account, so the
    /// second one is another device of it.
    pub fn user(self: &Rc<Self>, name: &str) -> User {
        registered(self.device(name))
    }

    /// The same, one of many: nobody watches what it hands out.
    pub fn one_of_many(self: &Rc<Self>, name: &str) -> User {
        registered(self.page(secret_of(name), MemoryStore::new(), Rc::new(Gate::unwatched())))
    }

    /// A device with a database of its own, opened and not registered.
    pub fn device(self: &Rc<Self>, name: &str) -> User {
        self.page(secret_of(name), MemoryStore::new(), Rc::default())
    }

    /// A page over a database.
    fn page(self: &Rc<Self>, secret: [u8; 32], store: MemoryStore, gate: Rc<Gate>) -> User {
        let delivery = Rc::new(self.delivery.link());
        let device = Rc::new(Device { world: self.platform.clone(), skew_ns: Cell::new(0) });
        let seat = Seat { secret, store, delivery, device };
        let client = self.open(&seat, &gate).expect("opens");
        User {
            client,
            store: seat.store,
            delivery: seat.delivery,
            device: seat.device,
            secret,
            gate,
            world: self.clone(),
        }
    }

    fn open(&self, seat: &Seat, gate: &Rc<Gate>) -> Result<Client, Error> {
        let (rows, link) = (seat.store.clone(), seat.delivery.clone());
        let options = OpenOptions {
            store: Rc::new(GatedStore { rows: rows.clone(), gate: gate.clone() }) as Rc<dyn Store>,
            delivery: Rc::new(GatedDelivery { link, rows, gate: gate.clone() }) as Rc<dyn Delivery>,
            platform: seat.device.clone() as SharedPlatform,
            identifier: Identifier::Ethereum(address_of(&seat.secret).expect("a key")),
            nonce: 1,
        };
        self.run(Client::open(options))
    }
}

/// What a page needs to open.
struct Seat {
    secret: [u8; 32],
    store: MemoryStore,
    delivery: Rc<MemoryDelivery>,
    device: Rc<Device>,
}

fn registered(user: User) -> User {
    let sign = wallet(user.secret);
    user.call(move |client| async move { client.register(1, &sign).await }).expect("registers");
    user
}

pub fn secret_of(name: &str) -> [u8; 32] {
    let mut secret = [7; 32];
    secret[..name.len()].copy_from_slice(name.as_bytes());
    secret
}

/// A wallet that signs whatever it is asked.
pub fn wallet(secret: [u8; 32]) -> Sign {
    Rc::new(move |text| {
        Box::pin(async move { Ok(sign_erc191(&secret, &text).map_err(|e| e.to_string())?.to_vec()) })
    })
}

/// A client with everything behind it.
pub struct User {
    pub client: Client,
    pub store: MemoryStore,
    pub delivery: Rc<MemoryDelivery>,
    pub device: Rc<Device>,
    pub secret: [u8; 32],
    pub gate: Rc<Gate>,
    pub world: Rc<World>,
}

impl User {
    /// Runs a call on the client to its end.
    pub fn call<T: 'static, F: Future<Output = T> + 'static>(&self, f: impl FnOnce(Client) -> F) -> T {
        self.world.run(f(self.client.clone()))
    }

    /// Runs a call until it ends or the page dies under it.
    pub fn risk<T: 'static, F: Future<Output = T> + 'static>(
        &self,
        f: impl FnOnce(Client) -> F,
    ) -> Option<T> {
        self.world.attempt(f(self.client.clone()), || self.gate.is_dead())
    }

    pub fn inbox(&self) -> InboxId {
        self.client.inbox()
    }

    pub fn offline(&self, offline: bool) {
        self.delivery.set(|faults| faults.offline = offline);
    }

    pub fn dm(&self, peer: &User) -> GroupId {
        self.dm_to(peer.inbox()).expect("a DM")
    }

    pub fn dm_to(&self, peer: InboxId) -> Result<GroupId, Error> {
        self.call(move |client| async move { client.create_dm(peer).await })
    }

    pub fn text(&self, group: GroupId, text: &str) -> MessageId {
        self.try_text(group, text).expect("sent")
    }

    pub fn try_text(&self, group: GroupId, text: &str) -> Result<MessageId, Error> {
        let content = EncodedContent::text(text).encode();
        self.call(move |client| async move { client.send(group, content, None).await })
    }

    pub fn sync(&self) -> SyncReport {
        self.try_sync().expect("synced")
    }

    pub fn try_sync(&self) -> Result<SyncReport, Error> {
        self.call(|client| async move { client.sync().await })
    }

    pub fn conversations(&self) -> Vec<Conversation> {
        self.list(ListOptions::default())
    }

    pub fn list(&self, options: ListOptions) -> Vec<Conversation> {
        self.call(move |client| async move { client.list(&options).await }).expect("a list")
    }

    pub fn inspect(&self, group: GroupId) -> Inspection {
        self.call(move |client| async move { client.inspect(group).await }).expect("an inspection")
    }

    pub fn history(&self, group: GroupId, options: HistoryOptions) -> Vec<MessageRow> {
        self.call(move |client| async move { client.messages(group, &options).await }).expect("a page")
    }

    /// The texts of a thread, in its order.
    pub fn texts(&self, group: GroupId) -> Vec<String> {
        let rows = self.history(group, HistoryOptions::default());
        let text =
            |row: &&MessageRow| row.kind == MessageKind::Application && !is_leave_request(&row.content_type);
        rows.iter().filter(text).map(text_of).collect()
    }

    pub fn consent(&self, entity: Entity) -> State {
        self.call(move |client| async move { client.consent(entity).await }).expect("a state")
    }

    /// Decides about a conversation.
    pub fn decide(&self, group: GroupId, state: State) {
        self.call(move |client| async move { client.set_conversation_consent(group, state).await })
            .expect("decided");
    }

    /// The page is gone and comes back: what was not committed is lost.
    pub fn reopen(&mut self) {
        let (secret, store) = (self.secret, self.store.reopen());
        let (delivery, device) = (self.delivery.clone(), self.device.clone());
        let seat = Seat { secret, store, delivery, device };
        let gate = Rc::new(self.gate.again());
        self.client.abandon();
        self.client = self.world.open(&seat, &gate).expect("opens again");
        (self.store, self.gate) = (seat.store, gate);
    }

    /// Another tab over the same database, with a connection of its own.
    pub fn tab(&self) -> User {
        let tab = self.world.page(self.secret, self.store.reopen(), Rc::new(self.gate.again()));
        tab.device.skew_ns.set(self.device.skew_ns.get());
        tab
    }
}

/// The text of a message.
pub fn text_of(row: &MessageRow) -> String {
    let content = EncodedContent::decode(&row.content).expect("content");
    String::from_utf8(content.content).expect("text")
}
