// What people reported of decisions that meet in any order, with the records of archives (field reports of theme B).

import assert from "node:assert/strict";
import { test } from "node:test";
import { KEY, archive, decided, dm, inbox, metadata } from "../archives/elements.mjs";
import { world } from "./support.mjs";

const place = world();
const [ALLOWED, DENIED] = [2, 3];

/** Imports an archive of these elements into a person's database. */
const bring = (page, who, ...elements) =>
  page.evaluate(
    async ([who, file, key]) => people[who].client.importArchive(Uint8Array.from(file), Uint8Array.from(key)),
    [who, [...archive([metadata, ...elements])], [...KEY]],
  );

const record = (page, who, id) =>
  page.evaluate(
    async ([who, id]) => {
      const one = await people[who].client.conversations.getConversationById(id);
      const { consentState, consentedAtNs } = (await one.inspect()).groups.find(({ groupId }) => groupId === id);
      return [consentState, consentedAtNs];
    },
    [who, id],
  );

test("BR-017 CONS-010 three decisions end in the same record in every order, each brought twice", async () => {
  const page = await place.page();
  await page.evaluate(() => open("ada", { log: "br17" }));
  const decisions = [[ALLOWED, 10], [DENIED, 20], [ALLOWED, 20]];
  const orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
  const pair = [inbox(0xa0), inbox(0xb0)];
  for (const [n, order] of orders.entries()) {
    const id = Buffer.alloc(16, n + 1).toString("hex");
    await bring(page, "ada", dm(n + 1, pair, 40));
    for (const at of [...order, ...order]) await bring(page, "ada", decided(1, id, ...decisions[at]));
    assert.deepEqual(await record(page, "ada", id), [2, 20n], order.join());
    // And as one archive.
    const other = Buffer.alloc(16, n + 0x11).toString("hex");
    await bring(page, "ada", dm(n + 0x11, pair, 40), ...[...order, ...order].map((at) => decided(1, other, ...decisions[at])));
    assert.deepEqual(await record(page, "ada", other), [2, 20n], order.join());
  }
  assert.deepEqual(page.errors, []);
});

test("BR-018 CONS-011 what was decided on the new device stands against the history of the old one", async () => {
  const [page, desk] = [await place.page(), await place.page()];
  const log = { log: "br18-history" };
  const id = await page.evaluate(async (log) => {
    await open("ben", log);
    await open("ada", log);
    const dm = await people.ben.client.conversations.createDm(people.ada.client.inboxId);
    await dm.publishMessages();
    await people.ada.client.conversations.sync();
    await (await people.ada.client.conversations.getConversationById(dm.id)).updateConsentState(dovetail.ConsentState.Allowed);
    return dm.id;
  }, log);
  const [state, allowedAt] = await record(page, "ada", id);
  assert.equal(state, 1);
  await bring(page, "ada", decided(1, id, DENIED, allowedAt - 1n));
  assert.deepEqual(await record(page, "ada", id), [1, allowedAt]);
  // Repeated, it has a new time.
  const repeat = () =>
    page.evaluate(async (id) => {
      clockMs += 60_000;
      await (await people.ada.client.conversations.getConversationById(id)).updateConsentState(dovetail.ConsentState.Allowed);
    }, id);
  await repeat();
  const [, repeatedAt] = await record(page, "ada", id);
  assert.ok(repeatedAt > allowedAt + 59_000_000_000n);
  await bring(page, "ada", decided(1, id, DENIED, allowedAt + 1n));
  assert.deepEqual(await record(page, "ada", id), [1, repeatedAt]);
  // The same from a device that decided in between, told by itself.
  const decidedAt = await desk.evaluate(
    async ([log, id]) => {
      await open("ada", { ...log, as: "desk" });
      const { client } = people.desk;
      await client.preferences.setConsentStates([
        { entityType: dovetail.ConsentEntityType.GroupId, entity: id, state: dovetail.ConsentState.Denied },
      ]);
      return BigInt(Date.now()) * 1_000_000n;
    },
    [log, id],
  );
  assert.ok(decidedAt < repeatedAt, "by its clock it was before");
  for (let round = 0; round < 3; round += 1) {
    await desk.evaluate(() => people.desk.client.conversations.syncAll());
    await page.evaluate(() => people.ada.client.conversations.syncAll());
  }
  assert.deepEqual(await record(page, "ada", id), [1, repeatedAt]);
  await desk.waitForFunction(
    async (id) => (await people.desk.client.preferences.getConsentState(0, id)) === 1,
    id,
    { timeout: 15_000, polling: 250 },
  );
  assert.deepEqual([...page.errors, ...desk.errors], []);
});
