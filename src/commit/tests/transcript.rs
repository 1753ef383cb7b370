use super::fixture::*;
use crate::commit::transcript::{of_commit, of_join};
use crate::dm::thread::repeats;
use crate::members::tests::{inbox, members};
use crate::meta::SetMutation;
use crate::meta::component::*;
use crate::mls::facts::SenderFacts;
use crate::wire::{FieldChange, GroupUpdated};

fn shown(case: &Case, leaving: &[u8]) -> Option<GroupUpdated> {
    case.applies();
    of_commit(&case.commit, &set(leaving)).unwrap()
}

fn change(name: &str, old: Option<&str>, new: Option<&str>) -> FieldChange {
    FieldChange { field_name: name.into(), old_value: old.map(Into::into), new_value: new.map(Into::into) }
}

#[test]
fn gmod_034_a_transcript_is_the_commits_actor_and_effect() {
    let expected = GroupUpdated {
        added: vec![inbox(4)],
        removed: vec![inbox(3)],
        field_changes: vec![change("group_name", Some("team"), Some("crew"))],
        ..GroupUpdated::by(inbox(1))
    };
    assert_eq!(shown(&busy(), &[]), Some(expected));
}

#[test]
fn gmod_034_a_new_dms_first_commit_shows_the_peer_only() {
    let expected = GroupUpdated { added: vec![inbox(2)], ..GroupUpdated::by(inbox(1)) };
    assert_eq!(shown(&first_of_dm(), &[]), Some(expected));
}

#[test]
fn gmod_034_a_removed_inbox_that_asked_to_leave_is_listed_as_left() {
    let transcript = shown(&busy(), &[3, 2]).unwrap();
    assert_eq!((transcript.left, transcript.removed), (vec![inbox(3)], vec![]));
}

#[test]
fn gmod_034_lists_are_in_ascending_order_whatever_the_proposals_order() {
    let by = first();
    let one = members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[32]), (9, 50, &[])]);
    let two = members(&[(1, 10, &[]), (2, 20, &[]), (3, 30, &[32]), (9, 50, &[]), (4, 40, &[])]);
    let super_admin = |n| mutate_set(&by, SUPER_ADMIN_LIST, SetMutation::Insert(inbox_key(n)));
    let proposals = vec![
        write(&by, APP_DATA, b"data".to_vec()),
        enrol(&by, &entries(), &one),
        enrol(&by, &one, &two),
        super_admin(3),
        super_admin(2),
        mutate_set(&by, ADMIN_LIST, SetMutation::Remove(inbox_key(2))),
        mutate_set(&by, ADMIN_LIST, SetMutation::Insert(inbox_key(3))),
        write(&by, MESSAGE_DISAPPEAR_IN_NS, 5i64.to_be_bytes().to_vec()),
        drop_component(&by, GROUP_NAME),
    ];
    let case = commit(group(), &by, proposals).state(9, 50, &[91]).state(4, 40, &[41]);
    let expected = GroupUpdated {
        added: vec![inbox(4), inbox(9)],
        added_admins: vec![inbox(3)],
        removed_admins: vec![inbox(2)],
        added_super_admins: vec![inbox(2), inbox(3)],
        field_changes: vec![
            change("group_name", Some("team"), None),
            change("message_disappear_in_ns", None, Some("5")),
            change("app_data", None, Some("data")),
        ],
        ..GroupUpdated::by(inbox(1))
    };
    assert_eq!(shown(&case, &[]), Some(expected));
}

#[test]
fn gmod_034_the_actor_is_the_committer_also_of_others_proposals() {
    let rename = by_reference(write(&second(), GROUP_NAME, b"crew".to_vec()));
    let transcript = shown(&commit(group(), &third(), vec![rename]), &[]).unwrap();
    assert_eq!(transcript.initiated_by, inbox(3));
}

#[test]
fn gmod_034_a_commit_that_shows_nothing_leaves_no_transcript() {
    assert_eq!(shown(&commit(group(), &third(), vec![]), &[]), None);
    let same = write(&first(), GROUP_NAME, b"team".to_vec());
    assert_eq!(shown(&commit(group(), &first(), vec![same]), &[]), None);
}

#[test]
fn gmod_034_a_key_is_never_written_into_a_transcript() {
    let rotate = write(&first(), COMMIT_LOG_SIGNER, vec![0x41; 32]);
    let transcript = shown(&commit(group(), &first(), vec![rotate]), &[]).unwrap();
    assert_eq!(transcript.field_changes, [change("_commit_log_signer", None, None)]);
}

#[test]
fn gmod_034_a_commit_without_a_member_committer_has_no_transcript() {
    let mut case = busy();
    case.commit.committer = SenderFacts::Outsider;
    assert!(of_commit(&case.commit, &set(&[])).is_err());
}

#[test]
fn gmod_034_a_join_shows_the_own_inbox_as_added() {
    let expected = GroupUpdated { added: vec![inbox(2)], ..GroupUpdated::by(inbox(1)) };
    assert_eq!(of_join(inbox(1), inbox(2)), expected);
}

#[test]
fn dms_011_the_join_into_a_second_group_repeats_the_first() {
    let earlier = [of_join(inbox(1), inbox(2))];
    assert!(repeats(&shown(&first_of_dm(), &[]).unwrap(), true, &earlier));
}

#[test]
fn dms_011_every_field_is_compared() {
    let base = GroupUpdated {
        added: vec![inbox(2), inbox(3)],
        removed: vec![inbox(4)],
        field_changes: vec![change("group_name", None, Some("a")), change("app_data", Some(""), None)],
        left: vec![inbox(5)],
        added_admins: vec![inbox(6)],
        removed_admins: vec![inbox(7)],
        added_super_admins: vec![inbox(8)],
        removed_super_admins: vec![inbox(9)],
        ..GroupUpdated::by(inbox(1))
    };
    type Edit = fn(&mut GroupUpdated);
    let edits: [Edit; 13] = [
        |t| t.initiated_by = inbox(2),
        |t| t.added.reverse(),
        |t| t.added.push(inbox(4)),
        |t| t.removed.clear(),
        |t| t.left.clear(),
        |t| t.field_changes.reverse(),
        |t| t.field_changes[0].old_value = Some(String::new()),
        |t| t.field_changes[1].old_value = None,
        |t| t.field_changes[0].new_value = Some("b".into()),
        |t| t.added_admins.clear(),
        |t| t.removed_admins.clear(),
        |t| t.added_super_admins.clear(),
        |t| t.removed_super_admins.clear(),
    ];
    let earlier = [base.clone()];
    assert!(repeats(&base, true, &earlier));
    for edit in edits {
        let mut other = base.clone();
        edit(&mut other);
        assert!(!repeats(&other, true, &earlier), "{other:?}");
    }
}
