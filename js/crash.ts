// Keeps every promise settled when the wasm side stops in the middle of a call.

import { DovetailError, toDovetailError } from "./errors.js";

type Reject = (error: DovetailError) => void;

const crashed = (detail: string) =>
  new DovetailError(
    "client.crashed",
    `a bug stopped the client (${detail}); create it again to go on from what was stored, and please report this`,
  );

/** Whether the wasm module stopped. @internal */
export const isTrap = (error: unknown): boolean =>
  typeof WebAssembly === "object" && error instanceof WebAssembly.RuntimeError;

/**
 * The time between two crashes. A panic in wasm leaves the promises of calls in flight pending for
 * ever; a life rejects them, and every later call, with `client.crashed`.
 *
 * @internal
 */
export class Life {
  #pending = new Set<Reject>();
  #error: DovetailError | undefined;

  /** Runs a call into wasm: it always settles, and rejects with nothing but a DovetailError. */
  run<T>(call: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#error) return reject(this.#error);
      this.#pending.add(reject);
      const fail = (error: unknown) => {
        if (isTrap(error)) this.crash(String((error as Error).message));
        this.#pending.delete(reject);
        reject(toDovetailError(error));
      };
      try {
        call().then((value) => {
          this.#pending.delete(reject);
          resolve(value);
        }, fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  /** Tells `listener` of the crash until the returned function is called. */
  watch(listener: Reject): () => void {
    if (this.#error) queueMicrotask(() => listener(this.#error as DovetailError));
    else this.#pending.add(listener);
    return () => this.#pending.delete(listener);
  }

  /** Ends this life: rejects what is pending and all that comes. */
  crash(detail: string): void {
    if (this.#error) return;
    this.#error = crashed(detail);
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const reject of pending) reject(this.#error);
  }

  /** Whether it is over. */
  get over(): boolean {
    return this.#error !== undefined;
  }
}
