//! Tells listeners what was committed, after the commit and outside of every borrow.

use crate::base::Map;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::client::Client;
use crate::engine::event::Event;

type Listener = Rc<dyn Fn(&[Event])>;

/// All listeners of a client.
#[derive(Default)]
pub struct Hub {
    listeners: Rc<RefCell<Map<u64, Listener>>>,
    next: Cell<u64>,
}

/// Ends when dropped.
pub struct EventSubscription {
    listeners: Rc<RefCell<Map<u64, Listener>>>,
    id: u64,
    alive: Rc<Cell<bool>>,
}

impl Drop for EventSubscription {
    fn drop(&mut self) {
        self.alive.set(false);
        self.listeners.borrow_mut().remove(&self.id);
    }
}

impl Hub {
    /// Calls every listener with the events of one commit, in order.
    pub fn emit(&self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        // Copied first: a listener may subscribe or end a subscription.
        let listeners: Vec<Listener> = self.listeners.borrow().values().cloned().collect();
        listeners.iter().for_each(|listener| listener(&events));
    }

    /// Forgets every listener.
    pub fn close(&self) {
        // Dropped outside of the borrow: a listener may own a subscription.
        let gone = std::mem::take(&mut *self.listeners.borrow_mut());
        drop(gone);
    }

    fn subscribe(&self, listener: impl Fn(&[Event]) + 'static) -> EventSubscription {
        let alive = Rc::new(Cell::new(true));
        let still = alive.clone();
        let listener: Listener = Rc::new(move |events| {
            if still.get() {
                listener(events);
            }
        });
        let id = self.next.get();
        self.next.set(id + 1);
        self.listeners.borrow_mut().insert(id, listener);
        EventSubscription { listeners: self.listeners.clone(), id, alive }
    }
}

impl Client {
    /// Calls `listener` with every event from now on, until the subscription is dropped.
    pub fn subscribe(&self, listener: impl Fn(&Event) + 'static) -> EventSubscription {
        self.0.hub.subscribe(move |events| events.iter().for_each(&listener))
    }

    /// Calls `listener` with the events of each commit from now on, until the subscription is
    /// dropped.
    pub fn subscribe_commits(&self, listener: impl Fn(&[Event]) + 'static) -> EventSubscription {
        self.0.hub.subscribe(listener)
    }
}
