//! Consent decisions about named entities as one act: one commit, one time, events together
//! (CONS-011).

use std::collections::BTreeMap;

use crate::base::ThreadId;
use crate::client::driver::Step;
use crate::client::{Client, load};
use crate::consent::{Entity, State};
use crate::engine::consent;
use crate::engine::state::ThreadCtx;
use crate::error::Error;
use crate::store::rows::GroupKind;

impl Client {
    /// Sets the consent of one entity, now.
    ///
    /// # Errors
    /// `store.*`.
    pub async fn set_consent(&self, entity: Entity, state: State) -> Result<(), Error> {
        self.set_consents(&[(entity, state)]).await
    }

    /// Sets the consent of several entities, all now, or of none. Of two decisions about one
    /// entity the last counts.
    ///
    /// # Errors
    /// `conversation.not_found` for a sync group, which nothing is decided about; `store.*`.
    pub async fn set_consents(&self, decisions: &[(Entity, State)]) -> Result<(), Error> {
        self.0.open()?;
        let overruled = |(at, (entity, _)): &(usize, &(Entity, State))| {
            decisions.iter().skip(at + 1).any(|(later, _)| later == entity)
        };
        let counted = decisions.iter().enumerate().filter(|one| !overruled(one));
        let counted: Vec<_> = counted.map(|(_, decision)| *decision).collect();
        self.0.step(async |step| decide(step, &counted).await).await?;
        self.0.kick_devices();
        Ok(())
    }
}

/// Where an entity belongs is looked up within the step, so that a conversation joined meanwhile is
/// decided about with its thread.
async fn decide(step: &mut Step<'_>, decisions: &[(Entity, State)]) -> Result<(), Error> {
    let mut threads: BTreeMap<ThreadId, ThreadCtx> = BTreeMap::new();
    for (entity, state) in decisions {
        let group = match entity {
            Entity::Conversation(group) => step.inner.group_row(*group).await?,
            Entity::Inbox(_) => None,
        };
        let Some(group) = group else {
            let stored = step.inner.consent_row(*entity).await?;
            consent::decide_apart(stored, *entity, *state, &mut step.unit);
            continue;
        };
        if group.kind == GroupKind::Sync {
            return Err(load::not_found());
        }
        let mut thread = match threads.remove(&group.thread()) {
            Some(thread) => thread,
            None => step.take_thread(group.thread()).await?,
        };
        consent::decide(&mut thread, &[group.id], *state, &mut step.unit);
        threads.insert(thread.id, thread);
    }
    threads.into_values().for_each(|thread| step.keep_thread(thread));
    Ok(())
}
