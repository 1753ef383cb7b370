// Values waiting to be taken, and takers waiting for values.

/** Values kept for a loop that does not keep up, or was never begun. */
const KEPT = 10_000;

/**
 * First in, first out, with a bound: beyond it the oldest values are dropped and counted.
 *
 * @internal
 */
export class ValueQueue<T> {
  /** Whether anyone ever asked for a value. */
  wanted = false;
  #values: T[] = [];
  #first = 0;
  #takers: ((result: IteratorResult<T, undefined>) => void)[] = [];
  #closed = false;
  #onLag: (missed: number) => void;
  #lasts: ((value: T) => boolean) | undefined;

  /** @param lasts Whether a value that waited is still to be given. */
  constructor(onLag: (missed: number) => void, lasts?: (value: T) => boolean) {
    this.#onLag = onLag;
    this.#lasts = lasts;
  }

  push(value: T): void {
    if (this.#closed) return;
    const taker = this.#takers.shift();
    if (taker) return taker({ done: false, value });
    this.#values.push(value);
    if (this.#values.length - this.#first <= KEPT) return;
    this.#take();
    this.#onLag(1);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    this.wanted = true;
    while (this.#first < this.#values.length) {
      const value = this.#take();
      if (this.#lasts?.(value) ?? true) return Promise.resolve({ done: false, value });
    }
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Drops what is left and lets every taker go. */
  close(): void {
    this.#closed = true;
    this.#values = [];
    this.#first = 0;
    for (const taker of this.#takers.splice(0)) taker({ done: true, value: undefined });
  }

  #take(): T {
    const value = this.#values[this.#first++] as T;
    // Moving the rest at once for many takes keeps each of them cheap.
    if (this.#first >= 1024) {
      this.#values.splice(0, this.#first);
      this.#first = 0;
    }
    return value;
  }
}
