// Streams: an async iterator over what a subscription reports, with retries when it breaks.

import * as check from "./check.js";
import { StreamFailedError, StreamInvalidRetryAttemptsError, isFinal } from "./errors.js";
import { ValueQueue } from "./queue.js";

/** Milliseconds before each retry. */
export const DEFAULT_RETRY_DELAY = 10_000;
/** Retries over the whole life of a stream. */
export const DEFAULT_RETRY_ATTEMPTS = 6;

/** A stream of values. Leaving a `for await` loop over it ends it. */
export interface AsyncStreamProxy<T> extends AsyncIterable<T> {
  /** The next value; parallel calls are served in order. */
  next(): Promise<IteratorResult<T, undefined>>;
  /** Ends the stream; pending `next()` calls settle with `done: true`. */
  return(): Promise<IteratorResult<T, undefined>>;
  /** The same, for use from outside a loop. Ending twice does nothing more. */
  end(): Promise<IteratorResult<T, undefined>>;
  /** Whether it has ended. */
  readonly isDone: boolean;
}

/** Options of a stream. No callback but one `onEnd` is called once it ended. */
export interface StreamOptions<T = unknown, V = T> {
  /** Every value, as the loop sees it. */
  onValue?: (value: V) => void;
  /** A value could not be read, a retry failed, or the stream failed for good. */
  onError?: (error: Error) => void;
  /** It ended, by whatever cause. */
  onEnd?: () => void;
  /** The subscription broke. */
  onFail?: () => void;
  /** A retry begins. */
  onRetry?: (attempt: number, maxAttempts: number) => void;
  /** A retry succeeded. */
  onRestart?: () => void;
  /** So many values were lost because nobody took them; read them from the history instead. */
  onLag?: (missed: number) => void;
  /** Default {@link DEFAULT_RETRY_ATTEMPTS}. */
  retryAttempts?: number;
  /** Default {@link DEFAULT_RETRY_DELAY}. */
  retryDelay?: number;
  /** Default true. */
  retryOnFail?: boolean;
  /** Do not fetch before subscribing. */
  disableSync?: boolean;
}

/** Takes an error or a value. */
export type StreamCallback<T = unknown> = (error: Error | null, value: T | undefined) => void;

/**
 * Subscribes and resolves with what ends the subscription. `onFail` reports that it broke,
 * `onClose` that it is over for good.
 */
export type StreamFunction<T = unknown> = (
  callback: StreamCallback<T>,
  onFail: () => void,
  onClose: () => void,
) => Promise<() => void>;

/** Makes another value of each one; undefined leaves it out. */
export type StreamValueMutator<T = unknown, V = T> = (value: T) => V | Promise<V>;

/**
 * Subscribes, and resolves when that is done. A first subscription that fails is retried like one
 * that breaks later.
 *
 * @param lasts Values that do not when they are taken are left out.
 * @throws StreamInvalidRetryAttemptsError; without retries StreamFailedError.
 */
export async function createStream<T = unknown, V = T>(
  streamFunction: StreamFunction<T>,
  mutator?: StreamValueMutator<T, V | undefined>,
  options: StreamOptions<T, V> = {},
  lasts?: (value: V) => boolean,
): Promise<AsyncStreamProxy<V>> {
  check.optional(check.object(options, "options")["onValue"], "onValue", check.callback);
  const machine = new Machine(streamFunction, mutator, options, lasts);
  await machine.start();
  return faceOf(machine);
}

/** @internal */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";

class Machine<T, V> implements StreamEngine<V> {
  readonly queue: ValueQueue<V>;
  ended = false;
  #subscribe: StreamFunction<T>;
  #mutator: StreamValueMutator<T, V | undefined> | undefined;
  #options: StreamOptions<T, V>;
  /** Which subscription counts; what earlier ones report is dropped. */
  #current = 0;
  #close: (() => void) | undefined;
  #retries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Values behind one that is still being made. */
  #behind: Promise<void> | undefined;

  constructor(
    subscribe: StreamFunction<T>,
    mutator: StreamValueMutator<T, V | undefined> | undefined,
    options: StreamOptions<T, V>,
    lasts?: (value: V) => boolean,
  ) {
    if (this.#retrying(options) && this.#max(options) < 0) throw new StreamInvalidRetryAttemptsError();
    this.#subscribe = subscribe;
    this.#mutator = mutator;
    this.#options = options;
    this.queue = new ValueQueue((missed) => {
      // Without a loop every value was already given to onValue.
      if (this.queue.wanted || !options.onValue) options.onLag?.(missed);
    }, lasts);
  }

  async start(): Promise<void> {
    try {
      if (await this.#open()) return;
    } catch (error) {
      if (!this.#retrying() || isFinal(error)) {
        this.ended = true;
        this.#options.onError?.(error as Error);
        throw isFinal(error) ? error : new StreamFailedError(0, { cause: error });
      }
      this.#retryAfter(error);
      return;
    }
    if (this.#retrying()) return this.#retry();
    this.ended = true;
    throw new StreamFailedError(0);
  }

  next(): Promise<IteratorResult<V, undefined>> {
    return this.queue.next();
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.#timer);
    this.queue.close();
    try {
      this.#drop();
    } finally {
      this.#options.onEnd?.();
    }
  }

  #retrying(options = this.#options): boolean {
    return options.retryOnFail ?? true;
  }

  #max(options = this.#options): number {
    return options.retryAttempts ?? DEFAULT_RETRY_ATTEMPTS;
  }

  /** Subscribes; false if it broke before it was made. */
  async #open(): Promise<boolean> {
    const own = ++this.#current;
    let opening = true;
    const fail = () => {
      if (this.ended || own !== this.#current) return;
      this.#current++;
      try {
        this.#options.onFail?.();
      } finally {
        if (!opening) this.#broke();
      }
    };
    const close = await this.#subscribe(
      (error, value) => {
        if (!this.ended && own === this.#current) this.#receive(error, value);
      },
      fail,
      () => {
        if (own === this.#current) this.end();
      },
    );
    opening = false;
    if (this.ended || own !== this.#current) {
      close();
      return this.ended;
    }
    this.#close = close;
    return true;
  }

  #broke(): void {
    this.#drop();
    if (this.#retrying()) this.#retry();
    else this.#failed(0);
  }

  #drop(): void {
    const close = this.#close;
    this.#close = undefined;
    close?.();
  }

  #failed(retries: number): void {
    try {
      if (!this.ended) this.#options.onError?.(new StreamFailedError(retries));
    } finally {
      this.end();
    }
  }

  #retry(): void {
    if (this.ended || this.#timer !== undefined) return;
    if (this.#retries >= this.#max()) return this.#failed(this.#max());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#retries++;
      try {
        this.#options.onRetry?.(this.#retries, this.#max());
      } finally {
        if (!this.ended) void this.#reopen();
      }
    }, this.#options.retryDelay ?? DEFAULT_RETRY_DELAY);
  }

  async #reopen(): Promise<void> {
    try {
      const opened = await this.#open();
      if (this.ended) return;
      if (!opened) return this.#retry();
    } catch (error) {
      if (this.ended) return;
      if (!isFinal(error)) return this.#retryAfter(error);
      try {
        this.#options.onError?.(error as Error);
      } finally {
        this.end();
      }
      return;
    }
    this.#options.onRestart?.();
  }

  #retryAfter(error: unknown): void {
    try {
      this.#options.onError?.(error as Error);
    } finally {
      this.#retry();
    }
  }

  #receive(error: Error | null, value: T | undefined): void {
    if (error) return this.#options.onError?.(error);
    if (value === undefined) return;
    let made: V | undefined | Promise<V | undefined>;
    try {
      made = this.#mutator ? this.#mutator(value) : (value as unknown as V);
    } catch (thrown) {
      return this.#report(thrown);
    }
    if (!isThenable(made) && !this.#behind) return this.#emit(made);
    const turn = Promise.all([made, this.#behind])
      .then(
        ([ready]) => this.#emit(ready),
        (thrown: unknown) => this.#report(thrown),
      )
      .finally(() => {
        if (this.#behind === turn) this.#behind = undefined;
      });
    this.#behind = turn;
  }

  #emit(value: V | undefined): void {
    if (this.ended || value === undefined) return;
    this.queue.push(value);
    try {
      const answer: unknown = this.#options.onValue?.(value);
      if (isThenable(answer)) answer.then(undefined, (thrown: unknown) => this.#report(thrown));
    } catch (thrown) {
      this.#report(thrown);
    }
  }

  #report(error: unknown): void {
    if (!this.ended) this.#options.onError?.(error as Error);
  }
}

/** What is behind a stream. @internal */
export interface StreamEngine<V> {
  readonly ended: boolean;
  next(): Promise<IteratorResult<V, undefined>>;
  end(): void;
}

/** What the app holds: nothing on it can be changed. @internal */
export function faceOf<V>(machine: StreamEngine<V>): AsyncStreamProxy<V> {
  const finish = async (): Promise<IteratorResult<V, undefined>> => {
    machine.end();
    return { done: true, value: undefined };
  };
  const face: AsyncStreamProxy<V> = {
    next: () => machine.next(),
    return: finish,
    end: finish,
    get isDone() {
      return machine.ended;
    },
    [Symbol.asyncIterator]: () => proxy,
  };
  const proxy = new Proxy(face, {
    set: () => true,
    defineProperty: () => true,
    deleteProperty: () => true,
    setPrototypeOf: () => true,
  });
  return proxy;
}
