//! Key packages that are valid and larger than any honest client's.

use dovetail::base::Topic;
use dovetail::mls::profile::POINTER_EXTENSION;
use dovetail::wire::{AEAD_CHACHA20_POLY1305, ClientEnvelope, WelcomePointeeAeadTypes};
use openmls::prelude::tls_codec::{DeserializeBytes as _, Serialize as _};
use openmls::prelude::{
    ApplicationIdExtension, CredentialWithKey, Extension, Extensions, KeyPackage, KeyPackageIn, Lifetime,
    OpenMlsProvider as _, ProtocolVersion, UnknownExtension,
};

use super::Forger;

impl Forger {
    /// The newest key package becomes one whose leaf, which every tree with it and so every Welcome
    /// has, is `leaf` bytes larger, and which only the commit that adds it has `rest` more of.
    pub fn fatten(&self, leaf: usize, rest: usize) {
        let bytes = self.key_package(self.installation());
        let package = KeyPackageIn::tls_deserialize_exact_bytes(&bytes).expect("a key package");
        let package = package.validate(self.scratch.crypto(), ProtocolVersion::Mls10).expect("valid");
        let node = package.leaf_node();
        let id = Extension::ApplicationId(ApplicationIdExtension::new(&vec![7; leaf]));
        let types = vec![AEAD_CHACHA20_POLY1305; 1 + rest];
        let pointers = UnknownExtension(WelcomePointeeAeadTypes(types).encode());
        let pointers = Extension::Unknown(POINTER_EXTENSION, pointers);
        let made = KeyPackage::builder()
            .key_package_lifetime(Lifetime::init(0, u64::MAX))
            .key_package_extensions(Extensions::single(pointers).expect("extensions"))
            .leaf_node_capabilities(node.capabilities().clone())
            .leaf_node_extensions(Extensions::single(id).expect("extensions"))
            .mark_as_last_resort()
            .build(
                package.ciphersuite(),
                &self.scratch,
                &self.keys,
                CredentialWithKey {
                    credential: node.credential().clone(),
                    signature_key: node.signature_key().clone(),
                },
            );
        let bytes = made.expect("made").key_package().tls_serialize_detached().expect("bytes");
        self.publish_raw(Topic::KeyPackage(self.installation()), ClientEnvelope::KeyPackage(bytes).encode());
    }
}
