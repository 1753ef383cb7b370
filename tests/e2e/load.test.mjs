// A wasm module that does not arrive, in Chromium: every page gets an error it can show.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser } from "../harness/browser.mjs";
import { startServer } from "../harness/server.mjs";

let server;
let browser;

before(async () => {
  server = await startServer();
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

/** What `init()` gives in a page where requests are answered by `wasm` and the page has a policy. */
async function initIn({ wasm, policy } = {}) {
  const page = await browser.context.newPage();
  if (wasm) await page.route("**/dovetail_bg.wasm", wasm);
  if (policy) {
    await page.route(server.url, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), "content-security-policy": policy } });
    });
  }
  await page.goto(server.url);
  const result = await page.evaluate(async () => {
    const { init } = await import("/dist/index.js");
    return init().then(
      () => "loaded",
      ({ name, code, message, retryable }) => ({ name, code, message, retryable }),
    );
  });
  await page.close();
  return result;
}

const asType = (contentType) => async (route) => {
  const response = await route.fetch();
  await route.fulfill({ response, headers: { ...response.headers(), "content-type": contentType } });
};

test("it loads, also with another content type", async () => {
  assert.equal(await initIn(), "loaded");
  assert.equal(await initIn({ wasm: asType("application/octet-stream") }), "loaded");
  assert.equal(await initIn({ policy: "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" }), "loaded");
});

for (const [what, given, reason] of [
  ["a missing file", { wasm: (route) => route.fulfill({ status: 404, body: "" }) }, /answered 404/],
  ["a page instead", { wasm: (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }) }, /HTML page/],
  ["a lost connection", { wasm: (route) => route.abort() }, /cannot be fetched/],
  ["a damaged file", { wasm: (route) => route.fulfill({ contentType: "application/wasm", body: "\0asm damaged" }) }, /cannot be compiled/],
  ["a policy against wasm", { policy: "default-src 'self'" }, /'wasm-unsafe-eval'/],
  ["a policy against the request", { policy: "default-src 'self' 'wasm-unsafe-eval'; connect-src 'none'" }, /connect-src/],
]) {
  test(`${what} is told with the URL`, async () => {
    const { name, code, message } = await initIn(given);
    assert.deepEqual([name, code], ["DovetailError", "wasm.load_failed"]);
    assert.match(message, reason);
    assert.ok(message.includes(`${server.url}dist/dovetail_bg.wasm`), message);
  });
}

test("after a failure the same page can try again", async () => {
  const page = await browser.context.newPage();
  let failing = true;
  await page.route("**/dovetail_bg.wasm", (route) => (failing ? route.abort() : route.continue()));
  await page.goto(server.url);
  const init = () =>
    page.evaluate(async () => {
      const { init } = await import("/dist/index.js");
      return init().then(
        () => "loaded",
        ({ retryable }) => retryable,
      );
    });
  assert.equal(await init(), true);
  failing = false;
  assert.equal(await init(), "loaded");
  await page.close();
});
