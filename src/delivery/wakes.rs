//! Who is to be told of news in a [`MemoryDelivery`](super::memory::MemoryDelivery).

use crate::base::Map;
use std::cell::RefCell;
use std::rc::Rc;

use futures::FutureExt;

use super::memory::Faults;
use super::{Subscription, Wake};
use crate::base::{SharedPlatform, Topic};

/// The listeners of all links to one log.
pub(super) struct Wakes {
    platform: SharedPlatform,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    listeners: Map<u64, Listener>,
}

#[derive(Clone)]
struct Listener {
    faults: Rc<RefCell<Faults>>,
    topics: Vec<Topic>,
    wake: Wake,
}

impl Wakes {
    pub(super) fn new(platform: SharedPlatform) -> Rc<Self> {
        Rc::new(Self { platform, state: RefCell::default() })
    }

    /// Adds a listener of the link with these faults.
    pub(super) fn add(
        self: &Rc<Self>,
        faults: Rc<RefCell<Faults>>,
        topics: Vec<Topic>,
        wake: Wake,
    ) -> Subscription {
        let mut state = self.state.borrow_mut();
        state.last += 1;
        let number = state.last;
        state.listeners.insert(number, Listener { faults, topics, wake });
        let wakes = Rc::downgrade(self);
        Subscription::new(move || {
            if let Some(wakes) = wakes.upgrade() {
                wakes.state.borrow_mut().listeners.remove(&number);
            }
        })
    }

    /// Tells everyone who listens to one of `topics`.
    pub(super) fn news(self: &Rc<Self>, topics: &[Topic]) {
        self.tell(|listener| {
            listener.topics.iter().filter(|topic| topics.contains(topic)).copied().collect()
        });
    }

    /// Tells the listeners of one link that any of their topics may have news.
    pub(super) fn anything(self: &Rc<Self>, link: &Rc<RefCell<Faults>>) {
        self.tell(
            |listener| if Rc::ptr_eq(&listener.faults, link) { listener.topics.clone() } else { Vec::new() },
        );
    }

    fn tell(self: &Rc<Self>, choose: impl Fn(&Listener) -> Vec<Topic>) {
        let chosen: Vec<(u64, Vec<Topic>)> = self
            .state
            .borrow()
            .listeners
            .iter()
            .map(|(number, listener)| (*number, choose(listener)))
            .collect();
        for (number, topics) in chosen {
            if !topics.is_empty() {
                self.platform.spawn(self.clone().later(number, topics).boxed_local());
            }
        }
    }

    async fn later(self: Rc<Self>, number: u64, topics: Vec<Topic>) {
        let delay = self.state.borrow().listeners.get(&number).map_or(0, |one| one.faults.borrow().delay_ms);
        if delay > 0 {
            self.platform.sleep(delay).await;
        }
        for topic in topics {
            // Looked up each time: a wake-up may end its own subscription.
            let listener = self.state.borrow().listeners.get(&number).cloned();
            let Some(listener) = listener else { return };
            let deaf = {
                let faults = listener.faults.borrow();
                faults.offline || faults.no_wakes
            };
            if !deaf {
                (listener.wake)(topic);
            }
        }
    }
}
