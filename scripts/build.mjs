// Builds the npm package into dist/: its modules, the wasm beside them, declarations.
//
//   node scripts/build.mjs [--dev]
//
// --dev compiles without optimisation, for quick rounds of the browser tests.
// A wasm build whose inputs did not change is taken from the cache folder.

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.mjs";
import { cache, dist, isMain, outputOf, pathFlags, root, wasmEnv } from "./env.mjs";
import { run } from "./run.mjs";

/** Where js/ imports the generated glue from. */
const glue = join(root, "js", "wasm");
const BUILDS_KEPT = 16;
/** Leaves out places in sources and debug forms of values: only panics show them, every page loads them. */
const LEAN = ["-Zlocation-detail=none", "-Zfmt-debug=none"];
/** The features of the wasm modules, by name. */
const MODULES = { dovetail: ["page"], dovetail_archive: ["archive"] };

function filesUnder(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesUnder(join(path, name)));
}

/** A name for everything that decides what the wasm build makes. */
function wasmKey(profile, name, features, env) {
  const hash = createHash("sha256");
  const add = (part) => hash.update(`${part.length}:`).update(part);
  add(profile);
  add(name);
  add(features.join());
  for (const tool of [env.RUSTC ?? "rustc", "wasm-bindgen", "wasm-opt"]) add(outputOf(tool, ["--version"], env) ?? "");
  for (const input of ["scripts/build.mjs", "Cargo.toml", "Cargo.lock", "build.rs", "proto", "src"]) {
    for (const file of filesUnder(join(root, input))) {
      add(file.slice(root.length));
      add(readFileSync(file));
    }
  }
  return hash.digest("hex").slice(0, 32);
}

/** Folder with a wasm module and its glue, built now or earlier. */
export async function wasmBuild(profile, extra = [], name = "dovetail") {
  const features = [...MODULES[name], ...extra];
  const env = wasmEnv();
  // Development builds share their dependencies with the wasm tests, and so their flags.
  if (profile === "release") {
    env.CARGO_ENCODED_RUSTFLAGS = [...pathFlags, ...LEAN].join("\x1f");
    // These options are for development versions of the compiler; this lets others take them.
    env.RUSTC_BOOTSTRAP = "1";
  }
  const builds = join(cache, "wasm-builds");
  const kept = join(builds, wasmKey(profile, name, features, env));
  if (existsSync(kept)) {
    const now = new Date();
    utimesSync(kept, now, now);
    console.log(`build: ${name} is up to date`);
    return kept;
  }
  mkdirSync(builds, { recursive: true });
  // Built beside and renamed, so that a build cut short is never taken for a whole one.
  const fresh = `${kept}.${process.pid}`;
  console.log(`build: wasm-pack build --${profile} of ${name}`);
  const options = ["--target", "web", "--out-dir", fresh, "--out-name", name, "--no-pack", "--mode", "no-install"];
  const chosen = ["--", "--no-default-features", "--features", features.join()];
  const { code } = await run("wasm-pack", ["build", `--${profile}`, ...options, ...chosen], { env });
  if (code !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    throw new Error("wasm-pack failed");
  }
  renameSync(fresh, kept);
  const age = (name) => statSync(join(builds, name)).mtimeMs;
  const stale = readdirSync(builds).sort((a, b) => age(b) - age(a)).slice(BUILDS_KEPT);
  for (const name of stale) rmSync(join(builds, name), { recursive: true, force: true });
  return kept;
}

/** Bundles js/ and writes its declarations. */
async function scripts(profile) {
  console.log("build: bundling js/ and checking its types");
  await bundle(dist, profile === "release");
  const { code } = await run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", root]);
  if (code !== 0) throw new Error("js/ has type errors");
}

/** Builds dist/ with profile "release" or "dev"; ends the program where that fails. */
export async function build(profile = "release") {
  try {
    await buildAll(profile);
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exit(1);
  }
}

async function buildAll(profile) {
  const begun = Date.now();
  const built = {};
  for (const name of Object.keys(MODULES)) built[name] = await wasmBuild(profile, [], name);
  rmSync(dist, { recursive: true, force: true });
  for (const [name, wasm] of Object.entries(built)) {
    for (const file of [`${name}.js`, `${name}.d.ts`, `${name}_bg.wasm.d.ts`]) cpSync(join(wasm, file), join(glue, file));
  }
  await scripts(profile);
  for (const [name, wasm] of Object.entries(built)) {
    // Declarations of js/ name the glue's, so these travel with them.
    cpSync(join(wasm, `${name}.d.ts`), join(dist, "wasm", `${name}.d.ts`));
    cpSync(join(wasm, `${name}_bg.wasm`), join(dist, `${name}_bg.wasm`));
  }
  console.log(`build: dist/ is ready (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
}

if (isMain(import.meta)) await build(process.argv.includes("--dev") ? "dev" : "release");
