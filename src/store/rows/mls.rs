//! Rows of the table `mls`: pages of a group's state, and what belongs to no group.

use serde::{Deserialize, Serialize};

use super::{Row, bytes};
use crate::base::{GroupId, Nanos};
use crate::store::Table;

/// A page of one part of a group's MLS state.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MlsPageRow {
    /// The group.
    pub group: GroupId,
    /// The part's number.
    pub part: u8,
    /// The page's number.
    pub page: u16,
    /// At most [`MlsPageRow::SIZE`] bytes.
    #[serde(with = "bytes")]
    pub bytes: Vec<u8>,
}

impl MlsPageRow {
    /// Bytes of a full page.
    pub const SIZE: usize = 4096;

    /// The prefix of all pages of a group.
    pub fn group_prefix(group: GroupId) -> Vec<u8> {
        [b"p".as_slice(), group.as_bytes()].concat()
    }
}

impl Row for MlsPageRow {
    const TABLE: Table = Table::Mls;
    fn key(&self) -> Vec<u8> {
        let mut key = Self::group_prefix(self.group);
        key.push(self.part);
        key.extend(self.page.to_be_bytes());
        key
    }
}

/// MLS state that belongs to no group: key packages and the keys beside them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MlsGlobalRow {
    /// OpenMLS's own key of the entity, made unique by a kind byte in front.
    #[serde(with = "bytes")]
    pub id: Vec<u8>,
    /// The encoded entity.
    #[serde(with = "bytes")]
    pub bytes: Vec<u8>,
    /// Superseded key packages are destroyed after this time (JOIN-074).
    pub retire_ns: Option<Nanos>,
}

impl MlsGlobalRow {
    /// The prefix of all such rows.
    pub const PREFIX: &[u8] = b"k";
}

impl Row for MlsGlobalRow {
    const TABLE: Table = Table::Mls;
    fn key(&self) -> Vec<u8> {
        [Self::PREFIX, &self.id].concat()
    }
}
