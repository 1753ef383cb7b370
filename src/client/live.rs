//! Reading in the background: what the service tells of is read when it does.

use std::rc::Rc;

use futures::StreamExt;
use futures::channel::mpsc;

use crate::base::{InboxId, Map, Set, Topic};
use crate::client::pace::GATHER_MS;
use crate::client::{Client, Inner};
use crate::delivery::Subscription;
use crate::store::rows::GroupRow;

/// Background reading, ended by dropping it.
pub struct Live {
    topics: mpsc::UnboundedSender<Topic>,
    subscriptions: Map<Topic, Subscription>,
}

impl Client {
    /// Starts reading in the background. Returns at once; ends with [`Client::close`].
    pub fn go_live(&self) {
        if self.0.closed.get() || self.0.live.borrow().is_some() {
            return;
        }
        let (topics, mut news) = mpsc::unbounded();
        *self.0.live.borrow_mut() = Some(Live { topics, subscriptions: Map::new() });
        let inner = Rc::downgrade(&self.0);
        self.0.listen(Topic::Welcome(self.0.me.installation.0));
        self.0.listen(Topic::Identity(self.0.me.inbox));
        self.0.platform.spawn(Box::pin(async move {
            if let Some(inner) = inner.upgrade() {
                // Heard before it is read: what comes in between wakes its topic.
                inner.listen_to_groups().await;
                // First of all, what was missed and what a former life left unfinished. A service
                // out of reach wakes the topics again once it is back.
                let _ = Client(inner.clone()).sync().await;
                // Members that the sync found.
                inner.listen_to_groups().await;
            }
            while let Some(topic) = news.next().await {
                let Some(inner) = inner.upgrade() else { return };
                let mut woken = Set::from([topic]);
                while let Ok(more) = news.try_recv() {
                    woken.insert(more);
                }
                inner.wake(woken).await;
            }
        }));
    }
}

impl Inner {
    async fn wake(self: &Rc<Self>, topics: Set<Topic>) {
        self.let_send().await;
        for topic in topics {
            // Failures show on the conversation, or come back with the next wake-up or sync.
            match topic {
                Topic::Group(group) => {
                    // A run under way reads what it makes the service tell us of.
                    self.let_run(group).await;
                    // The service may be back.
                    if self.pace.is_stuck(group) {
                        let _ = self.run_outbox(group).await;
                    }
                    if !self.pace.is_unread(group) || self.is_told_of_ours(group).await {
                        continue;
                    }
                    let done = self.sync_group(group).await.unwrap_or_default();
                    if done.owes {
                        self.kick(group);
                    }
                    // A Welcome that adds us again may have come before the removal.
                    if done.ended {
                        let _ = self.sync_welcomes().await;
                    }
                    if done.moved
                        && let Ok(Some(row)) = self.group_row(group).await
                    {
                        self.listen_to_members(&row);
                    }
                }
                Topic::Welcome(_) => {
                    let _ = self.sync_welcomes().await;
                    // A sync group may be among what was joined.
                    self.tend_in(GATHER_MS);
                }
                Topic::Identity(inbox) => {
                    let _ = self.follow_inbox(inbox).await;
                    self.look_after(inbox).await;
                    if inbox == self.me.inbox {
                        self.tend_in(GATHER_MS);
                    }
                }
                Topic::KeyPackage(_) => {}
            }
        }
    }

    /// Subscribes to a topic, once.
    pub(super) fn listen(&self, topic: Topic) {
        let mut live = self.live.borrow_mut();
        let Some(live) = live.as_mut() else { return };
        if live.subscriptions.contains_key(&topic) {
            return;
        }
        let sender = live.topics.clone();
        let pace = self.pace.clone();
        let wake = Rc::new(move |topic| {
            if let Topic::Group(group) = topic {
                pace.heard(group);
            }
            // The receiver is gone once the client is closed.
            let _ = sender.unbounded_send(topic);
        });
        live.subscriptions.insert(topic, self.delivery.subscribe(vec![topic], wake));
    }

    async fn listen_to_groups(&self) {
        // Without the list nothing is subscribed; an explicit sync still reads everything.
        for row in self.active_groups().await.unwrap_or_default() {
            self.listen(Topic::Group(row.id));
            self.listen_to_members(&row);
        }
    }

    /// Hears of new identity updates of a group's members.
    fn listen_to_members(&self, row: &GroupRow) {
        row.members.iter().for_each(|member| self.listen(Topic::Identity(member.inbox)));
    }

    /// An inbox has a new identity update: every group it is in is brought up to date (GMOD-029).
    async fn look_after(self: &Rc<Self>, inbox: InboxId) {
        let mut rows = self.active_groups().await.unwrap_or_default();
        rows.retain(|row| row.members.iter().any(|member| member.inbox == inbox));
        // What cannot be read now is looked at with the next sync.
        for group in self.refresh_members(&rows).await.unwrap_or_default() {
            self.kick(group);
        }
    }
}
