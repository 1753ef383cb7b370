// Events, the durable stream and replays over a stand-in for the wasm side.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deferred, load, settled } from "./load.mjs";

const EMPTY = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
const ACCOUNT = { identifier: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", identifierKind: 0 };
const DELIVERY = { publish() {}, query() {}, newest() {}, lookup() {}, subscribe() {} };
const SIGNER = { type: "EOA", getIdentifier: () => ACCOUNT, signMessage: async () => new Uint8Array(65) };
const DONE = { done: true, value: undefined };

const message = (id) => ({
  id,
  conversationId: "c1",
  groupId: "c1",
  senderInboxId: "bb",
  senderInstallationId: "ff",
  sentAtNs: 5n,
  insertedAtNs: 6n,
  kind: 0,
  deliveryStatus: 1,
  cursor: `db-${id}`,
  content: {
    type: { authorityId: "xmtp.org", typeId: "text", versionMajor: 1, versionMinor: 0 },
    parameters: {},
    content: new TextEncoder().encode(`text ${id}`),
  },
});

/** Something taken one by one, which a test fills; it notes what is asked of it. */
class Taken {
  log = [];
  #values = [];
  #taker;
  #ended = false;
  fails = {};

  push(...values) {
    this.#values.push(...values);
    this.#serve();
  }

  next() {
    this.log.push("next");
    if (this.fails.next) return Promise.reject(this.fails.next);
    this.#taker = deferred();
    const { promise } = this.#taker;
    this.#serve();
    return promise;
  }

  acknowledge() {
    this.log.push("acknowledge");
    return this.fails.acknowledge ? Promise.reject(this.fails.acknowledge) : Promise.resolve();
  }

  end() {
    this.log.push("end");
    this.#ended = true;
    this.#serve();
  }

  #serve() {
    const taker = this.#taker;
    if (!taker || (!this.#ended && this.#values.length === 0)) return;
    this.#taker = undefined;
    taker.resolve(this.#ended ? undefined : this.#values.shift());
  }
}

/** Events know no acknowledgement. */
class Events extends Taken {
  acknowledge = undefined;
}

async function start() {
  const calls = [];
  const opened = [];
  let panic;
  const opens = (name, Kind) => async (...given) => {
    calls.push([name, ...given]);
    const taken = new Kind();
    opened.push(taken);
    return taken;
  };
  const raw = {
    inboxId: "aa",
    installationId: "0aff",
    events: opens("events", Events),
    consume: opens("consume", Taken),
    replay: opens("replay", Taken),
    replayRecent: opens("replayRecent", Taken),
    conversation: async (id) => ({ id, conversationType: 0, state: "active", consentState: 1 }),
    syncConversation: () => Promise.reject({ code: "delivery.unavailable", message: "offline", retryable: true }),
    close: async () => void calls.push(["close"]),
  };
  const api = await load("index.ts", {
    onPanic: (handler) => (panic = handler),
    createClient: async () => raw,
    version: () => "1.2.3",
  });
  await api.init(EMPTY);
  const client = await api.Client.create(SIGNER, { delivery: DELIVERY });
  return { api, client, calls, raw, last: () => opened.at(-1), opened, panic: (text) => panic(text) };
}

/** What the page was told of errors nobody took. */
async function reported(run) {
  const seen = [];
  const before = globalThis.reportError;
  globalThis.reportError = (error) => seen.push(error);
  try {
    await run();
  } finally {
    globalThis.reportError = before;
  }
  return seen;
}

const CONSENT = { type: "consent.changed", entityType: 0, entity: "c1", state: 2 };

test("CONS-041 events come in order, as frozen objects, to the loop", async () => {
  const { client, calls, last } = await start();
  const stream = await client.streamEvents({ kinds: ["consent.changed"], conversationIds: ["c1"], contentTypes: [13, "mine"] });
  assert.deepEqual(calls.at(-1), [
    "events",
    { kinds: ["consent.changed"], conversationIds: ["c1"], contentTypes: ["text", "mine"] },
    false,
  ]);
  const members = { type: "conversation.membership_changed", groupId: "c1", addedInboxIds: ["bb"], removedInboxIds: [] };
  last().push({ ...CONSENT }, members);
  const seen = [];
  for await (const event of stream) if (seen.push(event) === 2) break;
  assert.deepEqual(seen, [CONSENT, members]);
  assert.ok(Object.isFrozen(seen[0]) && Object.isFrozen(seen[1].addedInboxIds));
  await settled();
  assert.deepEqual([stream.isDone, last().log.at(-1)], [true, "end"]);
  assert.deepEqual(await stream.next(), DONE);
});

test("nothing is asked for before a loop asks, and then once at a time", async () => {
  const { client, last } = await start();
  const stream = await client.streamEvents();
  assert.deepEqual(last().log, []);
  const pending = [stream.next(), stream.next(), stream.next()];
  await settled();
  assert.deepEqual(last().log, ["next"]);
  last().push({ ...CONSENT }, { ...CONSENT, state: 1 });
  await settled();
  assert.deepEqual(last().log, ["next", "next", "next"]);
  await stream.end();
  const states = (await Promise.all(pending)).map(({ value }) => value?.state);
  assert.deepEqual(states, [2, 1, undefined]);
});

test("calls of a callback never overlap, and one that throws ends nothing", async () => {
  const { client, calls, last } = await start();
  const gate = deferred();
  const log = [];
  const errors = [];
  const stream = await client.streamEvents({
    onValue: async ({ state }) => {
      log.push(`begins ${state}`);
      if (state === 0) throw new Error("mine");
      if (state === 1) await gate.promise;
      log.push(`ends ${state}`);
    },
    onError: (error) => errors.push(error.message),
  });
  assert.equal(calls.at(-1)[2], true, "what a callback is busy with counts");
  for (const state of [0, 1, 2]) last().push({ ...CONSENT, state });
  await settled();
  assert.deepEqual(log, ["begins 0", "begins 1"]);
  assert.equal(last().log.filter((call) => call === "next").length, 2);
  gate.resolve();
  await settled();
  assert.deepEqual(log, ["begins 0", "begins 1", "ends 1", "begins 2", "ends 2"]);
  assert.deepEqual([errors, stream.isDone], [["mine"], false]);
  const waiting = stream.next();
  await stream.end();
  assert.deepEqual(await waiting, DONE);
});

test("what a callback throws is told to the page when nobody else takes it", async () => {
  const { client, last } = await start();
  const seen = await reported(async () => {
    const stream = await client.streamEvents({
      onValue: () => {
        throw new Error("mine");
      },
      onEnd: () => {
        throw new Error("mine too");
      },
    });
    last().push({ ...CONSENT });
    await settled();
    await stream.end();
  });
  assert.deepEqual(seen.map(({ message }) => message), ["mine", "mine too"]);
});

test("two subscriptions do not wait for each other", async () => {
  const { client, opened } = await start();
  const never = deferred();
  const seen = [];
  await client.streamEvents({ onValue: () => never.promise });
  await client.streamEvents({ onValue: ({ state }) => seen.push(state) });
  for (const one of opened) one.push({ ...CONSENT, state: 1 }, { ...CONSENT, state: 2 });
  await settled();
  assert.deepEqual(seen, [1, 2]);
  assert.equal(opened[0].log.length, 1);
});

test("lagged comes like any other event", async () => {
  const { client, last } = await start();
  const stream = await client.streamEvents({ kinds: [] });
  last().push({ type: "lagged", discarded: 7 });
  assert.deepEqual((await stream.next()).value, { type: "lagged", discarded: 7 });
  await stream.end();
});

test("a callback may end its stream and close the client", async () => {
  for (const how of ["end", "close"]) {
    const { client, calls, last } = await start();
    const log = [];
    let done;
    const over = new Promise((resolve) => (done = resolve));
    const stream = await client.streamEvents({
      onValue: async () => {
        await (how === "end" ? stream.end() : client.close());
        log.push("completed");
        done();
      },
      onEnd: () => log.push("onEnd"),
    });
    last().push({ ...CONSENT }, { ...CONSENT });
    await over;
    await settled();
    assert.deepEqual(log, ["onEnd", "completed"]);
    assert.deepEqual([last().log, stream.isDone], [["next", "end"], true]);
    assert.equal(calls.some(([name]) => name === "close"), how === "close");
  }
});

test("a closed client ends loops and a crashed one fails them", async () => {
  const closing = await start();
  const one = await closing.client.streamEvents();
  const pending = one.next();
  await settled();
  await closing.client.close();
  assert.deepEqual(await pending, DONE);
  await assert.rejects(closing.client.streamEvents(), { code: "client.closed" });

  const crashing = await start();
  const errors = [];
  const two = await crashing.client.streamEvents({ onError: (error) => errors.push(error.code) });
  const lost = two.next();
  await settled();
  crashing.panic("at src/nowhere.rs");
  await assert.rejects(lost, { code: "client.crashed" });
  assert.deepEqual([errors, two.isDone, crashing.last().log], [["client.crashed"], true, ["next"]]);
});

test("the durable stream acknowledges by asking for more, and leaving a loop does not", async () => {
  const { client, calls, last } = await start();
  const scope = { conversationIds: ["c1"], conversationType: 0, consentStates: [1] };
  const stream = await client.conversations.consume({ scope, consentStates: [0, 1], contentTypes: [13] });
  assert.deepEqual(calls.at(-1), [
    "consume",
    { conversationIds: ["c1"], conversationType: 0, scopeStates: [1], consentStates: [0, 1], contentTypes: ["text"] },
  ]);
  last().push(message("1"), message("2"), message("3"));
  const seen = [];
  for await (const { id, content, cursor } of stream) {
    seen.push([id, content, cursor]);
    if (id === "2") break;
  }
  assert.deepEqual(seen, [["1", "text 1", "db-1"], ["2", "text 2", "db-2"]]);
  await settled();
  assert.deepEqual(last().log, ["next", "next", "end"]);
});

test("a callback acknowledges when what it returned is settled", async () => {
  const { client, last } = await start();
  const gate = deferred();
  const stream = await client.conversations.consume({ onValue: () => gate.promise });
  last().push(message("1"));
  await settled();
  assert.deepEqual(last().log, ["next"]);
  gate.resolve();
  await settled();
  assert.deepEqual(last().log, ["next", "acknowledge", "next"]);
  await stream.end();
  await settled();
  assert.equal(last().log.at(-1), "end");
});

test("a callback that ends the stream and returns has still dealt with its message", async () => {
  const { client, last } = await start();
  const stream = await client.conversations.consume({ onValue: () => void stream.end() });
  last().push(message("1"), message("2"));
  await settled();
  assert.deepEqual(last().log, ["next", "acknowledge", "end"]);
});

test("a callback that fails ends the durable stream without acknowledging", async () => {
  const { client, last } = await start();
  const log = [];
  const stream = await client.conversations.consume({
    onValue: async () => {
      throw new Error("mine");
    },
    onError: (error) => log.push(error.message),
    onEnd: () => log.push("onEnd"),
  });
  last().push(message("1"), message("2"));
  await settled();
  assert.deepEqual([log, last().log, stream.isDone], [["mine", "onEnd"], ["next", "end"], true]);
});

test("a stream that fails rejects once, and an acknowledgement that fails is told", async () => {
  const { api, client, last } = await start();
  const owned = { code: "stream.owned", message: "another tab has it", retryable: true };
  const stream = await client.conversations.consume();
  last().fails.next = owned;
  await assert.rejects(stream.next(), (error) => error instanceof api.DovetailError && error.code === "stream.owned");
  assert.deepEqual(await stream.next(), DONE);

  const errors = [];
  const second = await client.conversations.consume({ onValue: () => {}, onError: ({ code }) => errors.push(code) });
  last().fails.acknowledge = owned;
  last().push(message("1"), message("2"));
  await settled();
  assert.deepEqual([errors, second.isDone, last().log], [["stream.owned"], true, ["next", "acknowledge", "end"]]);
});

test("a replay begins where it is told to", async () => {
  const { client, calls, last } = await start();
  const stream = await client.conversations.replay("db-1", { conversationIds: ["c1"], consentStates: [] });
  assert.deepEqual(calls.at(-1), ["replay", "db-1", { conversationIds: ["c1"], consentStates: [] }]);
  last().push(message("2"));
  assert.equal((await stream.next()).value.id, "2");
  await client.conversations.replay();
  assert.deepEqual(calls.at(-1), ["replay", undefined, {}]);
});

test("DMS-016 a conversation's stream can begin with its newest messages, offline too", async () => {
  const { client, calls, last } = await start();
  const dm = await client.conversations.getConversationById("c1");
  const stream = await dm.stream({ recent: 2 });
  assert.deepEqual(calls.at(-1), ["replayRecent", "c1", 2]);
  last().push(message("1"), message("2"));
  assert.deepEqual([(await stream.next()).value.id, (await stream.next()).value.id], ["1", "2"]);
  await stream.end();
});

test("bad arguments reject with input.value", async () => {
  const { client } = await start();
  const dm = await client.conversations.getConversationById("c1");
  for (const call of [
    () => client.streamEvents(null),
    () => client.streamEvents({ kinds: "consent.changed" }),
    () => client.streamEvents({ conversationIds: [5] }),
    () => client.streamEvents({ contentTypes: [99] }),
    () => client.conversations.consume(5),
    () => client.conversations.consume({ scope: "all" }),
    () => client.conversations.consume({ scope: { consentStates: [7] } }),
    () => client.conversations.consume({ consentStates: 1 }),
    () => client.conversations.replay(5),
    () => client.conversations.replay("db-1", { conversationType: "dm" }),
    () => dm.stream({ recent: -1 }),
  ]) {
    const promise = call();
    assert.ok(promise instanceof Promise);
    await assert.rejects(promise, { code: "input.value" });
  }
});

test("what is no callback is told before anything is opened", async () => {
  const { Core } = await load("core.ts");
  const core = new Core({ inboxId: "a", installationId: "b" }, {}, undefined);
  const open = () => assert.fail("opened");
  await assert.rejects(core.pull(open, (raw) => raw, { onValue: 4 }), { code: "input.value" });
});
