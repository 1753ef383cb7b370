//! What a reader is about and what of it it wants: scopes keep the backlog, filters consume
//! (PROC-046, PROC-047, CONS-042, CONS-043).

use dovetail::base::MessageId;
use dovetail::consent::State;
use dovetail::engine::history::Types;
use dovetail::engine::reader::Selection;
use dovetail::store::rows::{ConsumerRow, GroupKind, MessageKind};
use dovetail::wire::{ContentType, EncodedContent};
use futures::FutureExt;

use crate::common::chance::Chance;
use crate::common::dump::{self, Dump};
use crate::readers::{
    consume, deliverable, deliverable_of, drain, ids, is_dm, next, replay, rest, talk, texts, whole,
};

#[test]
fn proc_047_a_scope_keeps_the_backlog_of_the_others_and_a_filter_consumes() {
    let mut talk = talk(2);
    let all = deliverable(&talk.bo);
    let rows = Dump::of(&talk.bo.store).messages();
    let of = |kind: GroupKind| -> Vec<MessageId> {
        all.iter().filter(|id| is_dm(&rows[id]) == (kind == GroupKind::Dm)).copied().collect()
    };
    // A stream about DMs alone.
    let narrow = consume(&talk.bo, Selection { kind: Some(GroupKind::Dm), ..whole() });
    assert_eq!(ids(&drain(&narrow)), of(GroupKind::Dm));
    drop(narrow);
    talk.bo.reopen();
    let again = consume(&talk.bo, Selection { kind: Some(GroupKind::Dm), ..whole() });
    assert!(drain(&again).is_empty());
    drop(again);
    // The others are still there, for the next one.
    let types = Types::only(&["group_updated"]);
    let filtered = consume(&talk.bo, Selection { types, ..whole() });
    let changes: Vec<_> = of(GroupKind::Group)
        .into_iter()
        .filter(|id| rows[id].kind == MessageKind::MembershipChange)
        .collect();
    assert_eq!(ids(&drain(&filtered)), changes);
    drop(filtered);
    talk.bo.reopen();
    // What the filter left out was consumed, and so were the DMs before.
    let rest = consume(&talk.bo, whole());
    assert!(drain(&rest).is_empty());
    drop(rest);
    consume(&talk.bo, whole());
    assert_eq!(Dump::of(&talk.bo.store).rows_under::<ConsumerRow>(talk.dm[0].as_bytes()), [], "tidied up");
}

#[test]
fn proc_047_a_scope_of_named_conversations_means_every_copy() {
    let talk = talk(2);
    for named in talk.dm {
        let thread = talk.bo.call(move |client| async move { client.thread(named).await }).unwrap();
        let selection = Selection { threads: Some(vec![thread]), ..whole() };
        let rows = rest(&replay(&talk.bo, None, selection));
        assert_eq!(ids(&rows), deliverable_of(&talk, true));
        let numbers: Vec<_> = rows.iter().map(|row| row.delivery).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "over the union");
        let groups: std::collections::BTreeSet<_> = rows.iter().map(|row| row.group).collect();
        assert_eq!(groups.len(), 2);
    }
}

#[test]
fn cons_042_043_the_stream_leaves_out_what_is_denied_unless_it_is_named() {
    let talk = talk(1);
    talk.bo.decide(talk.dm[0], State::Denied);
    let thread = talk.bo.call({
        let dm = talk.dm[0];
        move |client| async move { client.thread(dm).await }
    });
    let thread = thread.unwrap();
    let denied = deliverable_of(&talk, true);
    let others = deliverable_of(&talk, false);
    let of = |selection| ids(&rest(&replay(&talk.bo, None, selection)));
    assert_eq!(of(whole()), others);
    assert_eq!(of(Selection { threads: Some(vec![thread]), ..whole() }), denied);
    assert_eq!(of(Selection { states: Some(vec![State::Denied]), ..whole() }), denied);
    assert_eq!(of(Selection { states: Some(Vec::new()), ..whole() }), []);
    // As a filter it consumes; as a scope it keeps the backlog until the conversation is let in.
    let scope = Selection { scope_states: Some(vec![State::Allowed, State::Unknown]), ..whole() };
    let scoped = consume(&talk.bo, scope);
    assert_eq!(ids(&drain(&scoped)), others);
    talk.bo.decide(talk.dm[0], State::Allowed);
    assert_eq!(ids(&drain(&scoped)), denied, "let in while it runs");
    drop(scoped);
    assert!(drain(&consume(&talk.bo, whole())).is_empty());
}

#[test]
fn proc_047_the_backlog_of_a_conversation_comes_first_when_it_comes_into_scope_unheard() {
    [false, true].into_iter().for_each(comes_into_scope_unheard);
}

fn comes_into_scope_unheard(begun_again: bool) {
    let talk = talk(1);
    talk.bo.decide(talk.dm[0], State::Denied);
    let (backlog, others) = (deliverable_of(&talk, true), deliverable_of(&talk, false));
    let scope = Selection { scope_states: Some(vec![State::Allowed, State::Unknown]), ..whole() };
    let mut scoped = consume(&talk.bo, scope.clone());
    assert_eq!(ids(&drain(&scoped)), others);
    if begun_again {
        // It begins behind all of them, and has met none.
        drop(scoped);
        scoped = consume(&talk.bo, scope);
        assert!(drain(&scoped).is_empty());
    }
    // Another tab lets it in; nothing is told here until a message comes.
    talk.bo.tab().decide(talk.dm[0], State::Allowed);
    let later = talk.alice.text(talk.dm[0], "later");
    talk.alice.text(talk.group, "elsewhere");
    talk.alice.sync();
    talk.bo.sync();
    let handed = drain(&scoped);
    assert_eq!(ids(&handed)[..backlog.len()], backlog, "the backlog comes first");
    assert_eq!(texts(&handed[backlog.len()..]), ["later", "elsewhere"]);
    assert_eq!(handed[backlog.len()].id, later);
    drop(scoped);
    assert!(drain(&consume(&talk.bo, whole())).is_empty(), "and all of it was acknowledged");
    dump::check(&talk.bo.store);
}

#[test]
fn proc_047_whatever_comes_in_and_goes_out_each_message_comes_once_and_in_its_order() {
    for seed in 0..16 {
        let mut chance = Chance(seed);
        let mut talk = talk(1);
        let scope = Selection { scope_states: Some(vec![State::Allowed]), ..whole() };
        let mut scoped = consume(&talk.bo, scope.clone());
        let mut handed = Vec::new();
        for round in 0..12 {
            let group = chance.pick(&[talk.dm[0], talk.group]).to_owned();
            let state = *chance.pick(&[State::Allowed, State::Denied, State::Unknown]);
            match chance.below(6) {
                0 => talk.bo.decide(group, state),
                1 | 2 => talk.bo.tab().decide(group, state),
                3 => handed.extend((0..3).filter_map(|_| next(&scoped))),
                4 => {
                    // What is in hand comes again.
                    scoped.acknowledge().now_or_never().unwrap().unwrap();
                    drop(scoped);
                    talk.bo.reopen();
                    scoped = consume(&talk.bo, scope.clone());
                }
                _ => talk.round(round + 1),
            }
        }
        for group in [talk.dm[0], talk.group] {
            talk.bo.tab().decide(group, State::Allowed);
        }
        talk.round(20);
        handed.extend(drain(&scoped));
        for dm in [true, false] {
            let of: Vec<_> = handed.iter().filter(|row| is_dm(row) == dm).map(|row| row.id).collect();
            assert_eq!(of, deliverable_of(&talk, dm), "seed {seed}");
        }
    }
}

#[test]
fn proc_046_a_filter_is_judged_when_the_turn_of_a_message_comes() {
    let talk = talk(1);
    let consumer = consume(&talk.bo, whole());
    let first = next(&consumer).expect("a message");
    talk.bo.decide(talk.dm[0], State::Denied);
    let rows = drain(&consumer);
    assert!(rows.iter().all(|row| !is_dm(row)), "{}", is_dm(&first));
    talk.bo.decide(talk.dm[0], State::Allowed);
    assert!(drain(&consumer).is_empty(), "passed over for good");
}

#[test]
fn proc_047_what_is_no_message_of_its_own_is_passed_over_unless_it_is_named() {
    let talk = talk(1);
    let (named, plain) = (Types::only(&["readReceipt"]), consume(&talk.bo, whole()));
    drain(&plain);
    let of_type = ContentType::xmtp("readReceipt", 1, 0);
    let content = EncodedContent { content_type: of_type, ..EncodedContent::text("") }.encode();
    let dm = talk.dm[0];
    talk.alice.call(move |client| async move { client.send(dm, content, None).await }).expect("sent");
    talk.alice.sync();
    talk.bo.sync();
    assert!(drain(&plain).is_empty());
    assert_eq!(rest(&replay(&talk.bo, None, Selection { types: named, ..whole() })).len(), 1);
}
