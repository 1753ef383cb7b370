// What a page and its worker say to each other: calls with their answers, and calls without.
//
// Each side holds one end of a link. It lends targets to the other side under numbers, which go
// through arguments and answers, until it takes them back. Messages arrive in the order they were
// sent in, and the calls of a target are begun in that order.

import { isBytes } from "./check.js";
import { isTrap } from "./crash.js";
import { DovetailError } from "./errors.js";
import { report } from "./pull.js";

/** What carries messages: a worker, or the inside of one. @internal */
export interface Port {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  onmessage: ((event: { data: Message }) => void) | null;
  onmessageerror: (() => void) | null;
}

/** What a number stands for: it answers calls by their names. @internal */
export type Target = (method: string, args: unknown[]) => unknown;

/** An error on its way. @internal */
export interface PlainError {
  code?: unknown;
  message: string;
  retryable?: boolean;
  /** Of a delivery service that refuses for good. */
  refused?: boolean;
  /** The wasm module stopped. */
  trap?: boolean;
}

/** @internal */
export type Message =
  | [kind: "call", at: number, method: string, args: unknown[], id: number]
  | [kind: "tell", at: number, method: string, args: unknown[]]
  | [kind: "done", id: number, value: unknown]
  | [kind: "failed", id: number, error: PlainError];

interface Call {
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** The target that is there from the start, on both sides; it is told of a `damaged` message. @internal */
export const ROOT = 0;

/** Fewer bytes are copied faster than they are handed over. */
const HAND_OVER = 16 * 1024;

/** One end of a link. @internal */
export class Link {
  #port: Port;
  #owns: boolean;
  #lent = new Map<number, Target>();
  #calls = new Map<number, Call>();
  #last = ROOT;
  #over: { error: unknown } | undefined;

  /** @param owns What is sent belongs to this side alone, so that its bytes can be handed over. */
  constructor(port: Port, root: Target, owns: boolean) {
    this.#port = port;
    this.#owns = owns;
    this.#lent.set(ROOT, root);
    port.onmessage = ({ data }) => this.#receive(data);
    port.onmessageerror = () => void root("damaged", []);
  }

  /** Gives a target a number, by which the other side calls it. */
  lend(target: Target): number {
    this.#lent.set(++this.#last, target);
    return this.#last;
  }

  /** Calls of it come to nothing from now on. */
  takeBack(at: number): void {
    this.#lent.delete(at);
  }

  /** Calls a target of the other side; rejects with what {@link end} was given once that was called. */
  call<T>(at: number, method: string, ...args: unknown[]): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#over) return reject(this.#over.error);
      const id = ++this.#last;
      this.#send(["call", at, method, args, id]);
      this.#calls.set(id, { resolve, reject });
    });
  }

  /** The same without an answer. */
  tell(at: number, method: string, ...args: unknown[]): void {
    if (!this.#over) this.#send(["tell", at, method, args]);
  }

  /** The other side is gone: whatever waits for it is rejected, and whatever comes. */
  end(error: unknown): void {
    if (this.#over) return;
    this.#over = { error };
    this.#lent.clear();
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }

  #send(message: Message): void {
    try {
      if (this.#owns) this.#port.postMessage(message, large(message, new Set()));
      else this.#port.postMessage(plain(message), []);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "no reason given";
      throw new DovetailError("input.value", `what was given cannot be sent to the worker: ${reason}`, { cause: error });
    }
  }

  #receive(message: Message): void {
    if (this.#over) return;
    switch (message[0]) {
      case "call":
        return void this.#answer(message[4], message[1], message[2], message[3]);
      case "tell":
        return void this.#hear(message[1], message[2], message[3]);
      default: {
        const call = this.#calls.get(message[1]);
        this.#calls.delete(message[1]);
        if (message[0] === "done") call?.resolve(message[2] as never);
        else call?.reject(revived(message[2]));
      }
    }
  }

  async #hear(at: number, method: string, args: unknown[]): Promise<void> {
    try {
      await this.#lent.get(at)?.(method, args);
    } catch (error) {
      report(error);
    }
  }

  async #answer(id: number, at: number, method: string, args: unknown[]): Promise<void> {
    try {
      const target = this.#lent.get(at);
      if (!target) throw new DovetailError("client.closed", "the client is closed; create it again");
      const value = await target(method, args);
      if (!this.#over) this.#send(["done", id, value]);
    } catch (error) {
      if (!this.#over) this.#send(["failed", id, plainError(error)]);
    }
  }
}

function plainError(error: unknown): PlainError {
  const field = (name: string): unknown => {
    try {
      return typeof error === "object" ? (error as Record<string, unknown> | null)?.[name] : undefined;
    } catch {
      // An error that cannot even be read says nothing.
      return undefined;
    }
  };
  const text = typeof error === "string" ? error : field("message");
  const code = field("code");
  return {
    ...(typeof code === "string" && { code }),
    message: typeof text === "string" ? text : "no reason given",
    ...(field("retryable") === true && { retryable: true }),
    ...(Boolean(field("refused")) && { refused: true }),
    ...(isTrap(error) && { trap: true }),
  };
}

/** A stop of the module is told apart by its class. */
const revived = (error: PlainError): unknown =>
  error.trap && typeof WebAssembly === "object" ? new WebAssembly.RuntimeError(error.message) : error;

/** Long byte arrays in a value. */
function large(value: unknown, found: Set<ArrayBuffer>): ArrayBuffer[] {
  if (isBytes(value)) {
    const { buffer, byteLength } = value;
    if (byteLength >= HAND_OVER && byteLength === buffer.byteLength) found.add(buffer as ArrayBuffer);
  } else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) large(item, found);
  }
  return [...found];
}

/**
 * A value as it is sent: lists and plain objects made anew, so that bytes which are a part of
 * something larger do not take all of it along, and an app's proxies can be sent.
 */
function plain(value: unknown): unknown {
  if (isBytes(value)) return value.byteLength === value.buffer.byteLength ? value : new Uint8Array(value);
  if (Array.isArray(value)) return value.map(plain);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]));
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
