//! Fixed-size ids and their text forms (META-011, DMS-001).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {kind}: expected {digits} lowercase hexadecimal digits")]
pub struct IdError {
    /// Which kind of id was expected.
    pub kind: &'static str,
    /// How many hexadecimal digits it has.
    pub digits: usize,
}

/// Reads exactly as many lower-case digits as fill `out`: whoever opens a large group reads many ids.
fn read_hex(text: &[u8], out: &mut [u8]) -> Option<()> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if text.len() != out.len() * 2 {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $len:expr, $kind:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            /// Length in bytes.
            pub const LEN: usize = $len;

            /// Reads raw bytes; fails when the length is not exactly [`Self::LEN`].
            pub fn from_slice(bytes: &[u8]) -> Result<Self, IdError> {
                bytes
                    .try_into()
                    .map(Self)
                    .map_err(|_| IdError { kind: $kind, digits: $len * 2 })
            }

            /// The raw bytes.
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({}…)", stringify!($name), hex::encode(&self.0[..4]))
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let mut id = [0; $len];
                match read_hex(text.as_bytes(), &mut id) {
                    Some(()) => Ok(Self(id)),
                    None => Err(IdError { kind: $kind, digits: $len * 2 }),
                }
            }
        }
    };
}

id!(
    /// An inbox: SHA-256 of its first identifier and nonce (IDENT, facts 4.1).
    InboxId, 32, "inbox id"
);
id!(
    /// An installation: the Ed25519 public signature key of its leaves.
    InstallationId, 32, "installation id"
);
id!(
    /// An MLS group id, 16 random bytes (GMOD-037).
    GroupId, 16, "group id"
);
id!(
    /// A message: SHA-256 over group id, idempotency key and content (SEND-002).
    MessageId, 32, "message id"
);

/// The order-free identifier of a DM pair (DMS-001).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DmId {
    low: InboxId,
    high: InboxId,
}

impl DmId {
    /// The id of the DM between two inboxes; `None` when they are the same inbox.
    pub fn of(a: InboxId, b: InboxId) -> Option<Self> {
        match a.cmp(&b) {
            std::cmp::Ordering::Less => Some(Self { low: a, high: b }),
            std::cmp::Ordering::Greater => Some(Self { low: b, high: a }),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// Both inboxes, ascending by byte order.
    pub fn pair(&self) -> [InboxId; 2] {
        [self.low, self.high]
    }

    /// The other inbox; `None` when `own` is not in the pair (DMS-017).
    pub fn peer_of(&self, own: InboxId) -> Option<InboxId> {
        if own == self.low {
            Some(self.high)
        } else if own == self.high {
            Some(self.low)
        } else {
            None
        }
    }
}

impl fmt::Display for DmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dm:{}:{}", self.low, self.high)
    }
}

impl FromStr for DmId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let bad = || IdError { kind: "dm id", digits: 128 };
        let rest = text.strip_prefix("dm:").ok_or_else(bad)?;
        let (low, high) = rest.split_once(':').ok_or_else(bad)?;
        let (low, high): (InboxId, InboxId) =
            (low.parse().map_err(|_| bad())?, high.parse().map_err(|_| bad())?);
        if low < high { Ok(Self { low, high }) } else { Err(bad()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dms_001_dm_id_is_the_same_from_both_sides() {
        let (a, b) = (InboxId([2; 32]), InboxId([1; 32]));
        let id = DmId::of(a, b).unwrap();
        assert_eq!(id, DmId::of(b, a).unwrap());
        assert_eq!(id.to_string(), format!("dm:{}:{}", "01".repeat(32), "02".repeat(32)));
        assert_eq!(id.to_string().parse::<DmId>().unwrap(), id);
    }

    #[test]
    fn dms_001_dm_id_refuses_one_inbox_and_unsorted_text() {
        let a = InboxId([2; 32]);
        assert_eq!(DmId::of(a, a), None);
        let unsorted = format!("dm:{}:{}", "02".repeat(32), "01".repeat(32));
        assert!(unsorted.parse::<DmId>().is_err());
        assert!(format!("dm:{}:{}", "0A".repeat(32), "0b".repeat(32)).parse::<DmId>().is_err());
    }

    #[test]
    fn ids_are_strict_about_case_and_length() {
        assert!("AB".repeat(32).parse::<InboxId>().is_err());
        assert!("ab".repeat(31).parse::<InboxId>().is_err());
        assert_eq!("ab".repeat(32).parse::<InboxId>().unwrap(), InboxId([0xab; 32]));
    }
}
