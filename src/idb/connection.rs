//! The connection of one store: in use, lost and opened again, or ended.
//!
//! | state | next call | left when |
//! |---|---|---|
//! | open | uses it | it is lost, closed by us, or another tab upgrades or deletes the database |
//! | lost | opens the same database again, once for all calls that wait | that works or fails |
//! | ended | gives the error it ended with | never |

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use futures::lock::Mutex;
use js_sys::Object;
use wasm_bindgen::JsCast;
use web_sys::{Event, IdbDatabase, IdbVersionChangeEvent};

use super::connect::{self, Rule};
use super::errors;
use super::wait::Handler;
use crate::store::StoreError;

enum State {
    Open(IdbDatabase),
    Lost,
    Ended(StoreError),
}

/// A database's connection.
pub(super) struct Connection {
    name: String,
    state: RefCell<State>,
    reopening: Mutex<()>,
    handlers: RefCell<Vec<Handler>>,
}

impl Connection {
    /// Opens a database, and creates it when it is not there.
    pub(super) async fn open(name: &str) -> Result<Rc<Self>, StoreError> {
        let database = connect::open(name, Rule::Create).await?;
        let connection = Rc::new(Self {
            name: name.to_owned(),
            state: RefCell::new(State::Lost),
            reopening: Mutex::new(()),
            handlers: RefCell::default(),
        });
        connection.adopt(database);
        Ok(connection)
    }

    /// The database; one that was lost is opened again if `same` accepts it.
    pub(super) async fn database(
        self: &Rc<Self>,
        same: impl AsyncFnOnce(&IdbDatabase) -> Result<bool, StoreError>,
    ) -> Result<IdbDatabase, StoreError> {
        if let Some(known) = self.known() {
            return known;
        }
        let _guard = self.reopening.lock().await;
        if let Some(known) = self.known() {
            return known;
        }
        let database = connect::open(&self.name, Rule::Existing).await?;
        match same(&database).await {
            Ok(true) => {}
            Ok(false) => {
                database.close();
                self.end(StoreError::Closed);
                return Err(StoreError::Closed);
            }
            Err(error) => {
                database.close();
                return Err(error);
            }
        }
        // Closed while it was being opened?
        if let Some(known) = self.known() {
            database.close();
            return known;
        }
        self.adopt(database.clone());
        Ok(database)
    }

    /// The open database or the error the connection ended with, without opening anything.
    pub(super) fn known(&self) -> Option<Result<IdbDatabase, StoreError>> {
        match &*self.state.borrow() {
            State::Open(database) => Some(Ok(database.clone())),
            State::Ended(error) => Some(Err(error.clone())),
            State::Lost => None,
        }
    }

    /// Gives a connection up that failed, unless it was replaced already.
    pub(super) fn lose(&self, failed: &IdbDatabase) {
        let current = match &*self.state.borrow() {
            State::Open(database) => Object::is(database, failed),
            _ => false,
        };
        if current {
            let_go(failed);
            *self.state.borrow_mut() = State::Lost;
        }
    }

    /// Ends the connection; transactions under way still finish.
    pub(super) fn close(&self) {
        self.end(StoreError::Closed);
    }

    fn end(&self, error: StoreError) {
        let mut state = self.state.borrow_mut();
        match &*state {
            State::Open(database) => let_go(database),
            State::Lost => {}
            State::Ended(_) => return,
        }
        *state = State::Ended(error);
    }

    fn adopt(self: &Rc<Self>, database: IdbDatabase) {
        let (upgraded, lost) = (Rc::downgrade(self), Rc::downgrade(self));
        let gone = database.clone();
        let on_change = Handler::new(move |event: Event| {
            version_changes(&upgraded, event.unchecked_ref());
        });
        let on_close = Handler::new(move |_| {
            if let Some(connection) = Weak::upgrade(&lost) {
                connection.lose(&gone);
            }
        });
        database.set_onversionchange(Some(on_change.as_ref().unchecked_ref()));
        database.set_onclose(Some(on_close.as_ref().unchecked_ref()));
        *self.state.borrow_mut() = State::Open(database);
        *self.handlers.borrow_mut() = vec![on_change, on_close];
    }
}

/// Closes a database and stops listening, since its handlers may be dropped from now on.
fn let_go(database: &IdbDatabase) {
    database.set_onversionchange(None);
    database.set_onclose(None);
    database.close();
}

/// Another tab upgrades or deletes the database: let go at once, so it need not wait.
fn version_changes(connection: &Weak<Connection>, event: &IdbVersionChangeEvent) {
    if let Some(connection) = connection.upgrade() {
        connection.end(event.new_version().map_or(StoreError::Closed, errors::newer));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}
