//! The MLS profile of the protocol: suite, capabilities, limits, and the runtime configuration
//! OpenMLS is given (facts 1.1–1.3).

use openmls::prelude::{ApplicationIdExtension, BasicCredential, Ciphersuite, LeafNode};
use openmls::prelude::{
    Capabilities, Credential, CredentialType, CredentialWithKey, Extension, ExtensionType, Extensions,
    Lifetime, MlsGroupJoinConfig, PURE_CIPHERTEXT_WIRE_FORMAT_POLICY, ProposalType, ProtocolVersion,
    RequiredCapabilitiesExtension, SenderRatchetConfiguration,
};

use super::plain::Plain;
use crate::base::{InboxId, InstallationId};
use crate::wire::MlsCredential;

/// Message secrets are kept for so many epochs behind the current one.
pub const MAX_PAST_EPOCHS: usize = 3;

/// A key package is not used to add its installation later than this after it was made: 84 days.
pub const KEY_PACKAGE_LIFETIME_NS: i64 = 84 * 24 * 60 * 60 * 1_000_000_000;

/// Key-package extension of ours, private use: when the key package expires, nanoseconds since
/// the Unix epoch as 8 bytes big-endian. Only the member who adds the installation judges it.
pub const EXPIRY_EXTENSION: u16 = 0xF0D0;

/// Key-package extension: another key than the init key to wrap Welcomes to (facts 3.1). Read,
/// never written: our Welcomes are wrapped to init keys.
pub const WRAPPER_EXTENSION: u16 = 0xFF03;

/// Key-package extension: AEADs accepted for a shared Welcome (facts 3.1).
pub const POINTER_EXTENSION: u16 = 0xFF04;

/// MLS_128_DHKEMX25519_CHACHA20POLY1305_SHA256_Ed25519, 0x0003.
pub(super) const SUITE: Ciphersuite = Ciphersuite::MLS_128_DHKEMX25519_CHACHA20POLY1305_SHA256_Ed25519;

/// Secrets of so many skipped messages of a sender stay usable.
const OUT_OF_ORDER: u32 = 5;

/// A sender may be so many messages ahead of what was received of it.
const FORWARD: u32 = 1000;

/// What every leaf of ours says it can do.
pub(super) fn capabilities() -> Capabilities {
    let extensions = [
        ExtensionType::AppDataDictionary,
        ExtensionType::LastResort,
        ExtensionType::ApplicationId,
        ExtensionType::Unknown(EXPIRY_EXTENSION),
        ExtensionType::Unknown(POINTER_EXTENSION),
    ];
    Capabilities::new(
        Some(&[ProtocolVersion::Mls10]),
        Some(&[SUITE]),
        Some(&extensions),
        Some(&[ProposalType::AppDataUpdate]),
        Some(&[CredentialType::Basic]),
    )
}

/// What a group of ours requires of every leaf.
pub(super) fn required_capabilities() -> Extension {
    Extension::RequiredCapabilities(RequiredCapabilitiesExtension::new(
        &[ExtensionType::AppDataDictionary],
        &[ProposalType::AppDataUpdate],
        &[],
    ))
}

/// The lifetime that no clock can disagree with.
pub(super) fn unbounded_lifetime() -> Lifetime {
    Lifetime::init(0, u64::MAX)
}

/// True when members with different clocks could judge `lifetime` differently.
pub(super) fn is_bounded(lifetime: &Lifetime) -> bool {
    lifetime != &unbounded_lifetime()
}

/// The credential and key of an installation's leaves.
pub(super) fn credential(inbox: InboxId, installation: InstallationId) -> CredentialWithKey {
    let credential = BasicCredential::new(MlsCredential { inbox }.encode());
    CredentialWithKey { credential: credential.into(), signature_key: installation.as_bytes().into() }
}

/// The inbox a credential names; `None` when it cannot be read.
pub(super) fn inbox_of(credential: &Credential) -> Option<InboxId> {
    if credential.credential_type() != CredentialType::Basic {
        return None;
    }
    MlsCredential::decode(credential.serialized_content()).ok().map(|c| c.inbox)
}

/// The extensions of our leaves: the inbox id as application id.
pub(super) fn leaf_extensions(inbox: InboxId) -> Result<Extensions<LeafNode>, String> {
    let id = ApplicationIdExtension::new(inbox.to_string().as_bytes());
    Extensions::single(Extension::ApplicationId(id)).map_err(|e| e.to_string())
}

/// How OpenMLS runs our groups. Never stored: [`join_config_plain`] says the same to its loader.
pub(super) fn join_config() -> MlsGroupJoinConfig {
    padded_config(0)
}

/// [`join_config`], with handshake and application messages padded to a multiple of `padding`.
pub(super) fn padded_config(padding: usize) -> MlsGroupJoinConfig {
    MlsGroupJoinConfig::builder()
        .wire_format_policy(PURE_CIPHERTEXT_WIRE_FORMAT_POLICY)
        .padding_size(padding)
        .max_past_epochs(MAX_PAST_EPOCHS)
        .number_of_resumption_psks(0)
        .use_ratchet_tree_extension(true)
        .sender_ratchet_configuration(ratchet_config())
        .build()
}

/// How far messages of one sender may be out of order.
pub(super) fn ratchet_config() -> SenderRatchetConfiguration {
    SenderRatchetConfiguration::new(OUT_OF_ORDER, FORWARD)
}

/// [`join_config`] as data that the storage trait's generic type can be read from.
pub(super) fn join_config_plain() -> Plain {
    let ciphertext = || Plain::Variant("AlwaysCiphertext");
    let wire = Plain::Fields(vec![("outgoing", ciphertext()), ("incoming", ciphertext())]);
    let ratchet = Plain::Fields(vec![
        ("out_of_order_tolerance", Plain::Number(OUT_OF_ORDER.into())),
        ("maximum_forward_distance", Plain::Number(FORWARD.into())),
    ]);
    Plain::Fields(vec![
        ("wire_format_policy", wire),
        ("padding_size", Plain::Number(0)),
        ("past_epoch_deletion_policy", Plain::Number(MAX_PAST_EPOCHS as u64)),
        ("number_of_resumption_psks", Plain::Number(0)),
        ("use_ratchet_tree_extension", Plain::Flag(true)),
        ("sender_ratchet_configuration", ratchet),
    ])
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn the_configuration_read_back_is_the_constant() {
        assert_eq!(MlsGroupJoinConfig::deserialize(join_config_plain()).unwrap(), join_config());
    }

    #[test]
    fn credentials_name_their_inbox() {
        let (inbox, installation) = (InboxId([7; 32]), InstallationId([9; 32]));
        let ours = credential(inbox, installation);
        assert_eq!(inbox_of(&ours.credential), Some(inbox));
        assert_eq!(inbox_of(&Credential::new(CredentialType::Basic, vec![1, 2])), None);
        let x509 = Credential::new(CredentialType::X509, MlsCredential { inbox }.encode());
        assert_eq!(inbox_of(&x509), None);
    }
}
