//! What a committed step tells the outside (EVENT, facts 12.5).
//!
//! The names of the kinds are a contract with apps: none is ever removed or given another meaning.
//! The events of one step are told in the order of [`KINDS`]; those of one kind keep the order they
//! were made in.

use serde::{Deserialize, Serialize};

use crate::base::{GroupId, InboxId, InstallationId, MessageId, Nanos, SequenceId, ThreadId};
use crate::consent::{Entity, State};
use crate::store::rows::{ContentTypeView, GroupKind, MessageRow, MessageStatus};

/// The kinds an app can ask for, in the order a step tells them. The last one is made by a
/// subscription itself.
pub const KINDS: [&str; 15] = [
    "conversation.joined",
    "conversation.removed",
    "conversation.membership_changed",
    "conversation.metadata_changed",
    "conversation.paused",
    "message.received",
    "message.status_changed",
    "message.deleted",
    "message.expired",
    "consent.changed",
    "identity.registered",
    "identity.own_installation_added",
    "identity.own_installation_revoked",
    "archive.restored",
    "lagged",
];

/// Something that happened and is now readable. Emitted after the commit, in order.
///
/// Other clients on the same database are told in the same words, so all of it but the rows can be
/// serialised.
#[derive(Clone, Serialize, Deserialize)]
pub enum Event {
    /// `conversation.joined`: a group was created, joined, or joined again here.
    Conversation {
        /// The group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// What it is; a sync group is told to nobody outside.
        kind: GroupKind,
        /// Consent of the thread at that moment.
        consent: State,
        /// Another group of the same thread is known (DMS-007).
        duplicate: bool,
        /// Who added us; `None` for a group created here.
        adder: Option<InboxId>,
    },
    /// `conversation.removed`: a commit removed this installation.
    Removed {
        /// The group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// The own inbox had asked to leave.
        left: bool,
    },
    /// `conversation.membership_changed`: a commit added or removed inboxes.
    MembersChanged {
        /// The group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// Inboxes added.
        added: Vec<InboxId>,
        /// Inboxes removed, those that left among them.
        removed: Vec<InboxId>,
    },
    /// `conversation.metadata_changed`: a commit changed settings, roles or policies.
    SettingsChanged {
        /// The group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// What changed, by name ([`crate::commit::transcript::changed`]).
        changed: Vec<String>,
    },
    /// `conversation.paused`: the group waits for a newer version of the app.
    Paused {
        /// The group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// The version it needs.
        floor: String,
    },
    /// `message.received`: another installation's message became deliverable.
    Received {
        /// The message.
        id: MessageId,
        /// The group it is stored in: of a stitched DM, that copy.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// Its content type; `None` when it has none that can be read (CTYPE-008).
        content_type: Option<ContentTypeView>,
        /// Its authenticated sender.
        sender: InboxId,
        /// When it disappears; not told to an app any more from then on.
        expires: Option<Nanos>,
    },
    /// `message.status_changed`: an own message's state changed.
    MessageStatus {
        /// The message.
        id: MessageId,
        /// Its group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// The state it was in.
        previous: MessageStatus,
        /// The new state.
        status: MessageStatus,
    },
    /// `message.deleted`: a deletion was applied to it.
    MessageDeleted {
        /// The message.
        id: MessageId,
        /// Its group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
        /// Asked for by the app, here only; otherwise by a deletion message (PROC-037).
        locally: bool,
    },
    /// `message.expired`: it disappeared in time (META-063).
    MessageExpired {
        /// The message.
        id: MessageId,
        /// Its group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
    },
    /// `consent.changed`: a stored consent state changed, or that of a DM because one of its groups'
    /// records became the greatest.
    Consent {
        /// What it is about.
        entity: Entity,
        /// The new state.
        state: State,
    },
    /// `identity.registered`: this installation is known to others.
    Registered,
    /// `identity.own_installation_added`: the own inbox has one more.
    InstallationAdded {
        /// The installation.
        installation: InstallationId,
        /// The identity update's place in the inbox's log.
        at: SequenceId,
    },
    /// `identity.own_installation_revoked`: the own inbox has one less.
    InstallationRevoked {
        /// The installation.
        installation: InstallationId,
        /// The identity update's place in the inbox's log.
        at: SequenceId,
    },
    /// `archive.restored`: an import that stored something has ended.
    ArchiveRestored {
        /// It ended without an error.
        complete: bool,
    },
    /// `lagged`: a subscription dropped events because nobody took them.
    Lagged {
        /// How many.
        discarded: u64,
    },
    /// Not told to apps: a message as it reads since it was taken back, or as it was before it
    /// disappeared.
    Gone {
        /// The row. In the second case it is stored no more.
        row: Box<MessageRow>,
    },
    /// Not told to apps: a group's members, settings, activity, hold or state changed.
    GroupChanged {
        /// The group.
        group: GroupId,
        /// Its thread.
        thread: ThreadId,
    },
    /// Not told to apps: a message was stored, or an own one reached its place in the topic.
    /// Last: what is not serialised must not stand between the numbers of the others.
    #[serde(skip)]
    Message {
        /// The row as stored.
        row: Box<MessageRow>,
        /// Consent of the thread at that moment.
        consent: State,
    },
}

impl Event {
    /// Its place in [`KINDS`]; beyond it for what apps are not told.
    pub fn kind(&self) -> usize {
        match self {
            Self::Conversation { .. } => 0,
            Self::Removed { .. } => 1,
            Self::MembersChanged { .. } => 2,
            Self::SettingsChanged { .. } => 3,
            Self::Paused { .. } => 4,
            Self::Received { .. } => 5,
            Self::MessageStatus { .. } => 6,
            Self::MessageDeleted { .. } => 7,
            Self::MessageExpired { .. } => 8,
            Self::Consent { .. } => 9,
            Self::Registered => 10,
            Self::InstallationAdded { .. } => 11,
            Self::InstallationRevoked { .. } => 12,
            Self::ArchiveRestored { .. } => 13,
            Self::Lagged { .. } => 14,
            Self::Message { .. } => 15,
            Self::GroupChanged { .. } => 16,
            Self::Gone { .. } => 17,
        }
    }

    /// The group and thread it is about, where it says both.
    pub fn place(&self) -> Option<(GroupId, ThreadId)> {
        match self {
            Self::Conversation { group, thread, .. }
            | Self::Removed { group, thread, .. }
            | Self::MembersChanged { group, thread, .. }
            | Self::SettingsChanged { group, thread, .. }
            | Self::Paused { group, thread, .. }
            | Self::Received { group, thread, .. }
            | Self::MessageStatus { group, thread, .. }
            | Self::MessageDeleted { group, thread, .. }
            | Self::MessageExpired { group, thread, .. }
            | Self::GroupChanged { group, thread } => Some((*group, *thread)),
            Self::Message { row, .. } | Self::Gone { row } => Some((row.group, row.thread)),
            _ => None,
        }
    }

    /// The group it names, the one a consent record is about among them.
    pub fn group(&self) -> Option<GroupId> {
        match self {
            Self::Consent { entity: Entity::Conversation(group), .. } => Some(*group),
            _ => self.place().map(|(group, _)| group),
        }
    }
}

/// Brings the events of one step into the order of [`KINDS`], and leaves out what would name one of
/// `hidden`, the sync groups the step touched.
pub fn arrange(events: Vec<Event>, hidden: &[GroupId]) -> Vec<Event> {
    let mut told: Vec<Event> = Vec::with_capacity(events.len());
    for event in events {
        // Other clients on the database still hear that there is one, and that it changed.
        let inward = matches!(event, Event::Conversation { .. } | Event::GroupChanged { .. });
        if !inward && event.group().is_some_and(|group| hidden.contains(&group)) {
            continue;
        }
        let kind = event.kind();
        let at = told.iter().rposition(|before| before.kind() <= kind).map_or(0, |at| at + 1);
        told.insert(at, event);
    }
    told
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GROUP: GroupId = GroupId([1; 16]);
    const THREAD: ThreadId = ThreadId::Group(GROUP);

    fn expired(id: u8) -> Event {
        Event::MessageExpired { id: MessageId([id; 32]), group: GROUP, thread: THREAD }
    }

    fn some(kind: usize, id: u8) -> Event {
        match kind {
            0 => Event::Removed { group: GROUP, thread: THREAD, left: false },
            1 => expired(id),
            2 => Event::Consent { entity: Entity::Conversation(GROUP), state: State::Denied },
            3 => Event::InstallationAdded { installation: InstallationId([id; 32]), at: SequenceId(1) },
            _ => Event::GroupChanged { group: GROUP, thread: THREAD },
        }
    }

    #[test]
    fn event_kinds_are_named_once_and_in_order() {
        let kinds = [some(0, 0), some(1, 0), some(2, 0), some(3, 0)].map(|event| KINDS[event.kind()]);
        assert_eq!(
            kinds,
            ["conversation.removed", "message.expired", "consent.changed", "identity.own_installation_added"]
        );
        assert_eq!(KINDS[Event::Lagged { discarded: 1 }.kind()], "lagged");
        assert!(some(4, 0).kind() >= KINDS.len());
        let distinct: crate::base::Set<_> = KINDS.iter().collect();
        assert_eq!(distinct.len(), KINDS.len());
    }

    #[test]
    fn event_what_other_tabs_hear_is_what_was_told() {
        let row = MessageRow {
            id: MessageId([1; 32]),
            thread: THREAD,
            group: GROUP,
            delivery: Some(7),
            sent_ns: Nanos(1),
            inserted_ns: Nanos(2),
            sequence_id: SequenceId(3),
            kind: crate::store::rows::MessageKind::Deleted,
            status: MessageStatus::Published,
            sender_inbox: InboxId([2; 32]),
            sender_installation: InstallationId([3; 32]),
            content_type: ContentTypeView {
                authority: "xmtp.org".into(),
                type_id: "text".into(),
                major: 1,
                minor: 0,
            },
            content: vec![2; 32],
            expires_ns: Some(Nanos(9)),
        };
        let told = vec![some(0, 1), expired(2), some(4, 1), Event::Gone { row: Box::new(row) }];
        let again: Vec<Event> = postcard::from_bytes(&postcard::to_allocvec(&told).unwrap()).unwrap();
        assert_eq!(again.len(), told.len());
        for (told, again) in told.iter().zip(&again) {
            assert_eq!((told.kind(), told.place()), (again.kind(), again.place()));
        }
        let (Event::Gone { row: told }, Event::Gone { row: again }) = (&told[3], &again[3]) else {
            panic!("other")
        };
        assert!(told == again);
    }

    #[test]
    fn event_nothing_names_a_sync_group() {
        let told = arrange((0..5).map(|kind| some(kind, 1)).collect(), &[GROUP]);
        // What names no group, and what other tabs must hear.
        assert_eq!(told.iter().map(Event::kind).collect::<Vec<_>>(), [11, 16]);
        assert_eq!(arrange((0..5).map(|kind| some(kind, 1)).collect(), &[]).len(), 5);
    }

    proptest! {
        #[test]
        fn event_a_steps_events_are_in_the_order_of_the_kinds_and_keep_theirs(
            made in proptest::collection::vec((0usize..5, any::<u8>()), 0..60),
        ) {
            let told = arrange(made.iter().map(|(kind, id)| some(*kind, *id)).collect(), &[]);
            prop_assert_eq!(told.len(), made.len());
            prop_assert!(told.windows(2).all(|pair| pair[0].kind() <= pair[1].kind()));
            let ids: Vec<u8> = told.iter().filter_map(|event| match event {
                Event::MessageExpired { id, .. } => Some(id.0[0]),
                _ => None,
            }).collect();
            let want: Vec<u8> = made.iter().filter(|(kind, _)| *kind == 1).map(|(_, id)| *id).collect();
            prop_assert_eq!(ids, want);
        }
    }
}
