// Loading the module: once, from anywhere, with errors that say what to do.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { load } from "./load.mjs";

const EMPTY = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
const realFetch = globalThis.fetch;
const realWebAssembly = globalThis.WebAssembly;

afterEach(() => {
  globalThis.fetch = realFetch;
  globalThis.WebAssembly = realWebAssembly;
});

/** A fetch that answers one after another; errors are thrown. */
function answers(...given) {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(String(url));
    const answer = given.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return asked;
}

const wasm = (type = "application/wasm", body = EMPTY) => new Response(body, { headers: type ? { "content-type": type } : {} });

/** wasm.ts with a glue that notes what it was started with. */
async function fresh(glue = {}) {
  const started = [];
  const module = await load("wasm.ts", {
    default: async (options) => started.push(options.module_or_path),
    ...glue,
  });
  return { ...module, started };
}

const refused = (reason, extra = {}) => ({ code: "wasm.load_failed", ...reason, ...extra });

test("importing loads nothing, and the first need loads once", async () => {
  const asked = answers(wasm());
  const { init, instance, started } = await fresh();
  assert.deepEqual(asked, []);
  await Promise.all([init("https://example.org/a.wasm"), instance(), init()]);
  await init("https://example.org/other.wasm");
  assert.deepEqual(asked, ["https://example.org/a.wasm"]);
  assert.equal(started.length, 1);
  assert.ok(started[0] instanceof WebAssembly.Module);
});

test("bytes, views, modules, responses and promises of them are taken", async () => {
  const module = new WebAssembly.Module(EMPTY);
  for (const source of [EMPTY, EMPTY.buffer.slice(0), module, wasm(), Promise.resolve(wasm("")), wasm("text/plain"), new DataView(EMPTY.buffer)]) {
    const { init, started } = await fresh();
    await init(source);
    assert.ok(started[0] instanceof WebAssembly.Module);
  }
  const { init } = await fresh();
  await assert.rejects(init(5), { code: "input.value" });
});

test("a wrong content type still loads", async () => {
  answers(wasm("application/octet-stream"));
  const { init, started } = await fresh();
  await init(new URL("https://example.org/a.wasm"));
  assert.equal(started.length, 1);
});

for (const [what, answer, pattern, retryable] of [
  ["a missing file", new Response("", { status: 404 }), /a\.wasm.*answered 404/, false],
  ["a broken server", new Response("", { status: 503 }), /answered 503/, true],
  ["a page instead of the module", wasm("text/html; charset=utf-8", "<!doctype html>"), /a\.wasm.*HTML page/, false],
  ["a page with another type", wasm("application/octet-stream", "<!doctype html>"), /not a wasm file/, false],
  ["a network failure", new TypeError("Failed to fetch"), /a\.wasm.*cannot be fetched.*connect-src/, true],
  ["a damaged module", wasm("application/wasm", new Uint8Array([0, 97, 115, 109, 9, 9])), /cannot be compiled/, false],
]) {
  test(`${what} is told with the URL`, async () => {
    answers(answer);
    const { init } = await fresh();
    await assert.rejects(init("https://example.org/a.wasm"), (error) => {
      assert.deepEqual([error.code, error.retryable], ["wasm.load_failed", retryable]);
      assert.match(error.message, pattern);
      assert.match(error.message, /https:\/\/example\.org\/a\.wasm/);
      return true;
    });
  });
}

test("a policy that forbids wasm is told with its remedy", async () => {
  answers(wasm("application/octet-stream"));
  globalThis.WebAssembly = Object.assign(Object.create(realWebAssembly), {
    Module: realWebAssembly.Module,
    CompileError: realWebAssembly.CompileError,
    compile: async () => {
      throw new realWebAssembly.CompileError("Refused to compile: violates the Content Security Policy directive");
    },
  });
  const { init } = await fresh();
  await assert.rejects(init("https://example.org/a.wasm"), refused({ message: /wasm-unsafe-eval/ }));
});

test("without WebAssembly there is a code of its own", async () => {
  globalThis.WebAssembly = undefined;
  const { init } = await fresh();
  await assert.rejects(init(), { code: "wasm.unsupported" });
});

test("a failed init may be tried again", async () => {
  const asked = answers(new TypeError("offline"), wasm());
  const { init, started } = await fresh();
  await assert.rejects(init("https://example.org/a.wasm"), { retryable: true });
  await init("https://example.org/a.wasm");
  assert.deepEqual([asked.length, started.length], [2, 1]);
});

test("a module of another version is told apart", async () => {
  const { init } = await fresh({
    default: async () => {
      throw new realWebAssembly.LinkError("import is missing");
    },
  });
  await assert.rejects(init(EMPTY), refused({ message: /does not fit this version/ }));
});

test("in Node the default file cannot be fetched, and the error says what to pass", async () => {
  const { init } = await fresh();
  await assert.rejects(init("file:///tmp/a.wasm"), refused({ message: /pass the bytes/ }));
});
