//! Locks between the pages of an origin. They only save work, and say who is alive: what is written
//! is kept right by revisions, here and where there are no locks.

use futures::channel::oneshot;
use futures::future::{Either, select};
use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::life;
use crate::client::owned;
use crate::error::Error;

/// A promise, and the function that resolves it.
pub fn promise() -> (Promise, Option<Function>) {
    let mut resolve = None;
    let held = Promise::new(&mut |resolver, _| resolve = Some(resolver));
    (held, resolve)
}

/// A function that aborts, and the signal it sets; none where there is no AbortController.
pub fn abort_controller() -> (Option<Function>, JsValue) {
    let make = || -> Result<(Function, JsValue), JsValue> {
        let class: Function = Reflect::get(&js_sys::global(), &"AbortController".into())?.dyn_into()?;
        let controller = Reflect::construct(&class, &Array::new())?;
        let abort: Function = Reflect::get(&controller, &"abort".into())?.dyn_into()?;
        Ok((abort.bind0(&controller), Reflect::get(&controller, &"signal".into())?))
    };
    match make() {
        Ok((abort, signal)) => (Some(abort), signal),
        Err(_) => (None, JsValue::UNDEFINED),
    }
}

/// Asks for a lock with one option; `hold` is called with it, or with null, and says how long it is
/// held. `None` where there are no locks.
pub fn request(
    name: &str,
    (option, value): (&str, &JsValue),
    hold: impl FnOnce(JsValue) -> Promise + 'static,
) -> Option<Promise> {
    let navigator = Reflect::get(&js_sys::global(), &"navigator".into()).ok()?;
    let locks = Reflect::get(&navigator, &"locks".into()).ok().filter(JsValue::is_object)?;
    let ask: Function = Reflect::get(&locks, &"request".into()).ok()?.dyn_into().ok()?;
    let options = Object::new();
    if !value.is_undefined() {
        Reflect::set(&options, &option.into(), value).ok()?;
    }
    let hold = Closure::once_into_js(hold);
    ask.call3(&locks, &name.into(), &options, &hold).ok()?.dyn_into().ok()
}

/// A lock that is held until it is dropped, or its page is gone.
pub struct Seat(Function);

impl Seat {
    /// Takes the lock of the durable stream, unless somebody holds it. `None` where there are no
    /// locks, or none for this page.
    ///
    /// # Errors
    /// `stream.owned` when somebody holds it.
    pub async fn take(name: &str) -> Result<Option<Self>, Error> {
        let (held, release) = promise();
        let (told, answer) = oneshot::channel();
        let hold = move |lock: JsValue| {
            let free = !lock.is_null();
            // The other end waits for nothing else.
            let _ = told.send(free);
            if free { held } else { Promise::resolve(&JsValue::UNDEFINED) }
        };
        let asked = request(name, ("ifAvailable", &JsValue::TRUE), hold);
        let (Some(asked), Some(release)) = (asked, release) else { return Ok(None) };
        match select(answer, JsFuture::from(asked)).await {
            Either::Left((Ok(true), _)) => {
                life::at_crash(&release);
                Ok(Some(Self(release)))
            }
            Either::Left((Ok(false), _)) => Err(owned()),
            _ => Ok(None),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        life::forget_crash(&self.0);
        // It resolves a promise, which does not throw.
        let _ = self.0.call0(&JsValue::UNDEFINED);
    }
}
