//! Decides: one file a verb, synchronous and pure; rows in, changes out.
