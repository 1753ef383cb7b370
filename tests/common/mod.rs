//! A small world for native tests: virtual clock, seeded chance, one delivery, many clients.
#![allow(dead_code)] // each test file uses its part

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::task::{Poll, Waker};

use dovetail::base::{GroupId, InboxId, MessageId, Nanos, Platform, SharedPlatform};
use dovetail::client::{Client, Conversation, OpenOptions, Sign, SyncReport};
use dovetail::delivery::{Delivery, MemoryDelivery};
use dovetail::engine::history::HistoryOptions;
use dovetail::engine::list::ListOptions;
use dovetail::identity::{Identifier, address_of, sign_erc191};
use dovetail::store::rows::MessageRow;
use dovetail::store::{MemoryStore, Store};
use dovetail::wire::EncodedContent;
use futures::executor::{LocalPool, LocalSpawner};
use futures::future::LocalBoxFuture;
use futures::task::LocalSpawnExt;

/// 2026-01-01, so that times look like times.
const START: i64 = 1_767_225_600_000_000_000;

/// Virtual time and seeded chance, shared by everything in a world.
pub struct World {
    pool: RefCell<LocalPool>,
    pub platform: Rc<TestPlatform>,
    pub delivery: MemoryDelivery,
}

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
            // SplitMix64: enough for ids in tests.
            let z = self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.seed.set(z);
            let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (z ^ (z >> 31)) as u8;
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
        let done = Rc::new(RefCell::new(None));
        let slot = done.clone();
        self.platform.spawn(Box::pin(async move {
            let value = future.await;
            *slot.borrow_mut() = Some(value);
        }));
        for _ in 0..10_000 {
            self.pool.borrow_mut().run_until_stalled();
            if let Some(value) = done.borrow_mut().take() {
                return value;
            }
            assert!(self.next_sleeper(i64::MAX), "nothing left to wait for, and the future is not done");
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

    /// A new user with a database of its own, registered.
    pub fn user(self: &Rc<Self>, name: &str) -> User {
        let user = self.device(name);
        let sign = wallet(user.secret);
        user.call(move |client| async move { client.register(1, &sign).await }).expect("registers");
        user
    }

    /// A device with a database of its own, opened and not registered.
    pub fn device(self: &Rc<Self>, name: &str) -> User {
        let store = MemoryStore::new();
        let delivery = Rc::new(self.delivery.link());
        let secret = secret_of(name);
        let client = self.open(&secret, store.clone(), delivery.clone()).expect("opens");
        User { client, store, delivery, secret, world: self.clone() }
    }

    fn open(
        &self,
        secret: &[u8; 32],
        store: MemoryStore,
        delivery: Rc<MemoryDelivery>,
    ) -> Result<Client, dovetail::error::Error> {
        let options = OpenOptions {
            store: Rc::new(store) as Rc<dyn Store>,
            delivery: delivery as Rc<dyn Delivery>,
            platform: self.platform.clone() as SharedPlatform,
            identifier: Identifier::Ethereum(address_of(secret).expect("a key")),
            nonce: 1,
        };
        self.run(Client::open(options))
    }
}

fn secret_of(name: &str) -> [u8; 32] {
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
    pub secret: [u8; 32],
    pub world: Rc<World>,
}

impl User {
    /// Runs a call on the client to its end.
    pub fn call<T: 'static, F: Future<Output = T> + 'static>(&self, f: impl FnOnce(Client) -> F) -> T {
        self.world.run(f(self.client.clone()))
    }

    pub fn inbox(&self) -> InboxId {
        self.client.inbox()
    }

    pub fn offline(&self, offline: bool) {
        self.delivery.set(|faults| faults.offline = offline);
    }

    pub fn dm(&self, peer: &User) -> GroupId {
        let peer = peer.inbox();
        self.call(move |client| async move { client.create_dm(peer).await }).expect("a DM")
    }

    pub fn text(&self, group: GroupId, text: &str) -> MessageId {
        let content = EncodedContent::text(text).encode();
        self.call(move |client| async move { client.send(group, content, None).await }).expect("sent")
    }

    pub fn sync(&self) -> SyncReport {
        self.call(|client| async move { client.sync().await }).expect("synced")
    }

    pub fn conversations(&self) -> Vec<Conversation> {
        self.call(|client| async move { client.list(&ListOptions::default()).await }).expect("a list")
    }

    pub fn history(&self, group: GroupId, options: HistoryOptions) -> Vec<MessageRow> {
        self.call(move |client| async move { client.messages(group, &options).await }).expect("a page")
    }

    /// The texts of a thread, in its order.
    pub fn texts(&self, group: GroupId) -> Vec<String> {
        self.history(group, HistoryOptions::default()).iter().map(text_of).collect()
    }

    /// The page is gone and comes back: what was not committed is lost.
    pub fn reopen(&mut self) {
        let crashed = std::mem::replace(
            &mut self.client,
            self.world.open(&self.secret, self.store.clone(), self.delivery.clone()).expect("opens again"),
        );
        crashed.abandon();
    }
}

/// The text of a message.
pub fn text_of(row: &MessageRow) -> String {
    let content = EncodedContent::decode(&row.content).expect("content");
    String::from_utf8(content.content).expect("text")
}
