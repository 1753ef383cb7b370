// What the classes of one client share: the wasm client, its life, the codecs.

import * as check from "./check.js";
import type { CodecRegistry } from "./content/codec.js";
import type { Life } from "./crash.js";
import { DovetailError } from "./errors.js";
import { type PullOptions, pull, report } from "./pull.js";
import type { RawClient, RawEvent, RawFilter, RawTaken } from "./raw.js";
import type { AsyncStreamProxy, StreamFunction } from "./streams.js";

/** @internal */
export class Core {
  readonly inboxId: string;
  readonly installationId: string;
  readonly codecs: CodecRegistry;
  #raw: RawClient;
  #life: Life;
  #closing: Promise<void> | undefined;
  /** What to tell when the client is closed. */
  #streams = new Set<() => void>();

  constructor(raw: RawClient, life: Life, codecs: CodecRegistry) {
    this.#raw = raw;
    // Read once: they stay readable when the wasm side no longer answers.
    this.inboxId = raw.inboxId;
    this.installationId = raw.installationId;
    this.codecs = codecs;
    this.#life = life;
  }

  /** Runs a call; it always settles, and rejects with a DovetailError. */
  async call<T>(run: (raw: RawClient) => Promise<T>): Promise<T> {
    if (this.#closing) throw new DovetailError("client.closed", "the client is closed; create it again");
    return this.#life.run(() => run(this.#raw));
  }

  close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = this.#life.run(() => this.#raw.close());
      for (const end of [...this.#streams]) quietly(end);
    }
    return this.#closing;
  }

  /**
   * A stream function over a subscription: `pick` takes what it wants of an event. It is over when
   * the client is closed or has crashed.
   *
   * @param before Runs first; what goes wrong there is left to the next sync.
   */
  source<T>(
    filter: RawFilter,
    before: ((raw: RawClient) => Promise<void>) | undefined,
    pick: (event: RawEvent) => T | undefined,
  ): StreamFunction<T> {
    return async (callback, _onFail, onClose) => {
      // Offline a stream opens all the same: what was missed arrives once the service is back.
      if (before) await this.call(before).catch(() => {});
      const listener = (event: RawEvent) => quietly(() => callback(null, pick(event)));
      const subscription = await this.call((raw) => raw.subscribe(filter, listener));
      const unwatch = this.#life.watch((error) => {
        quietly(() => callback(error, undefined));
        quietly(onClose);
      });
      this.#streams.add(onClose);
      return () => {
        unwatch();
        this.#streams.delete(onClose);
        if (!this.#life.over) subscription.end();
      };
    };
  }

  /** A stream of what is taken one by one, until the client is closed or has crashed. */
  async pull<R, V>(
    open: (raw: RawClient) => Promise<RawTaken<R>>,
    make: (raw: R) => V | Promise<V>,
    options: PullOptions<V>,
  ): Promise<AsyncStreamProxy<V>> {
    check.optional(options.onValue, "onValue", check.callback);
    const taken = await this.call(open);
    const source = {
      next: () => this.#life.run(() => taken.next()),
      ...(taken.acknowledge && { acknowledge: () => this.#life.run(() => taken.acknowledge?.() ?? Promise.resolve()) }),
      end: () => {
        if (!this.#life.over) taken.end();
      },
    };
    return pull(source, make, options, (end) => {
      this.#streams.add(end);
      return () => this.#streams.delete(end);
    });
  }
}

/** Runs an app's callbacks: what they throw must not reach the wasm side or other streams. */
function quietly(run: () => void): void {
  try {
    run();
  } catch (error) {
    report(error);
  }
}
