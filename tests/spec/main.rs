//! What the specifications demand of the whole client, over a store and a service in memory.

#[path = "../common/mod.rs"]
mod common;

mod adversary;
mod apart;
mod archive;
mod archive_consent;
mod archive_dm;
mod archive_strict;
mod coming_and_going;
mod commits;
mod consent;
mod dm;
mod exactly_once;
mod gang;
mod groups;
mod groups_authority;
mod groups_dm;
mod groups_floor;
mod groups_frames;
mod groups_membership;
mod history;
mod input;
mod installations;
mod key_packages;
mod lies;
mod noise;
mod proposals;
mod races;
mod rejoin;
mod shared_welcomes;
mod simulation;
mod tabs;
mod welcome_pointers;
mod welcomes;
