//! Key packages: ours made and retired, others' checked before they are added.
//!
//! Ours have an unbounded MLS lifetime, so no receiver's clock can refuse them, and state their
//! real expiry in [`EXPIRY_EXTENSION`]. A foreign key package with a bounded lifetime is refused:
//! members would judge it by their own clocks and could fork. One without our extension does not
//! expire.

use std::fmt;

use openmls::prelude::tls_codec::{DeserializeBytes as _, Serialize as _};
use openmls::prelude::{
    CredentialType, Extension, ExtensionType, Extensions, KeyPackage, KeyPackageIn, KeyPackageVerifyError,
    LeafNode, ProposalType, ProtocolVersion, UnknownExtension,
};

use super::keys::InstallationKeys;
use super::profile::{self, EXPIRY_EXTENSION, POINTER_EXTENSION, WRAPPER_EXTENSION};
use super::scratch::{Scratch, ScratchError};
use super::{describe, storage};
use crate::base::{InboxId, InstallationId, Nanos};
use crate::wire::{AEAD_CHACHA20_POLY1305, WelcomeAlgorithm, WelcomePointeeAeadTypes, WelcomeWrapperKey};

/// Why a key package cannot be used, or not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyPackageError {
    /// Not a key package.
    #[error("the key package cannot be decoded")]
    Malformed,
    /// A rule of MLS is broken.
    #[error("the key package is not valid ({0})")]
    Invalid(String),
    /// Its MLS lifetime is bounded, so members' clocks could disagree about it.
    #[error("the key package has a bounded MLS lifetime; its owner must publish a new one")]
    BoundedLifetime,
    /// It stated a time that has passed.
    #[error("the key package expired; its owner must publish a new one")]
    Expired,
    /// Its leaf cannot do what our groups require.
    #[error("the key package does not support {0}; its owner must update their app")]
    Unsupported(&'static str),
    /// Its owner only takes Welcomes wrapped in a way this version does not know (JOIN-076).
    #[error("the key package asks for a Welcome wrapping this version cannot make; update the app")]
    Wrapper,
    /// Its credential names no inbox.
    #[error("the key package's credential names no inbox")]
    Credential,
    /// Rows cannot be read or written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// OpenMLS refused what it must accept.
    #[error("making a key package failed ({0}); this is a bug, please report it")]
    Bug(String),
}

/// A key package of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeKeyPackage {
    /// What is published: a TLS KeyPackage.
    pub bytes: Vec<u8>,
    /// The id of the global row with its private keys. Without that row, Welcomes made with the
    /// key package can no longer be opened.
    pub id: Vec<u8>,
    /// The HPKE key Welcomes are wrapped to.
    pub init_key: Vec<u8>,
}

/// A key package to add an installation with: as somebody published it, or one of [`check`]'s, which
/// is not verified again however often a commit is built with it.
#[derive(Clone)]
pub struct Addition {
    bytes: Vec<u8>,
    verified: Option<Box<KeyPackage>>,
}

impl Addition {
    /// The TLS KeyPackage.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Verified, now if it was not before.
    pub(super) fn package(self, scratch: &Scratch) -> Result<KeyPackage, KeyPackageError> {
        match self.verified {
            Some(package) => Ok(*package),
            None => validate(scratch, &self.bytes),
        }
    }
}

impl From<Vec<u8>> for Addition {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, verified: None }
    }
}

impl PartialEq for Addition {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Addition {}

impl fmt::Debug for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Addition").finish_non_exhaustive()
    }
}

/// What a member needs to know before adding an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPackageFacts {
    /// The inbox its credential names.
    pub inbox: InboxId,
    /// Its signature key.
    pub installation: InstallationId,
    /// The HPKE key Welcomes are wrapped to.
    pub init_key: Vec<u8>,
    /// When it expires; `None` when it does not say.
    pub expires: Option<Nanos>,
    /// It accepts shared Welcomes (facts 3.2).
    pub pointers: bool,
    /// What a commit adds it with.
    pub addition: Addition,
}

/// Makes a key package that lasts 84 days from `now`. It serves any number of Welcomes until it
/// is retired.
pub fn make(
    scratch: &Scratch,
    keys: &InstallationKeys,
    inbox: InboxId,
    now: Nanos,
) -> Result<MadeKeyPackage, KeyPackageError> {
    let bug = |e: String| KeyPackageError::Bug(e);
    let expires = now.0.saturating_add(profile::KEY_PACKAGE_LIFETIME_NS).to_be_bytes();
    let pointers = WelcomePointeeAeadTypes(vec![AEAD_CHACHA20_POLY1305]).encode();
    let extensions = Extensions::from_vec(vec![
        Extension::Unknown(EXPIRY_EXTENSION, UnknownExtension(expires.to_vec())),
        Extension::Unknown(POINTER_EXTENSION, UnknownExtension(pointers)),
    ]);
    let bundle = KeyPackage::builder()
        .key_package_lifetime(profile::unbounded_lifetime())
        .key_package_extensions(extensions.map_err(|e| bug(e.to_string()))?)
        .leaf_node_capabilities(profile::capabilities())
        .leaf_node_extensions(profile::leaf_extensions(inbox).map_err(bug)?)
        .mark_as_last_resort()
        .build(profile::SUITE, scratch, keys, profile::credential(inbox, keys.id()))
        .map_err(|e| bug(e.to_string()))?;
    let package = bundle.key_package();
    let reference = package.hash_ref(scratch.suite()).map_err(|e| bug(e.to_string()))?;
    Ok(MadeKeyPackage {
        bytes: package.tls_serialize_detached().map_err(|e| bug(e.to_string()))?,
        id: storage::row_id(storage::KEY_PACKAGE, &reference)?,
        init_key: package.hpke_init_key().as_slice().to_vec(),
    })
}

/// Checks a key package as its adder must: every rule of MLS that a commit with it would be
/// refused for, and its expiry.
pub fn check(scratch: &Scratch, bytes: &[u8], now: Nanos) -> Result<KeyPackageFacts, KeyPackageError> {
    let package = validate(scratch, bytes)?;
    let node = package.leaf_node();
    if describe::has_bounded_lifetime(node) {
        return Err(KeyPackageError::BoundedLifetime);
    }
    supports(&package)?;
    accepts_our_wrapping(&package)?;
    let expires = expiry(&package)?;
    if expires.is_some_and(|at| at <= now) {
        return Err(KeyPackageError::Expired);
    }
    let leaf = describe::leaf_node(0, node);
    Ok(KeyPackageFacts {
        inbox: leaf.inbox.ok_or(KeyPackageError::Credential)?,
        installation: leaf.installation,
        init_key: package.hpke_init_key().as_slice().to_vec(),
        expires,
        pointers: accepts_pointers(&package),
        addition: Addition { bytes: bytes.to_vec(), verified: Some(Box::new(package)) },
    })
}

/// Decodes and verifies a key package.
fn validate(scratch: &Scratch, bytes: &[u8]) -> Result<KeyPackage, KeyPackageError> {
    let package = KeyPackageIn::tls_deserialize_exact_bytes(bytes).map_err(|_| KeyPackageError::Malformed)?;
    package.validate(scratch.suite(), ProtocolVersion::Mls10).map_err(|e| match e {
        KeyPackageVerifyError::LifetimeError(_) => KeyPackageError::BoundedLifetime,
        e => KeyPackageError::Invalid(e.to_string()),
    })
}

fn supports(package: &KeyPackage) -> Result<(), KeyPackageError> {
    let can = package.leaf_node().capabilities();
    let suite =
        package.ciphersuite() == profile::SUITE && can.ciphersuites().contains(&profile::SUITE.into());
    let checks = [
        (suite, "the group cipher suite"),
        (can.versions().contains(&ProtocolVersion::Mls10), "MLS 1.0"),
        (can.extensions().contains(&ExtensionType::AppDataDictionary), "the app-data dictionary"),
        (can.proposals().contains(&ProposalType::AppDataUpdate), "AppDataUpdate proposals"),
        (can.credentials().contains(&CredentialType::Basic), "basic credentials"),
        (lists_own_extensions(package.leaf_node()), "the extensions of its own leaf"),
    ];
    match checks.iter().find(|(ok, _)| !ok) {
        Some((_, what)) => Err(KeyPackageError::Unsupported(what)),
        None => Ok(()),
    }
}

/// RFC 9420 section 7.2: a leaf lists every extension it carries, but for the types of the RFC.
fn lists_own_extensions(node: &LeafNode) -> bool {
    let listed = node.capabilities().extensions();
    let mut types = node.extensions().iter().map(Extension::extension_type);
    types.all(|kind| kind == ExtensionType::ApplicationId || listed.contains(&kind))
}

fn expiry(package: &KeyPackage) -> Result<Option<Nanos>, KeyPackageError> {
    let Some(stated) = package.extensions().unknown(EXPIRY_EXTENSION) else { return Ok(None) };
    let bytes = stated.0.as_slice().try_into();
    let bytes = bytes.map_err(|_| KeyPackageError::Invalid("its expiry is not 8 bytes".into()))?;
    Ok(Some(Nanos(i64::from_be_bytes(bytes))))
}

/// The init key is what we wrap to; a key package may ask for another key (facts 3.1).
fn accepts_our_wrapping(package: &KeyPackage) -> Result<(), KeyPackageError> {
    let Some(wanted) = package.extensions().unknown(WRAPPER_EXTENSION) else { return Ok(()) };
    match WelcomeWrapperKey::decode(&wanted.0).map(|wanted| wanted.algorithm) {
        Ok(WelcomeAlgorithm::Curve25519) => Ok(()),
        _ => Err(KeyPackageError::Wrapper),
    }
}

fn accepts_pointers(package: &KeyPackage) -> bool {
    let types = package.extensions().unknown(POINTER_EXTENSION);
    let types = types.and_then(|types| WelcomePointeeAeadTypes::decode(&types.0).ok());
    types.is_some_and(|types| types.0.contains(&AEAD_CHACHA20_POLY1305))
}
