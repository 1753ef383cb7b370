// Streams whose values are asked for one by one, so that nothing piles up between an app and what is
// stored: events, the durable stream, messages from a cursor on.

import { type AsyncStreamProxy, type StreamEngine, faceOf } from "./streams.js";

/** Options of a stream that gives its values either to a loop or to a callback. */
export interface PullOptions<V> {
  /**
   * Takes the values; the loop then gets none. The next one comes once what it returned is settled,
   * so calls never overlap.
   */
  onValue?: (value: V) => unknown;
  /** The callback failed, or the stream did. */
  onError?: (error: Error) => void;
  /** It ended, by whatever cause. Called once, and nothing after it. */
  onEnd?: () => void;
}

/** Where the values come from. @internal */
export interface PullSource<R> {
  /** The next one, which acknowledges the one before; undefined once it has ended. */
  next(): Promise<R | undefined>;
  /** Acknowledges the last one. */
  acknowledge?(): Promise<void>;
  end(): void;
}

const DONE = { done: true, value: undefined } as const;

/**
 * A stream over a source. With `acknowledge`, a callback that fails ends the stream, and its value
 * comes again with the next one; without, it ends nothing.
 *
 * @param watch Is handed what ends the stream when the client closes; gives back what forgets it.
 * @internal
 */
export function pull<R, V>(
  source: PullSource<R>,
  make: (raw: R) => V | Promise<V>,
  options: PullOptions<V>,
  watch: (end: () => void) => () => void,
): AsyncStreamProxy<V> {
  const engine = new Pull(source, make, options, watch);
  if (options.onValue) void engine.run(options.onValue);
  return faceOf(engine);
}

class Pull<R, V> implements StreamEngine<V> {
  ended = false;
  /** Settled with the call of `next` before; a callback's calls never are. */
  #turn: Promise<unknown> = Promise.resolve();
  /** The callback is running: what it was given may still be acknowledged. */
  #busy = false;
  #over: () => void = () => {};
  #source: PullSource<R>;
  #make: (raw: R) => V | Promise<V>;
  #options: PullOptions<V>;
  #forget: () => void;

  constructor(
    source: PullSource<R>,
    make: (raw: R) => V | Promise<V>,
    options: PullOptions<V>,
    watch: (end: () => void) => () => void,
  ) {
    this.#source = source;
    this.#make = make;
    this.#options = options;
    this.#forget = watch(() => this.end());
    // A loop beside a callback gets nothing but the end.
    if (options.onValue) this.#turn = new Promise<void>((resolve) => (this.#over = resolve));
  }

  next(): Promise<IteratorResult<V, undefined>> {
    const turn = this.#turn.then(() => this.#take());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.#forget();
    this.#over();
    if (!this.#busy) this.#source.end();
    this.#tell(() => this.#options.onEnd?.());
  }

  /** Gives every value to the callback. */
  async run(onValue: (value: V) => unknown): Promise<void> {
    while (!this.ended) {
      // What fails there is told, and ends the stream.
      const next = await this.#take().catch(() => DONE);
      if (next.done) return;
      this.#busy = true;
      await this.#give(onValue, next.value);
      this.#busy = false;
    }
    this.#source.end();
  }

  async #give(onValue: (value: V) => unknown, value: V): Promise<void> {
    const { acknowledge } = this.#source;
    try {
      await onValue(value);
    } catch (error) {
      this.#report(error);
      // It comes again, so nothing may come after it.
      if (acknowledge) this.end();
      return;
    }
    try {
      await acknowledge?.();
    } catch (error) {
      // Told, unless the callback has closed the client under it: then the value comes again.
      if (!this.ended) this.#report(error);
      this.end();
    }
  }

  async #take(): Promise<IteratorResult<V, undefined>> {
    if (this.ended) return DONE;
    try {
      const raw = await this.#source.next();
      const value = raw === undefined ? undefined : await this.#make(raw);
      if (value !== undefined && !this.ended) return { done: false, value };
    } catch (error) {
      if (this.ended) return DONE;
      this.#report(error);
      this.end();
      throw error;
    }
    this.end();
    return DONE;
  }

  #report(error: unknown): void {
    const { onError, onValue } = this.#options;
    if (onError && !this.ended) this.#tell(() => onError(error as Error));
    else if (onValue) report(error);
  }

  #tell(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      report(error);
    }
  }
}

/** Tells the page of an error that no caller is waiting for. @internal */
export function report(error: unknown): void {
  if (typeof reportError === "function") reportError(error);
  else console.error(error);
}
