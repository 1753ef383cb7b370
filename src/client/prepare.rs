//! What a commit is built from: newest identity states and checked key packages
//! (GMOD-006, GMOD-009, JOIN-011).

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{GroupId, InboxId, InstallationId, Topic};
use crate::client::Inner;
use crate::delivery::admit;
use crate::engine::publish::Material;
use crate::error::Error;
use crate::members::references;
use crate::mls;
use crate::store::rows::Operation;
use crate::wire::ClientEnvelope;

impl Inner {
    /// Gathers the material for an intent's commit.
    ///
    /// # Errors
    /// `dm.unknown_inbox` when an inbox to add does not exist; `delivery.*`.
    pub(super) async fn material(&self, group: GroupId, number: u64) -> Result<Option<Material>, Error> {
        let asked = self
            .step(async |step| {
                let Some(ctx) = step.take_group(group).await? else { return Ok(None) };
                let operation = ctx.intents.get(&number).map(|intent| intent.operation.clone());
                let facts = ctx.mls.as_ref().map(|mls| mls.group.facts());
                step.keep_group(ctx);
                Ok(operation.zip(facts))
            })
            .await?;
        let Some((operation, facts)) = asked else { return Ok(None) };
        let mut inboxes = BTreeSet::from([self.me.inbox]);
        if let Operation::AddInboxes(added) = operation {
            inboxes.extend(added);
        }
        let members = crate::members::Members::read(&facts.dictionary).map_err(Error::bug)?;
        let before = self.identity.resolve(&references::of_join(&members)).await?;
        let mut states = BTreeMap::new();
        for inbox in inboxes {
            let (at, state) = self.identity.newest(inbox).await?.ok_or_else(|| unknown_inbox(inbox))?;
            states.insert(inbox, (at, state.installations()));
        }
        let present: BTreeSet<InstallationId> = facts.leaves.iter().map(|leaf| leaf.installation).collect();
        let wanted = states.values().flat_map(|(_, all)| all.iter().copied()).filter(|id| !present.contains(id));
        let packages = self.key_packages(wanted.collect()).await?;
        Ok(Some(Material { states, before, packages }))
    }

    /// The newest usable key package of each installation; one without is left out.
    async fn key_packages(
        &self,
        installations: Vec<InstallationId>,
    ) -> Result<BTreeMap<InstallationId, mls::KeyPackageFacts>, Error> {
        if installations.is_empty() {
            return Ok(BTreeMap::new());
        }
        let topics: Vec<Topic> = installations.iter().map(|id| Topic::KeyPackage(*id)).collect();
        let answers = self.delivery.newest(topics.clone()).await?;
        admit::newest(&topics, &answers)?;
        let now = self.platform.now();
        let mut packages = BTreeMap::new();
        for (installation, envelope) in installations.into_iter().zip(answers) {
            let Some(envelope) = envelope else { continue };
            let Ok(ClientEnvelope::KeyPackage(bytes)) = ClientEnvelope::decode(&envelope.payload) else { continue };
            match mls::check(&bytes, now) {
                Ok(facts) if facts.installation == installation => {
                    packages.insert(installation, facts);
                }
                // Unusable: the plan lists the installation as failed.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(packages)
    }
}

fn unknown_inbox(inbox: InboxId) -> Error {
    Error::new("dm.unknown_inbox", format!("the inbox {inbox} does not exist; check the id"))
}
