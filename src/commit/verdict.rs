//! What judging comes to.

/// The outcome for one received proposal or commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Every check passed: a commit may be merged, a proposal kept.
    Applied,
    /// Refused for good, by every member alike; the position moves on (PROC-011).
    Rejected {
        /// The requirement it breaks, for example `GMOD-010`.
        id: &'static str,
        /// What is wrong with it, for people. No secrets, no content.
        reason: String,
    },
    /// Waits, and later envelopes of the topic with it (PROC-012).
    Held {
        /// Stable code: `identity` or `unsupported_proposal`.
        code: &'static str,
        /// What it waits for.
        reason: String,
    },
    /// The group demands a newer client from here on (GMOD-025).
    Paused {
        /// The version it demands.
        floor: String,
    },
}

impl Verdict {
    /// Code of a hold that ends when identity updates are fetched (GMOD-013).
    pub const IDENTITY: &'static str = "identity";
    /// Code of a hold that ends with a version that knows the proposal (GMOD-001).
    pub const UNSUPPORTED_PROPOSAL: &'static str = "unsupported_proposal";

    /// A terminal rejection.
    pub(super) fn rejected(id: &'static str, reason: impl ToString) -> Self {
        Self::Rejected { id, reason: reason.to_string() }
    }
}

/// A check passes, or it ends the judgement.
pub(super) type Check<T = ()> = Result<T, Verdict>;
