//! Rows of the table `meta`: the installation, the key package it offers, the counters, and the sync
//! groups of the inbox's devices.

use serde::{Deserialize, Serialize};

use super::{Row, bytes};
use crate::base::{GroupId, InboxId, InstallationId, Nanos};
use crate::store::Table;

/// The installation this database belongs to. Holds its private key, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallationRow {
    /// The inbox.
    pub inbox: InboxId,
    /// The installation.
    pub installation: InstallationId,
    /// Ed25519 seed of the installation key.
    pub seed: [u8; 32],
    /// The account it was created with (lower-case address).
    pub identifier: String,
    /// The identity update that adds the installation has been accepted.
    pub registered: bool,
    /// A random id of this database, part of replay cursors (PROC-033).
    pub database: [u8; 16],
    /// When it was made.
    pub created_ns: Nanos,
    /// The inbox's log, as far as it was read, revokes the installation.
    pub revoked: bool,
}

impl InstallationRow {
    /// The only key.
    pub const KEY: &[u8] = b"installation";
}

impl Row for InstallationRow {
    const TABLE: Table = Table::Meta;
    fn key(&self) -> Vec<u8> {
        Self::KEY.to_vec()
    }
}

/// The one key package of the installation that others find, written under a revision check. Its
/// private keys are in the global row [`OfferRow::id`] names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferRow {
    /// The id of the row with its private keys.
    #[serde(with = "bytes")]
    pub id: Vec<u8>,
    /// The HPKE key Welcomes are wrapped to.
    #[serde(with = "bytes")]
    pub init_key: Vec<u8>,
    /// The TLS KeyPackage.
    #[serde(with = "bytes")]
    pub package: Vec<u8>,
    /// When it was made.
    pub made_ns: Nanos,
    /// The service has stored it.
    pub published: bool,
    /// A Welcome made with it was joined, or there is reason to replace it: the next one is due.
    pub spent: bool,
}

impl OfferRow {
    /// The only key.
    pub const KEY: &[u8] = b"offer";
}

impl Row for OfferRow {
    const TABLE: Table = Table::Meta;
    fn key(&self) -> Vec<u8> {
        Self::KEY.to_vec()
    }
}

/// Database-wide counters, written under a revision check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersRow {
    /// The last delivery number given (PROC-024).
    pub delivery: u64,
}

impl CountersRow {
    /// The only key.
    pub const KEY: &[u8] = b"counters";
}

impl Row for CountersRow {
    const TABLE: Table = Table::Meta;
    fn key(&self) -> Vec<u8> {
        Self::KEY.to_vec()
    }
}

/// Every sync group of the own inbox this installation has created or joined, written under a
/// revision check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncGroupsRow {
    /// Their ids, in that order.
    pub groups: Vec<GroupId>,
}

impl SyncGroupsRow {
    /// The only key.
    pub const KEY: &[u8] = b"sync_groups";
}

impl Row for SyncGroupsRow {
    const TABLE: Table = Table::Meta;
    fn key(&self) -> Vec<u8> {
        Self::KEY.to_vec()
    }
}
