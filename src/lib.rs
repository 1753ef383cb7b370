//! Dovetail: end-to-end encrypted messaging for the browser.
//!
//! One rhythm for every use case: **load → decide → commit → emit**. `client` loads and emits,
//! `engine` decides, `store` commits one [`store::Changes`] a step.
#![forbid(unsafe_code)]

pub mod base;
pub mod client;
pub mod commit;
pub mod consent;
pub mod delivery;
pub mod dm;
pub mod engine;
pub mod error;
pub mod identity;
pub mod members;
pub mod meta;
pub mod mls;
pub mod policy;
pub mod store;
pub mod wire;

#[cfg(target_arch = "wasm32")]
pub mod bindings;
#[cfg(all(target_arch = "wasm32", feature = "floor"))]
mod floor;
#[cfg(target_arch = "wasm32")]
mod idb;
