//! What strangers send: external commits and proposals, and frames of a group they are not in.

use dovetail::base::GroupId;
use openmls::prelude::tls_codec::{Deserialize as _, Serialize as _};
use openmls::prelude::{
    ExternalCommitBuilder, JoinProposal, LeafNodeParameters, MlsMessageBodyIn, MlsMessageIn, OpenMlsProvider,
};

use super::Forger;

impl Forger {
    /// A commit by which this installation lets itself into another's group (RFC 9420 section
    /// 12.4.3.2), from a GroupInfo that `insider` gave away.
    pub fn external_commit(&self, insider: &Forger, id: GroupId) -> Vec<u8> {
        let group = insider.raw(id);
        let crypto = insider.scratch.crypto();
        let info = group.export_group_info(crypto, &insider.keys, true).expect("a GroupInfo");
        let bytes = info.tls_serialize_detached().expect("encodes");
        let info = MlsMessageIn::tls_deserialize(&mut bytes.as_slice()).expect("decodes");
        let MlsMessageBodyIn::GroupInfo(info) = info.extract() else { panic!("no GroupInfo") };
        let capabilities = group.own_leaf_node().expect("a leaf").capabilities().clone();
        let leaf = LeafNodeParameters::builder().with_capabilities(capabilities).build();
        let credential = self.credential(self.inbox, self.installation());
        let builder = ExternalCommitBuilder::new().with_config(group.configuration().clone());
        let builder = builder.build_group(&self.scratch, info, credential).expect("builds");
        let builder = builder.leaf_node_parameters(leaf).load_psks(&self.scratch).expect("loads");
        let crypto = self.scratch.crypto();
        let built = builder.build(crypto, crypto, &self.keys, |_| true).expect("builds");
        let (_, bundle) = built.finalize(&self.scratch).expect("finalises");
        bundle.into_messages().0.to_bytes().expect("bytes")
    }

    /// A new member's proposal to be added.
    pub fn external_join(&self, insider: &Forger, id: GroupId) -> Vec<u8> {
        let group = insider.raw(id);
        let package = self.parsed(&self.key_package(self.installation()));
        let proposal = JoinProposal::new::<dovetail::mls::Scratch>(
            package,
            group.group_id().clone(),
            group.epoch(),
            &self.keys,
        );
        proposal.expect("a proposal").to_bytes().expect("bytes")
    }
}
