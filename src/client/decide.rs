//! Several consent decisions as one act: one commit, one time, events together (CONS-011).

use std::collections::BTreeMap;

use crate::base::ThreadId;
use crate::client::Client;
use crate::client::driver::Step;
use crate::consent::{Entity, Record, State};
use crate::engine::consent;
use crate::engine::state::ThreadCtx;
use crate::error::Error;

impl Client {
    /// Sets the consent of several entities, all now, or of none. Of two decisions about one
    /// entity the last counts.
    ///
    /// # Errors
    /// `store.*`.
    pub async fn set_consents(&self, decisions: &[(Entity, State)]) -> Result<(), Error> {
        self.0.open()?;
        let mut located = Vec::with_capacity(decisions.len());
        for (at, (entity, state)) in decisions.iter().enumerate() {
            if decisions.iter().skip(at + 1).any(|(later, _)| later == entity) {
                continue;
            }
            let place = match entity {
                Entity::Conversation(group) => match self.0.group_row(*group).await? {
                    Some(row) => Place::In(row.thread()),
                    None => Place::Apart(self.0.consent_of(*entity).await?),
                },
                Entity::Inbox(_) => Place::Apart(self.0.consent_of(*entity).await?),
            };
            located.push((*entity, *state, place));
        }
        self.0.step(async |step| decide(step, &located).await).await
    }
}

/// Where an entity's record belongs.
enum Place {
    /// With the thread of its group.
    In(ThreadId),
    /// Nowhere else: the stored record.
    Apart(Option<Record>),
}

async fn decide(step: &mut Step<'_>, located: &[(Entity, State, Place)]) -> Result<(), Error> {
    let mut threads: BTreeMap<ThreadId, ThreadCtx> = BTreeMap::new();
    for (entity, state, place) in located {
        match (entity, place) {
            (Entity::Conversation(group), Place::In(thread)) => {
                if !threads.contains_key(thread) {
                    let ctx = step.take_thread(*thread).await?;
                    threads.insert(*thread, ctx);
                }
                if let Some(ctx) = threads.get_mut(thread) {
                    consent::decide(ctx, &[*group], *state, &mut step.unit);
                }
            }
            (_, Place::Apart(stored)) => {
                consent::decide_apart(stored.as_ref(), *entity, *state, &mut step.unit);
            }
            (Entity::Inbox(_), Place::In(_)) => return Err(Error::bug("an inbox in a thread")),
        }
    }
    threads.into_values().for_each(|ctx| step.keep_thread(ctx));
    Ok(())
}
