//! What can be wrong with an update, with what we can verify, and with what a caller asked for.

use super::Identifier;
use crate::base::SequenceId;

/// A kind of signature this version reads and cannot verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// ERC-6492 / ERC-1271: needs access to a chain.
    SmartContractWallet,
    /// WebAuthn P-256.
    Passkey,
}

impl std::fmt::Display for SignatureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SmartContractWallet => "smart contract wallet",
            Self::Passkey => "passkey",
        })
    }
}

/// The rule an update breaks. It is refused whole, by everyone, for good (IDENT-002).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An add names the signer itself as the new member (IDENT-040).
    #[error("a member cannot add itself")]
    AddsItself,
    /// An inbox is created once (IDENT-011).
    #[error("the inbox exists already")]
    AlreadyCreated,
    /// An add names a current member (IDENT-040).
    #[error("the new member is a member already")]
    AlreadyMember,
    /// An address is not `0x` and 40 lowercase hexadecimal digits (IDENT-013).
    #[error("an address is not 0x and 40 lowercase hexadecimal digits")]
    BadAddress,
    /// A signature does not verify (IDENT-030).
    #[error("a signature does not verify")]
    BadSignature,
    /// The update holds no action (IDENT-001).
    #[error("the update holds no action")]
    Empty,
    /// An installation added an installation (IDENT-041).
    #[error("an installation cannot add an installation")]
    InstallationAddsInstallation,
    /// The bytes are not an update (IDENT-001).
    #[error("the update cannot be read: {0}")]
    Malformed(String),
    /// The first action of a log does not create the inbox (IDENT-011).
    #[error("the inbox does not exist yet")]
    NotCreated,
    /// The adder is neither a member nor the recovery identifier (IDENT-040).
    #[error("the adder is not a member of the inbox")]
    NotMember,
    /// Only the recovery identifier revokes and hands on recovery (IDENT-043, IDENT-045).
    #[error("only the recovery identifier may do this")]
    NotRecovery,
    /// The signer stands for another chain's account (IDENT-046).
    #[error("a signature is of the same address on another chain")]
    OtherChain,
    /// A signature was used in an earlier update (IDENT-050).
    #[error("a signature was used before")]
    Replayed,
    /// The update names another inbox than its log or its creation (IDENT-003).
    #[error("the update is for another inbox")]
    WrongInbox,
    /// A signature is not by whom it must be (IDENT-012, IDENT-040).
    #[error("a signature is not by the member it stands for")]
    WrongSigner,
}

/// Any failure of this module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The update is refused for good.
    #[error("identity update refused: {0}")]
    Refused(#[from] Refusal),
    /// The state depends on a signature this version cannot verify; a later version can.
    #[error("{0} signatures are not supported yet; update the app to use this inbox")]
    Unsupported(SignatureKind),
    /// A log handed over is not in ascending order.
    #[error("identity updates are out of order at {}; fetch the inbox's updates again", .0.0)]
    OutOfOrder(SequenceId),
    /// Text an app gave is not an address.
    #[error("not an Ethereum address: expected 0x and 40 hexadecimal digits")]
    NotAnAddress,
    /// A secret key is not one (zero, or not below the curve order).
    #[error("not a usable secp256k1 secret key")]
    BadSecret,
    /// A wallet answered with something that is not a 65-byte signature.
    #[error(
        "the wallet returned {0} bytes instead of a 65-byte signature; \
         smart contract wallets are not supported yet"
    )]
    NotAWalletSignature(usize),
    /// A wallet signed with another account.
    #[error("the signature is not by {0}; sign with that account")]
    WrongAccount(Identifier),
    /// An account named as signer may not do this.
    #[error("the account is not allowed to make this change to the inbox")]
    NotAuthorised,
    /// An installation to add is there already.
    #[error("the installation is registered already")]
    AlreadyRegistered,
    /// A member to revoke is not one, or none was named.
    #[error("nothing to revoke: not a member of the inbox")]
    NothingToRevoke,
    /// The inbox has as many installations as it may have.
    #[error("the inbox already has {} installations, and no room for one more", super::MAX_INSTALLATIONS)]
    TooManyInstallations,
    /// A bug of ours.
    #[error("internal error in identity ({0}); please report it")]
    Bug(&'static str),
}
