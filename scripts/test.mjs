// Runs every test, in stages, and fails if any stage fails.
//
//   npm test [-- --only=native,ids,wasm-chromium,wasm-firefox,build,size,node,e2e]
//
// The last line sums the tests of all stages: "N passed, N failed".

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { WASM_TARGET, browsers, nativeEnv, root, wasmEnv } from "./env.mjs";
import { run } from "./run.mjs";
import { setup } from "./setup.mjs";

const node = (...args) => run(process.execPath, args, { env: nativeEnv() });
const failure = (text) => {
  console.error(text);
  return { code: 1, text: "" };
};

/** Runs commands one after another, all of them even if one fails. */
async function all(commands) {
  const results = [];
  for (const command of commands) results.push(await command());
  return { code: Math.max(...results.map(({ code }) => code)), text: results.map(({ text }) => text).join("\n") };
}

function native() {
  const cargo = (...args) => () => run("cargo", args, { env: nativeEnv() });
  return all([
    cargo("fmt", "--check"),
    cargo("clippy", "--all-targets", "--", "-D", "warnings"),
    cargo("test", "--no-fail-fast"),
  ]);
}

const usesBrowser = (file) => /#\[(?:wasm_bindgen_test::)?wasm_bindgen_test\b/.test(readFileSync(file, "utf8"));
const rustFiles = (folder, recursive) =>
  readdirSync(join(root, folder), { recursive })
    .filter((name) => name.endsWith(".rs"))
    .map((name) => join(root, folder, name));

/** Cargo's names for the targets with browser tests: the library and files of tests/. */
function browserTargets() {
  const library = rustFiles("src", true).some(usesBrowser) ? ["--lib"] : [];
  const files = rustFiles("tests", false).filter(usesBrowser);
  return [...library, ...files.flatMap((file) => ["--test", basename(file, ".rs")])];
}

function inBrowser(driver) {
  const targets = browserTargets();
  if (targets.length === 0) return failure("There are no tests with #[wasm_bindgen_test] in src/ or tests/.");
  const { CHROMEDRIVER, GECKODRIVER, ...others } = wasmEnv();
  // The runner takes the first driver that it finds named, so only one is.
  const env = { ...others, ...driver, WASM_BINDGEN_TEST_TIMEOUT: "300" };
  return run("cargo", ["test", "--no-fail-fast", "--target", WASM_TARGET, ...targets], { env });
}

/** Test files in the folders of tests/ (not deeper). */
function scriptTests(wanted) {
  return readdirSync(join(root, "tests"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && wanted(entry.name))
    .flatMap(({ name }) => readdirSync(join(root, "tests", name)).map((file) => join("tests", name, file)))
    .filter((file) => file.endsWith(".test.mjs"));
}

function endToEnd() {
  const files = existsSync(join(root, "tests", "e2e")) ? scriptTests((name) => name === "e2e") : [];
  if (files.length === 0) return failure("There are no end-to-end tests: tests/e2e/ has no *.test.mjs file.");
  // One file at a time: each starts a browser, and timings should not disturb each other.
  return node("--test", "--test-concurrency=1", "--test-reporter=spec", ...files);
}

/** Name → [heading, what to run, the stage without which it makes no sense]. */
const STAGES = {
  native: ["native: format, lints, tests", native],
  ids: ["requirements without a test", () => node("scripts/check-ids.mjs")],
  "wasm-chromium": ["wasm in Chromium", () => inBrowser({ CHROMEDRIVER: browsers().chromedriver })],
  "wasm-firefox": ["wasm in Firefox", () => inBrowser({ GECKODRIVER: browsers().geckodriver })],
  build: ["package", () => node("scripts/build.mjs")],
  size: ["download size", () => node("scripts/size.mjs"), "build"],
  node: ["scripts and package in Node", () => node("--test", "--test-reporter=spec", ...scriptTests((name) => name !== "e2e")), "build"],
  e2e: ["end to end in Chromium", endToEnd, "build"],
};

/** Tests passed and failed according to cargo's and Node's summary lines. */
function counts(text) {
  const plain = text.replace(/\x1b\[[0-9;]*m/g, "");
  const sum = (pattern) => [...plain.matchAll(pattern)].reduce((total, match) => total + Number(match[1]), 0);
  return {
    passed: sum(/^test result: .*?(\d+) passed/gm) + sum(/^[ℹ#] pass (\d+)$/gm),
    failed: sum(/^test result: .*?(\d+) failed/gm) + sum(/^[ℹ#] fail (\d+)$/gm),
  };
}

const only = process.argv.slice(2).flatMap((argument) => /^--only=(.+)$/.exec(argument)?.[1].split(",") ?? [argument]);
const unknown = only.filter((name) => !(name in STAGES));
if (unknown.length > 0) {
  console.error(`test: unknown argument ${unknown.join(", ")}; use --only=${Object.keys(STAGES).join(",")}`);
  process.exit(1);
}

await setup();
const total = { passed: 0, failed: 0 };
const summary = [];
const broken = new Set();
for (const [name, [title, stage, needs]] of Object.entries(STAGES)) {
  if (only.length > 0 && !only.includes(name)) continue;
  if (broken.has(needs)) {
    summary.push(`skipped  ${title} (needs: ${STAGES[needs][0]})`);
    continue;
  }
  console.log(`\n=== ${title} ===`);
  const begun = Date.now();
  const { code, text } = await stage();
  const { passed, failed } = counts(text);
  total.passed += passed;
  // A stage can fail without a failed test: lints, a compile error, a budget.
  total.failed += code !== 0 ? Math.max(failed, 1) : failed;
  if (code !== 0) broken.add(name);
  const seconds = ((Date.now() - begun) / 1000).toFixed(1);
  summary.push(`${code === 0 ? "ok     " : "FAILED "}  ${title}: ${passed} passed, ${failed} failed, ${seconds} s`);
}

console.log(`\n=== summary ===\n${summary.join("\n")}\n`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);
