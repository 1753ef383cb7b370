// Loads a module of js/ for tests in Node, each time anew, with a stand-in for the wasm glue.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";

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

/**
 * `glue.default` initialises; the other exports are those of RawModule, and for the module for
 * archives the classes ArchiveReader and ArchiveWriter.
 */
export async function load(entry, glue = {}) {
  const key = `glue${++loads}`;
  globalThis[key] = { default: async () => {}, onPanic() {}, version: () => "1.2.3", ...glue };
  const stand = [
    `export default (...given) => globalThis.${key}.default(...given);`,
    ...GLUE.map((name) => `export const ${name} = (...given) => globalThis.${key}.${name}(...given);`),
  ].join("\n");
  const archives = [
    `export default (...given) => globalThis.${key}.default(...given);`,
    `export const { ArchiveReader, ArchiveWriter } = globalThis.${key};`,
  ].join("\n");
  const outfile = join(folder, `${key}.mjs`);
  await esbuild.build({
    entryPoints: [join(root, "js", entry)],
    bundle: true,
    outfile,
    format: "esm",
    target: "es2022",
    plugins: [
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

/** Lets everything that is ready run. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));
