//! Operations on groups an app waits for: stored as an intent, published, read back, applied, and
//! its Welcomes accepted before the call resolves (GMOD-016, GMOD-018, design section 3).

use crate::base::Map;
use std::cell::RefCell;
use std::rc::Rc;

use crate::base::GroupId;
use crate::client::Inner;
use crate::engine::operations;
use crate::engine::send::writable;
use crate::engine::unit::Ended;
use crate::error::Error;
use crate::store::rows::{IntentState, LeftOut, Operation};

/// Runs of the outbox a call waits for before it says that others are always first.
const RUNS: usize = 64;

/// How often a topic is read that does not show its end.
const READS: usize = 3;

/// Before a topic that did not show what it accepted is read again, in milliseconds.
const READ_AGAIN_MS: u32 = 50;

type Done = Result<LeftOut, Error>;

/// Operations a call waits for, with their result once they have ended.
#[derive(Default)]
pub struct Waiting(RefCell<Map<(GroupId, u64), Option<Done>>>);

impl Waiting {
    /// Keeps the results somebody waits for.
    pub fn note(&self, ended: Vec<Ended>) {
        let mut waiting = self.0.borrow_mut();
        for Ended { intent, result } in ended {
            if let Some(slot) = waiting.get_mut(&intent) {
                *slot = Some(result);
            }
        }
    }

    fn result(&self, intent: (GroupId, u64)) -> Option<Done> {
        self.0.borrow().get(&intent).cloned().flatten()
    }
}

/// How an operation stands when its outbox rests.
enum Standing {
    /// Not stored any more: another tab has ended it. True when the group shows its effect.
    Gone(bool),
    /// Nothing was handed out and something stands in its way, so it was taken back.
    TakenBack(Option<Error>),
    /// It goes on with the next run.
    Waits,
    /// Bytes were handed out: it goes on by itself.
    Out(&'static str),
}

impl Inner {
    /// Does an operation and waits until it is done.
    ///
    /// The topic is read first, so that the change is built on what the others did. When the
    /// service cannot be reached before anything was handed out, nothing of the operation is left;
    /// afterwards it goes on in the background, and the error says so.
    ///
    /// # Errors
    /// `client.installation_revoked`; those of [`operations::accept`]; `group.permission_denied`,
    /// `commit.*`, `delivery.*`.
    pub(super) async fn operate(
        self: &Rc<Self>,
        group: GroupId,
        operation: Operation,
    ) -> Result<LeftOut, Error> {
        self.not_revoked()?;
        let Some(number) = self.begin_operation(group, &operation).await? else {
            return Ok(LeftOut::default());
        };
        self.operations.0.borrow_mut().insert((group, number), None);
        let result = self.finish(group, number, &operation).await;
        self.operations.0.borrow_mut().remove(&(group, number));
        result
    }

    /// Stores the operation as an intent; `None` when the group is as it wants it. That is only said of
    /// a topic that was read to its end: a short answer does not show what the others did.
    async fn begin_operation(
        self: &Rc<Self>,
        group: GroupId,
        operation: &Operation,
    ) -> Result<Option<u64>, Error> {
        let mut reads = 0;
        loop {
            self.sync_group(group).await?;
            let number = self
                .step(async |step| {
                    let mut ctx = step.need_group(group).await?;
                    let number = match operations::accept(&ctx, &self.me, operation)? {
                        true => Some(ctx.add_intent(operation.clone(), &mut step.unit)),
                        false => None,
                    };
                    step.unit.changes.strict();
                    step.keep_group(ctx);
                    Ok(number)
                })
                .await?;
            if number.is_some() {
                return Ok(number);
            }
            reads += 1;
            match self.need_end(group).await {
                Err(_) if reads < READS => {}
                end => return end.map(|()| None),
            }
        }
    }

    async fn finish(
        self: &Rc<Self>,
        group: GroupId,
        number: u64,
        operation: &Operation,
    ) -> Result<LeftOut, Error> {
        for _ in 0..RUNS {
            let run = self.run_outbox(group).await;
            if let Some(result) = self.operations.result((group, number)) {
                return result;
            }
            let failed = run.err();
            match (self.standing((group, number), operation, failed.is_some()).await?, failed) {
                (Standing::Gone(true), _) => return Ok(LeftOut::default()),
                (Standing::Gone(false), _) => return Err(ended_elsewhere()),
                (Standing::TakenBack(Some(error)), None) | (Standing::TakenBack(_), Some(error)) => {
                    return Err(error);
                }
                (Standing::Out(what), Some(error)) => return Err(unsettled(error, what)),
                // Accepted and not met in what the topic showed so far.
                (Standing::Out(what), None) => {
                    self.platform.sleep(READ_AGAIN_MS).await;
                    self.sync_group(group).await.map_err(|error| unsettled(error, what))?;
                }
                (Standing::TakenBack(None) | Standing::Waits, _) => {}
            }
        }
        Err(Error::new(
            "commit.contended",
            "others were first each time; the change goes on in the background",
        ))
    }

    /// Looks at an operation that has not ended. One that cannot go on now, because its run failed
    /// or the group waits, is taken back while nothing of it was handed out.
    async fn standing(
        &self,
        (group, number): (GroupId, u64),
        operation: &Operation,
        failed: bool,
    ) -> Result<Standing, Error> {
        self.step(async |step| {
            let mut ctx = step.need_group(group).await?;
            let state = ctx.intents.get(&number).map(|intent| intent.state.clone());
            let standing = match state {
                None => Standing::Gone(operations::shows(&ctx, operation)),
                Some(IntentState::ToPublish) => match writable(&ctx) {
                    Ok(()) if !failed => Standing::Waits,
                    obstacle => {
                        ctx.end_intent(number, &mut step.unit);
                        step.unit.changes.strict();
                        Standing::TakenBack(obstacle.err())
                    }
                },
                Some(IntentState::Published(_)) => {
                    Standing::Out("the change was handed over and its answer is not known")
                }
                Some(IntentState::Committed) => {
                    Standing::Out("the change is applied and not everybody was sent a Welcome yet")
                }
            };
            step.keep_group(ctx);
            Ok(standing)
        })
        .await
    }
}

/// Only the tab that ends an operation knows how: refused, left out in part, or done and overruled
/// since. What the group shows is all this one can tell.
fn ended_elsewhere() -> Error {
    let why = "another tab went on with the change and the group does not show it now; look, then try again";
    Error::new("commit.contended", why)
}

fn unsettled(error: Error, what: &str) -> Error {
    Error::new(error.code, format!("{what}; it goes on by itself ({})", error.message))
}
