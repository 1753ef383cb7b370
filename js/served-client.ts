// A client of the worker, as the page calls it.

import type { Link } from "./bridge.js";
import type { RawEvent, RawTaken } from "./raw-readers.js";
import type { RawClient, RawSubscription } from "./raw.js";

type Call = (...args: never[]) => unknown;

/** A client and what the page has taken of it. @internal */
export class ServedClient {
  readonly at: number;
  #link: Link;
  #raw: RawClient;
  #open = new Map<number, RawSubscription>();
  #forgotten: (at: number) => void;

  constructor(link: Link, raw: RawClient, forgotten: (at: number) => void) {
    this.#link = link;
    this.#raw = raw;
    this.#forgotten = forgotten;
    const own = this.#own();
    const plain = raw as unknown as Record<string, (...args: unknown[]) => unknown>;
    this.at = link.lend((method, args) => {
      const call = own[method];
      return call ? call(...(args as never[])) : plain[method]!(...args);
    });
  }

  /** Closes it, whoever may wait for that. */
  forget(): void {
    this.#release();
    // What it handed out is not ended: a crash may have left that locked. One that has crashed cannot be closed.
    this.#raw.close().catch(() => {});
  }

  #release(): void {
    for (const at of [this.at, ...this.#open.keys()]) this.#link.takeBack(at);
    this.#open.clear();
    this.#forgotten(this.at);
  }

  async #close(): Promise<void> {
    try {
      await this.#raw.close();
    } finally {
      const open = [...this.#open.values()];
      this.#release();
      for (const one of open) one.end();
    }
  }

  /** The methods that hand out something more. */
  #own(): Record<string, Call> {
    const raw = this.#raw;
    const taken = async <T>(opened: Promise<RawTaken<T>>) => this.#lendTaken(await opened);
    return {
      close: () => this.#close(),
      subscribe: async (filter: Parameters<RawClient["subscribe"]>[0], listener: number) => {
        const tell = (event: RawEvent) => this.#link.tell(listener, "event", event);
        return this.#lendEnd(await raw.subscribe(filter, tell), {});
      },
      events: (...args: Parameters<RawClient["events"]>) => taken(raw.events(...args)),
      consume: (...args: Parameters<RawClient["consume"]>) => taken(raw.consume(...args)),
      replay: (...args: Parameters<RawClient["replay"]>) => taken(raw.replay(...args)),
      replayRecent: (...args: Parameters<RawClient["replayRecent"]>) => taken(raw.replayRecent(...args)),
    };
  }

  #lendTaken<T>(taken: RawTaken<T>): [at: number, acknowledges: boolean] {
    const methods = { next: () => taken.next(), acknowledge: () => taken.acknowledge?.() };
    return [this.#lendEnd(taken, methods), taken.acknowledge !== undefined];
  }

  /** Lends something until it is ended. */
  #lendEnd(one: RawSubscription, methods: Record<string, Call>): number {
    const at: number = this.#link.lend((method) => {
      if (method !== "end") return methods[method]?.();
      this.#open.delete(at);
      this.#link.takeBack(at);
      one.end();
    });
    this.#open.set(at, one);
    return at;
  }
}
