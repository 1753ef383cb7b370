//! The IndexedDB store: schema, migrations, sealing.

use crate::store::{MemoryStore, StoreError};

/// Stands in until the store is merged.
pub struct IdbStore;

impl IdbStore {
    /// Answers that there is none.
    pub async fn open(_: &str, _: Option<[u8; 32]>) -> Result<MemoryStore, StoreError> {
        Err(StoreError::Unavailable("not built in".into()))
    }
}
