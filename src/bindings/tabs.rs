//! Several tabs on one database: one of them reads in the background, all hear what any committed.
//!
//! Who reads is settled by a Web Lock, held while a client lives and free again when it is closed
//! or its page is gone; the next in line takes over. Without Web Locks every tab reads for itself:
//! the database's revisions keep that right, it only costs work. Commits are told over a
//! BroadcastChannel; without one a tab sees what others did when it reads.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::StreamExt;
use futures::channel::mpsc;
use js_sys::{Function, Uint8Array};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::life::{self, Life};
use super::locks;
use super::options::Arg;
use super::platform::sleep;
use crate::client::{Client, EventSubscription, Overheard};

/// Commits this close to one another are told together, in milliseconds.
const TOGETHER_MS: u32 = 15;

#[wasm_bindgen]
extern "C" {
    type BroadcastChannel;
    #[wasm_bindgen(constructor, catch)]
    fn new(name: &str) -> Result<BroadcastChannel, JsValue>;
    #[wasm_bindgen(method, catch, js_name = postMessage)]
    fn post_message(this: &BroadcastChannel, message: &JsValue) -> Result<(), JsValue>;
    #[wasm_bindgen(method, setter)]
    fn set_onmessage(this: &BroadcastChannel, listener: &JsValue);
    #[wasm_bindgen(method)]
    fn close(this: &BroadcastChannel);
}

/// A client's place among the tabs of its database.
pub struct Tab {
    database: String,
    /// Gives the lock back, or stops waiting for it.
    release: Function,
    left: Rc<Cell<bool>>,
    channel: Option<Rc<Channel>>,
    telling: Cell<Option<EventSubscription>>,
}

impl Tab {
    /// Joins the tabs of a database, and reads in the background as soon as no other does.
    pub fn join(client: &Client, database: &str) -> Rc<Self> {
        let left = Rc::new(Cell::new(false));
        let release = lead(client, &format!("dovetail-reads-{database}"), left.clone());
        let (channel, telling) = match BroadcastChannel::new(&format!("dovetail-commits-{database}")) {
            Ok(channel) => {
                let channel = Rc::new(Channel { channel, waiting: RefCell::default() });
                let telling = relay(client, &channel);
                (Some(channel), Some(telling))
            }
            Err(_) => (None, None),
        };
        let database = database.to_owned();
        Rc::new(Self { database, release, left, channel, telling: Cell::new(telling) })
    }

    /// The name of the database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Leaves: another may read, nothing is told or heard any more. Leaving twice is fine.
    pub fn leave(&self) {
        if self.left.replace(true) {
            return;
        }
        drop(self.telling.take());
        if let Some(channel) = &self.channel {
            channel.close();
        }
        life::forget_crash(&self.release);
        // It resolves a promise and aborts a request: neither throws.
        let _ = self.release.call0(&JsValue::UNDEFINED);
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Waits for the lock, then reads in the background; the function ends either.
fn lead(client: &Client, name: &str, left: Rc<Cell<bool>>) -> Function {
    let (held, resolve) = locks::promise();
    let start = {
        let (client, life) = (client.clone(), Life::now());
        move || {
            if !left.get() && life.check().is_ok() {
                client.go_live();
            }
        }
    };
    let (abort, signal) = locks::abort_controller();
    let requested = {
        let (start, held) = (start.clone(), held);
        locks::request(name, ("signal", &signal), move |_| {
            start();
            held
        })
    };
    life::spawn(async move {
        let waited = match requested {
            Some(request) => JsFuture::from(request).await.is_ok(),
            None => false,
        };
        // No locks here, or none for this page: everyone reads. After `leave` it does nothing.
        if !waited {
            start();
        }
    });
    let release = Closure::once_into_js(move || {
        for function in [resolve, abort].into_iter().flatten() {
            // A resolver and a bound `abort` do not throw.
            let _ = function.call0(&JsValue::UNDEFINED);
        }
    });
    let release: Function = release.unchecked_into();
    life::at_crash(&release);
    release
}

/// Tells the others what is committed here, and listeners here what is committed there.
fn relay(client: &Client, channel: &Rc<Channel>) -> EventSubscription {
    // What was heard is told by the same hub, and is not told on.
    let hearing = Rc::new(Cell::new(false));
    let life = Life::now();
    let (sender, mut news) = mpsc::unbounded();
    let heard = move |message: JsValue| {
        if life.check().is_err() {
            return;
        }
        let data = Arg::new(message, "event").field("data").and_then(Arg::bytes);
        let told = data.ok().and_then(|bytes| Overheard::decode(&bytes));
        // The other end is gone once the client is closed.
        let _ = sender.unbounded_send(told);
    };
    life::spawn({
        let (client, hearing) = (client.clone(), hearing.clone());
        async move {
            while let Some(told) = news.next().await {
                let Some(told) = told else {
                    client.overhear_noise().await;
                    continue;
                };
                // What cannot be read now is read when it is asked for.
                if client.overhear(&told, &hearing).await.is_err() && client.is_closed() {
                    return;
                }
            }
        }
    });
    channel.channel.set_onmessage(&Closure::<dyn Fn(JsValue)>::new(heard).into_js_value());
    let channel = channel.clone();
    client.subscribe_commits(move |events| {
        if !hearing.get() {
            channel.tell(events.iter().map(Overheard::of).collect());
        }
    })
}

/// Where commits are told. Each message costs more than what it says, so what follows one closely
/// goes with the next.
struct Channel {
    channel: BroadcastChannel,
    /// What was committed since the last message; `None` when that is some time ago.
    waiting: RefCell<Option<Vec<Overheard>>>,
}

impl Channel {
    fn tell(self: &Rc<Self>, told: Vec<Overheard>) {
        if told.is_empty() {
            return;
        }
        let mut waiting = self.waiting.borrow_mut();
        if let Some(waiting) = &mut *waiting {
            return waiting.extend(told);
        }
        *waiting = Some(Vec::new());
        self.post(told);
        let channel = self.clone();
        life::spawn(async move {
            loop {
                sleep(TOGETHER_MS).await;
                let told = channel.waiting.take().filter(|told| !told.is_empty());
                let Some(told) = told else { return };
                *channel.waiting.borrow_mut() = Some(Vec::new());
                channel.post(told);
            }
        });
    }

    fn post(&self, told: Vec<Overheard>) {
        let bytes = Uint8Array::from(Overheard::encode(&told).as_slice());
        // A closed channel: the client is being closed too.
        let _ = self.channel.post_message(&bytes);
    }

    fn close(&self) {
        if let Some(told) = self.waiting.take().filter(|told| !told.is_empty()) {
            self.post(told);
        }
        self.channel.set_onmessage(&JsValue::NULL);
        self.channel.close();
    }
}
