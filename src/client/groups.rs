//! What an app asks of groups: create, members, settings, roles, policies, leave.

use crate::base::{GroupId, InboxId, ThreadId, Topic};
use crate::client::{Client, Inner};
use crate::engine::settings::{Action, Base, Bases, NewGroup, PolicyRead, Role, Setting};
use crate::engine::{build, create, leave, operations, send, settings};
use crate::error::Error;
use crate::store::rows::{LeftOut, Operation, Wish};
use crate::wire::{EncodedContent, LeaveRequest};

impl Client {
    /// Creates a group (GMOD-037).
    ///
    /// Resolves once it is durable, online or not; adding the members goes on in the background.
    /// Inboxes that do not exist or have no usable device are left out.
    ///
    /// # Errors
    /// `client.not_registered`, `client.installation_revoked`, `group.limit`, `input.value` for a
    /// setting that is too long or a policy that cannot be set (PERM-017), `store.*`.
    pub async fn create_group(&self, new: NewGroup) -> Result<GroupId, Error> {
        self.0.registered()?;
        let mut chance = [0; 48];
        self.0.platform.random(&mut chance);
        let group = self
            .0
            .step(async |step| {
                let id = create::group_id(&chance);
                let mut thread = step.take_thread(ThreadId::Group(id)).await?;
                let ctx = create::create_group(&self.0.me, &new, &chance, &mut thread, &mut step.unit)?;
                step.keep_group(ctx);
                step.keep_thread(thread);
                Ok(id)
            })
            .await?;
        self.0.listen(Topic::Group(group));
        self.0.kick(group);
        self.0.kick_devices();
        Ok(group)
    }

    /// Adds inboxes. Resolves when the change is applied and every Welcome is accepted, with whom
    /// it could not bring in (JOIN-011).
    ///
    /// # Errors
    /// `group.unknown_inbox` and `group.no_installation` when none of them can be added,
    /// `group.limit`, `group.permission_denied`, `group.*`, `commit.*`, `delivery.*`.
    pub async fn add_members(&self, group: GroupId, inboxes: &[InboxId]) -> Result<LeftOut, Error> {
        self.0.open()?;
        let known = self.0.identity.newest_states(inboxes).await?;
        if let Some(unknown) = inboxes.iter().find(|inbox| !known.contains_key(inbox)) {
            return Err(Error::new(
                "group.unknown_inbox",
                format!("the inbox {unknown} does not exist; check the id"),
            ));
        }
        let operation = Operation::AddInboxes(distinct(inboxes));
        let left_out = self.0.change_members(group, operation.clone()).await?;
        if build::nobody_added(&operation, &left_out) {
            return Err(Error::new(
                "group.no_installation",
                "none of the inboxes has a device that can be added now",
            ));
        }
        Ok(left_out)
    }

    /// Removes inboxes, and what the group keeps about them (GMOD-039).
    ///
    /// # Errors
    /// `group.self` for the own inbox, `group.permission_denied`, `group.*`, `commit.*`,
    /// `delivery.*`.
    pub async fn remove_members(&self, group: GroupId, inboxes: &[InboxId]) -> Result<(), Error> {
        self.0.open()?;
        self.0.change_members(group, Operation::RemoveInboxes(distinct(inboxes))).await.map(|_| ())
    }

    /// Changes settings, roles and policies, all in one commit.
    ///
    /// # Errors
    /// `input.value` for what a component cannot be, `group.unknown_member` for a role,
    /// `group.permission_denied`, `group.*`, `commit.*`, `delivery.*`.
    pub async fn change(&self, group: GroupId, wishes: Vec<Wish>) -> Result<(), Error> {
        self.0.open()?;
        let group = self.0.winner_of(group).await?;
        self.0.operate(group, Operation::Change(wishes)).await.map(|_| ())
    }

    /// Changes settings, all in one commit.
    ///
    /// # Errors
    /// Those of [`Client::change`].
    pub async fn change_settings(&self, group: GroupId, settings: Vec<Setting>) -> Result<(), Error> {
        self.change(group, settings.into_iter().map(Setting::wish).collect()).await
    }

    /// Gives a member a role or takes it away.
    ///
    /// # Errors
    /// Those of [`Client::change`].
    pub async fn set_role(
        &self,
        group: GroupId,
        inbox: InboxId,
        role: Role,
        given: bool,
    ) -> Result<(), Error> {
        self.change(group, vec![role.wish(inbox, given)]).await
    }

    /// Sets who may insert, update and delete in a component; absent policies stay.
    ///
    /// # Errors
    /// Those of [`Client::change`].
    pub async fn set_policies(&self, group: GroupId, component: u16, policies: Bases) -> Result<(), Error> {
        self.change(group, vec![settings::policies(component, policies)]).await
    }

    /// Sets who may do something: the policies of every component it writes, in one commit.
    ///
    /// # Errors
    /// Those of [`Client::change`]; `input.value` for one that cannot be set (PERM-017).
    pub async fn set_policy(&self, group: GroupId, action: Action, policy: Base) -> Result<(), Error> {
        self.change(group, settings::policy(action, policy)).await
    }

    /// Who may do what in a group.
    ///
    /// # Errors
    /// `conversation.not_found`, `group.not_a_member` once it has ended here.
    pub async fn policies(&self, group: GroupId) -> Result<PolicyRead, Error> {
        self.0.open()?;
        let group = self.0.winner_of(group).await?;
        self.0
            .step(async |step| {
                let ctx = step.need_group(group).await?;
                let facts = ctx.mls.as_ref().map(|mls| mls.group.facts());
                step.keep_group(ctx);
                let facts = facts.ok_or_else(|| {
                    Error::new("group.not_a_member", "the policies are known to members only")
                })?;
                settings::read_policies(&facts)
            })
            .await
    }

    /// Asks to be removed from a group; a second request while one is pending sends nothing
    /// (GMOD-031). The request is a message: durable now, published as soon as possible.
    ///
    /// # Errors
    /// `group.not_a_member`, `group.leave_dm`, `group.leave_alone`, `group.leave_super_admin`,
    /// `store.*`.
    pub async fn request_removal(&self, group: GroupId) -> Result<(), Error> {
        self.0.not_revoked()?;
        let key = self.0.random_hex();
        let content = EncodedContent::leave_request(&LeaveRequest::default()).encode();
        let request = send::Outbound::leave_request(content, key);
        self.0
            .step(async |step| {
                let mut ctx = step.need_group(group).await?;
                if leave::may_request(&ctx, &self.0.me)? {
                    let mut thread = step.take_thread(ctx.row.thread()).await?;
                    send::send(&mut ctx, &mut thread, &self.0.me, &request, &mut step.unit)?;
                    leave::note(&mut ctx, self.0.me.inbox);
                    self.0.note_fresh(&step.unit);
                    step.keep_thread(thread);
                }
                step.keep_group(ctx);
                Ok(())
            })
            .await?;
        self.0.kick(group);
        Ok(())
    }
}

impl Inner {
    async fn change_members(
        self: &std::rc::Rc<Self>,
        group: GroupId,
        operation: Operation,
    ) -> Result<LeftOut, Error> {
        let group = self.winner_of(group).await?;
        let kind = self.group_row(group).await?.ok_or_else(super::load::not_found)?.kind;
        if !operations::fits(kind, &operation) {
            return Err(Error::new("group.dm", "the two inboxes of a DM are fixed; create a group instead"));
        }
        self.operate(group, operation).await
    }
}

fn distinct(inboxes: &[InboxId]) -> Vec<InboxId> {
    let mut distinct: Vec<InboxId> = Vec::with_capacity(inboxes.len());
    for inbox in inboxes {
        if !distinct.contains(inbox) {
            distinct.push(*inbox);
        }
    }
    distinct
}
