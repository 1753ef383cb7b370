// The harness itself: what other tests take for granted.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { newProfile, openBrowser } from "./browser.mjs";

let folder;
let server;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "dovetail-server-"));
  await writeFile(join(folder, "index.html"), "<!doctype html><title>page</title>");
  // The smallest module: magic number and version.
  await writeFile(join(folder, "empty.wasm"), new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
  server = await serve({ mounts: { "/": folder }, port: 0 });
});

after(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** The status line for a request path sent as it is, which fetch would tidy first. */
function rawStatus(path) {
  return new Promise((settle, fail) => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.on("error", fail);
    socket.once("data", (data) => {
      settle(Number(/^HTTP\/1.1 (\d+)/.exec(data)?.[1]));
      socket.destroy();
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  });
}

test("the server gives pages and wasm their types", async () => {
  assert.equal((await fetch(server.url)).headers.get("content-type"), "text/html; charset=utf-8");
  assert.equal((await fetch(`${server.url}empty.wasm`)).headers.get("content-type"), "application/wasm");
  assert.equal((await fetch(`${server.url}absent.js`)).status, 404);
  assert.equal((await fetch(server.url, { method: "POST" })).status, 405);
});

test("the server gives nothing outside its folders", async () => {
  for (const path of ["/../../etc/hostname", "/%2e%2e/%2e%2e/etc/hostname", "/..%2f..%2fetc/hostname", "//etc/hostname", "/a%00"]) {
    assert.equal(await rawStatus(path), 404, path);
  }
  assert.equal(await rawStatus("/%"), 400);
});

test("a taken port is passed over", async () => {
  const port = Number(new URL(server.url).port);
  const second = await serve({ mounts: { "/": folder }, port });
  assert.ok(Number(new URL(second.url).port) > port);
  await second.close();
});

const writeRow = () =>
  new Promise((settle, fail) => {
    const opening = indexedDB.open("kept", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("rows");
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
      const unit = opening.result.transaction("rows", "readwrite", { durability: "strict" });
      unit.objectStore("rows").put("value", "key");
      unit.oncomplete = () => settle();
    };
  });

const readRow = () =>
  new Promise((settle) => {
    const opening = indexedDB.open("kept", 1);
    opening.onsuccess = () => {
      const reading = opening.result.transaction("rows").objectStore("rows").get("key");
      reading.onsuccess = () => settle(reading.result);
    };
  });

test("a profile keeps its data over an orderly end and over a kill", async () => {
  const profile = await newProfile();
  try {
    const first = await openBrowser({ profile });
    const page = await first.context.newPage();
    await page.goto(server.url);
    await page.evaluate(writeRow);
    await first.kill();
    for (const end of ["close", "kill"]) {
      const again = await openBrowser({ profile });
      const reopened = await again.context.newPage();
      await reopened.goto(server.url);
      assert.equal(await reopened.evaluate(readRow), "value");
      await again[end]();
    }
  } finally {
    await profile.remove();
  }
  assert.ok(!existsSync(profile.path));
});
