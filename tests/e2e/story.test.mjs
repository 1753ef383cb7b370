// The main job: two people who start a DM at the same moment see one conversation.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();

/** Both offline: each creates the DM and writes once. `on(name)` gives the page of a person. */
async function writeApart(on, log) {
  const ids = {};
  for (const name of ["ada", "ben"]) ids[name] = await on(name).evaluate(([n, log]) => open(n, { log }), [name, log]);
  for (const name of ["ada", "ben"]) await on(name).evaluate((n) => void (people[n].delivery.offline = true), name);
  const groups = {};
  for (const [name, peer] of [["ada", "ben"], ["ben", "ada"]]) {
    groups[name] = await on(name).evaluate(
      async ([n, peerInbox]) => {
        const dm = await people[n].client.conversations.createDm(peerInbox);
        await dm.sendText(`hello from ${n}`);
        return dm.id;
      },
      [name, ids[peer].inboxId],
    );
  }
  return { ids, groups };
}

async function syncBoth(on, rounds = 3) {
  for (const name of ["ada", "ben"]) await on(name).evaluate((n) => void (people[n].delivery.offline = false), name);
  for (let round = 0; round < rounds; round += 1) {
    for (const name of ["ada", "ben"]) await on(name).evaluate((n) => people[n].client.conversations.syncAll(), name);
  }
}

async function checkOne(on, groups) {
  const [ada] = await seen(on, "ada");
  const [ben] = await seen(on, "ben");
  assert.equal(ada.dmId, ben.dmId);
  assert.ok(ada.dmId.startsWith("dm:"));
  assert.equal(ada.winner, ben.winner, "one winner");
  assert.deepEqual(ada.groups, ben.groups);
  assert.deepEqual([...ada.texts].sort(), ["hello from ada", "hello from ben"]);
  for (const name of ["ada", "ben"]) {
    for (const group of Object.values(groups)) {
      const texts = await on(name).evaluate(([n, g]) => textsThrough(n, g), [name, group]);
      assert.deepEqual(texts, ada.texts, `${name} through ${group}`);
    }
  }
  return ada;
}

async function seen(on, name) {
  const list = await on(name).evaluate((n) => view(n), name);
  assert.equal(list.length, 1, `${name} lists one conversation`);
  assert.deepEqual(list[0].rejected, []);
  assert.equal(list[0].pending, 0);
  return list;
}

async function checkNextGoesToWinner(on, winner, groups) {
  for (const name of ["ada", "ben"]) {
    // Through the losing handle on purpose.
    const loser = Object.values(groups).find((group) => group !== winner);
    await on(name).evaluate(
      async ([n, id]) => {
        const dm = await people[n].client.conversations.getConversationById(id);
        await dm.sendText(`next from ${n}`);
        await people[n].client.conversations.syncAll();
      },
      [name, loser],
    );
  }
  await on("ada").evaluate(() => people.ada.client.conversations.syncAll());
  const [ada] = await on("ada").evaluate(() => view("ada"));
  const next = ada.texts.map((text, at) => [text, ada.sentIn[at]]).filter(([text]) => text.startsWith("next"));
  assert.deepEqual(next.map(([, group]) => group), [winner, winner]);
}

test("BR-001 DMS-005 DMS-007 DMS-009 DMS-013 two clients in one page", async () => {
  const page = await place.page();
  const on = () => page;
  const { ids, groups } = await writeApart(on, "one-page");
  await syncBoth(on);
  const { winner } = await checkOne(on, groups);
  await place.reload(page);
  for (const name of ["ada", "ben"]) {
    const again = await page.evaluate(([n, log]) => open(n, { log }), [name, "one-page"]);
    assert.deepEqual(again, ids[name], "the same installation after a reload");
  }
  await checkOne(on, groups);
  await checkNextGoesToWinner(on, winner, groups);
  assert.deepEqual(page.errors, []);
});

test("BR-001 DMS-005 DMS-007 DMS-009 DMS-013 two pages of one profile", async () => {
  const pages = { ada: await place.page(), ben: await place.page() };
  const on = (name) => pages[name];
  const { ids, groups } = await writeApart(on, "two-pages");
  await syncBoth(on);
  const { winner } = await checkOne(on, groups);
  for (const name of ["ada", "ben"]) {
    await place.reload(pages[name]);
    const again = await pages[name].evaluate(([n, log]) => open(n, { log }), [name, "two-pages"]);
    assert.deepEqual(again, ids[name], "the same installation after a reload");
  }
  await checkOne(on, groups);
  await checkNextGoesToWinner(on, winner, groups);
  assert.deepEqual([...pages.ada.errors, ...pages.ben.errors], []);
});

test("without a call to sync, live clients see each other's messages", async () => {
  const page = await place.page();
  await page.evaluate(async () => {
    await open("ada", { log: "live" });
    const ben = await open("ben", { log: "live" });
    const got = [];
    globalThis.got = got;
    const stream = await people.ben.client.conversations.streamAllMessages();
    (async () => {
      for await (const message of stream) got.push(message.content);
    })();
    const dm = await people.ada.client.conversations.createDm(ben.inboxId);
    for (let i = 0; i < 5; i += 1) await dm.sendText(`text ${i}`);
  });
  await page.waitForFunction(() => got.length === 5, undefined, { timeout: 15_000 });
  assert.deepEqual(await page.evaluate(() => got), [0, 1, 2, 3, 4].map((i) => `text ${i}`));
  assert.deepEqual(page.errors, []);
});

test("BR-081 two creations at once for one database give one installation", async () => {
  const page = await place.page();
  const [first, second] = await page.evaluate(() => Promise.all([open("eve", { log: "twice" }), open("eve", { log: "twice" })]));
  assert.deepEqual(first, second);
  // And in two pages, which share no memory.
  const other = await place.page();
  const both = await Promise.all([page, other].map((p) => p.evaluate(() => open("zoe", { log: "twice-apart" }))));
  assert.deepEqual(both[0], both[1]);
  assert.deepEqual([...page.errors, ...other.errors], []);
});

test("BR-078 BR-080 two tabs on one database both work", async () => {
  const [one, two, peer] = [await place.page(), await place.page(), await place.page()];
  const ben = await peer.evaluate(() => open("ben", { log: "tabs" }));
  for (const tab of [one, two]) await tab.evaluate(() => open("ada", { log: "tabs" }));
  const send = (tab, texts) =>
    tab.evaluate(
      async ([inbox, texts]) => {
        const dm = await people.ada.client.conversations.createDm(inbox);
        await Promise.all(texts.map((text) => dm.sendText(text)));
      },
      [ben.inboxId, texts],
    );
  await send(one, ["first"]);
  const texts = (tab) => Array.from({ length: 20 }, (_, i) => `${tab} ${i}`);
  await Promise.all([send(one, texts("one")), send(two, texts("two"))]);
  for (const tab of [one, two, peer, one]) {
    const name = tab === peer ? "ben" : "ada";
    await tab.evaluate((n) => people[n].client.conversations.syncAll(), name);
  }
  for (const [tab, name] of [[one, "ada"], [two, "ada"], [peer, "ben"]]) {
    const [conversation] = await tab.evaluate((n) => view(n), name);
    assert.equal(conversation.texts.length, 41, `${name} has every text once`);
    assert.equal(new Set(conversation.texts).size, 41);
    assert.deepEqual(conversation.rejected, []);
    for (const which of ["one", "two"]) {
      assert.deepEqual(conversation.texts.filter((t) => t.startsWith(which)), texts(which), "in the order they were sent");
    }
  }
});
