// The client classes over a stand-in for the wasm side.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deferred, load, overBridge, settled } from "./load.mjs";

const HOLD = { code: "identity", message: "an identity update is missing", sequenceId: 8 };
const EMPTY = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
const ACCOUNT = { identifier: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", identifierKind: 0 };
const DELIVERY = { publish() {}, query() {}, newest() {}, lookup() {}, subscribe() {} };
const SIGNER = { type: "EOA", getIdentifier: () => ACCOUNT, signMessage: async () => new Uint8Array(65) };

const view = (id, extra = {}) => ({
  id,
  conversationType: 0,
  dmId: "dm:aa:bb",
  peerInboxId: "bb",
  createdAtNs: 1_000_000n,
  addedByInboxId: "aa",
  creatorInboxId: "aa",
  state: "active",
  consentState: 1,
  ...extra,
});

const message = (id, text) => ({
  id,
  conversationId: "c1",
  groupId: "c1",
  senderInboxId: "bb",
  senderInstallationId: "ff",
  sentAtNs: 5n,
  insertedAtNs: 6n,
  kind: 0,
  deliveryStatus: 1,
  content: {
    type: { authorityId: "xmtp.org", typeId: "text", versionMajor: 1, versionMinor: 0 },
    parameters: { encoding: "UTF-8" },
    content: new TextEncoder().encode(text),
  },
});

/** A package whose wasm side notes every call and answers what `answers` says. */
async function start(answers = {}, moduleAnswers = {}) {
  const calls = [];
  const subscriptions = [];
  let panic;
  const raw = new Proxy(
    {
      inboxId: "aa",
      installationId: "0aff",
      subscribe: async (filter, listener) => {
        const one = { filter, listener, ended: 0 };
        subscriptions.push(one);
        return { end: () => one.ended++ };
      },
      sync: async () => {},
      syncAll: async () => {},
      syncConversation: async () => {},
      close: async () => {},
      ...answers,
    },
    {
      get(target, name) {
        const value = target[name];
        if (name === "then" || typeof value !== "function") return value;
        return (...given) => {
          calls.push([name, ...given]);
          return value(...given);
        };
      },
    },
  );
  const api = await load("index.ts", {
    onPanic: (handler) => (panic = handler),
    createClient: async (options) => {
      calls.push(["createClient", options]);
      return raw;
    },
    generateInboxId: async ({ identifier }, nonce) => `${identifier} ${nonce}`,
    signWithKey: async (key, text) => new Uint8Array([key.length, text.length]),
    ...moduleAnswers,
  });
  await api.init(EMPTY);
  return { api, calls, subscriptions, raw, panic: (text) => panic(text) };
}

const create = ({ api }, options = {}) => api.Client.create(SIGNER, { delivery: DELIVERY, ...options });

/** Rejects with a DovetailError of this code, and does not throw at once. */
async function rejects(call, code, { DovetailError }) {
  const promise = call();
  assert.ok(promise instanceof Promise);
  await assert.rejects(promise, (error) => error instanceof DovetailError && error.code === code);
}

test("create hands everything on, and the client tells who it is", async () => {
  const pack = await start();
  const dbEncryptionKey = new Uint8Array(32);
  const client = await create(pack, { dbPath: "db", dbEncryptionKey, nonce: 7n, appVersion: "app/1", env: "local" });
  const [[name, options]] = pack.calls;
  assert.equal(name, "createClient");
  assert.deepEqual(
    [options.identifier, options.dbPath, options.dbEncryptionKey, options.nonce, options.register],
    [ACCOUNT, "db", dbEncryptionKey, 7n, true],
  );
  assert.ok(overBridge || options.delivery === DELIVERY);
  assert.deepEqual(await options.sign("text"), new Uint8Array(65));
  assert.deepEqual(
    [client.inboxId, client.installationId, client.installationIdBytes, client.accountIdentifier, client.signer],
    ["aa", "0aff", new Uint8Array([10, 255]), ACCOUNT, SIGNER],
  );
  assert.deepEqual([client.appVersion, client.libxmtpVersion, client.env, client.isReady], ["app/1", "1.2.3", "local", true]);
  assert.equal(client.conversations.topic, "/xmtp/mls/1/w-0aff/proto");
});

test("defaults: derived path, nonce 1, the page's own delivery, no registration without a signer", async () => {
  const pack = await start();
  await pack.api.Client.build(ACCOUNT);
  await pack.api.Client.create(SIGNER, { disableAutoRegister: true });
  const [built, created] = pack.calls.map(([, options]) => options);
  assert.deepEqual([built.register, built.sign, built.dbPath, built.nonce], [false, undefined, undefined, 1n]);
  assert.deepEqual([created.register, typeof created.sign], [false, "function"]);
  assert.ok(overBridge || built.delivery instanceof pack.api.BrowserDelivery);
  assert.equal(built.delivery, created.delivery);
});

test("bad arguments of create reject with input.value", async () => {
  const { api } = await start();
  const { Client } = api;
  for (const call of [
    () => Client.create(),
    () => Client.create({ ...SIGNER, type: "SCW" }),
    () => Client.create({ ...SIGNER, getIdentifier: () => "0xabc" }),
    () => Client.create(SIGNER, null),
    () => Client.create(SIGNER, { dbPath: 5 }),
    () => Client.create(SIGNER, { dbEncryptionKey: "key" }),
    () => Client.create(SIGNER, { codecs: {} }),
    () => Client.create(SIGNER, { delivery: { publish() {} } }),
    () => Client.build({ identifier: "0x1", identifierKind: 9 }),
    () => api.generateInboxId("0x1"),
    () => api.generateInboxId(ACCOUNT, 0.5),
  ]) {
    await rejects(call, "input.value", api);
  }
});

test("what a signer throws is the cause of client.signature", async () => {
  const mine = new Error("user said no");
  const pack = await start(
    {},
    {
      createClient: async ({ sign }) => {
        await sign("text").catch(() => {
          throw { code: "client.signature", message: "the signer failed", retryable: true };
        });
      },
    },
  );
  const refusing = { ...SIGNER, signMessage: () => Promise.reject(mine) };
  await assert.rejects(pack.api.Client.create(refusing), { code: "client.signature", cause: mine, retryable: true });
  const silent = { ...SIGNER, getIdentifier: () => Promise.reject(mine) };
  await assert.rejects(pack.api.Client.create(silent), { code: "client.signature", cause: mine });
});

test("a signature may be bytes or hexadecimal digits, and nothing else", async () => {
  const pack = await start();
  const given = ["0x0aFF", "0aff", new Uint8Array([10, 255]), "0x0", 5];
  for (const signature of given) await pack.api.Client.create({ ...SIGNER, signMessage: () => signature }, { dbPath: null });
  const answers = await Promise.allSettled(pack.calls.map(([, { sign }]) => sign("text")));
  assert.deepEqual(answers.map(({ status }) => status), ["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"]);
  for (const { value } of answers.slice(0, 3)) assert.deepEqual(value, new Uint8Array([10, 255]));
});

test("two creations on one database run one after the other, others at once", async () => {
  const running = [];
  const pack = await start({}, {
    createClient: (options) => {
      const one = { ...deferred(), name: options.dbPath };
      running.push(one);
      return one.promise;
    },
  });
  const clients = ["a", "a", "b", null, null].map((dbPath) => create(pack, { dbPath }));
  await settled();
  assert.deepEqual(running.map(({ name }) => String(name)).sort(), ["a", "b", "null", "null"]);
  running.find(({ name }) => name === "a").reject({ code: "store.blocked", message: "blocked" });
  await assert.rejects(clients[0], { code: "store.blocked" });
  await settled();
  assert.equal(running.length, 5);
  for (const { resolve } of running) resolve(pack.raw);
  await Promise.all(clients.slice(1));
});

test("without a signer, register says so", async () => {
  const { api } = await start();
  const client = await api.Client.build(ACCOUNT);
  await assert.rejects(client.register(), { name: "SignerUnavailableError", code: "client.no_signer" });
});

test("canMessage answers by the identifiers as they were passed", async () => {
  const pack = await start({ canMessage: async () => [true, false], findInboxes: async () => ["bb"] });
  const client = await create(pack);
  const other = { identifier: "0xABC", identifierKind: 0 };
  assert.deepEqual(await client.canMessage([ACCOUNT, other]), new Map([[ACCOUNT.identifier, true], ["0xABC", false]]));
  assert.equal(await client.fetchInboxIdByIdentifier(other), "bb");
});

test("handles of conversations: kinds, ids, look-ups", async () => {
  const pack = await start({
    list: async () => [view("c1"), view("g1", { conversationType: 1 })],
    conversation: async (id) => (id === "c1" || id === "c2" ? view("c1", { state: "inactive", pausedForVersion: "9.0.0" }) : undefined),
    dmWith: async () => undefined,
    createDm: async () => view("c1"),
    duplicateDms: async () => [view("c2")],
    findInboxes: async ([{ identifier }]) => [identifier === "0x1" ? "bb" : undefined],
  });
  const { api } = pack;
  const client = await create(pack);
  const [dm, group] = await client.conversations.list({ limit: 2n, consentStates: [], orderBy: api.ListConversationsOrderBy.CreatedAt });
  assert.ok(dm instanceof api.Dm && group instanceof api.Group);
  assert.deepEqual(pack.calls.at(-1), ["list", { consentStates: [], orderBy: 0, limit: 2 }]);
  assert.deepEqual(
    [dm.id, dm.topic, dm.createdAtNs, dm.createdAt, dm.addedByInboxId, dm.metadata],
    ["c1", "/xmtp/mls/1/g-c1/proto", 1_000_000n, new Date(1), "aa", { conversationType: 0, creatorInboxId: "aa" }],
  );
  assert.deepEqual([await dm.isActive(), await dm.peerInboxId(), await dm.consentState(), await dm.pausedForVersion()], [false, "bb", 1, "9.0.0"]);
  assert.deepEqual((await dm.duplicateDms()).map(({ id }) => id), ["c2"]);
  assert.equal((await client.conversations.listDms()).length, 1);
  assert.equal((await client.conversations.listGroups()).length, 1);
  assert.equal((await client.conversations.getConversationById("c2")).id, "c1");
  assert.equal(await client.conversations.getConversationById("c3"), undefined);
  assert.equal(await client.conversations.fetchDmByIdentifier({ identifier: "0x2", identifierKind: 0 }), undefined);
  assert.equal((await client.conversations.createDmWithIdentifier({ identifier: "0x1", identifierKind: 0 })).id, "c1");
  assert.deepEqual(pack.calls.at(-1), ["createDm", "bb"]);
  await rejects(() => client.conversations.createDmWithIdentifier({ identifier: "0x2", identifierKind: 0 }), "dm.unknown_inbox", api);
  await rejects(() => group.isActive(), "conversation.not_found", api);
});

test("sends, lists and counts", async () => {
  const pack = await start({
    createDm: async () => view("c1"),
    send: async () => "m1",
    messages: async () => [message("m1", "hi")],
    countMessages: async () => 1n,
    lastMessage: async () => message("m1", "hi"),
    message: async (id) => (id === "m1" ? message("m1", "hi") : undefined),
  });
  const { api } = pack;
  const client = await create(pack);
  const dm = await client.conversations.createDm("bb");
  assert.equal(await dm.sendText("hi", { idempotencyKey: "k" }), "m1");
  const [, id, content, options] = pack.calls.at(-1);
  assert.deepEqual([id, content.content, options], ["c1", new TextEncoder().encode("hi"), { shouldPush: undefined, idempotencyKey: "k" }]);
  const [one] = await dm.messages({ limit: 50, direction: "descending", sentAfterNs: 4n, contentTypes: [api.ContentType.Text] });
  assert.deepEqual([one.content, one.id, one.senderInboxId], ["hi", "m1", "bb"]);
  assert.deepEqual(pack.calls.at(-1), ["messages", "c1", { contentTypes: ["text"], sentAfterNs: 4n, direction: 1, limit: 50 }]);
  const { Custom, Text, Reaction } = api.ContentType;
  const filterOf = async (options) => {
    await dm.messages(options);
    return pack.calls.at(-1)[2];
  };
  assert.deepEqual(await filterOf({ excludeContentTypes: [Reaction] }), { excludeContentTypes: ["reaction"] });
  assert.deepEqual(await filterOf({ contentTypes: [] }), { contentTypes: [] });
  // Custom is every type without a name.
  const custom = await filterOf({ contentTypes: [Custom, Text] });
  assert.deepEqual([custom.contentTypes, custom.alsoTypes, custom.excludeContentTypes.length], [undefined, ["text"], 14]);
  assert.ok(custom.excludeContentTypes.includes("reaction") && !custom.excludeContentTypes.includes("text"));
  // Reactions are given to who names them, not to who leaves out others.
  const named = await filterOf({ excludeContentTypes: [Custom, Text] });
  assert.deepEqual([named.contentTypes.length, named.excludeContentTypes], [13, ["text"]]);
  assert.ok(!named.contentTypes.includes("reaction") && !named.contentTypes.includes("readReceipt"));
  assert.deepEqual((await filterOf({ contentTypes: [Custom, Reaction] })).alsoTypes, ["reaction"]);
  assert.deepEqual((await filterOf({ contentTypes: [Reaction], excludeContentTypes: [Custom] })).contentTypes, ["reaction"]);
  assert.equal(await dm.countMessages(), 1n);
  assert.equal((await dm.lastMessage()).content, "hi");
  assert.equal((await client.conversations.getMessageById("m1")).content, "hi");
  assert.equal(await client.conversations.getMessageById("m2"), undefined);
});

test("bad arguments reject with input.value and reach nothing", async () => {
  const pack = await start({ createDm: async () => view("c1") });
  const { api } = pack;
  const client = await create(pack);
  const dm = await client.conversations.createDm("bb");
  const before = pack.calls.length;
  const { conversations, preferences } = client;
  for (const call of [
    () => conversations.createDm(5),
    () => conversations.createDm(),
    () => conversations.getConversationById(null),
    () => conversations.getMessageById({}),
    () => conversations.list({ limit: -1 }),
    () => conversations.list({ limit: 1.5 }),
    () => conversations.list({ consentStates: 1 }),
    () => conversations.list({ consentStates: [7] }),
    () => conversations.list("all"),
    () => conversations.syncAll("all"),
    () => conversations.stream(null),
    () => conversations.streamAllMessages({ consentStates: ["allowed"] }),
    () => conversations.fetchDmByIdentifier("0x1"),
    () => dm.sendText(5),
    () => dm.sendText("hi", { idempotencyKey: 1 }),
    () => dm.sendText("hi", { shouldPush: 1 }),
    () => dm.send("hi"),
    () => dm.send({ content: new Uint8Array() }),
    () => dm.send({ type: { authorityId: "a", typeId: "b", versionMajor: 1, versionMinor: 0 }, parameters: { a: 1 }, content: new Uint8Array() }),
    () => dm.messages({ direction: "up" }),
    () => dm.messages({ sentAfterNs: 1.5 }),
    () => dm.countMessages(5),
    () => dm.updateConsentState("denied"),
    () => dm.stream(5),
    () => preferences.setConsentStates({}),
    () => preferences.setConsentStates([{ entityType: 0, entity: 5, state: 1 }]),
    () => preferences.getConsentState(2, "aa"),
    () => client.canMessage("0x1"),
  ]) {
    await rejects(call, "input.value", api);
  }
  assert.equal(pack.calls.length, before);
});

test("consent goes to the conversation or to exactly the entities named", async () => {
  const pack = await start({ createDm: async () => view("c1"), setConversationConsent: async () => {}, setConsent: async () => {}, consent: async () => 2 });
  const { ConsentState, ConsentEntityType } = pack.api;
  const client = await create(pack);
  const dm = await client.conversations.createDm("bb");
  await dm.updateConsentState(ConsentState.Denied);
  assert.deepEqual(pack.calls.at(-1), ["setConversationConsent", "c1", 2]);
  const records = [{ entityType: ConsentEntityType.InboxId, entity: "bb", state: ConsentState.Allowed }];
  await client.preferences.setConsentStates(records);
  assert.deepEqual(pack.calls.at(-1), ["setConsent", records]);
  assert.equal(await client.preferences.getConsentState(ConsentEntityType.InboxId, "bb"), ConsentState.Denied);
});

test("CONS-010 what other installations decided is asked for by both names and streamed as updates", async () => {
  const pack = await start({ syncDevices: async () => {} });
  const client = await create(pack);
  await client.preferences.sync();
  await client.syncAllDeviceSyncGroups();
  assert.deepEqual(pack.calls.slice(-2), [["syncDevices"], ["syncDevices"]]);
  const stream = await client.preferences.streamPreferences();
  const [{ filter, listener }] = pack.subscriptions;
  assert.deepEqual(filter, { of: "consent" });
  const records = [{ entityType: 1, entity: "bb", state: 2 }, { entityType: 0, entity: "cc", state: 1 }];
  listener({ type: "consent", records });
  const expected = records.map((consent) => ({ type: "ConsentUpdate", consent }));
  assert.deepEqual((await stream.next()).value, expected);
  await rejects(() => client.preferences.streamPreferences(null), "input.value", pack.api);
  await client.close();
  await rejects(() => client.preferences.sync(), "client.closed", pack.api);
});

test("streams subscribe with their filter, after a sync unless told not to", async () => {
  const pack = await start({ createDm: async () => view("c1"), syncAll: () => Promise.reject({ code: "delivery.unavailable", message: "offline" }) });
  const client = await create(pack);
  const dm = await client.conversations.createDm("bb");
  const streams = [
    await client.conversations.streamAllDmMessages({ consentStates: [1] }),
    await client.conversations.streamAllMessages({ disableSync: true }),
    await client.conversations.streamGroups(),
    await dm.stream(),
    await client.preferences.streamConsent(),
  ];
  assert.deepEqual(pack.subscriptions.map(({ filter }) => filter), [
    { of: "messages", conversationType: 0, consentStates: [1] },
    { of: "messages" },
    { of: "conversations", conversationType: 1 },
    { of: "messages", conversationId: "c1" },
    { of: "consent" },
  ]);
  assert.deepEqual(pack.calls.map(([name]) => name).filter((name) => name.startsWith("sync")), ["syncAll", "sync", "syncConversation"]);
  pack.subscriptions[3].listener({ type: "message", message: message("m1", "hi") });
  assert.equal((await streams[3].next()).value.content, "hi");
  pack.subscriptions[2].listener({ type: "conversation", conversation: view("g1", { conversationType: 1 }) });
  assert.ok((await streams[2].next()).value instanceof pack.api.Group);
  const records = [{ entityType: 0, entity: "c1", state: 2 }];
  pack.subscriptions[4].listener({ type: "consent", records });
  assert.deepEqual((await streams[4].next()).value, records);
  await Promise.all(streams.map((stream) => stream.end()));
  await settled();
  assert.deepEqual(pack.subscriptions.map(({ ended }) => ended), [1, 1, 1, 1, 1]);
});

test("what a callback throws stays out of the wasm side", async () => {
  const pack = await start();
  const client = await create(pack);
  const stream = await client.conversations.streamAllMessages({
    onError: () => {
      throw new Error("mine");
    },
    onValue: () => {
      throw new Error("mine");
    },
  });
  const { listener } = pack.subscriptions[0];
  const told = [];
  const { error } = console;
  console.error = (thrown) => told.push(thrown.message);
  listener({ type: "message", message: message("m1", "hi") });
  await settled();
  console.error = error;
  assert.deepEqual(told, ["mine"]);
  await stream.end();
});

test("closing ends streams, and later calls reject", async () => {
  const pack = await start();
  const client = await create(pack);
  const stream = await client.conversations.streamAllMessages();
  const loop = (async () => {
    for await (const _ of stream);
  })();
  const closing = client.close();
  await Promise.all([closing, client.close(), loop]);
  assert.equal(pack.calls.filter(([name]) => name === "close").length, 1);
  await rejects(() => client.conversations.sync(), "client.closed", pack.api);
  await rejects(() => client.conversations.streamAllMessages(), "client.closed", pack.api);
  assert.equal(client.inboxId, "aa");
});

test("a panic settles what is pending, ends streams, and a new client works", async () => {
  const pack = await start({ sync: () => new Promise(() => {}), createDm: async () => view("c1") });
  const { api } = pack;
  const client = await create(pack);
  const errors = [];
  const stream = await client.conversations.streamAllMessages({ onError: ({ code }) => errors.push(code) });
  const pending = client.conversations.sync();
  pack.panic("index out of bounds");
  await assert.rejects(pending, (error) => error.code === "client.crashed" && /index out of bounds/.test(error.message));
  assert.deepEqual([errors, stream.isDone], [["client.crashed"], true]);
  assert.equal(pack.subscriptions[0].ended, 0);
  await rejects(() => client.conversations.createDm("bb"), "client.crashed", api);
  await rejects(() => client.conversations.stream(), "client.crashed", api);
  await rejects(() => client.close(), "client.crashed", api);
  const again = await create(pack);
  assert.equal((await again.conversations.createDm("bb")).id, "c1");
});

test("a trap without a word, and a throw at once, settle too", async () => {
  const pack = await start({
    sync: () => {
      throw new TypeError("not a function");
    },
    syncAll: () => {
      throw new WebAssembly.RuntimeError("unreachable");
    },
  });
  const client = await create(pack);
  await rejects(() => client.conversations.sync(), "bug.internal", pack.api);
  await rejects(() => client.conversations.syncAll(), "client.crashed", pack.api);
  await rejects(() => client.conversations.sync(), "client.crashed", pack.api);
});

test("streams of chosen content types, of deletions, and read times", async () => {
  const pack = await start({ createDm: async () => view("c1"), lastReadTimes: async () => [["aa", 7n], ["bb", 9n]] });
  const { ContentType } = pack.api;
  const client = await create(pack);
  const dm = await client.conversations.createDm("bb");
  assert.deepEqual(await dm.lastReadTimes(), new Map([["aa", 7n], ["bb", 9n]]));
  await dm.stream({ contentTypes: [ContentType.Reaction] });
  await client.conversations.streamAllMessages({ excludeContentTypes: [ContentType.Text] });
  const [messages, ids] = [await client.conversations.streamDeletedMessages(), await client.conversations.streamMessageDeletions()];
  assert.deepEqual(
    pack.subscriptions.map(({ filter }) => filter),
    [
      { of: "messages", conversationId: "c1", contentTypes: ["reaction"] },
      { of: "messages", excludeContentTypes: ["text"] },
      { of: "deletions" },
      { of: "deletions" },
    ],
  );
  // One that has expired is what such a stream is for.
  const gone = { ...message("m1", "hi"), expiresAtNs: 1n };
  for (const { listener } of pack.subscriptions.slice(2)) {
    listener({ type: "message", message: message("m0", "hi") });
    listener({ type: "deletion", message: gone });
  }
  const { value } = await messages.next();
  assert.deepEqual([value.id, value.content, (await ids.next()).value], ["m1", "hi", "m1"]);
});

test("a stream does not give what has disappeared while it waited", async () => {
  const pack = await start({ createDm: async () => view("c1") });
  const client = await create(pack);
  const stream = await client.conversations.streamAllMessages({ disableSync: true });
  const [{ listener }] = pack.subscriptions;
  const expiresAtNs = BigInt(Date.now() + 40) * 1_000_000n;
  listener({ type: "message", message: { ...message("m1", "gone"), expiresAtNs } });
  listener({ type: "message", message: message("m2", "stays") });
  while (BigInt(Date.now()) * 1_000_000n < expiresAtNs) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal((await stream.next()).value.id, "m2");
});

test("a local signer signs with its key", async () => {
  const { api } = await start();
  const signer = api.createEOASigner();
  assert.deepEqual(await signer.signMessage("abc"), new Uint8Array([32, 3]));
  assert.equal(await api.generateInboxId({ identifier: "0x1", identifierKind: 0 }), "0x1 1");
  assert.equal(await api.generateInboxId({ identifier: "0x1", identifierKind: 0 }, 2n), "0x1 2");
});

test("debugInfo has the shape other SDKs know", async () => {
  const pack = await start({
    createDm: async () => view("c1"),
    inspect: async () => ({
      conversationId: "c1",
      groups: [
        { groupId: "c2", epoch: 1n },
        { groupId: "c1", epoch: 3n, epochAuthenticator: "ee", sequenceId: 9, pendingIntents: [], rejected: [], failedInstallations: [], hold: HOLD },
      ],
    }),
  });
  const dm = await (await create(pack)).conversations.createDm("bb");
  assert.deepEqual(await dm.debugInfo(), {
    epoch: 3n,
    epochAuthenticator: "ee",
    held: HOLD,
    rejected: [],
    pendingIntents: [],
    failedInstallations: [],
    maybeForked: false,
    forkDetails: "",
    isCommitLogForked: undefined,
    localCommitLog: "",
    remoteCommitLog: "",
    cursor: [{ originatorId: 0, sequenceId: 9n }],
  });
});
