//! Creating a DM, and reusing one (DMS-002, DMS-005, CONS-020, GMOD-037).

use crate::base::{DmId, GroupId, InboxId, SequenceId, ThreadId};
use crate::consent::{Entity, State, app_act};
use crate::engine::event::Event;
use crate::engine::state::{GroupCtx, Me, MlsState, ThreadCtx};
use crate::engine::unit::Unit;
use crate::engine::{threads, views};
use crate::error::Error;
use crate::members::Entry;
use crate::meta::{FIRST_FLOOR, NewConversation, Settings};
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
    let (mut id, mut signer) = ([0; 16], [0; 32]);
    id.copy_from_slice(&chance[..16]);
    signer.copy_from_slice(&chance[16..]);
    let id = GroupId(id);
    let new = NewConversation {
        creator: me.inbox,
        creator_entry: &Entry::default().encode(),
        floor: FIRST_FLOOR,
        settings: &Settings::default(),
        commit_log_signer: Some(&signer),
    };
    let dictionary = policy::new_dm(&new, peer).map_err(Error::bug)?;
    let scratch = Scratch::new();
    let group = mls::create(&scratch, &me.keys, me.inbox, id, &dictionary).map_err(Error::bug)?;

    let now = unit.now;
    let mut row = GroupRow {
        id,
        kind: GroupKind::Dm,
        dm: Some(dm),
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
    };
    views::describe(&mut row, &group.facts(), group.authenticator());
    let mut ctx = GroupCtx::fresh(row, 0, Some(MlsState { scratch, group }), SequenceId::default());
    ctx.add_intent(Operation::AddInboxes(vec![peer]), unit);

    let record = app_act(Entity::Conversation(id), State::Allowed, now);
    thread.consents.insert(id, record);
    unit.put_consent(None, record);
    let duplicate = thread.row.is_some();
    threads::refresh(thread, &ctx.row, unit);
    let (thread, consent) = (ThreadId::Dm(dm), State::Allowed);
    unit.events.push(Event::Conversation { group: id, thread, consent, duplicate });
    unit.changes.strict();
    Ok(ctx)
}
