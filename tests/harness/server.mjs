// Serves the built package and pages to tests.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { dist, root } from "../../scripts/env.mjs";
import { serve } from "../../scripts/serve.mjs";

const PAGES = join(root, "tests", "harness", "pages");

function start(folder) {
  if (!existsSync(join(dist, "index.js"))) throw new Error("dist/ is missing: run `npm run build` first.");
  return serve({ mounts: { "/": folder, "/dist/": dist }, port: 0 });
}

/** An empty page at /, the package at /dist/index.js: `{ url, close() }`. */
export const startServer = () => start(PAGES);

/** The demo, laid out as `npm start` does: `{ url, close() }`. */
export const startDemo = () => start(join(root, "www"));
