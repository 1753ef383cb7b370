// What people reported of other clients, tried on ours: streams, the life of a database.
// Rows about DMs, consent and Welcomes are in files of their own.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();

/** Runs in a page with the package; nothing may go unhandled there. */
const inPage = (run, arg) => place.inPage(run, arg);

test("BR-047 BR-052 what was sent while the receiver was offline arrives once and in order", async () => {
  const { sent, streamed, listed } = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br47" });
    const { ada, ben } = people;
    const dm = await ben.client.conversations.createDm(ada.client.inboxId);
    await dm.sendText("first");
    await dm.publishMessages();
    await ada.client.conversations.syncAll();
    const streamed = [];
    await ada.client.conversations.streamAllMessages({ onValue: (message) => streamed.push(message.content) });
    ada.delivery.offline = true;
    const sent = Array.from({ length: 50 }, (_, n) => `while away ${n}`);
    await Promise.all(sent.map((text) => dm.sendText(text)));
    await dm.publishMessages();
    ada.delivery.offline = false;
    for (const end = Date.now() + 10_000; streamed.length < 50 && Date.now() < end; ) await new Promise((next) => setTimeout(next, 50));
    const [mine] = await ada.client.conversations.list();
    return { sent, streamed, listed: (await mine.messages()).slice(1).map((message) => message.content) };
  });
  assert.deepEqual(streamed, sent);
  assert.deepEqual(listed, sent);
});

test("BR-058 a connection taken away in the middle of a burst is opened again, and nothing is lost", async () => {
  const { failed, sent, received, taken } = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br58" });
    const { ada, ben } = people;
    const dm = await ada.client.conversations.createDm(ben.client.inboxId);
    await dm.sendText("0");
    await dm.publishMessages();
    await ben.client.conversations.syncAll();
    const original = IDBDatabase.prototype.transaction;
    let [count, taken] = [0, 0];
    IDBDatabase.prototype.transaction = function (...args) {
      if (this.name.startsWith("db-")) {
        count += 1;
        if (count % 20 === 0) {
          taken += 1;
          throw new DOMException("The database connection is closing", "InvalidStateError");
        }
        if (count === 30) {
          taken += 1;
          queueMicrotask(() => {
            this.close();
            this.dispatchEvent(new Event("close"));
          });
        }
      }
      return original.apply(this, args);
    };
    const failed = [];
    const note = (error) => failed.push(error.code);
    await Promise.all(Array.from({ length: 100 }, (_, n) => dm.sendText(String(n + 1)).catch(note)));
    for (let round = 0; round < 3; round += 1) for (const { client } of [ada, ben]) await client.conversations.syncAll().catch(note);
    IDBDatabase.prototype.transaction = original;
    for (const { client } of [ada, ben]) await client.conversations.syncAll();
    const [theirs] = await ben.client.conversations.list();
    return { failed, taken, sent: (await dm.messages()).length, received: (await theirs.messages()).length };
  });
  assert.ok(taken >= 2, `taken away ${taken} times`);
  assert.deepEqual({ failed, sent, received }, { failed: [], sent: 101, received: 101 });
});

test("BR-061 a browser without storage is a typed error", async () => {
  const codes = await inPage(async () => {
    const { Client, createEOASigner } = dovetail;
    const codes = [];
    const create = () => Client.create(createEOASigner()).catch((error) => codes.push(error.code));
    const original = IDBFactory.prototype.open;
    IDBFactory.prototype.open = () => {
      throw new DOMException("A mutation operation was attempted", "InvalidStateError");
    };
    await create();
    IDBFactory.prototype.open = original;
    for (const missing of [{ value: undefined }, { get: () => { throw new DOMException("denied", "SecurityError"); } }]) {
      Object.defineProperty(window, "indexedDB", { ...missing, configurable: true });
      await create();
      delete window.indexedDB;
    }
    return codes;
  });
  assert.deepEqual(codes, ["store.unavailable", "store.unavailable", "store.unavailable"]);
});

test("BR-049 BR-066 BR-094 closing settles everything, at once frees the database, and later answers harm nothing", async () => {
  const out = await inPage(async () => {
    const { Client, BrowserDelivery, createEOASigner } = dovetail;
    const real = new BrowserDelivery({ name: "br94" });
    let slow = false;
    const late = (method) => async (...args) => {
      const answer = await real[method](...args);
      if (slow) await new Promise((next) => setTimeout(next, 1000));
      return answer;
    };
    const [publish, query, newest, lookup] = ["publish", "query", "newest", "lookup"].map(late);
    const delivery = { publish, query, newest, lookup, subscribe: (...args) => real.subscribe(...args) };
    const [signer, other] = [createEOASigner(), await Client.create(createEOASigner(), { delivery: real })];
    const client = await Client.create(signer, { delivery, dbPath: "br94-own" });
    const dm = await client.conversations.createDm(other.inboxId);
    await dm.sendText("x");
    await dm.publishMessages();
    const ended = [];
    for (let n = 0; n < 3; n += 1) {
      const stream = await client.conversations.streamAllMessages();
      void (async () => {
        for await (const _ of stream);
        ended.push(n);
      })();
    }
    slow = true;
    const calls = [dm.sync(), client.conversations.syncAll(), dm.publishMessages(), client.canMessage([other.accountIdentifier])];
    const settled = Promise.all(calls.map((call) => call.then(() => "ok", (error) => error.code)));
    await new Promise((next) => setTimeout(next, 100));
    await client.close();
    await client.close();
    const begun = performance.now();
    await new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase("br94-own");
      request.onsuccess = resolve;
      request.onerror = reject;
    });
    const took = performance.now() - begun;
    const codes = await settled;
    await new Promise((next) => setTimeout(next, 1500));
    const again = await Client.create(signer, { delivery: real, dbPath: "br94-own" });
    return { codes, ended: ended.length, soon: took < 2000, registered: await again.isRegistered() };
  });
  const { codes, ...rest } = out;
  assert.ok(codes.includes("client.closed") && codes.every((code) => code === "ok" || code === "client.closed"), codes.join());
  assert.deepEqual(rest, { ended: 3, soon: true, registered: true });
});

test("BR-075 two accounts by turns in one browser", async () => {
  const out = await inPage(async () => {
    const { Client, BrowserDelivery, createEOASigner } = dovetail;
    const [ada, ben] = [createEOASigner(), createEOASigner()];
    const delivery = new BrowserDelivery({ name: "br75" });
    const someone = await Client.create(createEOASigner(), { delivery });
    const first = await Client.create(ada, { delivery });
    await (await first.conversations.createDm(someone.inboxId)).sendText("mine");
    await first.close();
    const second = await Client.create(ben, { delivery });
    const seen = await second.conversations.list();
    await second.close();
    const again = await Client.create(ada, { delivery });
    const [mine] = await again.conversations.list();
    const texts = (await mine.messages()).map((message) => message.content);
    return { seen: seen.length, texts, same: again.installationId === first.installationId };
  });
  assert.deepEqual(out, { seen: 0, texts: ["mine"], same: true });
});
