// Events and the durable stream in real pages: every tab is told, a reload and a kill go on where
// the app was.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, world } from "./support.mjs";

const place = world();

/** Ada with two tabs of one database, ben with one; a DM that both have. */
async function setOut(log) {
  const [first, second, ben] = [await place.page(), await place.page(), await place.page()];
  const bens = await ben.evaluate((log) => open("ben", { log }), log);
  await first.evaluate((log) => open("ada", { log }), log);
  await second.evaluate((log) => open("ada", { log }), log);
  const dm = await first.evaluate(async (peer) => {
    const dm = await people.ada.client.conversations.createDm(peer);
    await dm.sendText("hello");
    await people.ada.client.conversations.syncAll();
    return dm.id;
  }, bens.inboxId);
  await ben.evaluate(() => people.ben.client.conversations.syncAll());
  return { first, second, ben, dm, log };
}

/** Notes events of ada's client in this page as `told`. */
const watch = (page, kinds) =>
  page.evaluate(async (kinds) => {
    globalThis.told = [];
    globalThis.stream = await people.ada.client.streamEvents({ kinds, onValue: (event) => told.push(event) });
  }, kinds);

const told = (page, count) =>
  page.evaluate(async (count) => {
    for (const end = Date.now() + 20_000; told.length < count && Date.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return told;
  }, count);

/** The next so many messages of ada's durable stream, by text; the last one is left in hand. */
const consume = (page, count) =>
  page.evaluate(async (count) => {
    globalThis.durable ??= await people.ada.client.conversations.consume({ contentTypes: [dovetail.ContentType.Text] });
    const texts = [];
    while (texts.length < count) texts.push((await durable.next()).value.content);
    return texts;
  }, count);

const write = ({ ben, dm }, texts) =>
  ben.evaluate(
    async ([id, texts]) => {
      const dm = await people.ben.client.conversations.getConversationById(id);
      for (const text of texts) await dm.sendText(text);
      await dm.publishMessages();
    },
    [dm, texts],
  );

test("CONS-041 two tabs are told the same, whichever decides", { timeout: 120_000 }, async () => {
  const set = await setOut("events-consent");
  const { first, second, dm } = set;
  for (const page of [first, second]) await watch(page, ["consent.changed", "message.received"]);
  const decide = (page, state) =>
    page.evaluate(
      async ([id, state]) => (await people.ada.client.conversations.getConversationById(id)).updateConsentState(state),
      [dm, state],
    );
  await decide(first, 2);
  assert.deepEqual((await told(second, 1)).length, 1);
  await decide(second, 1);
  await told(first, 2);
  await write(set, ["news"]);
  const [one, two] = [await told(first, 3), await told(second, 3)];
  assert.deepEqual(one, two);
  assert.deepEqual(one.slice(0, 2), [
    { type: "consent.changed", entityType: 0, entity: dm, state: 2 },
    { type: "consent.changed", entityType: 0, entity: dm, state: 1 },
  ]);
  assert.deepEqual([one[2].type, one[2].groupId, one[2].contentType.typeId], ["message.received", dm, "text"]);
  for (const page of [first, second]) {
    const read = await page.evaluate(
      async ([id, message]) => [
        await (await people.ada.client.conversations.getConversationById(id)).consentState(),
        (await people.ada.client.conversations.getMessageById(message)).content,
      ],
      [dm, one[2].messageId],
    );
    assert.deepEqual(read, [1, "news"]);
    assert.deepEqual(page.errors, []);
  }
  // From inside a callback the client can be closed.
  await first.evaluate(async () => {
    const { client } = people.ada;
    globalThis.closed = new Promise((resolve) => {
      void client.streamEvents({ onValue: () => client.close().then(resolve) });
    });
  });
  await decide(second, 2);
  await first.evaluate(() => closed);
});

/** Tries again while the stream is another's: a browser gives up a closed page's lock a little later. */
async function onceFree(take, tries = 50) {
  for (let left = tries; ; left -= 1) {
    try {
      return await take();
    } catch (error) {
      if (left === 0 || !/has the durable stream/.test(error.message)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

test("PROC-026 a reload and a kill go on with the durable stream, one tab at a time", { timeout: 180_000 }, async () => {
  const set = await setOut("events-durable");
  const { first, second, ben, log } = set;
  await write(set, ["one", "two", "three"]);
  assert.deepEqual(await consume(first, 3), ["hello", "one", "two"]);
  const taken = await failure(second, async () => {
    await people.ada.client.conversations.consume();
  });
  assert.deepEqual([taken.code, taken.retryable], ["stream.owned", true]);

  // "two" was in hand; what the reload interrupts comes again, nothing else does.
  await place.reload(first);
  await first.evaluate((log) => open("ada", { log }), log);
  assert.deepEqual(await consume(first, 2), ["two", "three"]);
  await write(set, ["four"]);
  assert.deepEqual(await consume(first, 1), ["four"], "it waits for what comes");

  // The other tab takes over once this one is gone.
  await first.close();
  assert.deepEqual(await onceFree(() => consume(second, 1)), ["four"]);
  const cursors = await second.evaluate(async () => {
    const replay = await people.ada.client.conversations.replay(undefined, { contentTypes: [dovetail.ContentType.Text] });
    const seen = [];
    for await (const { content, cursor } of replay) {
      seen.push([content, cursor]);
      if (content === "four") break;
    }
    return seen;
  });
  assert.deepEqual(cursors.map(([text]) => text), ["hello", "one", "two", "three", "four"]);
  const foreign = await failure(
    ben,
    async (cursor) => {
      await people.ben.client.conversations.replay(cursor);
    },
    cursors[0][1],
  );
  assert.equal(foreign.code, "stream.foreign_cursor");

  await place.kill();
  const [again, other] = [await place.page(), await place.page()];
  await again.evaluate((log) => open("ada", { log }), log);
  await other.evaluate((log) => open("ben", { log }), log);
  await write({ ben: other, dm: set.dm }, ["five"]);
  assert.deepEqual(await onceFree(() => consume(again, 2)), ["four", "five"]);
  const on = await again.evaluate(async (cursor) => {
    const replay = await people.ada.client.conversations.replay(cursor);
    return (await replay.next()).value.content;
  }, cursors.at(-1)[1]);
  assert.equal(on, "five", "a cursor outlives the page");
});

test("DMS-016 a stream begins with the newest messages and goes on without a gap", { timeout: 120_000 }, async () => {
  const set = await setOut("events-recent");
  await write(set, ["one", "two", "three"]);
  const texts = await set.second.evaluate(async (id) => {
    const dm = await people.ada.client.conversations.getConversationById(id);
    await dm.sync();
    globalThis.recent = await dm.stream({ recent: 2 });
    return [(await recent.next()).value.content, (await recent.next()).value.content];
  }, set.dm);
  assert.deepEqual(texts, ["two", "three"]);
  const waits = set.second.evaluate(async () => (await recent.next()).value.content);
  await write(set, ["four"]);
  assert.equal(await waits, "four");
});
