// Installs what building and testing need, and nothing that is there already.
//
//   node scripts/setup.mjs [--only=native|lint|wasm|browsers|npm]
//
// An ordinary machine is asked first: its own toolchain, `rustup target add`,
// its own browsers. On Debian, as root, missing parts come from apt.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { WASM_TARGET, browsers, cache, isMain, nativeEnv, outputOf, pathFlags, root, stdStamp, tools, wasmToolchain, which } from "./env.mjs";

const DEBIAN_RUST = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm", "lld-22"];
const LEAST_RUST = "1.91";
const CHROMIUM = ["chromium", "chromium-driver"];
const canApt = () => Boolean(which("apt-get")) && process.getuid?.() === 0;

/** A step that cannot be done here; its message says what is missing and how to get it. */
class Missing extends Error {}

/** Waits for all, then fails with everything that is missing. */
async function allOf(steps) {
  const failed = (await Promise.allSettled(steps)).filter(({ status }) => status === "rejected").map(({ reason }) => reason);
  const bug = failed.find((error) => !(error instanceof Missing));
  if (bug) throw bug;
  if (failed.length > 0) throw new Missing([...new Set(failed.map((error) => error.message))].join("\nsetup: "));
}

const say = (text) => console.log(`setup: ${text}`);

/** Runs a command with its output in a log file; resolves to whether it succeeded. */
function quietly(name, command, args, { env = process.env, cwd = root } = {}) {
  mkdirSync(join(cache, "logs"), { recursive: true });
  const log = join(cache, "logs", `${name}.log`);
  const output = openSync(log, "w");
  return new Promise((settle) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", output, output] });
    child.on("error", () => settle({ ok: false, log }));
    child.on("close", (code) => settle({ ok: code === 0, log }));
  });
}

async function mustRun(name, command, args, options, hint) {
  const { ok, log } = await quietly(name, command, args, options);
  if (ok) return;
  const tail = readFileSync(log, "utf8").trimEnd().split("\n").slice(-15).join("\n");
  throw new Missing(`${command} ${args.join(" ")} failed:\n${tail}\n${hint}\n(whole output: ${log})`);
}

let listsAreFresh;
let lastInstall = Promise.resolve();

/** Installs Debian packages; calls wait for one another, as apt allows only one at a time. */
function apt(name, packages, why) {
  const hint = `Install ${why} by hand, then run this again.`;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const lock = ["-o", "DPkg::Lock::Timeout=900"];
  lastInstall = lastInstall.then(async () => {
    listsAreFresh ??= mustRun("apt-update", "apt-get", [...lock, "update"], { env }, hint);
    await listsAreFresh;
    say(`apt-get install ${packages.join(" ")} (${why})`);
    await mustRun(name, "apt-get", [...lock, "install", "-y", "--no-install-recommends", ...packages], { env }, hint);
  });
  return lastInstall;
}

async function native() {
  if (Number(process.versions.node.split(".")[0]) < 20) {
    throw new Missing(`Node ${process.versions.node} is too old: install Node 20 or newer.`);
  }
  const rustc = which("cargo") && which("rustc") && outputOf("rustc", ["--version"]);
  if (!rustc) throw new Missing(`cargo and rustc are missing: install Rust ${LEAST_RUST} or newer with rustup (https://rustup.rs).`);
  const [, major, minor] = /^rustc (\d+)\.(\d+)/.exec(rustc) ?? [];
  const [leastMajor, leastMinor] = LEAST_RUST.split(".");
  if (Number(major) < Number(leastMajor) || (major === leastMajor && Number(minor) < Number(leastMinor))) {
    throw new Missing(`${rustc} is too old: install Rust ${LEAST_RUST} or newer with rustup (https://rustup.rs).`);
  }
  if (!which("cc")) {
    if (!canApt()) {
      throw new Missing("A C linker is missing: `sudo apt-get install build-essential`, or on macOS `xcode-select --install`.");
    }
    await apt("apt-cc", ["build-essential"], "a C linker");
  }
}

async function lint() {
  for (const [program, component] of [["cargo-fmt", "rustfmt"], ["cargo-clippy", "clippy"]]) {
    if (!which(program)) throw new Missing(`${program} is missing: run \`rustup component add ${component}\`.`);
  }
}

async function wasmStd() {
  if (wasmToolchain()) return;
  if (which("rustup")) {
    say(`rustup target add ${WASM_TARGET}`);
    const { log } = await quietly("rustup", "rustup", ["target", "add", WASM_TARGET]);
    if (wasmToolchain()) return;
    say(`rustup could not add the target here (its output: ${log})`);
  }
  if (!canApt()) {
    throw new Missing(
      `The Rust standard library for ${WASM_TARGET} is missing: run \`rustup target add ${WASM_TARGET}\`. ` +
        "Where that cannot work, Debian has a toolchain it can be built with; run this as root, " +
        `or install it first: \`sudo apt-get install ${DEBIAN_RUST.join(" ")}\`, then run this as root once.`,
    );
  }
  if (outputOf("dpkg-query", ["-W", ...DEBIAN_RUST]) === undefined) {
    await apt("apt-rust", DEBIAN_RUST, `a Rust toolchain with sources, for ${WASM_TARGET}`);
  }
  await buildWasmStd();
}

/** Builds the wasm32 standard library of Debian's rustc and puts it into that rustc's sysroot. */
async function buildWasmStd() {
  say(`building the Rust standard library for ${WASM_TARGET} (about 3 minutes)`);
  const crate = join(cache, "wasm-std");
  rmSync(crate, { recursive: true, force: true });
  mkdirSync(join(crate, "src"), { recursive: true });
  writeFileSync(join(crate, "Cargo.toml"), '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n');
  writeFileSync(join(crate, "src", "lib.rs"), "#![no_std]\n");
  const env = {
    ...process.env,
    RUSTC: "/usr/bin/rustc",
    RUSTC_BOOTSTRAP: "1",
    CARGO_ENCODED_RUSTFLAGS: ["-Copt-level=3", "-Cembed-bitcode=yes", ...pathFlags].join("\x1f"),
    CARGO_TARGET_DIR: join(crate, "target"),
  };
  await mustRun(
    "wasm-std",
    "/usr/bin/cargo",
    ["build", "--release", "-Zbuild-std=std,panic_abort,test", "--target", WASM_TARGET],
    { env, cwd: crate },
    `Without it nothing can be built for wasm: make \`rustup target add ${WASM_TARGET}\` work instead.`,
  );
  const folder = dirname(stdStamp);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(stdStamp, "copying");
  const built = join(crate, "target", WASM_TARGET, "release", "deps");
  for (const file of readdirSync(built)) {
    if (file.endsWith(".rlib") && !file.startsWith("libempty-")) cpSync(join(built, file), join(folder, file));
  }
  writeFileSync(stdStamp, outputOf("/usr/bin/rustc", ["--version"]));
  rmSync(crate, { recursive: true, force: true });
}

/** The command line tool must have the very version of the crate. */
function wasmBindgenVersion() {
  const pinned = /^wasm-bindgen\s*=\s*(?:\{[^}]*version\s*=\s*)?"=([\d.]+)"/m;
  const version = pinned.exec(readFileSync(join(root, "Cargo.toml"), "utf8"))?.[1];
  if (!version) throw new Missing('Cargo.toml must pin wasm-bindgen with `wasm-bindgen = "=x.y.z"`.');
  return version;
}

let lastBuild = Promise.resolve();

/** Builds a Rust program into the cache folder unless that version is on PATH or there already. */
function cargoTool(crate, program, version) {
  const env = nativeEnv();
  const found = outputOf(which(program, env.PATH) ?? program, ["--version"], env);
  if (found?.split(/\s+/).includes(version)) return undefined;
  lastBuild = lastBuild.then(async () => {
    say(`cargo install ${crate} ${version} (a few minutes)`);
    await mustRun(
      crate,
      "cargo",
      // Not `--locked`: the lock files these crates ship name versions that may be withdrawn.
      ["install", crate, "--version", version, "--root", tools, "--target-dir", join(cache, "tools-build"), "--force"],
      { env, cwd: cache },
      `Install ${crate} ${version} so that \`${program}\` is on PATH, then run this again.`,
    );
  });
  return lastBuild;
}

async function wasm() {
  mkdirSync(cache, { recursive: true });
  // apt downloads while cargo compiles; neither touches what the other uses.
  await allOf([
    wasmStd(),
    cargoTool("wasm-bindgen-cli", "wasm-bindgen", wasmBindgenVersion()),
    cargoTool("wasm-pack", "wasm-pack", "0.15.1"),
  ]);
}

async function chromium() {
  const found = browsers();
  if (found.chromium && found.chromedriver) return;
  if (!canApt()) {
    throw new Missing(
      "Chromium or its driver is missing: `sudo apt-get install chromium chromium-driver`, or on macOS " +
        "`brew install --cask chromium chromedriver`. CHROME and CHROMEDRIVER may name programs elsewhere.",
    );
  }
  await apt("apt-chromium", CHROMIUM, "Chromium and its driver, for tests");
}

async function firefox() {
  if (browsers().firefox) return;
  if (!canApt()) {
    throw new Missing(
      "Firefox is missing: `sudo apt-get install firefox-esr`, or on macOS `brew install --cask firefox`. " +
        "FIREFOX may name the program elsewhere.",
    );
  }
  await apt("apt-firefox", ["firefox-esr"], "Firefox, for tests");
}

async function browsersAndDrivers() {
  mkdirSync(cache, { recursive: true });
  const driver = process.env.GECKODRIVER ? undefined : cargoTool("geckodriver", "geckodriver", "0.37.1");
  await allOf([chromium(), firefox(), driver]);
}

async function npmPackages() {
  const stamp = join(root, "node_modules", ".installed-lock");
  const lock = createHash("sha256").update(readFileSync(join(root, "package-lock.json"))).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  say("npm ci");
  await mustRun("npm", "npm", ["ci", "--no-audit", "--no-fund"], {}, "Check that the npm registry can be reached.");
  writeFileSync(stamp, lock);
}

const PARTS = { native, lint, wasm, browsers: browsersAndDrivers, npm: npmPackages };

/** Does the named parts (all of them by default), in parallel after the native one. */
export async function setup(names = Object.keys(PARTS)) {
  const begun = Date.now();
  // Nothing else works without these.
  if (names.includes("native") && (await lacks(native))) process.exit(1);
  // What can be done is done to its end, and everything missing is told at once.
  const others = names.filter((name) => name !== "native");
  const lacking = await Promise.all(others.map((name) => lacks(PARTS[name])));
  if (lacking.includes(true)) process.exit(1);
  rmSync(join(cache, "tools-build"), { recursive: true, force: true });
  say(`ready (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
}

/** Does one part; whether something is missing for it, which is then told. */
async function lacks(part) {
  try {
    await part();
    return false;
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    console.error(`setup: ${error.message}`);
    return true;
  }
}

if (isMain(import.meta)) {
  const only = process.argv.slice(2).flatMap((argument) => /^--only=(.+)$/.exec(argument)?.[1].split(",") ?? [argument]);
  const unknown = only.filter((name) => !(name in PARTS));
  if (unknown.length > 0) {
    console.error(`setup: unknown argument ${unknown.join(", ")}; use --only=${Object.keys(PARTS).join("|")}`);
    process.exit(1);
  }
  await setup(only.length > 0 ? only : undefined);
}
