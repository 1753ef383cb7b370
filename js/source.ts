// Compiles wasm from wherever an app has it, with errors that say what to do.

import { DovetailError } from "./errors.js";

/** Where the wasm module may come from. */
export type WasmSource = URL | string | Response | BufferSource | WebAssembly.Module;

/** What `init` is given. @internal */
export type Given = WasmSource | Promise<WasmSource> | undefined;

const MAGIC = [0x00, 0x61, 0x73, 0x6d];

/** Loads something once; after a failure, again. @internal */
export function once<T>(load: (source: Given) => Promise<T>): (source?: Given) => Promise<T> {
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

/** Waits for a module to start. @internal */
export async function fit(started: Promise<unknown>): Promise<void> {
  try {
    await started;
  } catch (error) {
    throw failed("it does not fit this version of the package, or was blocked", "the wasm module", error);
  }
}

/** @internal */
export async function compile(source: WasmSource): Promise<WebAssembly.Module> {
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

/** @param url Where it came from. @internal */
export async function fromResponse(response: Response, url: string): Promise<WebAssembly.Module> {
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

/** @internal */
export function failed(reason: string, name: string, cause?: unknown, retryable = false): DovetailError {
  return new DovetailError("wasm.load_failed", `${name} cannot be loaded: ${reason}`, {
    retryable,
    ...(cause === undefined ? {} : { cause }),
  });
}
