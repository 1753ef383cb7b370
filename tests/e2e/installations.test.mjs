// Several devices of one account: added, listed, revoked; the greatest number and the way out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, world } from "./support.mjs";

const place = world();

test("a second device is listed by the first, revokes it, and the first falls silent", async () => {
  const page = await place.page();
  const log = "devices";
  const [phone, peer] = await page.evaluate(
    async (log) => [await open("ada", { log }), await open("ben", { log })],
    log,
  );
  const laptop = await page.evaluate(async (log) => {
    people.phone = people.ada;
    const opened = await open("ada", { log, dbPath: `db-${log}-laptop` });
    people.laptop = people.ada;
    return opened;
  }, log);
  assert.equal(laptop.inboxId, phone.inboxId);
  assert.notEqual(laptop.installationId, phone.installationId);

  const listed = await page.evaluate(async () => {
    const { client } = people.phone;
    await client.conversations.sync();
    const state = await client.preferences.inboxState();
    const [fetched] = await dovetail.Client.fetchInboxStates([client.inboxId], { delivery: people.phone.delivery });
    const [other] = await people.ben.client.preferences.fetchInboxStates([client.inboxId]);
    const own = state.installations.find(({ id }) => id === client.installationId);
    return {
      ids: state.installations.map(({ id }) => id),
      same: [fetched, other].map((it) => it.installations.map(({ id }) => id)),
      bytes: own.bytes.join() === client.installationIdBytes.join(),
      timed: typeof own.clientTimestampNs === "bigint" && own.clientTimestampNs > 1_700_000_000_000_000_000n,
      recovery: state.recoveryIdentifier,
      accounts: state.accountIdentifiers,
    };
  });
  const ids = [phone.installationId, laptop.installationId].sort();
  const account = { identifier: phone.account, identifierKind: 0 };
  assert.deepEqual(listed, { ids, same: [ids, ids], bytes: true, timed: true, recovery: account, accounts: [account] });

  const packages = await page.evaluate(async (ids) => {
    const found = await people.ben.client.fetchKeyPackageStatuses([...ids, "00".repeat(32)]);
    return [...found.values()].map(({ lifetime, validationError }) => [typeof lifetime?.notAfter, validationError]);
  }, ids);
  assert.deepEqual(packages, [["bigint", undefined], ["bigint", undefined], ["undefined", "no key package is published"]]);

  const dmId = await page.evaluate(async (peer) => {
    const dm = await people.phone.client.conversations.createDm(peer);
    await dm.sendText("before");
    await dm.sync();
    return dm.id;
  }, peer.inboxId);

  // The wrong account, then the right one.
  const wrong = await failure(
    page,
    async ([inboxId, id]) => {
      const { delivery, signer } = people.ben;
      await dovetail.Client.revokeInstallations(signer, inboxId, [id], { delivery });
    },
    [phone.inboxId, phone.installationId],
  );
  assert.equal(wrong.code, "client.signature");
  await page.evaluate((id) => people.laptop.client.revokeInstallations([id]), phone.installationId);

  await page.evaluate(() => people.phone.client.conversations.syncAll());
  const silent = await failure(
    page,
    async (id) => (await people.phone.client.conversations.getConversationById(id)).sendText("after"),
    dmId,
  );
  assert.deepEqual([silent.code, silent.retryable], ["client.installation_revoked", false]);
  const left = await page.evaluate(async () => {
    const { client } = people.phone;
    const [conversation] = await client.conversations.list();
    const messages = await conversation.messages();
    const state = await client.preferences.inboxState();
    return [await client.isRegistered(), messages.map(({ content }) => content), state.installations.map(({ id }) => id)];
  });
  assert.deepEqual(left, [false, ["before"], [laptop.installationId]]);

  // It opens again, offline too, and does not come back by itself.
  const again = await page.evaluate(async (log) => {
    await people.phone.client.close();
    await open("ada", { log, offline: true });
    const { client } = people.ada;
    const [conversation] = await client.conversations.list();
    return [await client.isRegistered(), (await conversation.messages()).length, client.installationId];
  }, log);
  assert.deepEqual(again, [false, 1, phone.installationId]);
  const register = await failure(page, () => people.ada.client.register());
  assert.equal(register.code, "client.installation_revoked");
  assert.deepEqual(page.errors, []);
});

test("at ten installations the eleventh is told the way out, which needs no database", async () => {
  const page = await place.page();
  const log = "ten";
  const ten = await page.evaluate(async (log) => {
    const ids = [];
    for (let n = 0; n < 10; n += 1) {
      const { installationId } = await open("cleo", { log, dbPath: null });
      ids.push(installationId);
    }
    return { ids, inboxId: people.cleo.client.inboxId };
  }, log);
  const full = await failure(page, (log) => open("cleo", { log, dbPath: `db-${log}-new` }), log);
  assert.deepEqual([full.name, full.code, full.retryable], ["DovetailError", "identity.limit", false]);
  for (const part of [ten.inboxId, " 10 installations", "Client.revokeInstallations("]) {
    assert.ok(full.message.includes(part), full.message);
  }

  // A page of its own, without a client and without a database.
  const fresh = await place.page();
  const seen = await fresh.evaluate(
    async ([log, inboxId]) => {
      const before = (await indexedDB.databases()).map(({ name }) => name).sort();
      const delivery = new dovetail.BrowserDelivery({ name: `log-${log}` });
      const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${log} cleo`)));
      const signer = dovetail.createEOASigner(bytes);
      const [state] = await dovetail.Client.fetchInboxStates([inboxId], { delivery });
      const listed = state.installations.map(({ id }) => id);
      const nobody = { identifier: `0x${"12".repeat(20)}`, identifierKind: 0 };
      const reached = await dovetail.Client.canMessage([signer.getIdentifier(), nobody], { delivery });
      await dovetail.Client.revokeInstallations(signer, inboxId, [state.installations[0].bytes, listed[1]], { delivery });
      // Asked again it is done already.
      await dovetail.Client.revokeInstallations(signer, inboxId, [listed[1]], { delivery });
      const [after] = await dovetail.Client.fetchInboxStates([inboxId], { delivery });
      return {
        listed,
        reached: [...reached.values()],
        left: after.installations.map(({ id }) => id),
        created: (await indexedDB.databases()).map(({ name }) => name).sort().join() !== before.join(),
      };
    },
    [log, ten.inboxId],
  );
  const sorted = [...ten.ids].sort();
  assert.deepEqual(seen, { listed: sorted, reached: [true, false], left: sorted.slice(2), created: false });

  // The same database that could not register does now, and then stands alone.
  const after = await page.evaluate(async (log) => {
    const { installationId } = await open("cleo", { log, dbPath: `db-${log}-new` });
    const { client } = people.cleo;
    await client.revokeAllOtherInstallations();
    await client.revokeAllOtherInstallations();
    const { installations } = await client.preferences.fetchInboxState();
    return [await client.isRegistered(), installations.length, installations[0].id === installationId];
  }, log);
  assert.deepEqual(after, [true, 1, true]);
  assert.deepEqual([...page.errors, ...fresh.errors], []);
});
