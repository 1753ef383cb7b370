//! What a commit is built from: newest identity states and checked key packages
//! (GMOD-006, GMOD-009, JOIN-011).

use crate::base::Gather as _;
use crate::base::{Map, Set};

use crate::base::{GroupId, InboxId, InstallationId, Topic};
use crate::client::Inner;
use crate::engine::build::{Material, Package, added};
use crate::engine::operations;
use crate::error::Error;
use crate::members::{Members, Reference, Resolution};
use crate::mls::{self, KeyPackageFacts};
use crate::store::rows::{GroupKind, Operation};
use crate::wire::ClientEnvelope;

/// Topics of one question.
const TOPICS: usize = 500;

impl Inner {
    /// Gathers the material for an intent's commit.
    ///
    /// # Errors
    /// `dm.unknown_inbox` when the peer of a DM does not exist; `delivery.*`.
    pub(super) async fn material(&self, group: GroupId, number: u64) -> Result<Option<Material>, Error> {
        let asked = self
            .step(async |step| {
                let Some(ctx) = step.take_group(group).await? else { return Ok(None) };
                let operation = ctx.intents.get(&number).map(|intent| intent.operation.clone());
                let facts = ctx.mls.as_ref().map(|mls| (mls.group.facts(), mls.group.kept_proposals()));
                let dm = ctx.row.kind == GroupKind::Dm;
                step.keep_group(ctx);
                Ok(operation.zip(facts).map(|(operation, (facts, kept))| (operation, facts, kept, dm)))
            })
            .await?;
        let Some((operation, facts, kept, dm)) = asked else { return Ok(None) };
        let members = Members::read(&facts.dictionary).map_err(Error::bug)?;
        let concerned = operations::concerned(&operation, &members, self.me.inbox);
        let newest = self.identity.newest_states(&concerned.iter().copied().collect::<Vec<_>>()).await?;
        if let Some(unknown) = concerned.iter().find(|inbox| dm && !newest.contains_key(inbox)) {
            return Err(unknown_inbox(*unknown));
        }
        let removed = match &operation {
            Operation::RemoveInboxes(inboxes) => inboxes.as_slice(),
            _ => &[],
        };
        let named = concerned.iter().chain(removed).chain([&self.me.inbox]);
        let present = named.filter_map(|inbox| {
            let sequence_id = members.get(*inbox)?.sequence_id;
            (sequence_id.0 > 0).then_some(Reference { inbox: *inbox, sequence_id })
        });
        let mut material =
            Material { states: self.identity.resolve(&present.gather()).await?, ..Material::default() };
        let mut wanted = Set::new();
        let kept: Vec<_> = kept.into_iter().map(|(_, proposal)| proposal).collect();
        wanted.extend(added(&kept).map(|leaf| leaf.installation));
        let proposed: Vec<InboxId> = added(&kept).filter_map(|leaf| leaf.inbox).collect();
        for (inbox, (at, state)) in self.identity.newest_states(&proposed).await? {
            material.latest_of_kept.insert(inbox, at);
            let reference = Reference { inbox, sequence_id: at };
            material.states.insert(reference, Resolution::Installations(state.installations()));
        }
        for (inbox, (at, state)) in newest {
            let installations = state.installations();
            wanted.extend(installations.iter().copied());
            material.latest.insert(inbox, at);
            let reference = Reference { inbox, sequence_id: at };
            material.states.insert(reference, Resolution::Installations(installations));
        }
        for leaf in &facts.leaves {
            wanted.remove(&leaf.installation);
        }
        material.packages = self.key_packages(wanted.into_iter().collect()).await?;
        Ok(Some(material))
    }

    /// The newest usable key package of each installation; one without is left out, and the plan lists
    /// it as failed.
    async fn key_packages(
        &self,
        installations: Vec<InstallationId>,
    ) -> Result<Map<InstallationId, Package>, Error> {
        let newest = self.newest_packages(&installations).await?;
        let usable = newest.into_iter().flatten().map(|facts| {
            let KeyPackageFacts { installation, addition, init_key, pointers, .. } = facts;
            (installation, Package { addition, init_key, pointers })
        });
        Ok(usable.gather())
    }

    /// The newest key package of each installation, in their order, or why it cannot be used now.
    pub(super) async fn newest_packages(
        &self,
        installations: &[InstallationId],
    ) -> Result<Vec<Result<KeyPackageFacts, String>>, Error> {
        let (now, scratch) = (self.platform.now(), mls::Scratch::new());
        let mut judged = Vec::with_capacity(installations.len());
        for chunk in installations.chunks(TOPICS) {
            let answers =
                self.delivery.newest(chunk.iter().copied().map(Topic::KeyPackage).collect()).await?;
            for (installation, found) in chunk.iter().zip(answers) {
                let package = found.map(|found| ClientEnvelope::decode(&found.payload));
                let Some(Ok(ClientEnvelope::KeyPackage(bytes))) = package else {
                    judged.push(Err("no key package is published".to_owned()));
                    continue;
                };
                judged.push(match mls::check_key_package(&scratch, &bytes, now) {
                    Ok(facts) if facts.installation == *installation => Ok(facts),
                    Ok(_) => Err("the key package is another installation's".to_owned()),
                    Err(error) => Err(error.to_string()),
                });
            }
        }
        Ok(judged)
    }
}

fn unknown_inbox(inbox: InboxId) -> Error {
    Error::new("dm.unknown_inbox", format!("the inbox {inbox} does not exist; check the id"))
}
