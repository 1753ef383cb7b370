//! What a panic ends: every client made before it, and every task of such a client.
//!
//! A panic stops the module in the middle of a poll, so locks and borrows of that poll are never
//! given back. Nothing that could wait for them may run again; what is made afterwards shares none
//! of them and works.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::LocalBoxFuture;
use js_sys::{Array, Function, Promise, Set};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{future_to_promise, spawn_local};

use super::errors;
use crate::error::Error;

/// How many panics there were.
static CRASHES: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// What gives back things of the page that a crashed client held.
    static RELEASES: Set = Set::new(&JsValue::UNDEFINED);
    static HANDLER: std::cell::RefCell<Option<Function>> = const { std::cell::RefCell::new(None) };
}

/// Calls `handler` with the text of a panic, before the module stops. A later handler replaces it.
///
/// A panic's text names a place in the source and never holds stored data.
#[wasm_bindgen(js_name = onPanic)]
pub fn on_panic(handler: JsValue) {
    HANDLER.with(|kept| *kept.borrow_mut() = handler.dyn_into().ok());
    std::panic::set_hook(Box::new(|info| {
        CRASHES.fetch_add(1, Ordering::Relaxed);
        RELEASES.with(|releases| {
            let releases = Array::from(releases);
            for release in releases.iter().filter_map(|release| release.dyn_into::<Function>().ok()) {
                let _ = release.call0(&JsValue::UNDEFINED);
            }
        });
        let text = JsValue::from_str(&info.to_string());
        let handler = HANDLER.with(|kept| kept.try_borrow().ok().and_then(|kept| kept.clone()));
        // What the handler throws has nowhere to go: the module stops right behind it.
        if let Some(handler) = handler {
            let _ = handler.call1(&JsValue::UNDEFINED, &text);
        }
    }));
}

/// Calls `release` at a panic. It runs in the middle of whatever panicked, so it must not touch
/// what a client borrows.
pub fn at_crash(release: &Function) {
    RELEASES.with(|releases| releases.add(release));
}

/// Takes back [`at_crash`].
pub fn forget_crash(release: &Function) {
    RELEASES.with(|releases| releases.delete(release));
}

/// The time between two panics.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Life(u32);

impl Life {
    /// The present one.
    pub fn now() -> Self {
        Self(CRASHES.load(Ordering::Relaxed))
    }

    /// # Errors
    /// `client.crashed` when it is over.
    pub fn check(self) -> Result<(), Error> {
        if self.over() {
            return Err(Error::new(
                "client.crashed",
                "a bug stopped the client; create it again, nothing that was committed is lost",
            ));
        }
        Ok(())
    }

    fn over(self) -> bool {
        self != Self::now()
    }
}

/// Runs a task until it ends or its life does.
pub fn spawn(task: impl Future<Output = ()> + 'static) {
    spawn_local(Mortal::new(task));
}

/// A promise of what a call gives.
pub fn promise(call: impl Future<Output = Result<JsValue, Error>> + 'static) -> Promise {
    settle(Box::pin(call))
}

/// Compiled once for all calls.
fn settle(call: LocalBoxFuture<'static, Result<JsValue, Error>>) -> Promise {
    future_to_promise(Mortal::new(async move { call.await.map_err(|error| errors::to_js(&error)) }))
}

/// A future that is never polled and never woken once its life is over.
struct Mortal<F> {
    life: Life,
    future: Pin<Box<F>>,
    /// The executor's waker and ours around it, made once.
    waker: Option<(Waker, Waker)>,
}

impl<F> Mortal<F> {
    fn new(future: F) -> Self {
        Self { life: Life::now(), future: Box::pin(future), waker: None }
    }
}

struct MortalWaker {
    life: Life,
    executor: Waker,
}

impl Wake for MortalWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The executor still holds the task it was polling as borrowed: waking that would panic.
        if !self.life.over() {
            self.executor.wake_by_ref();
        }
    }
}

impl<F: Future> Future for Mortal<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.life.over() {
            return Poll::Pending;
        }
        let life = self.life;
        let waker = match &self.waker {
            Some((executor, ours)) if executor.will_wake(context.waker()) => ours.clone(),
            _ => {
                let executor = context.waker().clone();
                let ours = Waker::from(Arc::new(MortalWaker { life, executor: executor.clone() }));
                self.waker = Some((executor, ours.clone()));
                ours
            }
        };
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}
