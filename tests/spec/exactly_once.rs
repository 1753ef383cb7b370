//! The page dies, a write fails, or an answer is lost at every possible point: what was accepted
//! arrives exactly once, and no ratchet generation is used twice.

use std::rc::Rc;

use dovetail::base::{GroupId, SequenceId};
use dovetail::meta::component::GROUP_NAME;
use dovetail::mls::{self, FrameKind, Opened};
use dovetail::store::StoreError;
use dovetail::wire::EncodedContent;
use openmls::prelude::Propose;

use crate::common::forge::Forger;
use crate::common::gate::{Plan, distinct};
use crate::common::{User, World, dump, forge, wallet};

/// Every kind of trouble at every point of an action with so many writes and calls.
fn plans((applies, calls): (u64, u64)) -> Vec<Plan> {
    let mut plans = Vec::new();
    for k in 0..applies {
        plans.push(Plan::KillBeforeApply(k));
        plans.push(Plan::KillAfterApply(k));
        plans.push(Plan::FailApply(k, StoreError::Quota));
        plans.push(Plan::FailApply(k, StoreError::Stale));
    }
    for k in 0..calls {
        plans.push(Plan::KillBeforeCall(k));
        plans.push(Plan::KillAfterCall(k));
        plans.push(Plan::FailCall(k));
        plans.push(Plan::LoseAnswer(k));
    }
    plans
}

/// Runs `act` on a world of `set_up` once undisturbed, then once for every plan on `who`.
pub fn every_point<S>(
    set_up: impl Fn() -> S,
    who: impl Fn(&mut S) -> &mut User,
    act: impl Fn(&mut S),
    check: impl Fn(&mut S, &Option<Plan>),
) -> usize {
    let mut undisturbed = set_up();
    who(&mut undisturbed).gate.plan(None);
    act(&mut undisturbed);
    let counts = who(&mut undisturbed).gate.counts();
    check(&mut undisturbed, &None);
    let plans = plans(counts);
    let count = plans.len();
    for plan in plans {
        let mut state = set_up();
        let plan = Some(plan);
        who(&mut state).gate.plan(plan.clone());
        act(&mut state);
        let user = who(&mut state);
        dump::check(&user.store);
        if user.gate.is_dead() {
            user.reopen();
        } else {
            user.gate.plan(None);
        }
        check(&mut state, &plan);
    }
    count
}

/// Sends a text, as far as the page lives: whether it was accepted.
pub fn risky_text(user: &User, group: GroupId, text: &str) -> Option<bool> {
    let content = EncodedContent::text(text).encode();
    let sent = user.risk(move |client| async move { client.send(group, content, None).await });
    sent.map(|answer| answer.is_ok())
}

pub fn risky_sync(user: &User) {
    if !user.gate.is_dead() {
        user.risk(|client| async move { client.sync().await });
    }
}

pub fn quiet(users: &[&User]) {
    for _ in 0..3 {
        for user in users {
            user.world.settle(60_000);
            user.sync();
            dump::check(&user.store);
        }
    }
}

/// Nothing in any group of a conversation was refused, and nothing is left to do.
fn assert_clean(user: &User, group: GroupId) {
    for group in user.inspect(group).groups {
        assert_eq!(group.rejected, [], "something was refused");
        assert_eq!(group.pending_intents, 0, "something is left to do");
    }
}

/// Opens everything a client ever handed out for a group, stored or not, with the keys of a device
/// that joined apart: a generation used twice would be refused the second time.
fn assert_generations_differ(handed: &User, witness: &User, group: GroupId) {
    assert_one_commit_an_epoch(handed, group);
    let (scratch, mut state) = forge::join_apart(witness);
    for payload in distinct(&handed.gate.handed.borrow(), group) {
        let data = forge::mls_of(&payload);
        let frame = mls::peek(&data).expect("a frame");
        if frame.kind != FrameKind::Application {
            continue;
        }
        match mls::open(&scratch, &mut state, &data) {
            Ok(Opened::Application { .. }) => {}
            Ok(_) => panic!("not a message"),
            Err(error) => panic!("a payload handed out does not open: {error}"),
        }
    }
}

/// Of one epoch, one commit was ever handed out.
fn assert_one_commit_an_epoch(handed: &User, group: GroupId) {
    let mut epochs = Vec::new();
    for payload in distinct(&handed.gate.handed.borrow(), group) {
        let frame = mls::peek(&forge::mls_of(&payload)).expect("a frame");
        if frame.kind == FrameKind::Commit {
            assert!(!epochs.contains(&frame.epoch), "two commits in one epoch");
            epochs.push(frame.epoch);
        }
    }
}

fn is_first(plan: &Plan) -> bool {
    let (Plan::KillBeforeApply(k) | Plan::KillAfterApply(k) | Plan::FailApply(k, _)) = plan else {
        return true;
    };
    *k == 0
}

struct Pair {
    alice: User,
    bo: User,
    witness: User,
    group: GroupId,
    sent: Vec<(&'static str, Option<bool>)>,
}

/// A DM of both, joined and quiet.
fn joined() -> Pair {
    let mut pair = apart();
    pair.group = pair.alice.dm(&pair.bo);
    pair.alice.sync();
    pair.bo.sync();
    pair
}

/// Both registered, nothing else.
fn apart() -> Pair {
    let world = World::new(7);
    let (alice, bo, witness) = (world.user("alice"), world.user("bo"), world.user("bo"));
    Pair { alice, bo, witness, group: GroupId([0; 16]), sent: Vec::new() }
}

/// What was accepted is at both exactly once and in order; what was not is at neither or at both.
/// Nothing was refused anywhere, and no generation was used twice.
fn assert_delivered(pair: &mut Pair, plan: &Option<Plan>) {
    assert_texts(pair, plan);
    assert_clean(&pair.alice, pair.group);
    assert_clean(&pair.bo, pair.group);
    assert_generations_differ(&pair.alice, &pair.witness, pair.group);
}

fn assert_texts(pair: &Pair, plan: &Option<Plan>) {
    quiet(&[&pair.alice, &pair.bo]);
    let texts = pair.bo.texts(pair.group);
    assert_eq!(pair.alice.texts(pair.group), texts, "{plan:?}");
    for (text, accepted) in &pair.sent {
        let count = texts.iter().filter(|one| one == text).count();
        match accepted {
            Some(true) => assert_eq!(count, 1, "{text} was accepted, {plan:?}"),
            Some(false) => assert_eq!(count, 0, "{text} was refused, {plan:?}"),
            // The page died before the answer: either is fine, twice is not.
            None => assert!(count <= 1, "{text} arrived {count} times, {plan:?}"),
        }
    }
    let order: Vec<_> = pair.sent.iter().filter(|(text, _)| texts.iter().any(|one| one == text)).collect();
    assert!(order.iter().map(|(text, _)| *text).eq(texts.iter().map(String::as_str)), "order, {plan:?}");
}

#[test]
fn gmod_016_send_is_delivered_exactly_once_wherever_it_is_cut_off() {
    let points = every_point(
        joined,
        |pair| &mut pair.alice,
        |pair| {
            for text in ["one", "two", "three"] {
                let accepted = match pair.alice.gate.is_dead() {
                    true => continue,
                    false => risky_text(&pair.alice, pair.group, text),
                };
                pair.sent.push((text, accepted));
            }
            pair.alice.world.settle(20);
            risky_sync(&pair.alice);
        },
        assert_delivered,
    );
    println!("{points} points");
    assert!(points > 20);
}

#[test]
fn gmod_018_create_dm_and_first_text_are_delivered_exactly_once_wherever_they_are_cut_off() {
    let points = every_point(
        apart,
        |pair| &mut pair.alice,
        |pair| {
            let peer = pair.bo.inbox();
            let made = pair.alice.risk(move |client| async move { client.create_dm(peer).await });
            let Some(Ok(group)) = made else { return };
            pair.group = group;
            for text in ["one", "two"] {
                if !pair.alice.gate.is_dead() {
                    let accepted = risky_text(&pair.alice, group, text);
                    pair.sent.push((text, accepted));
                }
            }
            pair.alice.world.settle(20);
            risky_sync(&pair.alice);
        },
        |pair, plan| {
            // A call that did not come back is made again, and finds what there is.
            let again = pair.alice.dm(&pair.bo);
            assert!(pair.group == GroupId([0; 16]) || pair.group == again, "{plan:?}");
            pair.group = again;
            assert_eq!(pair.alice.conversations().len(), 1, "{plan:?}");
            pair.alice.text(again, "last");
            pair.sent.push(("last", Some(true)));
            assert_delivered(pair, plan);
            assert_eq!(pair.bo.conversations().len(), 1, "{plan:?}");
        },
    );
    println!("{points} points");
    assert!(points > 40);
}

#[test]
fn dms_008_a_join_happens_exactly_once_wherever_it_is_cut_off() {
    let points = every_point(
        || {
            let mut pair = apart();
            pair.group = pair.alice.dm(&pair.bo);
            pair.alice.text(pair.group, "hello");
            pair.sent.push(("hello", Some(true)));
            pair.alice.sync();
            pair
        },
        |pair| &mut pair.bo,
        |pair| risky_sync(&pair.bo),
        |pair, plan| {
            assert_delivered(pair, plan);
            let group = pair.bo.inspect(pair.group).groups.remove(0);
            assert!(group.row.anchor > SequenceId(0) && pair.bo.conversations().len() == 1);
        },
    );
    println!("{points} points");
    assert!(points > 10);
}

#[test]
fn gmod_036_a_commit_behind_kept_proposals_is_made_once_wherever_it_is_cut_off() {
    let points = every_point(
        || {
            let mut pair = apart();
            let proposer = pair.bo.world.user("bo");
            pair.group = pair.alice.dm(&pair.bo);
            pair.alice.sync();
            pair.bo.sync();
            proposer.sync();
            let forger = Forger::of(&proposer);
            let update =
                Propose::UpdateAppDataComponent { component_id: GROUP_NAME, update: b"name".to_vec() };
            forger.publish(pair.group, forger.propose(pair.group, update));
            pair
        },
        |pair| &mut pair.alice,
        |pair| {
            risky_sync(&pair.alice);
            for text in ["one", "two"] {
                if !pair.alice.gate.is_dead() {
                    let accepted = risky_text(&pair.alice, pair.group, text);
                    pair.sent.push((text, accepted));
                }
            }
            pair.alice.world.settle(20);
            risky_sync(&pair.alice);
        },
        |pair, plan| {
            // Whatever became of it, a message sent now goes through.
            pair.alice.text(pair.group, "last");
            pair.sent.push(("last", Some(true)));
            assert_texts(pair, plan);
            let [alice, bo] = [&pair.alice, &pair.bo].map(|user| {
                let row = user.inspect(pair.group).groups.remove(0).row;
                (row.epoch, row.authenticator)
            });
            assert_eq!(alice, bo, "{plan:?}");
            // Cut off before it saw the proposal, it may have written first.
            assert!(alice.0 == 2 || matches!(plan, Some(plan) if alice.0 == 1 && is_first(plan)), "{plan:?}");
            assert_one_commit_an_epoch(&pair.alice, pair.group);
        },
    );
    println!("{points} points");
    assert!(points > 30);
}

#[test]
fn registering_makes_one_installation_wherever_it_is_cut_off() {
    let points = every_point(
        || {
            let mut pair = apart();
            pair.alice = pair.bo.world.device("late");
            pair
        },
        |pair| &mut pair.alice,
        |pair| {
            let sign = wallet(pair.alice.secret);
            pair.alice.risk(move |client| async move { client.register(1, &sign).await });
        },
        |pair, plan| {
            let sign = wallet(pair.alice.secret);
            pair.alice
                .call(move |client| async move { client.register(1, &sign).await })
                .expect("registered");
            let inbox = pair.alice.inbox();
            let state = pair.bo.call(move |client| async move { client.inbox_state(inbox).await });
            assert_eq!(state.unwrap().unwrap().installations().len(), 1, "{plan:?}");
            // Its newest key package is one it has the keys of.
            pair.group = pair.bo.dm(&pair.alice);
            pair.bo.text(pair.group, "welcome");
            pair.bo.sync();
            pair.alice.sync();
            assert_eq!(pair.alice.texts(pair.group), ["welcome"], "{plan:?}");
        },
    );
    println!("{points} points");
    assert!(points > 10);
}

#[test]
fn receiving_is_applied_exactly_once_wherever_it_is_cut_off() {
    let texts: Rc<[&str]> = Rc::new(["one", "two", "three"]);
    let points = every_point(
        || {
            let mut pair = joined();
            for text in texts.iter() {
                pair.alice.text(pair.group, text);
                pair.sent.push((*text, Some(true)));
            }
            pair.alice.sync();
            pair
        },
        |pair| &mut pair.bo,
        |pair| risky_sync(&pair.bo),
        assert_delivered,
    );
    println!("{points} points");
}
