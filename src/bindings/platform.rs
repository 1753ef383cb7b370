//! Clock, chance, waiting and tasks of a page or worker.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::future::LocalBoxFuture;
use js_sys::{Function, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::JsFuture;

use super::life;
use crate::base::{Nanos, Platform, SharedPlatform};

const NANOS_PER_MILLI: i64 = 1_000_000;

#[wasm_bindgen]
extern "C" {
    // Windows and workers both have them as globals.
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, ms: i32) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

thread_local! {
    static LAST: Cell<i64> = const { Cell::new(0) };
}

/// The browser as a platform.
pub fn browser() -> SharedPlatform {
    Rc::new(Browser)
}

struct Browser;

impl Platform for Browser {
    /// Milliseconds of the system clock, made distinct: a later reading is always greater, also
    /// when the user sets the clock back.
    fn now(&self) -> Nanos {
        let clock = (js_sys::Date::now() as i64).saturating_mul(NANOS_PER_MILLI);
        LAST.with(|last| {
            let now = clock.max(last.get() + 1);
            last.set(now);
            Nanos(now)
        })
    }

    fn random(&self, out: &mut [u8]) {
        if let Err(error) = getrandom::fill(out) {
            // Going on without chance would make guessable keys.
            panic!("the browser gave no random bytes: {error}");
        }
    }

    fn sleep(&self, ms: u32) -> LocalBoxFuture<'static, ()> {
        Box::pin(sleep(ms))
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        life::spawn(task);
    }
}

/// Completes after `ms` milliseconds; dropping it clears the timer.
pub fn sleep(ms: u32) -> Sleep {
    let mut timer = JsValue::UNDEFINED;
    let promise = Promise::new(&mut |resolve, _| {
        timer = set_timeout(&resolve, i32::try_from(ms).unwrap_or(i32::MAX));
    });
    Sleep { timer, future: JsFuture::from(promise) }
}

/// A timer.
pub struct Sleep {
    timer: JsValue,
    future: JsFuture,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.future).poll(context).map(drop)
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        clear_timeout(&self.timer);
    }
}
