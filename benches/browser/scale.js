// What a large database costs: 10,000 conversations of which 2,000 are stitched DMs, a stitched thread
// of 100,000 messages, 50,000 decisions in one import. Everything comes from archives written here.

import { archive, consent, dmId, group, hex, id, said } from "./archive.js";
import { recorded } from "./record.js";

const CONVERSATIONS = 10_000;
const STITCHED = 2_000;
const LONG = 100_000;
const SHORT = 1_000;
const DECISIONS = 50_000;
const ROUNDS = 15;

const KEY = new Uint8Array(32).fill(7);
const NOW = BigInt(Date.now()) * 1_000_000n;
const SECOND = 1_000_000_000n;

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const quiet = (ms = 400) => new Promise((resolve) => setTimeout(resolve, ms));
const timed = async (task) => {
  const begun = performance.now();
  await task();
  return performance.now() - begun;
};

/** Runs something and tells how long the page was kept from everything else at worst, in milliseconds. */
async function watched(task) {
  const { port1, port2 } = new MessageChannel();
  let [longest, last, over] = [0, performance.now(), false];
  const beat = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!over) port2.postMessage(0);
  };
  port1.onmessage = beat;
  port2.postMessage(0);
  const tasks = [];
  const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)));
  observer.observe({ entryTypes: ["longtask"] });
  const took = await timed(task);
  over = true;
  await quiet(50);
  tasks.push(...observer.takeRecords().map(({ duration }) => duration));
  observer.disconnect();
  port1.close();
  return { took, gap: longest, long: tasks.length, longest: Math.max(0, ...tasks) };
}

const byTable = (reads) => {
  const tables = {};
  for (const { store, rows } of reads) tables[store] = (tables[store] ?? 0) + rows;
  return tables;
};

const figures = [];
const note = (name, value, limit, more = "") => figures.push({ name, value, limit, more });

/** Everything the parts below work on. Each part is a function, so that what it made is let go of. */
async function begin() {
  const dovetail = await import("/dist/index.js");
  const { BrowserDelivery, Client, createEOASigner } = dovetail;
  const delivery = new BrowserDelivery({ name: `scale-${Date.now()}` });
  const signer = createEOASigner();
  const dbPath = `scale-${Date.now()}`;
  const open = () => Client.create(signer, { dbPath, delivery });
  const client = await open();
  // Nothing is fetched: what is measured is the database.
  delivery.offline = true;
  return { dovetail, open, client, dbPath, own: client.inboxId };
}

const peer = (number) => hex(id(32, 0x22, number));

/** Imports an archive; `make` gives its elements. */
async function bring({ client }, name, make, more) {
  const [file, count] = await made(make);
  let told = 0;
  // Making it left much behind; that is not what is measured.
  await quiet(2000);
  const { took, gap, long, longest } = await watched(() => client.importArchive(file, KEY, { onProgress: () => (told += 1) }));
  const blocked = `longest pause of the page ${gap.toFixed(0)} ms, ${long} task(s) over 50 ms${long ? ` (${longest.toFixed(0)} ms)` : ""}`;
  note(name, took, undefined, `${count} elements, ${more}, progress told ${told} times; ${blocked}`);
  return Math.max(gap, longest);
}

async function made(make) {
  const elements = make();
  return [await archive(elements, KEY), elements.length];
}

/** Every fifth conversation is a DM of two groups. */
function* conversations({ own }) {
  for (let n = 0; n < CONVERSATIONS; n += 1) {
    const times = { createdNs: NOW - BigInt(2 * CONVERSATIONS - n) * SECOND, lastNs: NOW - BigInt(CONVERSATIONS - n) * SECOND };
    if (n % (CONVERSATIONS / STITCHED) !== 0) {
      yield group({ id: id(16, 0x33, n), creator: peer(n), ...times });
      continue;
    }
    for (const [kind, lastNs] of [[0x44, times.lastNs], [0x55, times.lastNs - SECOND / 2n]]) {
      yield group({ id: id(16, kind, n), creator: peer(n), ...times, lastNs, dm: dmId(own, peer(n)) });
    }
  }
}

/** Opening, and the first screen of the list. */
async function opening(scale) {
  const [opens, lists, both] = [[], [], []];
  let reads;
  for (let round = 0; round < ROUNDS; round += 1) {
    await scale.client.close();
    await quiet();
    const recording = await recorded(scale.dbPath, async () => {
      let opened = 0;
      const all = await timed(async () => {
        opened = await timed(async () => (scale.client = await scale.open()));
        const listed = await scale.client.conversations.list({ limit: 50 });
        if (listed.length !== 50) throw new Error(`${listed.length} conversations are listed`);
      });
      opens.push(opened);
      both.push(all);
      lists.push(all - opened);
    });
    // The fewest: what background work reads meanwhile is none of it.
    if (!reads || recording.reads.length < reads.length) reads = recording.reads;
  }
  const tables = byTable(reads);
  const rows = Object.entries(tables).map(([table, count]) => `${count} of ${table}`).join(", ");
  note("open and list the first 50", median(both), 150, `open ${median(opens).toFixed(1)}, list ${median(lists).toFixed(1)}; rows read: ${rows}; MLS rows: ${tables.mls ?? 0}`);
}

async function listing({ client }) {
  const again = [];
  for (let round = 0; round < ROUNDS; round += 1) again.push(await timed(() => client.conversations.list({ limit: 50 })));
  note("list the first 50 again", median(again), undefined);
  const all = await client.conversations.list();
  if (all.length !== CONVERSATIONS) throw new Error(`${all.length} conversations are listed`);
  const whole = [];
  for (let round = 0; round < 3; round += 1) whole.push(await timed(() => client.conversations.list()));
  note(`list all ${CONVERSATIONS}`, median(whole), undefined);
}

/** A thread of two groups. */
function* messages({ own }, count, n) {
  const groups = [0x66, 0x77].map((kind) => id(16, kind, n));
  yield* groups.map((one) => group({ id: one, creator: peer(n), createdNs: NOW - 10n * SECOND, lastNs: NOW, dm: dmId(own, peer(n)) }));
  for (let at = 0; at < count; at += 1) {
    yield said({
      id: id(32, 0x80 + n - CONVERSATIONS, at),
      group: groups[at % 2],
      sender: at % 3 ? peer(n) : own,
      sentNs: NOW - BigInt(count - at) * SECOND,
      sequence: at + 1,
    });
  }
}

/** Pages of a long thread beside those of a short one. */
async function paging(scale) {
  const threads = {};
  for (const [name, count, n] of [["long", LONG, CONVERSATIONS + 1], ["short", SHORT, CONVERSATIONS + 2]]) {
    await bring(scale, `import a thread of ${count}`, () => [...messages(scale, count, n)], "in two groups of one DM");
    const thread = await scale.client.conversations.getConversationById(hex(id(16, 0x66, n)));
    const counted = Number(await thread.countMessages());
    if (counted !== count) throw new Error(`${counted} messages of ${count}`);
    threads[name] = { thread, count };
  }
  const { SortDirection } = scale.dovetail;
  const pages = {
    newest: () => ({ limit: 50, direction: SortDirection.Descending }),
    oldest: () => ({ limit: 50 }),
    "before the middle": (count) => ({ limit: 50, direction: SortDirection.Descending, sentBeforeNs: NOW - BigInt(Math.floor(count / 2)) * SECOND }),
  };
  for (const [name, options] of Object.entries(pages)) {
    const times = { long: [], short: [] };
    // In turns: what else the machine does hits both.
    for (let round = 0; round < 4 * ROUNDS; round += 1) {
      for (const [which, { thread, count }] of Object.entries(threads)) {
        const asked = options(count);
        times[which].push(await timed(async () => {
          const page = await thread.messages(asked);
          if (page.length !== 50 || new Set(page.map(({ groupId }) => groupId)).size !== 2) throw new Error("not a page of both groups");
        }));
      }
    }
    const [long, short] = [median(times.long), median(times.short)];
    note(`page of 50, ${name}, of ${LONG}`, long, 10, `of ${SHORT}: ${short.toFixed(2)} ms; ratio ${(long / short).toFixed(2)}x (limit 1.30x)`);
  }
}

/** Decisions: about conversations that are here, about others, and about inboxes. */
function* decisions() {
  for (let n = 0; n < DECISIONS; n += 1) {
    const record = { state: 1 + (n % 3), atNs: NOW + BigInt(n) };
    if (n % 2) yield consent({ ...record, inbox: true, entity: peer(n) });
    else yield consent({ ...record, entity: hex(id(16, (n / 2) % (CONVERSATIONS / STITCHED) ? 0x33 : 0x44, n / 2)) });
  }
}

async function run() {
  const scale = await begin();
  await bring(scale, `import ${CONVERSATIONS} conversations`, () => [...conversations(scale)], `${STITCHED} of them DMs of two groups`);
  await opening(scale);
  await listing(scale);
  await paging(scale);
  const longest = await bring(scale, `merge ${DECISIONS} decisions`, () => [...decisions()], "half of them about inboxes");
  note("longest task of that import", longest, 50, "as the page saw it: from one message to itself to the next");
  const denied = await scale.client.conversations.list({ consentStates: [scale.dovetail.ConsentState.Denied] });
  if (denied.length === 0) throw new Error("the decisions changed nothing");
  return figures;
}

run().then(
  (figures) => (globalThis.benchResult = { figures }),
  (error) => (globalThis.benchResult = { error: `${error?.code ?? ""} ${error?.message ?? error}\n${error?.stack ?? ""}` }),
);
