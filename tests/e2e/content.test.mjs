// Content types in Chromium: each is sent by one person and read by another.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, world } from "./support.mjs";

const place = world();

/** A page with Ada, Ben and their DM. */
async function pair(log) {
  const page = await place.page();
  await page.evaluate(async (log) => {
    const { inboxId } = await open("ben", { log });
    const poll = { authorityId: "example.org", typeId: "poll", versionMajor: 1, versionMinor: 2 };
    const codec = {
      contentType: poll,
      answer: 42,
      encode: (content) => ({ type: poll, parameters: {}, fallback: "a poll", content: Uint8Array.of(content.votes) }),
      decode(content) {
        return { votes: content.content[0], answer: this.answer };
      },
      fallback: () => "a poll",
      shouldPush: () => true,
    };
    await open("ada", { log, codecs: [codec] });
    globalThis.poll = codec;
    globalThis.dm = await people.ada.client.conversations.createDm(inboxId);

    /** Values a page can hand out. */
    globalThis.plain = (value) => {
      if (typeof value === "bigint") return `${value}n`;
      if (value instanceof Uint8Array) return { bytes: [...value] };
      if (value === null || typeof value !== "object") return value;
      if (Array.isArray(value)) return value.map(plain);
      return Object.fromEntries(Object.entries(value).filter(([, one]) => typeof one !== "function").map(([key, one]) => [key, plain(one)]));
    };
    /** A message as a person has it, once it has arrived. */
    globalThis.message = async (name, id) => {
      await dm.publishMessages();
      await people[name].client.conversations.syncAll();
      return people[name].client.conversations.getMessageById(id);
    };
  }, log);
  return page;
}

test("every content type arrives as it was sent", async () => {
  const page = await pair("types");
  const seen = await page.evaluate(async () => {
    const { ActionStyle, ReactionAction, ReactionSchema } = dovetail;
    const reference = await dm.sendText("hello");
    const bytes = Uint8Array.of(0, 1, 255);
    const remote = {
      url: "https://example.org/file",
      contentDigest: "ab".repeat(32),
      secret: new Uint8Array(32).fill(1),
      salt: new Uint8Array(32).fill(2),
      nonce: new Uint8Array(12).fill(3),
      scheme: "https://",
      contentLength: 7,
      filename: "file",
    };
    const cases = {
      Text: "grüße 👋",
      Markdown: "# hi",
      Reaction: { reference, referenceInboxId: people.ada.client.inboxId, action: ReactionAction.Added, content: "👍", schema: ReactionSchema.Unicode },
      Attachment: { filename: "a.bin", mimeType: "application/octet-stream", content: bytes },
      RemoteAttachment: remote,
      MultiRemoteAttachment: { attachments: [remote, { ...remote, url: "https://example.org/2" }] },
      TransactionReference: { namespace: "eip155", networkId: "1", reference: "0xfe" },
      WalletSendCalls: { version: "1.0", chainId: "0x1", from: "0xaa", calls: [{ to: "0xbb", metadata: { description: "d", transactionType: "t", note: "n" } }] },
      Actions: { id: "q", description: "Which?", actions: [{ id: "a", label: "A", style: ActionStyle.Danger, expiresAtNs: 1_700_000_000_000_000_000n }] },
      Intent: { id: "q", actionId: "a", metadata: { n: 1, x: null } },
    };
    const found = {};
    for (const [name, content] of Object.entries(cases)) {
      const got = await message("ben", await dm[`send${name}`](content));
      const type = await dovetail[`contentType${name}`]();
      const encoded = await dovetail[`encode${name}`](content);
      found[name] = {
        sent: plain(content),
        got: plain(got.content),
        is: dovetail[`is${name}`](got),
        type: JSON.stringify(got.contentType) === JSON.stringify(type),
        fallback: got.fallback === encoded.fallback,
      };
    }
    const receipt = await message("ben", await dm.sendReadReceipt());
    return { found, receipt: [plain(receipt.content), dovetail.isReadReceipt(receipt)] };
  });
  assert.equal(Object.keys(seen.found).length, 10);
  for (const [name, { sent, got, ...same }] of Object.entries(seen.found)) {
    assert.deepEqual(got, sent, name);
    assert.deepEqual(same, { is: true, type: true, fallback: true }, name);
  }
  assert.deepEqual(seen.receipt, [{}, true]);
  assert.deepEqual(page.errors, []);
});

test("replies with texts, built-in and custom content; who lacks the codec has bytes and fallback", async () => {
  const page = await pair("replies");
  const seen = await page.evaluate(async () => {
    const reference = await dm.sendText("hello");
    const text = await dm.sendReply({ reference, referenceInboxId: people.ada.client.inboxId, content: await dovetail.encodeText("yes") });
    const vote = await dm.sendReply({ reference, content: poll.encode({ votes: 7 }) });
    const alone = await dm.send(poll.encode({ votes: 9 }));
    const warned = [];
    const { warn } = console;
    console.warn = (line) => warned.push(line);
    const at = async (name, id) => {
      const { content, contentError, fallback, encodedContent } = await message(name, id);
      return plain({ content, error: contentError?.code, fallback, bytes: encodedContent.content.length > 0 });
    };
    const found = {};
    for (const name of ["ada", "ben"]) found[name] = [await at(name, text), await at(name, vote), await at(name, alone)];
    console.warn = warn;
    const reply = await message("ben", text);
    return { found, warned, reference, ada: people.ada.client.inboxId, type: await reply.content.contentType(), isText: dovetail.isTextReply(reply) };
  });
  const { reference, ada } = seen;
  const plain = { type: { authorityId: "xmtp.org", typeId: "text", versionMajor: 1, versionMinor: 0 }, parameters: { encoding: "UTF-8" }, content: { bytes: [121, 101, 115] } };
  const [poll, inner] = [{ authorityId: "example.org", typeId: "poll", versionMajor: 1, versionMinor: 2 }, (votes) => ({ bytes: [votes] })];
  const vote = { type: poll, parameters: {}, fallback: "a poll", content: inner(7) };
  const common = { error: undefined, bytes: true };
  const first = { ...common, content: { referenceId: reference, referenceInboxId: ada, content: "yes", encodedContent: plain, inReplyTo: null }, fallback: 'Replied with "yes" to an earlier message' };
  const second = (content) => ({ ...common, content: { referenceId: reference, content, encodedContent: vote, inReplyTo: null }, fallback: "Replied to an earlier message" });
  const withoutTarget = (list) => list.map((one) => (one.content?.inReplyTo === undefined ? one : { ...one, content: { ...one.content, inReplyTo: null } }));
  assert.deepEqual(withoutTarget(seen.found.ada), [first, second({ votes: 7, answer: 42 }), { ...common, content: { votes: 9, answer: 42 }, fallback: "a poll" }]);
  assert.deepEqual(withoutTarget(seen.found.ben), [first, second(undefined), { content: undefined, error: "content.unknown_type", fallback: "a poll", bytes: true }]);
  const told = 'No codec found for content type "example.org/poll:1.2"';
  assert.deepEqual(seen.warned, [told, told]);
  assert.deepEqual([seen.type, seen.isText], [plain.type, true]);
});

test("compressed texts are read in lists and streams, in order, and one that is too large is not", async () => {
  const page = await pair("compressed");
  const seen = await page.evaluate(async () => {
    await dm.sendText("first");
    await dm.publishMessages();
    await people.ben.client.conversations.syncAll();
    const theirs = await people.ben.client.conversations.getConversationById(dm.id);
    const streamed = [];
    const stream = await people.ben.client.conversations.streamAllMessages({ onValue: (one) => streamed.push(one) });
    const long = "hello ".repeat(10_000);
    await dm.sendText(long, { compression: dovetail.Compression.Gzip });
    await dm.sendText("between");
    await dm.sendText(long, { compression: dovetail.Compression.Deflate });
    const large = await dovetail.compressContent(await dovetail.encodeText("A".repeat(16_777_217)));
    await dm.send(large);
    await dm.sendText("last");
    while (streamed.length < 5) await new Promise((resolve) => setTimeout(resolve, 20));
    await stream.end();
    const listed = await theirs.messages();
    const short = ({ content, contentError, encodedContent }) => [contentError?.code ?? (content === long ? "long" : content), encodedContent.compression, encodedContent.content.length < 70_000];
    const mine = await dm.lastMessage();
    return { streamed: streamed.map(short), listed: listed.slice(1).map(short), mine: mine.content };
  });
  const expected = [["long", 1, true], ["between", undefined, true], ["long", 0, true], ["content.too_large", 0, true], ["last", undefined, true]];
  assert.deepEqual(seen, { streamed: expected, listed: expected, mine: "last" });
  assert.deepEqual(page.errors, []);
});

test("an attachment goes encrypted through a service and is opened", async () => {
  const page = await pair("attachment");
  const seen = await page.evaluate(async () => {
    const file = { filename: "photo.png", mimeType: "image/png", content: crypto.getRandomValues(new Uint8Array(60_000)) };
    const { payload, ...rest } = await dovetail.encryptAttachment(file);
    const url = URL.createObjectURL(new Blob([payload]));
    const id = await dm.sendRemoteAttachment({ ...rest, url, scheme: "https://" });
    const { content: remote } = await message("ben", id);
    const downloaded = new Uint8Array(await (await fetch(remote.url)).arrayBuffer());
    const opened = await dovetail.decryptAttachment(downloaded, remote);
    const same = opened.content.length === file.content.length && opened.content.every((byte, at) => byte === file.content[at]);
    downloaded[7] ^= 1;
    const altered = await dovetail.decryptAttachment(downloaded, remote).catch(({ code }) => code);
    return { same, name: [opened.filename, opened.mimeType], altered, length: remote.contentLength === payload.length };
  });
  assert.deepEqual(seen, { same: true, name: ["photo.png", "image/png"], altered: "content.digest_mismatch", length: true });
  assert.deepEqual(page.errors, []);
});

test("a deletion and an edit are sent by those who may, about messages that are there", async () => {
  const page = await pair("changes");
  const seen = await page.evaluate(async () => {
    const mine = await dm.sendText("helo");
    await message("ben", mine);
    const theirs = await people.ben.client.conversations.getConversationById(dm.id);
    globalThis.ids = { mine, answer: await theirs.sendText("hi") };
    globalThis.theirs = theirs;
    const edit = await message("ben", await dm.editMessage(mine, "hello"));
    const { messageId, editedContent } = edit.content;
    const marked = await message("ben", await dm.editMessage(mine, await dovetail.encodeMarkdown("*hello*")));
    const deletion = await message("ben", await dm.deleteMessage(mine));
    return {
      edit: [dovetail.isEditMessage(edit), messageId === mine, new TextDecoder().decode(editedContent.content), marked.content.editedContent.type.typeId],
      deletion: [dovetail.isDeleteMessage(deletion), deletion.content.messageId === mine],
    };
  });
  assert.deepEqual(seen, { edit: [true, true, "hello", "markdown"], deletion: [true, true] });
  const refused = async (run) => (await failure(page, run)).code;
  assert.equal(await refused(() => theirs.editMessage(ids.mine, "x")), "group.permission_denied");
  assert.equal(await refused(() => dm.deleteMessage("ab".repeat(32))), "message.not_found");
  assert.equal(await refused(() => dm.deleteMessage("x")), "input.id");
  assert.equal(await refused(() => dm.editMessage(ids.mine)), "input.value");
  assert.equal(await refused(() => dm.sendReaction({ reference: ids.answer })), "input.value");
  assert.equal(await refused(() => dm.sendReply({ reference: ids.answer, content: "text" })), "input.value");
  assert.equal(await refused(() => dm.sendAttachment({ mimeType: "x", content: new Uint8Array(1_050_000) })), "message.too_large");
  assert.deepEqual(page.errors, []);
});
