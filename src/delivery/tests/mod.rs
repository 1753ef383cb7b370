//! The memory service: an honest one keeps the contract, each switch breaks what it says.

mod faults;
mod honest;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::LocalBoxFuture;

use super::memory::MemoryDelivery;
use super::{Delivery, Outgoing};
use crate::base::{GroupId, InboxId, Nanos, Platform, Topic};

/// A clock that stands still, sleeps that end at once and are counted, tasks run by hand.
#[derive(Default)]
struct Bench {
    now: Cell<i64>,
    slept_ms: Cell<u32>,
    random: Cell<u8>,
    tasks: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
}

impl Bench {
    fn run(&self) {
        while let Some(task) = self.tasks.borrow_mut().pop() {
            block_on(task);
        }
    }
}

impl Platform for Bench {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }
    fn random(&self, out: &mut [u8]) {
        for byte in out {
            self.random.set(self.random.get().wrapping_mul(181).wrapping_add(77));
            *byte = self.random.get();
        }
    }
    fn sleep(&self, ms: u32) -> LocalBoxFuture<'static, ()> {
        self.slept_ms.set(self.slept_ms.get() + ms);
        futures::future::ready(()).boxed_local()
    }
    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        self.tasks.borrow_mut().push(task);
    }
}

fn service() -> (Rc<Bench>, MemoryDelivery) {
    let bench = Rc::new(Bench::default());
    (bench.clone(), MemoryDelivery::new(bench))
}

fn group(n: u8) -> Topic {
    Topic::Group(GroupId([n; 16]))
}

fn inbox(n: u8) -> InboxId {
    InboxId([n; 32])
}

fn to(topic: Topic, payload: &[u8]) -> Outgoing {
    Outgoing { topic, payload: payload.to_vec(), identifiers: Vec::new() }
}

/// What a subscription was told, in order.
fn listen(link: &MemoryDelivery, topics: Vec<Topic>) -> (Rc<RefCell<Vec<Topic>>>, super::Subscription) {
    let told = Rc::new(RefCell::new(Vec::new()));
    let heard = told.clone();
    let subscription = link.subscribe(topics, Rc::new(move |topic| heard.borrow_mut().push(topic)));
    (told, subscription)
}
