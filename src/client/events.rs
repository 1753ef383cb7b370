//! Tells listeners what was committed, after the commit and outside of every borrow.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::client::Client;
use crate::engine::event::Event;

type Listener = Rc<dyn Fn(&Event)>;

/// All listeners of a client.
#[derive(Default)]
pub struct Hub {
    listeners: Rc<RefCell<BTreeMap<u64, Listener>>>,
    next: Cell<u64>,
}

/// Ends when dropped.
pub struct EventSubscription {
    listeners: Rc<RefCell<BTreeMap<u64, Listener>>>,
    id: u64,
}

impl Drop for EventSubscription {
    fn drop(&mut self) {
        self.listeners.borrow_mut().remove(&self.id);
    }
}

impl Hub {
    /// Calls every listener with every event, in order.
    pub fn emit(&self, events: Vec<Event>) {
        for event in &events {
            // Copied first: a listener may subscribe or end a subscription.
            let listeners: Vec<Listener> = self.listeners.borrow().values().cloned().collect();
            listeners.iter().for_each(|listener| listener(event));
        }
    }

    /// Forgets every listener.
    pub fn close(&self) {
        self.listeners.borrow_mut().clear();
    }

    fn subscribe(&self, listener: Listener) -> EventSubscription {
        let id = self.next.get();
        self.next.set(id + 1);
        self.listeners.borrow_mut().insert(id, listener);
        EventSubscription { listeners: self.listeners.clone(), id }
    }
}

impl Client {
    /// Calls `listener` with every event from now on, until the subscription is dropped.
    pub fn subscribe(&self, listener: impl Fn(&Event) + 'static) -> EventSubscription {
        self.0.hub.subscribe(Rc::new(listener))
    }
}
