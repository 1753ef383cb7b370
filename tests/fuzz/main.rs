//! Whatever bytes come in, decoding ends with a value or an error: no panic, no hang, no bug.
//!
//! Every test mutates valid samples for a moment (`DOVETAIL_FUZZ_SECONDS=n` for n seconds each, with
//! another seed each time unless `DOVETAIL_FUZZ_SEED` is given). An input that fails is kept under
//! `tests/fuzz_cases/<decoder>/`, and everything kept there is tried first, always.

#[path = "../common/mod.rs"]
mod common;

mod decoders;
mod mls;
mod mutate;
mod rules;
mod samples;
