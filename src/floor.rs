//! The floor the benchmark compares with: a DM of two members on bare MLS, in memory, without a
//! store, rules, delivery or threads. Compiled only with the feature `floor`; never shipped.

use wasm_bindgen::prelude::*;

use crate::base::{GroupId, InboxId, Nanos, Set};
use crate::commit::{Latest, plan};
use crate::members::{Entry, Reference, Resolution, States};
use crate::meta::component::GROUP_MEMBERSHIP;
use crate::meta::{FIRST_FLOOR, NewConversation, Op, Settings, next_dictionary};
use crate::mls::facts::AppDataOp;
use crate::mls::{self, CommitPlan, Group, InstallationKeys, Opened, Scratch};
use crate::policy;

struct Side {
    scratch: Scratch,
    keys: InstallationKeys,
    group: Group,
}

/// Two members of one DM.
#[wasm_bindgen]
pub struct Floor {
    sender: Side,
    receiver: Side,
}

fn js(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

#[wasm_bindgen]
impl Floor {
    /// Makes the DM.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Result<Floor, JsError> {
        let (a, b) = (InboxId([1; 32]), InboxId([2; 32]));
        let (keys, other) = (InstallationKeys::from_seed([3; 32]), InstallationKeys::from_seed([4; 32]));
        let (scratch, theirs) = (Scratch::new(), Scratch::new());
        let now = Nanos(js_sys::Date::now() as i64 * 1_000_000);
        let package = mls::make_key_package(&theirs, &other, b, now).map_err(js)?;
        let facts = mls::check_key_package(&scratch, &package.bytes, now).map_err(js)?;
        let entry = Entry::default().encode();
        let new = NewConversation {
            creator: a,
            creator_entry: &entry,
            floor: FIRST_FLOOR,
            settings: &Settings::default(),
            commit_log_signer: None,
        };
        let dictionary = policy::new_dm(&new, b).map_err(js)?;
        let mut group = mls::create(&scratch, &keys, a, GroupId([5; 16]), &dictionary).map_err(js)?;

        let mut states = States::default();
        let latest = [(a, crate::base::SequenceId(1)), (b, crate::base::SequenceId(2))].into();
        for (inbox, at, id) in [(a, 1, keys.id()), (b, 2, other.id())] {
            let reference = Reference { inbox, sequence_id: crate::base::SequenceId(at) };
            states.insert(reference, Resolution::Installations(Set::from([id])));
        }
        let wanted = Latest {
            add: &Set::from([b]),
            remove: &Set::new(),
            latest: &latest,
            states: &states,
            usable: &Set::from([other.id()]),
        };
        let before = group.facts();
        let delta = plan(&before, (a, keys.id()), &wanted).map_err(js)?.membership.unwrap_or_default();
        let (after, _) =
            next_dictionary(&before.dictionary, &[(GROUP_MEMBERSHIP, Op::Update(delta.clone()))])
                .map_err(js)?;
        let commit = CommitPlan {
            adds: vec![facts.addition],
            app_data: vec![(GROUP_MEMBERSHIP, AppDataOp::Update(delta))],
            dictionary_after: after,
            ..CommitPlan::default()
        };
        let sealed = mls::commit(&scratch, &mut group, &keys, commit).map_err(js)?;
        mls::merge_pending(&scratch, &mut group).map_err(js)?;
        let wrapped =
            mls::wrap_welcome(&sealed.welcome.unwrap_or_default(), 3, &facts.init_key).map_err(js)?;
        let (welcome, cursor) = mls::unwrap_welcome(&theirs, &wrapped, &facts.init_key).map_err(js)?;
        let joined = mls::inspect(&theirs, &welcome, cursor).map_err(js)?.join(&theirs, false).map_err(js)?;
        Ok(Floor {
            sender: Side { scratch, keys, group },
            receiver: Side { scratch: theirs, keys: other, group: joined },
        })
    }

    /// Encrypts a message of the sender.
    pub fn encrypt(&mut self, plaintext: &[u8]) -> Result<Vec<u8>, JsError> {
        let Side { scratch, keys, group } = &mut self.sender;
        mls::message(scratch, group, keys, plaintext).map_err(js)
    }

    /// Decrypts it at the receiver.
    pub fn decrypt(&mut self, message: &[u8]) -> Result<Vec<u8>, JsError> {
        debug_assert_eq!(self.receiver.keys.id(), InstallationKeys::from_seed([4; 32]).id());
        match mls::open(&self.receiver.scratch, &mut self.receiver.group, message).map_err(js)? {
            Opened::Application { plaintext, .. } => Ok(plaintext),
            _ => Err(js("not a message")),
        }
    }
}
