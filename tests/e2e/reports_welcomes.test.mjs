// What people reported of Welcomes and key packages in other clients, tried on ours: field reports of theme D.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();

/** Runs in a fresh page with the package and the helpers below; nothing may go unhandled there. */
async function inPage(run, arg) {
  const page = await place.page();
  await page.evaluate(helpers);
  const out = await page.evaluate(run, arg);
  assert.deepEqual(page.errors, []);
  await page.close();
  return out;
}

function helpers() {
  const done = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  /** Does something with a table of a closed client's database; keys are given in hexadecimal. */
  globalThis.table = async (name, table, work) => {
    const database = await done(indexedDB.open(name));
    const store = database.transaction(table, "readwrite").objectStore(table);
    const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
    await work(keys.map((key, at) => ({ key: hex(key), size: (values[at].s ?? values[at]).length, drop: () => done(store.delete(key)) })));
    database.close();
  };
  /** A group with these members; resolves when they have their Welcomes. */
  globalThis.invite = async (person, members, options) => {
    const group = await person.client.conversations.createGroup(members, options);
    await group.publishMessages();
    return group;
  };
  globalThis.names = async (person) => (await person.client.conversations.listGroups()).map(({ name }) => name).sort();
  /** The newest key package of a device, as others find it. */
  globalThis.offered = async ({ client, delivery }) => {
    const [newest] = await delivery.newest([`03${client.installationId}`]);
    return newest && hex(newest.payload);
  };
}

test("BR-037 one Welcome met by a stream, by several syncs and again after a restart makes one group", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br37" });
    const { ben } = people;
    const log = { log: "br37" };
    const [streamed, failed] = [[], []];
    await people.ada.client.conversations.stream({ onValue: ({ id }) => streamed.push(id), onError: (error) => failed.push(error) });
    const group = await invite(ben, [people.ada.client.inboxId]);
    const { conversations } = people.ada.client;
    await Promise.all([conversations.sync(), conversations.syncAll(), conversations.sync(), conversations.syncAll()]);
    await until(() => streamed.length > 0);
    const look = async () => {
      const list = await people.ada.client.conversations.list();
      const { consentState, consentedAtNs, rejected } = (await list[0].inspect()).groups[0];
      const joined = (await list[0].messages()).filter(dovetail.isGroupUpdated).length;
      return { ids: list.map(({ id }) => id), consent: [consentState, consentedAtNs], rejected, joined };
    };
    const first = await look();
    await people.ada.client.close();
    // It forgets how far it has read: every Welcome comes again.
    const welcomes = `01${people.ada.client.installationId}`;
    let found = 0;
    await table(people.ada.dbPath, "positions", async (rows) => {
      for (const { drop } of rows.filter(({ key }) => key === welcomes)) await drop(), (found += 1);
    });
    await open("ada", log);
    await people.ada.client.conversations.stream({ onValue: ({ id }) => streamed.push(id), onError: (error) => failed.push(error) });
    await people.ada.client.conversations.syncAll();
    await new Promise((next) => setTimeout(next, 300));
    return { id: group.id, found, streamed, failed: failed.length, first, again: await look() };
  });
  assert.equal(seen.found, 1);
  assert.deepEqual([seen.streamed, seen.failed], [[seen.id], 0]);
  assert.deepEqual(seen.first, { ids: [seen.id], consent: [0, undefined], rejected: [], joined: 1 });
  assert.deepEqual(seen.again, seen.first);
});

test("BR-038 a Welcome whose identity look-up fails once is joined by the next try", async () => {
  const seen = await inPage(async () => {
    await open("ben", { log: "br38" });
    const { ben } = people;
    // Ada reads nothing by herself yet: the look-up fails in a sync of hers.
    await open("ada", { log: "br38" });
    const { ada } = people;
    ada.delivery.offline = true;
    const group = await invite(ben, [ada.client.inboxId]);
    await group.sendText("hello");
    await group.publishMessages();
    const { query } = ada.delivery;
    let refused = 0;
    ada.delivery.query = (topics, limit) => {
      if (refused === 0 && topics.some(({ topic }) => topic === `02${ben.client.inboxId}`)) {
        refused += 1;
        return Promise.reject(new Error("the identity service is busy"));
      }
      return query.call(ada.delivery, topics, limit);
    };
    ada.delivery.offline = false;
    const first = await ada.client.conversations.sync().then(() => "done", ({ code, retryable }) => [code, retryable]);
    await ada.client.conversations.syncAll();
    const joined = await ada.client.conversations.getConversationById(group.id);
    return { refused, first, active: await joined?.isActive(), texts: (await joined.messages({ kind: 0 })).map(({ content }) => content) };
  });
  assert.equal(seen.refused, 1);
  // Whichever sync met it first: what failed is told, or was mended before anybody asked.
  assert.ok(seen.first === "done" || (seen.first[0] === "delivery.unavailable" && seen.first[1]), String(seen.first));
  assert.deepEqual([seen.active, seen.texts], [true, ["hello"]]);
});

test("BR-040 two who invite with the same key package are both joined", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben", "cy"]) await open(name, { log: "br40" });
    const { ada, ben, cy } = people;
    ada.delivery.offline = true;
    const before = await offered({ client: ada.client, delivery: ben.delivery });
    for (const person of [ben, cy]) await invite(person, [ada.client.inboxId], { groupName: person === ben ? "ben's" : "cy's" });
    const same = (await offered({ client: ada.client, delivery: ben.delivery })) === before;
    ada.delivery.offline = false;
    await ada.client.conversations.syncAll();
    const groups = await ada.client.conversations.listGroups();
    return { same, names: await names(ada), active: await Promise.all(groups.map((group) => group.isActive())) };
  });
  assert.deepEqual(seen, { same: true, names: ["ben's", "cy's"], active: [true, true] });
});

test("BR-041 the first invitation works without a restart, so do thirty that waited, and a new key package is offered", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br41" });
    const { ada, ben } = people;
    const inboxId = ada.client.inboxId;
    const hers = () => offered({ client: ada.client, delivery: ben.delivery });
    const registered = await hers();
    await invite(ben, [inboxId], { groupName: "first" });
    await ada.client.conversations.sync();
    const first = await names(ada);
    await until(async () => (await hers()) !== registered);
    const second = await hers();
    ada.delivery.offline = true;
    for (let n = 0; n < 30; n += 1) await invite(ben, [inboxId], { groupName: `waits ${n}` });
    const meanwhile = await hers();
    ada.delivery.offline = false;
    await ada.client.conversations.syncAll();
    const groups = await ada.client.conversations.listGroups();
    const active = (await Promise.all(groups.map((group) => group.isActive()))).filter(Boolean).length;
    await until(async () => (await hers()) !== second);
    const third = await hers();
    const [status] = [...(await ben.client.fetchKeyPackageStatuses([ada.client.installationId])).values()];
    await invite(ben, [inboxId], { groupName: "after" });
    await ada.client.conversations.sync();
    return {
      first,
      groups: groups.length,
      active,
      refilled: [second !== registered, meanwhile === second, third !== second],
      problem: status.validationError,
      last: (await names(ada)).includes("after"),
    };
  });
  assert.deepEqual(seen, { first: ["first"], groups: 31, active: 31, refilled: [true, true, true], problem: undefined, last: true });
});

test("BR-043 GMOD-009 one unusable key package keeps nobody else out", async () => {
  // Registered a hundred days ago and not seen since: one person, and a device of another.
  const absent = await place.page();
  const gone = await absent.evaluate(async () => {
    clockMs = -100 * 86_400_000;
    const ids = {};
    for (const [name, as] of [["old", "old"], ["good", "good-old"]]) {
      ids[as] = await open(name, { log: "br43", as });
      await people[as].client.close();
    }
    return ids;
  });
  await absent.close();
  const seen = await inPage(async (gone) => {
    for (const name of ["empty", "good", "ada"]) await open(name, { log: "br43" });
    const { ada } = people;
    const { newest } = ada.delivery;
    ada.delivery.newest = async (topics) => {
      const found = await newest.call(ada.delivery, topics);
      return found.map((one, at) => (topics[at] === `03${people.empty.client.installationId}` ? undefined : one));
    };
    const wanted = [gone.old.inboxId, people.empty.client.inboxId, people.good.client.inboxId];
    const group = await invite(ada, []);
    const result = await group.addMembers(wanted);
    await people.good.client.conversations.sync();
    const joined = await people.good.client.conversations.getConversationById(group.id);
    const devices = [gone.old.installationId, gone["good-old"].installationId, ...["empty", "good"].map((name) => people[name].client.installationId)];
    const statuses = await ada.client.fetchKeyPackageStatuses(devices);
    return {
      result,
      expected: { failedInstallations: [gone["good-old"].installationId], notAdded: wanted.slice(0, 2).sort() },
      members: (await group.members()).map(({ inboxId }) => inboxId).sort(),
      wanted: [ada.client.inboxId, wanted[2]].sort(),
      active: await joined.isActive(),
      usable: devices.map((id) => statuses.get(id).validationError === undefined),
    };
  }, gone);
  seen.result.notAdded.sort();
  assert.deepEqual(seen.result, seen.expected);
  assert.deepEqual(seen.members, seen.wanted);
  assert.deepEqual([seen.active, seen.usable], [true, [false, false, false, true]]);
});

test("BR-044 a clock three days off, either way, keeps nobody from creating, joining and being invited", async () => {
  const page = await place.page();
  await page.evaluate(helpers);
  const other = await place.page();
  await other.evaluate(helpers);
  await other.evaluate(() => open("ben", { log: "br44" }));
  const ben = await other.evaluate(() => people.ben.client.inboxId);
  for (const [name, days] of [["slow", -3], ["fast", 3]]) {
    const inbox = await page.evaluate(
      async ([name, days]) => {
        clockMs = days * 86_400_000;
        return (await open(name, { log: "br44" })).inboxId;
      },
      [name, days],
    );
    // The one whose clock is off invites, and is invited.
    const made = await page.evaluate(async ([name, ben]) => (await invite(people[name], [ben], { groupName: `by ${name}` })).id, [name, ben]);
    const offered = await other.evaluate(async ([name, inbox]) => (await invite(people.ben, [inbox], { groupName: `for ${name}` })).id, [name, inbox]);
    const dm = await page.evaluate(
      async ([name, ben]) => {
        const dm = await people[name].client.conversations.createDm(ben);
        await dm.sendText(`hello from ${name}`);
        await dm.publishMessages();
        await people[name].client.conversations.syncAll();
        return dm.id;
      },
      [name, ben],
    );
    const seen = [];
    for (const [where, who] of [[other, "ben"], [page, name]]) {
      seen.push(
        await where.evaluate(
          async ([who, ids]) => {
            await people[who].client.conversations.syncAll();
            return Promise.all(
              ids.map(async (id) => {
                const one = await people[who].client.conversations.getConversationById(id);
                const { groups } = await one.inspect();
                return [await one.isActive(), groups.map(({ epoch, epochAuthenticator, rejected }) => [String(epoch), epochAuthenticator, rejected])];
              }),
            );
          },
          [who, [made, offered, dm]],
        ),
      );
    }
    assert.deepEqual(seen[0], seen[1], "both are in the same epoch of each");
    for (const [active, [[, , rejected]]] of seen[0]) assert.deepEqual([active, rejected], [true, []]);
  }
  assert.deepEqual([...page.errors, ...other.errors], []);
});

test("BR-045 JOIN-077 an invitation for a key package that is not held waits a day, and later ones are joined", async () => {
  const seen = await inPage(async () => {
    for (const name of ["ada", "ben"]) await open(name, { log: "br45" });
    const inboxId = people.ada.client.inboxId;
    const dbPath = people.ada.dbPath;
    await people.ada.client.close();
    await invite(people.ben, [inboxId], { groupName: "lost" });
    // The keys are gone: a database that is older than what was published.
    let dropped = 0;
    await table(dbPath, "mls", async (rows) => {
      for (const { drop } of rows.filter(({ key }) => key.startsWith("6b") && key.length !== 38)) await drop(), (dropped += 1);
    });
    const kept = async () => {
      await people.ada.client.close();
      const sizes = [];
      // Of the Welcome topic: those that wait, and those that were refused for good.
      const isWelcome = (key) => key.startsWith("01") || key.startsWith("ff01");
      await table(dbPath, "envelopes", async (rows) => rows.forEach(({ key, size }) => isWelcome(key) && sizes.push(size)));
      await open("ada", { log: "br45" });
      return sizes;
    };
    await open("ada", { log: "br45" });
    await people.ada.client.conversations.syncAll();
    const waits = await kept();
    await people.ada.client.conversations.sync();
    await invite(people.ben, [inboxId], { groupName: "later" });
    await people.ada.client.conversations.sync();
    const joined = await names(people.ada);
    clockMs += 25 * 3_600_000;
    await people.ada.client.conversations.sync();
    const settled = await kept();
    await people.ada.client.conversations.sync();
    return { dropped, joined, waits, settled, again: await kept() };
  });
  assert.ok(seen.dropped >= 1);
  assert.deepEqual(seen.joined, ["later"]);
  assert.equal(seen.waits.length, 1);
  // Then only the fact is kept that it was refused, without its bytes.
  assert.ok(seen.waits[0] > 500 && seen.settled.length === 1 && seen.settled[0] < 500, `${seen.waits} ${seen.settled}`);
  assert.deepEqual(seen.again, seen.settled);
});
