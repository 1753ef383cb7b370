// What people reported of consent and of leaving in other clients, tried on ours: field reports of theme B.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();
const inPage = (run, arg) => place.inPage(run, arg);

test("BR-019 CONS-030 CONS-042 CONS-043 each stream brings the conversations of its filter", async () => {
  const got = await inPage(async () => {
    const { ConsentState } = dovetail;
    const names = ["allowed", "unknown", "denied"];
    await open("ada", { log: "br19" });
    const dms = {};
    for (const name of names) {
      await open(name, { log: "br19" });
      dms[name] = await people[name].client.conversations.createDm(people.ada.client.inboxId);
      await dms[name].sendText("before");
      await dms[name].publishMessages();
    }
    const mine = people.ada.client.conversations;
    await mine.syncAll();
    const from = (name) => mine.getDmByInboxId(people[name].client.inboxId);
    await (await from("allowed")).updateConsentState(ConsentState.Allowed);
    await (await from("denied")).updateConsentState(ConsentState.Denied);
    const got = { all: [], denied: [], none: [], named: [] };
    const into = (name) => ({ onValue: (message) => got[name].push(message.content) });
    await mine.streamAllMessages(into("all"));
    await mine.streamAllMessages({ ...into("denied"), consentStates: [ConsentState.Denied] });
    await mine.streamAllMessages({ ...into("none"), consentStates: [] });
    await (await from("denied")).stream(into("named"));
    for (const name of names) await dms[name].sendText(name);
    const arrived = () => got.all.length + got.denied.length + got.named.length;
    for (const end = Date.now() + 10_000; arrived() < 4 && Date.now() < end; ) await new Promise((next) => setTimeout(next, 50));
    await new Promise((next) => setTimeout(next, 200));
    got.all.sort();
    return got;
  });
  assert.deepEqual(got, { all: ["allowed", "unknown"], denied: ["denied"], none: [], named: ["denied"] });
});

test("BR-021 CONS-021 writing in a conversation allows it once the message is published", async () => {
  const seen = await inPage(async () => {
    const { ConsentState, DeliveryRefused } = dovetail;
    await open("ada", { log: "br21" });
    const { ada } = people;
    const dms = {};
    for (const name of ["unknown", "denied", "refused", "waits"]) {
      await open(name, { log: "br21" });
      const dm = await people[name].client.conversations.createDm(ada.client.inboxId);
      await dm.sendText("hello");
      await dm.publishMessages();
      await ada.client.conversations.sync();
      dms[name] = await ada.client.conversations.getConversationById(dm.id);
    }
    await dms.denied.updateConsentState(ConsentState.Denied);
    const record = async (name) => {
      const [{ consentState, consentedAtNs }] = (await dms[name].inspect()).groups;
      return [consentState, consentedAtNs];
    };
    const write = async (name) => {
      const from = BigInt(Date.now()) * 1_000_000n;
      await dms[name].sendText("an answer");
      await dms[name].publishMessages();
      await dms[name].sync();
      const [state, at] = await record(name);
      return [state, at >= from && at <= BigInt(Date.now() + 1) * 1_000_000n];
    };
    const out = { unknown: await write("unknown"), denied: await write("denied") };

    // The service refuses the message for good.
    const { publish } = ada.delivery;
    const topic = `00${dms.refused.id}`;
    ada.delivery.publish = (batch) => {
      if (batch.some((one) => one.topic === topic)) throw new DeliveryRefused("not this one");
      return publish(batch);
    };
    await dms.refused.sendText("an answer");
    await dms.refused.publishMessages().catch(() => {});
    await dms.refused.sync().catch(() => {});
    const [failed] = await dms.refused.messages({ direction: "descending", limit: 1 });
    out.refused = [failed.deliveryStatus, ...(await record("refused"))];
    ada.delivery.publish = publish;

    // Nobody has it before the service has.
    ada.delivery.offline = true;
    await dms.waits.sendText("an answer");
    out.waits = [await record("waits")];
    ada.delivery.offline = false;
    await dms.waits.publishMessages();
    await dms.waits.sync();
    out.waits.push((await record("waits"))[0]);
    return out;
  });
  assert.deepEqual(seen, {
    unknown: [1, true],
    denied: [1, true],
    refused: [2, 0, undefined],
    waits: [[0, undefined], 1],
  });
});

// With a clock that is right, and with one that is set back by an hour before the page is opened again.
for (const [how, ahead] of [["", 0], [", though the clock was set back in between", 3_600_000]]) {
  test(`BR-021 CONS-021 a block made while the message waits stays${how}`, async () => {
    const log = { log: `br21-${ahead}` };
    const page = await place.page();
    const id = await page.evaluate(
      async ([log, ahead]) => {
        clockMs = ahead;
        for (const name of ["ada", "ben"]) await open(name, log);
        const { ada, ben } = people;
        const theirs = await ben.client.conversations.createDm(ada.client.inboxId);
        await theirs.publishMessages();
        await ada.client.conversations.sync();
        ada.delivery.offline = true;
        await (await ada.client.conversations.getConversationById(theirs.id)).sendText("written before");
        return theirs.id;
      },
      [log, ahead],
    );
    await place.reload(page);
    const seen = await page.evaluate(
      async ([log, id]) => {
        await open("ada", { ...log, offline: true });
        const { client, delivery } = people.ada;
        const dm = await client.conversations.getConversationById(id);
        await dm.updateConsentState(dovetail.ConsentState.Denied);
        delivery.offline = false;
        await dm.publishMessages();
        await dm.sync();
        await open("ben", log);
        await people.ben.client.conversations.syncAll();
        const theirs = await people.ben.client.conversations.getConversationById(id);
        const texts = (await theirs.messages()).map(({ content }) => content);
        return { state: await dm.consentState(), texts, listed: (await client.conversations.list()).length };
      },
      [log, id],
    );
    assert.deepEqual(seen, { state: 2, texts: ["written before"], listed: 0 });
    assert.deepEqual(page.errors, []);
  });
}

test("BR-021 DMS-010 a block through the DM reaches every group it has, and those that come", async () => {
  const seen = await inPage(async () => {
    const { ConsentState, ConsentEntityType } = dovetail;
    for (const name of ["ada", "ben"]) await open(name, { log: "block" });
    const { ada, ben } = people;
    ada.delivery.offline = ben.delivery.offline = true;
    const mine = await ada.client.conversations.createDm(ben.client.inboxId);
    const theirs = await ben.client.conversations.createDm(ada.client.inboxId);
    ada.delivery.offline = ben.delivery.offline = false;
    for (let round = 0; round < 2; round += 1) for (const { client } of [ada, ben]) await client.conversations.syncAll();
    await mine.updateConsentState(ConsentState.Denied);
    // A device that knows neither group writes in one of its own.
    ada.delivery.offline = ben.delivery.offline = true;
    await open("ben", { log: "block", as: "laptop" });
    const third = await people.laptop.client.conversations.createDm(ada.client.inboxId);
    const streamed = [];
    await ada.client.conversations.streamAllMessages({ onValue: ({ content }) => streamed.push(content), disableSync: true });
    await third.sendText("let me in");
    await third.publishMessages();
    ada.delivery.offline = false;
    await ada.client.conversations.sync();
    await ada.client.conversations.syncAll([ConsentState.Denied]);
    const [blocked] = await ada.client.conversations.list({ consentStates: [ConsentState.Denied] });
    const { groups } = await blocked.inspect();
    const peers = (await blocked.members()).map(({ consentState }) => consentState);
    await ada.client.preferences.setConsentStates([
      { entityType: ConsentEntityType.GroupId, entity: third.id, state: ConsentState.Allowed },
    ]);
    const alone = new Map((await blocked.inspect()).groups.map(({ groupId, consentState }) => [groupId, consentState]));
    return {
      ids: [mine.id, theirs.id, third.id],
      listed: (await ada.client.conversations.list({ consentStates: [0, 1] })).map(({ id }) => id),
      winner: blocked.id,
      texts: (await blocked.messages()).map(({ content }) => content),
      streamed,
      states: groups.map(({ consentState }) => consentState),
      times: new Set(groups.map(({ consentedAtNs }) => consentedAtNs)).size,
      peers,
      alone: [mine.id, theirs.id, third.id].map((id) => alone.get(id)),
    };
  });
  assert.deepEqual([seen.winner, seen.texts, seen.streamed], [seen.ids[2], ["let me in"], []]);
  assert.deepEqual([seen.states, seen.times], [[2, 2, 2], 1]);
  assert.deepEqual(seen.peers, [0, 0], "a block of a conversation is none of an inbox");
  // One entity named is one entity decided about; the newest decision shows.
  assert.deepEqual([seen.alone, seen.listed], [[2, 2, 1], [seen.ids[2]]]);
});

test("BR-018 CONS-011 a repeated decision moves its time", async () => {
  const seen = await inPage(async () => {
    const { ConsentState } = dovetail;
    for (const name of ["ada", "ben"]) await open(name, { log: "br18" });
    const dm = await people.ada.client.conversations.createDm(people.ben.client.inboxId);
    const time = async () => (await dm.inspect()).groups[0].consentedAtNs;
    const times = [await time()];
    for (const state of [ConsentState.Allowed, ConsentState.Allowed, ConsentState.Denied]) {
      clockMs += 60_000;
      await dm.updateConsentState(state);
      times.push(await time());
    }
    return times.slice(1).map((at, n) => Number((at - times[n]) / 1_000_000_000n));
  });
  assert.ok(seen.every((seconds) => seconds >= 60 && seconds < 120), seen.join());
});

test("BR-023 GMOD-031 every device of who leaves shows that it is pending", async () => {
  const seen = await inPage(async () => {
    await open("ada", { log: "br23" });
    await open("ben", { log: "br23" });
    await open("ben", { log: "br23", as: "laptop" });
    const { ada, ben, laptop } = people;
    const made = await ada.client.conversations.createGroup([ben.client.inboxId]);
    await made.publishMessages();
    for (const { client } of [ben, laptop]) await client.conversations.syncAll();
    // Her client would serve the request at once.
    ada.delivery.offline = true;
    const group = (person) => person.client.conversations.getConversationById(made.id);
    const state = async (person) => {
      const found = await group(person);
      return [await found.isPendingRemoval(), await found.isActive()];
    };
    const asked = await group(ben);
    await asked.requestRemoval();
    await asked.publishMessages();
    await laptop.client.conversations.syncAll();
    const before = [await state(ben), await state(laptop)];
    const handed = laptop.handed;
    await (await group(laptop)).requestRemoval();
    await (await group(laptop)).publishMessages();
    const more = laptop.handed - handed;
    ada.delivery.offline = false;
    await until(async () => (await made.members()).length === 1, 30_000);
    for (const { client } of [ben, laptop]) await client.conversations.syncAll();
    return { before, more, after: [(await state(ben))[1], (await state(laptop))[1]], left: (await made.members()).length };
  });
  assert.deepEqual(seen, { before: [[true, true], [true, true]], more: 0, after: [false, false], left: 1 });
});

test("BR-024 GMOD-031 leaving where it makes no sense is refused, each case with a code of its own", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben", "cy"]) await open(name, { log: "br24" });
    const { ada, ben, cy } = people;
    const mine = ada.client.conversations;
    const dm = await mine.createDm(ben.client.inboxId);
    const alone = await mine.createGroup([]);
    const group = await mine.createGroup([ben.client.inboxId, cy.client.inboxId]);
    for (const one of [dm, alone, group]) await one.publishMessages();
    for (const { client } of [ben, cy]) await client.conversations.syncAll();
    await group.removeMembers([cy.client.inboxId]);
    await cy.client.conversations.syncAll();
    const out = await cy.client.conversations.getConversationById(group.id);
    const handed = () => ada.handed + ben.handed + cy.handed;
    const before = handed();
    const codes = [];
    // A DM has no such call; whoever takes the one of a group gets the answer of the client.
    const leave = (handle) => group.requestRemoval.call(handle);
    for (const one of [dm, alone, group, out]) codes.push(await leave(one).then(() => "left", ({ code }) => code));
    for (const one of [dm, alone, group]) await one.publishMessages();
    const refused = handed() - before;
    // Twice, with nobody there to serve it.
    ada.delivery.offline = true;
    const theirs = await ben.client.conversations.getConversationById(group.id);
    const told = ben.handed;
    for (let n = 0; n < 2; n += 1) await theirs.requestRemoval();
    await theirs.publishMessages();
    return { codes, refused, requests: ben.handed - told, pending: await theirs.isPendingRemoval() };
  });
  assert.deepEqual(seen, {
    codes: ["group.leave_dm", "group.leave_alone", "group.leave_super_admin", "group.not_a_member"],
    refused: 0,
    requests: 1,
    pending: true,
  });
});

test("CONS-030 consent about an inbox is read on members, in every tab, and hides nothing", async () => {
  const [one, two] = [await place.page(), await place.page()];
  const log = { log: "inboxes" };
  const ben = await one.evaluate((log) => open("ben", log), log);
  for (const tab of [one, two]) await tab.evaluate((log) => open("ada", log), log);
  const told = await two.evaluateHandle(async () => {
    const told = [];
    await people.ada.client.preferences.streamConsent({ onValue: (records) => told.push(...records) });
    return told;
  });
  await one.evaluate(async (ben) => {
    const dm = await people.ben.client.conversations.createDm(people.ada.client.inboxId);
    await dm.publishMessages();
    await people.ada.client.conversations.sync();
    const { ConsentEntityType, ConsentState } = dovetail;
    await people.ada.client.preferences.setConsentStates([
      { entityType: ConsentEntityType.InboxId, entity: ben, state: ConsentState.Denied },
    ]);
  }, ben.inboxId);
  await two.waitForFunction((told) => told.length > 0, told);
  for (const tab of [one, two]) {
    const seen = await tab.evaluate(async (ben) => {
      const { conversations, preferences } = people.ada.client;
      const [dm] = await conversations.list();
      const members = new Map((await dm.members()).map(({ inboxId, consentState }) => [inboxId, consentState]));
      const about = await preferences.getConsentState(dovetail.ConsentEntityType.InboxId, ben);
      return [await dm.consentState(), members.get(ben), members.get(people.ada.client.inboxId), about];
    }, ben.inboxId);
    assert.deepEqual(seen, [0, 2, 0, 2]);
  }
  assert.deepEqual(await told.jsonValue(), [{ entityType: 1, entity: ben.inboxId, state: 2 }]);
  assert.deepEqual([...one.errors, ...two.errors], []);
});
