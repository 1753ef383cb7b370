// Archives in Chromium: from one device to another, out of other hands, and many decisions at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { KEY, archive, decided, dm, inbox, metadata, said } from "../archives/elements.mjs";
import { failure, world } from "./support.mjs";

const place = world();

/** A page where the bytes of archives can be fetched by name. */
async function pageWith(archives = {}) {
  const page = await place.page();
  for (const [name, bytes] of Object.entries(archives)) {
    await page.route(`**/${name}.archive`, (route) => route.fulfill({ body: bytes, contentType: "application/octet-stream" }));
  }
  await page.evaluate((bytes) => {
    globalThis.key = Uint8Array.from(bytes);
    globalThis.archived = async (name) => new Uint8Array(await (await fetch(`/${name}.archive`)).arrayBuffer());
    globalThis.importFrom = async (who, name, options) => people[who].client.importArchive(await archived(name), key, options);
  }, [...KEY]);
  return page;
}

test("BR-011 a new device reads what the old one archived, and goes on once it is added", async () => {
  const page = await pageWith();
  const loaded = [];
  page.on("request", (request) => /archive/.test(request.url()) && loaded.push(new URL(request.url()).pathname));
  const got = await page.evaluate(async () => {
    const log = "archive-devices";
    for (const name of ["ada", "ben"]) await open(name, { log });
    const { ada, ben } = people;
    const dm = await ada.client.conversations.createDm(ben.client.inboxId);
    await dm.sendText("on the old device");
    await dm.publishMessages();
    await ben.client.conversations.syncAll();
    const before = performance.getEntriesByType("resource").filter(({ name }) => name.includes("archive")).length;
    const file = await ada.client.createArchive({}, key);
    const metadata = await ada.client.archiveMetadata(file, key);
    await open("ada", { log, dbPath: "archive-new-device" });
    const fresh = people.ada.client;
    const progress = [];
    await fresh.importArchive(file, key, { onProgress: (one) => progress.push(one) });
    const [restored] = await fresh.conversations.list();
    const seen = {
      id: restored.id === dm.id,
      kind: restored.metadata.conversationType,
      active: await restored.isActive(),
      peer: (await restored.peerInboxId()) === ben.client.inboxId,
      texts: (await restored.messages()).map(({ content }) => content),
    };
    // Ben's next message adds the device.
    const announced = [];
    await fresh.conversations.stream({ onValue: (one) => announced.push(one.id) });
    const his = await ben.client.conversations.getConversationById(dm.id);
    await ben.client.conversations.syncAll();
    await his.sendText("to both devices");
    await his.publishMessages();
    for (const end = Date.now() + 15_000; announced.length < 1 && Date.now() < end; ) {
      await fresh.conversations.syncAll();
      await new Promise((next) => setTimeout(next, 50));
    }
    await fresh.conversations.syncAll();
    const [joined] = await fresh.conversations.list();
    await joined.sendText("from the new one");
    await joined.publishMessages();
    await ben.client.conversations.syncAll();
    return {
      before,
      seen,
      metadata: { ...metadata, exportedAtNs: typeof metadata.exportedAtNs },
      last: progress.at(-1).readBytes === file.length && progress.at(-1).totalBytes === file.length,
      announced: announced.map((id) => id === dm.id),
      active: await joined.isActive(),
      texts: (await joined.messages()).map(({ content }) => content),
      his: (await his.messages()).map(({ content }) => content),
    };
  });
  assert.deepEqual(got.seen, { id: true, kind: 0, active: false, peer: true, texts: ["on the old device"] });
  assert.deepEqual(got.metadata, { backupVersion: 0, elements: [0, 1], exportedAtNs: "bigint" });
  assert.equal(got.last, true);
  assert.equal(got.before, 0, "nothing of it is loaded before it is used");
  assert.deepEqual(loaded.sort(), ["/dist/archive-module.js", "/dist/dovetail_archive_bg.wasm"]);
  assert.deepEqual([got.active, got.announced], [true, [true]]);
  assert.deepEqual(got.texts, ["on the old device", "to both devices", "from the new one"]);
  assert.deepEqual(got.his, got.texts);
  assert.deepEqual(page.errors, []);
  await page.close();
});

test("DMS-017 an archive of others' hands is read, in one conversation and without a peer", async () => {
  const pair = [inbox(0xa0), inbox(0xb0)];
  const file = archive([
    metadata,
    dm(1, pair, 40),
    dm(2, pair, 30),
    said("one", 1, pair[0], 40, "Hello B"),
    said("two", 2, pair[1], 30, "Hello A"),
    decided(1, "01".repeat(16), 3, 500),
    decided(1, "01".repeat(16), 2, 500),
  ]);
  const page = await pageWith({ foreign: file });
  const got = await page.evaluate(async () => {
    await open("carol", { log: "archive-foreign" });
    const { conversations } = people.carol.client;
    // Twice: the second time changes nothing.
    await importFrom("carol", "foreign");
    await importFrom("carol", "foreign");
    const blocked = await conversations.list({ consentStates: [dovetail.ConsentState.Denied] });
    const [one] = blocked;
    return {
      listed: (await conversations.list()).length,
      blocked: blocked.length,
      peer: await one.peerInboxId(),
      texts: (await one.messages()).map(({ content }) => content),
      duplicates: (await one.duplicateDms()).length,
      sending: await one.sendText("no").catch(({ code }) => code),
    };
  });
  assert.deepEqual(got, {
    listed: 0,
    blocked: 1,
    peer: undefined,
    texts: ["Hello A", "Hello B"],
    duplicates: 1,
    sending: "group.not_a_member",
  });
  assert.deepEqual(page.errors, []);
  await page.close();
});

test("an archive that is cut, altered, newer or another key's is refused with what is wrong", async () => {
  const pair = [inbox(0xa0), inbox(0xb0)];
  const elements = [metadata, dm(1, pair, 40), said("one", 1, pair[0], 40, "Hello B"), said("two", 1, inbox(0xc0), 41, "Hello")];
  const outside = archive(elements);
  const good = archive(elements.slice(0, 3));
  const altered = Buffer.from(good);
  altered[altered.length - 3] ^= 1;
  const newer = Buffer.from(good);
  newer[0] = 1;
  const page = await pageWith({ good, altered, newer, outside, cut: good.subarray(0, good.length - 5), nothing: Buffer.alloc(0) });
  const codeOf = async (name) => (await failure(page, (name) => importFrom("carol", name), name)).code;
  await page.evaluate(() => open("carol", { log: "archive-broken" }));
  assert.equal(await codeOf("newer"), "archive.version");
  assert.equal(await codeOf("nothing"), "archive.truncated");
  const wrong = await failure(page, async () => people.carol.client.importArchive(await archived("good"), new Uint8Array(32)));
  assert.deepEqual([wrong.name, wrong.code, wrong.retryable], ["DovetailError", "archive.key", false]);
  const short = await failure(page, async () => people.carol.client.createArchive({}, new Uint8Array(31)));
  assert.deepEqual([short.name, short.code], ["DovetailError", "archive.key"]);
  const text = await failure(page, async () => people.carol.client.importArchive("text", key));
  assert.deepEqual([text.name, text.code], ["DovetailError", "input.value"]);
  assert.equal(await page.evaluate(async () => (await people.carol.client.conversations.list()).length), 0);
  // What came before the trouble stays.
  assert.equal(await codeOf("altered"), "archive.altered");
  assert.equal(await codeOf("cut"), "archive.truncated");
  assert.equal(await codeOf("outside"), "archive.rule");
  const texts = () => page.evaluate(async () => (await (await people.carol.client.conversations.list())[0].messages()).map(({ content }) => content));
  assert.deepEqual(await texts(), ["Hello B"]);
  await page.evaluate(() => importFrom("carol", "good"));
  assert.deepEqual(await texts(), ["Hello B"]);
  await page.close();
});

test("50,000 decisions of one archive are merged, with progress, and the page stays responsive", async (context) => {
  const count = 50_000;
  const id = (n) => n.toString(16).padStart(64, "0");
  const many = archive([metadata, ...Array.from({ length: count }, (_, n) => decided(2, id(n), 2 + (n % 2), 500 + n))]);
  const page = await pageWith({ many });
  const got = await page.evaluate(async (count) => {
    await open("carol", { log: "archive-many" });
    const file = await archived("many");
    await dovetail.initArchives();
    const long = [];
    const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)));
    observer.observe({ entryTypes: ["longtask"] });
    // A page that wants a turn again and again.
    let [last, gap, over] = [performance.now(), 0, false];
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      const now = performance.now();
      [gap, last] = [Math.max(gap, now - last), now];
      if (!over) setTimeout(() => channel.port2.postMessage(0), 1);
    };
    channel.port2.postMessage(0);
    const progress = [];
    const begun = performance.now();
    await people.carol.client.importArchive(file, key, { onProgress: (one) => progress.push(one) });
    const ms = performance.now() - begun;
    over = true;
    await new Promise((next) => setTimeout(next, 100));
    long.push(...observer.takeRecords().map(({ duration }) => duration));
    const states = [];
    for (const n of [0, 1, 12_345, count - 1]) {
      states.push(await people.carol.client.preferences.getConsentState(dovetail.ConsentEntityType.InboxId, n.toString(16).padStart(64, "0")));
    }
    const rising = progress.every((one, at) => at === 0 || one.readBytes >= progress[at - 1].readBytes);
    return { ms, gap, long, states, rising, calls: progress.length, end: progress.at(-1), size: file.length };
  }, count);
  const figures = `${(got.ms / 1000).toFixed(1)} s, longest wait for a turn ${got.gap.toFixed(0)} ms, tasks over 50 ms: ${got.long.length}`;
  context.diagnostic(`${count} decisions in ${(got.size / 1e6).toFixed(1)} MB: ${figures}, ${got.calls} reports`);
  assert.deepEqual(got.states, [1, 2, 2, 2]);
  assert.deepEqual(got.end, { readBytes: got.size, totalBytes: got.size, elements: count + 1 });
  assert.ok(got.rising && got.calls > 100);
  // Printed above; a machine that is busy with something else has some.
  assert.ok(got.long.length < got.calls / 10, figures);
  await page.close();
});
