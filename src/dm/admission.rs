//! What a joiner checks before it accepts a DM (DMS-003) or activates a restored placeholder
//! (DMS-015).
//!
//! All of it binds whoever the adder is, the own inbox included. Membership, leaves and policies
//! are the group's as the Welcome describes it; nothing here needs identity state. Any group, DM
//! or not, must say its type and creator and hold a registry (META-019).

use crate::base::{DmId, InboxId};
use crate::meta::{ConversationType, Dictionary, DictionaryError};
use crate::mls::facts::JoinFacts;
use crate::policy::matches_fixed_dm_policy;

/// What a Welcome's group is, once its kind's checks have passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// A DM of the own inbox.
    Dm(DmId),
    /// Another kind; its own checks are not made here.
    Other(ConversationType),
}

/// Why a Welcome is rejected for good (JOIN-060).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// Type, creator or registry is missing or unreadable.
    #[error("the group does not say what it is: {0}")]
    Incomplete(DictionaryError),
    /// DM_MEMBERS is not two distinct inboxes.
    #[error("the DM does not name its two inboxes: {0}")]
    Pair(DictionaryError),
    /// The pair is somebody else's.
    #[error("the DM is between two other inboxes")]
    NotOurs,
    /// The adder is not of the pair.
    #[error("the DM was offered by an inbox that is not part of it")]
    Adder,
    /// The membership component cannot be read.
    #[error("the DM's members cannot be read: {0}")]
    Members(DictionaryError),
    /// A third inbox is a member.
    #[error("inbox {0} is a member of a DM it is not part of")]
    ThirdMember(InboxId),
    /// A leaf names a third inbox, or none.
    #[error("the leaf at index {0} is of no inbox of the DM")]
    ThirdLeaf(u32),
    /// A role list cannot be read.
    #[error("the DM's role lists cannot be read: {0}")]
    Roles(DictionaryError),
    /// SUPER_ADMIN_LIST is not empty.
    #[error("the DM has a super admin")]
    SuperAdmin,
    /// ADMIN_LIST is not empty.
    #[error("the DM has an admin")]
    Admin,
    /// Membership or admin list may be changed in ways the fixed policy denies.
    #[error("the DM's policies are not those of a DM")]
    Policies,
    /// A placeholder's kind or pair would change.
    #[error("the group is stored here as another conversation; its history stays where it is")]
    Activation,
}

impl AdmissionError {
    /// The requirement it breaks.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Incomplete(_) => "META-019",
            Self::Pair(_) => "META-030",
            Self::Activation => "DMS-015",
            _ => "DMS-003",
        }
    }
}

/// Checks a Welcome's group as its kind demands; `own` is the own inbox.
pub fn admit(join: &JoinFacts, own: InboxId) -> Result<Admitted, AdmissionError> {
    let view = Dictionary::new(&join.group.dictionary);
    let kind = view.conversation_type().map_err(AdmissionError::Incomplete)?;
    view.creator().map_err(AdmissionError::Incomplete)?;
    view.registry().map_err(AdmissionError::Incomplete)?;
    match kind {
        ConversationType::Dm => admit_dm(join, own, view).map(Admitted::Dm),
        other => Ok(Admitted::Other(other)),
    }
}

/// Checks that a Welcome over a restored placeholder keeps its type and pair (DMS-015). Each side
/// is `None` when it is no DM; when neither is one, JOIN-081 decides.
pub fn check_activation(stored: Option<DmId>, welcomed: Option<DmId>) -> Result<(), AdmissionError> {
    if stored == welcomed { Ok(()) } else { Err(AdmissionError::Activation) }
}

fn admit_dm(join: &JoinFacts, own: InboxId, view: Dictionary<'_>) -> Result<DmId, AdmissionError> {
    let pair = view.dm_members().map_err(AdmissionError::Pair)?;
    let of_pair = |inbox: Option<InboxId>| inbox.is_some_and(|inbox| pair.contains(&inbox));
    if !of_pair(Some(own)) {
        return Err(AdmissionError::NotOurs);
    }
    if !of_pair(join.adder.inbox) {
        return Err(AdmissionError::Adder);
    }
    let members = view.members().map_err(AdmissionError::Members)?;
    if let Some(third) = members.iter().find(|member| !of_pair(Some(**member))) {
        return Err(AdmissionError::ThirdMember(*third));
    }
    if let Some(leaf) = join.group.leaves.iter().find(|leaf| !of_pair(leaf.inbox)) {
        return Err(AdmissionError::ThirdLeaf(leaf.index));
    }
    if !view.super_admins().map_err(AdmissionError::Roles)?.is_empty() {
        return Err(AdmissionError::SuperAdmin);
    }
    if !view.admins().map_err(AdmissionError::Roles)?.is_empty() {
        return Err(AdmissionError::Admin);
    }
    if !matches_fixed_dm_policy(&view.registry().map_err(AdmissionError::Incomplete)?) {
        return Err(AdmissionError::Policies);
    }
    // A set of two is a pair of different inboxes, so this names one DM.
    DmId::of(pair[0], pair[1]).ok_or(AdmissionError::NotOurs)
}

#[cfg(test)]
mod tests {
    use crate::base::Map;

    use super::*;
    use crate::base::{GroupId, InstallationId};
    use crate::meta::Base;
    use crate::meta::component::*;
    use crate::meta::{FIRST_FLOOR, NewConversation, Settings, encode_inbox_map, encode_inbox_set};
    use crate::mls::facts::{GroupFacts, LeafFacts};
    use crate::policy::{ADMINS_ONLY, ALL_MEMBERS, DM, Row, new_dm, new_group, registry_of};

    const OWN: InboxId = InboxId([1; 32]);
    const PEER: InboxId = InboxId([2; 32]);
    const THIRD: InboxId = InboxId([3; 32]);

    fn leaf(index: u32, inbox: InboxId) -> LeafFacts {
        LeafFacts { index, inbox: Some(inbox), installation: InstallationId([index as u8; 32]) }
    }

    fn new(settings: &Settings) -> NewConversation<'_> {
        NewConversation {
            creator: PEER,
            creator_entry: &[0x0a, 0],
            floor: FIRST_FLOOR,
            settings,
            commit_log_signer: None,
        }
    }

    fn membership(of: &[InboxId]) -> Vec<u8> {
        encode_inbox_map(&of.iter().map(|inbox| (*inbox, vec![0x0a, 2, 8, 5])).collect())
    }

    fn valid() -> JoinFacts {
        let mut dictionary = new_dm(&new(&Settings::default()), OWN).unwrap();
        dictionary.insert(GROUP_MEMBERSHIP, membership(&[OWN, PEER]));
        JoinFacts {
            group: GroupFacts {
                group_id: GroupId([7; 16]),
                epoch: 1,
                leaves: vec![leaf(0, PEER), leaf(1, OWN)],
                dictionary,
            },
            adder: leaf(0, PEER),
            own: leaf(1, OWN),
            anchor: 50,
        }
    }

    /// The valid Welcome with one component replaced.
    fn with(component: u16, value: Vec<u8>) -> JoinFacts {
        let mut join = valid();
        join.group.dictionary.insert(component, value);
        join
    }

    fn without(component: u16) -> JoinFacts {
        let mut join = valid();
        join.group.dictionary.remove(&component);
        join
    }

    fn refused(join: &JoinFacts) -> AdmissionError {
        admit(join, OWN).unwrap_err()
    }

    /// The valid Welcome, and the same one from our other installation.
    fn both_adders(join: JoinFacts) -> [JoinFacts; 2] {
        let own = JoinFacts { adder: leaf(1, OWN), ..join.clone() };
        [join, own]
    }

    #[test]
    fn dms_003_a_dm_that_is_what_it_claims_is_admitted_from_either_adder() {
        let expected = Admitted::Dm(DmId::of(OWN, PEER).unwrap());
        for join in both_adders(valid()) {
            assert_eq!(admit(&join, OWN), Ok(expected));
            assert_eq!(admit(&join, PEER), Ok(expected));
        }
    }

    #[test]
    fn dms_003_the_pair_must_be_two_distinct_inboxes() {
        for members in [&[][..], &[OWN], &[OWN, PEER, THIRD]] {
            let join = with(DM_MEMBERS, encode_inbox_set(members));
            assert!(matches!(refused(&join), AdmissionError::Pair(_)));
            assert_eq!(refused(&join).id(), "META-030");
        }
        assert!(matches!(refused(&without(DM_MEMBERS)), AdmissionError::Pair(_)));
        assert!(matches!(refused(&with(DM_MEMBERS, vec![9])), AdmissionError::Pair(_)));
    }

    #[test]
    fn dms_003_the_pair_must_include_the_own_inbox() {
        assert_eq!(admit(&valid(), THIRD), Err(AdmissionError::NotOurs));
        let others = with(DM_MEMBERS, encode_inbox_set(&[PEER, THIRD]));
        for join in both_adders(others) {
            assert_eq!(refused(&join), AdmissionError::NotOurs);
        }
    }

    #[test]
    fn dms_003_the_adder_must_be_of_the_pair() {
        let mut join = valid();
        join.adder = leaf(0, THIRD);
        assert_eq!(refused(&join), AdmissionError::Adder);
        join.adder.inbox = None;
        assert_eq!(refused(&join), AdmissionError::Adder);
        assert_eq!(AdmissionError::Adder.id(), "DMS-003");
    }

    #[test]
    fn dms_003_every_member_must_be_of_the_pair() {
        for join in both_adders(with(GROUP_MEMBERSHIP, membership(&[OWN, PEER, THIRD]))) {
            assert_eq!(refused(&join), AdmissionError::ThirdMember(THIRD));
        }
        assert!(matches!(refused(&without(GROUP_MEMBERSHIP)), AdmissionError::Members(_)));
        assert!(matches!(refused(&with(GROUP_MEMBERSHIP, vec![3])), AdmissionError::Members(_)));
    }

    #[test]
    fn dms_003_every_leaf_must_be_of_the_pair() {
        for join in both_adders(valid()) {
            let mut third = join.clone();
            third.group.leaves.push(leaf(4, THIRD));
            assert_eq!(refused(&third), AdmissionError::ThirdLeaf(4));
            let mut unreadable = join;
            unreadable.group.leaves[0].inbox = None;
            assert_eq!(refused(&unreadable), AdmissionError::ThirdLeaf(0));
        }
    }

    #[test]
    fn dms_003_there_must_be_no_super_admin() {
        for holder in [OWN, PEER, THIRD] {
            for join in both_adders(with(SUPER_ADMIN_LIST, encode_inbox_set(&[holder]))) {
                assert_eq!(refused(&join), AdmissionError::SuperAdmin);
            }
        }
        assert!(matches!(refused(&with(SUPER_ADMIN_LIST, vec![9])), AdmissionError::Roles(_)));
    }

    #[test]
    fn dms_003_there_must_be_no_admin() {
        for join in both_adders(with(ADMIN_LIST, encode_inbox_set(&[PEER]))) {
            assert_eq!(refused(&join), AdmissionError::Admin);
        }
        assert!(matches!(refused(&with(ADMIN_LIST, vec![9])), AdmissionError::Roles(_)));
    }

    #[test]
    fn dms_003_each_fixed_insert_and_delete_policy_must_be_denied() {
        for component in [GROUP_MEMBERSHIP, ADMIN_LIST] {
            type Open = fn(&mut Row);
            let opened: [Open; 2] =
                [|row| row.insert = Base::IfSuperAdmin, |row| row.delete = Base::IfSuperAdmin];
            for open in opened {
                let mut rows = DM.to_vec();
                rows.iter_mut().filter(|row| row.component == component).for_each(open);
                for join in both_adders(with(COMPONENT_REGISTRY, registry_of(&rows))) {
                    assert_eq!(refused(&join), AdmissionError::Policies, "{component:#x}");
                }
            }
            let rows: Vec<_> = DM.iter().filter(|row| row.component != component).copied().collect();
            let join = with(COMPONENT_REGISTRY, registry_of(&rows));
            assert_eq!(refused(&join), AdmissionError::Policies);
        }
        for preset in [ALL_MEMBERS, ADMINS_ONLY] {
            let join = with(COMPONENT_REGISTRY, registry_of(preset));
            assert_eq!(refused(&join), AdmissionError::Policies);
        }
    }

    #[test]
    fn dms_003_only_insert_and_delete_of_the_first_table_are_compared() {
        let mut rows = DM.to_vec();
        let membership = rows.iter_mut().filter(|row| row.component == GROUP_MEMBERSHIP);
        membership.for_each(|row| row.update = Base::Deny);
        let names = rows.iter_mut().filter(|row| row.component == GROUP_NAME);
        names.for_each(|row| row.insert = Base::Deny);
        assert!(admit(&with(COMPONENT_REGISTRY, registry_of(&rows)), OWN).is_ok());
    }

    #[test]
    fn meta_019_a_group_without_type_creator_or_registry_is_refused() {
        for component in [CONVERSATION_TYPE, CREATOR_INBOX_ID, COMPONENT_REGISTRY] {
            let error = refused(&without(component));
            assert!(matches!(error, AdmissionError::Incomplete(_)));
            assert_eq!(error.id(), "META-019");
        }
        let unknown = with(CONVERSATION_TYPE, vec![0, 0, 0, 9]);
        assert!(matches!(refused(&unknown), AdmissionError::Incomplete(_)));
    }

    #[test]
    fn dms_003_a_group_that_is_no_dm_is_not_judged_as_one() {
        let dictionary: Map<_, _> = new_group(&new(&Settings::default()), ALL_MEMBERS).unwrap();
        let join = JoinFacts { group: GroupFacts { dictionary, ..valid().group }, ..valid() };
        assert_eq!(admit(&join, OWN), Ok(Admitted::Other(ConversationType::Group)));
    }

    #[test]
    fn dms_015_activation_keeps_type_and_pair() {
        let (ours, other) = (DmId::of(OWN, PEER), DmId::of(OWN, THIRD));
        assert_eq!(check_activation(ours, ours), Ok(()));
        assert_eq!(check_activation(None, None), Ok(()));
        for (stored, welcomed) in [(ours, None), (None, ours), (ours, other)] {
            let error = check_activation(stored, welcomed).unwrap_err();
            assert_eq!((error.clone(), error.id()), (AdmissionError::Activation, "DMS-015"));
        }
    }

    #[test]
    fn dms_008_an_equal_dm_id_is_no_reason_to_reject() {
        // Admission sees nothing of the groups already held: a second group of the pair passes.
        let mut second = valid();
        second.group.group_id = GroupId([8; 16]);
        assert_eq!(admit(&valid(), OWN), admit(&second, OWN));
    }
}
