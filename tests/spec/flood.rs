//! Members who say thousands of things about one message: what is read stays within limits, and what
//! counts is found (PROC-037).

use dovetail::base::{GroupId, MessageId};
use dovetail::client::Setting;
use dovetail::engine::annotations::REACTIONS;
use dovetail::engine::history::HistoryOptions;
use dovetail::engine::judge::EDITS;
use dovetail::store::Table;
use dovetail::store::rows::AnnotationRow;
use dovetail::wire::{EncodedContent, PlaintextV1};

use crate::common::content::{deletion, edit, hung, of_types, reaction, types};
use crate::common::dump::{self, Dump};
use crate::common::forge::Forger;
use crate::common::group::sync_all;
use crate::common::{User, World, text_of};

/// Envelopes of a flood.
const MANY: u32 = 1_500;

/// Publishes as a client would that knows no limits.
fn flood(forger: &Forger, group: GroupId, what: impl Fn(u32) -> EncodedContent) {
    for n in 0..MANY {
        let plaintext = PlaintextV1 { content: what(n).encode(), idempotency_key: n.to_string() }.encode();
        forger.publish(group, forger.message(group, &plaintext));
    }
}

/// Rows that a sync reads.
fn sync_rows(user: &User) -> u64 {
    user.store.reset_figures();
    user.sync();
    user.store.figures().rows
}

/// Rows that a page reads.
fn page_rows(user: &User, group: GroupId) -> u64 {
    user.store.reset_figures();
    user.page(group, HistoryOptions::default());
    user.store.figures().rows
}

#[test]
fn proc_037_thousands_of_forged_edits_and_deletions_cost_no_more_than_as_many_texts() {
    let world = World::new(1);
    let (alice, bo, caro) = (world.user("alice"), world.user("bo"), world.user("caro"));
    let group = alice.group(&[&bo, &caro]);
    let id = alice.text(group, "text");
    sync_all(&[&alice, &bo, &caro]);
    flood(&Forger::of(&bo), group, |n| EncodedContent::text(&n.to_string()));
    let texts = sync_rows(&alice);
    flood(&Forger::of(&caro), group, |n| match n % 2 {
        0 => deletion(id),
        _ => edit(id, &n.to_string()),
    });
    let forged = sync_rows(&alice);
    // One more a batch: the message they are about.
    assert!(forged <= texts + 16, "{forged} rows for forged ones, {texts} for texts");
    assert_eq!(Dump::of(&alice.store).count(Table::Annotations), 1, "the notes: nothing hangs on it");
    let newest = HistoryOptions { limit: Some(1), ..of_types(&["text"]) };
    alice.store.reset_figures();
    assert_eq!(text_of(&alice.history(group, newest)[0]), "text");
    assert!(alice.store.figures().rows < 16, "{:?}", alice.store.figures());
    // As messages they are all there.
    let all = alice.history(group, of_types(&["deleteMessage", "editMessage"]));
    assert_eq!(all.len(), MANY as usize);
    // Those of the sender count.
    alice.say(group, &edit(id, "edited"));
    alice.sync();
    assert_eq!(alice.message(id).map(|row| text_of(&row)).as_deref(), Some("edited"));
    alice.say(group, &deletion(id));
    alice.sync();
    assert_eq!(alice.message(id).unwrap().deleted_by(), Some(alice.inbox()));
    dump::check(&alice.store);
}

#[test]
fn proc_037_thousands_of_edits_and_deletions_by_the_sender_are_read_within_limits() {
    let world = World::new(2);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let id = bo.text(group, "text");
    sync_all(&[&bo, &alice]);
    let forger = Forger::of(&bo);
    flood(&forger, group, |n| edit(id, &format!("edit {n}")));
    let batches = u64::from(MANY.div_ceil(100));
    let bound = batches * (2 * EDITS as u64 + 16);
    let rows = sync_rows(&alice);
    assert!(rows <= bound, "{rows} rows, {bound} at most");
    assert!(page_rows(&alice, group) < 16);
    let last = format!("edit {}", MANY - 1);
    assert_eq!(alice.message(id).map(|row| text_of(&row)), Some(last));
    let kept = |user: &User| {
        let rows = user.history(group, of_types(&["editMessage"]));
        rows.iter().filter(|row| row.deleted_by().is_none()).count()
    };
    assert_eq!(kept(&alice), EDITS);
    flood(&forger, group, |_| deletion(id));
    let rows = sync_rows(&alice);
    assert!(rows <= bound, "{rows} rows, {bound} at most");
    assert!(page_rows(&alice, group) < 16);
    assert_eq!((alice.message(id).unwrap().deleted_by(), kept(&alice)), (Some(bo.inbox()), 0));
    dump::check(&alice.store);
}

#[test]
fn a_page_has_the_newest_reactions_of_a_message_and_reads_no_others() {
    let world = World::new(3);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let id = alice.text(group, "text");
    sync_all(&[&alice, &bo]);
    flood(&Forger::of(&bo), group, |n| reaction(id, &n.to_string(), n % 2 == 0));
    let rows = sync_rows(&alice);
    assert!(rows <= u64::from(MANY), "{rows}");
    let own = alice.say(group, &reaction(id, "own", true));
    let rows = page_rows(&alice, group);
    assert!(rows <= 2 * u64::from(REACTIONS) + 16, "{rows}");
    let page = alice.page(group, HistoryOptions::default());
    assert_eq!(types(&page.rows), ["group_updated", "text"]);
    let shown: Vec<MessageId> = hung(&page, id).unwrap().reactions.iter().map(|row| row.id).collect();
    let all: Vec<MessageId> =
        alice.history(group, of_types(&["reaction"])).iter().map(|row| row.id).collect();
    assert_eq!(all.len(), MANY as usize + 1, "all are in the history");
    assert_eq!((shown.last(), shown.as_slice()), (Some(&own), &all[all.len() - REACTIONS as usize..]));
}

#[test]
fn meta_051_a_message_with_thousands_of_reactions_goes_in_steps_and_nothing_of_it_stays() {
    let world = World::new(4);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    alice.set(group, Setting::DisappearFrom(1)).unwrap();
    alice.set(group, Setting::DisappearIn(60_000_000_000)).unwrap();
    let id = alice.text(group, "text");
    alice.sync();
    alice.set(group, Setting::DisappearFrom(0)).unwrap();
    sync_all(&[&alice, &bo]);
    flood(&Forger::of(&bo), group, |n| reaction(id, &n.to_string(), true));
    alice.sync();
    let rest = Dump::of(&alice.store).count(Table::Messages) - MANY as usize - 1;
    alice.store.reset_figures();
    world.settle(70_000);
    assert!(alice.store.figures().applies > u64::from(MANY / 100), "{:?}", alice.store.figures());
    let dump = Dump::of(&alice.store);
    assert_eq!((dump.count(Table::Messages), dump.rows::<AnnotationRow>().len()), (rest, 0));
    dump::check(&alice.store);
}
