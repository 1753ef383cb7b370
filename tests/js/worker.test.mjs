// The worker entry: the bridge between the classes on the page and the module in a worker.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { deferred, load, loadRemote } from "./load.mjs";

const EMPTY = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
const ACCOUNT = { identifier: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", identifierKind: 0 };
const SIGNER = { type: "EOA", getIdentifier: () => ACCOUNT, signMessage: async () => new Uint8Array(65).fill(7) };
const MEMORY = { dbPath: null };

/** Waits until messages have gone to and fro. */
async function settled() {
  for (let turns = 0; turns < 20; turns += 1) await new Promise((next) => setImmediate(next));
}

const quiet = () => ({ publish() {}, query() {}, newest() {}, lookup() {}, subscribe() {} });

/** A package whose worker side answers what `answers` says. */
async function start({ raw = {}, module = {}, spawn } = {}) {
  const made = [];
  const closed = [];
  let panic;
  const pack = await loadRemote(
    {
      onPanic: (handler) => (panic = handler),
      createClient: async (options) => {
        const number = made.push(options);
        const close = async () => void closed.push(number);
        return { inboxId: "aa", installationId: "0aff", close, ...raw };
      },
      ...module,
    },
    { spawn },
  );
  await pack.api.init(EMPTY).catch((error) => (pack.failure = error));
  return { ...pack, made, closed, panic: (text) => panic(text) };
}

const create = ({ api }, options = {}) => api.Client.create(SIGNER, { delivery: quiet(), ...MEMORY, ...options });
const codeOf = (promise) => promise.then(() => undefined, ({ code }) => code);

/** As browsers do where a script cannot be loaded. */
const refused = (worker) => setImmediate(() => worker.onerror({}));

test("both entries have the same exports", async () => {
  const page = await load("index.ts");
  const { api, workers } = await loadRemote();
  assert.deepEqual(Object.keys(api).sort(), Object.keys(page).sort());
  assert.equal(workers.length, 0, "importing starts nothing");
  for (const name of Object.keys(page).filter((name) => typeof page[name] === "function")) {
    if (!page[name].prototype) continue;
    const own = Object.getOwnPropertyNames(page[name].prototype);
    assert.deepEqual(own.filter((method) => !(method in api[name].prototype)), [], name);
  }
});

test("the tests of the classes pass over the bridge", { timeout: 180_000 }, () => {
  const files = ["client", "streams", "pull", "groups", "installations", "archives"];
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const paths = files.map((name) => fileURLToPath(new URL(`${name}.test.mjs`, import.meta.url)));
  const ran = spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...paths], {
    env: { ...env, DOVETAIL_ENTRY: "worker" },
    encoding: "utf8",
  });
  assert.equal(ran.status, 0, ran.stdout);
  assert.ok(Number(/pass (\d+)/.exec(ran.stdout)?.[1]) > 80, ran.stdout);
});

test("one worker for all, started by the first call", async () => {
  const { api, workers } = await loadRemote({ generateInboxId: async ({ identifier }, nonce) => `${identifier} ${nonce}` });
  // The default file cannot be fetched here: every call says so.
  const both = await Promise.all([api.generateInboxId(ACCOUNT), api.generateInboxId(ACCOUNT)].map(codeOf));
  assert.deepEqual(both, ["wasm.load_failed", "wasm.load_failed"]);
  const given = await Promise.all([api.init(EMPTY), api.generateInboxId(ACCOUNT, 2n), api.init("elsewhere")]);
  assert.equal(given[1], `${ACCOUNT.identifier} 2`);
  assert.deepEqual(workers.map(({ ended }) => ended), [true, false]);
  assert.match(String(workers[1].url), /\/worker-thread\.js$/);
  assert.deepEqual(workers[1].options, { type: "module" });
});

test("without workers, and where one cannot start, the error says so and the next call tries again", async () => {
  const without = await loadRemote({}, { spawn: null });
  await assert.rejects(without.api.init(EMPTY), { name: "DovetailError", code: "wasm.load_failed", retryable: false, message: /no workers/ });

  let failing = true;
  const late = await start({ spawn: (worker, serve) => (failing ? refused(worker) : serve()) });
  assert.deepEqual([late.failure.name, late.failure.code, late.failure.retryable], ["DovetailError", "wasm.load_failed", true]);
  assert.match(late.failure.message, /worker-thread\.js cannot be loaded.*worker-src/);
  failing = false;
  await late.api.init(EMPTY);
  assert.equal((await create(late)).inboxId, "aa");
  assert.deepEqual(late.workers.map(({ ended }) => ended), [true, false]);

  const thrown = await start({
    spawn: () => {
      throw new Error("access is denied");
    },
  });
  assert.match(thrown.failure.message, /worker-thread\.js cannot be loaded: access is denied/);
  assert.equal(thrown.failure.code, "wasm.load_failed");
});

test("sources: addresses of the page, bytes, modules, responses; nothing of the app's is taken away", async () => {
  const sources = [
    EMPTY,
    EMPTY.buffer.slice(0),
    new DataView(EMPTY.buffer),
    new WebAssembly.Module(EMPTY),
    new Response(EMPTY, { headers: { "content-type": "application/wasm" } }),
    Promise.resolve(new Response(EMPTY)),
  ];
  for (const source of sources) {
    const { api, workers } = await loadRemote();
    await api.init(source);
    assert.deepEqual(workers[0].given.flatMap(({ transfer }) => transfer), []);
  }
  assert.equal(EMPTY.length, 8);
  const asked = [];
  const realFetch = globalThis.fetch;
  globalThis.fetch = async (url) => (asked.push(String(url)), new Response(EMPTY));
  globalThis.document = { baseURI: "https://example.org/app/", addEventListener() {}, removeEventListener() {} };
  try {
    for (const source of ["wasm/a.wasm", "/a.wasm", new URL("https://cdn.example.org/a.wasm")]) {
      await (await loadRemote()).api.init(source);
    }
  } finally {
    globalThis.fetch = realFetch;
    delete globalThis.document;
  }
  assert.deepEqual(asked, ["https://example.org/app/wasm/a.wasm", "https://example.org/a.wasm", "https://cdn.example.org/a.wasm"]);
  for (const [source, expected] of [
    [5, { code: "input.value" }],
    [() => {}, { code: "input.value", message: /cannot be sent to the worker/ }],
    [new Response("", { status: 503 }), { code: "wasm.load_failed", retryable: true, message: /answered 503/ }],
    [new Response("<!doctype html>", { headers: { "content-type": "text/html" } }), { code: "wasm.load_failed", message: /HTML page/ }],
    [new Uint8Array([1, 2, 3, 4]), { code: "wasm.load_failed", message: /not a wasm file/ }],
  ]) {
    const { api } = await loadRemote();
    await assert.rejects(api.init(source), { name: "DovetailError", ...expected });
    await api.init(EMPTY);
  }
});

test("errors cross with code and retryable, unexpected ones become bug.internal, a trap is a crash", async () => {
  const errors = [
    { code: "delivery.unavailable", message: "offline", retryable: true },
    new TypeError("mine"),
    new WebAssembly.RuntimeError("unreachable"),
  ];
  const pack = await start({ raw: { list: () => Promise.reject(errors.shift()) } });
  const client = await create(pack);
  const { conversations } = client;
  await assert.rejects(conversations.list(), { name: "DovetailError", code: "delivery.unavailable", message: "offline", retryable: true });
  await assert.rejects(conversations.list(), { code: "bug.internal", message: /mine/ });
  await assert.rejects(conversations.list(), { code: "client.crashed", message: /unreachable/ });
  await assert.rejects(client.isRegistered(), { code: "client.crashed" });
  assert.equal((await create(pack)).inboxId, "aa");
});

test("a panic rejects what waits and ends streams; what is made afterwards works, in the same worker", async () => {
  const never = () => new Promise(() => {});
  const listeners = [];
  const pack = await start({
    raw: {
      list: never,
      events: async () => ({ next: never, end() {} }),
      sync: async () => {},
      subscribe: async (_, listener) => {
        listeners.push(listener);
        return { end() {} };
      },
      isRegistered: async () => true,
    },
  });
  const client = await create(pack);
  const events = await client.streamEvents();
  const stream = await client.conversations.stream();
  const waiting = [client.conversations.list(), events.next()].map(codeOf);
  const ended = codeOf(
    (async () => {
      for await (const _ of stream);
    })(),
  );
  await settled();
  pack.panic("index out of bounds");
  assert.deepEqual(await Promise.all(waiting), ["client.crashed", "client.crashed"]);
  await Promise.race([ended, settled().then(() => assert.fail("the stream goes on"))]);
  await assert.rejects(client.isRegistered(), { code: "client.crashed", message: /index out of bounds/ });
  assert.deepEqual([pack.workers.length, await (await create(pack)).isRegistered()], [1, true]);
  await settled();
  assert.deepEqual(pack.closed, [1], "the crashed one is given up");
});

test("a client made after a panic that the page had not heard of is closed", async () => {
  const pack = await start();
  const slow = create(pack);
  // News of the panic are on their way, and the call too.
  pack.panic("first");
  assert.equal(await codeOf(slow), "client.crashed");
  await settled();
  assert.deepEqual([pack.made.length, pack.closed], [1, [1]]);
  assert.equal((await create(pack)).inboxId, "aa");
});

test("a worker that is gone rejects everything, and the next call starts another from the same place", async () => {
  for (const end of [(worker) => worker.onmessageerror(), (worker) => worker.inside.onmessageerror()]) {
    const pack = await start({ raw: { list: () => new Promise(() => {}), isRegistered: async () => true } });
    const client = await create(pack);
    const waiting = codeOf(client.conversations.list());
    await settled();
    end(pack.workers[0]);
    assert.equal(await waiting, "client.crashed");
    assert.deepEqual([await codeOf(client.isRegistered()), await codeOf(client.close())], ["client.crashed", "client.crashed"]);
    assert.ok(pack.workers[0].ended);
    assert.equal(await (await create(pack)).isRegistered(), true);
    assert.equal(pack.workers.length, 2);
  }
});

test("an error inside a running worker ends nothing", async () => {
  const pack = await start({ raw: { isRegistered: async () => true } });
  const client = await create(pack);
  pack.workers[0].onerror({ message: "Uncaught Error: mine" });
  assert.deepEqual([await client.isRegistered(), pack.workers.length], [true, 1]);
});

test("long bytes of results are handed over, bytes of the app never", async () => {
  const long = new Uint8Array(100_000).fill(5);
  const seen = [];
  const pack = await start({
    raw: {
      createDm: async () => ({ id: "c1", conversationType: 0, createdAtNs: 1n, state: "active", consentState: 1 }),
      send: async (id, content) => (seen.push(content), "m1"),
      lastMessage: async () => ({
        id: "m1",
        sentAtNs: 5n,
        insertedAtNs: 5n,
        deliveryStatus: 1,
        kind: 0,
        content: { type: { authorityId: "a", typeId: "b", versionMajor: 1, versionMinor: 0 }, parameters: {}, content: long },
      }),
    },
  });
  const client = await create(pack);
  const dm = await client.conversations.createDm("bb");
  const whole = new Uint8Array(1_000_000).fill(9);
  const type = { authorityId: "a", typeId: "b", versionMajor: 1, versionMinor: 0 };
  await dm.send({ type, parameters: JSON.parse('{"__proto__":"odd"}'), content: whole.subarray(10, 30) });
  assert.deepEqual([whole.length, seen[0].content, seen[0].content.buffer.byteLength], [1_000_000, new Uint8Array(20).fill(9), 20]);
  assert.deepEqual(Object.entries(seen[0].parameters), [["__proto__", "odd"]]);
  assert.deepEqual((await dm.lastMessage()).encodedContent.content, new Uint8Array(100_000).fill(5));
  assert.equal(long.length, 0, "handed over");
  assert.deepEqual(pack.workers[0].given.flatMap(({ transfer }) => transfer), []);
});

test("an app's delivery is called on the page, with its own this, and its answers are read there", async () => {
  const pack = await start();
  const payload = new Uint8Array(1_000_000).subarray(5, 8);
  class Envelope {
    get sequenceId() {
      return 4;
    }
    get serverNs() {
      return 5n;
    }
    topic = "00";
    payload = payload;
    extra = () => {};
  }
  class Service {
    asked = [];
    ended = [];
    async publish(batch) {
      this.asked.push(batch);
      return batch.map(() => new Envelope());
    }
    query(...given) {
      this.asked.push(given);
      return [new Envelope()];
    }
    async newest() {
      return [undefined, null, new Envelope()];
    }
    async lookup() {
      return [["aa", () => {}], []];
    }
    subscribe(topics, wake) {
      this.asked.push(topics);
      this.wake = wake;
      return () => this.ended.push(topics);
    }
  }
  const service = new Service();
  const client = await create(pack, { delivery: service });
  const [{ delivery }] = pack.made;
  const batch = [{ topic: "00", payload: new Uint8Array(70_000), hash: new Uint8Array(32), identifiers: ["0x"] }];
  const copy = structuredClone(batch);
  assert.deepEqual(await delivery.publish(batch), [{ sequenceId: 4, serverNs: 5n }]);
  assert.deepEqual(service.asked, [copy]);
  assert.equal(batch[0].payload.length, 0, "handed over");
  const envelope = { sequenceId: 4, serverNs: 5n, topic: "00", payload: new Uint8Array(3), hash: undefined };
  const [read] = await delivery.query([{ topic: "00", after: 0 }], 10);
  assert.deepEqual([read, read.payload.buffer.byteLength, payload.length], [envelope, 3, 3]);
  assert.deepEqual(service.asked[1], [[{ topic: "00", after: 0 }], 10]);
  assert.deepEqual(await delivery.newest(["00", "01", "02"]), [undefined, undefined, envelope]);
  assert.deepEqual(await delivery.lookup(["0x", "0y"]), [["aa", false], []]);

  const woken = [];
  const end = delivery.subscribe(["00"], (topic) => woken.push(topic));
  await settled();
  service.wake("00");
  service.wake(() => {});
  await settled();
  assert.deepEqual([woken, service.asked[2]], [["00", undefined], ["00"]]);
  end();
  service.wake("00");
  await settled();
  assert.deepEqual([woken.length, service.ended], [2, [["00"]]]);
  // What is left is ended with the last client that uses it.
  delivery.subscribe(["01"], () => {});
  await settled();
  await client.close();
  assert.deepEqual(service.ended, [["00"], ["01"]]);
  await assert.rejects(delivery.lookup([]), { code: "client.closed" });
});

test("a call under way when the client is closed still has its delivery", async () => {
  const gate = deferred();
  const pack = await start({
    raw: {
      canMessage: async () => {
        await gate.promise;
        return pack.made[0].delivery.lookup([]);
      },
    },
  });
  const client = await create(pack, { delivery: { ...quiet(), lookup: async () => [["aa"]] } });
  const call = client.canMessage([ACCOUNT]);
  await settled();
  await client.close();
  await settled();
  gate.resolve();
  assert.equal((await call).size, 1);
  await settled();
  await assert.rejects(pack.made[0].delivery.lookup([]), { code: "client.closed" });
});

test("what a delivery throws: refusals stay refusals, nonsense stays nonsense", async () => {
  const { api, ...pack } = await start();
  const service = quiet();
  await create({ api }, { delivery: service });
  const [{ delivery }] = pack.made;
  const thrown = async (what) => {
    service.lookup = () => {
      throw what;
    };
    return delivery.lookup([]).then(() => assert.fail(), (error) => error);
  };
  assert.deepEqual(await thrown(new api.DeliveryRefused("too large")), { message: "too large", refused: true });
  assert.deepEqual(await thrown(Object.assign(new Error("no"), { refused: true })), { message: "no", refused: true });
  assert.deepEqual(await thrown(new Error("no network")), { message: "no network" });
  assert.deepEqual(await thrown("text"), { message: "text" });
  for (const odd of [undefined, null, 5, { message: 5 }, Object.defineProperty({}, "message", { get: () => assert.fail() })]) {
    assert.deepEqual(await thrown(odd), { message: "no reason given" });
  }
  for (const [method, answer, expected] of [
    ["publish", "text", false],
    ["publish", [5, { sequenceId: () => {} }], [false, { sequenceId: false, serverNs: false }]],
    ["query", [{ hash: "text" }], [{ sequenceId: false, serverNs: false, topic: false, payload: false, hash: false }]],
    ["lookup", ["aa"], [false]],
  ]) {
    service[method] = async () => answer;
    assert.deepEqual(await delivery[method]([]), expected);
  }
});

test("signers are asked on the page, for a client and without one", async () => {
  const pack = await start({ module: { revokeInstallations: async ({ sign }) => void (await sign("revoke")) } });
  const texts = [];
  const signer = {
    ...SIGNER,
    signMessage: async (text) => {
      if (texts.push(text) === 2) throw new Error("declined");
      return new Uint8Array(1000).subarray(0, 65);
    },
  };
  const client = await pack.api.Client.create(signer, { delivery: quiet(), ...MEMORY });
  const [{ sign, dbPath }] = pack.made;
  assert.equal(dbPath, null);
  assert.deepEqual(await sign("first"), new Uint8Array(65));
  await assert.rejects(sign("second"), { message: "declined" });
  await pack.api.Client.revokeInstallations(signer, "aa", ["bb"], { delivery: quiet() });
  assert.deepEqual(texts, ["first", "second", "revoke"]);
  await client.close();
  await assert.rejects(sign("closed"), { code: "client.closed" });
});

test("a BrowserDelivery is made in the worker and follows its switch; one that an app changed is called", async () => {
  const pack = await start({ module: { inboxStates: async () => [] } });
  const { BrowserDelivery } = pack.api;
  const delivery = new BrowserDelivery({ name: "one" });
  delivery.offline = true;
  const [first, second] = [await create(pack, { delivery }), await create(pack, { delivery })];
  const [inside, same] = pack.made.map((options) => options.delivery);
  assert.equal(inside, same);
  assert.deepEqual([inside.constructor.name, inside.offline], ["BrowserDelivery", true]);
  delivery.offline = false;
  await settled();
  assert.deepEqual([delivery.offline, inside.offline], [false, false]);
  await first.close();
  await settled();
  assert.deepEqual(await inside.query([], 1), [], "the other still uses it");
  await second.close();
  await settled();
  await assert.rejects(inside.query([], 1), /closed/);
  // Used again it is made again; closed on the page it is closed there.
  await create(pack, { delivery });
  const again = pack.made[2].delivery;
  assert.notEqual(again, inside);
  await delivery.close();
  await assert.rejects(again.query([], 1), /closed/);
  await assert.rejects(delivery.query([], 1), /closed/);

  const changed = new BrowserDelivery();
  changed.query = async () => [{ sequenceId: 1, serverNs: 2n, topic: "mine", payload: new Uint8Array() }];
  class Own extends BrowserDelivery {
    async query() {
      return [];
    }
  }
  await create(pack, { delivery: changed });
  await create(pack, { delivery: new Own() });
  assert.equal((await pack.made[3].delivery.query([], 1))[0].topic, "mine");
  assert.deepEqual(await pack.made[4].delivery.query([], 1), []);
});
