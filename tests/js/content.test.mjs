// Content types: what each writes, byte for byte, and what it makes of what others write.

import assert from "node:assert/strict";
import { createCipheriv, createHash, hkdfSync } from "node:crypto";
import { mock, test } from "node:test";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { load } from "./load.mjs";

const api = await load("index.ts");
const { allCodecs } = await load("content/built-in.ts");
const { readMessage, readMessages } = await load("message.ts");
const { ActionStyle, Compression, ReactionAction, ReactionSchema } = api;

const utf8 = (text) => new TextEncoder().encode(text);
const text = (bytes) => new TextDecoder().decode(bytes);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const type = (typeId, versionMajor = 1, authorityId = "xmtp.org", versionMinor = 0) => ({ authorityId, typeId, versionMajor, versionMinor });

/** Protobuf by hand: a field with a number, bytes or a text. */
function field(number, value) {
  if (typeof value === "number") return [number << 3, ...varint(value)];
  const bytes = typeof value === "string" ? [...utf8(value)] : [...value];
  return [(number << 3) | 2, ...varint(bytes.length), ...bytes];
}
const varint = (value) => (value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))]);
/** An EncodedContent by hand. */
const envelope = ({ type: id, parameters = {}, fallback, content = [], compression }) =>
  Uint8Array.from([
    ...field(1, [...field(1, id.authorityId), ...field(2, id.typeId), ...field(3, id.versionMajor)]),
    ...Object.entries(parameters).flatMap(([key, value]) => field(2, [...field(1, key), ...field(2, value)])),
    ...(fallback === undefined ? [] : field(3, fallback)),
    ...field(4, content),
    ...(compression === undefined ? [] : field(5, compression)),
  ]);

const raw = (content, extra = {}) => ({
  id: "aa",
  conversationId: "cc",
  groupId: "dd",
  senderInboxId: "ee",
  senderInstallationId: "ff",
  sentAtNs: 1n,
  insertedAtNs: 2n,
  kind: 0,
  deliveryStatus: 1,
  content,
  ...extra,
});

/** The message as an app reads it, and what the console was told. */
async function read(content, codecs = []) {
  const warn = mock.method(console, "warn", () => {});
  try {
    const message = await readMessage(allCodecs(codecs), raw(content));
    return { message, told: warn.mock.calls.map(({ arguments: [line] }) => line) };
  } finally {
    warn.mock.restore();
  }
}

const decoded = async (content, codecs) => {
  const { message, told } = await read(content, codecs);
  assert.deepEqual(told, []);
  return message.content;
};

/** No content, the bytes and the id kept, one warning, an error of this code. */
async function undecodable(content, code, warning = /^Error decoding custom content: /, codecs = []) {
  const { message, told } = await read(content, codecs);
  assert.deepEqual([message.content, message.id, message.encodedContent, message.contentError?.code], [undefined, "aa", content, code]);
  assert.equal(message.contentError.message, told[0]);
  assert.equal(told.length, 1);
  assert.match(told[0], warning);
}

/** Encodes, compares with what the wire form is, and decodes to what was given. */
async function roundTrip(name, content, wire, expected = content) {
  const encoded = await api[`encode${name}`](content);
  const { type: id, parameters, fallback, content: bytes } = encoded;
  assert.deepEqual({ id, parameters, fallback, bytes: Uint8Array.from(bytes) }, { parameters: {}, fallback: undefined, ...wire, bytes: Uint8Array.from(wire.bytes) });
  assert.deepEqual(id, await api[`contentType${name}`]());
  assert.deepEqual(await decoded(encoded), expected);
  const { message } = await read(encoded);
  assert.ok(api[`is${name}`](message));
  for (const other of ["Text", "Markdown", "Reaction", "Reply", "Attachment", "Intent"].filter((other) => other !== name)) {
    assert.equal(api[`is${other}`](message), false, other);
  }
}

test("text and Markdown: UTF-8, without a fallback; without an encoding UTF-8, no other encoding", async () => {
  for (const [name, typeId] of [["Text", "text"], ["Markdown", "markdown"]]) {
    await roundTrip(name, "# grüße 👋", { id: type(typeId), parameters: { encoding: "UTF-8" }, bytes: utf8("# grüße 👋") });
    assert.equal(await decoded({ type: type(typeId, 1, "xmtp.org", 9), parameters: { other: "x" }, content: utf8("hi") }), "hi");
    await undecodable({ type: type(typeId), parameters: { encoding: "UTF-16" }, content: utf8("hi") }, "content.malformed", /unknown text encoding UTF-16$/);
    await undecodable({ type: type(typeId), parameters: {}, content: Uint8Array.of(0xff) }, "content.malformed");
  }
});

const REACTION = { reference: "ab12", referenceInboxId: "cd", action: ReactionAction.Added, content: "👍", schema: ReactionSchema.Unicode };

test("a reaction is version 2, with its fields", async () => {
  const wire = { id: type("reaction", 2), bytes: [...field(1, "ab12"), ...field(2, "cd"), ...field(3, 1), ...field(4, "👍"), ...field(5, 1)] };
  await roundTrip("Reaction", REACTION, { ...wire, fallback: 'Reacted with "👍" to an earlier message' });
  const removed = { ...REACTION, referenceInboxId: "", action: ReactionAction.Removed, content: ":+1:", schema: ReactionSchema.Shortcode };
  const bytes = [...field(1, "ab12"), ...field(3, 2), ...field(4, ":+1:"), ...field(5, 2)];
  await roundTrip("Reaction", removed, { ...wire, bytes, fallback: 'Removed ":+1:" from an earlier message' });
});

test("a reaction with values of a later version, without fields, in another order", async () => {
  const of = (...fields) => ({ type: type("reaction", 2), parameters: {}, content: Uint8Array.from(fields.flat()) });
  assert.deepEqual(await decoded(of()), { reference: "", referenceInboxId: "", action: 0, content: "", schema: 0 });
  const later = of(field(5, 9), field(3, 7), field(4, "x"), field(1, "ab"), field(9, "new"), [0x51, 1, 2, 3, 4, 5, 6, 7, 8], [0x55, 1, 2, 3, 4]);
  assert.deepEqual(await decoded(later), { reference: "ab", referenceInboxId: "", action: 0, content: "x", schema: 0 });
  for (const broken of [[0x0a], [0x0a, 5, 1], [0x0b], [0x0a, 1, 0xff], Array(12).fill(0xff)]) {
    await undecodable(of(broken), "content.malformed");
  }
});

test("a reaction of version 1 is JSON", async () => {
  const of = (value) => ({ type: type("reaction"), parameters: {}, content: utf8(typeof value === "string" ? value : JSON.stringify(value)) });
  const json = { action: "added", reference: "ab12", referenceInboxId: "cd", schema: "unicode", content: "👍" };
  const { message } = await read(of(json));
  assert.deepEqual(message.content, REACTION);
  assert.ok(api.isReaction(message));
  const other = { action: "removed", reference: "ab12", schema: "custom", content: "x" };
  assert.deepEqual(await decoded(of(other)), { reference: "ab12", referenceInboxId: "", action: 2, content: "x", schema: 3 });
  assert.deepEqual((await decoded(of({ ...json, action: "later", schema: "1" }))).action, 0);
  assert.deepEqual((await decoded(of({ ...json, action: "later", schema: "1" }))).schema, 0);
  for (const broken of ["", "[]", "null", "{", { ...json, reference: undefined }, { ...json, content: 5 }]) {
    await undecodable(of(broken), "content.malformed");
  }
});

test("a read receipt is empty", async () => {
  await roundTrip("ReadReceipt", {}, { id: type("readReceipt"), bytes: [] });
  assert.deepEqual((await api.encodeReadReceipt()).content, new Uint8Array());
});

const ATTACHMENT = { filename: "a.txt", mimeType: "text/plain", content: Uint8Array.of(1, 2, 255) };

test("an attachment is its bytes", async () => {
  const wire = { id: type("attachment"), bytes: [1, 2, 255] };
  const parameters = { filename: "a.txt", mimeType: "text/plain" };
  await roundTrip("Attachment", ATTACHMENT, { ...wire, parameters, fallback: "Can't display a.txt. This app doesn't support attachments." });
  const nameless = { mimeType: "image/png", content: Uint8Array.of(1, 2, 255) };
  const fallback = "Can't display this content. This app doesn't support attachments.";
  await roundTrip("Attachment", nameless, { ...wire, parameters: { mimeType: "image/png" }, fallback });
  assert.deepEqual(await decoded({ type: type("attachment"), parameters: {}, content: Uint8Array.of() }), { mimeType: "", content: Uint8Array.of() });
});

const [secret, salt, nonce] = [new Uint8Array(32).fill(0xab), new Uint8Array(32).fill(5), new Uint8Array(12).fill(0xf0)];
const REMOTE = { url: "https://example.org/ä", contentDigest: "aa".repeat(32), secret, salt, nonce, scheme: "https://", contentLength: 4_294_967_295, filename: "a b.png" };
const BARE = { url: "", contentDigest: "", secret: Uint8Array.of(), salt: Uint8Array.of(), nonce: Uint8Array.of(), scheme: "" };

test("a remote attachment is its URL, with the rest as texts", async () => {
  const parameters = {
    contentDigest: "aa".repeat(32),
    secret: "ab".repeat(32),
    salt: "05".repeat(32),
    nonce: "f0".repeat(12),
    scheme: "https://",
    contentLength: "4294967295",
    filename: "a b.png",
  };
  const wire = { id: type("remoteStaticAttachment"), parameters, bytes: utf8(REMOTE.url) };
  await roundTrip("RemoteAttachment", REMOTE, { ...wire, fallback: "Can't display a b.png. This app doesn't support remote attachments." });
  const { contentLength, filename, ...nameless } = REMOTE;
  const { contentLength: _, filename: __, ...less } = parameters;
  const fallback = "Can't display this content. This app doesn't support remote attachments.";
  await roundTrip("RemoteAttachment", nameless, { ...wire, parameters: less, fallback });
  const of = (changes) => ({ type: type("remoteStaticAttachment"), parameters: { ...parameters, ...changes }, content: utf8("u") });
  assert.deepEqual((await decoded(of({ secret: "AB".repeat(32) }))).secret, secret);
  assert.deepEqual(await decoded({ type: type("remoteStaticAttachment"), parameters: {}, content: utf8("") }), BARE);
  for (const broken of [{ secret: "abc" }, { salt: "0x05" }, { nonce: "zz" }, { contentLength: "4294967296" }, { contentLength: "-1" }, { contentLength: "" }, { contentLength: "1e3" }]) {
    await undecodable(of(broken), "content.malformed");
  }
  await undecodable({ ...of({}), content: Uint8Array.of(0xff) }, "content.malformed");
});

test("several remote attachments", async () => {
  const entry = [
    ...field(1, REMOTE.contentDigest),
    ...field(2, secret),
    ...field(3, nonce),
    ...field(4, salt),
    ...field(5, "https://"),
    ...field(6, REMOTE.url),
    ...field(7, 4_294_967_295),
    ...field(8, "a b.png"),
  ];
  const { contentLength, filename, ...nameless } = REMOTE;
  const short = entry.slice(0, entry.length - field(7, 4_294_967_295).length - field(8, "a b.png").length);
  const empty = { ...nameless, contentLength: 0, filename: "" };
  const fallback = "Can't display this content. This app doesn't support multiple remote attachments.";
  const wire = { id: type("multiRemoteStaticAttachment"), fallback };
  const bytes = [...field(1, entry), ...field(1, short), ...field(1, [...short, ...field(7, 0), ...field(8, "")])];
  await roundTrip("MultiRemoteAttachment", { attachments: [REMOTE, nameless, empty] }, { ...wire, bytes });
  await roundTrip("MultiRemoteAttachment", { attachments: [] }, { ...wire, bytes: [] });
  const of = (content) => ({ type: type("multiRemoteStaticAttachment"), parameters: {}, content: Uint8Array.from(content) });
  assert.deepEqual(await decoded(of(field(1, []))), { attachments: [BARE] });
  await undecodable(of(field(1, [0x0a])), "content.malformed");
});

test("deletions and edits name a message", async () => {
  await roundTrip("DeleteMessage", { messageId: "ab12" }, { id: type("deleteMessage"), bytes: field(1, "ab12") });
  const editedContent = await api.encodeText("new");
  const inner = envelope({ ...editedContent, content: utf8("new") });
  await roundTrip("EditMessage", { messageId: "ab12", editedContent }, { id: type("editMessage"), bytes: [...field(1, "ab12"), ...field(2, inner)] });
  const of = (content) => ({ type: type("editMessage"), parameters: {}, content: Uint8Array.from(content) });
  await undecodable(of(field(1, "ab12")), "content.malformed", /the content has no type$/);
  await undecodable(of(field(2, [0x22, 1, 7])), "content.malformed", /the content has no type$/);
});

const TRANSACTION = {
  namespace: "eip155",
  networkId: "1",
  reference: "0xfe",
  metadata: { transactionType: "transfer", currency: "USDC", amount: 1.5, decimals: 6, fromAddress: "0x1", toAddress: "0x2" },
};

test("a transaction is JSON", async () => {
  const wire = { id: type("transactionReference"), bytes: utf8(JSON.stringify(TRANSACTION)) };
  const fallback = "[Crypto transaction] Use a blockchain explorer to learn more using the transaction hash: 0xfe";
  await roundTrip("TransactionReference", TRANSACTION, { ...wire, fallback });
  await roundTrip("TransactionReference", { networkId: "1", reference: "" }, { ...wire, bytes: utf8('{"networkId":"1","reference":""}'), fallback: "Crypto transaction" });
  const of = (value) => ({ type: type("transactionReference"), parameters: {}, content: utf8(JSON.stringify(value)) });
  const lax = { networkId: 8453, reference: "0xfe", namespace: null, metadata: null, further: 1 };
  assert.deepEqual(await decoded(of(lax)), { networkId: "8453", reference: "0xfe" });
  for (const broken of [{ reference: "x" }, { ...TRANSACTION, metadata: {} }, { ...TRANSACTION, networkId: true }, { ...TRANSACTION, metadata: { ...TRANSACTION.metadata, decimals: -1 } }]) {
    await undecodable(of(broken), "content.malformed");
  }
  await assert.rejects(api.encodeTransactionReference({ networkId: "1" }), { code: "input.value", message: "missing field `reference`" });
});

const CALLS = {
  version: "1.0",
  from: "0xaa",
  chainId: "0x2105",
  calls: [
    { to: "0xbb", value: "0x5", metadata: { description: "Send", transactionType: "transfer", note: "kept" } },
    { data: "0x", gas: "1" },
  ],
  capabilities: { paymaster: "https://example.org" },
};

test("wallet calls are JSON in the order given, and further metadata stays", async () => {
  const json = JSON.stringify(CALLS);
  await roundTrip("WalletSendCalls", CALLS, { id: type("walletSendCalls"), bytes: utf8(json), fallback: `[Transaction request generated]: ${json}` });
  const incomplete = (metadata) => api.encodeWalletSendCalls({ ...CALLS, calls: [{ metadata }] });
  await assert.rejects(incomplete({ transactionType: "x" }), { code: "input.value", message: /missing field `description`/ });
  await assert.rejects(incomplete({ description: "x" }), { code: "input.value", message: /missing field `transactionType`/ });
  await assert.rejects(incomplete({ description: "x", transactionType: "x", n: 1 }), { code: "input.value" });
  const of = (value) => ({ type: type("walletSendCalls"), parameters: {}, content: utf8(JSON.stringify(value)) });
  const lax = { ...CALLS, calls: [{ to: null, metadata: null }], capabilities: null };
  assert.deepEqual(await decoded(of(lax)), { version: "1.0", from: "0xaa", chainId: "0x2105", calls: [{}] });
  for (const broken of [{ ...CALLS, calls: undefined }, { ...CALLS, calls: [null] }, { ...CALLS, calls: [{ to: 5 }] }, { ...CALLS, capabilities: { a: 1 } }]) {
    await undecodable(of(broken), "content.malformed");
  }
});

const ACTIONS = {
  id: "q1",
  description: "Which?",
  actions: [
    { id: "a", label: "This", imageUrl: "https://example.org/a.png", style: ActionStyle.Primary, expiresAtNs: 1_700_000_000_123_000_000n },
    { id: "b", label: "That", style: ActionStyle.Danger },
  ],
  expiresAtNs: 1_700_000_001_000_000_000n,
};

test("actions are JSON with times and styles as texts", async () => {
  const json =
    '{"id":"q1","description":"Which?","actions":[' +
    '{"id":"a","label":"This","imageUrl":"https://example.org/a.png","style":"primary","expiresAt":"2023-11-14T22:13:20.123Z"},' +
    '{"id":"b","label":"That","style":"danger"}],"expiresAt":"2023-11-14T22:13:21.000Z"}';
  const fallback = "Which?\n\n[1] This\n[2] That\n\nReply with the number to select";
  await roundTrip("Actions", ACTIONS, { id: type("actions", 1, "coinbase.com"), bytes: utf8(json), fallback });
  const finer = { ...ACTIONS, expiresAtNs: ACTIONS.expiresAtNs + 999_999n };
  assert.deepEqual(await decoded(await api.encodeActions(finer)), ACTIONS);
});

test("actions read what others write, and refuse to write what others would not", async () => {
  const of = (value) => ({ type: type("actions", 1, "coinbase.com"), parameters: {}, content: utf8(JSON.stringify(value)) });
  const old = { id: "q", description: "", actions: [{ id: "a", label: "A", image_url: "u", style: null, expires_at: "2023-11-14T23:13:20.123456+01:00" }] };
  assert.deepEqual(await decoded(of(old)), { id: "q", description: "", actions: [{ id: "a", label: "A", imageUrl: "u", expiresAtNs: 1_700_000_000_123_000_000n }] });
  const many = Array.from({ length: 11 }, () => ({ id: "same", label: "" }));
  assert.equal((await decoded(of({ id: "q", description: "", actions: many }))).actions.length, 11);
  for (const [name, value] of [["expiresAt", "2023"], ["expiresAt", "2023-13-01T00:00:00Z"], ["expiresAt", "2023-11-14T22:13:20"], ["expiresAt", 5], ["style", "loud"], ["label", undefined]]) {
    await undecodable(of({ id: "q", description: "", actions: [{ id: "a", label: "A", [name]: value }] }), "content.malformed");
  }
  const refused = [
    { ...ACTIONS, actions: [] },
    { ...ACTIONS, actions: many.map((one, at) => ({ ...one, id: String(at) })) },
    { ...ACTIONS, actions: many.slice(0, 2) },
    { ...ACTIONS, actions: [{ id: "a", label: "A", style: 3 }] },
    { ...ACTIONS, expiresAtNs: 2n ** 63n },
    { ...ACTIONS, id: undefined },
    { ...ACTIONS, actions: [{ id: "a" }] },
    undefined,
  ];
  for (const actions of refused) await assert.rejects(api.encodeActions(actions), { name: "DovetailError", code: "input.value" });
});

test("an intent is JSON with any metadata, of 10,240 bytes at most", async () => {
  const intent = { id: "q1", actionId: "a", metadata: { at: 1, list: [null, true], deep: { x: "y" } } };
  const wire = { id: type("intent", 1, "coinbase.com"), fallback: "User selected action: a" };
  await roundTrip("Intent", intent, { ...wire, bytes: utf8(JSON.stringify(intent)) });
  await roundTrip("Intent", { id: "q1", actionId: "a" }, { ...wire, bytes: utf8('{"id":"q1","actionId":"a"}') });
  const of = (value) => ({ type: type("intent", 1, "coinbase.com"), parameters: {}, content: utf8(JSON.stringify(value)) });
  assert.deepEqual(await decoded(of({ id: "q", action_id: "b", metadata: null })), { id: "q", actionId: "b" });
  const largest = { t: "x".repeat(10_240 - '{"t":""}'.length) };
  assert.equal((await api.encodeIntent({ ...intent, metadata: largest })).fallback, wire.fallback);
  for (const metadata of [{ t: `${largest.t}x` }, [], "x", { big: 1n }]) {
    await assert.rejects(api.encodeIntent({ ...intent, metadata }), { name: "DovetailError", code: "input.value" });
  }
  await undecodable(of({ id: "q" }), "content.malformed");
});

test("what cannot be encoded rejects with input.value, whatever it is", async () => {
  const names = Object.keys(api).filter((name) => /^encode[A-Z]/.test(name) && name !== "encodeReadReceipt");
  assert.ok(names.length >= 13);
  for (const name of names) {
    for (const content of [undefined, null, 5, [], { content: null }]) {
      await assert.rejects(api[name](content), { name: "DovetailError", code: "input.value" }, name);
    }
  }
});

test("a reply holds other content, and says a text in its fallback", async () => {
  const content = await api.encodeText("yes");
  const encoded = await api.encodeReply({ reference: "ab12", referenceInboxId: "cd", content });
  assert.deepEqual(encoded, {
    type: type("reply"),
    parameters: { reference: "ab12", contentType: "xmtp.org/text:1.0", referenceInboxId: "cd" },
    content: envelope({ ...content, content: utf8("yes") }),
    fallback: 'Replied with "yes" to an earlier message',
  });
  assert.deepEqual(encoded.type, await api.contentTypeReply());
  const { message, told } = await read(encoded);
  assert.deepEqual(told, []);
  const { contentType, ...reply } = message.content;
  assert.deepEqual(reply, { referenceId: "ab12", referenceInboxId: "cd", content: "yes", encodedContent: content, inReplyTo: null });
  assert.deepEqual(await contentType(), type("text"));
  assert.ok(api.isReply(message) && api.isTextReply(message) && !api.isText(message));
});

test("a reply with anything but a text", async () => {
  for (const content of [await api.encodeMarkdown("x"), await api.encodeReaction(REACTION), { ...(await api.encodeText("x")), parameters: { encoding: "x" } }]) {
    const encoded = await api.encodeReply({ reference: "ab", content });
    assert.equal(encoded.fallback, "Replied to an earlier message");
    assert.equal("referenceInboxId" in encoded.parameters, false);
  }
  const { message } = await read(await api.encodeReply({ reference: "ab", content: await api.encodeReaction(REACTION) }));
  assert.deepEqual(message.content.content, REACTION);
  assert.equal(api.isTextReply(message), false);
});

const POLL = type("poll", 1, "example.org");
class PollCodec {
  prefix = "poll ";
  get contentType() {
    return POLL;
  }
  encode(content) {
    return { type: this.contentType, parameters: {}, content: utf8(content) };
  }
  decode({ content }) {
    if (content.length === 0) throw new Error("empty poll");
    return this.prefix + text(content);
  }
  fallback() {
    return undefined;
  }
  shouldPush() {
    return true;
  }
}
const LITERAL = {
  contentType: POLL,
  prefix: "poll ",
  encode: (content) => ({ type: POLL, parameters: {}, content: utf8(content) }),
  decode({ content }) {
    if (content.length === 0) throw "empty poll";
    return this.prefix + text(content);
  },
};

test("custom codecs, alone and in a reply, as a class or as an object that uses this", async () => {
  for (const codec of [new PollCodec(), LITERAL]) {
    const content = codec.encode("42");
    assert.equal(await decoded(content, [codec]), "poll 42");
    const reply = await api.encodeReply({ reference: "ab", content });
    assert.equal(reply.parameters.contentType, "example.org/poll:1.0");
    assert.equal((await decoded(reply, [codec])).content, "poll 42");
    const later = { ...reply, content: envelope({ type: { ...POLL, versionMinor: 7 }, content: utf8("42") }) };
    assert.equal((await decoded(later, [codec])).content, "poll 42");

    await undecodable(codec.encode(""), "content.malformed", /^Error decoding custom content: empty poll$/, [codec]);
    const { message, told } = await read(await api.encodeReply({ reference: "ab", content: codec.encode("") }), [codec]);
    assert.deepEqual(told, ["Error decoding custom content: empty poll"]);
    assert.deepEqual([message.content.referenceId, message.content.content, message.contentError], ["ab", undefined, undefined]);
  }
});

test("no codec: bytes and fallback stay, one warning", async () => {
  const unknown = { type: type("poll", 2, "example.org", 3), parameters: {}, fallback: "a poll", content: Uint8Array.of(1) };
  await undecodable(unknown, "content.unknown_type", /^No codec found for content type "example.org\/poll:2.3"$/, [LITERAL]);
  // The same type of another authority, and another major version of a built-in one.
  for (const id of [type("poll"), type("text", 2), type("text", 1, "example.org"), type("actions"), type("reaction", 3), type("", 0, "")]) {
    await undecodable({ type: id, parameters: {}, content: utf8("x") }, "content.unknown_type", /^No codec found/, [LITERAL]);
  }
  const { message, told } = await read(await api.encodeReply({ reference: "ab", content: unknown }));
  assert.deepEqual(told, ['No codec found for content type "example.org/poll:2.3"']);
  assert.deepEqual([message.content.content, message.content.encodedContent, message.content.referenceId], [undefined, unknown, "ab"]);
  assert.deepEqual(await message.content.contentType(), unknown.type);
});

test("the type within a reply beats the parameter; what is no content fails", async () => {
  const of = (content, parameters = {}) => ({ type: type("reply"), parameters, fallback: "replied", content: Uint8Array.from(content) });
  const inner = envelope({ type: type("text"), content: utf8("x") });
  const reply = await decoded(of(inner, { contentType: "xmtp.org/markdown:1.0" }));
  assert.deepEqual([reply.content, reply.referenceId, await reply.contentType()], ["x", "", type("text")]);
  for (const broken of [[], [0x0a], field(4, "x"), field(1, field(1, "xmtp.org")), [...inner, 0x0b]]) {
    await undecodable(of(broken), "content.malformed");
  }
  await undecodable(of(envelope({ ...(await api.encodeReply({ reference: "ab", content: await api.encodeText("x") })) })), "content.malformed", /a reply within a reply$/);
  const typeless = { type: { ...type(""), authorityId: "" }, parameters: {}, content: utf8("x") };
  await assert.rejects(api.encodeReply({ reference: "ab", content: typeless }), { code: "input.value" });
});

test("a change of the group is none within a reply", async () => {
  const forged = { type: type("group_updated"), parameters: {}, content: Uint8Array.from(field(1, "aa")) };
  await undecodable(forged, "content.malformed");
  const { message } = await read(await api.encodeReply({ reference: "ab", content: forged }));
  assert.equal(message.content.content, undefined);
});

test("parameters keep any name", async () => {
  const parameters = JSON.parse('{"__proto__":"a","constructor":"b","":"c","ä":""}');
  const content = { type: POLL, parameters, content: utf8("x") };
  const { encodedContent } = await decoded(await api.encodeReply({ reference: "ab", content }), [LITERAL]);
  assert.deepEqual(Object.entries(encodedContent.parameters).sort(), Object.entries(parameters).sort());
});

/** A text, compressed by other software than the package's. */
const packed = (compress, compression, value = "hello ".repeat(50)) => ({
  type: type("text"),
  parameters: { encoding: "UTF-8" },
  content: new Uint8Array(compress(utf8(value))),
  compression,
});

test("compressed content is read: zlib, raw deflate and gzip", async () => {
  for (const [compress, compression] of [[deflateSync, 0], [deflateRawSync, 0], [gzipSync, 1]]) {
    const content = packed(compress, compression);
    const { message, told } = await read(content);
    assert.deepEqual([message.content, told, message.encodedContent], ["hello ".repeat(50), [], content]);
    assert.equal(text((await api.decompressContent(content)).content), "hello ".repeat(50));
    // Within a reply, beside one that is compressed itself.
    const reply = await api.encodeReply({ reference: "ab", content });
    assert.deepEqual([(await decoded(reply)).content, reply.fallback], ["hello ".repeat(50), "Replied to an earlier message"]);
    const twice = { ...reply, content: new Uint8Array(gzipSync(reply.content)), compression: 1 };
    const { content: said, encodedContent } = await decoded(twice);
    assert.deepEqual([said, encodedContent.compression, text(encodedContent.content)], ["hello ".repeat(50), undefined, "hello ".repeat(50)]);
  }
  const plain = await api.encodeText("x");
  assert.deepEqual(await api.decompressContent(plain), plain);
});

test("what cannot be decompressed is kept", async () => {
  const good = packed(gzipSync, 1);
  const cases = [
    { ...good, compression: 2 },
    { ...good, compression: 0 },
    { ...packed(deflateSync, 0), compression: 1 },
    { ...good, content: good.content.subarray(0, good.content.length - 6) },
    { ...good, content: Uint8Array.of() },
    { ...good, content: Uint8Array.from({ length: 40 }, (_, at) => (at * 97) & 0xff) },
  ];
  for (const content of cases) {
    await undecodable(content, "content.malformed");
    await assert.rejects(api.decompressContent(content), { name: "DovetailError", code: "content.malformed" });
    await undecodable(await api.encodeReply({ reference: "ab", content }), "content.malformed");
  }
});

test("what no codec knows is not decompressed", async () => {
  await undecodable({ ...packed(gzipSync, 1), type: POLL, content: Uint8Array.of(1) }, "content.unknown_type", /^No codec found/);
});

const MOST = 16_777_216;

test("content decompresses to 16 MiB at most", async () => {
  const bomb = (size, compress = deflateSync) => ({ ...packed(deflateSync, 0), content: new Uint8Array(compress(new Uint8Array(size).fill(65))) });
  const largest = await read(bomb(MOST));
  assert.deepEqual([largest.message.content.length, largest.told], [MOST, []]);
  for (const content of [bomb(MOST + 1), bomb(MOST + 1, deflateRawSync), bomb(200_000_000), { ...bomb(MOST + 1, gzipSync), compression: 1 }]) {
    assert.ok(content.content.length < 300_000);
    await undecodable(content, "content.too_large", /16777216/);
    await undecodable(await api.encodeReply({ reference: "ab", content }), "content.too_large", /16777216/);
  }
  // One message alone, but not a page full of them.
  const warn = mock.method(console, "warn", () => {});
  const page = await readMessages(allCodecs([]), Array.from({ length: 7 }, () => raw(bomb(MOST))));
  warn.mock.restore();
  assert.deepEqual(page.map(({ contentError }) => contentError?.code), [...Array(4), ...Array(3).fill("content.too_large")]);
});

test("content is compressed on request only", async () => {
  const plain = await api.encodeMarkdown("hello ".repeat(50));
  assert.equal("compression" in plain, false);
  for (const [given, compression, start] of [[undefined, 0, "78"], [Compression.Deflate, 0, "78"], [Compression.Gzip, 1, "1f8b"]]) {
    const content = await api.compressContent(plain, given);
    assert.deepEqual([content.compression, content.parameters, hex(content.content).slice(0, start.length)], [compression, plain.parameters, start]);
    assert.ok(content.content.length < 60);
    assert.deepEqual(await api.decompressContent(content), plain);
    await assert.rejects(api.compressContent(content), { code: "input.value" });
  }
  await assert.rejects(api.compressContent(plain, 2), { code: "input.value" });
});

const opened = async () => {
  const { payload, ...rest } = await api.encryptAttachment(ATTACHMENT);
  return { payload, remote: { ...rest, url: "https://example.org", scheme: "https://" } };
};

test("an attachment is encrypted and opened again", async () => {
  const { payload, remote } = await opened();
  assert.deepEqual(await api.decryptAttachment(payload, remote), ATTACHMENT);
  assert.equal(remote.contentDigest, createHash("sha256").update(payload).digest("hex"));
  assert.deepEqual([remote.secret.length, remote.salt.length, remote.nonce.length, remote.contentLength, remote.filename], [32, 32, 12, payload.length, "a.txt"]);
  const second = await opened();
  for (const part of ["secret", "salt", "nonce"]) assert.notDeepEqual(second.remote[part], remote[part]);
  const nameless = await api.encryptAttachment({ mimeType: "x", content: new Uint8Array() });
  assert.equal("filename" in nameless, false);
  await assert.rejects(api.encryptAttachment({ content: new Uint8Array() }), { code: "input.value" });
});

/** The same by other software: HKDF-SHA256, AES-256-GCM over a serialised EncodedContent. */
function sealed(plain) {
  const key = hkdfSync("sha256", secret, salt, new Uint8Array(), 32);
  const cipher = createCipheriv("aes-256-gcm", new Uint8Array(key), nonce);
  const payload = new Uint8Array(Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]));
  return { payload, remote: { ...REMOTE, contentDigest: createHash("sha256").update(payload).digest("hex") } };
}

test("what another app encrypted is opened", async () => {
  const content = { type: type("attachment"), parameters: { filename: "a.txt", mimeType: "text/plain" }, content: ATTACHMENT.content };
  const { payload, remote } = sealed(envelope(content));
  assert.deepEqual(await api.decryptAttachment(payload, remote), ATTACHMENT);
  const gzip = sealed(envelope({ ...content, content: gzipSync(content.content), compression: 1 }));
  assert.deepEqual(await api.decryptAttachment(gzip.payload, gzip.remote), ATTACHMENT);
  for (const [plain, code] of [
    [Uint8Array.of(0x0a, 5), "content.malformed"],
    [envelope({ type: type("text"), content: utf8("x") }), "content.unknown_type"],
    [envelope({ ...content, content: gzipSync(new Uint8Array(MOST + 1)), compression: 1 }), "content.too_large"],
  ]) {
    const other = sealed(plain);
    await assert.rejects(api.decryptAttachment(other.payload, other.remote), { name: "DovetailError", code });
  }
});

test("an altered file is refused before it is opened, a wrong secret when it does not open", async () => {
  const { payload, remote } = await opened();
  const decrypt = mock.method(crypto.subtle, "decrypt");
  for (const altered of [payload.map((byte, at) => (at === 3 ? byte ^ 1 : byte)), payload.subarray(1), new Uint8Array()]) {
    await assert.rejects(api.decryptAttachment(altered, remote), { name: "DovetailError", code: "content.digest_mismatch" });
  }
  assert.equal(decrypt.mock.callCount(), 0);
  decrypt.mock.restore();
  // The digest is of the altered file, as of a sender who lies.
  const altered = payload.map((byte, at) => (at === 3 ? byte ^ 1 : byte));
  const digest = createHash("sha256").update(altered).digest("hex");
  await assert.rejects(api.decryptAttachment(altered, { ...remote, contentDigest: digest }), { code: "content.decrypt" });
  for (const part of ["secret", "salt", "nonce"]) {
    for (const wrong of [remote[part].map((byte) => byte ^ 1), remote[part].subarray(1), new Uint8Array()]) {
      await assert.rejects(api.decryptAttachment(payload, { ...remote, [part]: wrong }), { name: "DovetailError", code: "content.decrypt" });
    }
  }
  await assert.rejects(api.decryptAttachment("x", remote), { code: "input.value" });
  await assert.rejects(api.decryptAttachment(payload, { ...remote, secret: "x" }), { code: "input.value" });
});

test("push follows the type", () => {
  const codecs = Object.entries(api).filter(([name]) => /^[A-Z]\w+Codec$/.test(name));
  assert.equal(codecs.length, 15);
  const silent = codecs.filter(([, Codec]) => !new Codec().shouldPush()).map(([name]) => name);
  assert.deepEqual(silent.sort(), ["DeleteMessageCodec", "EditMessageCodec", "LeaveRequestCodec", "ReactionCodec", "ReadReceiptCodec"]);
});
