// Archives over stand-ins for both wasm modules: the loops around them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const EMPTY = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
const ACCOUNT = { identifier: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", identifierKind: 0 };
const DELIVERY = { publish() {}, query() {}, newest() {}, lookup() {}, subscribe() {} };
const SIGNER = { type: "EOA", getIdentifier: () => ACCOUNT, signMessage: async () => new Uint8Array(65) };
const KEY = new Uint8Array(32);
const FILE = new Uint8Array(100);

/** A client whose archives are read as `batches` (an error ends them), and what was asked of both sides. */
async function start({ batches = [], importRows = async () => {}, archiveRows = async () => [new Uint8Array()] } = {}) {
  const calls = [];
  const freed = [];
  class ArchiveReader {
    version = 0;
    elements = Int32Array.of(1, 2, 9);
    exportedAtNs = 5n;
    startNs = undefined;
    endNs = 7n;
    position = 0;
    count = 1;
    constructor(archive, key) {
      if (key.length !== 32) throw { code: "archive.key", message: "the key of an archive has 32 bytes", retryable: false };
      calls.push(["open", archive.length]);
    }
    read(limit) {
      calls.push(["read", limit]);
      const next = batches.shift();
      if (next instanceof Uint8Array || next === undefined) {
        this.position += 10;
        this.count += next?.length ?? 0;
        return next;
      }
      throw next;
    }
    free() {
      freed.push("reader");
    }
  }
  class ArchiveWriter {
    constructor(...given) {
      calls.push(["write", ...given]);
    }
    add(rows) {
      return rows;
    }
    finish() {
      return Uint8Array.of(255);
    }
    free() {
      freed.push("writer");
    }
  }
  const raw = {
    inboxId: "aa",
    installationId: "0aff",
    archiveRows: async (...given) => (calls.push(["archiveRows", ...given]), archiveRows(...given)),
    importRows: async (...given) => (calls.push(["importRows", ...given]), importRows(...given)),
  };
  const api = await load("index.ts", { createClient: async () => raw, ArchiveReader, ArchiveWriter });
  await api.init(EMPTY);
  await api.initArchives(EMPTY);
  const client = await api.Client.create(SIGNER, { delivery: DELIVERY, dbPath: null });
  return { api, client, calls, freed, of: (name) => calls.filter(([of]) => of === name) };
}

const bytes = (...given) => Uint8Array.of(...given);

test("an import applies batch by batch, reports, and says at its end that it ended", async () => {
  const { client, of, freed } = await start({ batches: [bytes(1, 2), bytes(), bytes(3)] });
  const progress = [];
  await client.importArchive(FILE, KEY, { onProgress: (one) => progress.push(one) });
  assert.deepEqual(
    of("importRows").map(([, rows, end]) => [[...rows], end]),
    [[[1, 2], undefined], [[], undefined], [[3], undefined], [[], true]],
  );
  assert.deepEqual(progress.map(({ readBytes, elements }) => [readBytes, elements]), [[10, 3], [20, 3], [30, 4], [40, 4]]);
  assert.ok(progress.every(({ totalBytes }) => totalBytes === 100));
  assert.deepEqual(freed, ["reader"]);
});

test("batches grow while they are quick, and shrink again", async (t) => {
  let [slow, clock] = [false, 0];
  // A clock of its own: what else the machine does is none of it.
  t.mock.method(performance, "now", () => clock);
  const { client, of } = await start({
    batches: Array.from({ length: 12 }, () => bytes(1)),
    importRows: async () => {
      clock += slow ? 40 : 1;
    },
  });
  await client.importArchive(FILE, KEY, { onProgress: ({ readBytes }) => (slow = readBytes >= 60) });
  const limits = of("read").map(([, limit]) => limit);
  assert.deepEqual(limits.slice(0, 4), [16, 32, 64, 128]);
  assert.ok(Math.max(...limits) <= 256);
  assert.ok(limits.at(-1) < limits[6], String(limits));
});

test("trouble with the archive ends an import, which says what was stored", async () => {
  const trouble = { code: "archive.altered", message: "an element was altered", retryable: false };
  const { api, client, of, freed } = await start({ batches: [bytes(1), trouble] });
  const error = await client.importArchive(FILE, KEY).catch((error) => error);
  assert.ok(error instanceof api.DovetailError);
  assert.equal(error.code, "archive.altered");
  assert.deepEqual(of("importRows").map(([, rows, end]) => [rows.length, end]), [[1, undefined], [0, false]]);
  assert.deepEqual(freed, ["reader"]);
});

test("an import that stored nothing is announced to nobody", async () => {
  const trouble = { code: "archive.truncated", message: "the archive ends too early", retryable: false };
  const { client, of } = await start({ batches: [bytes(), trouble] });
  await assert.rejects(client.importArchive(FILE, KEY), { code: "archive.truncated" });
  assert.deepEqual(of("importRows").map(([, , end]) => end), [undefined]);
});

test("rows that are refused end an import with the rule's error", async () => {
  const rule = { code: "archive.rule", message: "…", retryable: false };
  let calls = 0;
  const importRows = async () => {
    if (++calls === 2) throw rule;
  };
  const { client, of } = await start({ batches: [bytes(1), bytes(2), bytes(3)], importRows });
  await assert.rejects(client.importArchive(FILE, KEY), { code: "archive.rule" });
  assert.deepEqual(of("importRows").map(([, rows, end]) => [[...rows], end]), [[[1], undefined], [[2], undefined], [[], false]]);
});

test("what a progress callback throws does not end an import", async () => {
  const { client, of } = await start({ batches: [bytes(1), bytes(2)] });
  const reported = [];
  globalThis.reportError = (error) => reported.push(error.message);
  await client.importArchive(FILE, KEY, {
    onProgress() {
      throw new Error("from the app");
    },
  });
  delete globalThis.reportError;
  assert.equal(of("importRows").length, 3);
  assert.deepEqual(reported, ["from the app", "from the app", "from the app"]);
});

test("an archive is made of groups, messages and decisions, in chunks", async () => {
  const pages = { 0: [[1], [2]], 1: [[3]], 2: [[4], [5]] };
  const archiveRows = async (part, from) => {
    const at = from?.[0] ?? 0;
    const more = at + 1 < pages[part].length;
    return more ? [bytes(...pages[part][at]), bytes(at + 1)] : [bytes(...pages[part][at])];
  };
  const { client, of, freed } = await start({ archiveRows });
  const file = await client.createArchive({ startNs: 3n, excludeDisappearingMessages: true }, KEY);
  assert.deepEqual([...file], [1, 2, 3, 4, 5, 255]);
  assert.deepEqual(of("archiveRows").map(([, part, from]) => [part, from?.[0]]), [[0, undefined], [0, 1], [1, undefined], [2, undefined], [2, 1]]);
  const [[, key, nonce, now, elements, begin, end, exclude]] = of("write");
  assert.deepEqual([key.length, nonce.length, ...elements, begin, end, exclude], [32, 12, 1, 2, 3n, undefined, true]);
  assert.ok(now > 1_700_000_000_000_000_000n);
  // `finish` gives the writer up.
  assert.deepEqual(freed, []);
});

test("only what is asked for is read", async () => {
  for (const [elements, parts] of [[[0], [0, 1]], [[1], [2]], [[], []]]) {
    const { client, of } = await start();
    await client.createArchive({ elements }, KEY);
    assert.deepEqual(of("archiveRows").map(([, part]) => part), parts);
  }
});

test("long rows are read a few at a time", async () => {
  let left = 4;
  const { client, of } = await start({
    archiveRows: async (part) => (part === 1 && --left > 0 ? [new Uint8Array(2 ** 20), bytes(0)] : [bytes()]),
  });
  await client.createArchive({}, KEY);
  const limits = of("archiveRows").filter(([, part]) => part === 1).map(([, , , limit]) => limit);
  assert.deepEqual(limits, [64, 15, 3, 1]);
});

test("metadata has the selections that are known", async () => {
  const { client } = await start();
  assert.deepEqual(await client.archiveMetadata(FILE, KEY), { backupVersion: 0, elements: [0, 1], exportedAtNs: 5n, endNs: 7n });
});

test("arguments are checked, and errors are the package's own", async () => {
  const { api, client } = await start();
  const refused = async (call, code) => {
    const error = await call.catch((error) => error);
    assert.ok(error instanceof api.DovetailError, String(error));
    assert.equal(error.code, code);
  };
  await refused(client.importArchive("text", KEY), "input.value");
  await refused(client.importArchive(FILE, "text"), "input.value");
  await refused(client.importArchive(FILE, KEY, 5), "input.value");
  await refused(client.createArchive({ elements: [2] }, KEY), "input.value");
  await refused(client.createArchive({ startNs: "1" }, KEY), "input.value");
  await refused(client.createArchive(undefined, KEY), "input.value");
  await refused(client.archiveMetadata(FILE, new Uint8Array(31)), "archive.key");
});

test("the module for archives is fetched on first use, and again after a failure", async () => {
  const realFetch = globalThis.fetch;
  const asked = [];
  const answers = [new Response("", { status: 503 }), new Response(EMPTY, { headers: { "content-type": "application/wasm" } })];
  globalThis.fetch = async (url) => (asked.push(String(url).split("/").at(-1)), answers.shift());
  try {
    const { initArchives } = await load("index.ts");
    await assert.rejects(initArchives(), { code: "wasm.load_failed", retryable: true });
    await initArchives();
    await initArchives();
  } finally {
    globalThis.fetch = realFetch;
  }
  assert.deepEqual(asked, ["dovetail_archive_bg.wasm", "dovetail_archive_bg.wasm"]);
});
