// Loads a module of js/ for tests in Node, each time anew, with a stand-in for the wasm glue.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { inWorker } from "../../scripts/bundle.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "dovetail-js-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
let loads = 0;

/** Names of the glue's exports that a stand-in may have. */
const GLUE = [
  "version",
  "onPanic",
  "createClient",
  "generateInboxId",
  "inboxStates",
  "canMessage",
  "revokeInstallations",
  "signWithKey",
];

/** Tests of the package run over the bridge to a worker too (worker.test.mjs). */
export const overBridge = process.env.DOVETAIL_ENTRY === "worker";

/**
 * `glue.default` initialises; the other exports are those of RawModule, and for the module for
 * archives the classes ArchiveReader and ArchiveWriter.
 */
export async function load(entry, glue = {}) {
  if (overBridge && entry === "index.ts") return (await loadRemote(glue)).api;
  return bundled(entry, standIn(glue));
}

/**
 * The worker entry, with workers in this thread: `api` is the package, `workers` are those it
 * started. `spawn` decides how one starts; null: there are none.
 */
export async function loadRemote(glue = {}, { spawn } = {}) {
  const key = standIn(glue);
  const workers = [];
  const { serve } = await bundled("serve.ts", key);
  const Worker = class {
    constructor(url, options) {
      workers.push(Object.assign(this, { url, options, given: [], got: [], ended: false }));
      const inside = {
        postMessage: (message, transfer) => {
          this.got.push({ message, transfer });
          carry(message, transfer, () => !this.ended && this);
        },
      };
      this.inside = inside;
      if (spawn) spawn(this, () => serve(inside));
      else serve(inside);
    }
    postMessage(message, transfer) {
      this.given.push({ message, transfer });
      carry(message, transfer, () => !this.ended && this.inside);
    }
    terminate() {
      this.ended = true;
    }
  };
  globalThis[`${key}Worker`] = spawn === null ? undefined : Worker;
  const api = await bundled("worker.ts", key, { define: { Worker: `${key}Worker` }, plugins: [inWorker] });
  return { api, workers };
}

/** What a port does with a message. */
function carry(message, transfer, to) {
  const data = structuredClone(message, { transfer });
  setImmediate(() => to()?.onmessage?.({ data }));
}

function standIn(glue) {
  const key = `glue${++loads}`;
  globalThis[key] = { default: async () => {}, onPanic() {}, version: () => "1.2.3", ...glue };
  return key;
}

/** A file of js/ over a stand-in, imported. */
async function bundled(entry, key, { plugins = [], ...options } = {}) {
  const stand = [
    `export default (...given) => globalThis.${key}.default(...given);`,
    ...GLUE.map((name) => `export const ${name} = (...given) => globalThis.${key}.${name}(...given);`),
  ].join("\n");
  const archives = [
    `export default (...given) => globalThis.${key}.default(...given);`,
    `export const { ArchiveReader, ArchiveWriter } = globalThis.${key};`,
  ].join("\n");
  const outfile = join(folder, `${key}-${basename(entry)}.mjs`);
  await esbuild.build({
    entryPoints: [join(root, "js", entry)],
    bundle: true,
    outfile,
    format: "esm",
    target: "es2022",
    ...options,
    plugins: [
      ...plugins,
      {
        name: "glue",
        setup(build) {
          build.onResolve({ filter: /wasm\/dovetail\.js$/ }, () => ({ path: "glue", namespace: "glue" }));
          build.onResolve({ filter: /wasm\/dovetail_archive\.js$/ }, () => ({ path: "archive", namespace: "glue" }));
          build.onLoad({ filter: /^glue$/, namespace: "glue" }, () => ({ contents: stand }));
          build.onLoad({ filter: /^archive$/, namespace: "glue" }, () => ({ contents: archives }));
        },
      },
    ],
  });
  return import(pathToFileURL(outfile));
}

/** A promise that settles from outside. */
export function deferred() {
  let settle;
  const promise = new Promise((resolve, reject) => (settle = { resolve, reject }));
  return { promise, ...settle };
}

/** Lets everything that is ready run; over the bridge an answer takes some turns. */
export async function settled() {
  for (let turns = overBridge ? 20 : 1; turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
}
