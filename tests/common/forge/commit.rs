//! Commits through OpenMLS's own sender, without the client's facade: other leaves on the path, key
//! packages of any kind, a dictionary that does not follow from the proposals.

use dovetail::base::GroupId;
use dovetail::meta::{Op, next_dictionary};
use dovetail::mls::facts::{AppDataOp, ProposalKind, RawDictionary};
use dovetail::mls::{self, SealedCommit};
use openmls::component::ComponentData;
use openmls::prelude::tls_codec::{DeserializeBytes as _, Serialize as _};
use openmls::prelude::{
    AppDataUpdateProposal, BasicCredential, CredentialWithKey, KeyPackage, KeyPackageIn, LeafNodeIndex,
    LeafNodeParameters, Lifetime, MlsGroupJoinConfig, NewSignerBundle, OpenMlsProvider,
    PURE_PLAINTEXT_WIRE_FORMAT_POLICY, Proposal, ProtocolVersion,
};

use super::Forger;

/// A commit as OpenMLS's sender makes it.
#[derive(Default)]
pub struct Raw {
    /// Key packages to add.
    pub adds: Vec<Vec<u8>>,
    /// Leaves to remove.
    pub removes: Vec<u32>,
    /// Component writes, inline.
    pub writes: Vec<(u16, AppDataOp)>,
    /// Name every kept proposal.
    pub kept: bool,
    /// The dictionary after it; absent: what the writes say.
    pub dictionary: Option<RawDictionary>,
    /// The leaf on the path.
    pub leaf: Option<LeafNodeParameters>,
    /// Another signature key for that leaf.
    pub signer: Option<dovetail::mls::InstallationKeys>,
}

impl Raw {
    /// Writes one component.
    pub fn write(component: u16, payload: impl Into<Vec<u8>>) -> Self {
        Self { writes: vec![(component, AppDataOp::Update(payload.into()))], ..Self::default() }
    }

    /// Removes one component.
    pub fn drop(component: u16) -> Self {
        Self { writes: vec![(component, AppDataOp::Remove)], ..Self::default() }
    }

    /// And another write.
    pub fn and(mut self, component: u16, payload: impl Into<Vec<u8>>) -> Self {
        self.writes.push((component, AppDataOp::Update(payload.into())));
        self
    }
}

impl Forger {
    /// A commit, left pending; [`Forger::merge`] or [`Forger::drop_commit`] ends that.
    pub fn raw_commit(&self, id: GroupId, raw: Raw) -> SealedCommit {
        let mut group = self.raw(id);
        let before = self.group(id).facts().dictionary;
        let mut ops = Vec::new();
        if raw.kept {
            for (_, facts) in self.group(id).kept_proposals() {
                if let ProposalKind::AppData { component, op } = facts.kind {
                    ops.push((component, op));
                }
            }
        }
        ops.extend(raw.writes.iter().cloned());
        let after = raw.dictionary.unwrap_or_else(|| after(&before, &ops));
        let mut updater = group.app_data_dictionary_updater();
        for component in before.keys().chain(after.keys()) {
            match after.get(component) {
                same if same == before.get(component) => {}
                Some(value) => updater.set(ComponentData::from_parts(*component, value.clone().into())),
                None => updater.remove(component),
            }
        }
        // OpenMLS wants a change when there are writes, though these may make none.
        for (component, op) in &ops {
            let value = match (after.get(component), op) {
                (Some(value), _) | (None, AppDataOp::Update(value)) => value.clone(),
                (None, AppDataOp::Remove) => continue,
            };
            updater.set(ComponentData::from_parts(*component, value.into()));
        }
        if !ops.is_empty() {
            let (component, value) = after.first_key_value().expect("a component");
            updater.set(ComponentData::from_parts(*component, value.clone().into()));
        }
        let updates = updater.changes();
        let adds: Vec<KeyPackage> = raw.adds.iter().map(|bytes| self.parsed(bytes)).collect();
        let writes = raw.writes.into_iter().map(|(component, op)| {
            Proposal::AppDataUpdate(Box::new(match op {
                AppDataOp::Update(data) => AppDataUpdateProposal::update(component, data),
                AppDataOp::Remove => AppDataUpdateProposal::remove(component),
            }))
        });
        let mut builder = group
            .commit_builder()
            .consume_proposal_store(raw.kept)
            .propose_adds(adds)
            .add_proposals(writes)
            .propose_removals(raw.removes.into_iter().map(LeafNodeIndex::new))
            .force_self_update(true);
        if let Some(leaf) = raw.leaf {
            builder = builder.leaf_node_parameters(leaf);
        }
        let mut builder = builder.load_psks(&self.scratch).expect("loads").create_group_info(false);
        builder.with_app_data_dictionary_updates(updates);
        let (crypto, keys) = (self.scratch.crypto(), &self.keys);
        let built = match &raw.signer {
            None => builder.build(crypto, crypto, keys, |_| true),
            Some(signer) => {
                let credential_with_key = self.credential(self.inbox, signer.id());
                let bundle = NewSignerBundle { signer, credential_with_key };
                builder.build_with_new_signer(crypto, crypto, keys, bundle, |_| true)
            }
        };
        let bundle = built.expect("builds").stage_commit(&self.scratch).expect("stages");
        let (commit, welcome, _) = bundle.into_messages();
        SealedCommit {
            bytes: commit.to_bytes().expect("bytes"),
            welcome: welcome.map(|welcome| welcome.to_bytes().expect("bytes")),
            per_installation: 0,
        }
    }

    /// The content of a commit without proposals and with a path, as OpenMLS makes it.
    pub fn path(&self, id: GroupId) -> Vec<u8> {
        let mut group = self.raw(id);
        let savepoint = self.scratch.savepoint();
        let plain = MlsGroupJoinConfig::builder().wire_format_policy(PURE_PLAINTEXT_WIRE_FORMAT_POLICY);
        group.set_configuration(&self.scratch, &plain.build()).expect("configured");
        let made = group.self_update(&self.scratch, &self.keys, LeafNodeParameters::default());
        let bytes = made.expect("builds").into_commit().to_bytes().expect("bytes");
        self.scratch.restore(&savepoint);
        // Version, wire format, group id, epoch, sender, authenticated data, content type; behind
        // it the signature, the confirmation tag and the membership tag with their lengths.
        bytes[4 + 17 + 8 + 5 + 1 + 1..bytes.len() - (2 + 64) - 33 - 33].to_vec()
    }

    /// Drops the own commit.
    pub fn drop_commit(&self, id: GroupId) {
        mls::clear_pending(&self.scratch, &mut self.group(id)).expect("cleared");
    }

    /// The credential of an inbox with any key.
    pub fn credential(
        &self,
        inbox: dovetail::base::InboxId,
        key: dovetail::base::InstallationId,
    ) -> CredentialWithKey {
        let credential = BasicCredential::new(dovetail::wire::MlsCredential { inbox }.encode());
        CredentialWithKey { credential: credential.into(), signature_key: key.as_bytes().into() }
    }

    /// A leaf that says it is of another inbox.
    pub fn leaf_of(&self, inbox: dovetail::base::InboxId) -> LeafNodeParameters {
        let credential = self.credential(inbox, self.installation());
        LeafNodeParameters::builder().with_credential_with_key(credential).build()
    }

    /// A key package of this installation under any inbox, with any lifetime, for a group it is not
    /// in; capabilities are those of its leaf in `like`.
    pub fn other_key_package(
        &self,
        like: GroupId,
        inbox: dovetail::base::InboxId,
        lifetime: Lifetime,
    ) -> Vec<u8> {
        let capabilities = self.raw(like).own_leaf_node().expect("a leaf").capabilities().clone();
        let suite = self.raw(like).ciphersuite();
        let bundle = KeyPackage::builder()
            .key_package_lifetime(lifetime)
            .leaf_node_capabilities(capabilities)
            .mark_as_last_resort()
            .build(suite, &self.scratch, &self.keys, self.credential(inbox, self.installation()))
            .expect("a key package");
        bundle.key_package().tls_serialize_detached().expect("encodes")
    }

    /// A key package as OpenMLS takes it.
    pub fn parsed(&self, bytes: &[u8]) -> KeyPackage {
        let package = KeyPackageIn::tls_deserialize_exact_bytes(bytes).expect("a key package");
        package.validate(self.scratch.crypto(), ProtocolVersion::Mls10).expect("valid")
    }
}

/// What writes make of a dictionary; writes that make nothing leave it.
pub fn after(before: &RawDictionary, writes: &[(u16, AppDataOp)]) -> RawDictionary {
    let op = |op: &AppDataOp| match op {
        AppDataOp::Update(payload) => Op::Update(payload.clone()),
        AppDataOp::Remove => Op::Remove,
    };
    let ops: Vec<_> = writes.iter().map(|(component, write)| (*component, op(write))).collect();
    next_dictionary(before, &ops).map_or_else(|_| before.clone(), |(after, _)| after)
}
