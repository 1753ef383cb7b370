// Loads the module for archives, apart from the rest and once.

import { toDovetailError } from "./errors.js";
import { type Given, type WasmSource, compile, failed, fit, once } from "./source.js";

type Archives = typeof import("./archive-module.js");

const start = once(load);

/**
 * Loads the module for archives, which is loaded apart from the rest: by the first call that makes
 * or reads an archive, or by this. As {@link init} in everything else.
 *
 * @param source Default: `dovetail_archive_bg.wasm` beside this module.
 * @throws As {@link init}.
 */
export async function initArchives(source?: WasmSource | Promise<WasmSource>): Promise<void> {
  await start(source);
}

/** Runs a call that needs the module for archives. @internal */
export async function withArchives<T>(call: (archives: Archives) => Promise<T>): Promise<T> {
  try {
    return await call(await start());
  } catch (error) {
    throw toDovetailError(error);
  }
}

async function load(source: Given): Promise<Archives> {
  const module = await compile((await source) ?? new URL("./dovetail_archive_bg.wasm", import.meta.url));
  let archives: Archives;
  try {
    archives = await import("./archive-module.js");
  } catch (error) {
    throw failed("it cannot be fetched", "archive-module.js", error, true);
  }
  await fit(archives.start(module));
  return archives;
}
