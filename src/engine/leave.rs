//! Leave requests: asked for, noted, served (GMOD-031, GMOD-032, GMOD-033).
//!
//! A request is a message of the one who wants to leave; only its authenticated sender says who
//! that is. A super admin's client serves it with a removal; until that is applied, the request
//! stays pending, whatever fails.

use crate::base::InboxId;
use crate::engine::send::writable;
use crate::engine::state::{GroupCtx, Me};
use crate::engine::unit::Unit;
use crate::error::Error;
use crate::store::rows::{ContentTypeView, GroupKind, GroupRow, Operation};
use crate::wire::content_type::{AUTHORITY, LEAVE_REQUEST};

/// Whether the own inbox may ask to leave; `false` when its request is pending already.
///
/// # Errors
/// GMOD-031: `group.not_a_member`, `group.leave_dm`, `group.leave_alone`, `group.leave_super_admin`.
pub fn may_request(ctx: &GroupCtx, me: &Me) -> Result<bool, Error> {
    writable(ctx)?;
    let row = &ctx.row;
    let refused = |code, why: &str| Err(Error::new(code, why));
    if row.kind != GroupKind::Group {
        return refused("group.leave_dm", "a DM cannot be left; block the other inbox instead");
    }
    if row.members.len() < 2 {
        return refused("group.leave_alone", "the last member cannot leave: nobody could remove it");
    }
    if row.settings.super_admins.contains(&me.inbox) {
        return refused(
            "group.leave_super_admin",
            "a super admin cannot leave; have the role taken away first",
        );
    }
    Ok(!row.leaving.contains(&me.inbox))
}

/// True for the content type of a leave request.
pub fn is_request(content_type: &ContentTypeView) -> bool {
    content_type.authority == AUTHORITY && content_type.type_id == LEAVE_REQUEST && content_type.major == 1
}

/// Notes the request of an authenticated sender (GMOD-032).
pub fn note(ctx: &mut GroupCtx, sender: InboxId) {
    let member = ctx.row.members.iter().any(|member| member.inbox == sender);
    if member && ctx.row.kind == GroupKind::Group && !ctx.row.leaving.contains(&sender) {
        ctx.row_mut().leaving.push(sender);
    }
}

/// Forgets a request of ours that was never accepted by the service.
pub fn withdraw(ctx: &mut GroupCtx, own: InboxId) {
    if ctx.row.leaving.contains(&own) || ctx.row.left {
        let row = ctx.row_mut();
        row.leaving.retain(|inbox| *inbox != own);
        row.left = false;
    }
}

/// Drops requests that a commit has settled.
pub fn settle(row: &mut GroupRow, own: InboxId) {
    let members: Vec<InboxId> = row.members.iter().map(|member| member.inbox).collect();
    row.left |= row.leaving.contains(&own) && !members.contains(&own);
    row.leaving.retain(|inbox| members.contains(inbox));
}

/// With the authority to do so, wants the removal of everyone whose request is pending
/// (GMOD-033, PERM-003, PERM-025).
pub fn serve(ctx: &mut GroupCtx, me: &Me, unit: &mut Unit) {
    if ctx.row.leaving.is_empty() || !ctx.is_active() {
        return;
    }
    let supers = &ctx.row.settings.super_admins;
    if !supers.contains(&me.inbox) {
        return;
    }
    let wanted = |inbox: &&InboxId| {
        let removes = |operation: &Operation| match operation {
            Operation::RemoveInboxes(inboxes) => inboxes.contains(inbox),
            _ => false,
        };
        !supers.contains(inbox) && !ctx.intents.values().any(|intent| removes(&intent.operation))
    };
    let going: Vec<InboxId> = ctx.row.leaving.iter().filter(wanted).copied().collect();
    if !going.is_empty() {
        ctx.add_intent(Operation::RemoveInboxes(going), unit);
        unit.changes.strict();
    }
}
