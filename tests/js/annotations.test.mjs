// What hangs on a message as an app reads it: reactions, edits, deletions, what a reply answers.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { gzipSync } from "node:zlib";
import { load } from "./load.mjs";

const api = await load("index.ts");
const { allCodecs } = await load("content/built-in.ts");
const { readMessage, readMessages, isThere } = await load("message.ts");
const { REACTION } = await load("content/reaction.ts");
const { REPLY } = await load("content/reply.ts");
const { TEXT } = await load("content/text.ts");
const { ReactionAction, ReactionSchema } = api;

const raw = (id, content, extra = {}) => ({
  id,
  conversationId: "cc",
  groupId: "dd",
  senderInboxId: "ee",
  senderInstallationId: "ff",
  sentAtNs: 1_000_000n,
  insertedAtNs: 2n,
  kind: 0,
  deliveryStatus: 1,
  content,
  ...extra,
});
const text = (id, words, extra) => raw(id, TEXT.encode(words), extra);
const reaction = (id, action, content = "+") =>
  raw(id, REACTION.encode({ reference: "aa", referenceInboxId: "ee", action, content, schema: ReactionSchema.Unicode }));
const packed = (content) => ({ ...content, content: new Uint8Array(gzipSync(content.content)), compression: 1 });

test("reactions are messages of their own, those that are taken back among them", () => {
  const reactions = [reaction("r1", ReactionAction.Added), reaction("r2", ReactionAction.Removed)];
  const message = readMessage(allCodecs([]), text("aa", "hi", { reactions }));
  assert.equal(message.content, "hi");
  assert.deepEqual(
    message.reactions.map(({ id, content }) => [id, content.reference, content.content, content.action]),
    [["r1", "aa", "+", ReactionAction.Added], ["r2", "aa", "+", ReactionAction.Removed]],
  );
  assert.deepEqual([readMessage(allCodecs([]), text("aa", "hi")).reactions, message.inReplyTo], [[], null]);
});

test("an edited message has its latest content and says when it was edited", () => {
  const message = readMessage(allCodecs([]), text("aa", "new", { editedAtNs: 7_000_000n }));
  assert.deepEqual([message.content, message.editedAtNs, message.editedAt.getTime()], ["new", 7_000_000n, 7]);
  const plain = readMessage(allCodecs([]), text("aa", "old"));
  assert.ok(!("editedAt" in plain) && !("editedAtNs" in plain) && !plain.isDeleted);
});

test("a deleted message has its type and no content, and nobody is warned", () => {
  const warn = mock.method(console, "warn", () => {});
  for (const { type } of [TEXT.encode(""), REPLY.encode({ reference: "aa", content: TEXT.encode("x") }), { type: { ...TEXT.contentType, typeId: "poll" } }]) {
    const message = readMessage(allCodecs([]), raw("aa", { type, parameters: {}, content: new Uint8Array() }, { deletedByInboxId: "bb" }));
    assert.deepEqual([message.isDeleted, message.deletedByInboxId, message.content, message.contentError], [true, "bb", undefined, undefined]);
    assert.deepEqual(message.contentType, type);
  }
  assert.equal(warn.mock.callCount(), 0);
  warn.mock.restore();
});

test("a reply has what it answers, on the message and in its content", () => {
  const content = REPLY.encode({ reference: "aa", content: TEXT.encode("yes") });
  const inReplyTo = text("aa", "really?", { editedAtNs: 3n });
  const reply = readMessage(allCodecs([]), raw("bb", content, { inReplyTo, reactions: [reaction("r1", ReactionAction.Added)] }));
  assert.deepEqual([reply.content.content, reply.reactions.length], ["yes", 1]);
  assert.equal(reply.content.inReplyTo, reply.inReplyTo);
  assert.deepEqual([reply.inReplyTo.id, reply.inReplyTo.content, reply.inReplyTo.editedAtNs], ["aa", "really?", 3n]);
  const orphan = readMessage(allCodecs([]), raw("bb", content));
  assert.deepEqual([orphan.inReplyTo, orphan.content.inReplyTo, orphan.content.referenceId], [null, null, "aa"]);
});

test("what hangs on a message is decompressed with it, under one limit", async () => {
  const inReplyTo = raw("aa", packed(TEXT.encode("small")));
  const content = REPLY.encode({ reference: "aa", content: TEXT.encode("yes") });
  const reply = await readMessage(allCodecs([]), raw("bb", content, { inReplyTo }));
  assert.equal(reply.inReplyTo.content, "small");
  const reactions = [raw("r1", packed(reaction("r1", ReactionAction.Added).content))];
  const [one] = await readMessages(allCodecs([]), [text("aa", "hi", { reactions })]);
  assert.deepEqual([one.content, one.reactions[0].content.content], ["hi", "+"]);
  const bomb = TEXT.encode("x".repeat(16_000_000));
  const warn = mock.method(console, "warn", () => {});
  const many = Array.from({ length: 6 }, (_, at) => raw(`m${at}`, content, { inReplyTo: raw("aa", packed(bomb)) }));
  const quotes = (await readMessages(allCodecs([]), many)).map((message) => message.inReplyTo.contentError?.code);
  assert.deepEqual(quotes, [undefined, undefined, undefined, undefined, "content.too_large", "content.too_large"]);
  warn.mock.restore();
});

test("a message is there until it expires", () => {
  const now = BigInt(Date.now()) * 1_000_000n;
  const at = (expiresAtNs) => isThere(readMessage(allCodecs([]), text("aa", "hi", { expiresAtNs })));
  assert.deepEqual([at(undefined), at(now - 1n), at(now + 60_000_000_000n)], [true, false, true]);
});
