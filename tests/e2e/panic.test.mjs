// A bug that stops the wasm module: every promise settles, nothing committed is lost, and what is
// made afterwards works, in the same page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();

/** Asks the page again and again until the answer is true. */
async function eventually(page, ask, what) {
  for (const end = Date.now() + 15_000; Date.now() < end; await new Promise((go) => setTimeout(go, 50))) {
    if (await page.evaluate(ask)) return;
  }
  assert.fail(`never happened: ${what}`);
}

test("after a panic calls reject with client.crashed, and a new client goes on", async () => {
  const page = await place.page();
  await page.evaluate(async () => {
    const ben = await open("ben", { log: "panic" });
    await open("ada", { log: "panic" });
    globalThis.dm = await people.ada.client.conversations.createDm(ben.inboxId);
    await dm.sendText("before");
    globalThis.ended = (async () => {
      for await (const _ of await people.ada.client.conversations.streamAllMessages()) void _;
    })();
  });
  const codes = await page.evaluate(async () => {
    // The only thing the module cannot go on without.
    Object.defineProperty(crypto, "getRandomValues", { configurable: true, value: () => { throw new Error("no chance"); } });
    const calls = [dm.messages(), dm.sendText("lost"), people.ben.client.conversations.list(), dm.sync()];
    const settled = await Promise.allSettled(calls);
    delete crypto.getRandomValues;
    const later = await Promise.allSettled([dm.messages(), people.ben.client.conversations.list()]);
    await Promise.race([ended.catch(() => {}), new Promise((_, reject) => setTimeout(reject, 5000, new Error("the stream goes on")))]);
    return [settled[1], ...later].map(({ reason }) => reason?.code);
  });
  assert.deepEqual(codes, ["client.crashed", "client.crashed", "client.crashed"]);
  const texts = await page.evaluate(async () => {
    const ben = await open("ben", { log: "panic" });
    await open("ada", { log: "panic" });
    const dm = await people.ada.client.conversations.createDm(ben.inboxId);
    await dm.sendText("after");
    await people.ada.client.conversations.syncAll();
    await people.ben.client.conversations.syncAll();
    return (await view("ben"))[0].texts;
  });
  assert.deepEqual(texts, ["before", "after"]);
  // Background reading went over to the new clients.
  await page.evaluate(async () => {
    const [dm] = await people.ada.client.conversations.list();
    await dm.sendText("live");
  });
  await eventually(page, async () => (await view("ben"))[0].texts.at(-1) === "live", "ben reads in the background");
});

test("streams of a second tab tell what the first one received", async () => {
  const [one, two, peer] = [await place.page(), await place.page(), await place.page()];
  const ben = await peer.evaluate(() => open("ben", { log: "hear" }));
  for (const tab of [one, two]) {
    await tab.evaluate(async () => {
      await open("ada", { log: "hear" });
      globalThis.got = [];
      const stream = await people.ada.client.conversations.streamAllMessages();
      (async () => {
        for await (const message of stream) got.push(message.content);
      })();
    });
  }
  await one.evaluate(async (inbox) => {
    const dm = await people.ada.client.conversations.createDm(inbox);
    await dm.sendText("from one");
  }, ben.inboxId);
  await eventually(peer, async () => (await people.ben.client.conversations.list()).length === 1, "ben is added");
  await peer.evaluate(async () => (await people.ben.client.conversations.list())[0].sendText("from ben"));
  const both = () => got.includes("from one") && got.includes("from ben");
  for (const tab of [one, two]) {
    await eventually(tab, both, "a tab is told of both");
    assert.deepEqual([...(await tab.evaluate(() => got))].sort(), ["from ben", "from one"], "each once");
  }
  // The tab that reads is closed: another takes over.
  await one.close();
  await peer.evaluate(async () => (await people.ben.client.conversations.list())[0].sendText("later"));
  await eventually(two, () => got.includes("later"), "the other tab reads");
});
