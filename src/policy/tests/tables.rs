//! The tables against an independent transcription, and what a new conversation holds.

use super::*;

/// One line of a table: components and insert, update, delete as initials.
/// A allow, D deny, M admin, S super admin, N self or non-member.
type Line = (&'static [u16], &'static str);

const TEXTS: &[u16] = &[GROUP_NAME, GROUP_DESCRIPTION, GROUP_IMAGE_URL, APP_DATA];
const TIMES: &[u16] = &[MESSAGE_DISAPPEAR_FROM_NS, MESSAGE_DISAPPEAR_IN_NS];

const DM_LINES: &[Line] = &[
    (&[GROUP_MEMBERSHIP], "DAD"),
    (&[ADMIN_LIST], "DDD"),
    (TEXTS, "AAS"),
    (TIMES, "AAS"),
    (&[MIN_SUPPORTED_PROTOCOL_VERSION], "AAS"),
    (&[COMMIT_LOG_SIGNER], "SSS"),
    (&[USER_DISPLAY_NAME], "NNN"),
    (&[CONVERSATION_TYPE, CREATOR_INBOX_ID, DM_MEMBERS], "SDD"),
];

const ALL_MEMBERS_LINES: &[Line] = &[
    (&[GROUP_MEMBERSHIP], "AAM"),
    (&[ADMIN_LIST], "SSS"),
    (TEXTS, "AAS"),
    (&[GROUP_IMAGE], "AAS"),
    (TIMES, "MMS"),
    (&[MIN_SUPPORTED_PROTOCOL_VERSION, COMMIT_LOG_SIGNER], "SSS"),
    (&[USER_DISPLAY_NAME], "NNN"),
    (&[CONVERSATION_TYPE, CREATOR_INBOX_ID], "SDD"),
];

const ADMINS_ONLY_LINES: &[Line] = &[
    (&[GROUP_MEMBERSHIP], "MAM"),
    (&[ADMIN_LIST], "SSS"),
    (TEXTS, "MMS"),
    (&[GROUP_IMAGE], "MMS"),
    (TIMES, "MMS"),
    (&[MIN_SUPPORTED_PROTOCOL_VERSION, COMMIT_LOG_SIGNER], "SSS"),
    (&[USER_DISPLAY_NAME], "NNN"),
    (&[CONVERSATION_TYPE, CREATOR_INBOX_ID], "SDD"),
];

fn initial(policy: &Policy) -> char {
    match policy {
        Policy::Base(Base::Allow) => 'A',
        Policy::Base(Base::Deny) => 'D',
        Policy::Base(Base::IfAdmin) => 'M',
        Policy::Base(Base::IfSuperAdmin) => 'S',
        Policy::Base(Base::IfSelfOrNonMember) => 'N',
        Policy::And(_) | Policy::Any(_) | Policy::Malformed => '?',
    }
}

fn assert_registry(components: &Components, lines: &[Line]) {
    let registry = Dictionary::new(components).registry().unwrap();
    let mut expected: Vec<u16> = lines.iter().flat_map(|(ids, _)| *ids).copied().collect();
    expected.sort();
    assert_eq!(registry.ids().collect::<Vec<_>>(), expected);
    for (ids, policies) in lines {
        for id in *ids {
            let entry = registry.entry(*id).unwrap();
            let seen: String = [&entry.insert, &entry.update, &entry.delete].map(initial).iter().collect();
            assert_eq!(seen, *policies, "component {id:#06x}");
            assert_eq!(entry.component_type(), built_in_type(*id));
        }
    }
    assert_eq!(registry.check_action_policies(), Ok(()));
}

#[test]
fn dms_002_the_registry_of_a_new_dm_is_the_fixed_tables() {
    assert_registry(&dm(), DM_LINES);
}

#[test]
fn dms_002_a_new_dm_holds_type_pair_and_empty_roles() {
    let dm = dm();
    let present = [
        COMPONENT_REGISTRY,
        SUPER_ADMIN_LIST,
        ADMIN_LIST,
        GROUP_MEMBERSHIP,
        MIN_SUPPORTED_PROTOCOL_VERSION,
        COMMIT_LOG_SIGNER,
        DM_MEMBERS,
        CREATOR_INBOX_ID,
        CONVERSATION_TYPE,
    ];
    assert_eq!(dm.keys().copied().collect::<Vec<_>>(), present);
    let view = Dictionary::new(&dm);
    assert_eq!(view.conversation_type(), Ok(ConversationType::Dm));
    assert_eq!(view.dm_pair(), Ok(Some([OWN, PEER])));
    assert_eq!(view.creator(), Ok(OWN));
    assert_eq!((dm[&ADMIN_LIST].as_slice(), dm[&SUPER_ADMIN_LIST].as_slice()), (&[0][..], &[0][..]));
    assert!(matches_fixed_dm_policy(&view.registry().unwrap()));
}

#[test]
fn dms_002_a_dm_with_oneself_is_refused() {
    let settings = Settings::default();
    assert_eq!(new_dm(&new_conversation(&settings), OWN), Err(CreateError::SameInbox));
}

#[test]
fn dms_003_another_membership_or_admin_policy_is_noticed() {
    for component in [GROUP_MEMBERSHIP, ADMIN_LIST] {
        for (insert, delete) in [(Base::IfSuperAdmin, Base::Deny), (Base::Deny, Base::IfAdmin)] {
            let rows: Vec<Row> = DM
                .iter()
                .map(|row| if row.component == component { Row { insert, delete, ..*row } } else { *row })
                .collect();
            assert!(!matches_fixed_dm_policy(&Registry::decode(&registry_of(&rows)).unwrap()));
        }
        let rows: Vec<Row> = DM.iter().copied().filter(|row| row.component != component).collect();
        assert!(!matches_fixed_dm_policy(&Registry::decode(&registry_of(&rows)).unwrap()));
    }
    // The update policies are not part of the comparison.
    let rows: Vec<Row> = DM
        .iter()
        .map(|row| if row.component == GROUP_MEMBERSHIP { Row { update: Base::Deny, ..*row } } else { *row })
        .collect();
    assert!(matches_fixed_dm_policy(&Registry::decode(&registry_of(&rows)).unwrap()));
    assert!(!matches_fixed_dm_policy(&Registry::decode(&registry_of(ALL_MEMBERS)).unwrap()));
}

#[test]
fn perm_019_presets_write_their_table() {
    assert_registry(&group(ALL_MEMBERS), ALL_MEMBERS_LINES);
    assert_registry(&group(ADMINS_ONLY), ADMINS_ONLY_LINES);
}
