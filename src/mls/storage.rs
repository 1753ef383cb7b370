//! OpenMLS's storage trait over a [`Scratch`].
//!
//! Group entities become entries of the group's parts; key packages and loose keys become rows of
//! their own. The join configuration is a constant: writing it does nothing. Proposals come back in
//! the order they were queued, because commits by reference depend on it.

use openmls::group::GroupId as MlsGroupId;
use openmls_traits::storage::{CURRENT_VERSION as V, StorageProvider, traits};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::parts::{self, Entity, List};
use super::profile;
use super::scratch::{Scratch, ScratchError};
use crate::base::GroupId;

/// First byte of a key package's row id.
pub(super) const KEY_PACKAGE: u8 = 1;
const SIGNATURE_KEY: u8 = 2;
const ENCRYPTION_KEY: u8 = 3;
const PSK: u8 = 4;

/// A row id: what it is, then OpenMLS's own key of it.
pub(super) fn row_id<K: Serialize>(kind: u8, key: &K) -> Result<Vec<u8>, ScratchError> {
    Ok(parts::encode_to(key, vec![kind])?.to_vec())
}

/// The group a storage key stands for.
fn group<K: Serialize>(key: &K) -> Result<GroupId, ScratchError> {
    let id: MlsGroupId = parts::decode(&parts::encode_to(key, Vec::new())?)?;
    GroupId::from_slice(id.as_slice()).map_err(|_| ScratchError::Corrupt("a group id's length".into()))
}

fn bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, ScratchError> {
    Ok(parts::encode_to(value, Vec::new())?.to_vec())
}

impl Scratch {
    fn list(&self, group: GroupId, entity: Entity) -> Result<List, ScratchError> {
        Ok(self.get(group, entity, &[])?.unwrap_or_default())
    }

    fn put_list(&self, group: GroupId, entity: Entity, list: &List) -> Result<(), ScratchError> {
        if list.0.is_empty() {
            self.remove(group, entity, &[]);
            return Ok(());
        }
        self.put(group, entity, &[], list)
    }

    fn put_row<K: Serialize, T: Serialize>(&self, kind: u8, key: &K, value: &T) -> Result<(), ScratchError> {
        self.put_global(row_id(kind, key)?, value)
    }

    fn row<K: Serialize, T: DeserializeOwned>(&self, kind: u8, key: &K) -> Result<Option<T>, ScratchError> {
        self.global(&row_id(kind, key)?)
    }

    fn remove_row<K: Serialize>(&self, kind: u8, key: &K) -> Result<(), ScratchError> {
        self.remove_global(&row_id(kind, key)?);
        Ok(())
    }
}

/// Which keys of an epoch: the epoch and the own leaf.
fn epoch_suffix<K: Serialize>(epoch: &K, leaf: u32) -> Result<Vec<u8>, ScratchError> {
    let mut suffix = bytes(epoch)?;
    suffix.extend(leaf.to_be_bytes());
    Ok(suffix)
}

/// Entities with one value a group.
macro_rules! entities {
    ($($entity:ident: $bound:ident, $write:ident, $read:ident, $delete:ident;)*) => {$(
        fn $write<G: traits::GroupId<V>, T: traits::$bound<V>>(
            &self, id: &G, value: &T,
        ) -> Result<(), ScratchError> {
            self.put(group(id)?, Entity::$entity, &[], value)
        }

        fn $read<G: traits::GroupId<V>, T: traits::$bound<V>>(
            &self, id: &G,
        ) -> Result<Option<T>, ScratchError> {
            self.get(group(id)?, Entity::$entity, &[])
        }

        fn $delete<G: traits::GroupId<V>>(&self, id: &G) -> Result<(), ScratchError> {
            self.remove(group(id)?, Entity::$entity, &[]);
            Ok(())
        }
    )*};
}

/// Entities that belong to no group.
macro_rules! rows {
    ($($kind:ident: $key:ident, $bound:ident, $write:ident, $delete:ident;)*) => {$(
        fn $write<K: traits::$key<V>, T: traits::$bound<V>>(
            &self, key: &K, value: &T,
        ) -> Result<(), ScratchError> {
            self.put_row($kind, key, value)
        }

        fn $delete<K: traits::$key<V>>(&self, key: &K) -> Result<(), ScratchError> {
            self.remove_row($kind, key)
        }
    )*};
}

impl StorageProvider<V> for Scratch {
    type Error = ScratchError;

    entities! {
        Tree: TreeSync, write_tree, tree, delete_tree;
        Context: GroupContext, write_context, group_context, delete_context;
        TranscriptHash: InterimTranscriptHash, write_interim_transcript_hash, interim_transcript_hash,
            delete_interim_transcript_hash;
        ConfirmationTag: ConfirmationTag, write_confirmation_tag, confirmation_tag, delete_confirmation_tag;
        MessageSecrets: MessageSecrets, write_message_secrets, message_secrets, delete_message_secrets;
        ResumptionSecrets: ResumptionPskStore, write_resumption_psk_store, resumption_psk_store,
            delete_all_resumption_psk_secrets;
        OwnIndex: LeafNodeIndex, write_own_leaf_index, own_leaf_index, delete_own_leaf_index;
        EpochSecrets: GroupEpochSecrets, write_group_epoch_secrets, group_epoch_secrets,
            delete_group_epoch_secrets;
    }

    rows! {
        SIGNATURE_KEY: SignaturePublicKey, SignatureKeyPair, write_signature_key_pair,
            delete_signature_key_pair;
        ENCRYPTION_KEY: EncryptionKey, HpkeKeyPair, write_encryption_key_pair, delete_encryption_key_pair;
        KEY_PACKAGE: HashReference, KeyPackage, write_key_package, delete_key_package;
        PSK: PskId, PskBundle, write_psk, delete_psk;
    }

    fn write_mls_join_config<G: traits::GroupId<V>, T: traits::MlsGroupJoinConfig<V>>(
        &self,
        _: &G,
        _: &T,
    ) -> Result<(), ScratchError> {
        Ok(())
    }

    fn mls_group_join_config<G: traits::GroupId<V>, T: traits::MlsGroupJoinConfig<V>>(
        &self,
        _: &G,
    ) -> Result<Option<T>, ScratchError> {
        let config = T::deserialize(profile::join_config_plain());
        config.map(Some).map_err(|e| ScratchError::Encode(e.to_string()))
    }

    fn delete_group_config<G: traits::GroupId<V>>(&self, _: &G) -> Result<(), ScratchError> {
        Ok(())
    }

    fn write_group_state<T: traits::GroupState<V>, G: traits::GroupId<V>>(
        &self,
        id: &G,
        state: &T,
    ) -> Result<(), ScratchError> {
        self.put(group(id)?, Entity::GroupState, &[], state)
    }

    fn group_state<T: traits::GroupState<V>, G: traits::GroupId<V>>(
        &self,
        id: &G,
    ) -> Result<Option<T>, ScratchError> {
        self.get(group(id)?, Entity::GroupState, &[])
    }

    fn delete_group_state<G: traits::GroupId<V>>(&self, id: &G) -> Result<(), ScratchError> {
        self.remove(group(id)?, Entity::GroupState, &[]);
        Ok(())
    }

    fn write_application_export_tree<G: traits::GroupId<V>, T: traits::ApplicationExportTree<V>>(
        &self,
        id: &G,
        tree: &T,
    ) -> Result<(), ScratchError> {
        self.put(group(id)?, Entity::Exporter, &[], tree)
    }

    fn application_export_tree<G: traits::GroupId<V>, T: traits::ApplicationExportTree<V>>(
        &self,
        id: &G,
    ) -> Result<Option<T>, ScratchError> {
        self.get(group(id)?, Entity::Exporter, &[])
    }

    fn delete_application_export_tree<G: traits::GroupId<V>, T: traits::ApplicationExportTree<V>>(
        &self,
        id: &G,
    ) -> Result<(), ScratchError> {
        self.remove(group(id)?, Entity::Exporter, &[]);
        Ok(())
    }

    fn append_own_leaf_node<G: traits::GroupId<V>, T: traits::LeafNode<V>>(
        &self,
        id: &G,
        leaf: &T,
    ) -> Result<(), ScratchError> {
        let id = group(id)?;
        let mut list = self.list(id, Entity::OwnLeaves)?;
        list.0.push((Vec::new(), bytes(leaf)?));
        self.put_list(id, Entity::OwnLeaves, &list)
    }

    fn own_leaf_nodes<G: traits::GroupId<V>, T: traits::LeafNode<V>>(
        &self,
        id: &G,
    ) -> Result<Vec<T>, ScratchError> {
        let list = self.list(group(id)?, Entity::OwnLeaves)?;
        list.0.iter().map(|(_, leaf)| parts::decode(leaf)).collect()
    }

    fn delete_own_leaf_nodes<G: traits::GroupId<V>>(&self, id: &G) -> Result<(), ScratchError> {
        self.remove(group(id)?, Entity::OwnLeaves, &[]);
        Ok(())
    }

    fn queue_proposal<G: traits::GroupId<V>, R: traits::ProposalRef<V>, T: traits::QueuedProposal<V>>(
        &self,
        id: &G,
        reference: &R,
        proposal: &T,
    ) -> Result<(), ScratchError> {
        let (id, entry) = (group(id)?, (bytes(reference)?, bytes(proposal)?));
        let mut list = self.list(id, Entity::Proposals)?;
        match list.0.iter_mut().find(|(known, _)| *known == entry.0) {
            Some(known) => *known = entry,
            None => list.0.push(entry),
        }
        self.put_list(id, Entity::Proposals, &list)
    }

    fn queued_proposal_refs<G: traits::GroupId<V>, R: traits::ProposalRef<V>>(
        &self,
        id: &G,
    ) -> Result<Vec<R>, ScratchError> {
        let list = self.list(group(id)?, Entity::Proposals)?;
        list.0.iter().map(|(reference, _)| parts::decode(reference)).collect()
    }

    fn queued_proposals<G: traits::GroupId<V>, R: traits::ProposalRef<V>, T: traits::QueuedProposal<V>>(
        &self,
        id: &G,
    ) -> Result<Vec<(R, T)>, ScratchError> {
        let list = self.list(group(id)?, Entity::Proposals)?;
        let pair = |(reference, proposal): &(Vec<u8>, Vec<u8>)| {
            Ok((parts::decode(reference)?, parts::decode(proposal)?))
        };
        list.0.iter().map(pair).collect()
    }

    fn remove_proposal<G: traits::GroupId<V>, R: traits::ProposalRef<V>>(
        &self,
        id: &G,
        reference: &R,
    ) -> Result<(), ScratchError> {
        let (id, reference) = (group(id)?, bytes(reference)?);
        let mut list = self.list(id, Entity::Proposals)?;
        list.0.retain(|(known, _)| *known != reference);
        self.put_list(id, Entity::Proposals, &list)
    }

    fn clear_proposal_queue<G: traits::GroupId<V>, R: traits::ProposalRef<V>>(
        &self,
        id: &G,
    ) -> Result<(), ScratchError> {
        self.remove(group(id)?, Entity::Proposals, &[]);
        Ok(())
    }

    fn write_encryption_epoch_key_pairs<
        G: traits::GroupId<V>,
        E: traits::EpochKey<V>,
        T: traits::HpkeKeyPair<V>,
    >(
        &self,
        id: &G,
        epoch: &E,
        leaf: u32,
        pairs: &[T],
    ) -> Result<(), ScratchError> {
        self.put(group(id)?, Entity::EpochKeys, &epoch_suffix(epoch, leaf)?, &pairs)
    }

    fn encryption_epoch_key_pairs<
        G: traits::GroupId<V>,
        E: traits::EpochKey<V>,
        T: traits::HpkeKeyPair<V>,
    >(
        &self,
        id: &G,
        epoch: &E,
        leaf: u32,
    ) -> Result<Vec<T>, ScratchError> {
        let pairs = self.get(group(id)?, Entity::EpochKeys, &epoch_suffix(epoch, leaf)?)?;
        Ok(pairs.unwrap_or_default())
    }

    fn delete_encryption_epoch_key_pairs<G: traits::GroupId<V>, E: traits::EpochKey<V>>(
        &self,
        id: &G,
        epoch: &E,
        leaf: u32,
    ) -> Result<(), ScratchError> {
        self.remove(group(id)?, Entity::EpochKeys, &epoch_suffix(epoch, leaf)?);
        Ok(())
    }

    fn signature_key_pair<K: traits::SignaturePublicKey<V>, T: traits::SignatureKeyPair<V>>(
        &self,
        key: &K,
    ) -> Result<Option<T>, ScratchError> {
        self.row(SIGNATURE_KEY, key)
    }

    fn encryption_key_pair<T: traits::HpkeKeyPair<V>, K: traits::EncryptionKey<V>>(
        &self,
        key: &K,
    ) -> Result<Option<T>, ScratchError> {
        self.row(ENCRYPTION_KEY, key)
    }

    fn key_package<K: traits::HashReference<V>, T: traits::KeyPackage<V>>(
        &self,
        key: &K,
    ) -> Result<Option<T>, ScratchError> {
        self.row(KEY_PACKAGE, key)
    }

    fn psk<T: traits::PskBundle<V>, K: traits::PskId<V>>(&self, key: &K) -> Result<Option<T>, ScratchError> {
        self.row(PSK, key)
    }
}
