//! Who can belong to an inbox, and the inbox id made of the first of them (IDENT-010, IDENT-013).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{IdentityError, Refusal};
use crate::base::{InboxId, InstallationId};

/// An Ethereum address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address(pub [u8; 20]);

impl Address {
    /// Reads an address an app gave: any case, with `0x`.
    ///
    /// # Errors
    /// [`IdentityError::NotAnAddress`].
    pub fn from_app(text: &str) -> Result<Self, IdentityError> {
        text.to_ascii_lowercase().parse().map_err(|_| IdentityError::NotAnAddress)
    }
}

/// Strict: `0x` and 40 lowercase digits, the only form allowed inside an update (IDENT-013).
impl FromStr for Address {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let digits = text.strip_prefix("0x").ok_or(Refusal::BadAddress)?;
        let bytes = lower_hex(digits).ok_or(Refusal::BadAddress)?;
        bytes.try_into().map(Self).map_err(|_| Refusal::BadAddress)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex::encode(self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An account a user is reached by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Identifier {
    /// An Ethereum account.
    Ethereum(Address),
    /// A passkey, by its public key.
    Passkey(Vec<u8>),
}

impl Identifier {
    /// An Ethereum account from an app's text, any case.
    pub fn ethereum(text: &str) -> Result<Self, IdentityError> {
        Address::from_app(text).map(Self::Ethereum)
    }

    /// What a delivery service indexes the account by.
    pub fn lookup_key(&self) -> String {
        match self {
            Self::Ethereum(_) => format!("eth:{self}"),
            Self::Passkey(_) => format!("passkey:{self}"),
        }
    }
}

/// The identifier text of signatures and inbox ids.
impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethereum(address) => fmt::Display::fmt(address, f),
            Self::Passkey(key) => f.write_str(&hex::encode(key)),
        }
    }
}

/// A member of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemberId {
    /// An account.
    Account(Identifier),
    /// An installation.
    Installation(InstallationId),
}

impl From<Identifier> for MemberId {
    fn from(identifier: Identifier) -> Self {
        Self::Account(identifier)
    }
}

impl From<InstallationId> for MemberId {
    fn from(installation: InstallationId) -> Self {
        Self::Installation(installation)
    }
}

/// The identifier text of signatures.
impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(identifier) => fmt::Display::fmt(identifier, f),
            Self::Installation(id) => fmt::Display::fmt(id, f),
        }
    }
}

/// The inbox an identifier opens with a nonce: SHA-256 of its text and the decimal nonce (IDENT-010).
pub fn inbox_id(identifier: &Identifier, nonce: u64) -> InboxId {
    InboxId(Sha256::digest(format!("{identifier}{nonce}")).into())
}

/// Bytes of lowercase hexadecimal text.
pub(super) fn lower_hex(text: &str) -> Option<Vec<u8>> {
    let lower = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if lower { hex::decode(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ADDRESS: &str = "0x1234567890abcdef1234567890abcdef12345678";

    #[test]
    fn ident_010_known_inbox_id() {
        let identifier = Identifier::ethereum(ADDRESS).unwrap();
        let want = "fcd18d86276d7a99fe522dba9660c420f03c8648785ada7c5daae232a3df77a9";
        assert_eq!(inbox_id(&identifier, 0).to_string(), want);
        assert_ne!(inbox_id(&identifier, 1), inbox_id(&identifier, 0));
        assert_ne!(inbox_id(&Identifier::Passkey(vec![1]), 0), inbox_id(&identifier, 0));
    }

    #[test]
    fn ident_013_updates_take_lower_case_only_apps_any_case() {
        assert_eq!(ADDRESS.parse::<Address>().unwrap().to_string(), ADDRESS);
        let mixed = "0x1234567890ABCDEF1234567890abcdef12345678";
        assert_eq!(mixed.parse::<Address>(), Err(Refusal::BadAddress));
        assert_eq!(Address::from_app(mixed).unwrap().to_string(), ADDRESS);
        assert!(Address::from_app(&mixed.replace("0x", "0X")).is_ok());
    }

    #[test]
    fn ident_013_other_forms_are_refused() {
        for text in ["", "0x", &ADDRESS[2..], &ADDRESS[..41], &format!("{ADDRESS}0"), "0x12345é"] {
            assert_eq!(text.parse::<Address>(), Err(Refusal::BadAddress), "{text}");
            assert_eq!(Address::from_app(text), Err(IdentityError::NotAnAddress), "{text}");
        }
    }

    #[test]
    fn lookup_keys_tell_kinds_apart() {
        assert_eq!(Identifier::ethereum(ADDRESS).unwrap().lookup_key(), format!("eth:{ADDRESS}"));
        assert_eq!(Identifier::Passkey(vec![0xab]).lookup_key(), "passkey:ab");
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in ".{0,50}") {
            let _ = text.parse::<Address>();
            let _ = Address::from_app(&text);
        }

        #[test]
        fn addresses_round_trip(bytes: [u8; 20]) {
            prop_assert_eq!(Address(bytes).to_string().parse(), Ok(Address(bytes)));
        }
    }
}
