//! Groups, settings, roles and policies as an app names them, and the wishes they stand for
//! (META, PERM-018).

use crate::base::InboxId;
use crate::error::Error;
use crate::meta::Dictionary;
use crate::meta::component::{
    ADMIN_LIST, APP_DATA, GROUP_DESCRIPTION, GROUP_IMAGE_URL, GROUP_NAME, MESSAGE_DISAPPEAR_FROM_NS,
    MESSAGE_DISAPPEAR_IN_NS, MIN_SUPPORTED_PROTOCOL_VERSION, SUPER_ADMIN_LIST,
};
use crate::mls::facts::GroupFacts;
use crate::store::rows::Wish;

pub use crate::meta::{Base, Settings};
pub use crate::policy::{ACTIONS, ADMINS_ONLY, ALL_MEMBERS, Action, PolicyRead, Preset, Row, Shown, custom};

/// Who may insert, update and delete; absent policies stay as they are.
pub type Bases = [Option<Base>; 3];

/// A group an app wants.
#[derive(Clone, Debug, Default)]
pub struct NewGroup {
    /// Inboxes to add; the own one and repetitions are ignored.
    pub members: Vec<InboxId>,
    /// Its policies: see [`ALL_MEMBERS`], [`ADMINS_ONLY`] and
    /// [`custom`].
    pub policies: Vec<Row>,
    /// Its first settings.
    pub settings: Settings,
}

/// A setting of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// At most 100 bytes.
    Name(String),
    /// At most 1000 bytes.
    Description(String),
    /// At most 2048 bytes.
    ImageUrl(String),
    /// At most 8192 bytes.
    AppData(String),
    /// From when messages disappear, in nanoseconds since the epoch; 0: never.
    DisappearFrom(i64),
    /// After how many nanoseconds; 0: never.
    DisappearIn(i64),
    /// The lowest client version that may take part.
    Floor(String),
}

impl Setting {
    /// What it makes of the dictionary.
    pub fn wish(self) -> Wish {
        let text = |component, text: String| Wish::Value(component, text.into_bytes());
        let number = |component, number: i64| Wish::Value(component, number.to_be_bytes().to_vec());
        match self {
            Self::Name(value) => text(GROUP_NAME, value),
            Self::Description(value) => text(GROUP_DESCRIPTION, value),
            Self::ImageUrl(value) => text(GROUP_IMAGE_URL, value),
            Self::AppData(value) => text(APP_DATA, value),
            Self::DisappearFrom(value) => number(MESSAGE_DISAPPEAR_FROM_NS, value),
            Self::DisappearIn(value) => number(MESSAGE_DISAPPEAR_IN_NS, value),
            Self::Floor(value) => text(MIN_SUPPORTED_PROTOCOL_VERSION, value),
        }
    }
}

/// A role a member can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// In ADMIN_LIST.
    Admin,
    /// In SUPER_ADMIN_LIST. It does not include the other.
    SuperAdmin,
}

impl Role {
    /// What giving it to an inbox, or taking it away, makes of the dictionary.
    pub fn wish(self, inbox: InboxId, given: bool) -> Wish {
        let list = match self {
            Self::Admin => ADMIN_LIST,
            Self::SuperAdmin => SUPER_ADMIN_LIST,
        };
        Wish::Listed(list, inbox, given)
    }
}

/// What new policies make of a component's registry entry.
pub fn policies(component: u16, policies: Bases) -> Wish {
    Wish::Policies(component, policies.map(|base| base.map(|base| base as u8)))
}

/// What a new policy of an action makes of every component it writes.
pub fn policy(action: Action, policy: Base) -> Vec<Wish> {
    let (components, named) = action.place();
    let bases = named.map(|named| named.then_some(policy));
    components.iter().map(|component| policies(*component, bases)).collect()
}

/// Who may do what in a group.
///
/// # Errors
/// `commit.rejected` when its registry cannot be read.
pub fn read_policies(facts: &GroupFacts) -> Result<PolicyRead, Error> {
    let registry = Dictionary::new(&facts.dictionary).registry();
    Ok(PolicyRead::of(&registry.map_err(|error| Error::new("commit.rejected", error.to_string()))?))
}
