//! The store itself: one connection, one data key.

use std::rc::Rc;

use futures::future::{LocalBoxFuture, ready};
use web_sys::IdbDatabase;
use zeroize::Zeroizing;

use super::connection::Connection;
use super::errors::Fault;
use super::keys::{self, DataKey};
use super::read;
use super::write::Unit;
use crate::store::{Changes, Read, Record, Store, StoreError};

/// Rows in an IndexedDB database.
///
/// Any number may be open on one database, in one tab or several. Dropping one closes it.
pub struct IdbStore {
    connection: Rc<Connection>,
    key: DataKey,
}

impl IdbStore {
    /// Opens the database `name`, and makes it when it is not there.
    ///
    /// With `key` the data key is wrapped by a key derived from it, without by one that the browser
    /// keeps; a database opens only in the way it was made.
    ///
    /// # Errors
    /// - [`StoreError::Unavailable`]: no IndexedDB here; or neither a key nor a secure context
    ///   ([`INSECURE_CONTEXT`](crate::store::INSECURE_CONTEXT)).
    /// - [`StoreError::WrongKey`]: made with another key, or with a key and opened without, or the
    ///   reverse.
    /// - [`StoreError::Newer`]: written by a newer build; it is left untouched.
    /// - [`StoreError::Blocked`]: a tab with an older build does not let go.
    /// - [`StoreError::Quota`], [`StoreError::Corrupt`], [`StoreError::Failed`].
    pub async fn open(name: &str, key: Option<[u8; 32]>) -> Result<Self, StoreError> {
        Ok(Self::open_reading(name, key, &[]).await?.0)
    }

    /// Opens the database as [`Self::open`] does and answers `reads` in the same go, as
    /// [`Store::read`] would.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_reading(
        name: &str,
        key: Option<[u8; 32]>,
        reads: &[Read],
    ) -> Result<(Self, Vec<Vec<Record>>), StoreError> {
        let given = key.map(Zeroizing::new);
        keys::possible(given.as_ref())?;
        read::check(reads)?;
        let connection = Connection::open(name).await?;
        let Some(database) = connection.known() else { return Err(StoreError::Closed) };
        let (key, answers) = DataKey::of(&database?, given.as_ref(), reads).await?;
        Ok((Self { connection, key }, answers))
    }

    /// Whether a row with this body is kept open in memory.
    #[cfg(feature = "contract")]
    pub fn keeps(&self, body: &[u8]) -> bool {
        self.key.sealer.keeps(body)
    }

    /// Tries whether this browser aborts a transaction in which a request fails after it was told to
    /// commit.
    ///
    /// # Errors
    /// As a read.
    #[cfg(feature = "contract")]
    pub async fn aborts(&self) -> Result<bool, StoreError> {
        Ok(super::write::aborts(&self.database().await?).await)
    }

    async fn database(&self) -> Result<IdbDatabase, StoreError> {
        self.connection.database(async |database| self.key.is_of(database).await).await
    }

    /// Does `work`, once more when the connection was lost under it.
    async fn with_database<T>(
        &self,
        work: impl AsyncFn(&IdbDatabase) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let database = self.database().await?;
        match work(&database).await {
            Err(Fault::Lost(_)) => self.connection.lose(&database),
            other => return Ok(other?),
        }
        Ok(work(&self.database().await?).await?)
    }

    async fn read_all(&self, reads: Vec<Read>) -> Result<Vec<Vec<Record>>, StoreError> {
        read::check(&reads)?;
        if reads.is_empty() {
            self.database().await?;
            return Ok(Vec::new());
        }
        self.with_database(async |database| read::answer(database, &reads, &self.key.sealer).await).await
    }

    async fn apply_all(&self, changes: Changes) -> Result<(), StoreError> {
        match Unit::prepare(changes, &self.key.sealer)? {
            None => self.database().await.map(|_| ()),
            Some(unit) => {
                let done = self.with_database(async |database| unit.write(database).await).await;
                // Also when it is not known whether it was written.
                self.key.sealer.let_go(unit.written());
                done
            }
        }
    }
}

impl Store for IdbStore {
    fn read(&self, reads: Vec<Read>) -> LocalBoxFuture<'_, Result<Vec<Vec<Record>>, StoreError>> {
        Box::pin(self.read_all(reads))
    }

    fn apply(&self, changes: Changes) -> LocalBoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.apply_all(changes))
    }

    fn close(&self) -> LocalBoxFuture<'_, ()> {
        self.connection.close();
        self.key.sealer.forget();
        Box::pin(ready(()))
    }
}
