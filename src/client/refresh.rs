//! Membership refresh: members whose identity has moved past what their group names are brought up
//! to date by whoever notices first (GMOD-029). Pending leave requests are looked at with it.
//!
//! Choices: every sync looks, and in the background every word of a member's new identity update
//! does. Whoever is late finds nothing left to do. Own new devices are brought into conversations
//! of the last 90 days that are not denied (facts 6.1); into the others they come with the first
//! look after the user allowed or wrote, when this device adds somebody, or by another member's
//! device, which knows nothing of that. A revoked device is removed everywhere and at once.

use crate::base::Gather as _;
use crate::base::{Map, Set};
use std::rc::Rc;

use crate::base::{GroupId, InboxId, InstallationId, SequenceId};
use crate::client::{Inner, load};
use crate::consent::State;
use crate::engine::key_packages::DAY_NS;
use crate::engine::leave;
use crate::error::Error;
use crate::store::rows::{GroupKind, GroupRow, GroupState, Operation};

/// Own new devices are brought into conversations of so many nanoseconds (facts 6.1).
const LATELY_NS: i64 = 90 * DAY_NS;

impl Inner {
    /// Compares the members of these groups with their newest identity updates, and wants a change
    /// of every group that is behind. Names the groups that now owe one.
    ///
    /// # Errors
    /// `delivery.*` when the service cannot be reached. A log it withholds keeps the others from nothing.
    pub(super) async fn refresh_members(self: &Rc<Self>, rows: &[GroupRow]) -> Result<Vec<GroupId>, Error> {
        let inboxes: Set<InboxId> =
            rows.iter().flat_map(|row| row.members.iter().map(|member| member.inbox)).gather();
        let inboxes: Vec<InboxId> = inboxes.into_iter().collect();
        let mut newest = self.identity.readable(&inboxes).await?;
        let own = self.identity.states(&[self.me.inbox], false).await?.pop();
        // A revoked installation can change nothing any more; others will see to it.
        if own.as_ref().is_some_and(|state| !state.has_installation(self.me.installation)) {
            return Ok(Vec::new());
        }
        let own = own.map(|state| state.installations());
        let own_at = newest.get(&self.me.inbox).copied();
        let mut owing = Vec::new();
        for row in rows {
            newest.extend(own_at.map(|at| (self.me.inbox, at)));
            if behind(row, &newest).contains(&self.me.inbox)
                && !loses_device(row, self.me.inbox, own.as_ref())
                && self.is_put_off(row).await?
            {
                newest.remove(&self.me.inbox);
            }
            let behind = behind(row, &newest);
            let asked = !row.leaving.is_empty();
            if (asked || !behind.is_empty()) && self.want_refresh(row.id, &newest).await? {
                owing.push(row.id);
            }
        }
        Ok(owing)
    }

    /// True for a conversation own new devices are not brought into for now: one that is denied, or
    /// where nothing happened for long.
    async fn is_put_off(&self, row: &GroupRow) -> Result<bool, Error> {
        if row.kind == GroupKind::Sync {
            return Ok(false);
        }
        let active = row.last_message_ns.unwrap_or_default().max(row.created_ns).max(row.joined_ns);
        if self.platform.now().0.saturating_sub(active.0) > LATELY_NS {
            return Ok(true);
        }
        let answers = self.store.read(load::consents(row.thread(), row.id).into()).await?;
        let [thread, own] = answers.as_slice() else { return Err(Error::bug("no answer")) };
        Ok(load::consent(thread, own)? == State::Denied)
    }

    async fn want_refresh(&self, group: GroupId, newest: &Map<InboxId, SequenceId>) -> Result<bool, Error> {
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

/// True when a group has a leaf of the own inbox that is none of its installations any more.
fn loses_device(row: &GroupRow, own: InboxId, installations: Option<&Set<InstallationId>>) -> bool {
    let leaves = row.members.iter().filter(|member| member.inbox == own).flat_map(|m| &m.installations);
    let gone = |leaf: &InstallationId| installations.is_some_and(|known| !known.contains(leaf));
    leaves.into_iter().any(gone)
}

/// Members whose entry names less than their newest update.
fn behind(row: &GroupRow, newest: &Map<InboxId, SequenceId>) -> Vec<InboxId> {
    if row.state != GroupState::Active {
        return Vec::new();
    }
    let late = row.members.iter().filter(|m| newest.get(&m.inbox).is_some_and(|at| *at > m.sequence_id));
    late.map(|member| member.inbox).collect()
}
