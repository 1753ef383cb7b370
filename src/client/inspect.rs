//! What is behind a conversation, for people who look under the hood: the physical groups, the
//! winner, epochs, consent, what waits and why.

use crate::base::{GroupId, InstallationId, SequenceId, ThreadId, Topic};
use crate::client::{Client, load};
use crate::consent::{Entity, Record, State};
use crate::engine::welcomes;
use crate::error::Error;
use crate::store::rows::{
    EnvelopeRow, EnvelopeState, GroupRow, IntentRow, IntentState, Operation, ThreadRow,
};

/// A conversation from within.
#[derive(Clone)]
pub struct Inspection {
    /// Its thread.
    pub thread: ThreadId,
    /// The group it is listed and written in.
    pub winner: GroupId,
    /// Its consent: the greatest record of all groups decides.
    pub consent: State,
    /// Every group of the set.
    pub groups: Vec<GroupInspection>,
}

/// One physical group.
#[derive(Clone)]
pub struct GroupInspection {
    /// Its row.
    pub row: GroupRow,
    /// Its own consent record.
    pub consent: Option<Record>,
    /// How far its topic was read.
    pub processed: SequenceId,
    /// Operations not finished.
    pub pending_intents: usize,
    /// The same, one by one.
    pub intents: Vec<PendingIntent>,
    /// The newest envelopes refused for good: position, requirement id or code, reason.
    pub rejected: Vec<(SequenceId, String, String)>,
    /// Installations we added whose Welcome the service refused, remembered for a few epochs: they
    /// are in the group and do not know of it.
    pub refused_welcomes: Vec<InstallationId>,
}

/// An operation not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingIntent {
    /// Operations are done in this order.
    pub number: u64,
    /// What is wanted: `addMembers`, `removeMembers`, `refreshMembers`, `change`, `selfUpdate`,
    /// `send`.
    pub kind: &'static str,
    /// How far it got: `toPublish`, `published`, `committed`.
    pub state: &'static str,
    /// How often it was built.
    pub builds: u32,
}

impl PendingIntent {
    fn of(intent: &IntentRow) -> Self {
        let kind = match &intent.operation {
            Operation::AddInboxes(_) => "addMembers",
            Operation::RemoveInboxes(_) => "removeMembers",
            Operation::Refresh(_) => "refreshMembers",
            Operation::Change(_) => "change",
            Operation::SelfUpdate => "selfUpdate",
            Operation::Send { .. } => "send",
            Operation::Tell { .. } | Operation::Snapshot { .. } => "tell",
        };
        let state = match &intent.state {
            IntentState::ToPublish => "toPublish",
            IntentState::Published(_) => "published",
            IntentState::Committed => "committed",
        };
        Self { number: intent.number, kind, state, builds: intent.builds }
    }
}

impl Client {
    /// Looks behind a conversation, named by any of its groups.
    pub async fn inspect(&self, group: GroupId) -> Result<Inspection, Error> {
        self.0.open()?;
        let thread = self.0.thread_of(group).await?;
        let answers = self.0.store.read(load::consents(thread, group).into()).await?;
        let [listed, own] = answers.as_slice() else { return Err(Error::bug("no answer")) };
        let consent = load::consent(listed, own)?;
        let (winner, set) = match load::rows::<ThreadRow>(listed)?.pop() {
            Some(row) => (row.winner, row.groups.iter().map(|entry| entry.group).collect()),
            None => (group, vec![group]),
        };
        let mut groups = Vec::new();
        for member in set {
            groups.push(self.inspect_group(member).await?);
        }
        Ok(Inspection { thread, winner, consent, groups })
    }

    async fn inspect_group(&self, group: GroupId) -> Result<GroupInspection, Error> {
        let consent = self.0.consent_of(Entity::Conversation(group)).await?;
        self.0.recheck(group).await?;
        let mut rejected: Vec<(SequenceId, String, String)> = Vec::new();
        for envelope in self.0.kept_envelopes(&EnvelopeRow::rejected(Topic::Group(group))).await? {
            if let EnvelopeState::Rejected(code, reason) = envelope.state {
                let place = rejected.partition_point(|(at, ..)| *at < envelope.sequence_id);
                rejected.insert(place, (envelope.sequence_id, code, reason));
            }
        }
        self.0
            .step(async |step| {
                let ctx = step.need_group(group).await?;
                let inspection = GroupInspection {
                    row: ctx.row.clone(),
                    consent,
                    processed: ctx.position.processed,
                    pending_intents: ctx.intents.len(),
                    intents: ctx.intents.values().map(PendingIntent::of).collect(),
                    rejected: rejected.clone(),
                    refused_welcomes: welcomes::refused(&ctx).into_iter().map(|(_, id)| id).collect(),
                };
                step.keep_group(ctx);
                Ok(inspection)
            })
            .await
    }
}
