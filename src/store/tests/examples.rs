//! One example at least of every row type, in every shape it has.

use crate::base::{DmId, GroupId, InboxId, InstallationId, MessageId, Nanos, SequenceId, ThreadId, Topic};
use crate::consent::{Entity, Record, State};
use crate::store::rows::*;
use crate::store::{StoreError, Table};

/// Decodes a body and encodes the row again.
pub(super) type Recode = fn(&[u8]) -> Result<Vec<u8>, StoreError>;

pub(super) struct Example {
    pub(super) line: String,
    pub(super) table: Table,
    pub(super) body: Vec<u8>,
    pub(super) recode: Recode,
}

fn example<R: Row>(name: &str, row: R) -> Example {
    let index = row.index().into_iter().map(|value| value.map_or("-".into(), hex::encode));
    let body = row.encode();
    let parts = [
        name.to_owned(),
        R::TABLE.name().to_owned(),
        hex::encode(row.key()),
        index.collect::<Vec<_>>().join(","),
        hex::encode(&body),
    ];
    Example {
        line: parts.join(" ").replace("  ", " "),
        table: R::TABLE,
        body,
        recode: |bytes| R::decode(bytes).map(|row| row.encode()),
    }
}

pub(super) const GROUP: GroupId = GroupId([0x11; 16]);
const ALICE: InboxId = InboxId([0xa1; 32]);
const BOB: InboxId = InboxId([0xb0; 32]);
const PHONE: InstallationId = InstallationId([0xd1; 32]);
const LAPTOP: InstallationId = InstallationId([0xd2; 32]);
const MESSAGE: MessageId = MessageId([0x33; 32]);
const TIME: Nanos = Nanos(1_700_000_000_000_000_000);
pub(super) const LATER: Nanos = Nanos(1_700_000_000_000_000_001);

fn dm() -> DmId {
    DmId::of(ALICE, BOB).unwrap()
}

fn group(kind: GroupKind, state: GroupState) -> GroupRow {
    GroupRow {
        id: GROUP,
        kind,
        dm: None,
        state,
        adder: ALICE,
        creator: ALICE,
        created_ns: TIME,
        joined_ns: LATER,
        anchor: SequenceId(300),
        last_message_ns: None,
        hold: None,
        epoch: 0,
        authenticator: Vec::new(),
        members: Vec::new(),
        settings: SettingsView::default(),
        rolled_back: false,
        last_intent: 0,
        leaving: Vec::new(),
        left: false,
    }
}

fn full_group() -> GroupRow {
    let member = MemberView {
        inbox: ALICE,
        installations: vec![PHONE],
        sequence_id: SequenceId(7),
        failed: vec![LAPTOP],
    };
    let settings = SettingsView {
        name: "name".into(),
        description: "description".into(),
        image_url: "https://example.org/i".into(),
        app_data: "{}".into(),
        disappear_from_ns: 1,
        disappear_in_ns: -2,
        floor: "1.2.3".into(),
        admins: vec![BOB],
        super_admins: vec![ALICE],
    };
    let hold =
        Hold { code: "floor".into(), detail: "needs a newer version".into(), sequence_id: SequenceId(301) };
    GroupRow {
        dm: Some(dm()),
        last_message_ns: Some(TIME),
        hold: Some(hold),
        epoch: 5,
        authenticator: vec![0xee; 4],
        members: vec![member],
        settings,
        rolled_back: true,
        last_intent: 2,
        leaving: vec![BOB],
        left: true,
        ..group(GroupKind::Dm, GroupState::Active)
    }
}

fn thread(id: ThreadId, kind: GroupKind) -> ThreadRow {
    let group = ThreadGroup { group: GROUP, restored: true, last_message_ns: Some(TIME), created_ns: LATER };
    ThreadRow { id, kind, groups: vec![group], winner: GROUP, consent: State::Allowed, sort: TIME }
}

fn listing(consent: State, thread: ThreadId, kind: GroupKind) -> ListingRow {
    ListingRow { consent, sort: TIME, thread, winner: GROUP, kind }
}

pub(super) fn message(kind: MessageKind, status: MessageStatus) -> MessageRow {
    let published = status == MessageStatus::Published;
    MessageRow {
        id: MESSAGE,
        thread: ThreadId::Dm(dm()),
        group: GROUP,
        delivery: published.then_some(9),
        sent_ns: TIME,
        inserted_ns: LATER,
        sequence_id: SequenceId(if published { 77 } else { 0 }),
        kind,
        status,
        sender_inbox: ALICE,
        sender_installation: PHONE,
        content_type: ContentTypeView {
            authority: "xmtp.org".into(),
            type_id: "text".into(),
            major: 1,
            minor: 0,
        },
        content: b"content".to_vec(),
        expires_ns: published.then_some(LATER),
    }
}

fn intent(operation: Operation, state: IntentState) -> IntentRow {
    let left_out = LeftOut::default();
    IntentRow { number: 3, group: GROUP, operation, state, builds: 1, welcome: None, left_out }
}

fn owed() -> OwedWelcome {
    OwedWelcome {
        anchor: SequenceId(4),
        welcome: b"welcome".to_vec(),
        recipients: vec![Recipient { installation: LAPTOP, init_key: vec![0x0e; 3], pointer: true }],
        pointer: Some(vec![0x0f; 2]),
        shared: true,
    }
}

fn attempt(outcome: Outcome) -> AttemptRow {
    AttemptRow {
        hash: [0x5a; 32],
        intent: 3,
        group: GROUP,
        topic: Topic::Group(GROUP),
        payload: b"payload".to_vec(),
        epoch: 5,
        commit: true,
        outcome,
    }
}

fn envelope(topic: Topic, state: EnvelopeState) -> EnvelopeRow {
    EnvelopeRow {
        topic,
        sequence_id: SequenceId(258),
        server_ns: TIME,
        hash: [0x5b; 32],
        payload: b"payload".to_vec(),
        state,
        received_ns: LATER,
    }
}

fn position(topic: Topic) -> PositionRow {
    PositionRow { topic, received: SequenceId(130), processed: SequenceId(129) }
}

fn consent(entity: Entity, state: State) -> ConsentRow {
    ConsentRow(Record { entity, state, consented_at_ns: TIME })
}

fn conversation_examples() -> Vec<Example> {
    let whole = ThreadId::Group(GROUP);
    let stitched = ThreadId::Dm(dm());
    vec![
        example("group", group(GroupKind::Group, GroupState::Active)),
        example("group_full", full_group()),
        example("group_inactive", group(GroupKind::Dm, GroupState::Inactive)),
        example("group_restored", group(GroupKind::Dm, GroupState::Restored)),
        example("group_failed", group(GroupKind::Sync, GroupState::Failed("dm.unknown_inbox".into()))),
        example("thread", thread(whole, GroupKind::Group)),
        example("thread_dm", thread(stitched, GroupKind::Dm)),
        example("listing", listing(State::Unknown, whole, GroupKind::Group)),
        example("listing_dm", listing(State::Denied, stitched, GroupKind::Dm)),
        example("message", message(MessageKind::Application, MessageStatus::Published)),
        example("message_derived", message(MessageKind::MembershipChange, MessageStatus::Published)),
        example("message_unpublished", message(MessageKind::Application, MessageStatus::Unpublished)),
        example("message_failed", message(MessageKind::Application, MessageStatus::Failed("code".into()))),
        example("message_deleted", message(MessageKind::Deleted, MessageStatus::Published)),
        example("consent_unknown", consent(Entity::Conversation(GROUP), State::Unknown)),
        example("consent_allowed", consent(Entity::Inbox(ALICE), State::Allowed)),
        example("consent_denied", consent(Entity::Inbox(ALICE), State::Denied)),
        example(
            "transcript",
            TranscriptRow {
                thread: stitched,
                hash: [0x5c; 32],
                message: MESSAGE,
                payload: b"payload".to_vec(),
            },
        ),
        example(
            "annotation",
            AnnotationRow::new(
                MESSAGE,
                Hangs::Edit,
                &MessageRow {
                    id: MessageId([0x34; 32]),
                    ..message(MessageKind::Application, MessageStatus::Published)
                },
            ),
        ),
        example("notes", NotesRow::empty(ThreadId::Group(GROUP))),
        example(
            "notes_full",
            NotesRow { thread: stitched, kinds: 5, read: vec![(ALICE, TIME)], awaited: vec![MESSAGE] },
        ),
        example("owed_decision", OwedDecisionRow(consent(Entity::Inbox(ALICE), State::Denied).0)),
        example("consumer", ConsumerRow { group: GROUP, acknowledged: 300 }),
        example("consumed", ConsumedRow { acknowledged: 300 }),
    ]
}

fn wishes() -> Vec<Wish> {
    vec![
        Wish::Value(0x8004, b"name".to_vec()),
        Wish::Listed(0x8002, BOB, true),
        Wish::Policies(0x8003, [Some(2), None, Some(4)]),
    ]
}

fn working_examples() -> Vec<Example> {
    let send = || Operation::Send { message: MESSAGE, key: "key".into(), push: true };
    let group_topic = Topic::Group(GROUP);
    vec![
        example("intent_add", intent(Operation::AddInboxes(vec![BOB]), IntentState::ToPublish)),
        example("intent_update", intent(Operation::SelfUpdate, IntentState::Published([0x5a; 32]))),
        example("intent_send", intent(send(), IntentState::Committed)),
        example(
            "intent_owes",
            IntentRow { welcome: Some(owed()), ..intent(Operation::SelfUpdate, IntentState::Committed) },
        ),
        example("intent_remove", intent(Operation::RemoveInboxes(vec![BOB]), IntentState::ToPublish)),
        example("intent_refresh", intent(Operation::Refresh(vec![ALICE]), IntentState::ToPublish)),
        example("intent_change", intent(Operation::Change(wishes()), IntentState::ToPublish)),
        example(
            "intent_left_out",
            IntentRow {
                left_out: LeftOut { installations: vec![PHONE], inboxes: vec![BOB] },
                ..intent(Operation::AddInboxes(vec![BOB]), IntentState::ToPublish)
            },
        ),
        example(
            "intent_tell",
            intent(
                Operation::Tell { content: b"content".to_vec(), key: "key".into() },
                IntentState::ToPublish,
            ),
        ),
        example(
            "intent_snapshot",
            intent(Operation::Snapshot { after: b"c".to_vec() }, IntentState::ToPublish),
        ),
        example("attempt_unknown", attempt(Outcome::Unknown)),
        example("attempt_accepted", attempt(Outcome::Accepted(SequenceId(5)))),
        example("attempt_refused", attempt(Outcome::Refused)),
        example("attempt_settled", attempt(Outcome::Settled)),
        example("envelope", envelope(group_topic, EnvelopeState::Pending)),
        example("envelope_held", envelope(group_topic, EnvelopeState::Held("floor".into(), "why".into()))),
        example(
            "envelope_rejected",
            envelope(Topic::Welcome([0xd1; 32]), EnvelopeState::Rejected("DMS-003".into(), "why".into())),
        ),
        example("position_group", position(group_topic)),
        example("position_welcome", position(Topic::Welcome([0xd1; 32]))),
        example("position_identity", position(Topic::Identity(ALICE))),
        example("position_key_package", position(Topic::KeyPackage(PHONE))),
    ]
}

fn state_examples() -> Vec<Example> {
    vec![
        example(
            "installation",
            InstallationRow {
                inbox: ALICE,
                installation: PHONE,
                seed: [0x77; 32],
                identifier: "0x00000000000000000000000000000000000000aa".into(),
                registered: true,
                database: [0x99; 16],
                created_ns: TIME,
                revoked: true,
            },
        ),
        example(
            "offer",
            OfferRow {
                id: b"id".to_vec(),
                init_key: vec![0x0e; 3],
                package: b"package".to_vec(),
                made_ns: TIME,
                published: true,
                spent: false,
            },
        ),
        example("counters", CountersRow { delivery: 300 }),
        example("sync_groups", SyncGroupsRow { groups: vec![GROUP] }),
        example("mls_page", MlsPageRow { group: GROUP, part: 1, page: 258, bytes: vec![1, 2, 3] }),
        example("mls_global", MlsGlobalRow { id: b"id".to_vec(), bytes: vec![4, 5], retire_ns: Some(LATER) }),
        example(
            "association",
            AssociationRow {
                inbox: ALICE,
                sequence_id: SequenceId(258),
                update: b"update".to_vec(),
                accepted: true,
            },
        ),
    ]
}

pub(super) fn examples() -> Vec<Example> {
    let mut all = state_examples();
    all.extend(conversation_examples());
    all.extend(working_examples());
    all
}
