//! A group and a thread as loaded for a step.
//!
//! A step changes these in place and flushes them into its [`Unit`]. When the commit fails the
//! client drops them and loads again, so memory is never ahead of disk.

use crate::base::Gather as _;
use crate::base::Map;

use crate::base::{GroupId, SequenceId, ThreadId, Topic, Version};
use crate::base::{InboxId, InstallationId};
use crate::consent::{Record, State, greatest, state_of};
use crate::engine::event::Event;
use crate::engine::unit::{Ended, Unit};
use crate::error::Error;
use crate::mls::{Group, InstallationKeys, Scratch};
use crate::store::Table;
use crate::store::rows::{
    AttemptRow, EncodedMembers, GroupKind, GroupRow, GroupState, IntentRow, IntentState, LeftOut, MlsPageRow,
    NotesRow, Operation, PositionRow, Row, ThreadGroup, ThreadRow, TranscriptRow,
};

/// Who we are.
pub struct Me {
    /// The inbox.
    pub inbox: InboxId,
    /// The installation.
    pub installation: InstallationId,
    /// Its signature keys.
    pub keys: InstallationKeys,
    /// The version this client compares floors with (GMOD-025).
    pub version: Version,
}

/// The MLS side of a group: its state on an in-memory scratch.
pub struct MlsState {
    /// Its rows.
    pub scratch: Scratch,
    /// The group.
    pub group: Group,
}

/// A group with everything a step on it needs.
pub struct GroupCtx {
    /// Its row.
    pub row: GroupRow,
    /// The row's revision; 0 before it is first stored.
    pub revision: u64,
    /// How far its topic was read.
    pub position: PositionRow,
    /// Operations not finished, in order.
    pub intents: Map<u64, IntentRow>,
    /// Bytes handed out and not settled.
    pub attempts: Map<[u8; 32], AttemptRow>,
    /// `None` for a placeholder and after own removal.
    pub mls: Option<MlsState>,
    encoded: EncodedMembers,
    row_changed: bool,
    position_changed: bool,
}

impl GroupCtx {
    /// A context from loaded parts.
    pub fn loaded(
        (row, revision): (GroupRow, u64),
        position: Option<PositionRow>,
        intents: Vec<IntentRow>,
        attempts: Vec<AttemptRow>,
        mls: Option<MlsState>,
    ) -> Self {
        let topic = Topic::Group(row.id);
        let start = SequenceId::default();
        Self {
            position: position.unwrap_or(PositionRow { topic, received: start, processed: start }),
            intents: intents.into_iter().map(|intent| (intent.number, intent)).gather(),
            attempts: attempts.into_iter().map(|attempt| (attempt.hash, attempt)).gather(),
            row,
            revision,
            mls,
            encoded: EncodedMembers::default(),
            row_changed: false,
            position_changed: false,
        }
    }

    /// A context for a group that is not stored yet, read from `start` on.
    pub fn fresh(row: GroupRow, revision: u64, mls: Option<MlsState>, start: SequenceId) -> Self {
        let topic = Topic::Group(row.id);
        let position = PositionRow { topic, received: start, processed: start };
        let mut ctx = Self::loaded((row, revision), Some(position), Vec::new(), Vec::new(), mls);
        ctx.row_changed = true;
        ctx.position_changed = true;
        ctx
    }

    /// The row, to be changed: it is written with the next flush.
    pub fn row_mut(&mut self) -> &mut GroupRow {
        self.row_changed = true;
        &mut self.row
    }

    /// Tells that members, settings, activity, hold or state changed. A sync group is named by no
    /// event (EVENT).
    pub fn announce(&self, unit: &mut Unit) {
        if self.row.kind != GroupKind::Sync {
            unit.events.push(Event::GroupChanged { group: self.row.id, thread: self.row.thread() });
        }
    }

    /// Moves the position behind an envelope that is applied or terminally rejected.
    pub fn advance(&mut self, to: SequenceId) {
        if to > self.position.processed {
            self.position.processed = to;
            self.position.received = self.position.received.max(to);
            self.position_changed = true;
        }
    }

    /// Adds an intent behind the others.
    pub fn add_intent(&mut self, operation: Operation, unit: &mut Unit) -> u64 {
        let row = self.row_mut();
        row.last_intent += 1;
        let (number, group) = (row.last_intent, row.id);
        let intent = IntentRow {
            number,
            group,
            operation,
            state: IntentState::ToPublish,
            builds: 0,
            welcome: None,
            left_out: LeftOut::default(),
        };
        self.put_intent(intent, unit);
        number
    }

    /// Stores an intent's new state.
    pub fn put_intent(&mut self, intent: IntentRow, unit: &mut Unit) {
        unit.changes.put(&intent);
        self.row_changed = true;
        self.intents.insert(intent.number, intent);
    }

    /// Ends an operation and tells whoever waits for it.
    pub fn finish_intent(&mut self, number: u64, result: Result<(), Error>, unit: &mut Unit) {
        let left_out = self.intents.get(&number).map(|intent| intent.left_out.clone());
        let result = result.map(|()| left_out.unwrap_or_default());
        unit.ended.push(Ended { intent: (self.row.id, number), result });
        self.end_intent(number, unit);
    }

    /// Removes a finished intent.
    pub fn end_intent(&mut self, number: u64, unit: &mut Unit) {
        if let Some(intent) = self.intents.remove(&number) {
            unit.changes.delete(Table::Intents, intent.key());
            self.row_changed = true;
        }
    }

    /// Stores bytes about to be handed out, or their new outcome.
    pub fn put_attempt(&mut self, attempt: AttemptRow, unit: &mut Unit) {
        unit.changes.put(&attempt);
        self.row_changed = true;
        self.attempts.insert(attempt.hash, attempt);
    }

    /// Removes a settled attempt.
    pub fn end_attempt(&mut self, hash: [u8; 32], unit: &mut Unit) {
        if let Some(attempt) = self.attempts.remove(&hash) {
            unit.changes.delete(Table::Attempts, attempt.key());
            self.row_changed = true;
        }
    }

    /// True while a commit of ours is wanted or under way: text waits for it.
    pub fn commit_wanted(&self) -> bool {
        self.intents.values().any(IntentRow::wants_commit)
    }

    /// True while proposals of other members are kept: MLS sends no message then.
    pub fn keeps_proposals(&self) -> bool {
        self.mls.as_ref().is_some_and(|mls| !mls.group.kept_proposals().is_empty())
    }

    /// True when the group is ours to write in.
    pub fn is_active(&self) -> bool {
        self.row.state == GroupState::Active && self.mls.is_some()
    }

    /// Puts what changed into the unit: MLS pages, position, and the row under its revision.
    ///
    /// # Errors
    /// `bug.internal` when MLS state does not encode.
    pub fn flush(&mut self, unit: &mut Unit) -> Result<(), Error> {
        if let Some(mls) = &mut self.mls {
            for page in mls.scratch.take_changes().map_err(Error::bug)?.pages {
                self.row_changed = true;
                let mut row =
                    MlsPageRow { group: self.row.id, part: page.part, page: page.page, bytes: vec![] };
                match page.bytes {
                    Some(bytes) => {
                        row.bytes = bytes;
                        unit.changes.put(&row);
                    }
                    None => unit.changes.delete(Table::Mls, row.key()),
                }
            }
        }
        if self.position_changed {
            unit.changes.put(&self.position);
            self.row_changed = true;
        }
        if self.row_changed {
            let body = self.encoded.row(&self.row);
            unit.changes.put_encoded(&self.row, body, self.revision);
            self.revision += 1;
        }
        (self.row_changed, self.position_changed) = (false, false);
        Ok(())
    }

    /// Drops the MLS state of a group we are no longer in, rows and all.
    pub fn drop_mls(&mut self, unit: &mut Unit) {
        self.mls = None;
        unit.changes.delete_prefix(Table::Mls, &MlsPageRow::group_prefix(self.row.id));
        self.row_changed = true;
    }
}

/// A thread with the consent of each of its groups.
pub struct ThreadCtx {
    /// Its id.
    pub id: ThreadId,
    /// Its row, when it is stored.
    pub row: Option<ThreadRow>,
    /// The row's revision.
    pub revision: u64,
    /// Records of its groups.
    pub consents: Map<GroupId, Record>,
    /// For a DM: the membership changes already shown (DMS-011).
    pub transcripts: Vec<TranscriptRow>,
    /// What it keeps about messages about messages.
    pub notes: NotesRow,
    /// The revision of that row.
    pub notes_revision: u64,
}

impl ThreadCtx {
    /// The record of one group's conversation.
    pub fn consent(&self, group: GroupId) -> Option<&Record> {
        self.consents.get(&group)
    }

    /// The record that decides about the thread: the greatest of those of its groups (CONS-010), so
    /// that a newer block of any copy blocks the DM, whichever is the winner.
    pub fn decided(&self) -> Option<&Record> {
        self.greatest_of(self.row.as_ref().map_or(&[], |row| &row.groups))
    }

    /// The greatest record of these groups.
    pub fn greatest_of(&self, groups: &[ThreadGroup]) -> Option<&Record> {
        greatest(groups.iter().filter_map(|entry| self.consents.get(&entry.group)))
    }

    /// The state the thread shows; unknown without any record (CONS-001).
    pub fn state(&self) -> State {
        state_of(self.decided())
    }
}
