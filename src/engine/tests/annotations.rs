//! Any order in which reactions, edits, deletions and their target are stored ends the same.

use crate::base::Map;

use futures::FutureExt as _;
use proptest::prelude::*;

use super::*;
use crate::base::{GroupId, InboxId, InstallationId, Nanos, SequenceId, ThreadId};
use crate::engine::event::Event;
use crate::engine::judge::{AWAITED, Case, EDITS, judge};
use crate::store::rows::{CountersRow, NotesRow};
use crate::store::{Changes, MemoryStore, Store};
use crate::wire::ContentType;

const THREAD: ThreadId = ThreadId::Group(GroupId([9; 16]));
const TARGET: MessageId = MessageId([0x77; 32]);
const SENDER: InboxId = InboxId([1; 32]);
const OTHER: InboxId = InboxId([2; 32]);

/// A serialised `Annotation` about [`TARGET`].
fn about(content: &[u8]) -> Vec<u8> {
    let id = TARGET.to_string();
    let mut bytes = [&[0x0a, id.len() as u8], id.as_bytes()].concat();
    if !content.is_empty() {
        bytes.extend([0x12, content.len() as u8]);
        bytes.extend(content);
    }
    bytes
}

fn row(id: u8, kind: &str, sender: InboxId, at: i64) -> MessageRow {
    let text = EncodedContent::text(&format!("edit {id}")).encode();
    let content = match kind {
        "text" => EncodedContent::text("original"),
        _ => EncodedContent {
            content_type: ContentType::xmtp(kind, if kind == "reaction" { 2 } else { 1 }, 0),
            parameters: Default::default(),
            fallback: None,
            content: about(if kind == "editMessage" { &text } else { b"" }),
            compression: None,
        },
    };
    MessageRow {
        id: if kind == "text" { TARGET } else { MessageId([id; 32]) },
        thread: THREAD,
        group: GroupId([9; 16]),
        delivery: Some(u64::from(id)),
        sent_ns: Nanos(at),
        inserted_ns: Nanos(at),
        sequence_id: SequenceId(1),
        kind: MessageKind::Application,
        status: MessageStatus::Published,
        sender_inbox: sender,
        sender_installation: InstallationId([0; 32]),
        content_type: content.content_type.clone().into(),
        content: content.encode(),
        expires_ns: None,
    }
}

/// A database that stores one message a step.
struct Disk {
    store: MemoryStore,
    thread: ThreadCtx,
    deleted: usize,
}

impl Disk {
    fn new() -> Self {
        let thread = ThreadCtx {
            id: THREAD,
            row: None,
            revision: 0,
            consents: Map::new(),
            transcripts: Vec::new(),
            notes: NotesRow::empty(THREAD),
            notes_revision: 0,
        };
        Self { store: MemoryStore::new(), thread, deleted: 0 }
    }

    fn store(&mut self, row: &MessageRow, by_super_admin: bool) {
        self.store_all(&[(row.clone(), by_super_admin)]);
    }

    /// One step, with what a client does before it commits.
    fn store_all(&mut self, rows: &[(MessageRow, bool)]) {
        let mut unit = Unit::new(Nanos(0), CountersRow::default(), 0);
        for (row, by_super_admin) in rows {
            unit.changes.put(row);
            note(row, *by_super_admin, &mut self.thread, &mut unit);
        }
        let mut targets = std::mem::take(&mut unit.judged);
        targets.sort_unstable();
        targets.dedup();
        for id in targets {
            let case = Case::new(id, self.row(id), &mut unit);
            let stored = self.said(case.reads());
            judge(case, stored, std::slice::from_mut(&mut self.thread), &mut unit);
        }
        let deletions = unit.events.iter().filter(|event| matches!(event, Event::MessageDeleted { .. }));
        self.deleted += deletions.count();
        self.write(unit);
    }

    fn write(&mut self, unit: Unit) {
        let Changes { writes, .. } = unit.changes;
        let changes = Changes { writes, ..Changes::default() };
        self.store.apply(changes).now_or_never().unwrap().unwrap();
    }

    fn read<R: Row>(&self, reads: Vec<Read>) -> Vec<R> {
        let answers = self.store.read(reads).now_or_never().unwrap().unwrap();
        answers.iter().flatten().map(|record| R::decode(&record.body).unwrap()).collect()
    }

    fn row(&self, id: MessageId) -> Option<MessageRow> {
        self.read(vec![Read::Key(Table::Messages, id.as_bytes().to_vec())]).pop()
    }

    fn said(&self, reads: Vec<Read>) -> Vec<Said> {
        let of = |one: AnnotationRow| {
            Some(Said { row: self.row(one.message()?)?, by_super_admin: one.by_super_admin() })
        };
        self.read(reads).into_iter().filter_map(of).collect()
    }

    /// What hangs on the target, as a page reads it.
    fn hung(&self) -> Vec<Said> {
        self.said(hanging(&self.row(TARGET).unwrap(), self.thread.notes.kinds))
    }
}

#[derive(Clone, Debug)]
struct Act {
    kind: &'static str,
    own: bool,
    by_super_admin: bool,
    failed: bool,
    /// In another conversation.
    elsewhere: bool,
    at: i64,
}

fn act() -> impl Strategy<Value = Act> {
    (
        proptest::sample::select(vec!["reaction", "editMessage", "deleteMessage"]),
        any::<bool>(),
        proptest::bool::weighted(0.2),
        proptest::bool::weighted(0.1),
        proptest::bool::weighted(0.1),
        0i64..20,
    )
        .prop_map(|(kind, own, by_super_admin, failed, elsewhere, at)| Act {
            kind,
            own,
            by_super_admin,
            failed,
            elsewhere,
            at,
        })
}

fn made(acts: &[Act]) -> Vec<(MessageRow, bool)> {
    let made = acts.iter().enumerate().map(|(n, act)| {
        let mut row = row(n as u8, act.kind, if act.own { SENDER } else { OTHER }, act.at);
        if act.failed {
            row.status = MessageStatus::Failed("code".into());
        }
        if act.elsewhere {
            row.group = GroupId([8; 16]);
            row.thread = ThreadId::Group(row.group);
        }
        (row, act.by_super_admin)
    });
    made.collect()
}

proptest! {
    #[test]
    fn proc_037_edits_reactions_and_deletions_fold_alike_in_any_order(
        (acts, order) in proptest::collection::vec(act(), 0..8).prop_flat_map(|acts| {
            let places: Vec<usize> = (0..=acts.len()).collect();
            (Just(acts), Just(places).prop_shuffle())
        }),
        size in 1usize..4,
    ) {
        let mut rows = made(&acts);
        rows.push((row(0, "text", SENDER, 5), false));
        let mut disk = Disk::new();
        for step in order.chunks(size) {
            let step: Vec<_> = step.iter().map(|place| rows[*place].clone()).collect();
            disk.store_all(&step);
        }
        // What counts, by the rule itself.
        let counts = |kind: &str, valid: fn(&MessageRow, bool) -> bool| {
            let mut all: Vec<&MessageRow> = rows
                .iter()
                .filter(|(row, admin)| row.content_type.type_id == kind && valid(row, *admin))
                .filter(|(row, _)| row.status == MessageStatus::Published && row.thread == THREAD)
                .map(|(row, _)| row)
                .collect();
            all.sort_by_key(|row| (row.sent_ns, row.id));
            all
        };
        let deletion = counts("deleteMessage", |row, admin| row.sender_inbox == SENDER || admin);
        let edits = counts("editMessage", |row, _| row.sender_inbox == SENDER);
        let reactions = counts("reaction", |_, _| true);
        let target = disk.row(TARGET).unwrap();
        let said = disk.hung();
        prop_assert!(said.len() <= 3 + reactions.len(), "nothing is read that does not count");
        let folded = fold(&target, said.iter());
        match deletion.first() {
            Some(first) => {
                prop_assert_eq!(target.deleted_by(), Some(first.sender_inbox));
                prop_assert_eq!(disk.deleted, 1, "told once");
                prop_assert!(edits.iter().all(|edit| disk.row(edit.id).unwrap().deleted_by().is_some()));
                prop_assert!(folded.edit.is_none() && folded.reactions.is_empty());
            }
            None => {
                prop_assert!(target == rows[acts.len()].0, "invalid deletions change nothing");
                prop_assert_eq!(disk.deleted, 0);
                prop_assert_eq!(folded.edit.map(|(row, ..)| row.id), edits.last().map(|row| row.id));
                let shown: Vec<_> = folded.reactions.iter().map(|row| row.id).collect();
                prop_assert_eq!(shown, reactions.iter().map(|row| row.id).collect::<Vec<_>>());
            }
        }
        // Everything else stays as it was stored.
        for (row, _) in rows.iter().filter(|(row, _)| row.id != TARGET) {
            let taken = !deletion.is_empty() && edits.iter().any(|edit| edit.id == row.id);
            prop_assert!(taken || disk.row(row.id).as_ref() == Some(row));
        }
        prop_assert!(disk.thread.notes.awaited.is_empty());
    }
}

#[test]
fn proc_037_only_content_people_write_can_be_taken_back_or_rewritten() {
    let deletion = Said { row: row(1, "deleteMessage", SENDER, 9), by_super_admin: true };
    let edit = Said { row: row(2, "editMessage", SENDER, 9), by_super_admin: false };
    let mut target = row(0, "text", SENDER, 5);
    let fixed =
        ["reaction", "readReceipt", "leave_request", "group_updated", "deleteMessage", "actions", "poll"];
    for type_id in fixed {
        target.content_type.type_id = type_id.into();
        let said = [&deletion, &edit];
        let folded = fold(&target, said.into_iter());
        assert!(folded.deletion.is_none() && folded.edit.is_none(), "{type_id}");
    }
    for type_id in CONTENT {
        target.content_type.type_id = type_id.into();
        assert!(fold(&target, [&deletion].into_iter()).deletion.is_some(), "{type_id}");
        assert!(fold(&target, [&edit].into_iter()).edit.is_some(), "{type_id}");
    }
    target.content_type.authority = "example.org".into();
    assert!(fold(&target, [&deletion].into_iter()).deletion.is_none());
    let mut change = row(0, "text", SENDER, 5);
    change.kind = MessageKind::MembershipChange;
    assert!(fold(&change, [&deletion].into_iter()).deletion.is_none(), "a transcript is nobody's to delete");
}

#[test]
fn proc_037_a_deletion_of_another_group_of_the_conversation_does_not_count() {
    let target = row(0, "text", SENDER, 5);
    let mut deletion = row(1, "deleteMessage", SENDER, 9);
    deletion.group = GroupId([8; 16]);
    let said = [Said { row: deletion.clone(), by_super_admin: true }];
    assert!(fold(&target, said.iter()).deletion.is_none());
    deletion.group = target.group;
    let said = [Said { row: deletion, by_super_admin: false }];
    assert!(fold(&target, said.iter()).deletion.is_some());
}

#[test]
fn an_edit_gives_only_content_people_write() {
    let target = row(0, "text", SENDER, 5);
    for type_id in ["reaction", "group_updated", "poll"] {
        let mut edit = row(1, "editMessage", SENDER, 9);
        let inner =
            EncodedContent { content_type: ContentType::xmtp(type_id, 1, 0), ..EncodedContent::text("x") };
        let outer = EncodedContent {
            content_type: ContentType::xmtp("editMessage", 1, 0),
            content: about(&inner.encode()),
            ..EncodedContent::text("")
        };
        edit.content = outer.encode();
        assert!(fold(&target, [Said { row: edit, by_super_admin: true }].iter()).edit.is_none(), "{type_id}");
    }
}

#[test]
fn the_newest_receipt_of_each_inbox_is_kept_and_only_rises() {
    let mut disk = Disk::new();
    for (id, sender, at) in [(1, SENDER, 5), (2, OTHER, 9), (3, SENDER, 3), (4, OTHER, 10)] {
        let mut receipt = row(id, "readReceipt", sender, at);
        receipt.content.clear();
        disk.store(&receipt, false);
    }
    let mut waiting = row(5, "readReceipt", SENDER, 50);
    waiting.status = MessageStatus::Unpublished;
    disk.store(&waiting, false);
    let mut read = disk.thread.notes.read.clone();
    read.sort_unstable();
    assert_eq!(read, [(SENDER, Nanos(5)), (OTHER, Nanos(10))]);
    assert_eq!(disk.thread.notes.kinds, 0, "a page does not look for what receipts are about");
}

#[test]
fn the_messages_awaited_are_bounded_and_each_is_awaited_once() {
    let mut disk = Disk::new();
    for n in 0..(2 * AWAITED + 10) {
        let mut id = TARGET;
        id.0[0] = (n / 2) as u8;
        id.0[1] = (n / 512) as u8;
        let mut deletion = row(1, "deleteMessage", SENDER, 9);
        deletion.id.0[..8].copy_from_slice(&n.to_be_bytes());
        let content = EncodedContent::decode(&deletion.content).unwrap();
        let text = id.to_string();
        let content =
            EncodedContent { content: [&[0x0a, text.len() as u8], text.as_bytes()].concat(), ..content };
        deletion.content = content.encode();
        disk.store(&deletion, false);
    }
    let awaited = &disk.thread.notes.awaited;
    assert_eq!(awaited.len(), AWAITED);
    assert_eq!(awaited.first().map(|id| (id.0[0], id.0[1])), Some((5, 0)), "the oldest are forgotten");
}

#[test]
fn proc_037_a_message_still_to_be_sent_keeps_its_content_until_it_is() {
    let mut disk = Disk::new();
    let mut target = row(0, "text", SENDER, 5);
    target.status = MessageStatus::Unpublished;
    disk.store(&target, false);
    disk.store(&row(1, "deleteMessage", SENDER, 9), false);
    assert!(disk.row(TARGET).as_ref() == Some(&target));
    target.status = MessageStatus::Published;
    disk.store(&target, false);
    assert_eq!(disk.row(TARGET).unwrap().deleted_by(), Some(SENDER));
}

/// The n-th of many messages of a kind.
fn nth(n: u32, kind: &str, sender: InboxId) -> (MessageRow, bool) {
    let mut row = row(1, kind, sender, 10 + i64::from(n));
    row.id.0[..4].copy_from_slice(&n.to_be_bytes());
    (row, false)
}

#[test]
fn proc_037_what_is_read_for_a_message_has_a_limit_whatever_others_say_about_it() {
    let mut disk = Disk::new();
    // Before it comes, as from an archive, and after.
    let kinds = ["deleteMessage", "editMessage", "reaction"];
    let flood = |from: u32| (from..from + 1_200).map(|n| nth(n, kinds[n as usize % 3], OTHER));
    for step in flood(0).collect::<Vec<_>>().chunks(200) {
        disk.store_all(step);
    }
    disk.store(&row(0, "text", SENDER, 5), false);
    for step in flood(10_000).collect::<Vec<_>>().chunks(200) {
        disk.store.reset_figures();
        disk.store_all(step);
        assert!(disk.store.figures().rows <= 8, "{:?}", disk.store.figures());
    }
    let (edit, _) = nth(20_000, "editMessage", SENDER);
    disk.store(&edit, false);
    disk.store.reset_figures();
    let said = disk.hung();
    assert!(disk.store.figures().rows <= 1 + 2 * (3 + u64::from(REACTIONS)));
    let target = disk.row(TARGET).unwrap();
    let folded = fold(&target, said.iter());
    assert_eq!((folded.edit.map(|(row, ..)| row.id), target.deleted_by()), (Some(edit.id), None));
    assert_eq!(folded.reactions.len(), REACTIONS as usize);
    assert!(folded.reactions.iter().all(|row| row.sent_ns > Nanos(1_200 - 3 * 100)), "the newest");
}

#[test]
fn proc_037_the_newest_edits_keep_their_content_and_all_of_it_goes_with_the_message() {
    for target_first in [true, false] {
        let mut disk = Disk::new();
        let target = row(0, "text", SENDER, 5);
        if target_first {
            disk.store(&target, false);
        }
        let all: Vec<(MessageRow, bool)> = (0..500).map(|n| nth(n, "editMessage", SENDER)).collect();
        for step in all.chunks(70) {
            disk.store.reset_figures();
            disk.store_all(step);
            assert!(disk.store.figures().rows <= 2 * EDITS as u64 + 4);
        }
        let kept = |disk: &Disk| {
            let rows = all.iter().filter_map(|(row, _)| disk.row(row.id));
            rows.filter(|row| row.deleted_by().is_none()).map(|row| row.id).collect::<Vec<_>>()
        };
        let newest: Vec<MessageId> = all.iter().skip(500 - EDITS).map(|(row, _)| row.id).collect();
        assert_eq!(kept(&disk), newest);
        disk.store(&nth(900, "deleteMessage", SENDER).0, false);
        if !target_first {
            disk.store(&target, false);
        }
        assert_eq!(disk.row(TARGET).unwrap().deleted_by(), Some(SENDER));
        assert!(kept(&disk).is_empty());
        let left: Vec<AnnotationRow> = disk.read(vec![stretch(AnnotationRow::about(TARGET), false, 9)]);
        assert_eq!(left.len(), 1, "the deletion");
    }
}
