// Where things are, and the environments that commands run in.
//
// Native commands use the default Rust toolchain. Commands for wasm32 use it
// too when it has the wasm32 standard library; otherwise they use Debian's
// `rustc-web`, for which `scripts/setup.mjs` builds that library.
//
// Run as a program it prints shell exports for hand-run wasm commands:
//   eval "$(node scripts/env.mjs)"; cargo check --target wasm32-unknown-unknown

import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync, readdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
export const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "dovetail");
export const tools = join(cache, "tools");
export const dist = join(root, "dist");

/** Cargo's output: in the checkout, unless CARGO_TARGET_DIR names another folder. */
export const targetDir = resolve(root, process.env.CARGO_TARGET_DIR || "target");

export const WASM_TARGET = "wasm32-unknown-unknown";
const DEBIAN_RUSTC = "/usr/bin/rustc";
const DEBIAN_LINKER = "/usr/bin/wasm-ld-22";

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Full path of the first of `names` found on `path`, else undefined. */
export function which(names, path = process.env.PATH ?? "") {
  for (const name of [names].flat()) {
    for (const folder of path.split(delimiter)) {
      const file = join(folder, name);
      if (folder && isExecutable(file)) return file;
    }
  }
  return undefined;
}

/** Standard output of a command, trimmed; undefined if it cannot run or fails. */
export function outputOf(command, args, env = process.env) {
  try {
    return execFileSync(command, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return undefined;
  }
}

function hasWasmStd(rustc) {
  const sysroot = outputOf(rustc, ["--print", "sysroot"]);
  if (!sysroot) return false;
  try {
    return readdirSync(join(sysroot, "lib", "rustlib", WASM_TARGET, "lib")).some((name) => /^libstd-.*\.rlib$/.test(name));
  } catch {
    return false;
  }
}

/** Written beside a standard library that set-up built: the compiler it is for. */
export const stdStamp = join("/usr/lib/rustlib", WASM_TARGET, "lib", "built-for");

/** False after an upgrade of the compiler, and after a copy that was cut short. */
function debianStdIsCurrent() {
  return !existsSync(stdStamp) || readFileSync(stdStamp, "utf8") === outputOf(DEBIAN_RUSTC, ["--version"]);
}

/** Which toolchain can build for wasm32 now: "default", "debian" or undefined. */
export function wasmToolchain() {
  if (which("rustc") && hasWasmStd("rustc")) return "default";
  if (hasWasmStd(DEBIAN_RUSTC) && debianStdIsCurrent() && isExecutable(DEBIAN_LINKER)) return "debian";
  return undefined;
}

/** Compiler flags that keep this machine's folders out of what is built. */
export const pathFlags = [
  [process.env.CARGO_HOME || join(homedir(), ".cargo"), "/cargo"],
  [root, "/dovetail"],
].map(([from, to]) => `--remap-path-prefix=${from}=${to}`);

const joinPath = (...folders) => folders.filter(Boolean).join(delimiter);

/** Environment for native cargo commands and Node tools. */
export function nativeEnv() {
  return {
    ...process.env,
    CARGO_TARGET_DIR: targetDir,
    PATH: joinPath(join(root, "node_modules", ".bin"), join(tools, "bin"), process.env.PATH),
  };
}

/** Environment for cargo, wasm-pack and wasm-bindgen commands that target wasm32. */
export function wasmEnv() {
  const env = { ...nativeEnv(), CARGO_TARGET_DIR: join(targetDir, "wasm") };
  env[`CARGO_TARGET_${WASM_TARGET.toUpperCase().replaceAll("-", "_")}_RUNNER`] = "wasm-bindgen-test-runner";
  if (wasmToolchain() !== "debian") return env;
  return {
    ...env,
    PATH: joinPath(join(root, "node_modules", ".bin"), join(tools, "bin"), "/usr/bin", process.env.PATH),
    RUSTC: DEBIAN_RUSTC,
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER: DEBIAN_LINKER,
  };
}

/** A program inside an app on macOS, which is not on PATH. */
function macApp(app, program = app) {
  const file = join("/Applications", `${app}.app`, "Contents", "MacOS", program);
  return isExecutable(file) ? file : undefined;
}

/** Installed browsers and their drivers; a missing one is undefined. */
export function browsers() {
  const path = nativeEnv().PATH;
  return {
    chromium:
      process.env.CHROME ||
      which(["chromium", "google-chrome", "google-chrome-stable", "chromium-browser"], path) ||
      macApp("Google Chrome") ||
      macApp("Chromium"),
    chromedriver: process.env.CHROMEDRIVER || which("chromedriver", path),
    firefox: process.env.FIREFOX || which(["firefox", "firefox-esr"], path) || macApp("Firefox", "firefox"),
    geckodriver: process.env.GECKODRIVER || which("geckodriver", path),
  };
}

/** Whether a module was started as the program, and not imported. */
export function isMain(meta) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(meta.url);
}

if (isMain(import.meta)) {
  const env = wasmEnv();
  for (const name of Object.keys(env).filter((name) => env[name] !== process.env[name])) {
    console.log(`export ${name}='${env[name].replaceAll("'", `'\\''`)}'`);
  }
}
