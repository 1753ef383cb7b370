//! When background work runs: what an app asks for comes first.
//!
//! Messages leave once the app pauses, and about 50 ms after the first that waits at the latest; what
//! left is read back when it pauses, or with what the service tells of. Whoever asks for publishing
//! or a sync gets both at once.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;

use futures::lock::Mutex;

use crate::base::{GroupId, Map, Nanos, Topic};
use crate::client::Inner;
use crate::client::sync::PAGE;
use crate::delivery::Incoming;
use crate::error::Error;

/// Lets messages asked for one after another leave together, in milliseconds.
pub(super) const GATHER_MS: u32 = 25;
/// Waits of that length at most while more are asked for: then they leave all the same.
const GATHERS: usize = 2;
/// As many at most before what the service tells of is read.
const HEARD: usize = 2;
/// How often reading back what left is put off while more is being sent.
const PUT_OFF: u8 = 6;
/// Waits between tries while the service is out of reach, in milliseconds.
const BACKOFF_MS: [u32; 6] = [500, 1_000, 2_000, 5_000, 15_000, 30_000];

/// How the background work of every group stands.
#[derive(Clone, Default)]
pub struct Pace(Rc<RefCell<Map<GroupId, Standing>>>);

#[derive(Default)]
struct Standing {
    /// Held by the one run of the outbox.
    run: Rc<Mutex<()>>,
    /// A run is about to begin.
    kicked: bool,
    trouble: Trouble,
    /// Its topic has more than was read: told of by the service, or left there by ourselves and put
    /// off so often.
    unread: Option<u8>,
    /// It was read to its end in this life of the client, and nothing failed to leave since.
    followed: bool,
}

/// What became of the last run of an outbox.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Trouble {
    #[default]
    None,
    /// It failed.
    Failed,
    /// It failed, and this task tries again.
    Retried(u64),
}

impl Pace {
    fn of(&self, group: GroupId) -> RefMut<'_, Standing> {
        RefMut::map(self.0.borrow_mut(), |all| all.entry(group).or_default())
    }

    /// The service tells of something new.
    pub(super) fn heard(&self, group: GroupId) {
        self.of(group).unread.get_or_insert(0);
    }

    /// The topic is about to be read; gives back what [`Pace::not_read`] takes when that fails.
    pub(super) fn reading(&self, group: GroupId) -> Option<u8> {
        self.of(group).unread.take()
    }

    /// The topic was not read.
    pub(super) fn not_read(&self, group: GroupId, before: Option<u8>) {
        let mut standing = self.of(group);
        standing.unread = standing.unread.or(before);
    }

    pub(super) fn is_unread(&self, group: GroupId) -> bool {
        self.of(group).unread.is_some()
    }

    /// The topic was read to its end: commits of others are known here as they come.
    pub(super) fn follow(&self, group: GroupId) {
        self.of(group).followed = true;
    }

    /// The service was out of reach: others may have gone on.
    pub(super) fn unfollow(&self, group: GroupId) {
        self.of(group).followed = false;
    }

    pub(super) fn is_followed(&self, group: GroupId) -> bool {
        self.of(group).followed
    }

    /// Whether what left is still to be read back.
    pub(super) fn owes_reading(&self, group: GroupId) -> bool {
        self.of(group).unread.is_some_and(|times| times > 0)
    }

    /// Whether the last run of the outbox failed.
    pub(super) fn is_stuck(&self, group: GroupId) -> bool {
        self.of(group).trouble != Trouble::None
    }
}

/// When messages were sent.
#[derive(Default)]
pub struct Sending {
    /// Some are being committed.
    pub(super) now: Cell<bool>,
    /// When the last ones were, by the local clock.
    pub(super) last: Cell<Nanos>,
}

impl Inner {
    /// True while messages are sent one after another.
    pub(super) fn is_sending(&self) -> bool {
        let since = self.platform.now().0.saturating_sub(self.sending.last.get().0);
        self.sending.now.get() || (0..i64::from(GATHER_MS) * 1_000_000).contains(&since)
    }

    /// Waits a moment while messages are sent one after another, so that several times what was
    /// sent is read back at once.
    pub(super) async fn let_send(&self) {
        for _ in 0..HEARD {
            if !self.is_sending() {
                return;
            }
            self.platform.sleep(GATHER_MS).await;
        }
    }

    /// Notes that something left. True when reading it back is put off: more is being sent, and it
    /// was not put off often.
    pub(super) fn put_off_reading(&self, group: GroupId) -> bool {
        let mut standing = self.pace.of(group);
        let times = standing.unread.get_or_insert(0);
        *times = times.saturating_add(1);
        *times <= PUT_OFF && self.is_sending()
    }

    /// Whether the service only tells of what we sent, and reading that back is put off.
    pub(super) async fn is_told_of_ours(&self, group: GroupId) -> bool {
        if !self.is_sending() || !self.pace.owes_reading(group) {
            return false;
        }
        let Ok(Some(from)) = self.position_of(group).await else { return false };
        let asked = vec![(Topic::Group(group), from)];
        let Ok(answer) = self.delivery.query(asked, PAGE).await else { return false };
        let ours = self.step(async |step| {
            let Some(ctx) = step.take_group(group).await? else { return Ok(false) };
            let ours = |one: &Incoming| ctx.attempts.get(&one.hash).is_some_and(|known| !known.commit);
            let all = answer.iter().all(ours);
            step.keep_group(ctx);
            Ok(all)
        });
        answer.len() < PAGE as usize && ours.await.unwrap_or_default()
    }

    /// Waits for the end of a run under way.
    pub(super) async fn let_run(&self, group: GroupId) {
        let run = self.pace.of(group).run.clone();
        run.lock().await;
    }

    /// Runs the outbox of a group in the background, once.
    pub(super) fn kick(self: &Rc<Self>, group: GroupId) {
        let mut standing = self.pace.of(group);
        if self.closed.get() || standing.kicked || matches!(standing.trouble, Trouble::Retried(_)) {
            return;
        }
        standing.kicked = true;
        let inner = self.clone();
        self.platform.spawn(Box::pin(async move {
            inner.gather().await;
            inner.pace.of(group).kicked = false;
            let mut tries = 0;
            while let Err(error) = inner.run(group, true).await {
                if !error.retryable() || inner.closed.get() || !inner.wait_out(group, tries).await {
                    return;
                }
                tries += 1;
            }
        }));
    }

    /// Waits a moment, and a few more while more is being sent.
    async fn gather(&self) {
        for _ in 0..GATHERS {
            let sent = self.sending.last.get();
            self.platform.sleep(GATHER_MS).await;
            if self.sending.last.get() == sent {
                return;
            }
        }
    }

    /// Waits before a run that failed is tried again; false when it need not be: another run got
    /// through, or another task tries again.
    async fn wait_out(&self, group: GroupId, tries: usize) -> bool {
        let turn = Trouble::Retried(self.retries.replace(self.retries.get() + 1));
        self.pace.of(group).trouble = turn;
        let wait = BACKOFF_MS.get(tries).or(BACKOFF_MS.last()).copied().unwrap_or_default();
        self.platform.sleep(wait).await;
        self.pace.of(group).trouble == turn
    }

    /// Publishes until nothing is left to do, and reads back what left.
    pub(super) async fn run_outbox(self: &Rc<Self>, group: GroupId) -> Result<(), Error> {
        self.run(group, false).await
    }

    async fn run(self: &Rc<Self>, group: GroupId, lazy: bool) -> Result<(), Error> {
        let run = self.pace.of(group).run.clone();
        let _only_run = run.lock().await;
        let done = self.work_off(group, lazy).await;
        let mut standing = self.pace.of(group);
        standing.trouble = match (&done, standing.trouble) {
            (Ok(_), _) => Trouble::None,
            // It is tried again when its time has come.
            (Err(_), retried @ Trouble::Retried(_)) if !lazy => retried,
            (Err(_), _) => Trouble::Failed,
        };
        drop(standing);
        if done? {
            self.kick(group);
        }
        Ok(())
    }
}
