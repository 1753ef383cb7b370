//! The wasm surface as JavaScript uses it: plain values in and out, promises that settle, a
//! delivery object of the app, subscriptions.
#![cfg(target_arch = "wasm32")]

use dovetail::bindings::{create_client, generate_inbox_id, sign_with_key, version};
use dovetail::identity::address_of;
use js_sys::{Array, BigInt, Function, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// What a text format has to escape, and what it need not.
const ODD: &str = "\"\\ \n\u{0}\u{1f}\u{7f}\u{2028} é 💬 ]},{";

#[wasm_bindgen(inline_js = r#"
export class Log {
  #log = []; #wakes = new Map(); #last = 0;
  mode = "works";
  #turn(answer) {
    if (this.mode === "throws") throw new Error("down");
    if (this.mode === "refuses") throw Object.assign(new Error("no"), { refused: true });
    if (this.mode === "lies") return [{ topic: 7 }, 8];
    if (this.mode === "nothing") return undefined;
    return answer();
  }
  publish(batch) {
    return this.#turn(() => {
      const answers = batch.map(({ topic, payload }) => {
        const same = (one) => one.topic === topic && String(one.payload) === String(payload);
        let stored = this.#log.find(same);
        if (!stored) {
          stored = { topic, payload, sequenceId: ++this.#last, serverNs: BigInt(Date.now()) * 1000000n + BigInt(this.#last) };
          this.#log.push(stored);
        }
        return { sequenceId: stored.sequenceId, serverNs: stored.serverNs };
      });
      for (const { identifiers, topic } of batch) for (const one of identifiers) this.claims.set(one, [topic.slice(2)]);
      for (const { topic } of batch) for (const wake of this.#wakes.get(topic) ?? []) queueMicrotask(() => wake(topic));
      return Promise.resolve(answers);
    });
  }
  claims = new Map();
  query(topics, limit) {
    return this.#turn(async () => topics.flatMap(({ topic, after }) =>
      this.#log.filter((one) => one.topic === topic && one.sequenceId > after).slice(0, limit)));
  }
  newest(topics) {
    return this.#turn(async () => topics.map((topic) => this.#log.findLast((one) => one.topic === topic)));
  }
  lookup(identifiers) {
    return this.#turn(async () => identifiers.map((one) => this.claims.get(one) ?? []));
  }
  subscribe(topics, wake) {
    for (const topic of topics) this.#wakes.set(topic, (this.#wakes.get(topic) ?? new Set()).add(wake));
    return () => { for (const topic of topics) this.#wakes.get(topic).delete(wake); };
  }
}
export function listener(into) { return (event) => into.push(event); }
"#)]
extern "C" {
    type Log;
    #[wasm_bindgen(constructor)]
    fn new() -> Log;
    #[wasm_bindgen(method, setter)]
    fn set_mode(this: &Log, mode: &str);
    fn listener(into: &Array) -> Function;
}

fn get(value: &JsValue, name: &str) -> JsValue {
    Reflect::get(value, &name.into()).unwrap()
}

fn text(value: &JsValue, name: &str) -> String {
    get(value, name).as_string().unwrap_or_else(|| panic!("{name} is no text in {value:?}"))
}

fn number(value: &JsValue, name: &str) -> f64 {
    get(value, name).as_f64().unwrap_or_else(|| panic!("{name} is no number in {value:?}"))
}

fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in fields {
        Reflect::set(&object, &(*name).into(), value).unwrap();
    }
    object.into()
}

/// Calls a method: it must give a promise and must not throw.
async fn call(target: &JsValue, method: &str, arguments: &[JsValue]) -> Result<JsValue, JsValue> {
    let function: Function = get(target, method).dyn_into().unwrap();
    let answer = function.apply(target, &arguments.iter().cloned().collect()).expect("nothing throws");
    JsFuture::from(answer.dyn_into::<Promise>().expect("a promise")).await
}

async fn ok(target: &JsValue, method: &str, arguments: &[JsValue]) -> JsValue {
    call(target, method, arguments).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
}

async fn code(target: &JsValue, method: &str, arguments: &[JsValue]) -> String {
    let error = call(target, method, arguments).await.expect_err("should fail");
    let keys: Vec<_> =
        Object::keys(error.unchecked_ref::<Object>()).iter().filter_map(|key| key.as_string()).collect();
    assert_eq!(keys, ["code", "message", "retryable"]);
    text(&error, "code")
}

fn identifier(key: u8) -> JsValue {
    let address = address_of(&[key; 32]).unwrap().to_string();
    object(&[("identifier", address.into()), ("identifierKind", 0.into())])
}

fn options(key: u8, log: &Log) -> JsValue {
    let sign = Closure::<dyn Fn(JsValue) -> Promise>::new(move |text| {
        sign_with_key(Uint8Array::from([key; 32].as_slice()).into(), text)
    });
    object(&[
        ("identifier", identifier(key)),
        ("nonce", BigInt::from(1).into()),
        ("dbPath", JsValue::NULL),
        ("delivery", log.into()),
        ("register", true.into()),
        ("sign", sign.into_js_value()),
    ])
}

async fn open(key: u8, log: &Log) -> JsValue {
    JsFuture::from(create_client(options(key, log))).await.unwrap_or_else(|error| panic!("{error:?}"))
}

async fn open_error(options: JsValue) -> String {
    text(&JsFuture::from(create_client(options)).await.expect_err("should fail"), "code")
}

fn content(words: &str) -> JsValue {
    let kind = object(&[
        ("authorityId", "xmtp.org".into()),
        ("typeId", "text".into()),
        ("versionMajor", 1.into()),
        ("versionMinor", 0.into()),
    ]);
    object(&[
        ("type", kind),
        (
            "parameters",
            object(&[("encoding", "UTF-8".into()), ("__proto__", "odd".into()), (ODD, ODD.into())]),
        ),
        ("content", Uint8Array::from(words.as_bytes()).into()),
    ])
}

async fn send(client: &JsValue, id: &JsValue, words: &str) -> String {
    let plain = object(&[]);
    ok(client, "send", &[id.clone(), content(words), plain]).await.as_string().unwrap()
}

async fn texts(client: &JsValue, id: &JsValue) -> Vec<String> {
    let messages = ok(client, "messages", &[id.clone(), object(&[])]).await;
    Array::from(&messages).iter().map(|message| words(&message)).collect()
}

fn words(message: &JsValue) -> String {
    let bytes: Uint8Array = get(&get(message, "content"), "content").dyn_into().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Lets background work go on until `done`.
async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..400 {
        if done().await {
            return;
        }
        let wait = Promise::new(&mut |resolve, _| {
            let timeout: Function = get(&js_sys::global(), "setTimeout").dyn_into().unwrap();
            timeout.call2(&JsValue::UNDEFINED, &resolve, &25.into()).unwrap();
        });
        JsFuture::from(wait).await.unwrap();
    }
    panic!("never happened: {what}");
}

#[wasm_bindgen_test]
async fn two_clients_talk_in_a_dm() {
    let log = Log::new();
    let (ada, ben) = (open(1, &log).await, open(2, &log).await);
    assert_eq!(ok(&ada, "isRegistered", &[]).await, JsValue::TRUE);
    let found =
        Array::from(&ok(&ada, "findInboxes", &[Array::of2(&identifier(2), &identifier(9)).into()]).await);
    assert_eq!(found.get(0).as_string(), Some(text(&ben, "inboxId")));
    assert!(found.get(1).is_undefined());
    let reachable = ok(&ada, "canMessage", &[Array::of2(&identifier(2), &identifier(9)).into()]).await;
    assert_eq!(Array::from(&reachable).to_vec(), [JsValue::TRUE, JsValue::FALSE]);

    let dm = ok(&ada, "createDm", &[get(&ben, "inboxId")]).await;
    assert_eq!(text(&dm, "peerInboxId"), text(&ben, "inboxId"));
    assert_eq!(text(&dm, "state"), "active");
    assert_eq!(number(&dm, "conversationType"), 0.0);
    assert!(get(&dm, "createdAtNs").is_bigint());
    let id = get(&dm, "id");
    let sent = send(&ada, &id, "hello").await;
    send(&ada, &id, "again").await;
    assert_eq!(texts(&ada, &id).await, ["hello", "again"]);

    until("ben has both", async || {
        ok(&ben, "sync", &[]).await;
        ok(&ben, "syncAll", &[JsValue::UNDEFINED]).await;
        texts_if_there(&ben, &id).await == ["hello", "again"]
    })
    .await;
    let message = ok(&ben, "message", &[sent.as_str().into()]).await;
    assert_eq!(text(&message, "senderInboxId"), text(&ada, "inboxId"));
    assert_eq!(text(&message, "conversationId"), id.as_string().unwrap());
    assert_eq!(number(&message, "deliveryStatus"), 1.0);
    let parameters = get(&get(&message, "content"), "parameters");
    assert_eq!(text(&parameters, "encoding"), "UTF-8");
    assert_eq!(text(&parameters, ODD), ODD);
    assert_eq!(ok(&ben, "countMessages", &[id.clone(), object(&[])]).await, JsValue::from(BigInt::from(2)));
    let last = ok(&ben, "lastMessage", &[id.clone()]).await;
    assert_eq!(words(&last), "again");

    let list = Array::from(&ok(&ben, "list", &[object(&[])]).await);
    assert_eq!(list.length(), 1);
    let members = Array::from(&ok(&ben, "members", &[id.clone()]).await);
    assert_eq!(members.length(), 2);
    let inspection = ok(&ada, "inspect", &[id.clone()]).await;
    assert_eq!(text(&inspection, "conversationId"), id.as_string().unwrap());
    let same = ok(&ben, "dmWith", &[get(&ada, "inboxId")]).await;
    assert_eq!(get(&same, "id"), id);
    assert_eq!(Array::from(&ok(&ben, "duplicateDms", &[id.clone()]).await).length(), 0);
    ok(&ada, "close", &[]).await;
    ok(&ada, "close", &[]).await;
    assert_eq!(code(&ada, "list", &[object(&[])]).await, "client.closed");
}

async fn texts_if_there(client: &JsValue, id: &JsValue) -> Vec<String> {
    if ok(client, "conversation", &[id.clone()]).await.is_undefined() {
        return Vec::new();
    }
    texts(client, id).await
}

#[wasm_bindgen_test]
async fn what_happens_is_told_once_and_without_a_sync() {
    let log = Log::new();
    let (ada, ben) = (open(3, &log).await, open(4, &log).await);
    let (heard, made, decided) = (Array::new(), Array::new(), Array::new());
    let of = |what: &str| object(&[("of", what.into())]);
    let subscription = ok(&ben, "subscribe", &[of("messages"), listener(&heard).into()]).await;
    ok(&ben, "subscribe", &[of("conversations"), listener(&made).into()]).await;
    ok(&ben, "subscribe", &[of("consent"), listener(&decided).into()]).await;

    let dm = ok(&ada, "createDm", &[get(&ben, "inboxId")]).await;
    let id = get(&dm, "id");
    send(&ada, &id, "hello").await;
    until("ben heard ada", async || heard.length() == 1).await;
    assert_eq!(made.length(), 1);
    assert_eq!(get(&get(&made.get(0), "conversation"), "id"), id);
    send(&ben, &id, "own").await;
    until("ada has it", async || texts(&ada, &id).await.len() == 2).await;
    until("ben read it back", async || {
        let last = ok(&ben, "lastMessage", &[id.clone()]).await;
        number(&last, "deliveryStatus") == 1.0
    })
    .await;
    assert_eq!(heard.length(), 2, "own messages are told once");
    assert_eq!(words(&get(&heard.get(1), "message")), "own");

    let entity = |kind: u32, id: JsValue, state: u32| {
        object(&[("entityType", kind.into()), ("entity", id), ("state", state.into())])
    };
    // Answering allowed the conversation (CONS-021).
    until("the answer is a decision", async || decided.length() > 0).await;
    let before = decided.length();
    let records = Array::of2(&entity(0, id.clone(), 2), &entity(1, get(&ada, "inboxId"), 1));
    ok(&ben, "setConsent", &[records.into()]).await;
    until("one act is one event", async || decided.length() == before + 1).await;
    assert_eq!(Array::from(&get(&decided.get(before), "records")).length(), 2);
    assert_eq!(ok(&ben, "consent", &[0.into(), id.clone()]).await.as_f64(), Some(2.0));
    assert_eq!(Array::from(&ok(&ben, "list", &[object(&[])]).await).length(), 0, "denied is not listed");

    // CONS-042: a stream of everything leaves the denied conversation out.
    send(&ada, &id, "unwanted").await;
    until("ben has it", async || texts(&ben, &id).await.len() == 3).await;
    assert_eq!(heard.length(), 2);
    let end: Function = get(&subscription, "end").dyn_into().unwrap();
    end.call0(&subscription).unwrap();
    end.call0(&subscription).unwrap();
}

#[wasm_bindgen_test]
async fn wrong_arguments_are_plain_errors() {
    let log = Log::new();
    let ada = open(5, &log).await;
    let own = get(&ada, "inboxId");
    assert_eq!(code(&ada, "createDm", &[own.clone()]).await, "dm.self");
    assert_eq!(code(&ada, "createDm", &["zz".into()]).await, "input.id");
    assert_eq!(code(&ada, "createDm", &[7.into()]).await, "input.value");
    assert_eq!(code(&ada, "createDm", &[]).await, "input.value");
    assert_eq!(code(&ada, "list", &[7.into()]).await, "input.value");
    let limit = object(&[("limit", (-1).into())]);
    assert_eq!(code(&ada, "list", &[limit]).await, "input.value");
    let nowhere: JsValue = "00".repeat(16).into();
    assert!(ok(&ada, "conversation", &[nowhere.clone()]).await.is_undefined());
    assert_eq!(code(&ada, "messages", &[nowhere.clone(), object(&[])]).await, "conversation.not_found");
    assert_eq!(
        code(&ada, "subscribe", &[object(&[("of", "news".into())]), listener(&Array::new()).into()]).await,
        "input.value"
    );
    let named = object(&[("of", "messages".into()), ("conversationId", nowhere)]);
    assert_eq!(
        code(&ada, "subscribe", &[named, listener(&Array::new()).into()]).await,
        "conversation.not_found"
    );
    assert_eq!(open_error(JsValue::UNDEFINED).await, "input.value");
    assert_eq!(
        open_error(object(&[("identifier", identifier(5)), ("nonce", 1.into())])).await,
        "input.value"
    );
    let error = JsFuture::from(generate_inbox_id(JsValue::NULL, JsValue::NULL)).await.unwrap_err();
    assert_eq!(text(&error, "code"), "input.value");
    assert!(!version().is_empty());
}

#[wasm_bindgen_test]
async fn a_bad_delivery_is_told_apart_and_does_no_harm() {
    let log = Log::new();
    for (mode, expected) in [
        ("throws", "delivery.unavailable"),
        ("refuses", "delivery.refused"),
        ("lies", "delivery.invalid"),
        ("nothing", "delivery.invalid"),
    ] {
        log.set_mode(mode);
        assert_eq!(open_error(options(6, &log)).await, expected, "{mode}");
    }
    log.set_mode("works");
    let ada = open(6, &log).await;
    log.set_mode("lies");
    assert_eq!(code(&ada, "sync", &[]).await, "delivery.invalid");
    log.set_mode("works");
    ok(&ada, "sync", &[]).await;
}

#[wasm_bindgen_test]
async fn a_signer_that_fails_is_told() {
    let log = Log::new();
    let unsigned = options(7, &log);
    Reflect::set(&unsigned, &"sign".into(), &JsValue::UNDEFINED).unwrap();
    assert_eq!(open_error(unsigned).await, "client.no_signer");
    let throwing = options(7, &log);
    Reflect::set(&throwing, &"sign".into(), &Function::new_no_args("throw new Error('declined')")).unwrap();
    assert_eq!(open_error(throwing).await, "client.signature");
    let other = options(7, &log);
    Reflect::set(&other, &"sign".into(), &get(&options(8, &log), "sign")).unwrap();
    assert_eq!(open_error(other).await, "client.signature");
}
