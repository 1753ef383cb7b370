//! Rows of several tables as one run of bytes: what goes between this module and the one for
//! archives. Each is the number of its table, the length of its body as a little-endian `u32`, and
//! the body.

use super::{ConsentRow, GroupRow, MessageRow, Row};
use crate::consent::Record;
use crate::store::{StoreError, Table};

/// A row that archives are made of.
pub enum Packed {
    /// A group.
    Group(Box<GroupRow>),
    /// A message.
    Message(Box<MessageRow>),
    /// A consent record.
    Consent(Record),
}

/// Adds an encoded row.
pub fn pack(out: &mut Vec<u8>, table: Table, body: &[u8]) {
    out.push(table as u8);
    // No body comes near 4 GiB: a message has at most one MiB.
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(body);
}

/// Reads what [`pack`] wrote.
///
/// # Errors
/// When a row does not decode, or is of another table.
pub fn unpack(mut bytes: &[u8]) -> Result<Vec<Packed>, StoreError> {
    let mut rows = Vec::new();
    while let Some((&table, rest)) = bytes.split_first() {
        let (body, rest) = body(rest).ok_or_else(|| StoreError::Corrupt("packed rows end early".into()))?;
        rows.push(match table {
            GROUPS => Packed::Group(Box::new(GroupRow::decode(body)?)),
            MESSAGES => Packed::Message(Box::new(MessageRow::decode(body)?)),
            CONSENT => Packed::Consent(ConsentRow::decode(body)?.0),
            _ => return Err(StoreError::Corrupt("a packed row of another table".into())),
        });
        bytes = rest;
    }
    Ok(rows)
}

const GROUPS: u8 = Table::Groups as u8;
const MESSAGES: u8 = Table::Messages as u8;
const CONSENT: u8 = Table::Consent as u8;

fn body(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
