//! The conversation list: which lines to read, and which of them an app gets
//! (DMS-007, CONS-030, CONS-031).

use crate::base::{Nanos, ThreadId};
use crate::consent::{Filter, State};
use crate::store::rows::{GroupKind, GroupRow, ListingRow, Row};
use crate::store::{Read, Record, StoreError, Table, after_prefix};

/// By what a list is ordered; newest first either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderBy {
    /// Last activity, else creation.
    #[default]
    LastActivity,
    /// Creation, or the Welcome at a joiner.
    CreatedAt,
}

/// What an app asks of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Absent is not empty: absent means allowed and unknown, empty means none.
    pub consent: Option<Vec<State>>,
    /// Only this kind.
    pub kind: Option<GroupKind>,
    /// Created later than this.
    pub created_after: Option<Nanos>,
    /// Created earlier than this.
    pub created_before: Option<Nanos>,
    /// Every group of each stitched DM (DMS-017).
    pub include_duplicates: bool,
    /// Order.
    pub order_by: OrderBy,
    /// At most so many conversations.
    pub limit: Option<usize>,
}

impl ListOptions {
    /// The lines to read: one range a consent state, newest first.
    pub fn reads(&self) -> Vec<Read> {
        // Another order or a filter beyond consent has to see every line.
        let whole = !self.limits_lines() || self.kind.is_some();
        let limit = if whole { None } else { self.limit.map(|n| u32::try_from(n).unwrap_or(u32::MAX)) };
        self.filter()
            .states()
            .map(|state| Read::Range {
                table: Table::Listing,
                index: None,
                from: Some(vec![state as u8]),
                to: after_prefix(&[state as u8]),
                descending: false,
                limit,
            })
            .collect()
    }

    /// Merges the lines of all states, newest first; a sync group is never listed (SYNC-005).
    pub fn merge(&self, answers: Vec<Vec<Record>>) -> Result<Vec<ListingRow>, StoreError> {
        let mut states: Vec<&[Record]> = answers.iter().map(Vec::as_slice).collect();
        let mut lines = Vec::new();
        // Within a state they come newest first. A key goes on behind the state with the order.
        let newer = |a: &&mut &[Record], b: &&mut &[Record]| a[0].key.get(1..).cmp(&b[0].key.get(1..));
        while let Some(state) = states.iter_mut().filter(|state| !state.is_empty()).min_by(newer) {
            let record = &state[0];
            *state = &state[1..];
            let line = ListingRow::decode(&record.body)?;
            if line.kind != GroupKind::Sync && self.kind.is_none_or(|kind| kind == line.kind) {
                lines.push(line);
            }
        }
        if self.limits_lines() {
            lines.truncate(self.limit.unwrap_or(usize::MAX));
        }
        Ok(lines)
    }

    /// The consent states wanted (CONS-031).
    fn filter(&self) -> Filter {
        Filter::listing(self.consent.as_deref())
    }

    /// True when the first lines are the first conversations.
    fn limits_lines(&self) -> bool {
        self.order_by == OrderBy::LastActivity
            && self.created_after.is_none()
            && self.created_before.is_none()
            && !self.include_duplicates
    }

    /// Whether a group of a duplicates list is wanted by the consent of its thread (CONS-030), which
    /// may be another since its line was read, within the limit; `threads` are those listed so far.
    /// Duplicates ride along with their conversation and do not count against the limit.
    pub fn wants(&self, thread: ThreadId, consent: State, threads: &mut Vec<ThreadId>) -> bool {
        if !self.include_duplicates {
            return true;
        }
        if !self.filter().includes(consent) {
            return false;
        }
        let known = threads.contains(&thread);
        if !known && threads.len() < self.limit.unwrap_or(usize::MAX) {
            threads.push(thread);
            return true;
        }
        known
    }

    /// Applies what only the group's row can answer.
    pub fn finish<T>(&self, mut groups: Vec<T>, row: fn(&T) -> &GroupRow) -> Vec<T> {
        groups.retain(|group| {
            let group = row(group);
            self.created_after.is_none_or(|after| group.created_ns > after)
                && self.created_before.is_none_or(|before| group.created_ns < before)
        });
        if self.order_by == OrderBy::CreatedAt {
            groups.sort_unstable_by(|a, b| {
                let (a, b) = (row(a), row(b));
                b.created_ns.cmp(&a.created_ns).then_with(|| a.id.cmp(&b.id))
            });
        }
        if !self.include_duplicates {
            groups.truncate(self.limit.unwrap_or(usize::MAX));
        }
        groups
    }
}
