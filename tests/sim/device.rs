//! Devices, their pages, and what is noted about them while they run: when each was in which group,
//! and what its pages were told.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use dovetail::base::{GroupId, InboxId, InstallationId, MessageId, SequenceId, Topic};
use dovetail::client::EventSubscription;
use dovetail::engine::event::Event;
use dovetail::store::rows::{GroupRow, GroupState, MessageStatus, PositionRow, Row};
use dovetail::store::{MemoryStore, Read, Store, Table};
use futures::FutureExt;

use crate::common::{User, wallet};

/// A time in a group, in positions of its topic: from behind the commit that added the device to
/// the one that removed it.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    pub anchor: SequenceId,
    pub end: Option<SequenceId>,
}

pub type Stays = BTreeMap<GroupId, Vec<Stay>>;

/// A database with its installation.
pub struct Device {
    pub label: String,
    pub inbox: InboxId,
    pub installation: InstallationId,
    pub store: MemoryStore,
    pub stays: Rc<RefCell<Stays>>,
    pub revoked: bool,
}

impl Device {
    pub fn new(label: String, user: &User) -> Self {
        Self {
            label,
            inbox: user.inbox(),
            installation: user.client.installation(),
            store: user.store.reopen(),
            stays: Rc::default(),
            revoked: false,
        }
    }

    /// Notes joins and removals since the last look.
    pub fn observe(&self) {
        observe(&self.store, &mut self.stays.borrow_mut());
    }

    pub fn groups(&self) -> Vec<GroupRow> {
        read(&self.store, Read::prefix(Table::Groups, &[]))
    }
}

fn read<R: Row>(store: &MemoryStore, read: Read) -> Vec<R> {
    let answer = store.reopen().read(vec![read]).now_or_never().expect("ready").expect("rows");
    answer[0].iter().map(|record| R::decode(&record.body).expect("decodes")).collect()
}

fn observe(store: &MemoryStore, stays: &mut Stays) {
    for row in read::<GroupRow>(store, Read::prefix(Table::Groups, &[])) {
        let known = stays.entry(row.id).or_default();
        match row.state {
            GroupState::Active => {
                if known.last().is_none_or(|stay| stay.end.is_some() || stay.anchor != row.anchor) {
                    known.push(Stay { anchor: row.anchor, end: None });
                }
            }
            GroupState::Inactive => {
                let Some(stay) = known.last_mut().filter(|stay| stay.end.is_none()) else { continue };
                let key = Topic::Group(row.id).to_bytes();
                let position = read::<PositionRow>(store, Read::Key(Table::Positions, key)).pop();
                stay.end = Some(position.expect("a position").processed);
            }
            GroupState::Restored | GroupState::Failed(_) => {}
        }
    }
}

/// A tab over a device's database.
pub struct Page {
    pub user: User,
    pub device: usize,
    /// Foreign messages told, by every life of the page.
    pub told: Rc<RefCell<Vec<MessageId>>>,
    /// Reads in the background, also when it is opened again.
    pub live: bool,
    events: Option<EventSubscription>,
}

impl Page {
    pub fn new(user: User, at: usize, device: &Device) -> Self {
        let mut page = Self { user, device: at, told: Rc::default(), live: false, events: None };
        page.listen(device);
        page
    }

    fn listen(&mut self, device: &Device) {
        let (told, own) = (self.told.clone(), device.installation);
        let (store, stays) = (device.store.reopen(), device.stays.clone());
        self.events = Some(self.user.client.subscribe(move |event| match event {
            Event::Message { row, .. }
                if row.sender_installation != own && row.status == MessageStatus::Published =>
            {
                told.borrow_mut().push(row.id);
            }
            Event::GroupChanged { .. } | Event::Conversation { .. } => {
                observe(&store, &mut stays.borrow_mut());
            }
            _ => {}
        }));
    }

    pub fn reopen(&mut self, device: &Device) {
        device.observe();
        self.user.reopen();
        self.listen(device);
        if self.live {
            self.go_live();
        }
    }

    pub fn go_live(&mut self) {
        self.live = true;
        self.user.risk(|client| async move { client.go_live() });
    }

    /// Registers the installation, if that was cut off before.
    pub fn register(&self) {
        let sign = wallet(self.user.secret);
        let done = self.user.risk(move |client| async move { client.register(1, &sign).await });
        if let Some(Err(error)) = done {
            // Revoked before it learned that it was registered.
            let known = ["delivery.unavailable", "client.installation_revoked"].contains(&error.code);
            assert!(known, "registering: {error}");
        }
    }
}
