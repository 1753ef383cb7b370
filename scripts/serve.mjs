// A static file server for this machine only.
//
//   node scripts/serve.mjs [--port=4173]
//
// Serves www/ at / and dist/ at /dist/.

import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, sep } from "node:path";
import { pipeline } from "node:stream";
import { dist, isMain, root } from "./env.mjs";

const HOST = "127.0.0.1";
const DEFAULT_PORT = 4173;
const PORTS_TRIED = 100;

// A module or a wasm file with a wrong type is refused by browsers.
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json; charset=utf-8",
  ".ts": "text/plain; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
};

const stat = (path) => statSync(path, { throwIfNoEntry: false });

/** The file that a URL path names under the mounts, or undefined. */
function locate(mounts, path) {
  // Longest prefix first, so that /dist/ wins over /.
  for (const prefix of Object.keys(mounts).sort((a, b) => b.length - a.length)) {
    if (!path.startsWith(prefix)) continue;
    const folder = mounts[prefix];
    let file = join(folder, path.slice(prefix.length));
    if (file !== folder && !file.startsWith(folder + sep) && file !== folder + sep) return undefined;
    if (path.endsWith("/")) file = join(file, "index.html");
    return stat(file)?.isFile() ? file : undefined;
  }
  return undefined;
}

function handle(mounts, request, response) {
  const answer = (status, headers = {}, text = "") => {
    response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8", ...headers });
    response.end(text);
  };
  if (request.method !== "GET" && request.method !== "HEAD") return answer(405, { Allow: "GET, HEAD" });
  let path;
  try {
    path = decodeURIComponent(new URL(request.url, `http://${HOST}`).pathname);
  } catch {
    return answer(400);
  }
  const file = path.includes("\0") ? undefined : locate(mounts, path);
  if (!file) return answer(404, {}, "Not found\n");
  response.writeHead(200, {
    "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
    "Content-Length": stat(file).size,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
  if (request.method === "HEAD") return response.end();
  // A page that is closed while loading is no error of the server.
  pipeline(createReadStream(file), response, () => {});
}

function listen(server, port) {
  return new Promise((settle, fail) => {
    server.once("error", fail);
    server.listen(port, HOST, () => {
      server.off("error", fail);
      settle();
    });
  });
}

/**
 * Starts a server on this machine's loopback address.
 *
 * `mounts` maps URL prefixes (ending in a slash) to folders. A taken `port`
 * is passed over for the next free one; 0 lets the system choose.
 */
export async function serve({ mounts, port = DEFAULT_PORT }) {
  const server = createServer((request, response) => handle(mounts, request, response));
  for (let tried = port; ; tried += 1) {
    try {
      await listen(server, tried);
      break;
    } catch (error) {
      if (error.code !== "EADDRINUSE" || tried - port >= PORTS_TRIED) throw error;
    }
  }
  return {
    url: `http://${HOST}:${server.address().port}/`,
    close() {
      server.closeAllConnections();
      return new Promise((settle) => server.close(settle));
    },
  };
}

/** Serves the demo until the program is stopped. */
export async function serveDemo(port) {
  const { url } = await serve({ mounts: { "/": join(root, "www"), "/dist/": dist }, port });
  console.log(`Dovetail demo: ${url}  (Ctrl+C stops it)`);
}

if (isMain(import.meta)) {
  const port = /^--port=(\d+)$/.exec(process.argv[2] ?? "")?.[1];
  await serveDemo(port && Number(port));
}
