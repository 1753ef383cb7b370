//! Proposer roles, policy evaluation, presets and the fixed DM tables (PERM, DMS section 2).
