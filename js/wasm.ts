// Loads the wasm module once, on first use. Nothing else imports the generated glue.
//
// In the bundle of the worker entry remote.ts takes the place of this file.

import initGlue, * as glue from "./wasm/dovetail.js";

import { Life } from "./crash.js";
import type { RawModule } from "./raw.js";
import { type Given, type WasmSource, compile, fit, once } from "./source.js";

/** A running module and the life its calls belong to. @internal */
export interface Instance {
  readonly module: RawModule;
  readonly life: Life;
}

const start = once(load);
let life = new Life();

/**
 * Loads the wasm module. It is called for you by whatever needs it first; call it to load earlier,
 * or from another place. Once loaded, further calls do nothing, whatever they name; after a
 * failure the next call tries again.
 *
 * @param source Default: `dovetail_bg.wasm` beside this module.
 * @throws `wasm.unsupported`, or `wasm.load_failed` with the URL and the reason.
 */
export async function init(source?: WasmSource | Promise<WasmSource>): Promise<void> {
  await start(source);
}

/** The module, loaded if need be. After a crash: the same module in a new life. @internal */
export async function instance(): Promise<Instance> {
  const module = await start();
  if (life.over) life = new Life();
  return { module, life };
}

async function load(source: Given): Promise<RawModule> {
  const module = await compile((await source) ?? new URL("./dovetail_bg.wasm", import.meta.url));
  await fit(initGlue({ module_or_path: module }));
  const raw = glue as unknown as RawModule;
  raw.onPanic((message) => life.crash(message));
  return raw;
}
