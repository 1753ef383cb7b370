//! Rows put straight into a database: conversations and messages without anybody who made them.

use dovetail::base::{DmId, GroupId, InboxId, InstallationId, MessageId, Nanos, SequenceId};
use dovetail::consent::State;
use dovetail::dm::Candidate;
use dovetail::dm::thread::fold;
use dovetail::store::rows::{
    ContentTypeView, GroupKind, GroupRow, GroupState, MessageKind, MessageRow, MessageStatus, SettingsView,
    ThreadGroup, ThreadRow,
};
use dovetail::store::{Changes, Store};
use dovetail::wire::EncodedContent;
use futures::FutureExt;

use super::User;

/// Commits a unit of its own, as another tab would.
pub fn apply(user: &User, changes: Changes) {
    user.store.reopen().apply(changes).now_or_never().expect("ready").expect("applied");
}

/// A DM's copy that ended; `peer` may be somebody who does not exist.
pub fn group(user: &User, id: GroupId, peer: InboxId, created_ns: i64) -> GroupRow {
    GroupRow {
        id,
        kind: GroupKind::Dm,
        dm: DmId::of(user.inbox(), peer),
        state: GroupState::Inactive,
        adder: peer,
        creator: peer,
        created_ns: Nanos(created_ns),
        joined_ns: Nanos(created_ns),
        anchor: SequenceId(1),
        last_message_ns: None,
        hold: None,
        epoch: 1,
        authenticator: Vec::new(),
        members: Vec::new(),
        settings: SettingsView::default(),
        rolled_back: false,
        last_intent: 0,
        leaving: Vec::new(),
        left: false,
    }
}

/// The thread of some groups nobody decided about.
pub fn thread(groups: &[GroupRow]) -> ThreadRow {
    let entry = |group: &GroupRow| ThreadGroup {
        group: group.id,
        restored: group.state == GroupState::Restored,
        last_message_ns: group.last_message_ns,
        created_ns: group.created_ns,
    };
    let candidate = |entry: ThreadGroup| Candidate {
        group: entry.group,
        restored: entry.restored,
        last_message_ns: entry.last_message_ns,
        created_ns: entry.created_ns,
    };
    let candidates: Vec<_> = groups.iter().map(entry).map(candidate).collect();
    let folded = fold(&candidates).expect("groups");
    ThreadRow {
        id: groups[0].thread(),
        kind: groups[0].kind,
        groups: groups.iter().map(entry).collect(),
        winner: folded.winner,
        consent: State::Unknown,
        sort: folded.sort,
    }
}

/// A published text in a group.
pub fn message(group: &GroupRow, id: MessageId, sent_ns: i64, delivery: u64) -> MessageRow {
    let kind = EncodedContent::text("").content_type;
    MessageRow {
        id,
        thread: group.thread(),
        group: group.id,
        delivery: Some(delivery),
        sent_ns: Nanos(sent_ns),
        inserted_ns: Nanos(sent_ns),
        sequence_id: SequenceId(delivery),
        kind: MessageKind::Application,
        status: MessageStatus::Published,
        sender_inbox: group.adder,
        sender_installation: InstallationId([1; 32]),
        content_type: ContentTypeView {
            authority: kind.authority,
            type_id: kind.type_id,
            major: kind.major,
            minor: kind.minor,
        },
        content: EncodedContent::text("x").encode(),
        expires_ns: None,
    }
}
