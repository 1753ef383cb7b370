//! Speaks for a registered installation without its client's checks, for what no honest client
//! sends: [`commit`] drives OpenMLS's own sender as far as it goes, [`frame`] makes the framing by
//! hand where that sender refuses, [`bodies`] has the proposals of every kind, [`groups`] the
//! dictionaries new groups are born with, [`outside`] what strangers send, [`packages`] key packages too
//! large to be honest.

#![allow(unused_imports)] // each test file uses its part

mod bodies;
mod commit;
mod frame;
mod groups;
mod outside;
mod packages;

pub use bodies::*;
pub use commit::{Raw, after};
pub use frame::{Body, Changes};
pub use groups::*;
pub use outside::*;

use dovetail::base::{GroupId, InboxId, InstallationId, SequenceId, Topic};
use dovetail::delivery::{Delivery, MemoryDelivery, Outgoing, Receipt};
use dovetail::mls::facts::RawDictionary;
use dovetail::mls::{self, CommitPlan, Group, InstallationKeys, Scratch, SealedCommit};
use dovetail::store::rows::{InstallationRow, MlsGlobalRow};
use dovetail::wire::{
    AEAD_CHACHA20_POLY1305, ClientEnvelope, WelcomeAlgorithm, WelcomeInput, WelcomePointerV1,
};
use futures::FutureExt;
use openmls::prelude::{GroupId as MlsGroupId, MlsGroup, ProposalOrRefType, Propose};

use super::User;
use super::dump::Dump;

/// An installation with keys of its own that does what it likes.
pub struct Forger {
    pub keys: InstallationKeys,
    pub inbox: InboxId,
    pub scratch: Scratch,
    link: MemoryDelivery,
}

impl Forger {
    /// Takes over a registered installation: its keys, its key packages, and every group it is in.
    pub fn of(user: &User) -> Self {
        let dump = Dump::of(&user.store);
        let own = dump.rows::<InstallationRow>().pop().expect("an installation");
        Self {
            keys: InstallationKeys::from_seed(own.seed),
            inbox: own.inbox,
            scratch: scratch(&dump),
            link: user.world.delivery.link(),
        }
    }

    pub fn installation(&self) -> InstallationId {
        self.keys.id()
    }

    pub fn group(&self, id: GroupId) -> Group {
        Group::load(&self.scratch, id).expect("loads").expect("a group")
    }

    /// Creates a group with any dictionary.
    pub fn create(&self, id: GroupId, dictionary: &RawDictionary) -> GroupId {
        mls::create(&self.scratch, &self.keys, self.inbox, id, dictionary).expect("created");
        id
    }

    /// The newest key package of an installation.
    pub fn key_package(&self, of: InstallationId) -> Vec<u8> {
        let stored = self.link.stored(Topic::KeyPackage(of));
        match ClientEnvelope::decode(&stored.last().expect("a key package").payload) {
            Ok(ClientEnvelope::KeyPackage(bytes)) => bytes,
            other => panic!("no key package: {other:?}"),
        }
    }

    /// A commit that adds installations and changes nothing else.
    pub fn add(&self, id: GroupId, installations: &[InstallationId]) -> SealedCommit {
        let adds = installations.iter().map(|of| self.key_package(*of).into()).collect();
        self.commit(id, CommitPlan { adds, ..CommitPlan::default() })
    }

    /// A commit by any plan; the dictionary stays unless the plan says otherwise.
    pub fn commit(&self, id: GroupId, mut plan: CommitPlan) -> SealedCommit {
        let mut group = self.group(id);
        if plan.dictionary_after.is_empty() {
            plan.dictionary_after = group.facts().dictionary;
        }
        mls::commit(&self.scratch, &mut group, &self.keys, plan).expect("a commit")
    }

    /// Applies the own commit.
    pub fn merge(&self, id: GroupId) {
        mls::merge_pending(&self.scratch, &mut self.group(id)).expect("merged");
    }

    /// A standalone proposal.
    pub fn propose(&self, id: GroupId, what: Propose) -> Vec<u8> {
        let mut group = self.raw(id);
        let made = group.propose(&self.scratch, &self.keys, what, ProposalOrRefType::Reference);
        made.expect("a proposal").0.to_bytes().expect("bytes")
    }

    /// Drops the proposals made here, as the end of their epoch does.
    pub fn forget_proposals(&self, id: GroupId) {
        self.raw(id).clear_pending_proposals(&self.scratch).expect("cleared");
    }

    /// The group without the facade.
    pub fn raw(&self, id: GroupId) -> MlsGroup {
        MlsGroup::load(&self.scratch, &MlsGroupId::from_slice(id.as_bytes()))
            .expect("loads")
            .expect("a group")
    }

    /// An application message with any plaintext.
    pub fn message(&self, id: GroupId, plaintext: &[u8]) -> Vec<u8> {
        mls::message(&self.scratch, &mut self.group(id), &self.keys, plaintext).expect("a message")
    }

    /// Publishes an MLS message on a group's topic.
    pub fn publish(&self, id: GroupId, data: Vec<u8>) -> Receipt {
        let envelope = ClientEnvelope::GroupMessage { data, sender_hmac: Vec::new(), should_push: false };
        self.publish_raw(Topic::Group(id), envelope.encode())
    }

    /// Publishes any bytes anywhere.
    pub fn publish_raw(&self, topic: Topic, payload: Vec<u8>) -> Receipt {
        let batch = vec![Outgoing { topic, payload, identifiers: Vec::new() }];
        self.link.publish(batch).now_or_never().expect("ready").expect("stored")[0]
    }

    /// Publishes the Welcome of a commit to one added installation.
    pub fn invite(&self, welcome: &[u8], anchor: SequenceId, to: InstallationId) -> Receipt {
        let package = mls::check_key_package(&self.scratch, &self.key_package(to), dovetail::base::Nanos(0));
        let init_key = package.expect("a valid key package").init_key;
        let sealed = mls::wrap_welcome(welcome, anchor.0, &init_key).expect("wrapped");
        let input = WelcomeInput::V1 {
            installation_key: to.0,
            data: sealed.data,
            hpke_public_key: init_key,
            algorithm: WelcomeAlgorithm::Curve25519,
            metadata: sealed.metadata,
        };
        self.publish_raw(Topic::Welcome(to.0), ClientEnvelope::Welcome(input).encode())
    }

    /// Publishes a shared Welcome where a pointer says.
    pub fn share(&self, welcome: &[u8], anchor: SequenceId, pointer: &WelcomePointerV1) -> Receipt {
        let sealed = mls::seal_shared_welcome(welcome, anchor.0, pointer).expect("sealed");
        self.publish_raw(Topic::Welcome(pointer.destination), shared(pointer.destination, sealed))
    }

    /// Publishes a pointer to one installation.
    pub fn point(&self, pointer: &WelcomePointerV1, to: InstallationId) -> Receipt {
        self.publish_raw(Topic::Welcome(to.0), self.pointer_to(pointer, to, WelcomeAlgorithm::Curve25519))
    }

    /// The envelope of a pointer.
    pub fn pointer_to(
        &self,
        pointer: &WelcomePointerV1,
        to: InstallationId,
        algorithm: WelcomeAlgorithm,
    ) -> Vec<u8> {
        let package = mls::check_key_package(&self.scratch, &self.key_package(to), dovetail::base::Nanos(0));
        let init_key = package.expect("a valid key package").init_key;
        let input = WelcomeInput::Pointer {
            installation_key: to.0,
            pointer: mls::wrap_pointer(pointer, &init_key).expect("wrapped"),
            hpke_public_key: init_key,
            algorithm,
        };
        ClientEnvelope::Welcome(input).encode()
    }

    /// The whole way of a new group: create, add, publish, invite all that are added.
    pub fn offer(&self, id: GroupId, dictionary: &RawDictionary, to: &[InstallationId]) -> Receipt {
        self.create(id, dictionary);
        let sealed = self.add(id, to);
        let receipt = self.publish(id, sealed.bytes);
        self.merge(id);
        let welcome = sealed.welcome.expect("a Welcome");
        for one in to {
            self.invite(&welcome, receipt.sequence_id, *one);
        }
        receipt
    }
}

/// The envelope of a shared Welcome.
pub fn shared(installation_key: [u8; 32], sealed: mls::SealedWelcome) -> Vec<u8> {
    let mls::SealedWelcome { data, metadata } = sealed;
    let algorithm = WelcomeAlgorithm::SymmetricKey;
    let input = WelcomeInput::V1 { installation_key, data, hpke_public_key: Vec::new(), algorithm, metadata };
    ClientEnvelope::Welcome(input).encode()
}

/// A pointer of fixed bytes.
pub fn pointer(seed: u8) -> WelcomePointerV1 {
    WelcomePointerV1 {
        destination: [seed; 32],
        aead_type: AEAD_CHACHA20_POLY1305,
        encryption_key: [seed ^ 0x55; 32],
        data_nonce: [1; 12],
        metadata_nonce: [2; 12],
    }
}

/// The scratch a step over everything in a database would work on.
fn scratch(dump: &Dump) -> Scratch {
    let mut scratch = Scratch::new();
    for id in dump.groups().into_keys() {
        let pages = dump.pages(id);
        if !pages.is_empty() {
            scratch.load(id, pages).expect("loads");
        }
    }
    let globals = dump.rows_under::<MlsGlobalRow>(MlsGlobalRow::PREFIX);
    scratch.load_globals(globals.into_iter().map(|row| (row.id, row.bytes)));
    scratch
}

/// Joins by the only Welcome a device was sent, apart from its client: a group in the epoch it was
/// added in, which can decrypt everything sent since.
pub fn join_apart(device: &User) -> (Scratch, Group) {
    let scratch = scratch(&Dump::of(&device.store));
    let welcomes = device.world.delivery.stored(Topic::Welcome(device.client.installation().0));
    let payload = &welcomes.first().expect("a Welcome").payload;
    let Ok(ClientEnvelope::Welcome(WelcomeInput::V1 { data, metadata, hpke_public_key, .. })) =
        ClientEnvelope::decode(payload)
    else {
        panic!("not a Welcome")
    };
    let sealed = mls::SealedWelcome { data, metadata };
    let (welcome, cursor) = mls::unwrap_welcome(&scratch, &sealed, &hpke_public_key).expect("opens");
    let group =
        mls::inspect(&scratch, &welcome, cursor).expect("valid").join(&scratch, false).expect("joined");
    (scratch, group)
}

/// The MLS message in an envelope of a group's topic.
pub fn mls_of(payload: &[u8]) -> Vec<u8> {
    match ClientEnvelope::decode(payload) {
        Ok(ClientEnvelope::GroupMessage { data, .. }) => data,
        other => panic!("no group message: {other:?}"),
    }
}
