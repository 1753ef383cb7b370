//! Who a leaf of a past epoch was.
//!
//! OpenMLS names the leaf and the credential of a late message's sender, not its signature key. So
//! each merge notes the leaves it removes or replaces; every other leaf is still in the tree.

use serde::{Deserialize, Serialize};

use super::facts::LeafFacts;
use super::parts::Entity;
use super::profile::MAX_PAST_EPOCHS;
use super::scratch::{Scratch, ScratchError};
use crate::base::{GroupId, InboxId, InstallationId};

/// Leaves of an epoch that the commit ending it removed or replaced.
#[derive(Serialize, Deserialize)]
struct Gone {
    epoch: u64,
    leaves: Vec<(u32, Option<InboxId>, InstallationId)>,
}

/// Notes the leaves that differ between `epoch` and the next one, both ascending by index.
pub(super) fn note(
    scratch: &Scratch,
    group: GroupId,
    epoch: u64,
    before: &[LeafFacts],
    after: &[LeafFacts],
) -> Result<(), ScratchError> {
    let mut epochs: Vec<Gone> = scratch.get(group, Entity::PastLeaves, &[])?.unwrap_or_default();
    let stays = |leaf: &LeafFacts| {
        let at = after.binary_search_by_key(&leaf.index, |leaf| leaf.index);
        at.is_ok_and(|at| after.get(at) == Some(leaf))
    };
    let gone = before.iter().filter(|leaf| !stays(leaf));
    let leaves = gone.map(|leaf| (leaf.index, leaf.inbox, leaf.installation)).collect();
    epochs.push(Gone { epoch, leaves });
    epochs.drain(..epochs.len().saturating_sub(MAX_PAST_EPOCHS));
    scratch.put(group, Entity::PastLeaves, &[], &epochs)
}

/// The leaf `index` had in `epoch`, if a later commit removed or replaced it.
pub(super) fn leaf(
    scratch: &Scratch,
    group: GroupId,
    epoch: u64,
    index: u32,
) -> Result<Option<LeafFacts>, ScratchError> {
    let epochs: Vec<Gone> = scratch.get(group, Entity::PastLeaves, &[])?.unwrap_or_default();
    let later = epochs.iter().filter(|gone| gone.epoch >= epoch).flat_map(|gone| &gone.leaves);
    let found = later.into_iter().find(|(at, ..)| *at == index);
    Ok(found.map(|&(index, inbox, installation)| LeafFacts { index, inbox, installation }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupId = GroupId([1; 16]);

    fn facts(index: u32, installation: u8) -> LeafFacts {
        LeafFacts { index, inbox: Some(InboxId([1; 32])), installation: InstallationId([installation; 32]) }
    }

    #[test]
    fn a_leaf_is_found_as_it_was_in_its_epoch() {
        let scratch = Scratch::new();
        let epochs = [
            vec![facts(0, 1), facts(1, 2)],
            vec![facts(0, 1), facts(1, 3)],
            vec![facts(0, 1)],
            vec![facts(0, 1), facts(1, 4)],
        ];
        for (epoch, pair) in epochs.windows(2).enumerate() {
            note(&scratch, GROUP, epoch as u64, &pair[0], &pair[1]).unwrap();
        }
        let was = |epoch| leaf(&scratch, GROUP, epoch, 1).unwrap();
        assert_eq!(was(0), Some(facts(1, 2)));
        assert_eq!(was(1), Some(facts(1, 3)));
        // In epoch 2 there was no such leaf, in epoch 3 it is the one still in the tree.
        assert_eq!(was(3), None);
        assert_eq!(leaf(&scratch, GROUP, 0, 0).unwrap(), None);
    }

    #[test]
    fn only_epochs_that_still_decrypt_are_kept() {
        let scratch = Scratch::new();
        for epoch in 0..9 {
            note(&scratch, GROUP, epoch, &[facts(0, epoch as u8)], &[facts(0, epoch as u8 + 1)]).unwrap();
        }
        let kept: Vec<Gone> = scratch.get(GROUP, Entity::PastLeaves, &[]).unwrap().unwrap();
        assert_eq!(kept.iter().map(|gone| gone.epoch).collect::<Vec<_>>(), [6, 7, 8]);
    }
}
