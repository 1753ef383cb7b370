//! Ids, times and the small number rules everything else is written in.
//!
//! Imports nothing of ours. Ids are parsed at the edge and never re-checked.

mod digits;
mod encode;
mod gather;
mod hash;
mod ids;
mod map;
mod platform;
mod semver;
mod set;
mod thread;
mod topic;
mod varint;

pub use digits::push_digits;
pub use encode::encode;
pub use gather::{Gather, Tree};
pub use hash::sha256;
pub use ids::{DmId, GroupId, IdError, InboxId, InstallationId, MessageId};
pub use map::Map;
pub use platform::{Platform, SharedPlatform};
pub use semver::Version;
pub use set::Set;
pub use thread::ThreadId;
pub use topic::{Topic, TopicKind};
pub use varint::{VarintError, read_varint, write_varint};

/// Nanoseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Nanos(pub i64);

/// The position a delivery service gives an envelope; rising within a topic, unique across topics.
/// 0 means "before the first".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct SequenceId(pub u64);
