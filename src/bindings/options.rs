//! Reading arguments: strict about types, silent about fields it does not know.

use std::collections::BTreeMap;
use std::str::FromStr;

use js_sys::{Array, Function, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use super::bytes::bytes_of;
use crate::base::{GroupId, Nanos};
use crate::client::Interest;
use crate::consent::{Entity, State};
use crate::engine::history::{HistoryOptions, SortBy, Types};
use crate::engine::list::{ListOptions, OrderBy};
use crate::error::Error;
use crate::identity::Identifier;
use crate::store::rows::{GroupKind, MessageKind, MessageStatus};
use crate::wire::{Compression, ContentType, EncodedContent};

/// A value with the name it has in messages.
pub struct Arg {
    value: JsValue,
    name: String,
}

impl Arg {
    /// An argument.
    pub fn new(value: JsValue, name: &str) -> Self {
        Self { value, name: name.to_owned() }
    }

    fn wrong(&self, expected: &str) -> Error {
        Error::new("input.value", format!("{} must be {expected}", self.name))
    }

    /// A field; one that is absent is undefined.
    pub fn field(&self, name: &str) -> Result<Arg, Error> {
        if !self.value.is_object() {
            return Err(self.wrong("an object"));
        }
        let value = Reflect::get(&self.value, &JsValue::from_str(name));
        let value = value.map_err(|_| self.wrong(&format!("an object with a readable {name}")))?;
        Ok(Arg { value, name: format!("{}.{name}", self.name) })
    }

    /// None for undefined.
    pub fn optional(self) -> Option<Arg> {
        if self.value.is_undefined() { None } else { Some(self) }
    }

    /// An optional field, read by `read`.
    pub fn may<T>(&self, name: &str, read: impl FnOnce(Arg) -> Result<T, Error>) -> Result<Option<T>, Error> {
        self.field(name)?.optional().map(read).transpose()
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// A text.
    pub fn text(self) -> Result<String, Error> {
        self.value.as_string().ok_or_else(|| self.wrong("a string"))
    }

    /// True or false.
    pub fn flag(self) -> Result<bool, Error> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    /// A whole number from 0 to 2^32 - 1.
    pub fn number(self) -> Result<u32, Error> {
        match self.value.as_f64() {
            Some(number) if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) => {
                Ok(number as u32)
            }
            _ => Err(self.wrong("a whole number from 0")),
        }
    }

    /// A time in nanoseconds.
    pub fn time(self) -> Result<Nanos, Error> {
        self.integer().map(Nanos)
    }

    /// A bigint from -2^63 to 2^63 - 1.
    pub fn integer(self) -> Result<i64, Error> {
        if !self.value.is_bigint() {
            return Err(self.wrong("a bigint"));
        }
        i64::try_from(self.value.clone()).map_err(|_| self.wrong("a bigint of 64 bits"))
    }

    /// A bigint from 0 to 2^64 - 1.
    pub fn unsigned(self) -> Result<u64, Error> {
        if !self.value.is_bigint() {
            return Err(self.wrong("a bigint"));
        }
        u64::try_from(self.value.clone()).map_err(|_| self.wrong("a bigint from 0 to 2^64 - 1"))
    }

    /// Bytes, copied.
    pub fn bytes(self) -> Result<Vec<u8>, Error> {
        match bytes_of(&self.value) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => Err(self.wrong("a Uint8Array")),
        }
    }

    /// A 32-byte key, copied.
    pub fn key(self) -> Result<[u8; 32], Error> {
        let wrong = self.wrong("a Uint8Array of 32 bytes");
        self.bytes()?.try_into().map_err(|_| wrong)
    }

    /// A function.
    pub fn function(self) -> Result<Function, Error> {
        self.value.clone().dyn_into().map_err(|_| self.wrong("a function"))
    }

    /// An object, whatever its fields.
    pub fn object(self) -> Result<Object, Error> {
        if self.value.is_object() {
            return Ok(self.value.unchecked_into());
        }
        Err(self.wrong("an object"))
    }

    /// An array, each item read by `read`.
    pub fn list<T>(self, read: impl Fn(Arg) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let Some(items) = self.value.dyn_ref::<Array>() else { return Err(self.wrong("an array")) };
        let name = |at| format!("{}[{at}]", self.name);
        items.iter().enumerate().map(|(at, value)| read(Arg { value, name: name(at) })).collect()
    }

    /// An id. Copied by hand it may come with spaces around it or in capitals.
    pub fn id<T: FromStr<Err = crate::base::IdError>>(self) -> Result<T, Error> {
        let name = self.name.clone();
        self.text()?
            .trim()
            .to_ascii_lowercase()
            .parse()
            .map_err(|error| Error::new("input.id", format!("{name}: {error}")))
    }

    /// One of these, by its place.
    pub fn choice<T: Copy>(self, values: &[T]) -> Result<T, Error> {
        let wrong = self.wrong("a value of its enum");
        let number = self.number().map_err(|_| wrong.clone())?;
        values.get(number as usize).copied().ok_or(wrong)
    }

    /// A `ConsentState`.
    pub fn consent_state(self) -> Result<State, Error> {
        self.choice(&[State::Unknown, State::Allowed, State::Denied])
    }

    /// Several `ConsentState`s.
    pub fn consent_states(self) -> Result<Vec<State>, Error> {
        self.list(Arg::consent_state)
    }

    /// A `ConversationType`; a kind no conversation here has matches none.
    pub fn conversation_type(self) -> Result<Option<GroupKind>, Error> {
        self.choice(&[Some(GroupKind::Dm), Some(GroupKind::Group), Some(GroupKind::Sync), None])
    }

    /// What a consent record is about.
    pub fn entity(kind: Arg, entity: Arg) -> Result<Entity, Error> {
        if kind.choice(&[true, false])? {
            return Ok(Entity::Conversation(entity.id()?));
        }
        Ok(Entity::Inbox(entity.id()?))
    }

    /// An `Identifier`.
    pub fn identifier(self) -> Result<Identifier, Error> {
        let text = self.field("identifier")?.text()?;
        if !self.field("identifierKind")?.choice(&[true, false])? {
            return Err(Error::new("input.identifier", format!("{}: passkeys are not supported", self.name)));
        }
        Identifier::ethereum(&text)
            .map_err(|error| Error::new("input.identifier", format!("{}: {error}", self.name)))
    }

    /// A `RawFilter`. None when nothing can match.
    pub fn interest(self) -> Result<Option<Interest>, Error> {
        let of = self.field("of")?.text()?;
        let kind = self.may("conversationType", Arg::conversation_type)?;
        let states = self.may("consentStates", Arg::consent_states)?;
        let possible = kind != Some(None);
        let kind = kind.flatten();
        let interest = match of.as_str() {
            "messages" => {
                let (conversation, types) = (self.may("conversationId", Arg::id)?, self.types()?);
                Interest::Messages { conversation, kind, states, types }
            }
            "deletions" => Interest::Deletions,
            "conversations" => Interest::Conversations {
                kind,
                states,
                duplicates: self.may("includeDuplicateDms", Arg::flag)?.unwrap_or_default(),
            },
            "consent" => Interest::Consent,
            _ => return Err(self.wrong("of messages, deletions, conversations or consent")),
        };
        Ok(possible.then_some(interest))
    }

    /// `RawListConversations`. None when nothing can match.
    pub fn list_options(self) -> Result<Option<ListOptions>, Error> {
        let kind = self.may("conversationType", Arg::conversation_type)?;
        let order = [OrderBy::CreatedAt, OrderBy::LastActivity];
        let options = ListOptions {
            consent: self.may("consentStates", Arg::consent_states)?,
            kind: kind.flatten(),
            created_after: self.may("createdAfterNs", Arg::time)?,
            created_before: self.may("createdBeforeNs", Arg::time)?,
            include_duplicates: self.may("includeDuplicateDms", Arg::flag)?.unwrap_or_default(),
            order_by: self.may("orderBy", |arg| arg.choice(&order))?.unwrap_or_default(),
            limit: self.may("limit", Arg::number)?.map(|limit| limit as usize),
        };
        Ok((kind != Some(None)).then_some(options))
    }

    /// `RawListMessages`.
    pub fn history_options(self) -> Result<HistoryOptions, Error> {
        let states =
            [MessageStatus::Unpublished, MessageStatus::Published, MessageStatus::Failed(String::new())];
        let status = |arg: Arg| Ok(states[arg.choice(&[0, 1, 2])?].clone());
        Ok(HistoryOptions {
            limit: self.may("limit", Arg::number)?.map(|limit| limit as usize),
            descending: self.may("direction", |arg| arg.choice(&[false, true]))?.unwrap_or_default(),
            sort_by: self
                .may("sortBy", |arg| arg.choice(&[SortBy::SentAt, SortBy::InsertedAt, SortBy::Delivered]))?
                .unwrap_or_default(),
            sent_after: self.may("sentAfterNs", Arg::time)?,
            sent_before: self.may("sentBeforeNs", Arg::time)?,
            kind: self
                .may("kind", |arg| arg.choice(&[MessageKind::Application, MessageKind::MembershipChange]))?,
            status: self.may("deliveryStatus", status)?,
            types: self.types()?,
            exclude_senders: self.may("excludeSenderInboxIds", |arg| arg.list(Arg::id))?.unwrap_or_default(),
        })
    }

    /// The content types of a `RawListMessages`, `RawFilter` or `RawSelection`.
    pub fn types(&self) -> Result<Types, Error> {
        let list = |name| self.may(name, |arg| arg.list(Arg::text));
        Ok(Types {
            only: list("contentTypes")?,
            also: list("alsoTypes")?.unwrap_or_default(),
            except: list("excludeContentTypes")?.unwrap_or_default(),
        })
    }

    /// An `EncodedContent`, serialised.
    pub fn content(self) -> Result<Vec<u8>, Error> {
        let kind = self.field("type")?;
        let content = EncodedContent {
            content_type: ContentType {
                authority: kind.field("authorityId")?.text()?,
                type_id: kind.field("typeId")?.text()?,
                major: kind.field("versionMajor")?.number()?,
                minor: kind.field("versionMinor")?.number()?,
            },
            parameters: self.may("parameters", Arg::texts)?.unwrap_or_default(),
            fallback: self.may("fallback", Arg::text)?,
            content: self.field("content")?.bytes()?,
            compression: self.may("compression", Arg::compression)?,
        };
        Ok(content.encode())
    }

    fn compression(self) -> Result<Compression, Error> {
        let wrong = self.wrong("0 or 1");
        i32::try_from(self.number()?).map(Compression::from).map_err(|_| wrong)
    }

    fn texts(self) -> Result<BTreeMap<String, String>, Error> {
        let name = self.name.clone();
        let entries = Object::entries(&self.object()?);
        let mut texts = BTreeMap::new();
        for entry in entries.iter() {
            let entry: Array = entry.unchecked_into();
            // Keys of an object are texts.
            let key = entry.get(0).as_string().unwrap_or_default();
            let text = Arg { value: entry.get(1), name: format!("{name}.{key}") }.text()?;
            texts.insert(key, text);
        }
        Ok(texts)
    }
}

/// A conversation's id.
pub fn group_id(value: JsValue) -> Result<GroupId, Error> {
    Arg::new(value, "id").id()
}
