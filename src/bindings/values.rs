//! Rows as plain objects. What is absent is left out; bytes are copied out of wasm memory.

use js_sys::{Array, BigInt, Object, Reflect, Uint8Array};
use wasm_bindgen::JsValue;

use crate::base::{InstallationId, Nanos, SequenceId, ThreadId};
use crate::client::{Conversation, GroupInspection, Inspection, KeyPackageStatus, PendingIntent};
use crate::consent::{Entity, State};
use crate::identity::{AssociationState, Identifier, Member, MemberId};
use crate::store::rows::{GroupKind, GroupRow, GroupState, Hold, MessageKind, MessageRow, MessageStatus};
use crate::wire::EncodedContent;

/// A plain object in the making.
pub struct Fields(Object);

impl Fields {
    /// An empty one.
    pub fn new() -> Self {
        Self(Object::new())
    }

    /// A field.
    pub fn value(self, name: &str, value: &JsValue) -> Self {
        // Setting a field of an own plain object cannot fail.
        let _ = Reflect::set(&self.0, &JsValue::from_str(name), value);
        self
    }

    /// A text.
    pub fn text(self, name: &str, text: &str) -> Self {
        self.value(name, &JsValue::from_str(text))
    }

    /// An id, as lowercase hexadecimal digits.
    pub fn id(self, name: &str, id: impl std::fmt::Display) -> Self {
        self.text(name, &id.to_string())
    }

    /// A small number or an enum's value.
    pub fn number(self, name: &str, number: impl Into<f64>) -> Self {
        self.value(name, &JsValue::from_f64(number.into()))
    }

    /// True or false.
    pub fn flag(self, name: &str, flag: bool) -> Self {
        self.value(name, &JsValue::from_bool(flag))
    }

    /// A time in nanoseconds.
    pub fn time(self, name: &str, time: Nanos) -> Self {
        self.value(name, &BigInt::from(time.0).into())
    }

    /// Bytes with memory of their own.
    pub fn bytes(self, name: &str, bytes: &[u8]) -> Self {
        self.value(name, &Uint8Array::from(bytes).into())
    }

    /// Adds what `add` does with a value that is there.
    pub fn maybe<T>(self, value: Option<T>, add: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => add(self, value),
            None => self,
        }
    }

    /// The object.
    pub fn done(self) -> JsValue {
        self.0.into()
    }
}

/// An array of plain values.
pub fn list(values: impl IntoIterator<Item = JsValue>) -> JsValue {
    values.into_iter().collect::<Array>().into()
}

/// `undefined` for none.
pub fn maybe(value: Option<JsValue>) -> JsValue {
    value.unwrap_or(JsValue::UNDEFINED)
}

/// `ConsentState`: the numbers happen to be ours.
pub fn consent_state(state: State) -> u8 {
    state as u8
}

/// `ConversationType`.
pub fn conversation_type(kind: GroupKind) -> u8 {
    match kind {
        GroupKind::Dm => 0,
        GroupKind::Group => 1,
        GroupKind::Sync => 2,
    }
}

/// `Consent`.
pub fn consent(entity: Entity, state: State) -> JsValue {
    let fields = match entity {
        Entity::Conversation(id) => Fields::new().number("entityType", 0).id("entity", id),
        Entity::Inbox(id) => Fields::new().number("entityType", 1).id("entity", id),
    };
    fields.number("state", consent_state(state)).done()
}

/// `Identifier`.
pub fn identifier(identifier: &Identifier) -> JsValue {
    let kind = match identifier {
        Identifier::Ethereum(_) => 0,
        Identifier::Passkey(_) => 1,
    };
    Fields::new().id("identifier", identifier).number("identifierKind", kind).done()
}

/// `InboxState`.
pub fn inbox_state(state: &AssociationState) -> JsValue {
    let installation = |(member, added): (&MemberId, &Member)| match member {
        MemberId::Installation(id) => Some(
            Fields::new()
                .id("id", id)
                .bytes("bytes", &id.0)
                .value("clientTimestampNs", &BigInt::from(added.client_timestamp_ns).into())
                .done(),
        ),
        MemberId::Account(_) => None,
    };
    Fields::new()
        .id("inboxId", state.inbox)
        .value("recoveryIdentifier", &identifier(&state.recovery))
        .value("installations", &list(state.members.iter().filter_map(installation)))
        .value("accountIdentifiers", &list(state.identifiers().iter().map(identifier)))
        .done()
}

/// `RawKeyPackageStatus`.
pub fn key_package_status(status: &KeyPackageStatus) -> JsValue {
    let fields = Fields::new();
    match &status.usable {
        Ok(expires) => fields.flag("usable", true).maybe(*expires, |fields, at| fields.time("expiresNs", at)),
        Err(why) => fields.flag("usable", false).text("problem", why),
    }
    .done()
}

/// `RawConversation`.
pub fn conversation(conversation: &Conversation) -> JsValue {
    let Conversation { group, consent, peer, .. } = conversation;
    let (state, failure) = state_of(&group.state);
    let fields = Fields::new()
        .id("id", group.id)
        .number("conversationType", conversation_type(group.kind))
        .maybe(group.dm, |fields, dm| fields.id("dmId", dm))
        .maybe(*peer, |fields, peer| fields.id("peerInboxId", peer))
        .time("createdAtNs", group.created_ns)
        .id("addedByInboxId", group.adder)
        .id("creatorInboxId", group.creator)
        .text("state", state)
        .maybe(failure, |fields, code| fields.text("failure", code))
        .maybe(group.hold.as_ref(), |fields, held| fields.value("hold", &hold(held)))
        .number("consentState", consent_state(*consent));
    let details = super::groups::details(group).into_iter();
    details.fold(fields, |fields, (name, text)| fields.text(name, &text)).done()
}

fn state_of(state: &GroupState) -> (&'static str, Option<&str>) {
    match state {
        GroupState::Active => ("active", None),
        GroupState::Inactive => ("inactive", None),
        GroupState::Restored => ("restored", None),
        GroupState::Failed(code) => ("failed", Some(code)),
    }
}

fn hold(hold: &Hold) -> JsValue {
    Fields::new()
        .text("code", &hold.code)
        .text("message", &hold.detail)
        .number("sequenceId", position(hold.sequence_id))
        .done()
}

/// `RawMessage`, listed under `conversation`.
pub fn message(row: &MessageRow, conversation: impl std::fmt::Display) -> JsValue {
    let (status, failure) = match &row.status {
        MessageStatus::Unpublished => (0, None),
        MessageStatus::Published => (1, None),
        MessageStatus::Failed(code) => (2, Some(code)),
    };
    let kind = match row.kind {
        MessageKind::Application => 0,
        MessageKind::MembershipChange => 1,
    };
    Fields::new()
        .id("id", row.id)
        .id("conversationId", conversation)
        .id("groupId", row.group)
        .id("senderInboxId", row.sender_inbox)
        .id("senderInstallationId", row.sender_installation)
        .time("sentAtNs", row.sent_ns)
        .time("insertedAtNs", row.inserted_ns)
        .number("kind", kind)
        .number("deliveryStatus", status)
        .maybe(failure, |fields, code| fields.text("failure", code))
        .maybe(row.expires_ns, |fields, at| fields.time("expiresAtNs", at))
        .value("content", &content(&row.content))
        .done()
}

/// `EncodedContent`; bytes that are none keep their bytes, without a type (CTYPE-008).
fn content(bytes: &[u8]) -> JsValue {
    let Ok(content) = EncodedContent::decode(bytes) else {
        return Fields::new().value("parameters", &Object::new()).bytes("content", bytes).done();
    };
    let kind = Fields::new()
        .text("authorityId", &content.content_type.authority)
        .text("typeId", &content.content_type.type_id)
        .number("versionMajor", content.content_type.major)
        .number("versionMinor", content.content_type.minor)
        .done();
    let parameters =
        content.parameters.iter().fold(Fields::new(), |fields, (key, text)| fields.own(key, text)).done();
    Fields::new()
        .value("type", &kind)
        .value("parameters", &parameters)
        .maybe(content.fallback.as_deref(), |fields, text| fields.text("fallback", text))
        .maybe(content.compression, |fields, number| fields.number("compression", i32::from(number)))
        .bytes("content", &content.content)
        .done()
}

impl Fields {
    /// A field whose name comes from a message: `__proto__` is a name like any other there.
    fn own(self, name: &str, text: &str) -> Self {
        let descriptor = Fields::new()
            .text("value", text)
            .flag("writable", true)
            .flag("enumerable", true)
            .flag("configurable", true)
            .0;
        let _ = Reflect::define_property(&self.0, &JsValue::from_str(name), &descriptor);
        self
    }
}

/// `Inspection`.
pub fn inspection(inspection: &Inspection) -> JsValue {
    let dm = match inspection.thread {
        ThreadId::Dm(dm) => Some(dm),
        ThreadId::Group(_) => None,
    };
    let groups = inspection.groups.iter().map(|group| inspected(group, group.row.id == inspection.winner));
    Fields::new()
        .id("conversationId", inspection.winner)
        .maybe(dm, |fields, dm| fields.id("dmId", dm))
        .value("groups", &list(groups))
        .done()
}

fn inspected(group: &GroupInspection, winner: bool) -> JsValue {
    let GroupRow { id, state, epoch, authenticator, members, .. } = &group.row;
    let failed = members.iter().flat_map(|member| {
        let one =
            |id: &InstallationId| Fields::new().id("inboxId", member.inbox).id("installationId", id).done();
        member.failed.iter().map(one)
    });
    let decided = group.consent.filter(|record| record.consented_at_ns.0 > 0);
    let held = matches!(state, GroupState::Active);
    Fields::new()
        .id("groupId", id)
        .flag("isWinner", winner)
        .text("state", state_of(state).0)
        .value("epoch", &BigInt::from(if held { *epoch } else { 0 }).into())
        .text("epochAuthenticator", &if held { hex::encode(authenticator) } else { String::new() })
        .number("sequenceId", position(group.processed))
        .number("consentState", consent_state(crate::consent::state_of(group.consent.as_ref())))
        .maybe(decided, |fields, record| fields.time("consentedAtNs", record.consented_at_ns))
        .maybe(group.row.last_message_ns, |fields, at| fields.time("lastMessageNs", at))
        .time("createdAtNs", group.row.created_ns)
        .id("creatorInboxId", group.row.creator)
        .id("addedByInboxId", group.row.adder)
        .value("pendingIntents", &list(group.intents.iter().map(intent)))
        .maybe(group.row.hold.as_ref(), |fields, waits| fields.value("hold", &hold(waits)))
        .value("rejected", &list(group.rejected.iter().map(rejected)))
        .value("failedInstallations", &list(failed))
        .done()
}

fn intent(PendingIntent { number, kind, state, builds }: &PendingIntent) -> JsValue {
    Fields::new()
        .number("number", *number as f64)
        .text("kind", kind)
        .text("state", state)
        .number("builds", *builds)
        .done()
}

fn rejected((at, code, reason): &(SequenceId, String, String)) -> JsValue {
    Fields::new().number("sequenceId", position(*at)).text("code", code).text("reason", reason).done()
}

/// Below 2^53: delivery answers beyond it are refused.
fn position(at: SequenceId) -> f64 {
    at.0 as f64
}
