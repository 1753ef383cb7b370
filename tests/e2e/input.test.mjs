// Bad input and a bad delivery: a typed error each, nothing changed, others unaffected.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, world } from "./support.mjs";

const place = world();

test("malformed arguments are typed errors and leave nothing behind", async () => {
  const page = await place.page();
  const { ada, ben } = await page.evaluate(async () => ({ ada: await open("ada", { log: "input" }), ben: await open("ben", { log: "input" }) }));
  const cases = [
    ["dm.self", (id) => people.ada.client.conversations.createDm(id), ada.inboxId],
    ["dm.self", (id) => people.ada.client.conversations.createDm(` ${id.toUpperCase()} `), ada.inboxId],
    ["input.id", () => people.ada.client.conversations.createDm("not an id")],
    ["input.id", () => people.ada.client.conversations.createDm("ab".repeat(31))],
    ["input.value", () => people.ada.client.conversations.createDm(7)],
    ["input.id", () => people.ada.client.conversations.getConversationById("zz")],
    ["input.value", () => people.ada.client.conversations.list(7)],
  ];
  for (const [code, run, arg] of cases) {
    const error = await failure(page, run, arg);
    assert.equal(error?.name, "DovetailError", run.toString());
    assert.equal(error.code, code, run.toString());
    assert.ok(error.message.length > 15);
  }
  assert.deepEqual(await page.evaluate(() => view("ada")), []);
  assert.equal(await page.evaluate(async () => (await people.ada.client.conversations.getConversationById("00".repeat(16))) === undefined), true);

  await page.evaluate(async (inbox) => {
    globalThis.dm = await people.ada.client.conversations.createDm(inbox);
  }, ben.inboxId);
  const sends = [
    ["message.empty", () => dm.sendText("")],
    ["message.too_large", () => dm.sendText("x".repeat(1024 * 1024))],
    ["message.too_large", () => dm.sendText("x".repeat(5 * 1024 * 1024))],
    ["input.value", () => dm.sendText(undefined)],
    ["content.reserved_type", () => dm.send({ type: { authorityId: "xmtp.org", typeId: "group_updated", versionMajor: 1, versionMinor: 0 }, parameters: {}, content: new Uint8Array() })],
  ];
  for (const [code, run] of sends) assert.equal((await failure(page, run))?.code, code, run.toString());
  assert.deepEqual((await page.evaluate(() => view("ada")))[0].texts, []);
  // The client is as good as before.
  await page.evaluate(() => dm.sendText("after all that"));
  await page.evaluate(() => people.ada.client.conversations.syncAll());
  await page.evaluate(() => people.ben.client.conversations.syncAll());
  assert.deepEqual((await page.evaluate(() => view("ben")))[0].texts, ["after all that"]);
});

test("BR-097 odd texts arrive as they were sent", async () => {
  const page = await place.page();
  const texts = ['{"json": "like"}', "nul \u0000 inside", "🦀👩‍👩‍👧‍👦", "שלום עולם", "\"quotes' `back`", "x".repeat(65536), " "];
  await page.evaluate(async (texts) => {
    await open("ada", { log: "odd" });
    const ben = await open("ben", { log: "odd" });
    const dm = await people.ada.client.conversations.createDm(ben.inboxId);
    for (const text of texts) await dm.sendText(text);
    await people.ada.client.conversations.syncAll();
    await people.ben.client.conversations.syncAll();
  }, texts);
  assert.deepEqual((await page.evaluate(() => view("ben")))[0].texts, texts);
});

test("dm.unknown_inbox: the DM fails, leaves the list, and can be made again", async () => {
  const page = await place.page();
  await page.evaluate(() => open("ada", { log: "nobody" }));
  await page.evaluate(async () => {
    // Offline until both are stored, so that the look-up does not come in between.
    people.ada.delivery.offline = true;
    globalThis.dm = await people.ada.client.conversations.createDm("ab".repeat(32));
    globalThis.sent = await dm.sendText("anybody there?");
    people.ada.delivery.offline = false;
    await people.ada.client.conversations.syncAll().catch(() => {});
  });
  assert.deepEqual(await page.evaluate(() => view("ada")), []);
  const status = await page.evaluate(async () => (await people.ada.client.conversations.getMessageById(sent)).deliveryStatus);
  assert.equal(status, await page.evaluate(() => dovetail.DeliveryStatus.Failed));
  assert.equal((await failure(page, () => dm.sendText("still?")))?.code, "dm.unknown_inbox");
  const again = await page.evaluate(async () => (await people.ada.client.conversations.createDm("ab".repeat(32))).id !== dm.id);
  assert.ok(again);
});

for (const [what, code, lie] of [
  ["throws", "delivery.unavailable", (answer) => { throw new Error("down"); }],
  ["names another topic", "delivery.invalid", (answer) => answer.map((e) => ({ ...e, topic: `00${"77".repeat(16)}` }))],
  ["lets sequence ids fall", "delivery.invalid", (answer) => answer.map((e, i) => ({ ...e, sequenceId: e.sequenceId - 2 * i }))],
  ["alters bytes", "delivery.invalid", (answer) => answer.map((e) => ({ ...e, payload: e.payload.map((b, i) => (i === 9 ? b ^ 1 : b)) }))],
  ["answers nonsense", "delivery.invalid", () => 7],
]) {
  test(`a delivery that ${what}: ${code}, state unchanged`, async () => {
    const page = await place.page();
    await page.evaluate(async ([log, source]) => {
      await open("ada", { log });
      const real = new dovetail.BrowserDelivery({ name: `log-${log}` });
      const state = (globalThis.state = { lying: false });
      const lie = (0, eval)(`(${source})`);
      const delivery = {
        publish: (batch) => real.publish(batch),
        async query(topics, limit) {
          const answer = await real.query(topics, limit);
          return state.lying ? lie(answer) : answer;
        },
        newest: (topics) => real.newest(topics),
        lookup: (ids) => real.lookup(ids),
        // No wake-ups: the test says when to read.
        subscribe: () => () => {},
      };
      const ben = await open("ben", { log, delivery });
      const dm = await people.ada.client.conversations.createDm(ben.inboxId);
      await dm.sendText("one");
      await people.ada.client.conversations.syncAll();
      await people.ben.client.conversations.syncAll();
      globalThis.dm = dm;
      await dm.sendText("two");
      await dm.sendText("three");
      await people.ada.client.conversations.syncAll();
    }, [`lies-${what}`, lie.toString()]);
    const before = await page.evaluate(() => view("ben"));
    assert.deepEqual(before[0].texts, ["one"]);
    const error = await failure(page, async () => {
      state.lying = true;
      await people.ben.client.conversations.syncAll();
    });
    assert.equal(error?.code, code);
    assert.deepEqual(await page.evaluate(() => view("ben")), before, "unchanged");
    await page.evaluate(async () => {
      state.lying = false;
      await people.ben.client.conversations.syncAll();
    });
    assert.deepEqual((await page.evaluate(() => view("ben")))[0].texts, ["one", "two", "three"]);
  });
}

test("BR-085 BR-089 fifty mixed calls at once all settle", async () => {
  const page = await place.page();
  const outcome = await page.evaluate(async () => {
    await open("ada", { log: "mixed" });
    const ben = await open("ben", { log: "mixed" });
    const { client } = people.ada;
    const dm = await client.conversations.createDm(ben.inboxId);
    const options = { limit: 10 };
    const calls = Array.from({ length: 50 }, (_, i) => [
      () => dm.sendText(`text ${i}`),
      () => client.conversations.list(options),
      () => client.conversations.syncAll(),
      () => dm.updateConsentState(dovetail.ConsentState.Allowed),
      () => dm.messages(options),
    ][i % 5]());
    const settled = await Promise.allSettled(calls);
    await client.close();
    await client.close();
    const closed = await client.conversations.list().catch((error) => error.code);
    return { failed: settled.filter((s) => s.status === "rejected").map((s) => String(s.reason)), closed };
  });
  assert.deepEqual(outcome, { failed: [], closed: "client.closed" });
  assert.deepEqual(page.errors, []);
});
