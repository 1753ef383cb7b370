//! Consent decisions about named entities as one act: one commit, one time, events together
//! (CONS-011).

use crate::base::{Map, Set};

use crate::base::{GroupId, ThreadId};
use crate::client::driver::Step;
use crate::client::{Client, load};
use crate::consent::{Entity, State};
use crate::engine::state::ThreadCtx;
use crate::engine::{consent, history};
use crate::error::Error;
use crate::store::Table;
use crate::store::rows::{GroupKind, MessageRow};

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
        let mut later = Set::new();
        let counts = |(entity, _): &&(Entity, State)| later.insert(*entity);
        let mut counted: Vec<_> = decisions.iter().rev().filter(counts).copied().collect();
        counted.reverse();
        self.0.step(async |step| decide(step, &counted).await).await?;
        self.0.kick_devices();
        Ok(())
    }
}

/// Where an entity belongs is looked up within the step, so that a conversation joined meanwhile is
/// decided about with its thread.
async fn decide(step: &mut Step<'_>, decisions: &[(Entity, State)]) -> Result<(), Error> {
    let mut threads: Map<ThreadId, ThreadCtx> = Map::new();
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
        decide_about(step, &mut thread, &[group.id], *state).await?;
        threads.insert(thread.id, thread);
    }
    threads.into_values().for_each(|thread| step.keep_thread(thread));
    Ok(())
}

/// Decides about groups of one thread.
pub(super) async fn decide_about(
    step: &mut Step<'_>,
    thread: &mut ThreadCtx,
    named: &[GroupId],
    state: State,
) -> Result<(), Error> {
    if state == State::Denied {
        overtake(step, thread, named).await?;
    }
    consent::decide(thread, named, state, &mut step.unit);
    Ok(())
}

/// A block comes after what was written before it, in any group of the thread, whatever the clock
/// says now.
async fn overtake(step: &mut Step<'_>, thread: &ThreadCtx, named: &[GroupId]) -> Result<(), Error> {
    let mut groups = consent::groups_of(thread);
    for group in named {
        // A DM that never came to life belongs to no set.
        if !groups.contains(group) {
            groups.push(*group);
        }
    }
    let mut reads: Vec<_> = [false, true].map(|silent| history::waiting(thread.id, silent)).into();
    let kinds = reads.len();
    reads.extend(groups.iter().map(|id| load::group(*id)));
    let answers = step.inner.store.read(reads).await?;
    let (waiting, found) = answers.split_at(kinds.min(answers.len()));
    let waiting: Vec<MessageRow> = load::all(waiting)?;
    for (group, found) in groups.iter().zip(found) {
        for row in consent::overtaken(&waiting, *group, step.unit.now) {
            step.unit.changes.put(&row);
            // It waits only as long as nobody has sent it, or given it up.
            let revision = found.first().map_or(0, |record| record.revision);
            step.unit.changes.check(Table::Groups, group.as_bytes().to_vec(), revision);
        }
    }
    Ok(())
}
