//! Everything that touches OpenMLS.

pub mod facts;
