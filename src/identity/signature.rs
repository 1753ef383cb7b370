//! Signatures of updates: their wire form, verification and making (IDENT-030, IDENT-031, facts 4.2).
//!
//! Wallets sign the personal-message hash (EIP-191, version 0x45) with secp256k1; installations
//! sign with Ed25519ph under a context string, so that nothing an app has signed by an
//! installation can pass for consent to an identity update.

use ed25519_dalek::{Signature as EdSignature, SigningKey as EdSigningKey, VerifyingKey as EdVerifyingKey};
use k256::ecdsa::{Signature as EcSignature, SigningKey, VerifyingKey};
use k256::elliptic_curve::PrimeField as _;
use k256::elliptic_curve::ops::{Invert as _, LinearCombination as _, Reduce};
use k256::elliptic_curve::point::DecompressPoint as _;
use k256::{AffinePoint, ProjectivePoint, Scalar, U256};
use sha2::{Digest, Sha512};
use sha3::Keccak256;

use super::{Address, Identifier, IdentityError, MemberId, Refusal, SignatureKind};
use crate::base::InstallationId;
use crate::wire::proto;

/// A signature as an update carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// By an Ethereum account: `r`, `s`, recovery byte 0, 1, 27 or 28.
    Erc191([u8; 65]),
    /// By a smart contract wallet. Read, not verified.
    SmartContractWallet {
        /// CAIP-10 account id.
        account_id: String,
        /// The block it is judged at.
        block_number: u64,
        /// The wallet's own bytes.
        signature: Vec<u8>,
    },
    /// By an installation.
    Installation {
        /// Who signed.
        installation: InstallationId,
        /// Ed25519ph.
        signature: [u8; 64],
    },
    /// By a passkey. Read, not verified.
    Passkey {
        /// SEC1 public key.
        public_key: Vec<u8>,
        /// DER-encoded ECDSA.
        signature: Vec<u8>,
        /// WebAuthn authenticator data.
        authenticator_data: Vec<u8>,
        /// WebAuthn client data.
        client_data_json: Vec<u8>,
    },
}

/// What an installation key signs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningContext {
    /// An identity update.
    IdentityUpdate,
    /// Text chosen by an app.
    App,
}

impl SigningContext {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::IdentityUpdate => b"IDENTITY UPDATE SIGNATURE",
            Self::App => b"PUBLIC SIGNATURE CONTEXT",
        }
    }
}

/// Who made a signature, as far as this version can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Checked {
    /// The signer; only claimed when `unproven` is set.
    pub signer: MemberId,
    /// What is remembered to recognise the signature again, in canonical form.
    pub replay_key: Option<Vec<u8>>,
    /// The kind this version cannot verify.
    pub unproven: Option<SignatureKind>,
}

impl Signature {
    /// A wallet's answer to a request to sign.
    ///
    /// # Errors
    /// [`IdentityError::NotAWalletSignature`] unless it has 65 bytes.
    pub fn from_wallet(bytes: &[u8]) -> Result<Self, IdentityError> {
        let sized = bytes.try_into().map_err(|_| IdentityError::NotAWalletSignature(bytes.len()))?;
        Ok(Self::Erc191(sized))
    }

    /// Verifies against a text, or says that it cannot.
    pub(super) fn check(&self, text: &str) -> Result<Checked, Refusal> {
        match self {
            Self::Erc191(bytes) => check_erc191(bytes, text),
            Self::Installation { installation, signature } => {
                let valid =
                    verify_installation(*installation, SigningContext::IdentityUpdate, text, signature);
                if !valid {
                    return Err(Refusal::BadSignature);
                }
                let signer = MemberId::Installation(*installation);
                Ok(Checked { signer, replay_key: Some(signature.to_vec()), unproven: None })
            }
            Self::SmartContractWallet { account_id, .. } => Ok(Checked {
                signer: Identifier::Ethereum(caip10_address(account_id)?).into(),
                replay_key: None,
                unproven: Some(SignatureKind::SmartContractWallet),
            }),
            Self::Passkey { public_key, .. } => Ok(Checked {
                signer: Identifier::Passkey(public_key.clone()).into(),
                replay_key: None,
                unproven: Some(SignatureKind::Passkey),
            }),
        }
    }

    /// What [`Self::check`] found when it accepted the signature before; `signer` is the account that
    /// an account's signature is then known to be by. Verifies nothing, and is `None` where only
    /// that would tell the signer.
    pub(super) fn recall(&self, signer: Option<&MemberId>) -> Option<Checked> {
        let (signer, key) = match self {
            Self::Erc191(bytes) => {
                let (signature, odd) = canonical(bytes).ok()?;
                (signer?.clone(), wallet_form(&signature, odd, 0).to_vec())
            }
            Self::Installation { installation, signature } => {
                (MemberId::Installation(*installation), signature.to_vec())
            }
            Self::SmartContractWallet { .. } | Self::Passkey { .. } => return None,
        };
        Some(Checked { signer, replay_key: Some(key), unproven: None })
    }

    pub(super) fn to_proto(&self) -> proto::Signature {
        use proto::signature::Signature as Kind;
        let kind = match self.clone() {
            Self::Erc191(bytes) => Kind::Erc191(proto::RecoverableEcdsaSignature { bytes: bytes.to_vec() }),
            Self::SmartContractWallet { account_id, block_number, signature } => {
                Kind::Erc6492(proto::SmartContractWalletSignature { account_id, block_number, signature })
            }
            Self::Installation { installation, signature } => {
                Kind::InstallationKey(proto::RecoverableEd25519Signature {
                    bytes: signature.to_vec(),
                    public_key: installation.as_bytes().to_vec(),
                })
            }
            Self::Passkey { public_key, signature, authenticator_data, client_data_json } => {
                Kind::Passkey(proto::RecoverablePasskeySignature {
                    public_key,
                    signature,
                    authenticator_data,
                    client_data_json,
                })
            }
        };
        proto::Signature { signature: Some(kind) }
    }

    pub(super) fn from_proto(signature: Option<proto::Signature>) -> Result<Self, Refusal> {
        use proto::signature::Signature as Kind;
        match signature.and_then(|s| s.signature).ok_or(Refusal::BadSignature)? {
            Kind::Erc191(s) => s.bytes.try_into().map(Self::Erc191).map_err(|_| Refusal::BadSignature),
            Kind::Erc6492(s) => Ok(Self::SmartContractWallet {
                account_id: s.account_id,
                block_number: s.block_number,
                signature: s.signature,
            }),
            Kind::InstallationKey(s) => Ok(Self::Installation {
                installation: InstallationId::from_slice(&s.public_key).map_err(|_| Refusal::BadSignature)?,
                signature: s.bytes.try_into().map_err(|_| Refusal::BadSignature)?,
            }),
            Kind::Passkey(s) => Ok(Self::Passkey {
                public_key: s.public_key,
                signature: s.signature,
                authenticator_data: s.authenticator_data,
                client_data_json: s.client_data_json,
            }),
        }
    }
}

/// Signs a text as an Ethereum account (`personal_sign`), recovery byte 27 or 28.
///
/// # Errors
/// [`IdentityError::BadSecret`].
pub fn sign_erc191(secret: &[u8; 32], text: &str) -> Result<[u8; 65], IdentityError> {
    let (signature, recovery) = account_key(secret)?
        .sign_prehash_recoverable(&personal_hash(text))
        .map_err(|_| IdentityError::Bug("secp256k1 signing failed"))?;
    Ok(wallet_form(&signature, recovery.is_y_odd(), 27))
}

/// The address of an Ethereum account.
///
/// # Errors
/// [`IdentityError::BadSecret`].
pub fn address_of(secret: &[u8; 32]) -> Result<Address, IdentityError> {
    Ok(address(account_key(secret)?.verifying_key()))
}

/// Signs a text as an installation. `seed` is the Ed25519 seed of its key.
pub fn sign_installation(
    seed: &[u8; 32],
    context: SigningContext,
    text: &str,
) -> Result<[u8; 64], IdentityError> {
    EdSigningKey::from_bytes(seed)
        .sign_prehashed(Sha512::new_with_prefix(text), Some(context.bytes()))
        .map(|signature| signature.to_bytes())
        .map_err(|_| IdentityError::Bug("Ed25519 context too long"))
}

/// Whether an installation signed a text for this use.
pub fn verify_installation(
    installation: InstallationId,
    context: SigningContext,
    text: &str,
    signature: &[u8; 64],
) -> bool {
    let Ok(key) = EdVerifyingKey::from_bytes(&installation.0) else { return false };
    let signature = EdSignature::from_bytes(signature);
    key.verify_prehashed(Sha512::new_with_prefix(text), Some(context.bytes()), &signature).is_ok()
}

fn check_erc191(bytes: &[u8; 65], text: &str) -> Result<Checked, Refusal> {
    let (signature, odd) = canonical(bytes)?;
    let key = recover(&personal_hash(text), &signature, odd).ok_or(Refusal::BadSignature)?;
    Ok(Checked {
        signer: Identifier::Ethereum(address(&key)).into(),
        replay_key: Some(wallet_form(&signature, odd, 0).to_vec()),
        unproven: None,
    })
}

/// `r` and `s` with the low `s`, and which of the two points with this `r` is meant.
fn canonical(bytes: &[u8; 65]) -> Result<(EcSignature, bool), Refusal> {
    let [rs @ .., recovery] = bytes;
    let odd = match recovery {
        0 | 27 => false,
        1 | 28 => true,
        _ => return Err(Refusal::BadSignature),
    };
    let given = EcSignature::from_slice(rs).map_err(|_| Refusal::BadSignature)?;
    // `-s` belongs to the other of the two points with this `r`.
    Ok(match given.normalize_s() {
        Some(low) => (low, !odd),
        None => (given, odd),
    })
}

/// The key a signature is by: `Q = r⁻¹ (s R - z G)` (SEC 1, section 4.1.6), for one of the keys that
/// have a private one. To verify the signature with it would compute `R` back from what `Q` was
/// computed from, which says nothing more, and costs as much again.
fn recover(hash: &[u8; 32], signature: &EcSignature, odd: bool) -> Option<VerifyingKey> {
    let (r, s) = signature.split_scalars();
    let z = <Scalar as Reduce<U256>>::reduce_bytes(&(*hash).into());
    let point = Option::<AffinePoint>::from(AffinePoint::decompress(&r.to_repr(), u8::from(odd).into()))?;
    let inverse = *r.invert();
    let (of_base, of_point) = (-(inverse * z), inverse * *s);
    let key = ProjectivePoint::lincomb(&ProjectivePoint::GENERATOR, &of_base, &point.into(), &of_point);
    VerifyingKey::from_affine(key.to_affine()).ok()
}

/// The address in `eip155:<decimal chain id>:0x…`, any case (IDENT-060).
fn caip10_address(account_id: &str) -> Result<Address, Refusal> {
    let rest = account_id.strip_prefix("eip155:").ok_or(Refusal::BadSignature)?;
    let (chain, address) = rest.split_once(':').ok_or(Refusal::BadSignature)?;
    let decimal = !chain.is_empty() && chain.len() <= 32 && chain.bytes().all(|b| b.is_ascii_digit());
    if !decimal {
        return Err(Refusal::BadSignature);
    }
    Address::from_app(address).map_err(|_| Refusal::BadSignature)
}

fn account_key(secret: &[u8; 32]) -> Result<SigningKey, IdentityError> {
    SigningKey::from_slice(secret).map_err(|_| IdentityError::BadSecret)
}

fn wallet_form(signature: &EcSignature, odd: bool, base: u8) -> [u8; 65] {
    let mut out = [0; 65];
    out[..64].copy_from_slice(&signature.to_bytes());
    out[64] = base + u8::from(odd);
    out
}

pub(super) fn personal_hash(text: &str) -> [u8; 32] {
    let prefix = format!("\x19Ethereum Signed Message:\n{}", text.len());
    Keccak256::new_with_prefix(prefix).chain_update(text).finalize().into()
}

pub(super) fn address(key: &VerifyingKey) -> Address {
    let point = key.to_encoded_point(false);
    // SEC1: a tag byte, then the 64 bytes that are hashed; the address is the hash's tail.
    let hash: [u8; 32] = Keccak256::digest(&point.as_bytes()[1..]).into();
    let mut out = [0; 20];
    out.copy_from_slice(&hash[12..]);
    Address(out)
}
