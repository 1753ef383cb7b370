// Messages about messages, and messages that disappear, in Chromium on IndexedDB.

import assert from "node:assert/strict";
import { test } from "node:test";
import { world } from "./support.mjs";

const place = world();

/** Pages with Ada and Ben, and a group of theirs. */
async function pair(log, options) {
  const page = await place.page();
  const id = await page.evaluate(
    async ([log, options]) => {
      const { inboxId } = await open("ben", { log });
      await open("ada", { log });
      const settings = options && { messageDisappearingSettings: { fromNs: 1n, inNs: BigInt(options.inMs) * 1_000_000n } };
      const group = await people.ada.client.conversations.createGroup([inboxId], settings);
      await group.publishMessages();
      await people.ben.client.conversations.syncAll();
      return group.id;
    },
    [log, options],
  );
  await helpers(page);
  return { page, id };
}

const helpers = (page) =>
  page.evaluate(() => {
    /** A person's handle of a group. */
    globalThis.of = (name, id) => people[name].client.conversations.getConversationById(id);
    /** Everybody has everything. */
    globalThis.settle = async (id) => {
      for (const name of Object.keys(people)) await (await of(name, id)).publishMessages();
      for (const name of Object.keys(people)) await people[name].client.conversations.syncAll();
    };
    /** What can be handed out of messages. */
    globalThis.shown = (messages) =>
      messages.map(({ id, content, reactions, inReplyTo, isDeleted, deletedByInboxId, editedAt }) => ({
        id,
        content: typeof content === "string" ? content : content?.content,
        reactions: reactions.map((one) => `${one.content.content}${one.content.action === dovetail.ReactionAction.Removed ? "-" : ""}`),
        inReplyTo: inReplyTo?.content,
        isDeleted,
        deletedByInboxId,
        edited: editedAt instanceof Date,
      }));
    globalThis.until = async (condition, ms = 20_000) => {
      for (const end = Date.now() + ms; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 25))) {
        if (await condition()) return true;
      }
      return false;
    };
    /** Every record of a database, as one text. */
    globalThis.disk = async (name) => {
      const database = await new Promise((resolve, reject) => {
        const request = indexedDB.open(people[name].dbPath);
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
      const counts = {};
      for (const store of database.objectStoreNames) {
        counts[store] = await new Promise((resolve) => {
          database.transaction(store).objectStore(store).count().onsuccess = ({ target }) => resolve(target.result);
        });
      }
      database.close();
      return counts;
    };
  });

test("reactions, edits and replies hang on their messages, for both people, also in streams", async () => {
  const { page, id } = await pair("hang");
  const seen = await page.evaluate(async (id) => {
    const { ContentType, ReactionAction, ReactionSchema } = dovetail;
    const [ada, ben] = [await of("ada", id), await of("ben", id)];
    const react = (to, content, action) =>
      ben.sendReaction({ reference: to, referenceInboxId: people.ada.client.inboxId, action, content, schema: ReactionSchema.Unicode });
    const first = await ada.sendText("first");
    await settle(id);
    const plain = await ada.stream({ disableSync: true });
    const reactions = await ada.stream({ disableSync: true, contentTypes: [ContentType.Reaction] });
    await react(first, "👍", ReactionAction.Added);
    await react(first, "👍", ReactionAction.Removed);
    await ben.sendReadReceipt();
    await ben.sendReply({ reference: first, content: await dovetail.encodeText("answer") });
    await settle(id);
    await ada.editMessage(first, "edited");
    await settle(id);
    const streamed = [(await plain.next()).value, (await reactions.next()).value, (await reactions.next()).value];
    const texts = (conversation) => conversation.messages({ excludeContentTypes: [ContentType.GroupUpdated] });
    return {
      ada: shown(await texts(ada)),
      ben: shown(await texts(ben)),
      same: first,
      streamed: shown(streamed),
      count: Number(await ben.countMessages()),
      last: (await ben.lastMessage()).content.content,
      read: [...(await ada.lastReadTimes()).keys()],
      benId: people.ben.client.inboxId,
      asked: (await ben.messages({ contentTypes: [ContentType.Reaction, ContentType.ReadReceipt] })).length,
      byId: shown([await people.ben.client.conversations.getMessageById(first)]),
    };
  }, id);
  const [text, reply] = seen.ada;
  assert.deepEqual([text.content, text.reactions, text.edited, text.isDeleted], ["edited", ["👍", "👍-"], true, false]);
  assert.deepEqual([reply.content, reply.inReplyTo, reply.edited], ["answer", "edited", false]);
  assert.deepEqual(seen.ben, seen.ada);
  assert.deepEqual(seen.byId, [text]);
  assert.deepEqual([seen.count, seen.last, seen.read, seen.asked], [3, "answer", [seen.benId], 3]);
  assert.deepEqual([seen.streamed[0].content, seen.streamed[0].inReplyTo, seen.streamed[1].content, seen.streamed[2].content], ["answer", "first", "👍", "👍"]);
  assert.deepEqual(page.errors, []);
});

test("PROC-037 a message taken back loses its content everywhere, keeps its place, and is told once in every tab", async () => {
  const { page, id } = await pair("taken");
  const tab = await place.page();
  await helpers(tab);
  await tab.evaluate(() => open("ben", { log: "taken" }));
  const told = (page) =>
    page.evaluate(async () => {
      globalThis.gone = [];
      await people.ben.client.conversations.streamDeletedMessages({ onValue: (message) => gone.push(message) });
      await people.ben.client.conversations.streamMessageDeletions({ onValue: (id) => gone.push(id) });
    });
  await Promise.all([told(page), told(tab)]);
  const ids = await page.evaluate(async (id) => {
    const ada = await of("ada", id);
    const [first, second] = [await ada.sendText("said too much"), await ada.sendText("last")];
    await settle(id);
    await ada.deleteMessage(first);
    // The own one shows at once.
    const own = (await ada.messages()).find((message) => message.id === first);
    await settle(id);
    await until(() => gone.length >= 2);
    return { first, second, own: [own.isDeleted, own.content] };
  }, id);
  assert.deepEqual(ids.own, [true, undefined]);
  for (const one of [page, tab]) {
    const seen = await one.evaluate(async (id) => {
      await until(() => gone.length >= 2);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const messages = await (await of("ben", id)).messages();
      return { messages: shown(messages.slice(1)), gone: gone.map((one) => (typeof one === "string" ? one : [one.id, one.isDeleted])), last: (await (await of("ben", id)).lastMessage()).content };
    }, id);
    assert.deepEqual(seen.messages.map(({ id, content, isDeleted }) => [id, content, isDeleted]), [[ids.first, undefined, true], [ids.second, "last", false]]);
    assert.deepEqual(seen.gone, [[ids.first, true], ids.first]);
    assert.equal(seen.last, "last");
  }
  assert.deepEqual([page.errors, tab.errors], [[], []]);
});

test("META-051 messages disappear on time, at once for every read, within seconds from the disk, each told once", async () => {
  const { page, id } = await pair("expire", { inMs: 3000 });
  const seen = await page.evaluate(async (id) => {
    const [ada, ben] = [await of("ada", id), await of("ben", id)];
    const gone = [];
    const stream = await people.ada.client.conversations.streamDeletedMessages({ onValue: (message) => gone.push([message.id, message.content]) });
    const before = await disk("ada");
    const ids = [await ada.sendText("one"), await ada.sendText("two")];
    await settle(id);
    const there = [(await ada.messages()).length, (await ben.messages()).length];
    const emptied = await until(async () => (await ada.messages()).length === 1);
    // Read once, right then.
    const other = (await ben.messages()).map((message) => dovetail.isGroupUpdated(message));
    const told = await until(() => gone.length === 2, 2_000);
    await until(async () => (await disk("ada")).messages === before.messages);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await stream.end();
    return { ids, there, emptied, other, told, gone, left: (await disk("ada")).messages - before.messages, last: dovetail.isGroupUpdated(await ada.lastMessage()), count: Number(await ada.countMessages()), byId: await people.ada.client.conversations.getMessageById(ids[0]) };
  }, id);
  assert.deepEqual([seen.there, seen.emptied, seen.other, seen.told], [[3, 3], true, [true], true]);
  assert.deepEqual(seen.gone.sort(), [[seen.ids[0], "one"], [seen.ids[1], "two"]].sort());
  assert.deepEqual([seen.left, seen.last, seen.count, seen.byId], [0, true, 1, undefined]);
  assert.deepEqual(page.errors, []);
});

test("META-051 what expires while no page is open goes after the next one opens", async () => {
  const { page, id } = await pair("asleep", { inMs: 2500 });
  const before = await page.evaluate(async (id) => {
    const { messages } = await disk("ada");
    await (await of("ada", id)).sendText("short");
    await (await of("ada", id)).publishMessages();
    return messages;
  }, id);
  await page.close();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const again = await place.page();
  await helpers(again);
  const seen = await again.evaluate(
    async ([id, before]) => {
      await open("ada", { log: "asleep" });
      const shown = (await (await of("ada", id)).messages()).length;
      return { shown, gone: await until(async () => (await disk("ada")).messages === before) };
    },
    [id, before],
  );
  assert.deepEqual(seen, { shown: 1, gone: true });
  assert.deepEqual(again.errors, []);
});
