// Several devices of one account: what one decides, the others hold.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();

test("CONS-010 a second installation gets a block made before and one made after it registered", async () => {
  const page = await place.page();
  const log = "consent";
  const [phone, ben, cleo] = await page.evaluate(
    async (log) => [await open("ada", { log }), await open("ben", { log }), await open("cleo", { log })],
    log,
  );
  // Both write to ada; she blocks one conversation, and one inbox, before the other device is there.
  await page.evaluate(async (inboxId) => {
    people.phone = people.ada;
    for (const name of ["ben", "cleo"]) {
      const dm = await people[name].client.conversations.createDm(inboxId);
      await dm.sendText(`from ${name}`);
      await dm.publishMessages();
    }
    const { client } = people.phone;
    await client.conversations.syncAll();
    const blocked = client.conversations.getDmByInboxId(people.ben.client.inboxId);
    await (await blocked).updateConsentState(dovetail.ConsentState.Denied);
    await client.preferences.setConsentStates([
      { entityType: dovetail.ConsentEntityType.InboxId, entity: people.ben.client.inboxId, state: dovetail.ConsentState.Denied },
    ]);
  }, phone.inboxId);

  const laptop = await page.evaluate(async (log) => {
    const opened = await open("ada", { log, dbPath: `db-${log}-laptop` });
    people.laptop = people.ada;
    const stream = await people.laptop.client.preferences.streamPreferences();
    people.updates = [];
    (async () => {
      for await (const updates of stream) people.updates.push(...updates);
    })();
    return opened;
  }, log);
  assert.equal(laptop.inboxId, phone.inboxId);

  const synced = await page.evaluate(
    async ([ben]) => {
      await people.phone.client.conversations.syncAll();
      await people.laptop.client.preferences.sync();
      await people.laptop.client.conversations.syncAll([0, 1, 2]);
      const { client } = people.laptop;
      const dm = await client.conversations.getDmByInboxId(ben);
      return {
        inbox: await client.preferences.getConsentState(dovetail.ConsentEntityType.InboxId, ben),
        // Brought in by ben's device, which knows of no block; or not at all.
        conversation: dm ? await dm.consentState() : dovetail.ConsentState.Denied,
        listed: (await client.conversations.list()).map(({ id }) => id).length,
      };
    },
    [ben.inboxId],
  );
  assert.deepEqual(synced, { inbox: 2, conversation: 2, listed: 1 });

  const later = await page.evaluate(
    async ([cleo]) => {
      const { client } = people.phone;
      const dm = await client.conversations.getDmByInboxId(cleo);
      await dm.updateConsentState(dovetail.ConsentState.Denied);
      await client.syncAllDeviceSyncGroups();
      await people.laptop.client.syncAllDeviceSyncGroups();
      const other = people.laptop.client;
      return {
        id: dm.id,
        state: await other.preferences.getConsentState(dovetail.ConsentEntityType.GroupId, dm.id),
        lists: [(await client.conversations.list()).length, (await other.conversations.list()).length],
        denied: (await other.conversations.list({ consentStates: [dovetail.ConsentState.Denied] })).map(({ id }) => id),
      };
    },
    [cleo.inboxId],
  );
  assert.deepEqual([later.state, later.lists], [2, [0, 0]]);
  assert.ok(later.denied.includes(later.id));

  // And back, in the background, within what the stream tells.
  const told = await page.evaluate(async (id) => {
    const { client } = people.laptop;
    await client.preferences.setConsentStates([
      { entityType: dovetail.ConsentEntityType.GroupId, entity: id, state: dovetail.ConsentState.Allowed },
    ]);
    const state = () => people.phone.client.preferences.getConsentState(dovetail.ConsentEntityType.GroupId, id);
    for (let tries = 0; tries < 100 && (await state()) !== 1; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const updates = people.updates.filter(({ consent }) => consent.entity === id);
    return [await state(), updates.map(({ type, consent }) => [type, consent.state])];
  }, later.id);
  assert.deepEqual(told, [1, [["ConsentUpdate", 2], ["ConsentUpdate", 1]]]);
  assert.deepEqual(page.errors, []);
});
