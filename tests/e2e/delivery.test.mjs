// BrowserDelivery in Chromium: one log for all pages of a profile.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { newProfile, openBrowser } from "../harness/browser.mjs";
import { startServer } from "../harness/server.mjs";

let server;
let profile;
let browser;

before(async () => {
  server = await startServer();
  profile = await newProfile();
  browser = await openBrowser({ profile });
});

after(async () => {
  await browser?.close();
  await profile?.remove();
  await server?.close();
});

/** A page with a delivery on a log of this name, and helpers to use it. */
async function open(name, in_ = browser) {
  const page = await in_.context.newPage();
  await page.goto(server.url);
  await page.evaluate(async (name) => {
    const { BrowserDelivery } = await import("/dist/index.js");
    globalThis.delivery = new BrowserDelivery({ name });
    globalThis.topic = (n) => `00${n.toString(16).padStart(2, "0").repeat(16)}`;
    globalThis.envelope = async (n, text, identifiers = []) => {
      const payload = new TextEncoder().encode(text);
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", payload));
      return { topic: typeof n === "string" ? n : topic(n), payload, hash, identifiers };
    };
    globalThis.publish = async (...batch) =>
      delivery.publish(await Promise.all(batch.map((given) => envelope(...given)))).then((receipts) => receipts.map(({ sequenceId }) => sequenceId));
    globalThis.read = async (...topics) =>
      (await delivery.query(topics.map(([n, after]) => ({ topic: topic(n), after })), 1000)).map(({ sequenceId, payload, serverNs }) => ({
        sequenceId,
        serverNs: String(serverNs),
        text: new TextDecoder().decode(payload),
      }));
    globalThis.failure = (promise) => promise.then(() => "no failure", ({ name, message, refused }) => `${refused ? "refused" : name}: ${message}`);
  }, name);
  return page;
}

test("pages that publish at once share one order: no gap, no repetition, rising times", async () => {
  const pages = [await open("order"), await open("order")];
  const batches = 100;
  const sent = await Promise.all(
    pages.map((page, who) =>
      page.evaluate(
        async ([who, batches]) =>
          Promise.all(
            Array.from({ length: batches }, (_, n) =>
              publish([1, `${who} ${n} a`], [2 + who, `${who} ${n} b`], [1, `${who} ${n} c`]),
            ),
          ),
        [who, batches],
      ),
    ),
  );
  const all = sent.flat(2).sort((a, b) => a - b);
  assert.deepEqual(all, Array.from({ length: 2 * 3 * batches }, (_, at) => at + 1));
  for (const ids of sent.flat()) assert.deepEqual(ids, [ids[0], ids[0] + 1, ids[0] + 2]);

  const stored = await pages[0].evaluate(() => read([1, 0], [2, 0], [3, 0]));
  assert.deepEqual(await pages[1].evaluate(() => read([1, 0], [2, 0], [3, 0])), stored);
  const text = new Map(stored.map((row) => [row.sequenceId, row.text]));
  sent.forEach((own, who) => own.forEach(([first], n) => assert.equal(text.get(first), `${who} ${n} a`)));
  const times = stored.sort((a, b) => a.sequenceId - b.sequenceId).map(({ serverNs }) => BigInt(serverNs));
  assert.ok(times.every((time, at) => at === 0 || time > times[at - 1]));
});

test("what is stored is not stored again, whoever sends it", async () => {
  const pages = [await open("again"), await open("again")];
  const [first, second] = pages;
  assert.deepEqual(await first.evaluate(() => publish([1, "a"], [2, "a"], [1, "a"])), [1, 2, 1]);
  assert.deepEqual(await second.evaluate(() => publish([1, "b"], [1, "a"])), [3, 1]);
  // Both send the same at once: one of them stores it.
  const both = await Promise.all(pages.map((page) => page.evaluate(() => Promise.all([publish([1, "c"]), publish([1, "c"]), publish([1, "d"])]))));
  assert.deepEqual(both[0], both[1]);
  assert.deepEqual((await first.evaluate(() => read([1, 0]))).map(({ text }) => text).sort(), ["a", "b", "c", "d"]);
});

test("a receipt keeps its time on a resend, and a clock set back does not turn time back", async () => {
  const page = await open("time");
  const times = await page.evaluate(async () => {
    const now = Date.now;
    const at = [5000, 1000, 9000].map((ms) => () => ms);
    const out = [];
    for (const [n, clock] of at.entries()) {
      Date.now = clock;
      out.push(...(await delivery.publish([await envelope(1, `${n}`), await envelope(1, "0")])));
    }
    Date.now = now;
    return out.map(({ serverNs }) => String(serverNs));
  });
  assert.deepEqual(times, ["5000000000", "5000000000", "5000000001", "5000000000", "9000000000", "5000000000"]);
});

test("a batch with one bad envelope is refused whole", async () => {
  const page = await open("whole");
  const failures = await page.evaluate(async () => {
    const good = await envelope(1, "good");
    const bad = [
      { ...good, topic: "XX" },
      { ...good, topic: 5 },
      { ...good, payload: "text" },
      { ...good, hash: new Uint8Array(31) },
      await envelope(1, "x".repeat(1024 * 1024 + 1)),
    ];
    const large = await Promise.all(Array.from({ length: 26 }, (_, n) => envelope(1, `${n}`.padEnd(1024 * 1024, "x"))));
    return Promise.all([...bad.map((one) => failure(delivery.publish([good, one]))), failure(delivery.publish(large))]);
  });
  for (const text of failures) assert.match(text, /^refused: /);
  assert.deepEqual(await page.evaluate(() => read([1, 0])), []);
  assert.deepEqual(await page.evaluate(() => delivery.publish([])), []);
  assert.deepEqual(await page.evaluate(() => publish([1, "good"])), [1]);
});

test("a browser killed while it publishes leaves whole batches, and every acknowledged one", async () => {
  const home = await newProfile();
  let killed;
  let again;
  try {
    killed = await openBrowser({ profile: home });
    const page = await open("kill", killed);
    const acknowledged = [];
    await page.exposeFunction("acknowledge", (n) => acknowledged.push(n));
    await page.evaluate(() => {
      const send = async (n) => {
        await publish([1, `${n} a`], [2, `${n} b`]);
        await acknowledge(n);
        void send(n + 4);
      };
      for (let lane = 0; lane < 4; lane++) void send(lane);
    });
    for (const end = Date.now() + 20_000; acknowledged.length < 40; ) {
      assert.ok(Date.now() < end, "nothing was acknowledged");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await killed.kill();
    again = await openBrowser({ profile: home });
    const reader = await open("kill", again);
    const [one, two] = await reader.evaluate(async () => [await read([1, 0]), await read([2, 0])]);
    const numbers = (rows) => rows.map(({ text }) => Number(text.split(" ")[0])).sort((a, b) => a - b);
    assert.deepEqual(numbers(one), numbers(two));
    for (const n of acknowledged) assert.ok(numbers(one).includes(n), `batch ${n} was lost`);
    const ids = [...one, ...two].map(({ sequenceId }) => sequenceId).sort((a, b) => a - b);
    assert.deepEqual(ids, Array.from(ids, (_, at) => at + 1));
    assert.deepEqual(await reader.evaluate(() => publish([3, "next"])), [ids.length + 1]);
  } finally {
    await again?.kill();
    await killed?.kill();
    await home.remove();
  }
});

test("queries: positions, limits, empty topics, the newest", async () => {
  const page = await open("query");
  const answers = await page.evaluate(async () => {
    for (const text of ["a", "b", "c"]) await publish([1, text], [2, text]);
    const ids = (envelopes) => envelopes.map((one) => one && one.sequenceId);
    const query = async (topics, limit) => ids(await delivery.query(topics.map(([n, after]) => ({ topic: topic(n), after })), limit));
    return [
      await query([[1, 1], [2, 4], [3, 0]], 10),
      await query([[1, 0], [2, 0]], 2),
      await query([[1, 5]], 10),
      await query([], 10),
      await query([[1, 0]], 0),
      ids(await delivery.newest([topic(3), topic(2), topic(1)])),
    ];
  });
  assert.deepEqual(answers, [[3, 5, 6], [1, 3, 2, 4], [], [], [], [undefined, 6, 5]]);
});

test("claims are found by account, the newest first, and only on identity topics", async () => {
  const page = await open("claims");
  const found = await page.evaluate(async () => {
    const inbox = (digit) => `02${digit.repeat(64)}`;
    await publish([inbox("a"), "1", ["eth:0x1", "eth:0x2"]]);
    await publish([inbox("b"), "2", ["eth:0x1"]], [topic(1), "3", ["eth:0x1"]]);
    await publish([inbox("a"), "4", ["eth:0x1"]]);
    return delivery.lookup(["eth:0x1", "eth:0x3", "eth:0x2", "eth:0x"]);
  });
  const [a, b] = ["a".repeat(64), "b".repeat(64)];
  assert.deepEqual(found, [[a, b], [], [a], []]);
});

/** Notes what a page is woken for; `told` waits until that is a given number. */
async function listen(page, ...numbers) {
  await page.evaluate((numbers) => {
    globalThis.woken = [];
    globalThis.unsubscribe = delivery.subscribe(numbers.map((n) => topic(n)), (which) => woken.push(Number.parseInt(which.slice(2, 4), 16)));
  }, numbers);
  return async (count) => {
    await page.waitForFunction((count) => woken.length >= count, count);
    return page.evaluate(() => woken.splice(0));
  };
}

test("subscribers are woken in every page, for their topics, until they end", async () => {
  const [one, two] = [await open("wake"), await open("wake")];
  const heardHere = await listen(one, 1, 2);
  const heardThere = await listen(two, 2, 3);
  await one.evaluate(() => publish([1, "a"], [2, "a"]));
  assert.deepEqual(await heardHere(2), [1, 2]);
  assert.deepEqual(await heardThere(1), [2]);
  await one.evaluate(() => unsubscribe());
  await two.evaluate(() => publish([1, "b"], [2, "b"], [3, "b"]));
  assert.deepEqual(await heardThere(2), [2, 3]);
  assert.deepEqual(await one.evaluate(() => woken), []);
});

test("offline every call fails, nobody is woken, and coming back wakes everyone", async () => {
  const [one, two] = [await open("offline"), await open("offline")];
  const heard = await listen(one, 1);
  const failures = await one.evaluate(async () => {
    delivery.offline = true;
    return Promise.all([
      failure(publish([1, "a"])),
      failure(read([1, 0])),
      failure(delivery.newest([topic(1)])),
      failure(delivery.lookup(["x"])),
    ]);
  });
  assert.deepEqual(failures, Array(4).fill("Error: offline"));
  assert.deepEqual(await two.evaluate(() => publish([1, "b"])), [1]);
  await two.waitForTimeout(50);
  assert.deepEqual(await one.evaluate(() => woken), []);
  await one.evaluate(() => (delivery.offline = false));
  assert.deepEqual(await heard(1), [1]);
  assert.deepEqual(await one.evaluate(() => read([1, 0]).then((rows) => rows.map(({ text }) => text))), ["b"]);
});

test("a network lost during a publish loses the answer, and the resend gets it", async () => {
  const [one, two] = [await open("lost"), await open("lost")];
  const heard = await listen(two, 1);
  const text = await one.evaluate(async () => {
    const batch = [await envelope(1, "a")];
    const answer = failure(delivery.publish(batch));
    delivery.offline = true;
    return answer;
  });
  assert.equal(text, "Error: offline");
  assert.deepEqual(await heard(1), [1]);
  await one.evaluate(() => (delivery.offline = false));
  assert.deepEqual(await one.evaluate(() => publish([1, "a"])), [1]);
});

test("a connection taken away is opened again, a closed delivery stays closed", async () => {
  const [one, two] = [await open("gone"), await open("gone")];
  await one.evaluate(() => publish([1, "a"]));
  await two.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const deleting = indexedDB.deleteDatabase("dovetail-delivery-gone");
        deleting.onsuccess = resolve;
        deleting.onerror = reject;
      }),
  );
  assert.deepEqual(await one.evaluate(() => publish([1, "b"])), [1]);
  const failures = await one.evaluate(async () => {
    await delivery.close();
    return Promise.all([failure(publish([1, "c"])), failure(read([1, 0]))]);
  });
  for (const text of failures) assert.match(text, /closed/);
  assert.deepEqual(await two.evaluate(() => read([1, 0]).then((rows) => rows.map(({ text }) => text))), ["b"]);
});
