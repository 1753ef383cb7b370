//! A delivery object of the app as a [`Delivery`].
//!
//! Nothing it answers is trusted: what has the wrong shape is [`DeliveryError::Invalid`]; the
//! client judges the rest ([`crate::delivery::admit`]). A thrown `DeliveryRefused` (marked by
//! `refused: true`, so that it is known across realms) is a refusal, anything else thrown means no
//! answer. A call that is not answered within [`PATIENCE_MS`] counts as lost; its late answer is
//! dropped and the same request is made again later.

use std::cell::Cell;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::{Either, LocalBoxFuture, select};
use js_sys::{Array, BigInt, Function, Object, Promise, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::bytes::bytes_of;
use super::life::Life;
use super::platform::sleep;
use super::values::{Fields, list};
use crate::base::{InboxId, Nanos, SequenceId, Topic, sha256};
use crate::delivery::{Delivery, DeliveryError, Incoming, Outgoing, Receipt, Subscription, Wake, admit};

/// How long an answer may take, in milliseconds.
const PATIENCE_MS: u32 = 60_000;
/// Characters kept of what a service throws.
const REASON: usize = 200;

/// The app's object.
pub struct JsDelivery(Object);

impl JsDelivery {
    /// Asks `object`.
    pub fn new(object: Object) -> Self {
        Self(object)
    }

    async fn call(&self, method: &str, arguments: &[JsValue]) -> Result<JsValue, DeliveryError> {
        let answer = self.begin(method, arguments).map_err(|thrown| failed(&thrown))?;
        let answer = JsFuture::from(Promise::resolve(&answer));
        match select(answer, sleep(PATIENCE_MS)).await {
            Either::Left((answer, _)) => answer.map_err(|thrown| failed(&thrown)),
            Either::Right(_) => {
                let seconds = PATIENCE_MS / 1000;
                Err(DeliveryError::Unavailable(format!("no answer to {method} within {seconds} seconds")))
            }
        }
    }

    fn begin(&self, method: &str, arguments: &[JsValue]) -> Result<JsValue, JsValue> {
        let function: Function = Reflect::get(&self.0, &JsValue::from_str(method))?.dyn_into()?;
        function.apply(&self.0, &arguments.iter().cloned().collect())
    }
}

impl Delivery for JsDelivery {
    fn publish(&self, batch: Vec<Outgoing>) -> LocalBoxFuture<'_, Result<Vec<Receipt>, DeliveryError>> {
        async move {
            let count = batch.len();
            let answer = self.call("publish", &[list(batch.iter().map(outgoing))]).await?;
            items(&answer, count)?.iter().map(|item| receipt(&item)).collect()
        }
        .boxed_local()
    }

    fn query(
        &self,
        topics: Vec<(Topic, SequenceId)>,
        limit: u32,
    ) -> LocalBoxFuture<'_, Result<Vec<Incoming>, DeliveryError>> {
        async move {
            // Each may come twice in a row.
            let most = topics.len().saturating_mul(limit as usize).saturating_mul(2);
            let asked = list(topics.iter().map(|(topic, after)| {
                Fields::new().text("topic", &name(topic)).number("after", after.0 as f64).done()
            }));
            let answer = self.call("query", &[asked, limit.into()]).await?;
            items(&answer, most)?.iter().map(|item| incoming(&item)).collect()
        }
        .boxed_local()
    }

    fn newest(&self, topics: Vec<Topic>) -> LocalBoxFuture<'_, Result<Vec<Option<Incoming>>, DeliveryError>> {
        async move {
            let answer = self.call("newest", &[names(&topics)]).await?;
            let one = |item: JsValue| {
                let there = !item.is_undefined() && !item.is_null();
                there.then(|| incoming(&item)).transpose()
            };
            items(&answer, topics.len())?.iter().map(one).collect()
        }
        .boxed_local()
    }

    fn lookup(
        &self,
        identifiers: Vec<String>,
    ) -> LocalBoxFuture<'_, Result<Vec<Vec<InboxId>>, DeliveryError>> {
        async move {
            let asked = list(identifiers.iter().map(|one| JsValue::from_str(one)));
            let answer = self.call("lookup", &[asked]).await?;
            items(&answer, identifiers.len())?.iter().map(|claims| inboxes(&claims)).collect()
        }
        .boxed_local()
    }

    fn subscribe(&self, topics: Vec<Topic>, wake: Wake) -> Subscription {
        let (life, ended) = (Life::now(), Rc::new(Cell::new(false)));
        let asked = names(&topics);
        let told = {
            let ended = ended.clone();
            move |topic: JsValue| {
                if ended.get() || life.check().is_err() {
                    return;
                }
                match topics.iter().find(|one| topic.as_string().is_some_and(|named| named == name(one))) {
                    Some(topic) => wake(*topic),
                    // Not one of ours: something has news.
                    None => topics.iter().for_each(|topic| wake(*topic)),
                }
            }
        };
        // Owned by JavaScript: a call after the end finds a function that does nothing.
        let told = Closure::<dyn Fn(JsValue)>::new(told).into_js_value();
        // Without a subscription there are no wake-ups; what is explicitly synced still comes.
        let end =
            self.begin("subscribe", &[asked, told]).ok().and_then(|end| end.dyn_into::<Function>().ok());
        Subscription::new(move || {
            ended.set(true);
            if let Some(end) = end {
                // What it throws changes nothing: nobody listens any more.
                let _ = end.call0(&JsValue::UNDEFINED);
            }
        })
    }
}

fn name(topic: &Topic) -> String {
    hex::encode(topic.to_bytes())
}

fn names(topics: &[Topic]) -> JsValue {
    list(topics.iter().map(|topic| name(topic).into()))
}

fn outgoing(envelope: &Outgoing) -> JsValue {
    Fields::new()
        .text("topic", &name(&envelope.topic))
        .bytes("payload", &envelope.payload)
        .bytes("hash", &sha256(&envelope.payload))
        .value("identifiers", &list(envelope.identifiers.iter().map(|one| JsValue::from_str(one))))
        .done()
}

fn failed(thrown: &JsValue) -> DeliveryError {
    let field = |name: &str| {
        if thrown.is_object() { Reflect::get(thrown, &JsValue::from_str(name)).ok() } else { None }
    };
    let text = thrown.as_string().or_else(|| field("message").and_then(|text| text.as_string()));
    let reason: String = text.unwrap_or_else(|| "no reason given".to_owned()).chars().take(REASON).collect();
    if field("refused").is_some_and(|refused| refused.is_truthy()) {
        return DeliveryError::Refused(reason);
    }
    DeliveryError::Unavailable(reason)
}

fn invalid(what: &str) -> DeliveryError {
    DeliveryError::Invalid(what.to_owned())
}

fn items(answer: &JsValue, most: usize) -> Result<Array, DeliveryError> {
    let Some(items) = answer.dyn_ref::<Array>() else { return Err(invalid("not an array")) };
    if items.length() as usize > most {
        return Err(invalid("more items than asked for"));
    }
    Ok(items.clone())
}

fn field(item: &JsValue, name: &str) -> Result<JsValue, DeliveryError> {
    if !item.is_object() {
        return Err(invalid("an item that is not an object"));
    }
    Reflect::get(item, &JsValue::from_str(name)).map_err(|_| invalid("an item that cannot be read"))
}

fn receipt(item: &JsValue) -> Result<Receipt, DeliveryError> {
    let id = field(item, "sequenceId")?.as_f64();
    let id = id.filter(|id| id.fract() == 0.0 && (1.0..=admit::MAX_SEQUENCE_ID as f64).contains(id));
    let time = field(item, "serverNs")?;
    let time = time.dyn_ref::<BigInt>().and_then(|time| i64::try_from(time.clone()).ok());
    match (id, time) {
        (Some(id), Some(time)) => Ok(Receipt { sequence_id: SequenceId(id as u64), server_ns: Nanos(time) }),
        (None, _) => Err(invalid("a sequenceId that is not a whole number from 1")),
        (_, None) => Err(invalid("a serverNs that is not a bigint")),
    }
}

fn incoming(item: &JsValue) -> Result<Incoming, DeliveryError> {
    let Receipt { sequence_id, server_ns } = receipt(item)?;
    let topic = field(item, "topic")?.as_string().and_then(|text| hex::decode(text).ok());
    let topic = topic.and_then(|bytes| Topic::from_bytes(&bytes)).ok_or_else(|| invalid("not a topic"))?;
    let payload = bytes(&field(item, "payload")?, admit::MAX_PAYLOAD)?;
    let hash = field(item, "hash")?;
    let hash = if hash.is_undefined() || hash.is_null() {
        sha256(&payload)
    } else {
        bytes(&hash, 32)?.try_into().map_err(|_| invalid("a hash that has not 32 bytes"))?
    };
    Ok(Incoming { topic, sequence_id, server_ns, hash, payload })
}

fn bytes(value: &JsValue, most: usize) -> Result<Vec<u8>, DeliveryError> {
    let Some(array) = bytes_of(value) else {
        return Err(invalid("bytes that are no Uint8Array"));
    };
    if array.length() as usize > most {
        return Err(invalid("too many bytes"));
    }
    Ok(array.to_vec())
}

/// Claims that are no inbox ids lead nowhere and are left out.
fn inboxes(claims: &JsValue) -> Result<Vec<InboxId>, DeliveryError> {
    /// More claims on one account than anyone verifies.
    const MOST: usize = 1000;
    let claims = items(claims, MOST)?;
    Ok(claims.iter().filter_map(|claim| claim.as_string()?.parse().ok()).collect())
}
