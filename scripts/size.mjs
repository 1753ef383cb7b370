// Prints what a page downloads, at once and on first use, and what one with the worker entry does.
// Fails where the first is above the budget.
//
//   node scripts/size.mjs

import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { dist, root } from "./env.mjs";

const KB = 1024;
const BUDGET = 700 * KB;
const GOAL = 500 * KB;
const inDist = (name) => join(dist, name);
const FILES = ["dovetail_bg.wasm", "index.js"].map(inDist);
const WORKER_FILES = ["dovetail_bg.wasm", "worker.js", "worker-thread.js"].map(inDist);
const ARCHIVE_FILES = ["dovetail_archive_bg.wasm", "archive-module.js"].map(inDist);

function sizes(bytes) {
  const brotli = brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
  return [bytes.length, gzipSync(bytes, { level: 9 }).length, brotli.length];
}

const row = (name, cells) => console.log(name.padEnd(32) + cells.map((cell) => cell.padStart(12)).join(""));
const number = (value) => value.toLocaleString("en-US");

/** Prints the sizes of files and their sum. */
function table(files, sum) {
  const total = [0, 0, 0];
  for (const file of files) {
    const cells = sizes(readFileSync(file));
    cells.forEach((value, index) => (total[index] += value));
    row(relative(root, file), cells.map(number));
  }
  row(sum, total.map(number));
  return total[2];
}

const missing = [...FILES, ...WORKER_FILES, ...ARCHIVE_FILES].filter((file) => !existsSync(file));
if (missing.length > 0) {
  console.error(`size: ${missing.map((file) => relative(root, file)).join(" and ")} missing: run \`npm run build\` first`);
  process.exit(1);
}

row("bytes", ["raw", "gzip", "brotli"]);
const brotli = table(FILES, "what every page loads");
console.log(`budget ${number(BUDGET)} brotli (${BUDGET / KB} KB), goal ${number(GOAL)} (${GOAL / KB} KB)`);

console.log("on first use of archives");
const more = table(ARCHIVE_FILES, "archives");
console.log(`both ${number(brotli + more)} brotli`);

console.log("with the client in a worker");
table(WORKER_FILES, "what such a page loads");

if (brotli > BUDGET) {
  console.error(`size: ${number(brotli - BUDGET)} bytes over the budget`);
  process.exit(1);
}
