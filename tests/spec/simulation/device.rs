//! A device of the simulation: its page, and what it was told.

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, MessageId};
use dovetail::client::{Client, EventSubscription};
use dovetail::consent::State;
use dovetail::engine::event::Event;

use crate::common::User;

/// A page of a device and what it was told.
pub struct Device {
    pub user: User,
    pub group: Option<GroupId>,
    /// Its own decision about the conversation, as far as that is certain.
    pub decided: Option<State>,
    /// Foreign messages told, by every life of the page.
    pub told: Rc<RefCell<Vec<MessageId>>>,
    pub events: Option<EventSubscription>,
    pub sent: usize,
    /// Another tab has the same database, or another device the same inbox.
    pub shared: bool,
}

impl Device {
    pub fn new(user: User) -> Self {
        let told = Rc::default();
        let (group, decided, events) = (None, None, None);
        let mut device = Self { user, group, decided, told, events, sent: 0, shared: false };
        device.listen();
        device
    }

    pub fn listen(&mut self) {
        let told = self.told.clone();
        self.events = Some(self.user.client.subscribe(move |event| {
            if let Event::Received { id, .. } = event {
                told.borrow_mut().push(*id);
            }
        }));
    }

    /// Runs a call as far as the page lives; a dead page is opened again first.
    pub fn try_call<T: 'static, F: Future<Output = T> + 'static>(
        &mut self,
        f: impl FnOnce(Client) -> F,
    ) -> Option<T> {
        self.revive();
        self.user.risk(f)
    }

    pub fn revive(&mut self) {
        if self.user.gate.is_dead() {
            self.reopen();
        }
    }

    pub fn reopen(&mut self) {
        self.user.reopen();
        self.listen();
    }
}
