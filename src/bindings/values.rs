//! Rows as plain objects. What is absent is left out; bytes are copied out of wasm memory.

use js_sys::{Array, BigInt, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use super::json::Json;

use crate::base::{GroupId, InstallationId, Nanos, SequenceId, ThreadId};
use crate::client::{
    Client, Conversation, GroupInspection, Inspection, KeyPackageStatus, Page, PendingIntent,
};
use crate::consent::{Entity, State};
use crate::identity::{AssociationState, Identifier, Member, MemberId};
use crate::store::rows::{ContentTypeView, GroupKind, GroupRow, GroupState, Hold, MessageRow, MessageStatus};
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
    consent_in(Fields::new(), entity, state)
}

/// The same among other fields.
pub fn consent_in(fields: Fields, entity: Entity, state: State) -> JsValue {
    let fields = match entity {
        Entity::Conversation(id) => fields.number("entityType", 0).id("entity", id),
        Entity::Inbox(id) => fields.number("entityType", 1).id("entity", id),
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

#[wasm_bindgen]
extern "C" {
    /// An object parsed from JSON that is being completed.
    type Parsed;
    #[wasm_bindgen(method, setter, js_name = createdAtNs)]
    fn set_created_at(this: &Parsed, time: i64);
    #[wasm_bindgen(method, setter, js_name = sentAtNs)]
    fn set_sent_at(this: &Parsed, time: i64);
    #[wasm_bindgen(method, setter, js_name = insertedAtNs)]
    fn set_inserted_at(this: &Parsed, time: i64);
    #[wasm_bindgen(method, setter, js_name = expiresAtNs)]
    fn set_expires_at(this: &Parsed, time: i64);
    #[wasm_bindgen(method, setter, js_name = editedAtNs)]
    fn set_edited_at(this: &Parsed, time: i64);
    #[wasm_bindgen(method, setter, js_name = inReplyTo)]
    fn set_in_reply_to(this: &Parsed, message: JsValue);
    #[wasm_bindgen(method, setter)]
    fn set_reactions(this: &Parsed, messages: Array);
    /// The content of a message, then the bytes of that.
    #[wasm_bindgen(method, getter)]
    fn content(this: &Parsed) -> Parsed;
    #[wasm_bindgen(method, setter)]
    fn set_content(this: &Parsed, bytes: Uint8Array);
}

/// `RawConversation[]`.
pub fn conversations(conversations: &[Conversation]) -> Array {
    let mut json = Json::new(conversations.len());
    for Conversation { group, consent, peer } in conversations {
        let (state, failure) = state_of(&group.state);
        json.begin();
        json.id("id", group.id.as_bytes());
        json.number("conversationType", conversation_type(group.kind));
        json.maybe("dmId", group.dm.map(|dm| dm.to_string()).as_deref());
        json.maybe("peerInboxId", peer.map(|peer| peer.to_string()).as_deref());
        json.id("addedByInboxId", group.adder.as_bytes());
        json.id("creatorInboxId", group.creator.as_bytes());
        json.text("state", state);
        json.maybe("failure", failure);
        if let Some(hold) = &group.hold {
            json.field("hold");
            json.text("code", &hold.code);
            json.text("message", &hold.detail);
            json.number("sequenceId", hold.sequence_id.0.cast_signed());
            json.end();
        }
        for (name, text) in super::groups::details(group) {
            json.text(name, &text);
        }
        json.number("consentState", consent_state(*consent));
        json.end();
    }
    let parsed = json.parse();
    for (value, conversation) in parsed.iter().zip(conversations) {
        value.unchecked_ref::<Parsed>().set_created_at(conversation.group.created_ns.0);
    }
    parsed
}

/// `RawConversation`.
pub fn conversation(conversation: Conversation) -> JsValue {
    conversations(&[conversation]).get(0)
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

/// `RawMessage[]`, each with what hangs on it.
pub fn messages(client: &Client, page: &Page) -> Array {
    let quotes = page.hung.iter().filter_map(|hung| hung.in_reply_to.as_ref().map(|(row, at)| (row, *at)));
    let reactions = page.hung.iter().flat_map(|hung| &hung.reactions).map(|row| (row, None));
    let rows: Vec<_> = page.rows.iter().map(|row| (row, None)).chain(quotes).chain(reactions).collect();
    let mut all = plain(client, &rows, &page.listed).into_iter();
    let messages: Array = all.by_ref().take(page.rows.len()).collect();
    let of = |at: usize| -> Parsed { messages.get(u32::try_from(at).unwrap_or(u32::MAX)).unchecked_into() };
    for hung in &page.hung {
        if let Some(at) = hung.edited_ns {
            of(hung.at).set_edited_at(at.0);
        }
        if hung.in_reply_to.is_some() {
            of(hung.at).set_in_reply_to(all.next().unwrap_or_default());
        }
    }
    for hung in page.hung.iter().filter(|hung| !hung.reactions.is_empty()) {
        of(hung.at).set_reactions(all.by_ref().take(hung.reactions.len()).collect());
    }
    messages
}

/// Rows one by one, each with the time of its last edit.
fn plain(client: &Client, rows: &[(&MessageRow, Option<Nanos>)], winners: &[(ThreadId, GroupId)]) -> Array {
    let mut json = Json::new(rows.len());
    let mut contents = Vec::with_capacity(rows.len());
    for (row, _) in rows {
        let listed = winners.iter().find(|(thread, _)| *thread == row.thread);
        let listed = listed.map_or(row.group, |(_, winner)| *winner);
        json.begin();
        json.id("id", row.id.as_bytes());
        json.id("conversationId", listed.as_bytes());
        json.id("groupId", row.group.as_bytes());
        json.id("senderInboxId", row.sender_inbox.as_bytes());
        json.id("senderInstallationId", row.sender_installation.as_bytes());
        json.number("kind", u8::from(!row.is_sent()));
        let (status, failure) = match &row.status {
            MessageStatus::Unpublished => (0, None),
            MessageStatus::Published => (1, None),
            MessageStatus::Failed(code) => (2, Some(code.as_str())),
        };
        json.number("deliveryStatus", status);
        json.maybe("failure", failure);
        if let Some(by) = row.deleted_by() {
            json.id("deletedByInboxId", by.as_bytes());
        }
        json.maybe("cursor", client.cursor(row).as_deref());
        json.field("content");
        contents.push(content(row, &mut json));
        json.end();
        json.end();
    }
    let parsed = json.parse();
    for ((value, (row, edited)), bytes) in parsed.iter().zip(rows).zip(contents) {
        let message: &Parsed = value.unchecked_ref();
        message.set_sent_at(row.sent_ns.0);
        message.set_inserted_at(row.inserted_ns.0);
        if let Some(at) = row.expires_ns {
            message.set_expires_at(at.0);
        }
        if let Some(at) = edited {
            message.set_edited_at(at.0);
        }
        message.content().set_content(Uint8Array::from(bytes.as_slice()));
    }
    parsed
}

/// The fields of `EncodedContent` but its bytes, which are returned. Bytes that are no content keep
/// their bytes, without a type (CTYPE-008); of a message that was taken back the type is left.
fn content(row: &MessageRow, json: &mut Json) -> Vec<u8> {
    let deleted = row.deleted_by().is_some();
    let decoded = EncodedContent::decode(&row.content).ok().filter(|_| !deleted);
    if deleted || decoded.is_some() {
        let ContentTypeView { authority, type_id, major, minor } = &row.content_type;
        json.field("type");
        json.text("authorityId", authority);
        json.text("typeId", type_id);
        json.number("versionMajor", *major);
        json.number("versionMinor", *minor);
        json.end();
    }
    let Some(content) = decoded else {
        json.field("parameters");
        json.end();
        return if deleted { Vec::new() } else { row.content.clone() };
    };
    // `__proto__` is a name like any other in JSON.
    json.field("parameters");
    for (key, text) in &content.parameters {
        json.text(key, text);
    }
    json.end();
    json.maybe("fallback", content.fallback.as_deref());
    if let Some(compression) = content.compression {
        json.number("compression", i32::from(compression));
    }
    content.content
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
        .number("consentState", consent_state(inspection.consent))
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
