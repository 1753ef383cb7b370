// The delivery services that the page lends its worker, by their numbers.

import type { Link } from "./bridge.js";
import { BrowserDelivery } from "./browser-delivery.js";
import type { Delivery } from "./delivery.js";
import type { LentDelivery } from "./remote-delivery.js";

/** @internal */
export class ServedDeliveries {
  #link: Link;
  #own = new Map<number, BrowserDelivery>();

  constructor(link: Link) {
    this.#link = link;
  }

  /** The one of a number: made here, or called on the page. */
  use({ at, browser }: LentDelivery): Delivery {
    if (!browser) return this.#remote(at);
    const known = this.#own.get(at);
    if (known) return known;
    const made = new BrowserDelivery(browser.name === undefined ? {} : { name: browser.name });
    made.offline = browser.offline;
    if (browser.closed) void made.close();
    this.#own.set(at, made);
    return made;
  }

  offline(at: number, value: boolean): void {
    const own = this.#own.get(at);
    if (own) own.offline = value;
  }

  async close(at: number): Promise<void> {
    await this.#own.get(at)?.close();
  }

  /** Nobody uses it any more. */
  async returned(at: number): Promise<void> {
    const own = this.#own.get(at);
    this.#own.delete(at);
    await own?.close();
  }

  #remote(at: number): Delivery {
    const link = this.#link;
    return {
      publish: (batch) => link.call(at, "publish", batch),
      query: (topics, limit) => link.call(at, "query", topics, limit),
      newest: (topics) => link.call(at, "newest", topics),
      lookup: (identifiers) => link.call(at, "lookup", identifiers),
      subscribe: (topics, wake) => {
        const woken = link.lend((_, [topic]) => wake(topic as string));
        link.tell(at, "subscribe", topics, woken);
        return () => {
          link.takeBack(woken);
          link.tell(at, "unsubscribe", woken);
        };
      },
    };
  }
}
