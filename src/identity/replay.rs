//! The log of an inbox and the state at each of its sequence ids (GMOD-013, GMOD-014, IDENT-004,
//! IDENT-070).

use std::rc::Rc;

use super::state::apply_again;
use super::{AssociationState, IdentityError, IdentityUpdate, MemberId, Refusal, SignatureKind, apply};
use crate::base::{InboxId, SequenceId};

/// What replay made of one update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is part of the state.
    Accepted,
    /// It changes nothing; it still holds its sequence id.
    Refused(Refusal),
    /// It or an earlier update carries a signature this version cannot verify.
    Unknown(SignatureKind),
}

/// An inbox's updates, replayed in order; grows as updates are fetched.
#[derive(Clone, Debug)]
pub struct Log {
    inbox: InboxId,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    sequence_id: SequenceId,
    state: Result<Option<Rc<AssociationState>>, SignatureKind>,
}

impl Log {
    /// A log without updates.
    pub fn new(inbox: InboxId) -> Self {
        Self { inbox, steps: Vec::new() }
    }

    /// Replays updates in ascending order.
    ///
    /// # Errors
    /// [`IdentityError::OutOfOrder`].
    pub fn replay<B: AsRef<[u8]>>(
        inbox: InboxId,
        updates: impl IntoIterator<Item = (SequenceId, B)>,
    ) -> Result<Self, IdentityError> {
        let mut log = Self::new(inbox);
        for (sequence_id, update) in updates {
            log.push(sequence_id, update.as_ref())?;
        }
        Ok(log)
    }

    /// Replays the next update of the log, whatever its bytes are.
    ///
    /// # Errors
    /// [`IdentityError::OutOfOrder`] unless `sequence_id` is greater than [`Self::head`].
    pub fn push(&mut self, sequence_id: SequenceId, update: &[u8]) -> Result<Verdict, IdentityError> {
        if sequence_id <= self.head() {
            return Err(IdentityError::OutOfOrder(sequence_id));
        }
        let before = self.steps.last().map_or(Ok(None), |step| step.state.clone());
        let (state, verdict) = match before {
            Err(kind) => (Err(kind), Verdict::Unknown(kind)),
            Ok(before) => match self.step(before.as_deref(), update, apply) {
                Ok(state) => (Ok(Some(Rc::new(state))), Verdict::Accepted),
                Err(IdentityError::Refused(refusal)) => (Ok(before), Verdict::Refused(refusal)),
                Err(IdentityError::Unsupported(kind)) => (Err(kind), Verdict::Unknown(kind)),
                Err(other) => return Err(other),
            },
        };
        self.steps.push(Step { sequence_id, state });
        Ok(verdict)
    }

    /// Takes in the next update of a log that was kept with its verdicts, where nobody else writes: the
    /// signatures of one that was accepted are not verified again. Everything else is judged anew,
    /// because a later version may know more.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn restore(
        &mut self,
        sequence_id: SequenceId,
        update: &[u8],
        accepted: bool,
    ) -> Result<(), IdentityError> {
        let before = self.steps.last().map_or(Ok(None), |step| step.state.clone());
        if let (true, Ok(before)) = (accepted && sequence_id > self.head(), before)
            && let Ok(state) = self.step(before.as_deref(), update, apply_again)
        {
            self.steps.push(Step { sequence_id, state: Ok(Some(Rc::new(state))) });
            return Ok(());
        }
        self.push(sequence_id, update).map(|_| ())
    }

    /// The inbox.
    pub fn inbox(&self) -> InboxId {
        self.inbox
    }

    /// The sequence id of the last update; 0 for an empty log.
    pub fn head(&self) -> SequenceId {
        self.steps.last().map_or(SequenceId(0), |step| step.sequence_id)
    }

    /// How many updates the log holds.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether the log holds no update.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The state at exactly `sequence_id`, never that of another position (GMOD-013).
    ///
    /// `None` names no state: the log holds no update there, or no inbox was created by then.
    /// When `sequence_id` is greater than [`Self::head`], fetch the topic first; once it was
    /// fetched that far, `None` is terminal (GMOD-014).
    ///
    /// # Errors
    /// [`IdentityError::Unsupported`] when the state hangs on a signature of an unverifiable kind.
    pub fn state_at(&self, sequence_id: SequenceId) -> Result<Option<&AssociationState>, IdentityError> {
        match self.steps.binary_search_by_key(&sequence_id, |step| step.sequence_id) {
            Ok(index) => self.steps[index].state(),
            Err(_) => Ok(None),
        }
    }

    /// The state at [`Self::head`].
    ///
    /// # Errors
    /// As [`Self::state_at`].
    pub fn latest(&self) -> Result<Option<&AssociationState>, IdentityError> {
        self.steps.last().map_or(Ok(None), Step::state)
    }

    /// Whether a member of an earlier state is none of the newest: it was revoked, and not added
    /// again. False while the newest state is not known.
    pub fn has_lost(&self, member: &MemberId) -> bool {
        let has = |state: &AssociationState| state.members.contains_key(member);
        let Ok(Some(newest)) = self.latest() else { return false };
        !has(newest) && self.steps.iter().any(|step| step.state().is_ok_and(|state| state.is_some_and(has)))
    }

    fn step(
        &self,
        before: Option<&AssociationState>,
        bytes: &[u8],
        apply: fn(Option<&AssociationState>, &IdentityUpdate) -> Result<AssociationState, IdentityError>,
    ) -> Result<AssociationState, IdentityError> {
        let update = IdentityUpdate::decode(bytes)?;
        if update.inbox != self.inbox {
            return Err(Refusal::WrongInbox.into());
        }
        apply(before, &update)
    }
}

impl Step {
    fn state(&self) -> Result<Option<&AssociationState>, IdentityError> {
        match &self.state {
            Ok(state) => Ok(state.as_deref()),
            Err(kind) => Err(IdentityError::Unsupported(*kind)),
        }
    }
}
