// Errors, enums, content and addresses.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mock, test } from "node:test";
import { load } from "./load.mjs";

const api = await load("index.ts");
const errors = await load("errors.ts");
const { addressOf, keccak256 } = await load("ethereum.ts");
const { allCodecs } = await load("content/built-in.ts");
const { DecodedMessage } = api;

/** Codes of content, which Rust does not look into. */
const CONTENT = ["decrypt", "digest_mismatch", "malformed", "too_large", "unknown_type"].map((reason) => `content.${reason}`);

test("raw errors become DovetailErrors with their code", () => {
  const cause = new Error("inner");
  const error = errors.toDovetailError({ code: "dm.self", message: "no", retryable: true, cause });
  assert.ok(error instanceof errors.DovetailError && error instanceof Error);
  assert.deepEqual(
    [error.name, error.code, error.message, error.retryable, error.cause],
    ["DovetailError", "dm.self", "no", true, cause],
  );
  assert.equal(errors.toDovetailError(error), error);
  const plain = errors.toDovetailError({ code: "store.quota", message: "full" });
  assert.deepEqual([plain.retryable, "cause" in plain], [false, false]);
});

test("anything else becomes an internal error that keeps it", () => {
  for (const thrown of [new TypeError("odd"), "odd", { message: "odd" }]) {
    const error = errors.toDovetailError(thrown);
    assert.deepEqual([error.code, error.cause], ["bug.internal", thrown]);
    assert.match(error.message, /odd/);
  }
  for (const thrown of [undefined, null, 5, { code: 5, message: "x" }]) {
    assert.equal(errors.toDovetailError(thrown).code, "bug.internal");
  }
});

test("the codes are those of the Rust side, and a few of this side", () => {
  const file = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const codes = (text, pattern) => [...text.matchAll(pattern)].map(([, code]) => code);
  const union = codes(file("js/errors.ts"), /^ {2}\| "([a-z_.]+)"/gm);
  const documented = codes(file("js/errors.ts"), /^ \* \| `([a-z_.]+)` \|/gm);
  const rust = codes(file("src/error.rs"), /^ {4}\("([a-z_.]+)",/gm);
  assert.ok(rust.length > 30);
  assert.deepEqual(union, documented);
  assert.deepEqual(union, [...rust, ...CONTENT, "stream.failed", "stream.invalid_retry_attempts", "wasm.load_failed", "wasm.unsupported"].sort());
});

test("error classes keep the names and messages other SDKs use", () => {
  const signer = new errors.SignerUnavailableError();
  assert.deepEqual(
    [signer.name, signer.code, signer.message],
    ["SignerUnavailableError", "client.no_signer", "Signer unavailable, use Client.create to create a client with a signer"],
  );
  assert.equal(new errors.StreamInvalidRetryAttemptsError().name, "StreamInvalidRetryAttemptsError");
});

test("enums have the values other SDKs use", () => {
  const values = {
    ConsentState: ["Unknown", "Allowed", "Denied"],
    ConsentEntityType: ["GroupId", "InboxId"],
    ContentType:
      "Actions Attachment Custom GroupMembershipChange GroupUpdated Intent LeaveRequest Markdown MultiRemoteAttachment Reaction ReadReceipt RemoteAttachment Reply Text TransactionReference WalletSendCalls".split(
        " ",
      ),
    ConversationType: ["Dm", "Group", "Sync", "Oneshot"],
    DeliveryStatus: ["Unpublished", "Published", "Failed"],
    GroupMessageKind: ["Application", "MembershipChange"],
    IdentifierKind: ["Ethereum", "Passkey"],
    ListConversationsOrderBy: ["CreatedAt", "LastActivity"],
    MessageSortBy: ["SentAt", "InsertedAt", "Delivered"],
    PermissionLevel: ["Member", "Admin", "SuperAdmin"],
    ActionStyle: ["Primary", "Secondary", "Danger"],
    Compression: ["Deflate", "Gzip"],
    ReactionAction: ["Unknown", "Added", "Removed"],
    ReactionSchema: ["Unknown", "Unicode", "Shortcode", "Custom"],
    SortDirection: ["Ascending", "Descending"],
  };
  for (const [name, members] of Object.entries(values)) {
    assert.deepEqual(members.map((member) => api[name][member]), members.map((_, at) => at), name);
    assert.equal(Object.keys(api[name]).length, members.length * 2, name);
  }
});

const raw = (content, extra = {}) => ({
  id: "aa",
  conversationId: "cc",
  groupId: "dd",
  senderInboxId: "ee",
  senderInstallationId: "ff",
  sentAtNs: 1_700_000_000_123_456_789n,
  insertedAtNs: 5n,
  kind: 0,
  deliveryStatus: 1,
  content,
  ...extra,
});
const type = (typeId, versionMinor = 0, authorityId = "xmtp.org", versionMajor = 1) => ({ authorityId, typeId, versionMajor, versionMinor });
const decode = (content, { codecs = [], ...extra } = {}) => new DecodedMessage(allCodecs(codecs), raw(content, extra));

/** What console.warn was told while `run` ran. */
function warnings(run) {
  const warn = mock.method(console, "warn", () => {});
  try {
    run();
    return warn.mock.calls.map(({ arguments: [text] }) => text);
  } finally {
    warn.mock.restore();
  }
}

test("a text round trip", async () => {
  const encoded = await api.encodeText("grüße 👋\u{feff}");
  assert.deepEqual([encoded.type, encoded.parameters, encoded.fallback], [type("text"), { encoding: "UTF-8" }, undefined]);
  const message = decode(encoded);
  assert.equal(message.content, "grüße 👋\u{feff}");
  assert.deepEqual(message.contentType, await api.contentTypeText());
  assert.ok(api.isText(message) && !api.isGroupUpdated(message));
  assert.equal(message.sentAt.toISOString(), "2023-11-14T22:13:20.123Z");
  assert.ok(!("expiresAt" in message) && !("fallback" in message) && !("failure" in message));
});

test("a text without encoding is UTF-8, another encoding or bad bytes have no content", () => {
  const content = new TextEncoder().encode("hi");
  assert.equal(decode({ type: type("text"), parameters: {}, content }).content, "hi");
  const told = warnings(() => {
    assert.equal(decode({ type: type("text"), parameters: { encoding: "UTF-16" }, content }).content, undefined);
    assert.equal(decode({ type: type("text"), parameters: {}, content: new Uint8Array([0xff]) }).content, undefined);
  });
  assert.equal(told.length, 2);
  assert.match(told[0], /^Error decoding custom content: unknown text encoding UTF-16$/);
});

test("an unknown type keeps its bytes and fallback", () => {
  const encoded = { type: type("poll", 3, "example.org", 2), parameters: {}, fallback: "a poll", content: new Uint8Array([1]) };
  let message;
  const told = warnings(() => (message = decode(encoded)));
  assert.deepEqual(told, ['No codec found for content type "example.org/poll:2.3"']);
  assert.deepEqual([message.content, message.fallback, message.encodedContent.content], [undefined, "a poll", new Uint8Array([1])]);
});

test("a codec reads every minor version of its major one, as an object that uses this", () => {
  const codec = {
    contentType: type("poll", 0, "example.org"),
    prefix: "poll ",
    decode(content) {
      if (content.content.length === 0) throw new Error("empty poll");
      return this.prefix + content.content[0];
    },
  };
  const of = (minor, major, content) => ({ type: type("poll", minor, "example.org", major), parameters: {}, content });
  assert.equal(decode(of(7, 1, new Uint8Array([4])), { codecs: [codec] }).content, "poll 4");
  const told = warnings(() => {
    assert.equal(decode(of(0, 2, new Uint8Array([4])), { codecs: [codec] }).content, undefined);
    assert.equal(decode(of(0, 1, new Uint8Array()), { codecs: [codec] }).content, undefined);
  });
  assert.deepEqual(told.map((text) => text.split(":")[0]), ['No codec found for content type "example.org/poll', "Error decoding custom content"]);
});

/** Protobuf by hand: a field with bytes or a text. */
const field = (number, value) => {
  const bytes = typeof value === "string" ? [...new TextEncoder().encode(value)] : value;
  return [(number << 3) | 2, bytes.length, ...bytes];
};

test("a recorded change has its nine fields", () => {
  const content = Uint8Array.from([
    ...field(1, "aa"),
    ...field(2, field(1, "bb")),
    ...field(2, field(1, "cc")),
    ...field(4, [...field(1, "group_name"), ...field(3, "new")]),
    ...field(9, field(1, "dd")),
  ]);
  const message = decode({ type: type("group_updated"), parameters: {}, content }, { kind: 1 });
  assert.ok(api.isGroupUpdated(message));
  assert.deepEqual(message.content, {
    initiatedByInboxId: "aa",
    addedInboxes: [{ inboxId: "bb" }, { inboxId: "cc" }],
    removedInboxes: [],
    leftInboxes: [],
    metadataFieldChanges: [{ fieldName: "group_name", newValue: "new" }],
    addedAdminInboxes: [],
    removedAdminInboxes: [],
    addedSuperAdminInboxes: [],
    removedSuperAdminInboxes: [{ inboxId: "dd" }],
  });
});

test("a request to leave, with and without a note", async () => {
  const of = (content) => decode({ type: type("leave_request"), parameters: {}, fallback: "asks", content: Uint8Array.from(content) });
  const plain = of([]);
  assert.ok(api.isLeaveRequest(plain) && !api.isText(plain));
  assert.deepEqual([plain.content, plain.fallback, plain.contentType], [{}, "asks", await api.contentTypeLeaveRequest()]);
  assert.deepEqual(of(field(1, [7, 8])).content, { authenticatedNote: new Uint8Array([7, 8]) });
  assert.deepEqual(of([0x0a, 0]).content, { authenticatedNote: new Uint8Array() });
  const told = warnings(() => assert.equal(of([0x0a, 5]).content, undefined));
  assert.equal(told.length, 1);
});

test("a change that a member sent is none", () => {
  const content = Uint8Array.from(field(1, "aa"));
  assert.equal(decode({ type: type("group_updated"), parameters: {}, content }, { kind: 0 }).content, undefined);
});

test("bytes that are no change have no content, whatever they are", () => {
  const cases = [[0x0a], [0x0a, 5, 1], [0x80], [0x0b], [0x0a, 1, 0xff], Array(12).fill(0xff)];
  const told = warnings(() => {
    for (const bytes of cases) {
      assert.equal(decode({ type: type("group_updated"), parameters: {}, content: Uint8Array.from(bytes) }, { kind: 1 }).content, undefined);
    }
  });
  assert.equal(told.length, cases.length);
});

test("the address of a key", () => {
  const hex = (text) => Uint8Array.from(Buffer.from(text, "hex"));
  // Keccak-256 of nothing, and two addresses anyone can look up.
  assert.equal(Buffer.from(keccak256(hex(""))).toString("hex"), "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
  assert.equal(addressOf(hex("01".padStart(64, "0"))), "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf");
  assert.equal(
    addressOf(hex("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")),
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  );
  assert.equal(Buffer.from(keccak256(new Uint8Array(136).fill(7))).length, 32);
  const order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
  for (const bad of ["", "00".repeat(32), order, "01".repeat(31)]) {
    assert.throws(() => addressOf(hex(bad)), { code: "input.value" });
  }
});

test("what is no key, name or callback is told as such", async () => {
  const invalid = { code: "input.value" };
  for (const key of [5, null, {}, "0x12"]) assert.throws(() => api.createEOASigner(key), invalid);
  for (const options of [null, 5, { name: 5 }]) assert.throws(() => new api.BrowserDelivery(options), invalid);
  for (const onValue of [4, "oops", {}]) {
    await assert.rejects(api.createStream(async () => () => {}, undefined, { onValue }), invalid);
  }
});

test("a local signer knows its account at once", () => {
  const signer = api.createEOASigner(`0x${"1".padStart(64, "0")}`);
  assert.deepEqual(signer.getIdentifier(), { identifier: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", identifierKind: 0 });
  assert.notEqual(api.createEOASigner().getIdentifier().identifier, api.createEOASigner().getIdentifier().identifier);
});
