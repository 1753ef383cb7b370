// What people reported of DMs in other clients, tried on ours: field reports of theme A.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();
const inPage = (run, arg) => place.inPage(run, arg);

test("BR-003 BR-005 a stream through one group brings what arrives in the other, and no second conversation", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br5" });
    const { ada, ben } = people;
    ada.delivery.offline = ben.delivery.offline = true;
    const [fromAda, fromBen] = [
      await ada.client.conversations.createDm(ben.client.inboxId),
      await ben.client.conversations.createDm(ada.client.inboxId),
    ];
    const [conversations, texts] = [[], []];
    await ada.client.conversations.stream({ onValue: (one) => conversations.push(one.id) });
    await fromAda.stream({ onValue: (message) => texts.push(message.content), disableSync: true });
    await fromBen.sendText("in the other group");
    ada.delivery.offline = ben.delivery.offline = false;
    for (const end = Date.now() + 10_000; texts.length < 1 && Date.now() < end; ) await new Promise((next) => setTimeout(next, 50));
    await ben.client.conversations.syncAll();
    await fromBen.sendText("and again");
    for (const end = Date.now() + 10_000; texts.length < 2 && Date.now() < end; ) await new Promise((next) => setTimeout(next, 50));
    const list = (options) => ada.client.conversations.list(options);
    return { conversations, texts, listed: (await list()).length, all: (await list({ includeDuplicateDms: true })).length };
  });
  assert.deepEqual(seen, { conversations: [], texts: ["in the other group", "and again"], listed: 1, all: 2 });
});

test("BR-003 DMS-007 whoever asks for duplicates is told of each group as itself", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br3" });
    const { ada, ben } = people;
    const told = { plain: [], all: [] };
    const id = (one) => one.id;
    await ada.client.conversations.stream({ onValue: (one) => told.plain.push(id(one)) });
    await ada.client.conversations.streamDms({ includeDuplicateDms: true, onValue: (one) => told.all.push(id(one)) });
    ben.delivery.offline = true;
    const mine = await ada.client.conversations.createDm(ben.client.inboxId);
    const theirs = await ben.client.conversations.createDm(ada.client.inboxId);
    ben.delivery.offline = false;
    await until(() => told.all.length === 2);
    await ada.client.conversations.syncAll();
    const [listed] = await ada.client.conversations.list();
    return { ...told, ids: [mine.id, theirs.id], listed: listed.id };
  });
  assert.deepEqual(seen.all, seen.ids);
  assert.deepEqual(seen.plain, seen.ids.slice(0, 1));
  assert.ok(seen.ids.includes(seen.listed));
});

test("BR-007 DMS-013 a duplicate that was joined a moment ago and is empty does not become the conversation", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br7" });
    const { ada, ben } = people;
    const first = await ada.client.conversations.createDm(ben.client.inboxId);
    await first.sendText("one");
    await first.publishMessages();
    await ben.client.conversations.syncAll();
    // Ben's new device does not know of it: nobody who does hears of the device.
    ada.delivery.offline = ben.delivery.offline = true;
    await open("ben", { log: "br7", as: "laptop" });
    const second = await people.laptop.client.conversations.createDm(ada.client.inboxId);
    await second.publishMessages();
    await ada.client.close();
    await open("ada", { log: "br7", offline: true });
    people.ada.delivery.offline = false;
    await people.ada.client.conversations.sync();
    const [listed] = await people.ada.client.conversations.list();
    const groups = (await listed.inspect()).groups.map(({ groupId, lastMessageNs }) => [groupId, lastMessageNs !== undefined]);
    await (await people.ada.client.conversations.getConversationById(second.id)).sendText("two");
    const sentIn = (await listed.messages()).map(({ content, groupId }) => [content, groupId]);
    return { first: first.id, second: second.id, listed: listed.id, groups, sentIn };
  });
  assert.notEqual(seen.first, seen.second);
  assert.deepEqual(new Map(seen.groups), new Map([[seen.first, true], [seen.second, false]]));
  assert.equal(seen.listed, seen.first);
  assert.deepEqual(seen.sentIn, [["one", seen.first], ["two", seen.first]]);
});

test("BR-008 DMS-017 every group of a DM is found from each of them", async () => {
  const seen = await inPage(async () => {
    await open("ada", { log: "br8" });
    await open("ben", { log: "br8" });
    await open("ben", { log: "br8", as: "laptop" });
    const everybody = Object.values(people);
    for (const { delivery } of everybody) delivery.offline = true;
    const made = [];
    for (const [name, peer] of [["ada", "ben"], ["ben", "ada"], ["laptop", "ada"]]) {
      made.push(await people[name].client.conversations.createDm(people[peer].client.inboxId));
    }
    for (const { delivery } of everybody) delivery.offline = false;
    for (let round = 0; round < 3; round += 1) for (const { client } of everybody) await client.conversations.syncAll();
    const ids = async (dms) => (await dms).map(({ id }) => id).sort();
    const { conversations } = people.ada.client;
    const physical = await conversations.listDms({ includeDuplicateDms: true });
    const [listed] = await conversations.list();
    return {
      made: made.map(({ id }) => id).sort(),
      listed: await ids(conversations.list()),
      physical: await ids(physical),
      others: await Promise.all(physical.map(async (dm) => [dm.id, await ids(dm.duplicateDms())])),
      // A handle that was made before there was anything to stitch, and one resolved from any id.
      early: [made[0].id, await ids(made[0].duplicateDms())],
      resolved: await Promise.all(made.map(async ({ id }) => (await conversations.getConversationById(id)).id === listed.id)),
    };
  });
  assert.equal(seen.made.length, 3);
  assert.equal(seen.listed.length, 1);
  assert.deepEqual(seen.physical, seen.made);
  for (const [id, others] of [...seen.others, seen.early]) assert.deepEqual(others, seen.made.filter((one) => one !== id));
  assert.deepEqual(seen.resolved, [true, true, true]);
});

test("BR-009 DMS-002 a DM with oneself is refused and leaves nothing anywhere", async () => {
  const seen = await inPage(async () => {
    await open("ada", { log: "br9" });
    const { ada } = people;
    const { conversations, preferences, inboxId, accountIdentifier } = ada.client;
    await conversations.sync();
    const before = ada.handed;
    const tries = [
      () => conversations.createDm(inboxId),
      () => conversations.createDm(inboxId.toUpperCase()),
      () => conversations.createDm(`  ${inboxId} `),
      () => conversations.createDmWithIdentifier(accountIdentifier),
      () => conversations.createDmWithIdentifier({ ...accountIdentifier, identifier: accountIdentifier.identifier.toUpperCase().replace("0X", "0x") }),
    ];
    const codes = [];
    for (const create of tries) codes.push(await create().then(() => "created", ({ code }) => code));
    await conversations.syncAll();
    return {
      codes,
      handed: ada.handed - before,
      listed: (await conversations.list({ consentStates: [0, 1, 2], includeDuplicateDms: true })).length,
      consent: await preferences.getConsentState(dovetail.ConsentEntityType.InboxId, inboxId),
    };
  });
  assert.deepEqual(seen, { codes: Array(5).fill("dm.self"), handed: 0, listed: 0, consent: 0 });
});

test("BR-013 DMS-001 both sides derive one id, however the inbox ids were written", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br13" });
    const { ada, ben } = people;
    ada.delivery.offline = ben.delivery.offline = true;
    const mixed = (id) => [...id].map((digit, at) => (at % 2 ? digit.toUpperCase() : digit)).join("");
    const dms = [
      await ada.client.conversations.createDm(ben.client.inboxId.toUpperCase()),
      await ben.client.conversations.createDm(` ${mixed(ada.client.inboxId)}\n`),
    ];
    return { ids: await Promise.all(dms.map(async (dm) => (await dm.inspect()).dmId)), inboxes: [ada.client.inboxId, ben.client.inboxId].sort() };
  });
  assert.ok(seen.inboxes.every((id) => /^[0-9a-f]{64}$/.test(id)));
  assert.deepEqual(seen.ids, Array(2).fill(`dm:${seen.inboxes.join(":")}`));
});
