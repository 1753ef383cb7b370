//! What the specifications demand of the whole client, over a store and a service in memory.

#[path = "../common/mod.rs"]
mod common;

mod adversary;
mod apart;
mod commits;
mod consent;
mod dm;
mod exactly_once;
mod groups;
mod history;
mod input;
mod lies;
mod noise;
mod simulation;
mod tabs;
mod welcomes;
