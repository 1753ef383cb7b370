//! Futures over the events of requests and transactions, and over time.

use futures::channel::oneshot;
use js_sys::{Function, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DomException, Event, IdbRequest, IdbTransaction};

use super::errors::{self, Fault};

/// What an event calls.
pub(super) type Handler = Closure<dyn FnMut(Event)>;

/// A handler that tells the type of the first event, and the future of it.
fn first_event() -> (Handler, oneshot::Receiver<String>) {
    let (send, receive) = oneshot::channel();
    let mut send = Some(send);
    let handler = Closure::new(move |event: Event| {
        if let Some(send) = send.take() {
            // Nobody listens any more when the future was dropped.
            let _ = send.send(event.type_());
        }
    });
    (handler, receive)
}

/// A transaction that is watched to its end, and aborted when the watcher is dropped before.
pub(super) struct Watched {
    transaction: IdbTransaction,
    ended: bool,
    event: oneshot::Receiver<String>,
    last: Option<IdbRequest>,
    handler: Handler,
}

impl Watched {
    /// To be called in the same turn in which the transaction was made.
    pub(super) fn new(transaction: IdbTransaction) -> Self {
        let (handler, event) = first_event();
        transaction.set_oncomplete(Some(handler.as_ref().unchecked_ref()));
        transaction.set_onabort(Some(handler.as_ref().unchecked_ref()));
        Self { transaction, ended: false, event, last: None, handler }
    }

    /// Completes with the answer to `last`, the last request of a transaction that only reads: the
    /// browser answers in order, so all others are answered too. The transaction's own end is one
    /// turn of the browser later and tells nothing more.
    pub(super) async fn answered(mut self, last: &IdbRequest) -> Result<(), Fault> {
        last.set_onsuccess(Some(self.handler.as_ref().unchecked_ref()));
        self.last = Some(last.clone());
        self.ended().await
    }

    /// Completes with the transaction.
    pub(super) async fn ended(mut self) -> Result<(), Fault> {
        let event = (&mut self.event).await;
        self.ended = true;
        match event.as_deref() {
            Ok("complete" | "success") => Ok(()),
            _ => {
                let reason = self.transaction.error().map_or(JsValue::NULL, DomException::into);
                Err(errors::in_transaction(&reason))
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.transaction.set_oncomplete(None);
        self.transaction.set_onabort(None);
        if let Some(last) = &self.last {
            last.set_onsuccess(None);
        }
        if !self.ended {
            // Fails when it is already over or being committed, which is as good.
            let _ = self.transaction.abort();
        }
    }
}

struct Listening<'a> {
    request: &'a IdbRequest,
    event: oneshot::Receiver<String>,
    _handler: Handler,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.request.set_onsuccess(None);
        self.request.set_onerror(None);
    }
}

/// The result of a request, or its exception.
pub(super) async fn result(request: &IdbRequest) -> Result<JsValue, JsValue> {
    let (handler, event) = first_event();
    request.set_onsuccess(Some(handler.as_ref().unchecked_ref()));
    request.set_onerror(Some(handler.as_ref().unchecked_ref()));
    let mut listening = Listening { request, event, _handler: handler };
    // The handler lives as long as the receiver, so the sender is never dropped first.
    let _ = (&mut listening.event).await;
    match request.error()? {
        Some(exception) => Err(exception.into()),
        None => request.result(),
    }
}

/// Completes after `ms` milliseconds, in a page or a worker.
pub(super) async fn sleep(ms: u32) {
    let (send, receive) = oneshot::channel::<()>();
    let wake = Closure::once_into_js(move || {
        let _ = send.send(());
    });
    let global = js_sys::global();
    let timer = Reflect::get(&global, &JsValue::from_str("setTimeout")).and_then(|timer| {
        timer.unchecked_into::<Function>().call2(&global, &wake, &JsValue::from_f64(f64::from(ms)))
    });
    if timer.is_ok() {
        let _ = receive.await;
    }
}
