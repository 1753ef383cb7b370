//! Creating a DM or a group, and reusing a DM (DMS-002, DMS-005, CONS-020, GMOD-037).

use crate::base::{DmId, GroupId, InboxId, SequenceId};
use crate::consent::State;
use crate::engine::event::Event;
use crate::engine::operations::MAX_INBOXES;
use crate::engine::settings::NewGroup;
use crate::engine::state::{GroupCtx, Me, MlsState, ThreadCtx};
use crate::engine::unit::Unit;
use crate::engine::{consent, threads, views};
use crate::error::Error;
use crate::members::Entry;
use crate::meta::{Components, CreateError, FIRST_FLOOR, NewConversation, Settings};
use crate::mls::{self, Scratch};
use crate::policy;
use crate::store::rows::{GroupKind, GroupRow, GroupState, Operation, SettingsView};

/// The dm id of the conversation with `peer`.
///
/// # Errors
/// `dm.self` for the own inbox (DMS-002).
pub fn dm_with(me: &Me, peer: InboxId) -> Result<DmId, Error> {
    DmId::of(me.inbox, peer)
        .ok_or_else(|| Error::new("dm.self", "a DM needs another inbox: this is your own inbox id"))
}

/// The group an app gets instead of a new one, if there is one (DMS-005).
pub fn reusable(thread: &ThreadCtx) -> Option<GroupId> {
    let row = thread.row.as_ref()?;
    row.groups.iter().any(|group| !group.restored).then_some(row.winner)
}

/// The id of a group made with this randomness: its first 16 bytes (GMOD-037).
pub fn group_id(chance: &[u8; 48]) -> GroupId {
    let mut id = [0; 16];
    id.copy_from_slice(&chance[..16]);
    GroupId(id)
}

/// Creates a DM with `peer`; `chance` is random: the group id (GMOD-037) and the commit-log key,
/// which a DM can never gain later. Adding the peer is its first intent.
pub fn create_dm(
    me: &Me,
    peer: InboxId,
    chance: &[u8; 48],
    thread: &mut ThreadCtx,
    unit: &mut Unit,
) -> Result<GroupCtx, Error> {
    let dm = dm_with(me, peer)?;
    let mut signer = [0; 32];
    signer.copy_from_slice(&chance[16..]);
    let new = conversation(me, &Settings::default(), &signer, |new| policy::new_dm(new, peer))?;
    begin(me, (GroupKind::Dm, Some(dm)), (group_id(chance), &new), vec![peer], thread, unit)
}

/// Creates a group. Adding its members is its first intent, which also raises the creator's own
/// entry and adds its other installations; it is there even without members.
///
/// # Errors
/// `group.limit`, `input.value` for a setting its component does not allow.
pub fn create_group(
    me: &Me,
    new: &NewGroup,
    chance: &[u8; 48],
    thread: &mut ThreadCtx,
    unit: &mut Unit,
) -> Result<GroupCtx, Error> {
    let mut members: Vec<InboxId> = Vec::with_capacity(new.members.len());
    for inbox in &new.members {
        if *inbox != me.inbox && !members.contains(inbox) {
            members.push(*inbox);
        }
    }
    if members.len() >= MAX_INBOXES {
        let count = members.len() + 1;
        return Err(Error::new(
            "group.limit",
            format!("the group would have {count} members; at most {MAX_INBOXES} are possible"),
        ));
    }
    let mut signer = [0; 32];
    signer.copy_from_slice(&chance[16..]);
    let dictionary = conversation(me, &new.settings, &signer, |born| policy::new_group(born, &new.policies))?;
    let id = group_id(chance);
    begin(me, (GroupKind::Group, None), (id, &dictionary), members, thread, unit)
}

/// Creates the sync group of the own devices (facts 6.1). Its first commit adds the others, who are
/// told everything then. It is no conversation: nothing is listed, announced or decided with it.
pub fn create_sync(me: &Me, chance: &[u8; 48], unit: &mut Unit) -> Result<GroupCtx, Error> {
    let mut signer = [0; 32];
    signer.copy_from_slice(&chance[16..]);
    let dictionary = conversation(me, &Settings::default(), &signer, policy::new_sync)?;
    let (group, kind, adder) = (group_id(chance), GroupKind::Sync, None);
    let ctx = born(me, (kind, None), (group, &dictionary), Vec::new(), unit)?;
    // No app is told; other clients on the database begin to read it.
    let (thread, consent, duplicate) = (ctx.row.thread(), State::Unknown, false);
    unit.events.push(Event::Conversation { group, thread, kind, consent, duplicate, adder });
    Ok(ctx)
}

fn conversation(
    me: &Me,
    settings: &Settings,
    signer: &[u8; 32],
    make: impl FnOnce(&NewConversation<'_>) -> Result<Components, CreateError>,
) -> Result<Components, Error> {
    make(&NewConversation {
        creator: me.inbox,
        creator_entry: &Entry::default().encode(),
        floor: FIRST_FLOOR,
        settings,
        commit_log_signer: Some(signer),
    })
    .map_err(|error| Error::new("input.value", error.to_string()))
}

fn begin(
    me: &Me,
    (kind, dm): (GroupKind, Option<DmId>),
    (id, dictionary): (GroupId, &Components),
    members: Vec<InboxId>,
    thread: &mut ThreadCtx,
    unit: &mut Unit,
) -> Result<GroupCtx, Error> {
    let ctx = born(me, (kind, dm), (id, dictionary), members, unit)?;
    // Of a DM there may be placeholders, whose records must not outlast this decision.
    let mut named = consent::groups_of(thread);
    named.push(id);
    consent::put(thread, &named, State::Allowed, unit);
    let duplicate = threads::goes_on_elsewhere(thread, id);
    threads::refresh(thread, &ctx.row, unit);
    let (thread, consent) = (thread.id, State::Allowed);
    unit.events.push(Event::Conversation { group: id, thread, kind, consent, duplicate, adder: None });
    Ok(ctx)
}

/// The group itself. Adding its members is its first intent.
fn born(
    me: &Me,
    (kind, dm): (GroupKind, Option<DmId>),
    (id, dictionary): (GroupId, &Components),
    members: Vec<InboxId>,
    unit: &mut Unit,
) -> Result<GroupCtx, Error> {
    let scratch = Scratch::new();
    let group = mls::create(&scratch, &me.keys, me.inbox, id, dictionary).map_err(Error::bug)?;
    let now = unit.now;
    let mut row = GroupRow {
        id,
        kind,
        dm,
        state: GroupState::Active,
        adder: me.inbox,
        creator: me.inbox,
        created_ns: now,
        joined_ns: now,
        anchor: SequenceId::default(),
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
    };
    views::describe(&mut row, &group.facts(), group.authenticator());
    let mut ctx = GroupCtx::fresh(row, 0, Some(MlsState { scratch, group }), SequenceId::default());
    ctx.add_intent(Operation::AddInboxes(members), unit);
    unit.changes.strict();
    Ok(ctx)
}
