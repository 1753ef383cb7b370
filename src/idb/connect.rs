//! Opening and deleting a database, so that every attempt ends.
//!
//! An open request cannot be taken back, and one left alone would create an empty layout when it
//! gets its turn. So each runs to its end in the background, with its migration; a caller that has
//! given up leaves a connection that is closed as soon as it is there.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::{Either, select};
use js_sys::Reflect;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{IdbDatabase, IdbFactory, IdbOpenDbRequest, IdbVersionChangeEvent};

use super::{errors, migrate, schema, wait};
use crate::store::StoreError;

/// How long other tabs get to let go of the database, in milliseconds.
const BLOCKED_LIMIT: u32 = 2_000;

/// How long a browser may say nothing at all, in milliseconds. Some have hung for ever.
const SILENCE_LIMIT: u32 = 15_000;

const STEP: u32 = 100;

/// Whether a database may be created.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Create it when it is not there.
    Create,
    /// It was there before: when it is gone, fail with [`StoreError::Closed`] and leave nothing.
    Existing,
}

/// What a request went through so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Blocked,
    Upgrading,
}

/// Opens a database at [`schema::VERSION`].
pub(super) async fn open(name: &str, rule: Rule) -> Result<IdbDatabase, StoreError> {
    let request =
        factory()?.open_with_u32(name, schema::VERSION).map_err(|thrown| errors::opening(&thrown))?;
    let phase = Rc::new(Cell::new(Phase::Waiting));
    let (send, opened) = oneshot::channel();
    let task = run_open(request, name.to_owned(), rule, phase.clone());
    spawn_local(async move {
        if let Err(Ok(late)) = send.send(task.await) {
            late.close();
        }
    });
    within_limits(opened, &phase).await
}

/// Deletes a database; one that is not there counts as deleted.
///
/// Other stores of the database are closed by it, in this page and in other tabs.
///
/// # Errors
/// [`StoreError::Blocked`] when a tab does not let go within two seconds; the database is then
/// deleted as soon as it does. [`StoreError::Unavailable`] where there is no IndexedDB.
pub async fn delete_database(name: &str) -> Result<(), StoreError> {
    let request = factory()?.delete_database(name).map_err(|thrown| errors::opening(&thrown))?;
    let phase = Rc::new(Cell::new(Phase::Waiting));
    let (send, deleted) = oneshot::channel();
    let seen = phase.clone();
    spawn_local(async move {
        let blocked = on_blocked(&request, seen);
        let result = wait::result(&request).await.map(|_| ()).map_err(|thrown| errors::opening(&thrown));
        request.set_onblocked(None);
        drop(blocked);
        // The caller may have given up.
        let _ = send.send(result);
    });
    within_limits(deleted, &phase).await
}

/// The browser's factory, in a page or a worker.
fn factory() -> Result<IdbFactory, StoreError> {
    let unavailable = |why: String| StoreError::Unavailable(why);
    let factory = Reflect::get(&js_sys::global(), &JsValue::from_str("indexedDB"))
        .map_err(|thrown| unavailable(errors::describe(&thrown)))?;
    if factory.is_object() {
        Ok(factory.unchecked_into())
    } else {
        Err(unavailable("there is no IndexedDB here".into()))
    }
}

async fn run_open(
    request: IdbOpenDbRequest,
    name: String,
    rule: Rule,
    phase: Rc<Cell<Phase>>,
) -> Result<IdbDatabase, StoreError> {
    let failure = Rc::new(RefCell::new(None));
    let blocked = on_blocked(&request, phase.clone());
    let upgrade = on_upgrade(&request, failure.clone(), move |request, from| {
        phase.set(Phase::Upgrading);
        if from == 0 && rule == Rule::Existing {
            return Err(StoreError::Closed);
        }
        migrate::upgrade(request, from).map_err(|thrown| StoreError::Failed(errors::describe(&thrown)))
    });
    let result = wait::result(&request).await;
    request.set_onblocked(None);
    request.set_onupgradeneeded(None);
    drop((blocked, upgrade));
    if let Some(error) = failure.take() {
        return Err(error);
    }
    match result {
        Ok(database) => Ok(database.unchecked_into()),
        Err(thrown) if errors::is_newer(&thrown) => Err(newer(&name).await),
        Err(thrown) => Err(errors::opening(&thrown)),
    }
}

/// The error that names the version of a database that is too new.
async fn newer(name: &str) -> StoreError {
    let request = match factory().map(|factory| factory.open(name)) {
        Ok(Ok(request)) => request,
        Ok(Err(thrown)) => return errors::opening(&thrown),
        Err(error) => return error,
    };
    // Deleted meanwhile: do not create it anew.
    let failure = Rc::new(RefCell::new(None));
    let upgrade = on_upgrade(&request, failure.clone(), |_, _| Err(StoreError::Closed));
    let result = wait::result(&request).await;
    request.set_onupgradeneeded(None);
    drop(upgrade);
    if let Some(error) = failure.take() {
        return error;
    }
    match result {
        Ok(database) => {
            let database: IdbDatabase = database.unchecked_into();
            database.close();
            errors::newer(database.version())
        }
        Err(thrown) => errors::opening(&thrown),
    }
}

type ChangeHandler = Closure<dyn FnMut(IdbVersionChangeEvent)>;

fn on_blocked(request: &IdbOpenDbRequest, phase: Rc<Cell<Phase>>) -> ChangeHandler {
    let handler = ChangeHandler::new(move |_| phase.set(Phase::Blocked));
    request.set_onblocked(Some(handler.as_ref().unchecked_ref()));
    handler
}

/// Runs `step` in the upgrade's transaction; when it fails, nothing of the upgrade happens.
fn on_upgrade(
    request: &IdbOpenDbRequest,
    failure: Rc<RefCell<Option<StoreError>>>,
    step: impl Fn(&IdbOpenDbRequest, u32) -> Result<(), StoreError> + 'static,
) -> ChangeHandler {
    let upgrading = request.clone();
    let handler = ChangeHandler::new(move |event: IdbVersionChangeEvent| {
        if let Err(error) = step(&upgrading, event.old_version() as u32) {
            *failure.borrow_mut() = Some(error);
            if let Some(transaction) = upgrading.transaction() {
                // Only an ended transaction refuses, and this one has just begun.
                let _ = transaction.abort();
            }
        }
    });
    request.set_onupgradeneeded(Some(handler.as_ref().unchecked_ref()));
    handler
}

async fn within_limits<T>(
    mut answer: oneshot::Receiver<Result<T, StoreError>>,
    phase: &Cell<Phase>,
) -> Result<T, StoreError> {
    let (mut silent, mut blocked) = (0, 0);
    loop {
        answer = match select(answer, Box::pin(wait::sleep(STEP))).await {
            Either::Left((answered, _)) => {
                return answered
                    .unwrap_or_else(|_| Err(StoreError::Failed("a request of the browser ended".into())));
            }
            Either::Right(((), answer)) => answer,
        };
        match phase.get() {
            Phase::Waiting => silent += STEP,
            Phase::Blocked => blocked += STEP,
            Phase::Upgrading => {}
        }
        if blocked >= BLOCKED_LIMIT {
            return Err(StoreError::Blocked);
        }
        if silent >= SILENCE_LIMIT {
            return Err(StoreError::Failed("the browser does not open its database".into()));
        }
    }
}
