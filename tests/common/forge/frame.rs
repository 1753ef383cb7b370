//! MLS framing by hand (RFC 9420 sections 6, 8, 9.1, 12.4): a handshake message of a member with
//! any body. OpenMLS's sender refuses many bodies; here they are signed and encrypted with what the
//! forger's own state holds, and a commit carries the confirmation tag its receivers compute.
//!
//! Such a commit cannot be merged by the forger: its state ends with it.

use std::collections::VecDeque;
use std::time::SystemTime;

use dovetail::base::{GroupId, write_varint};
use dovetail::meta::component::GROUP_NAME;
use dovetail::mls::facts::RawDictionary;
use openmls::prelude::tls_codec::Serialize as _;
use openmls::prelude::{
    AeadType, AppDataDictionary, AppDataDictionaryExtension, Extension, GroupId as MlsGroupId, HashType,
    Member, OpenMlsCrypto, OpenMlsProvider, Propose,
};
use openmls_traits::signatures::Signer as _;
use openmls_traits::storage::{CURRENT_VERSION, Entity, StorageProvider, traits};
use serde::{Deserialize, Serialize};

use super::Forger;

/// What a handshake message carries.
pub enum Body<'a> {
    /// A Proposal.
    Proposal(&'a [u8]),
    /// A commit without a path: ProposalOrRefs, and the dictionary it leads to.
    Commit(&'a [Vec<u8>], &'a RawDictionary),
    /// A whole Commit, path and all. Its tag is that of one without a path.
    Whole(&'a [u8], &'a RawDictionary),
}

/// What is different from a well-formed message.
#[derive(Default)]
pub struct Changes {
    /// The epoch it names, when it is not the present one.
    pub epoch: Option<u64>,
    /// The group it names.
    pub group: Option<GroupId>,
    /// Another leaf's index as sender.
    pub sender: Option<u32>,
    /// The signature is of something else.
    pub unsigned: bool,
    /// The confirmation tag is of another epoch.
    pub unconfirmed: bool,
}

const HASH: HashType = HashType::Sha2_256;

/// Mirrors of what OpenMLS stores, field by field.
#[derive(Serialize, Deserialize)]
struct Store {
    max_epochs: usize,
    past: VecDeque<Past>,
    now: Secrets,
}

#[derive(Serialize, Deserialize)]
struct Past {
    epoch: u64,
    secrets: Secrets,
    leaves: Vec<Member>,
}

#[derive(Serialize, Deserialize)]
struct Secrets {
    sender_data: Vec<u8>,
    membership: Vec<u8>,
    confirmation: Vec<u8>,
    context: Vec<u8>,
    tree: Tree,
    added_at: Option<SystemTime>,
}

#[derive(Serialize, Deserialize)]
struct Tree {
    own: u32,
    leaf_nodes: Vec<Option<Vec<u8>>>,
    parent_nodes: Vec<Option<Vec<u8>>>,
    handshake: Vec<Option<Ratchet>>,
    application: Vec<Option<Ratchet>>,
    size: u32,
}

#[derive(Serialize, Deserialize)]
enum Ratchet {
    Own(Head),
    Other(VecDeque<Option<Material>>, Head),
}

#[derive(Serialize, Deserialize)]
struct Head {
    secret: Vec<u8>,
    generation: u32,
}

#[derive(Serialize, Deserialize)]
struct Material {
    mode: AeadType,
    key: Vec<u8>,
    nonce: [u8; 12],
}

#[derive(Serialize, Deserialize)]
struct EpochSecrets {
    init: Vec<u8>,
    rest: [Vec<u8>; 4],
}

#[derive(Serialize, Deserialize)]
struct Interim(Vec<u8>);

impl Entity<CURRENT_VERSION> for Store {}
impl traits::MessageSecrets<CURRENT_VERSION> for Store {}
impl Entity<CURRENT_VERSION> for EpochSecrets {}
impl traits::GroupEpochSecrets<CURRENT_VERSION> for EpochSecrets {}
impl Entity<CURRENT_VERSION> for Interim {}
impl traits::InterimTranscriptHash<CURRENT_VERSION> for Interim {}

/// Bytes with their length.
pub fn vl(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

impl Forger {
    /// A handshake message of this member.
    pub fn frame(&self, id: GroupId, body: &Body<'_>, changes: &Changes) -> Vec<u8> {
        let own = MlsGroupId::from_slice(id.as_bytes());
        let mut store = self.secrets(id);
        let now = &mut store.now;
        let (kind, content) = match body {
            Body::Proposal(bytes) => (2, bytes.to_vec()),
            Body::Commit(proposals, _) => (3, [vl(&proposals.concat()), vec![0]].concat()),
            Body::Whole(bytes, _) => (3, bytes.to_vec()),
        };
        let group = changes.group.unwrap_or(id);
        let epoch = changes.epoch.unwrap_or_else(|| self.group(id).epoch()).to_be_bytes();
        let sender = changes.sender.unwrap_or(now.tree.own).to_be_bytes();
        let head = [&vl(group.as_bytes())[..], &epoch].concat();
        let framed = [&head[..], &[1], &sender, &[0, kind], &content].concat();
        let signed = match changes.unsigned {
            true => Vec::new(),
            false => [&[0, 1, 0, 2][..], &framed, &now.context].concat(),
        };
        let to_sign = [vl(b"MLS 1.0 FramedContentTBS"), vl(&signed)].concat();
        let signature = vl(&self.keys.sign(&to_sign).expect("signs"));
        let mut plaintext = [&content[..], &signature].concat();
        if let Body::Commit(_, after) | Body::Whole(_, after) = body {
            let interim: Option<Interim> = self.scratch.interim_transcript_hash(&own).expect("reads");
            let interim = interim.expect("a hash").0;
            let transcript = self.hash(&[&interim[..], &[0, 2], &framed, &signature].concat());
            let context = self.next_context(id, &now.context, &transcript, after);
            let mut tag = self.confirm(id, &context, &transcript);
            if changes.unconfirmed {
                tag[0] ^= 1;
            }
            plaintext.extend(vl(&tag));
        }
        let (generation, key, nonce) = self.next_key(now);
        let aad = [&head[..], &[kind, 0]].concat();
        let ciphertext = self.seal(&key, &plaintext, &nonce, &aad);
        let sample = &ciphertext[..32];
        let sender_key = self.expand(&now.sender_data, "key", sample, 32);
        let sender_nonce = self.expand(&now.sender_data, "nonce", sample, 12);
        let data = [&sender[..], &generation.to_be_bytes(), &[0; 4]].concat();
        let sealed_sender = self.seal(&sender_key, &data, &sender_nonce, &[&head[..], &[kind]].concat());
        self.scratch.write_message_secrets(&own, &store).expect("written");
        [&[0, 1, 0, 2][..], &head, &[kind, 0], &vl(&sealed_sender), &vl(&ciphertext)].concat()
    }

    /// The stored secrets, with the own handshake ratchet in use.
    fn secrets(&self, id: GroupId) -> Store {
        let own = MlsGroupId::from_slice(id.as_bytes());
        let read = || -> Store { self.scratch.message_secrets(&own).expect("reads").expect("secrets") };
        let store = read();
        if store.now.tree.handshake[store.now.tree.own as usize].is_some() {
            return store;
        }
        self.propose(id, Propose::UpdateAppDataComponent { component_id: GROUP_NAME, update: vec![] });
        self.forget_proposals(id);
        read()
    }

    /// Generation, key and nonce of the next handshake message; moves the ratchet.
    fn next_key(&self, now: &mut Secrets) -> (u32, Vec<u8>, Vec<u8>) {
        let Some(Ratchet::Own(head)) = &mut now.tree.handshake[now.tree.own as usize] else {
            panic!("no own ratchet")
        };
        let generation = head.generation;
        let derive = |label, len| self.expand(&head.secret, label, &generation.to_be_bytes(), len);
        let (nonce, key, next) = (derive("nonce", 12), derive("key", 32), derive("secret", 32));
        *head = Head { secret: next, generation: generation + 1 };
        (generation, key, nonce)
    }

    /// The GroupContext after a commit that leaves the tree as it is.
    fn next_context(&self, id: GroupId, now: &[u8], transcript: &[u8], after: &RawDictionary) -> Vec<u8> {
        let mut extensions = self.raw(id).extensions().clone();
        let mut dictionary = AppDataDictionary::new();
        for (component, value) in after {
            dictionary.insert(*component, value.clone());
        }
        let extension = AppDataDictionaryExtension::new(dictionary);
        extensions.add_or_replace(Extension::AppDataDictionary(extension)).expect("replaced");
        // Version, suite, group id with its one byte of length, epoch; then the tree hash.
        let (fixed, rest) = now.split_at(4 + 17);
        let epoch = u64::from_be_bytes(rest[..8].try_into().expect("an epoch"));
        let tree_hash = &rest[8..8 + 33];
        let extensions = extensions.tls_serialize_detached().expect("encodes");
        [fixed, &(epoch + 1).to_be_bytes(), tree_hash, &vl(transcript), &extensions].concat()
    }

    /// The confirmation tag of a commit without a path.
    fn confirm(&self, id: GroupId, context: &[u8], transcript: &[u8]) -> Vec<u8> {
        let own = MlsGroupId::from_slice(id.as_bytes());
        let secrets: Option<EpochSecrets> = self.scratch.group_epoch_secrets(&own).expect("reads");
        let extract = |salt: &[u8]| {
            let secret = self.scratch.crypto().hkdf_extract(HASH, salt, &[0; 32]).expect("extracts");
            secret.as_slice().to_vec()
        };
        let joiner = self.expand(&extract(&secrets.expect("secrets").init), "joiner", context, 32);
        let epoch = self.expand(&extract(&joiner), "epoch", context, 32);
        let key = self.expand(&epoch, "confirm", &[], 32);
        self.scratch.crypto().hmac(HASH, &key, transcript).expect("a tag").as_slice().to_vec()
    }

    fn expand(&self, secret: &[u8], label: &str, context: &[u8], length: u16) -> Vec<u8> {
        let label = format!("MLS 1.0 {label}");
        let info = [&length.to_be_bytes()[..], &vl(label.as_bytes()), &vl(context)].concat();
        let crypto = self.scratch.crypto();
        crypto.hkdf_expand(HASH, secret, &info, length.into()).expect("expands").as_slice().to_vec()
    }

    fn hash(&self, data: &[u8]) -> Vec<u8> {
        self.scratch.crypto().hash(HASH, data).expect("hashes")
    }

    fn seal(&self, key: &[u8], data: &[u8], nonce: &[u8], aad: &[u8]) -> Vec<u8> {
        let mode = AeadType::ChaCha20Poly1305;
        self.scratch.crypto().aead_encrypt(mode, key, data, nonce, aad).expect("seals")
    }
}
