//! What pages were asked for and what they answered.

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, InboxId, SequenceId};
use dovetail::client::Role;
use dovetail::error::Error;
use dovetail::store::rows::LeftOut;

/// Something asked of a page.
#[derive(Clone, Debug)]
pub enum Want {
    /// A setting with a text never used before.
    Text(String),
    Add(Vec<InboxId>),
    Remove(Vec<InboxId>),
    Role(InboxId, Role, bool),
    /// A message with a text never used before.
    Send(String),
    Leave,
    /// A change that is only checked by what all see in the end.
    Other,
}

/// An answer: done, or not, or nobody knows because the page died or it goes on in the background.
#[derive(Clone, Debug)]
pub enum Answer {
    Waiting,
    Done(LeftOut),
    Refused,
    Unknown,
}

#[derive(Debug)]
pub struct Promise {
    pub device: usize,
    pub group: GroupId,
    pub want: Want,
    /// The end of the topic that the device was shown when it was asked, and the topic's end when the
    /// answer was seen.
    pub from: SequenceId,
    pub until: SequenceId,
    pub answer: Answer,
}

pub type Slot = Rc<RefCell<Option<Result<LeftOut, Error>>>>;

/// A call that has not ended.
pub struct Running {
    pub page: usize,
    pub promise: usize,
    pub slot: Slot,
}

/// What an ended call says. Errors nobody should ever see fail the run; a revoked device is refused
/// by the rules themselves.
pub fn answer(result: Result<LeftOut, Error>, revoked: bool) -> Answer {
    let error = match result {
        Ok(left_out) => return Answer::Done(left_out),
        Err(error) => error,
    };
    let never = error.code.starts_with("bug.") || error.code.starts_with("identity.");
    let closed = matches!(error.code, "client.closed" | "store.closed");
    assert!(!never && (closed || !error.code.starts_with("store.")), "{error}");
    let unheard = matches!(error.code, "delivery.invalid" | "group.limit");
    assert!(!unheard && (revoked || error.code != "commit.rejected"), "{error}");
    if closed || error.message.contains("goes on") || error.message.contains("another tab") {
        return Answer::Unknown;
    }
    Answer::Refused
}
