//! Who may change what: proposer roles, policy evaluation, presets and the fixed DM tables
//! (PERM, DMS section 2).
//!
//! Everything is judged from the dictionary as it was before the commit, each write by its own
//! proposer (PERM-001, PERM-009, PERM-010).

mod actor;
mod create;
mod eval;
mod presets;
mod set;

pub use actor::{Actor, Roles};
pub use create::{new_dm, new_group, new_sync};
pub use eval::{Authority, Denial, LeafChange, dm_add_allowed};
pub use presets::{ADMINS_ONLY, ALL_MEMBERS, DM, Row, matches_fixed_dm_policy, registry_of};
pub use set::{ACTIONS, Action, PolicyRead, Preset, Shown, custom};

#[cfg(test)]
mod tests;
