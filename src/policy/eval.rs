//! Whether one proposer may make one write, total and without state (PERM-005 to PERM-015,
//! PERM-026 to PERM-029, DMS-004).
//!
//! Choices where the texts leave room:
//! - a scalar Update is judged by the update policy even when there was no value, as PERM's table
//!   of element changes says, so a first write of an immutable scalar needs its update policy;
//! - a delta without mutations changes no element and asks no policy, but its component must be
//!   registered, and a hardcoded one is for super admins all the same;
//! - SELF_OR_NON_MEMBER works on sets of inboxes as on maps keyed by inbox;
//! - an Add or Remove of an installation whose inbox is a member before and after is judged by the
//!   membership component's update policy in every kind of group. For a proposal on its own,
//!   whose commit is not known, "after" is the committed membership; its commit judges it again.

use crate::base::Set;

use super::actor::{Actor, Roles};
use crate::base::InboxId;
use crate::meta::component::{
    COMPONENT_REGISTRY, GROUP_MEMBERSHIP, Range, SUPER_ADMIN_LIST, is_hardcoded, is_immutable, range,
};
use crate::meta::{Base, Dictionary, DictionaryError, Effect, Entry, Key, Policy, Registry, Write};

/// Why a write is not allowed. Messages name the component, never its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Reserved, or no component at all (META-003).
    #[error("component {0:#06x} can never be written")]
    NotWritable(u16),
    /// META-004.
    #[error("component {0:#06x} is written once and never changed")]
    Immutable(u16),
    /// PERM-005.
    #[error("only a super admin may write component {0:#06x}")]
    SuperAdminOnly(u16),
    /// PERM-012.
    #[error("component {0:#06x} is not registered, so nobody may write it")]
    Unregistered(u16),
    /// PERM-011, PERM-015.
    #[error("the group's policy for component {0:#06x} does not allow this member to do that")]
    Policy(u16),
    /// PERM-008.
    #[error("the group's policy for component {0:#06x} is malformed, which denies")]
    Malformed(u16),
    /// DMS-004.
    #[error("only the other inbox of the pair can be added to a DM")]
    DmAddition,
    /// PERM-003.
    #[error("a super admin cannot be removed; take the role away first, in an earlier commit")]
    SuperAdminRemoved,
    /// PERM-004.
    #[error("the last super admin cannot give up the role; make another one first")]
    LastSuperAdmin,
}

/// An MLS Add or Remove proposal, by the inbox of its leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafChange {
    /// Adds an installation of the inbox.
    Add(InboxId),
    /// Removes an installation of the inbox.
    Remove(InboxId),
}

/// A proposer of this DM pair may add exactly the other inbox, whatever the fixed policies deny
/// (DMS-004). A proposal that adds several inboxes is asked for each and so fails as a whole.
pub fn dm_add_allowed(pair: [InboxId; 2], proposer: InboxId, added: InboxId) -> bool {
    pair.contains(&proposer) && pair.contains(&added) && proposer != added
}

/// What decides over writes: roles and registry as they were before the commit.
#[derive(Clone, Debug)]
pub struct Authority {
    /// Who has which role.
    pub roles: Roles,
    registry: Registry,
}

impl Authority {
    /// Reads roles and registry from the dictionary before the commit. A group without registry
    /// is an error: nothing in it could be judged.
    pub fn committed(dictionary: Dictionary<'_>) -> Result<Self, DictionaryError> {
        Ok(Self { roles: Roles::committed(dictionary)?, registry: dictionary.registry()? })
    }

    /// Judges one elementary write of an AppDataUpdate. `members_after` is the membership after
    /// the commit, or the committed one for a proposal on its own (PERM-027).
    pub fn judge_write(
        &self,
        proposer: InboxId,
        effect: &Effect,
        members_after: &Set<InboxId>,
    ) -> Result<(), Denial> {
        let actor = self.roles.actor(proposer);
        let component = effect.component;
        if matches!(range(component), Range::Outside | Range::Reserved) {
            return Err(Denial::NotWritable(component));
        }
        if is_immutable(component) && (effect.old.is_some() || effect.write == Write::Delete) {
            return Err(Denial::Immutable(component));
        }
        if is_hardcoded(component) {
            return judge_hardcoded(&actor, effect);
        }
        let key = effect.key.as_ref().and_then(Key::inbox);
        let ask = Ask { component, write: effect.write, key, members_after };
        match (self.roles.dm_pair, effect.write, key) {
            (Some(pair), Write::Insert, Some(added)) if component == GROUP_MEMBERSHIP => {
                self.entry(component)?;
                dm_addition(pair, proposer, added)
            }
            _ => self.ask(&actor, &ask),
        }
    }

    /// Judges one MLS Add or Remove proposal (PERM-003, PERM-015, DMS-004), given the member
    /// inboxes before and after the commit.
    pub fn judge_leaf(
        &self,
        proposer: InboxId,
        change: LeafChange,
        members_before: &Set<InboxId>,
        members_after: &Set<InboxId>,
    ) -> Result<(), Denial> {
        let (LeafChange::Add(inbox) | LeafChange::Remove(inbox)) = change;
        let stays = members_before.contains(&inbox) && members_after.contains(&inbox);
        let write = match change {
            _ if stays => Write::Update,
            LeafChange::Add(_) => Write::Insert,
            LeafChange::Remove(_) => Write::Delete,
        };
        match (write, self.roles.dm_pair) {
            (Write::Insert, Some(pair)) => return dm_addition(pair, proposer, inbox),
            (Write::Delete, _) if self.roles.super_admins.contains(&inbox) => {
                return Err(Denial::SuperAdminRemoved);
            }
            _ => {}
        }
        let ask = Ask { component: GROUP_MEMBERSHIP, write, key: Some(inbox), members_after };
        self.ask(&self.roles.actor(proposer), &ask)
    }

    /// PERM-003: no super admin leaves the membership component.
    pub fn super_admins_stay(
        &self,
        members_before: &Set<InboxId>,
        members_after: &Set<InboxId>,
    ) -> Result<(), Denial> {
        let mut removed = members_before.difference(members_after);
        if removed.any(|inbox| self.roles.super_admins.contains(inbox)) {
            return Err(Denial::SuperAdminRemoved);
        }
        Ok(())
    }

    /// PERM-004: no proposal makes a super-admin list that is not empty empty. `effects` are those
    /// of one list of updates, in order. A delete without an old value is one whose value is not
    /// known yet, of a proposal on its own; it is not counted.
    pub fn super_admins_remain(&self, effects: &[Effect]) -> Result<(), Denial> {
        let mut count = self.roles.super_admins.len();
        for proposal in effects.chunk_by(|a, b| a.proposal == b.proposal) {
            let before = count;
            for effect in proposal.iter().filter(|effect| effect.component == SUPER_ADMIN_LIST) {
                count = match (effect.write, &effect.key) {
                    (Write::Insert, _) => count + 1,
                    (Write::Delete, _) if effect.old.is_none() => count,
                    (Write::Delete, Some(_)) => count.saturating_sub(1),
                    (Write::Delete, None) => 0,
                    (Write::Update | Write::Touch, _) => count,
                };
            }
            if before > 0 && count == 0 {
                return Err(Denial::LastSuperAdmin);
            }
        }
        Ok(())
    }

    fn entry(&self, component: u16) -> Result<&Entry, Denial> {
        self.registry.entry(component).ok_or(Denial::Unregistered(component))
    }

    fn ask(&self, actor: &Actor, ask: &Ask<'_>) -> Result<(), Denial> {
        let entry = self.entry(ask.component)?;
        let policy = match ask.write {
            Write::Insert => &entry.insert,
            Write::Update => &entry.update,
            Write::Delete => &entry.delete,
            Write::Touch => return Ok(()),
        };
        match evaluate(policy, actor, ask) {
            Outcome::Allow => Ok(()),
            Outcome::Deny => Err(Denial::Policy(ask.component)),
            Outcome::Malformed => Err(Denial::Malformed(ask.component)),
        }
    }
}

/// PERM-005, and PERM-026: in a DM either participant registers application components.
fn judge_hardcoded(actor: &Actor, effect: &Effect) -> Result<(), Denial> {
    let of_application = match effect.key {
        Some(Key::Component(id)) => range(id) == Range::Application,
        Some(Key::Inbox(_) | Key::Bytes(_)) | None => false,
    };
    let registers = effect.component == COMPONENT_REGISTRY && of_application;
    if actor.super_admin || (actor.dm_participant && registers) {
        Ok(())
    } else {
        Err(Denial::SuperAdminOnly(effect.component))
    }
}

fn dm_addition(pair: [InboxId; 2], proposer: InboxId, added: InboxId) -> Result<(), Denial> {
    if dm_add_allowed(pair, proposer, added) { Ok(()) } else { Err(Denial::DmAddition) }
}

/// The write a policy is asked about.
struct Ask<'a> {
    component: u16,
    write: Write,
    key: Option<InboxId>,
    members_after: &'a Set<InboxId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Allow,
    Deny,
    Malformed,
}

/// PERM-007: children in order, the first that decides gives its result; a malformed one that is
/// reached decides.
fn evaluate(policy: &Policy, actor: &Actor, ask: &Ask<'_>) -> Outcome {
    let (children, until) = match policy {
        Policy::Base(base) if base_allows(*base, actor, ask) => return Outcome::Allow,
        Policy::Base(_) => return Outcome::Deny,
        Policy::Malformed => return Outcome::Malformed,
        Policy::And(children) => (children, Outcome::Deny),
        Policy::Any(children) => (children, Outcome::Allow),
    };
    let mut result = Outcome::Malformed;
    for child in children {
        result = evaluate(child, actor, ask);
        if result == until || result == Outcome::Malformed {
            break;
        }
    }
    result
}

fn base_allows(base: Base, actor: &Actor, ask: &Ask<'_>) -> bool {
    // PERM-028: a DM has no super admin, so its participants stand in on application components.
    let super_admin =
        actor.super_admin || (actor.dm_participant && range(ask.component) == Range::Application);
    match base {
        Base::Allow => true,
        Base::Deny => false,
        Base::IfAdmin => actor.admin || super_admin,
        Base::IfSuperAdmin => super_admin,
        Base::IfSelfOrNonMember => ask.key.is_some_and(|key| {
            key == actor.inbox || (ask.write == Write::Delete && !ask.members_after.contains(&key))
        }),
    }
}
