//! What an app asks of conversations and consent: one committed step each.

use std::rc::Rc;

use crate::base::{GroupId, InboxId, ThreadId, Topic};
use crate::client::{Client, Inner, decide, load};
use crate::consent::{Entity, State, state_of};
use crate::engine::{consent, create};
use crate::error::Error;
use crate::store::rows::{GroupKind, ThreadRow};

impl Client {
    /// The DM with an inbox: the one there is, else a new one (DMS-005).
    ///
    /// Resolves once it is durable, online or not; adding the peer goes on in the background.
    ///
    /// # Errors
    /// `dm.self`, `client.not_registered`, `client.installation_revoked`, `store.*`.
    pub async fn create_dm(&self, peer: InboxId) -> Result<GroupId, Error> {
        self.0.open()?;
        let dm = create::dm_with(&self.0.me, peer)?;
        self.0.registered()?;
        let mut chance = [0; 48];
        self.0.platform.random(&mut chance);
        let group = self
            .0
            .step(async |step| {
                let mut thread = step.fresh_thread(ThreadId::Dm(dm)).await?;
                if let Some(winner) = create::reusable(&thread) {
                    step.keep_thread(thread);
                    return Ok(winner);
                }
                let ctx = create::create_dm(&self.0.me, peer, &chance, &mut thread, &mut step.unit)?;
                let group = ctx.row.id;
                step.keep_group(ctx);
                step.keep_thread(thread);
                Ok(group)
            })
            .await?;
        self.0.listen(Topic::Group(group));
        self.0.kick(group);
        self.0.kick_devices();
        Ok(group)
    }

    /// The DM with an inbox, if there is one: the winner of its set.
    pub async fn dm_with(&self, peer: InboxId) -> Result<Option<GroupId>, Error> {
        self.0.open()?;
        let dm = create::dm_with(&self.0.me, peer)?;
        let row = load::row::<ThreadRow>(&*self.0.store, ThreadId::Dm(dm).to_key()).await?;
        Ok(row.map(|(row, _)| row.winner))
    }

    /// The consent state of an entity; unknown when there is no record (CONS-001).
    pub async fn consent(&self, entity: Entity) -> Result<State, Error> {
        self.0.open()?;
        Ok(state_of(self.0.consent_of(entity).await?.as_ref()))
    }

    /// Sets the consent of a conversation: of every group of a stitched DM, at one time, so that a
    /// blocked peer cannot come back through a duplicate (design section 8).
    pub async fn set_conversation_consent(&self, group: GroupId, state: State) -> Result<(), Error> {
        self.0.open()?;
        let thread = self.0.thread_of(group).await?;
        self.0
            .step(async |step| {
                let mut ctx = step.take_thread(thread).await?;
                let mut named = consent::groups_of(&ctx);
                if !named.contains(&group) {
                    // A DM that never came to life belongs to no set.
                    named.push(group);
                }
                decide::decide_about(step, &mut ctx, &named, state).await?;
                step.keep_thread(ctx);
                Ok(())
            })
            .await?;
        self.0.kick_devices();
        Ok(())
    }

    /// The other groups of a stitched DM (DMS-017); empty for a lone one.
    pub async fn duplicates(&self, group: GroupId) -> Result<Vec<GroupId>, Error> {
        self.0.open()?;
        let mut set = self.0.set_of(group).await?;
        set.retain(|member| *member != group);
        Ok(set)
    }
}

impl Inner {
    /// The thread a group belongs to; that never changes, so it is read once. `None` for a group
    /// that is not stored, and for a sync group, which is no conversation.
    pub(super) async fn known_thread(&self, group: GroupId) -> Result<Option<ThreadId>, Error> {
        if let Some(thread) = self.thread_ids.borrow().get(&group) {
            return Ok(Some(*thread));
        }
        let stored = self.group_row(group).await?;
        let Some(row) = stored.filter(|row| row.kind != GroupKind::Sync) else { return Ok(None) };
        self.thread_ids.borrow_mut().insert(group, row.thread());
        Ok(Some(row.thread()))
    }

    /// The thread a group belongs to.
    pub(super) async fn thread_of(&self, group: GroupId) -> Result<ThreadId, Error> {
        self.known_thread(group).await?.ok_or_else(load::not_found)
    }

    /// The row of a group's thread; `None` when the thread left the list (a failed DM).
    pub(super) async fn thread_row(&self, group: GroupId) -> Result<Option<ThreadRow>, Error> {
        let thread = self.thread_of(group).await?;
        Ok(load::row::<ThreadRow>(&*self.store, thread.to_key()).await?.map(|(row, _)| row))
    }

    /// Every group of the conversation a group belongs to.
    pub(super) async fn set_of(&self, group: GroupId) -> Result<Vec<GroupId>, Error> {
        let row = self.thread_row(group).await?;
        Ok(row.map_or_else(|| vec![group], |row| row.groups.into_iter().map(|entry| entry.group).collect()))
    }

    /// The group a conversation is listed and written in (DMS-007).
    pub(super) async fn winner_of(self: &Rc<Self>, group: GroupId) -> Result<GroupId, Error> {
        Ok(self.thread_row(group).await?.map_or(group, |row| row.winner))
    }
}
