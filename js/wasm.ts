// Loads the wasm module once, on first use. Nothing else imports the generated glue.

import initGlue, * as glue from "./wasm/dovetail.js";

import { Life } from "./crash.js";
import { DovetailError, toDovetailError } from "./errors.js";
import type { RawModule } from "./raw.js";

/** Where the wasm module may come from. */
export type WasmSource = URL | string | Response | BufferSource | WebAssembly.Module;

/** A running module and the life its calls belong to. @internal */
export interface Instance {
  readonly module: RawModule;
  readonly life: Life;
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d];

type Given = WasmSource | Promise<WasmSource> | undefined;
type Archives = typeof import("./archive-module.js");

const start = once(load);
const startArchives = once(loadArchives);
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

/**
 * Loads the module for archives, which is loaded apart from the rest: by the first call that makes
 * or reads an archive, or by this. As {@link init} in everything else.
 *
 * @param source Default: `dovetail_archive_bg.wasm` beside this module.
 * @throws As {@link init}.
 */
export async function initArchives(source?: WasmSource | Promise<WasmSource>): Promise<void> {
  await startArchives(source);
}

/** The module, loaded if need be. After a crash: the same module in a new life. @internal */
export async function instance(): Promise<Instance> {
  const module = await start();
  if (life.over) life = new Life();
  return { module, life };
}

/** Loads a module once; after a failure, again. */
function once<T>(load: (source: Given) => Promise<T>): (source?: Given) => Promise<T> {
  let starting: Promise<T> | undefined;
  return (source) => {
    if (!starting) {
      const attempt = load(source);
      starting = attempt;
      attempt.catch(() => {
        if (starting === attempt) starting = undefined;
      });
    }
    return starting;
  };
}

async function load(source: Given): Promise<RawModule> {
  const module = await compile((await source) ?? new URL("./dovetail_bg.wasm", import.meta.url));
  await fit(initGlue({ module_or_path: module }));
  const raw = glue as unknown as RawModule;
  raw.onPanic((message) => life.crash(message));
  return raw;
}

async function loadArchives(source: Given): Promise<Archives> {
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

async function fit(started: Promise<unknown>): Promise<void> {
  try {
    await started;
  } catch (error) {
    throw failed("it does not fit this version of the package, or was blocked", "the wasm module", error);
  }
}

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  if (typeof WebAssembly !== "object") {
    throw new DovetailError(
      "wasm.unsupported",
      "this environment has no WebAssembly; it may be switched off (iOS Lockdown Mode does that)",
    );
  }
  if (source instanceof WebAssembly.Module) return source;
  if (isBuffer(source)) return fromBytes(source, "the bytes given to init");
  if (typeof Response === "function" && source instanceof Response) return fromResponse(source, source.url);
  if (typeof source === "string" || source instanceof URL) {
    const url = String(source);
    let response: Response;
    try {
      response = await fetch(source);
    } catch (error) {
      const hint = "there is no connection, or a Content-Security-Policy forbids it (connect-src)";
      const local = url.startsWith("file:") ? "files cannot be fetched: pass the bytes of the file to init()" : hint;
      throw failed(`it cannot be fetched; ${local}`, url, error, !url.startsWith("file:"));
    }
    return fromResponse(response, url);
  }
  throw new DovetailError("input.value", "init takes a URL, a Response, bytes or a WebAssembly.Module");
}

/** Of this realm or of another. */
const isBuffer = (source: WasmSource): source is BufferSource =>
  ArrayBuffer.isView(source) || Object.prototype.toString.call(source) === "[object ArrayBuffer]";

async function fromResponse(response: Response, url: string): Promise<WebAssembly.Module> {
  const name = url || "the response given to init";
  if (!response.ok) throw failed(`the server answered ${response.status}`, name, undefined, response.status >= 500);
  const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type === "text/html") throw failed("the server answered with an HTML page; is the file deployed?", name);
  if (type === "application/wasm" && typeof WebAssembly.compileStreaming === "function") {
    try {
      return await WebAssembly.compileStreaming(response);
    } catch (error) {
      throw compileFailed(error, name);
    }
  }
  let bytes: ArrayBuffer;
  try {
    bytes = await response.arrayBuffer();
  } catch (error) {
    throw failed("the download broke off", name, error, true);
  }
  return fromBytes(bytes, name);
}

async function fromBytes(bytes: BufferSource, name: string): Promise<WebAssembly.Module> {
  const view = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  if (MAGIC.some((byte, at) => view[at] !== byte)) throw failed("it is not a wasm file", name);
  try {
    return await WebAssembly.compile(view);
  } catch (error) {
    throw compileFailed(error, name);
  }
}

function compileFailed(error: unknown, name: string): DovetailError {
  const text = error instanceof Error ? error.message : String(error);
  if (/content security policy|blocked by csp|unsafe-eval/i.test(text)) {
    return failed("the page's Content-Security-Policy forbids wasm; add 'wasm-unsafe-eval' to script-src", name, error);
  }
  // A download that breaks off shows as a TypeError here.
  return failed(`it cannot be compiled (${text})`, name, error, !(error instanceof WebAssembly.CompileError));
}

function failed(reason: string, name: string, cause?: unknown, retryable = false): DovetailError {
  return new DovetailError("wasm.load_failed", `${name} cannot be loaded: ${reason}`, {
    retryable,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Runs a call that needs the module and no client. @internal */
export async function withModule<T>(call: (module: RawModule) => Promise<T>): Promise<T> {
  try {
    const { module, life } = await instance();
    return await life.run(() => call(module));
  } catch (error) {
    throw toDovetailError(error);
  }
}

/** Runs a call that needs the module for archives. @internal */
export async function withArchives<T>(call: (archives: Archives) => Promise<T>): Promise<T> {
  try {
    return await call(await startArchives());
  } catch (error) {
    throw toDovetailError(error);
  }
}
