//! Pages, savepoints and rows of a scratch, without OpenMLS.

use super::super::parts::Entity;
use super::super::{GlobalChange, Scratch, ScratchChanges, ScratchError};
use crate::base::GroupId;

const GROUP: GroupId = GroupId([1; 16]);

fn scratch() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.put(GROUP, Entity::MessageSecrets, &[], &vec![1u8; 10_000]).unwrap();
    scratch.put(GROUP, Entity::Tree, &[], &7u8).unwrap();
    scratch.take_changes().unwrap();
    scratch
}

fn touched(changes: &ScratchChanges) -> Vec<(u8, u16, bool)> {
    changes.pages.iter().map(|page| (page.part, page.page, page.bytes.is_some())).collect()
}

#[test]
fn only_changed_pages_are_taken_and_only_touched_parts_compared() {
    let mut scratch = scratch();
    let before = scratch.compared;
    let mut secrets = vec![1u8; 10_000];
    secrets[5_000] = 2;
    scratch.put(GROUP, Entity::MessageSecrets, &[], &secrets).unwrap();
    assert_eq!(touched(&scratch.take_changes().unwrap()), [(0, 1, true)]);
    assert_eq!(scratch.compared, before + 1);
    assert!(scratch.take_changes().unwrap().is_empty());
    assert_eq!(scratch.compared, before + 1);
}

#[test]
fn shorter_parts_and_forgotten_groups_remove_pages() {
    let mut scratch = scratch();
    scratch.put(GROUP, Entity::MessageSecrets, &[], &vec![1u8; 5_000]).unwrap();
    let shorter = touched(&scratch.take_changes().unwrap());
    assert_eq!(shorter, [(0, 0, true), (0, 1, true), (0, 2, false)]);
    scratch.forget(GROUP);
    let gone = touched(&scratch.take_changes().unwrap());
    assert_eq!(gone, [(0, 0, false), (0, 1, false), (1, 0, false)]);
    assert!(!scratch.holds(GROUP));
}

#[test]
fn pages_load_in_any_order_and_gaps_are_refused() {
    let first = scratch();
    let mut pages = first.pages(GROUP).unwrap();
    assert_eq!(pages.len(), 4);
    pages.reverse();
    let mut second = Scratch::new();
    second.load(GROUP, pages.clone()).unwrap();
    assert!(second.pages(GROUP).unwrap() == first.pages(GROUP).unwrap());
    assert!(second.take_changes().unwrap().is_empty());
    pages.retain(|page| (page.0, page.1) != (0, 1));
    assert!(matches!(Scratch::new().load(GROUP, pages), Err(ScratchError::Corrupt(_))));
    assert!(Scratch::new().load(GROUP, [(9, 0, vec![1, 0])]).is_err());
}

#[test]
fn a_restored_savepoint_leaves_nothing_to_take() {
    let mut scratch = scratch();
    let savepoint = scratch.savepoint();
    scratch.put(GROUP, Entity::Tree, &[], &8u8).unwrap();
    scratch.put_global(vec![1], &1u8).unwrap();
    scratch.put(GroupId([2; 16]), Entity::Tree, &[], &8u8).unwrap();
    scratch.restore(&savepoint);
    assert!(scratch.take_changes().unwrap().is_empty());
    // Taken in between: restoring then takes the old state back to the store.
    scratch.put(GROUP, Entity::Tree, &[], &8u8).unwrap();
    scratch.take_changes().unwrap();
    scratch.restore(&savepoint);
    assert_eq!(touched(&scratch.take_changes().unwrap()), [(1, 0, true)]);
}

#[test]
fn rows_loaded_after_a_savepoint_survive_its_restore() {
    let (pages, mut scratch) = (scratch().pages(GROUP).unwrap(), Scratch::new());
    let savepoint = scratch.savepoint();
    scratch.load(GROUP, pages).unwrap();
    scratch.load_globals([(vec![1], vec![1, 5])]);
    scratch.put(GROUP, Entity::Tree, &[], &8u8).unwrap();
    scratch.remove_global(&[1]);
    scratch.restore(&savepoint);
    assert_eq!(scratch.get::<u8>(GROUP, Entity::Tree, &[]).unwrap(), Some(7));
    assert_eq!(scratch.global::<u8>(&[1]).unwrap(), Some(5));
    assert!(scratch.take_changes().unwrap().is_empty());
}

#[test]
fn the_ratchet_step_alone_survives_a_keeping_restore() {
    let mut scratch = scratch();
    let savepoint = scratch.savepoint();
    scratch.put(GROUP, Entity::MessageSecrets, &[], &9u8).unwrap();
    scratch.put(GROUP, Entity::GroupState, &[], &9u8).unwrap();
    scratch.restore_keeping_ratchet(&savepoint);
    assert!(touched(&scratch.take_changes().unwrap()).iter().all(|(part, ..)| *part == 0));
    assert_eq!(scratch.get::<u8>(GROUP, Entity::MessageSecrets, &[]).unwrap(), Some(9));
    assert_eq!(scratch.get::<u8>(GROUP, Entity::GroupState, &[]).unwrap(), None);
    // An epoch moved meanwhile takes its ratchets with it.
    let savepoint = scratch.savepoint();
    scratch.put(GROUP, Entity::MessageSecrets, &[], &10u8).unwrap();
    scratch.put(GROUP, Entity::Tree, &[], &10u8).unwrap();
    scratch.restore_keeping_ratchet(&savepoint);
    assert!(scratch.take_changes().unwrap().is_empty());
}

#[test]
fn rows_of_no_group_are_compared_by_content() {
    let scratch = Scratch::new();
    scratch.put_global(vec![1, 1], &1u8).unwrap();
    scratch.put_global(vec![2, 1], &2u8).unwrap();
    let rows = scratch.globals();
    let mut second = Scratch::new();
    second.load_globals(rows);
    assert!(second.take_changes().unwrap().is_empty());
    assert_eq!(second.global::<u8>(&[2, 1]).unwrap(), Some(2));
    assert_eq!(second.global_ids(1), [vec![1, 1]]);
    second.remove_global(&[1, 1]);
    second.put_global(vec![2, 1], &2u8).unwrap();
    let changes = second.take_changes().unwrap().globals;
    assert!(changes == [GlobalChange { id: vec![1, 1], bytes: None }]);
}
