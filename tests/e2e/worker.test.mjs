// The worker entry in Chromium: the same client, with the module and its databases in a worker.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, world } from "./support.mjs";

const place = world({ entry: "worker" });
const KEY = Array.from({ length: 32 }, (_, at) => at);

/** What the page itself compiled or loaded of the module: nothing. */
async function loadedByPage(page) {
  return page.evaluate(() => [
    ...compiled,
    ...performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname).filter((path) => /wasm|index\.js/.test(path)),
  ]);
}

/** A page that notes what wasm it compiles. */
async function page() {
  const fresh = await place.page();
  await fresh.addInitScript(() => {
    globalThis.compiled = [];
    for (const name of ["compile", "compileStreaming", "instantiate", "instantiateStreaming"]) {
      const real = WebAssembly[name];
      WebAssembly[name] = (...given) => (compiled.push(name), real.apply(WebAssembly, given));
    }
  });
  await place.reload(fresh);
  return fresh;
}

/** Asks the page again and again until the answer is true. */
async function eventually(page, ask, what) {
  for (const end = Date.now() + 15_000; Date.now() < end; await new Promise((go) => setTimeout(go, 50))) {
    if (await page.evaluate(ask)) return;
  }
  assert.fail(`never happened: ${what}`);
}

test("BR-001 DMS-007 BR-081 two who write apart see one conversation, also after a reload", async () => {
  const tab = await page();
  const ids = await tab.evaluate(async () => {
    const ids = {};
    for (const name of ["ada", "ben"]) ids[name] = await open(name, { log: "worker-story", counted: false });
    for (const name of ["ada", "ben"]) people[name].delivery.offline = true;
    return ids;
  });
  assert.equal(tab.workers().length, 1);
  const offline = await failure(tab, () => people.ada.client.conversations.syncAll());
  assert.equal(offline.code, "delivery.unavailable");
  const groups = await tab.evaluate(async (ids) => {
    const groups = [];
    for (const [name, peer] of [["ada", "ben"], ["ben", "ada"]]) {
      const dm = await people[name].client.conversations.createDm(ids[peer].inboxId);
      await dm.sendText(`hello from ${name}`);
      groups.push(dm.id);
    }
    for (const name of ["ada", "ben"]) people[name].delivery.offline = false;
    for (let round = 0; round < 3; round += 1) {
      for (const name of ["ada", "ben"]) await people[name].client.conversations.syncAll();
    }
    return groups.sort();
  }, ids);
  const check = async () => {
    const [[ada, ...more], [ben]] = await tab.evaluate(() => Promise.all([view("ada"), view("ben")]));
    assert.deepEqual(more, []);
    assert.deepEqual([ada.groups, ben.groups, ada.winner], [groups, groups, ben.winner]);
    assert.deepEqual([...ada.texts].sort(), ["hello from ada", "hello from ben"]);
    assert.deepEqual([ben.texts, ada.rejected, ada.pending], [ada.texts, [], 0]);
    return ada.texts;
  };
  const texts = await check();
  assert.deepEqual(await loadedByPage(tab), []);
  await place.reload(tab);
  const again = await tab.evaluate(async () => {
    // Twice at once: one installation.
    const [ada, twice] = await Promise.all([1, 2].map(() => open("ada", { log: "worker-story", counted: false })));
    return [ada, twice, await open("ben", { log: "worker-story", counted: false })];
  });
  assert.deepEqual(again, [ids.ada, ids.ada, ids.ben]);
  assert.deepEqual(await check(), texts);
  assert.deepEqual(await loadedByPage(tab), []);
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("a delivery of the app stays on the page: it is asked, may refuse, fail and wake", async () => {
  const tab = await page();
  const got = await tab.evaluate(async () => {
    const log = "worker-delivery";
    for (const name of ["ada", "ben"]) await open(name, { log });
    const { ada, ben } = people;
    const dm = await ada.client.conversations.createDm(ben.client.inboxId);
    await dm.sendText("asked");
    await dm.publishMessages();
    // Woken, without a call.
    await until(async () => (await ben.client.conversations.list()).length === 1);
    const { publish } = ada.delivery;
    const failing = (thrown) => {
      ada.delivery.publish = async () => {
        throw thrown;
      };
    };
    const statuses = async () => (await dm.messages()).map(({ deliveryStatus }) => deliveryStatus);
    failing(new Error("no network today"));
    await dm.sendText("later");
    const failed = await dm.publishMessages().catch(({ code, message }) => [code, message.includes("no network today")]);
    const waiting = await statuses();
    ada.delivery.publish = publish;
    await dm.publishMessages();
    failing(new dovetail.DeliveryRefused("too much of it"));
    await dm.sendText("never");
    // It may be refused before this asks.
    await dm.publishMessages().catch(() => {});
    await until(async () => (await statuses()).at(-1) !== 0);
    await ben.client.conversations.syncAll();
    return { failed, waiting, handed: ada.handed > 0, his: (await view("ben"))[0].texts, hers: await statuses() };
  });
  assert.deepEqual(got, {
    failed: ["delivery.unavailable", true],
    waiting: [1, 0],
    handed: true,
    his: ["asked", "later"],
    hers: [1, 1, 2],
  });
  assert.deepEqual(await loadedByPage(tab), []);
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("CONS-041 PROC-026 codecs, streams, events and the durable stream", async () => {
  const tab = await page();
  const got = await tab.evaluate(async () => {
    const log = "worker-streams";
    const type = { authorityId: "example.org", typeId: "poll", versionMajor: 1, versionMinor: 0 };
    const codec = {
      contentType: type,
      encode: ({ votes }) => ({ type, parameters: {}, content: new Uint8Array([0, votes, 0]).subarray(1, 2) }),
      decode: ({ content }) => ({ votes: content[0] }),
      fallback: () => "a poll",
      shouldPush: () => true,
    };
    for (const name of ["ada", "ben"]) await open(name, { log, codecs: [codec], counted: false });
    const { ada, ben } = people;
    const dm = await ada.client.conversations.createDm(ben.client.inboxId);
    const streamed = [];
    const ended = [];
    await ben.client.conversations.streamAllMessages({ onValue: ({ content }) => streamed.push(content), onEnd: () => ended.push("stream") });
    const events = await ben.client.streamEvents({ kinds: ["message.received"], onEnd: () => ended.push("events") });
    for (const text of ["one", "two"]) await dm.sendText(text);
    await dm.send(codec.encode({ votes: 7 }));
    await until(() => streamed.length === 3);
    const told = [(await events.next()).value.type, (await events.next()).value.contentType.typeId];
    const durable = await ben.client.conversations.consume();
    const other = await ben.client.conversations.consume().then(() => "two at once", ({ code }) => code);
    const consumed = [];
    for await (const { content } of durable) if (consumed.push(content) === 2) break;
    const [recent] = await ben.client.conversations.list();
    const latest = await (await recent.stream({ recent: 1 })).next();
    const before = (await (await ben.client.conversations.consume()).next()).value.content;
    const pending = events.next().then(() => events.next());
    await ben.client.close();
    return { streamed, told, consumed, other, before, latest: latest.value.content, after: await pending, ended: ended.sort() };
  });
  assert.deepEqual(got, {
    streamed: ["one", "two", { votes: 7 }],
    told: ["message.received", "text"],
    consumed: ["one", "two"],
    other: "stream.owned",
    before: "two",
    latest: { votes: 7 },
    after: { done: true, value: undefined },
    ended: ["events", "stream"],
  });
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("an archive is made and read, with progress", async () => {
  const tab = await page();
  const got = await tab.evaluate(async (bytes) => {
    const key = Uint8Array.from(bytes);
    const log = "worker-archive";
    for (const name of ["ada", "ben"]) await open(name, { log, counted: false });
    const dm = await people.ada.client.conversations.createDm(people.ben.client.inboxId);
    await dm.sendText("kept");
    await dm.publishMessages();
    await dm.updateConsentState(dovetail.ConsentState.Denied);
    const file = await people.ada.client.createArchive({}, key);
    const about = await people.ada.client.archiveMetadata(file, key);
    await open("ada", { log, dbPath: "worker-archive-new", counted: false });
    const progress = [];
    const events = await people.ada.client.streamEvents({ kinds: ["archive.restored"] });
    await people.ada.client.importArchive(file, key, { onProgress: (one) => progress.push(one) });
    const [restored] = await people.ada.client.conversations.list({ consentStates: [dovetail.ConsentState.Denied] });
    const wrong = await people.ada.client.importArchive(file, new Uint8Array(32)).then(() => "", ({ code }) => code);
    return {
      elements: about.elements,
      texts: (await restored.messages()).map(({ content }) => content),
      id: restored.id === dm.id,
      progress: progress.at(-1).readBytes === file.length,
      event: (await events.next()).value,
      wrong,
    };
  }, KEY);
  assert.deepEqual(got, {
    elements: [0, 1],
    texts: ["kept"],
    id: true,
    progress: true,
    event: { type: "archive.restored", complete: true },
    wrong: "archive.key",
  });
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

/** Two who write, one of them with an open stream. */
async function writing(tab, log) {
  await tab.evaluate(async (log) => {
    const ben = await open("ben", { log, counted: false });
    await open("ada", { log, counted: false });
    globalThis.dm = await people.ada.client.conversations.createDm(ben.inboxId);
    await dm.sendText("before");
    globalThis.ended = (async () => {
      for await (const _ of await people.ada.client.conversations.streamAllMessages()) void _;
    })().then(
      () => "ended",
      ({ code }) => code,
    );
  }, log);
}

async function goesOn(tab, log) {
  const texts = await tab.evaluate(async (log) => {
    const ben = await open("ben", { log, counted: false });
    await open("ada", { log, counted: false });
    const dm = await people.ada.client.conversations.createDm(ben.inboxId);
    await dm.sendText("after");
    await people.ada.client.conversations.syncAll();
    await people.ben.client.conversations.syncAll();
    return (await view("ben"))[0].texts;
  }, log);
  assert.deepEqual(texts, ["before", "after"]);
  await tab.evaluate(async () => (await people.ada.client.conversations.list())[0].sendText("live"));
  await eventually(tab, async () => (await view("ben"))[0].texts.at(-1) === "live", "ben reads in the background");
}

test("a panic in the worker: calls reject with client.crashed, and a new client goes on there", async () => {
  const tab = await page();
  await writing(tab, "worker-panic");
  const [worker] = tab.workers();
  const withoutChance = (value) =>
    worker.evaluate((value) => {
      // The only thing the module cannot go on without.
      if (value) delete crypto.getRandomValues;
      else {
        Object.defineProperty(crypto, "getRandomValues", {
          configurable: true,
          value: () => {
            throw new Error("no chance");
          },
        });
      }
    }, value);
  await withoutChance(false);
  const codes = await tab.evaluate(async () => {
    const calls = [dm.messages(), dm.sendText("lost"), people.ben.client.conversations.list(), dm.sync()];
    const [, sent] = await Promise.allSettled(calls);
    const later = await Promise.allSettled([dm.messages(), people.ben.client.conversations.list()]);
    return [sent, ...later].map(({ reason }) => reason?.code);
  });
  assert.deepEqual(codes, ["client.crashed", "client.crashed", "client.crashed"]);
  assert.ok(["ended", "client.crashed"].includes(await tab.evaluate(() => ended)));
  await withoutChance(true);
  await goesOn(tab, "worker-panic");
  assert.deepEqual([tab.workers().length, tab.workers()[0] === worker], [1, true]);
  await tab.close();
});

test("a worker that ends: everything settles with client.crashed, and a new one goes on", async () => {
  const tab = await page();
  await writing(tab, "worker-ended");
  await tab.evaluate(async () => {
    const events = await people.ada.client.streamEvents({ kinds: [] });
    globalThis.waiting = events.next().then(
      () => "done",
      ({ code }) => code,
    );
  });
  await tab.workers()[0].evaluate(() => self.close());
  const settled = await tab.evaluate(async () => {
    const call = dm.messages().then(
      () => "answered",
      ({ code }) => code,
    );
    return [await waiting, await call, await ended, await people.ben.client.close().then(() => "", ({ code }) => code)];
  });
  assert.deepEqual([settled[0], settled[1], settled[3]], ["client.crashed", "client.crashed", "client.crashed"]);
  await goesOn(tab, "worker-ended");
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

/** What `init` gives in a page where requests are answered by `routes` and the page has a policy. */
async function initIn({ routes = {}, policy } = {}) {
  const tab = await place.page();
  for (const [path, answer] of Object.entries(routes)) await tab.route(path, answer);
  if (policy) {
    await tab.route(place.url, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), "content-security-policy": policy } });
    });
  }
  await tab.goto(place.url);
  const ask = () =>
    tab.evaluate(async () => {
      const { init } = await import("/dist/worker.js");
      return init().then(
        () => "loaded",
        ({ name, code, message, retryable }) => ({ name, code, message, retryable }),
      );
    });
  const first = await ask();
  for (const path of Object.keys(routes)) await tab.unroute(path);
  const second = await ask();
  await tab.close();
  return [first, second];
}

test("a worker that may not start, is missing, or finds no module is told, and the next call tries again", async () => {
  const missing = (route) => route.fulfill({ status: 404, body: "" });
  for (const [given, reason, then] of [
    [{ policy: "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'" }, /worker-thread\.js.*worker-src/, "wasm.load_failed"],
    [{ routes: { "**/worker-thread.js": missing } }, /worker-thread\.js.*deployed/, "loaded"],
    [{ routes: { "**/dovetail_bg.wasm": missing } }, /dist\/dovetail_bg\.wasm.*answered 404/, "loaded"],
    [{ routes: { "**/dovetail_bg.wasm": (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }) } }, /HTML page/, "loaded"],
  ]) {
    const [first, second] = await initIn(given);
    assert.deepEqual([first.name, first.code], ["DovetailError", "wasm.load_failed"]);
    assert.match(first.message, reason);
    assert.equal(second.code ?? second, then);
  }
  // The page needs no right to compile.
  assert.deepEqual(await initIn({ policy: "default-src 'self'" }), ["loaded", "loaded"]);
});

test("a thousand messages arrive while the page stays free", { timeout: 180_000 }, async (context) => {
  const [sender, tab] = [await place.page(), await page()];
  const log = "worker-thousand";
  const ada = await tab.evaluate((log) => open("ada", { log, counted: false }), log);
  await sender.evaluate(
    async ([log, inbox]) => {
      await open("ben", { log, counted: false });
      globalThis.dm = await people.ben.client.conversations.createDm(inbox);
      await dm.sendText("first");
      await dm.publishMessages();
    },
    [log, ada.inboxId],
  );
  await tab.evaluate(async () => {
    await people.ada.client.conversations.syncAll();
    people.ada.delivery.offline = true;
  });
  await sender.evaluate(async () => {
    await Promise.all(Array.from({ length: 1000 }, (_, at) => dm.sendText(`text ${at}`)));
    await dm.publishMessages();
  });
  const got = await tab.evaluate(async () => {
    const long = [];
    const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)));
    const texts = [];
    await people.ada.client.conversations.streamAllMessages({ onValue: ({ content }) => texts.push(content), disableSync: true });
    observer.observe({ entryTypes: ["longtask"] });
    const begun = performance.now();
    people.ada.delivery.offline = false;
    await people.ada.client.conversations.syncAll();
    await until(() => texts.length === 1000, 60_000);
    const ms = performance.now() - begun;
    await new Promise((next) => setTimeout(next, 100));
    long.push(...observer.takeRecords().map(({ duration }) => duration));
    return { texts, long, ms };
  });
  context.diagnostic(`received in ${got.ms.toFixed(0)} ms; tasks over 50 ms on the page: ${got.long.map((ms) => ms.toFixed(0)).join(", ") || "none"}`);
  assert.deepEqual(got.texts, Array.from({ length: 1000 }, (_, at) => `text ${at}`));
  assert.deepEqual(await loadedByPage(tab), []);
  assert.deepEqual([...tab.errors, ...sender.errors], []);
  await Promise.all([sender.close(), tab.close()]);
});

test("BR-078 a tab with a worker and one without share a database", async () => {
  const [one, two, peer] = [await page(), await place.page("index"), await place.page("index")];
  const log = "worker-tabs";
  const ben = await peer.evaluate((log) => open("ben", { log, counted: false }), log);
  const ids = await Promise.all([one, two].map((tab) => tab.evaluate((log) => open("ada", { log, counted: false }), log)));
  assert.deepEqual(ids[0], ids[1]);
  for (const tab of [one, two]) {
    await tab.evaluate(async () => {
      globalThis.got = [];
      await people.ada.client.conversations.streamAllMessages({ onValue: ({ content }) => got.push(content) });
    });
  }
  const send = (tab, name) =>
    tab.evaluate(
      async ([inbox, name]) => {
        const dm = await people.ada.client.conversations.createDm(inbox);
        await Promise.all(Array.from({ length: 10 }, (_, at) => dm.sendText(`${name} ${at}`)));
        await dm.publishMessages();
      },
      [ben.inboxId, name],
    );
  await send(one, "first");
  await Promise.all([send(one, "one"), send(two, "two")]);
  await peer.evaluate(() => people.ben.client.conversations.syncAll());
  await peer.evaluate(async () => (await people.ben.client.conversations.list())[0].sendText("from ben"));
  for (const tab of [one, two]) {
    await eventually(tab, () => got.length === 31, "a tab is told of all");
    const texts = await tab.evaluate(() => got);
    assert.equal(new Set(texts).size, 31);
    const [conversation] = await tab.evaluate(() => view("ada"));
    assert.deepEqual([...conversation.texts].sort(), [...texts].sort());
    assert.deepEqual(conversation.rejected, []);
    for (const name of ["first", "one", "two"]) {
      assert.deepEqual(conversation.texts.filter((text) => text.startsWith(name)), Array.from({ length: 10 }, (_, at) => `${name} ${at}`));
    }
    assert.deepEqual(tab.errors, []);
  }
  assert.deepEqual(await loadedByPage(one), []);
  // The tab that reads in the background may be either; the other goes on.
  await one.close();
  await peer.evaluate(async () => (await people.ben.client.conversations.list())[0].sendText("later"));
  await eventually(two, () => got.includes("later"), "the tab without a worker reads on");
});
