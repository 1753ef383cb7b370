//! What a commit is built from: newest identity states and checked key packages
//! (GMOD-006, GMOD-009, JOIN-011).

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{GroupId, InboxId, InstallationId, Topic};
use crate::client::Inner;
use crate::engine::publish::{Material, Package};
use crate::error::Error;
use crate::members::{Members, Reference, Resolution, references};
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
        let members = Members::read(&facts.dictionary).map_err(Error::bug)?;
        let mut material = Material {
            states: self.identity.resolve(&references::of_join(&members)).await?,
            ..Material::default()
        };
        let Operation::AddInboxes(added) = operation else { return Ok(Some(material)) };
        let mut wanted = BTreeSet::new();
        for inbox in added.into_iter().chain([self.me.inbox]) {
            let (at, state) = self.identity.newest(inbox).await?.ok_or_else(|| unknown_inbox(inbox))?;
            let installations = state.installations();
            wanted.extend(installations.iter().copied());
            material.latest.insert(inbox, at);
            material
                .states
                .insert(Reference { inbox, sequence_id: at }, Resolution::Installations(installations));
        }
        for leaf in &facts.leaves {
            wanted.remove(&leaf.installation);
        }
        material.packages = self.key_packages(wanted.into_iter().collect()).await?;
        Ok(Some(material))
    }

    /// The newest usable key package of each installation; one without is left out.
    async fn key_packages(
        &self,
        installations: Vec<InstallationId>,
    ) -> Result<BTreeMap<InstallationId, Package>, Error> {
        if installations.is_empty() {
            return Ok(BTreeMap::new());
        }
        let topics: Vec<Topic> = installations.iter().map(|id| Topic::KeyPackage(*id)).collect();
        let answers = self.delivery.newest(topics.clone()).await?;
        let (now, scratch) = (self.platform.now(), mls::Scratch::new());
        let mut packages = BTreeMap::new();
        for (installation, envelope) in installations.into_iter().zip(answers) {
            let Some(envelope) = envelope else { continue };
            let Ok(ClientEnvelope::KeyPackage(bytes)) = ClientEnvelope::decode(&envelope.payload) else {
                continue;
            };
            match mls::check_key_package(&scratch, &bytes, now) {
                Ok(facts) if facts.installation == installation => {
                    packages.insert(
                        installation,
                        Package { bytes, init_key: facts.init_key, pointers: facts.pointers },
                    );
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
