// Measures the built package in headless Chromium, then a group of 250 inboxes natively.
//
//   node scripts/bench.mjs [--only=core,scale]
//
// core: sends, receiving, lists and opening, each figure beside its floor. Ours and the floor take
// turns within one run, and the ratio is what compares.
// scale: the same database with 10,000 conversations, 100,000 messages and 50,000 decisions.
//
// Nothing here passes or fails: machines differ.

import { join } from "node:path";
import { openBrowser } from "../tests/harness/browser.mjs";
import { build, wasmBuild } from "./build.mjs";
import { dist, nativeEnv, root } from "./env.mjs";
import { run } from "./run.mjs";
import { serve } from "./serve.mjs";
import { setup } from "./setup.mjs";

const LIMIT_MS = 30 * 60_000;
const FIRSTS = 5;

const ms = (value) => (value === undefined ? "" : value.toFixed(2));

function print(head, rows) {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)));
  for (const row of [head, ...rows]) console.log(row.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd());
}

/** Name → [page, what its figures are, head, row of a figure]. */
const PARTS = {
  core: [
    "",
    `Durable sends, receiving, listing and opening, median of several rounds.
Floor: the same encryption or decryption on bare MLS in memory, and one IndexedDB transaction
that writes the same bytes in the same number of puts with the same indexes and durability; for
reads, one transaction with the very same requests, issued at once and answered as stored.`,
    ["figure", "ms", "floor ms", "ratio", "written or read, and what the floor is"],
    ({ name, ours, floor, more }) => {
      const ratio = ours !== undefined && floor ? `${(ours / floor).toFixed(2)}x` : "";
      return [name, ms(ours), ms(floor), ratio, more];
    },
  ],
  scale: [
    "scale.html",
    "A large database on IndexedDB, made by importing archives; medians of several rounds.",
    ["figure", "ms", "limit ms", "more"],
    ({ name, value, limit, more }) => [name, ms(value), limit === undefined ? "" : String(limit), more],
  ],
};

/** The first client, each time in a browser that has loaded nothing; ours and the floor in turns. */
async function firstClient(url) {
  const fresh = async (task) => {
    const browser = await openBrowser();
    try {
      const page = await browser.context.newPage();
      await page.goto(new URL("first.html", url).href);
      await page.waitForFunction(() => globalThis.first);
      return await task(page);
    } finally {
      await browser.close();
    }
  };
  const [ours, floors] = [[], []];
  for (let round = 0; round < FIRSTS; round += 1) {
    ours.push(await fresh((page) => page.evaluate(() => globalThis.first.ours())));
    floors.push(await fresh((page) => page.evaluate((made) => globalThis.first.floor(made), ours[0])));
  }
  const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const [{ rows, deletes, transactions, bytes }] = ours;
  const more = `cold; ${rows.length} puts, ${deletes} deletes, ${bytes} bytes, ${transactions} transactions; floor: load a module with bare MLS, make the database, write the same in one`;
  return { name: "import + first registered client", ours: median(ours.map(({ ms }) => ms)), floor: median(floors), more };
}

const asked = process.argv.find((one) => one.startsWith("--only="))?.slice("--only=".length).split(",");
const unknown = asked?.find((name) => !PARTS[name]);
if (unknown !== undefined) throw new Error(`--only=${unknown}: there is ${Object.keys(PARTS).join(", ")}`);

await setup();
await build("release");
const wanted = Object.keys(PARTS).filter((name) => asked?.includes(name) ?? true);
const mounts = { "/": join(root, "benches", "browser"), "/dist/": dist };
if (wanted.includes("core")) mounts["/floor/"] = await wasmBuild("release", ["floor"]);
const server = await serve({ mounts, port: 0 });
const first = wanted.includes("core") ? [await firstClient(server.url)] : [];
const browser = await openBrowser();
try {
  for (const name of wanted) {
    const [path, about, head, row] = PARTS[name];
    const page = await browser.context.newPage();
    page.on("pageerror", (error) => console.error(`page: ${error.message}`));
    await page.goto(new URL(path, server.url).href);
    await page.waitForFunction(() => globalThis.benchResult, undefined, { timeout: LIMIT_MS });
    const { figures, error } = await page.evaluate(() => globalThis.benchResult);
    if (error) throw new Error(error);
    console.log(`${about}\n`);
    print(head, [...(name === "core" ? first : []), ...figures].map(row));
    console.log();
    await page.close();
  }
} finally {
  await browser.close();
  await server.close();
}
console.log("\nA large group, native: the client over a store and a service in memory, beside MLS alone on the same tree.\n");
const { code } = await run("cargo", ["bench", "--quiet", "--bench", "groups"], { env: nativeEnv() });
process.exit(code);
