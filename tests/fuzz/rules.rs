//! Deltas on real dictionaries, and the judgement of component updates: atomic, strict, total.

use dovetail::meta::component::{ADMIN_LIST, COMPONENT_REGISTRY, GROUP_MEMBERSHIP};
use dovetail::meta::*;
use dovetail::policy::Authority;

use crate::mutate::fuzz;
use crate::samples::samples;

fn deltas() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for dictionary in &samples().dictionaries {
        let members = inbox_entries(&dictionary[&GROUP_MEMBERSHIP]).expect("members");
        for (inbox, entry) in members {
            let key = Key::Inbox(inbox);
            all.push(encode_map_delta(&[
                MapMutation::Update(key.clone(), entry.to_vec()),
                MapMutation::Delete(key.clone()),
                MapMutation::Insert(key.clone(), entry.to_vec()),
            ]));
            all.push(encode_set_delta(&[
                SetMutation::Insert(key.clone()),
                SetMutation::Remove(key.clone()),
                SetMutation::RemoveByHash(key_hash(&key)),
            ]));
        }
        let registry = decode_map(KeyKind::Component, &dictionary[&COMPONENT_REGISTRY]).expect("a registry");
        for (key, entry) in registry.into_iter().take(3) {
            all.push(encode_map_delta(&[MapMutation::Update(key.clone(), entry), MapMutation::Delete(key)]));
        }
    }
    all
}

#[test]
fn delta_codecs() {
    fuzz("delta", &deltas(), |bytes| {
        for kind in [KeyKind::Inbox, KeyKind::Component, KeyKind::Bytes] {
            if let Ok(delta) = decode_map_delta(kind, bytes) {
                assert_eq!(encode_map_delta(&delta), bytes);
            }
            if let Ok(delta) = decode_set_delta(kind, bytes) {
                assert_eq!(encode_set_delta(&delta), bytes);
            }
        }
    });
}

#[test]
fn deltas_are_whole_or_not_at_all_and_every_effect_is_judged() {
    let mut turn = 0usize;
    fuzz("next_dictionary", &deltas(), |bytes| {
        let all = &samples().dictionaries;
        let before = &all[turn % all.len()];
        turn += 1;
        let component = [GROUP_MEMBERSHIP, ADMIN_LIST, COMPONENT_REGISTRY, 0x8001, 0x800C][turn % 5];
        let kept = before.clone();
        let Ok((after, effects)) = next_dictionary(before, &[(component, Op::Update(bytes.to_vec()))]) else {
            assert!(*before == kept);
            return;
        };
        for (id, value) in before {
            assert!(*id == component || after[id] == *value, "a component that is not named changed");
        }
        let view = Dictionary::new(before);
        let authority = Authority::committed(view).expect("a group");
        let members = view.members().expect("members");
        let outsider = dovetail::base::InboxId([0xee; 32]);
        for effect in &effects {
            for proposer in members.iter().chain([&outsider]) {
                let once = authority.judge_write(*proposer, effect, &members);
                assert_eq!(once, authority.judge_write(*proposer, effect, &members));
            }
        }
        let _ = authority.super_admins_remain(&effects);
    });
}
