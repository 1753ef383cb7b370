// Bundles js/ into the modules of the package.

import { join } from "node:path";
import * as esbuild from "esbuild";
import { root } from "./env.mjs";

const source = (name) => join(root, "js", name);

/** In the worker entry the wasm module and its delivery services live in a worker. */
const REMOTE = { "wasm.js": "remote.ts", "browser-delivery.js": "remote-delivery.ts" };

/** Puts the remote implementations in the place of those that they stand for. */
export const inWorker = {
  name: "in-worker",
  setup(build) {
    build.onResolve({ filter: /^\.\/(wasm|browser-delivery)\.js$/ }, ({ path, importer }) => {
      const remote = source(REMOTE[path.slice(2)]);
      // It may build on what it stands for.
      return importer === remote ? undefined : { path: remote };
    });
  },
};

/** The files of the package and what makes them different. */
const ENTRIES = [{ names: ["index", "worker-thread", "archive-module"] }, { names: ["worker"], plugins: [inWorker] }];

/** Bundles every entry into a folder; `lean` for a release. */
export async function bundle(outdir, lean) {
  for (const { names, plugins = [] } of ENTRIES) {
    await esbuild.build({
      entryPoints: names.map((name) => source(`${name}.ts`)),
      outdir,
      bundle: true,
      format: "esm",
      platform: "browser",
      target: "es2022",
      // Loaded on first use, so it stays a file of its own.
      external: ["./archive-module.js"],
      charset: "utf8",
      legalComments: "none",
      minify: lean,
      sourcemap: lean ? false : "linked",
      absWorkingDir: root,
      logLevel: "warning",
      plugins,
    });
  }
}
