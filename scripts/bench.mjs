// Measures the built package in headless Chromium, then a group of 250 inboxes natively, and prints
// each figure beside its floor.
//
//   node scripts/bench.mjs
//
// Nothing here passes or fails: machines differ. Ours and the floor take turns within one run, and
// the ratio is what compares.

import { join } from "node:path";
import { openBrowser } from "../tests/harness/browser.mjs";
import { build, wasmBuild } from "./build.mjs";
import { dist, nativeEnv, root } from "./env.mjs";
import { run } from "./run.mjs";
import { serve } from "./serve.mjs";
import { setup } from "./setup.mjs";

const LIMIT_MS = 10 * 60_000;

const ms = (value) => (value === undefined ? "" : value.toFixed(2));

function print(figures) {
  const head = ["figure", "ms", "floor ms", "ratio", "written or read, and what the floor is"];
  const rows = figures.map(({ name, ours, floor, more }) => {
    const ratio = ours !== undefined && floor ? `${(ours / floor).toFixed(2)}x` : "";
    return [name, ms(ours), ms(floor), ratio, more];
  });
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)));
  for (const row of [head, ...rows]) console.log(row.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd());
}

await setup();
await build("release");
const floor = await wasmBuild("release", ["floor"]);
const server = await serve({
  mounts: { "/": join(root, "benches", "browser"), "/dist/": dist, "/floor/": floor },
  port: 0,
});
const browser = await openBrowser();
try {
  const page = await browser.context.newPage();
  page.on("pageerror", (error) => console.error(`page: ${error.message}`));
  await page.goto(server.url);
  await page.waitForFunction(() => globalThis.benchResult, undefined, { timeout: LIMIT_MS });
  const { figures, error } = await page.evaluate(() => globalThis.benchResult);
  if (error) throw new Error(error);
  console.log("Durable sends, receiving, listing and opening, median of several rounds.");
  console.log("Floor: the same encryption or decryption on bare MLS in memory, and one IndexedDB transaction");
  console.log("that writes the same bytes in the same number of puts with the same indexes and durability; for");
  console.log("reads, one transaction with the very same requests, issued at once and answered as stored.\n");
  print(figures);
} finally {
  await browser.close();
  await server.close();
}
console.log("\nA large group, native: the client over a store and a service in memory, beside MLS alone on the same tree.\n");
const { code } = await run("cargo", ["bench", "--quiet", "--bench", "groups"], { env: nativeEnv() });
process.exit(code);
