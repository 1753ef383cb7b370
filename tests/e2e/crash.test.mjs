// The browser is killed at every point of a send: the message arrives exactly once, or the send
// had not resolved and it is nowhere half.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();
const LOG = "crash";
/** More points than a send and its publication have; the test ends where none is left. */
const MOST_POINTS = 80;

/** Stops the page for good at the `k`-th thing it does to IndexedDB or asks of the delivery. */
const arm = (page, k) =>
  page.evaluate((k) => {
    let count = 0;
    const point = (what) => {
      if (globalThis.disarmed) return;
      count += 1;
      if (count !== k) return;
      // A request that is answered before anything else can happen, then nothing ever again.
      const request = new XMLHttpRequest();
      request.open("GET", `/stopped-at-${what}`, false);
      try {
        request.send();
      } catch {
        // The answer does not matter.
      }
      for (;;);
    };
    for (const name of ["put", "add", "delete"]) {
      const original = IDBObjectStore.prototype[name];
      IDBObjectStore.prototype[name] = function (...args) {
        point(name);
        return original.apply(this, args);
      };
    }
    const transaction = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (...args) {
      const made = transaction.apply(this, args);
      if (made.mode === "readwrite") made.addEventListener("complete", () => point("complete"));
      return made;
    };
    for (const name of ["publish", "query"]) {
      const original = people.ada.delivery[name];
      people.ada.delivery[name] = async function (...args) {
        point(`${name}-asked`);
        const answer = await original.apply(this, args);
        point(`${name}-answered`);
        return answer;
      };
    }
  }, k);

test("killed at every point of a send, the message arrives exactly once or was never accepted", async (t) => {
  let page = await place.page();
  await page.evaluate(async (log) => {
    const ben = await open("ben", { log });
    await open("ada", { log });
    const dm = await people.ada.client.conversations.createDm(ben.inboxId);
    await dm.sendText("before");
    await people.ada.client.conversations.syncAll();
    await people.ben.client.conversations.syncAll();
  }, LOG);
  const accepted = ["before"];
  const points = [];
  let ended = false;
  for (let k = 1; k <= MOST_POINTS && !ended; k += 1) {
    await page.evaluate(async () => people.ben.client.close());
    let stopped;
    const hit = new Promise((resolve) => {
      page.on("request", (request) => {
        const found = /stopped-at-(.+)$/.exec(request.url());
        if (found) resolve((stopped = found[1]));
      });
    });
    let resolved = false;
    await page.exposeFunction("onAccepted", () => void (resolved = true));
    await arm(page, k);
    const run = page
      .evaluate(async (text) => {
        const [dm] = await people.ada.client.conversations.list();
        await dm.sendText(text);
        await onAccepted();
        await people.ada.client.conversations.syncAll();
        // What goes on behind it must not stop a page that is to be loaded again.
        globalThis.disarmed = true;
      }, `text ${k}`)
      .then(() => "done", () => "gone");
    ended = (await Promise.race([hit, run])) === "done";
    if (!ended) {
      points.push(stopped);
      await place.kill();
      page = await place.page();
    }
    if (resolved || ended) accepted.push(`text ${k}`);
    if (ended) await place.reload(page);
    const seen = await page.evaluate(async (log) => {
      await open("ben", { log });
      await open("ada", { log });
      for (const name of ["ada", "ben", "ada"]) await people[name].client.conversations.syncAll();
      return { ada: await view("ada"), ben: await view("ben") };
    }, LOG);
    for (const name of ["ada", "ben"]) {
      assert.equal(seen[name].length, 1);
      const [{ texts, rejected, pending }] = seen[name];
      assert.deepEqual(rejected, [], `${name}, killed at ${stopped} (${k})`);
      assert.equal(pending, 0);
      assert.equal(new Set(texts).size, texts.length, `${name} sees nothing twice`);
      const missing = accepted.filter((text) => !texts.includes(text));
      assert.deepEqual(missing, [], `${name} misses nothing accepted, killed at ${stopped} (${k})`);
    }
    assert.deepEqual(seen.ada[0].texts, seen.ben[0].texts);
    // One that was not accepted before the kill may have become durable all the same.
    for (const text of seen.ada[0].texts) if (!accepted.includes(text)) accepted.push(text);
  }
  t.diagnostic(`killed at ${points.length} points: ${points.join(", ")}`);
  assert.ok(ended, "the send was reached to its end");
  assert.ok(points.length >= 8, "the points are real");
});
