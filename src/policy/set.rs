//! Policies as apps name them: one for each thing members do (PERM-018, PERM-019).
//!
//! A setting's policy stands for inserting and updating alike; deleting stays with super admins.
//! Disappearing messages are two components under one policy.

use super::presets::{ADMINS_ONLY, ALL_MEMBERS, Row};
use crate::meta::component::MESSAGE_DISAPPEAR_IN_NS;
use crate::meta::component::{
    ADMIN_LIST, APP_DATA, GROUP_DESCRIPTION, GROUP_IMAGE_URL, GROUP_MEMBERSHIP, GROUP_NAME,
    MESSAGE_DISAPPEAR_FROM_NS,
};
use crate::meta::{Base, Policy, Registry};

/// What a policy is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Adding inboxes.
    AddMember,
    /// Removing inboxes.
    RemoveMember,
    /// Making admins.
    AddAdmin,
    /// Taking the admin role away.
    RemoveAdmin,
    /// Changing the name.
    Name,
    /// Changing the description.
    Description,
    /// Changing the image URL.
    ImageUrl,
    /// Changing when messages disappear.
    Disappearing,
    /// Changing the app's own string.
    AppData,
}

/// All of them, in the order apps name them.
pub const ACTIONS: [Action; 9] = [
    Action::AddMember,
    Action::RemoveMember,
    Action::AddAdmin,
    Action::RemoveAdmin,
    Action::Name,
    Action::Description,
    Action::ImageUrl,
    Action::Disappearing,
    Action::AppData,
];

impl Action {
    /// The components it writes, and which of the three policies decide: insert, update, delete.
    pub fn place(self) -> (&'static [u16], [bool; 3]) {
        const INSERT: [bool; 3] = [true, false, false];
        const DELETE: [bool; 3] = [false, false, true];
        const WRITE: [bool; 3] = [true, true, false];
        match self {
            Self::AddMember => (&[GROUP_MEMBERSHIP], INSERT),
            Self::RemoveMember => (&[GROUP_MEMBERSHIP], DELETE),
            Self::AddAdmin => (&[ADMIN_LIST], INSERT),
            Self::RemoveAdmin => (&[ADMIN_LIST], DELETE),
            Self::Name => (&[GROUP_NAME], WRITE),
            Self::Description => (&[GROUP_DESCRIPTION], WRITE),
            Self::ImageUrl => (&[GROUP_IMAGE_URL], WRITE),
            Self::Disappearing => (&[MESSAGE_DISAPPEAR_FROM_NS, MESSAGE_DISAPPEAR_IN_NS], WRITE),
            Self::AppData => (&[APP_DATA], WRITE),
        }
    }
}

/// The table of a group with these policies; actions not named are as for all members.
pub fn custom(set: &[(Action, Base)]) -> Vec<Row> {
    let mut rows = ALL_MEMBERS.to_vec();
    for (action, base) in set {
        let (components, [insert, update, delete]) = action.place();
        for row in rows.iter_mut().filter(|row| components.contains(&row.component)) {
            let places = [(&mut row.insert, insert), (&mut row.update, update), (&mut row.delete, delete)];
            places.into_iter().filter(|(_, named)| *named).for_each(|(place, _)| *place = *base);
        }
    }
    rows
}

/// A policy as an app reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A base policy.
    Base(Base),
    /// The component has none: nobody may.
    Absent,
    /// A combination, or one this version does not know.
    Other,
}

/// Which set of policies a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// [`ALL_MEMBERS`].
    AllMembers,
    /// [`ADMINS_ONLY`].
    AdminsOnly,
    /// Any other.
    Custom,
}

/// Who may do what, in the order of [`ACTIONS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRead {
    /// Which set it is.
    pub preset: Preset,
    /// The policy of each action.
    pub actions: [Shown; 9],
}

impl PolicyRead {
    /// Reads a registry.
    pub fn of(registry: &Registry) -> Self {
        let actions = ACTIONS.map(|action| in_registry(registry, action));
        let is = |rows: &[Row]| ACTIONS.map(|action| in_rows(rows, action)) == actions;
        let preset = match () {
            () if is(ALL_MEMBERS) => Preset::AllMembers,
            () if is(ADMINS_ONLY) => Preset::AdminsOnly,
            () => Preset::Custom,
        };
        Self { preset, actions }
    }
}

fn in_registry(registry: &Registry, action: Action) -> Shown {
    let (components, named) = action.place();
    let entry = components.first().and_then(|id| registry.entry(*id));
    let Some(entry) = entry else { return Shown::Absent };
    match first([&entry.insert, &entry.update, &entry.delete], named) {
        Some(Policy::Base(base)) => Shown::Base(*base),
        _ => Shown::Other,
    }
}

fn in_rows(rows: &[Row], action: Action) -> Shown {
    let (components, named) = action.place();
    let row = rows.iter().find(|row| components.first() == Some(&row.component));
    row.and_then(|row| first([row.insert, row.update, row.delete], named)).map_or(Shown::Absent, Shown::Base)
}

fn first<T>(of: [T; 3], named: [bool; 3]) -> Option<T> {
    of.into_iter().zip(named).find(|(_, named)| *named).map(|(one, _)| one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::registry_of;

    fn read(rows: &[Row]) -> PolicyRead {
        PolicyRead::of(&Registry::decode(&registry_of(rows)).unwrap())
    }

    #[test]
    fn perm_019_presets_are_recognised() {
        assert_eq!(read(ALL_MEMBERS).preset, Preset::AllMembers);
        assert_eq!(read(ADMINS_ONLY).preset, Preset::AdminsOnly);
        assert_eq!(read(&custom(&[])).preset, Preset::AllMembers);
    }

    #[test]
    fn perm_018_a_custom_set_reads_back_as_given() {
        let set = ACTIONS.map(|action| (action, Base::Deny));
        let shown = read(&custom(&set));
        assert_eq!((shown.preset, shown.actions), (Preset::Custom, [Shown::Base(Base::Deny); 9]));
        let one = read(&custom(&[(Action::RemoveMember, Base::IfSuperAdmin)]));
        assert_eq!(one.actions[1], Shown::Base(Base::IfSuperAdmin));
        assert_eq!(one.actions[0], Shown::Base(Base::Allow), "the others stay");
    }

    #[test]
    fn an_unregistered_component_reads_as_absent() {
        let without: Vec<Row> = ALL_MEMBERS.iter().copied().filter(|row| row.component != APP_DATA).collect();
        assert_eq!(read(&without).actions[8], Shown::Absent);
    }
}
