//! What the specifications demand of the whole client, over a store and a service in memory.

#[path = "../common/mod.rs"]
mod common;

mod adversary;
mod annotations;
mod apart;
mod coming_and_going;
mod commits;
mod consent;
mod decisions;
mod deletion;
mod devices;
mod devices_bad;
mod devices_group;
mod devices_new;
mod disappearing;
mod dm;
mod events;
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
mod leaving;
mod lies;
mod merging;
mod noise;
mod proposals;
mod races;
mod readers;
mod rejoin;
mod shared_welcomes;
mod simulation;
mod streams;
mod tabs;
mod union;
mod welcome_pointers;
mod welcomes;
