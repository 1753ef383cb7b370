//! Commit judgement: kinds, ordered checks, floor, plan, selection, cleanup, transcript (GMOD).
//!
//! Everything here is pure and judges plain facts; the same judgement serves a received commit
//! and the read-back of an own one (GMOD-016). [`judge`] answers with one [`Verdict`]; only
//! [`Verdict::Applied`] lets a commit be merged (GMOD-021).

mod authority;
mod check;
mod cleanup;
pub mod floor;
pub mod kinds;
mod leaves;
mod plan;
mod select;
pub mod transcript;
mod verdict;

pub use check::{Ground, judge, judge_standalone, needed};
pub use cleanup::cleanup;
pub use plan::{Latest, Plan, PlanError, plan};
pub use select::{Candidate, added, select, virtually};
pub use verdict::Verdict;

#[cfg(test)]
mod tests;
