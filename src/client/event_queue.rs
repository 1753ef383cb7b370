//! What one subscription of an app selected of the events and has not taken yet (EVENT).
//!
//! A queue holds no more than [`LIMIT`] events. What comes while it is full is dropped and counted,
//! and before anything later a `lagged` says how many were. Nothing waits for a queue: a commit puts
//! its events into each and goes on.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::base::{GroupId, Nanos, ThreadId};
use crate::client::{Client, EventSubscription};
use crate::engine::event::{Event, KINDS};
use crate::error::Error;
use crate::store::rows::GroupKind;

/// Events a queue holds, the one a callback is busy with among them.
const LIMIT: usize = 1024;

/// Which events a subscription selects. `lagged` comes whatever it says.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// By place in [`KINDS`]; absent: every kind, empty: none.
    pub kinds: Option<Vec<usize>>,
    /// Of those that name a group, the ones of these conversations; each is named by any of its
    /// groups, and need not be known here yet.
    pub groups: Option<Vec<GroupId>>,
    /// Of `message.received`, the ones with these content types, by type id.
    pub content_types: Option<Vec<String>>,
}

impl EventFilter {
    fn wants(&self, event: &Event, now: Nanos) -> bool {
        let kind = event.kind();
        if kind >= KINDS.len() || self.kinds.as_ref().is_some_and(|kinds| !kinds.contains(&kind)) {
            return false;
        }
        let Event::Received { content_type, expires, .. } = event else {
            return !matches!(event, Event::Conversation { kind: GroupKind::Sync, .. });
        };
        let listed = |types: &Vec<String>| content_type.as_ref().is_some_and(|t| types.contains(&t.type_id));
        expires.is_none_or(|at| at > now) && self.content_types.as_ref().is_none_or(listed)
    }
}

/// The groups of the conversations a filter names.
struct Named {
    groups: Vec<GroupId>,
    threads: Vec<ThreadId>,
}

impl Named {
    /// Whether an event names one of them. A copy of a DM that was not known before is learned.
    fn has(&mut self, event: &Event) -> bool {
        if let Some((group, thread)) = event.place() {
            match (self.groups.contains(&group), self.threads.contains(&thread)) {
                (false, true) => self.groups.push(group),
                (true, false) => self.threads.push(thread),
                _ => {}
            }
        }
        event.group().is_none_or(|group| self.groups.contains(&group))
    }
}

/// Events for one subscription, taken one by one.
pub struct EventQueue {
    shared: Rc<Shared>,
    subscription: RefCell<Option<EventSubscription>>,
    /// The event taken last counts until the next one is asked for: a callback is busy with it.
    callback: bool,
}

#[derive(Default)]
struct Shared(RefCell<State>);

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    /// Taken by a callback that is not done with it.
    busy: bool,
    discarded: u64,
    /// Events in front of the `lagged` that is due.
    before_lag: Option<usize>,
    ended: bool,
    waker: Option<Waker>,
}

impl Shared {
    fn push(&self, event: Event) {
        let mut state = self.0.borrow_mut();
        let held = state.events.len();
        if held + usize::from(state.busy) >= LIMIT {
            state.discarded += 1;
            state.before_lag.get_or_insert(held);
            return;
        }
        state.events.push_back(event);
        wake(&mut state);
    }

    fn end(&self) {
        let mut state = self.0.borrow_mut();
        state.ended = true;
        state.events.clear();
        wake(&mut state);
    }
}

fn wake(state: &mut State) {
    state.waker.take().into_iter().for_each(Waker::wake);
}

impl State {
    fn take(&mut self) -> Option<Event> {
        match self.before_lag {
            Some(0) => {
                self.before_lag = None;
                return Some(Event::Lagged { discarded: std::mem::take(&mut self.discarded) });
            }
            Some(before) => self.before_lag = Some(before - 1),
            None => {}
        }
        self.events.pop_front()
    }
}

/// Ends the queue when its listener is dropped: by the subscription, or because the client closes.
struct Ending(Rc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl EventQueue {
    /// The next event; `None` once it has ended. `lagged` comes like any other.
    ///
    /// To be called again only when the answer is there: of two calls at once, one waits for ever.
    pub async fn next(&self) -> Option<Event> {
        self.shared.0.borrow_mut().busy = false;
        futures::future::poll_fn(|context| {
            let mut state = self.shared.0.borrow_mut();
            if state.ended {
                return Poll::Ready(None);
            }
            match state.take() {
                Some(event) => {
                    state.busy = self.callback && !matches!(event, Event::Lagged { .. });
                    Poll::Ready(Some(event))
                }
                None => {
                    state.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Ends it: what was not taken is dropped, and who waits is told so.
    pub fn end(&self) {
        // The listener goes with it, unless the hub is just calling it.
        drop(self.subscription.borrow_mut().take());
        self.shared.end();
    }
}

impl Client {
    /// The events that `filter` selects, from now on. `callback` says that what is taken counts as
    /// held until the next is asked for.
    ///
    /// # Errors
    /// `client.closed`, `store.*`.
    pub async fn events(&self, filter: EventFilter, callback: bool) -> Result<EventQueue, Error> {
        let named = match &filter.groups {
            None => None,
            Some(groups) => Some(RefCell::new(self.named(groups).await?)),
        };
        self.0.open()?;
        let shared = Rc::new(Shared::default());
        let (ending, platform) = (Ending(shared.clone()), self.0.platform.clone());
        let subscription = self.subscribe_commits(move |events| {
            let now = platform.now();
            for event in events {
                let named = named.as_ref().is_none_or(|named| named.borrow_mut().has(event));
                if named && filter.wants(event, now) {
                    ending.0.push(event.clone());
                }
            }
        });
        Ok(EventQueue { shared, subscription: RefCell::new(Some(subscription)), callback })
    }

    /// Every group, known here, of the conversations named.
    async fn named(&self, groups: &[GroupId]) -> Result<Named, Error> {
        let mut named = Named { groups: groups.to_vec(), threads: Vec::new() };
        for group in groups {
            if let Some(thread) = self.0.known_thread(*group).await? {
                named.threads.push(thread);
                named.groups.extend(self.0.set_of(*group).await?);
            }
        }
        Ok(named)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use proptest::prelude::*;

    use super::*;
    use crate::base::{InstallationId, SequenceId};

    fn numbered(at: u64) -> Event {
        Event::InstallationAdded { installation: InstallationId([0; 32]), at: SequenceId(at) }
    }

    fn queue(callback: bool) -> EventQueue {
        EventQueue { shared: Rc::default(), subscription: RefCell::default(), callback }
    }

    fn taken(queue: &EventQueue) -> Option<Result<u64, u64>> {
        match queue.next().now_or_never()?.expect("not ended") {
            Event::InstallationAdded { at, .. } => Some(Ok(at.0)),
            Event::Lagged { discarded } => Some(Err(discarded)),
            _ => panic!("another event"),
        }
    }

    #[test]
    fn event_a_full_queue_drops_what_is_new_and_says_so_before_what_is_later() {
        let queue = queue(false);
        (0..LIMIT as u64 + 3).for_each(|at| queue.shared.push(numbered(at)));
        assert_eq!(taken(&queue), Some(Ok(0)));
        queue.shared.push(numbered(2000));
        for at in 1..LIMIT as u64 {
            assert_eq!(taken(&queue), Some(Ok(at)));
        }
        assert_eq!(taken(&queue), Some(Err(3)));
        assert_eq!(taken(&queue), Some(Ok(2000)));
        assert_eq!(taken(&queue), None);
    }

    #[test]
    fn event_what_a_callback_is_busy_with_counts() {
        for callback in [false, true] {
            let queue = queue(callback);
            queue.shared.push(numbered(0));
            assert_eq!(taken(&queue), Some(Ok(0)));
            (0..LIMIT as u64).for_each(|at| queue.shared.push(numbered(at)));
            assert_eq!(queue.shared.0.borrow().discarded, u64::from(callback));
        }
    }

    #[test]
    fn event_a_queue_that_ends_lets_go_who_waits() {
        let queue = queue(false);
        queue.shared.push(numbered(0));
        let ending = Ending(queue.shared.clone());
        drop(ending);
        assert!(queue.next().now_or_never().expect("at once").is_none());
    }

    proptest! {
        #[test]
        fn event_every_event_is_handed_off_in_order_or_counted_by_the_next_lagged(
            steps in proptest::collection::vec((0u64..700, 0usize..700), 1..20),
            callback in any::<bool>(),
        ) {
            let (queue, mut made) = (queue(callback), 0);
            // The event expected next, how many are missing before it, and how many were told of.
            let (mut next, mut missing, mut counted) = (0, 0, 0);
            let mut check = |took: Result<u64, u64>| match took {
                Ok(at) => {
                    assert!(at >= next, "in order");
                    missing += at - next;
                    next = at + 1;
                    assert!(missing <= counted, "a gap is told of before what comes behind it");
                }
                Err(count) => {
                    assert!(count > 0, "told of nothing");
                    counted += count;
                }
            };
            for (push, take) in steps {
                (made..made + push).for_each(|at| queue.shared.push(numbered(at)));
                made += push;
                prop_assert!(queue.shared.0.borrow().events.len() <= LIMIT);
                (0..take).map_while(|_| taken(&queue)).for_each(&mut check);
            }
            std::iter::from_fn(|| taken(&queue)).for_each(&mut check);
            prop_assert_eq!(counted, missing + (made - next), "every lost one is counted once");
        }
    }
}
