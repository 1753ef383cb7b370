// Does all set-up, builds, and serves the demo page.
//
//   npm start [-- --port=4173]

import { serveDemo } from "./serve.mjs";
import { setup } from "./setup.mjs";

await setup(["native", "wasm", "npm"]);
// Loaded late: building needs the npm packages that set-up has just installed.
const { build } = await import("./build.mjs");
await build();
const port = /^--port=(\d+)$/.exec(process.argv[2] ?? "")?.[1];
await serveDemo(port && Number(port));
