//! The write-set of one step.

use super::Table;
use super::rows::Row;

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Once the browser has it; only for what replay from the positions brings back.
    #[default]
    Relaxed,
    /// Once it is on disk.
    Strict,
}

/// A revision a row must still have when the write happens; 0 stands for "no such row", and for a
/// row that was only ever put without a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Which table.
    pub table: Table,
    /// Which row.
    pub key: Vec<u8>,
    /// Its revision.
    pub revision: u64,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Stores a row.
    Put {
        /// Which table.
        table: Table,
        /// Its key.
        key: Vec<u8>,
        /// The new revision; 0 where revisions are not used.
        revision: u64,
        /// A value for each of [`Table::indexes`], in that order.
        index: Vec<Option<Vec<u8>>>,
        /// What is sealed.
        body: Vec<u8>,
        /// Fail with [`super::StoreError::Exists`] when the key is taken.
        insert: bool,
    },
    /// Removes a row; nothing happens when it is not there.
    Delete {
        /// Which table.
        table: Table,
        /// Its key.
        key: Vec<u8>,
    },
    /// Removes every row with `from <= key < to`.
    DeleteRange {
        /// Which table.
        table: Table,
        /// Inclusive lower bound.
        from: Vec<u8>,
        /// Exclusive upper bound.
        to: Vec<u8>,
    },
}

/// Everything one step writes: all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The strictest durability any part asked for.
    pub durability: Durability,
    /// Revisions compared before anything is written.
    pub checks: Vec<Check>,
    /// Applied in order.
    pub writes: Vec<Write>,
}

impl Changes {
    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Asks for [`Durability::Strict`].
    pub fn strict(&mut self) {
        self.durability = Durability::Strict;
    }

    /// Requires a row to still have `revision`.
    pub fn check(&mut self, table: Table, key: Vec<u8>, revision: u64) {
        let check = Check { table, key, revision };
        if !self.checks.contains(&check) {
            self.checks.push(check);
        }
    }

    /// Stores a row, replacing one with the same key.
    pub fn put<R: Row>(&mut self, row: &R) {
        self.push(row, row.encode(), 0, false);
    }

    /// Stores a row; the unit fails when the key is taken.
    pub fn insert<R: Row>(&mut self, row: &R) {
        self.push(row, row.encode(), 0, true);
    }

    /// Stores a row that others may change too: checks `revision` and writes `revision + 1`.
    /// Written again in the same step, only the first check stands.
    pub fn put_checked<R: Row>(&mut self, row: &R, revision: u64) {
        self.put_encoded(row, row.encode(), revision);
    }

    /// The same for a row whose body is at hand.
    pub fn put_encoded<R: Row>(&mut self, row: &R, body: Vec<u8>, revision: u64) {
        let key = row.key();
        if !self.checks.iter().any(|check| check.table == R::TABLE && check.key == key) {
            self.check(R::TABLE, key, revision);
        }
        self.push(row, body, revision + 1, false);
    }

    /// Removes a row by key.
    pub fn delete(&mut self, table: Table, key: Vec<u8>) {
        self.writes.push(Write::Delete { table, key });
    }

    /// Removes every row whose key starts with `prefix`.
    pub fn delete_prefix(&mut self, table: Table, prefix: &[u8]) {
        // No key is long enough to reach this bound.
        let to = super::after_prefix(prefix).unwrap_or_else(|| vec![0xff; 256]);
        self.writes.push(Write::DeleteRange { table, from: prefix.to_vec(), to });
    }

    /// Adds everything of `other` behind what is here.
    pub fn absorb(&mut self, other: Changes) {
        self.durability = self.durability.max(other.durability);
        for check in other.checks {
            self.check(check.table, check.key, check.revision);
        }
        self.writes.extend(other.writes);
    }

    fn push<R: Row>(&mut self, row: &R, body: Vec<u8>, revision: u64, insert: bool) {
        self.writes.push(Write::Put {
            table: R::TABLE,
            key: row.key(),
            revision,
            index: row.index(),
            body,
            insert,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absorbing_keeps_order_the_strictest_durability_and_one_of_equal_checks() {
        let mut first = Changes::default();
        first.check(Table::Groups, b"g".to_vec(), 3);
        first.delete(Table::Groups, b"a".to_vec());
        let mut second = Changes::default();
        second.strict();
        second.check(Table::Groups, b"g".to_vec(), 3);
        second.check(Table::Threads, b"g".to_vec(), 3);
        second.delete(Table::Groups, b"b".to_vec());
        first.absorb(second);
        first.absorb(Changes::default());
        assert_eq!(first.durability, Durability::Strict);
        assert_eq!(first.checks.len(), 2);
        let delete = |key: &[u8]| Write::Delete { table: Table::Groups, key: key.to_vec() };
        assert_eq!(first.writes, [delete(b"a"), delete(b"b")]);
    }

    #[test]
    fn a_prefix_of_greatest_bytes_still_ends_behind_every_key_with_it() {
        let mut changes = Changes::default();
        changes.delete_prefix(Table::Groups, &[0xff, 0xff]);
        let Write::DeleteRange { from, to, .. } = &changes.writes[0] else { panic!("not a range") };
        let key = [0xff; 97].to_vec();
        assert!(from <= &key && &key < to);
    }
}
