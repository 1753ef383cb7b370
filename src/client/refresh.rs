//! Membership refresh: members whose identity has moved past what their group names are brought up
//! to date by whoever notices first (GMOD-029). Pending leave requests are looked at with it.
//!
//! Choice: every sync looks, and in the background every word of a member's new identity update
//! does. Whoever is late finds nothing left to do.

use crate::base::Gather as _;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::base::{GroupId, InboxId, SequenceId};
use crate::client::Inner;
use crate::engine::leave;
use crate::error::Error;
use crate::store::rows::{GroupRow, GroupState, Operation};

impl Inner {
    /// Compares the members of these groups with their newest identity updates, and wants a change
    /// of every group that is behind. Names the groups that now owe one.
    ///
    /// # Errors
    /// `delivery.*` when the service cannot be reached. A log it withholds keeps the others from nothing.
    pub(super) async fn refresh_members(self: &Rc<Self>, rows: &[GroupRow]) -> Result<Vec<GroupId>, Error> {
        let inboxes: BTreeSet<InboxId> =
            rows.iter().flat_map(|row| row.members.iter().map(|member| member.inbox)).gather();
        let inboxes: Vec<InboxId> = inboxes.into_iter().collect();
        let newest = self.identity.readable(&inboxes).await?;
        let own = self.identity.states(&[self.me.inbox], false).await?;
        // A revoked installation can change nothing any more; others will see to it.
        if own.iter().any(|state| !state.has_installation(self.me.installation)) {
            return Ok(Vec::new());
        }
        let mut owing = Vec::new();
        for row in rows {
            let behind = behind(row, &newest);
            let asked = !row.leaving.is_empty();
            if (asked || !behind.is_empty()) && self.want_refresh(row.id, &newest).await? {
                owing.push(row.id);
            }
        }
        Ok(owing)
    }

    async fn want_refresh(
        &self,
        group: GroupId,
        newest: &BTreeMap<InboxId, SequenceId>,
    ) -> Result<bool, Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(false) };
            let before = ctx.intents.len();
            let behind = behind(&ctx.row, newest);
            let wanted = ctx.intents.values().any(|intent| match &intent.operation {
                Operation::Refresh(inboxes) => behind.iter().all(|inbox| inboxes.contains(inbox)),
                _ => false,
            });
            let first = ctx.row.epoch == 0 && ctx.commit_wanted();
            if ctx.is_active() && ctx.row.hold.is_none() && !behind.is_empty() && !wanted && !first {
                ctx.add_intent(Operation::Refresh(behind), &mut step.unit);
                step.unit.changes.strict();
            }
            leave::serve(&mut ctx, &self.me, &mut step.unit);
            let owes = ctx.intents.len() > before;
            step.keep_group(ctx);
            Ok(owes)
        })
        .await
    }
}

/// Members whose entry names less than their newest update.
fn behind(row: &GroupRow, newest: &BTreeMap<InboxId, SequenceId>) -> Vec<InboxId> {
    if row.state != GroupState::Active {
        return Vec::new();
    }
    let late = row.members.iter().filter(|m| newest.get(&m.inbox).is_some_and(|at| *at > m.sequence_id));
    late.map(|member| member.inbox).collect()
}
