//! What an operation on a group makes of the group as it stands: inboxes to add, remove or bring up
//! to date, and component writes; or that nothing is left to do.
//!
//! Wishes are kept as what an app wants, not as deltas: after a lost race the same wish is computed
//! again on the state of the members who were first (GMOD-036).

use crate::base::Gather as _;
use crate::base::Set;

use crate::base::{InboxId, Version};
use crate::engine::send::writable;
use crate::engine::state::{GroupCtx, Me};
use crate::error::Error;
use crate::members::Members;
use crate::meta::component::{
    ADMIN_LIST, COMPONENT_REGISTRY, MIN_SUPPORTED_PROTOCOL_VERSION, SUPER_ADMIN_LIST,
};
use crate::meta::{
    Base, Dictionary, DictionaryError, Entry, Key, MapMutation, MetaError, Op, Policy, Registry, SetMutation,
    encode_map_delta, encode_set_delta, next_dictionary,
};
use crate::mls::facts::{GroupFacts, RawDictionary};
use crate::store::rows::{GroupKind, GroupRow, LeftOut, Operation, Wish};

/// Inboxes a group may have.
pub const MAX_INBOXES: usize = 250;

/// What is left to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Inboxes to add.
    pub add: Set<InboxId>,
    /// Members to remove.
    pub remove: Set<InboxId>,
    /// Members to bring to their newest identity state.
    pub refresh: Set<InboxId>,
    /// Component updates, in order.
    pub writes: Vec<(u16, Vec<u8>)>,
    /// Make an epoch even without any of these.
    pub always: bool,
}

/// Computes the change on the committed state.
///
/// # Errors
/// `input.value` for a component that cannot be written like this, `commit.rejected` when the
/// committed state cannot be read.
pub fn change(operation: &Operation, facts: &GroupFacts, left_out: &LeftOut) -> Result<Change, Error> {
    let members = || Dictionary::new(&facts.dictionary).members().map_err(unreadable);
    let mut change = Change::default();
    match operation {
        Operation::AddInboxes(inboxes) => {
            let members = members()?;
            let missing = inboxes.iter().filter(|id| !members.contains(id) && !left_out.inboxes.contains(id));
            change.add = missing.copied().gather();
        }
        Operation::RemoveInboxes(inboxes) => {
            let members = members()?;
            change.remove = inboxes.iter().filter(|id| members.contains(id)).copied().gather();
        }
        Operation::Refresh(inboxes) => {
            let members = members()?;
            change.refresh = inboxes.iter().filter(|id| members.contains(id)).copied().gather();
        }
        Operation::Change(wishes) => change.writes = writes(wishes, &facts.dictionary)?,
        Operation::SelfUpdate => change.always = true,
        Operation::Send { .. } | Operation::Tell { .. } | Operation::Snapshot { .. } => {}
    }
    Ok(change)
}

/// Whether an app may ask for this now; `false` when nothing is left to do. Nothing is stored yet.
///
/// # Errors
/// `group.*` when the group cannot be written to or would exceed its limits, `input.*` for a value
/// its component does not allow.
pub fn accept(ctx: &GroupCtx, me: &Me, operation: &Operation) -> Result<bool, Error> {
    writable(ctx)?;
    let facts =
        ctx.mls.as_ref().ok_or_else(|| Error::bug("an active group without MLS state"))?.group.facts();
    let change = change(operation, &facts, &LeftOut::default())?;
    if change.remove.contains(&me.inbox) {
        return Err(Error::new(
            "group.self",
            "a member cannot remove its own inbox; ask to leave with requestRemoval() instead",
        ));
    }
    let members = ctx.row.members.len() + change.add.len();
    if !change.add.is_empty() && members > MAX_INBOXES {
        return Err(Error::new(
            "group.limit",
            format!("the group would have {members} members; at most {MAX_INBOXES} are possible"),
        ));
    }
    if let Operation::Change(wishes) = operation {
        accept_wishes(ctx, me, wishes)?;
        after(&facts.dictionary, &change.writes)?;
    }
    Ok(change != Change::default())
}

fn accept_wishes(ctx: &GroupCtx, me: &Me, wishes: &[Wish]) -> Result<(), Error> {
    for wish in wishes {
        match wish {
            Wish::Listed(_, inbox, true) if !is_member(&ctx.row, *inbox) => {
                return Err(Error::new(
                    "group.unknown_member",
                    format!("the inbox {inbox} is not a member; add it before giving it a role"),
                ));
            }
            Wish::Value(MIN_SUPPORTED_PROTOCOL_VERSION, floor) => {
                let wanted = std::str::from_utf8(floor).ok().and_then(|text| text.parse::<Version>().ok());
                if wanted.is_some_and(|wanted| wanted > me.version) {
                    return Err(Error::new(
                        "input.value",
                        "the floor would lock this very client out; update the app first",
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// True when the group shows the effect of the whole operation.
pub fn shows(ctx: &GroupCtx, operation: &Operation) -> bool {
    let facts = ctx.mls.as_ref().map(|mls| mls.group.facts());
    let left = facts.map(|facts| change(operation, &facts, &LeftOut::default()));
    left.is_some_and(|left| left == Ok(Change::default()))
}

/// True when the row already shows what the operation wants, without looking at MLS state.
pub fn is_done(row: &GroupRow, operation: &Operation, left_out: &LeftOut) -> bool {
    match operation {
        Operation::AddInboxes(_) => remaining(row, operation, left_out).is_empty(),
        Operation::RemoveInboxes(inboxes) => !inboxes.iter().any(|inbox| is_member(row, *inbox)),
        // What it is for ends with the epoch: kept proposals, and secrets of a state rolled back.
        Operation::SelfUpdate => !row.rolled_back,
        _ => false,
    }
}

/// Inboxes an operation has still to add.
pub fn remaining(row: &GroupRow, operation: &Operation, left_out: &LeftOut) -> Vec<InboxId> {
    let Operation::AddInboxes(inboxes) = operation else { return Vec::new() };
    let missing = inboxes.iter().filter(|id| !is_member(row, **id) && !left_out.inboxes.contains(id));
    missing.copied().collect()
}

fn is_member(row: &GroupRow, inbox: InboxId) -> bool {
    row.members.iter().any(|member| member.inbox == inbox)
}

/// Inboxes whose newest identity state a commit of this operation needs: those it adds, removes or
/// refreshes, and the own one where the group does not name an update of it yet, or adds members
/// (the first commit raises the creator's own entry, or joiners would have to refuse).
pub fn concerned(operation: &Operation, members: &Members, own: InboxId) -> Set<InboxId> {
    let unnamed = members.get(own).is_some_and(|entry| entry.sequence_id.0 == 0);
    let (inboxes, with_own): (&[InboxId], bool) = match operation {
        Operation::AddInboxes(inboxes) => (inboxes, true),
        Operation::Refresh(inboxes) => (inboxes, unnamed),
        _ => (&[], unnamed),
    };
    inboxes.iter().copied().chain(with_own.then_some(own)).gather()
}

/// The dictionary after these component updates.
///
/// # Errors
/// `input.value` when one of them does not apply.
pub fn after(before: &RawDictionary, writes: &[(u16, Vec<u8>)]) -> Result<RawDictionary, Error> {
    let ops: Vec<(u16, Op)> = writes.iter().map(|(id, delta)| (*id, Op::Update(delta.clone()))).collect();
    match next_dictionary(before, &ops) {
        Ok((after, _)) => Ok(after),
        Err(error @ MetaError::Stored(_)) => Err(Error::new("commit.rejected", error.to_string())),
        Err(error) => Err(Error::new("input.value", error.to_string())),
    }
}

fn writes(wishes: &[Wish], before: &RawDictionary) -> Result<Vec<(u16, Vec<u8>)>, Error> {
    let view = Dictionary::new(before);
    let mut writes = Vec::new();
    for wish in wishes {
        match wish {
            Wish::Value(component, value) => {
                if view.raw(*component) != Some(value) {
                    writes.push((*component, value.clone()));
                }
            }
            Wish::Listed(component, inbox, wanted) => {
                let listed = match *component {
                    ADMIN_LIST => view.admins(),
                    SUPER_ADMIN_LIST => view.super_admins(),
                    other => return Err(unwritable(other)),
                };
                if listed.map_err(unreadable)?.contains(inbox) != *wanted {
                    let key = Key::Inbox(*inbox);
                    let mutation = if *wanted { SetMutation::Insert(key) } else { SetMutation::Remove(key) };
                    writes.push((*component, encode_set_delta(&[mutation])));
                }
            }
            Wish::Policies(component, numbers) => {
                let registry = view.registry().map_err(unreadable)?;
                let mutation = policies(&registry, *component, numbers)?;
                writes.extend(mutation.map(|m| (COMPONENT_REGISTRY, encode_map_delta(&[m]))));
            }
        }
    }
    Ok(writes)
}

fn policies(
    registry: &Registry,
    component: u16,
    numbers: &[Option<u8>; 3],
) -> Result<Option<MapMutation>, Error> {
    let old = registry.entry(component).ok_or_else(|| unwritable(component))?;
    let mut new: Entry = old.clone();
    let places = [&mut new.insert, &mut new.update, &mut new.delete];
    for (place, number) in places.into_iter().zip(numbers) {
        if let Some(number) = number {
            *place = Policy::Base(base(*number).ok_or_else(|| unwritable(component))?);
        }
    }
    Ok((new != *old).then(|| MapMutation::Update(Key::Component(component), new.encode())))
}

/// A base policy by its number on the wire.
pub fn base(number: u8) -> Option<Base> {
    [Base::Allow, Base::Deny, Base::IfAdmin, Base::IfSuperAdmin, Base::IfSelfOrNonMember]
        .into_iter()
        .find(|base| *base as u8 == number)
}

fn unwritable(component: u16) -> Error {
    Error::new("input.value", format!("component {component:#06x} cannot be changed like this"))
}

fn unreadable(error: DictionaryError) -> Error {
    Error::new("commit.rejected", format!("{error}; the group's settings cannot be changed"))
}

/// Whether operations of this kind make sense in a conversation of this kind.
pub fn fits(kind: GroupKind, operation: &Operation) -> bool {
    match operation {
        Operation::AddInboxes(_) | Operation::RemoveInboxes(_) => kind == GroupKind::Group,
        _ => true,
    }
}
