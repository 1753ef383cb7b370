// A delivery service that needs no server: a log in the origin's IndexedDB, shared by its tabs.

import { BrowserLog } from "./browser-log.js";
import * as check from "./check.js";
import {
  type Delivery,
  DeliveryRefused,
  type EnvelopeReceipt,
  type IncomingEnvelope,
  type OutgoingEnvelope,
  type TopicPosition,
} from "./delivery.js";

const MAX_ENVELOPE = 1024 * 1024;
const MAX_BATCH = 25 * MAX_ENVELOPE;
const TOPIC = /^(?:[0-9a-f]{2})+$/;

/** Options of {@link BrowserDelivery}. */
export interface BrowserDeliveryOptions {
  /** Services of one name share one log; default `"default"`. */
  name?: string;
}

/**
 * A delivery service inside the browser: everything of one origin that uses the same name shares
 * one log, in any number of tabs and workers. For demos, tests and apps whose users share a
 * device; nothing leaves it.
 */
export class BrowserDelivery implements Delivery {
  #log: BrowserLog;
  #channelName: string;
  #channel: BroadcastChannel | undefined;
  #wakes = new Map<string, Set<(topic: string) => void>>();
  #offline = false;
  #closed = false;

  constructor(options: BrowserDeliveryOptions = {}) {
    const name = check.optional(check.object(options, "options")["name"], "options.name", check.string);
    this.#channelName = `dovetail-delivery-${name ?? "default"}`;
    this.#log = new BrowserLog(this.#channelName);
  }

  /**
   * While true every call fails as if the network were gone, and nobody is woken. A call under way
   * when it is set fails too, although it may have been carried out. Back online, everyone is woken.
   */
  get offline(): boolean {
    return this.#offline;
  }

  set offline(value: boolean) {
    const back = this.#offline && !value;
    this.#offline = value;
    if (back) this.#wakeAll();
  }

  async publish(batch: OutgoingEnvelope[]): Promise<EnvelopeReceipt[]> {
    checkBatch(batch);
    if (batch.length === 0) return [];
    return this.#reach(async () => {
      const receipts = await this.#log.store(batch);
      // Told even if the answer is lost from here on: it is stored.
      this.#announce([...new Set(batch.map(({ topic }) => topic))]);
      return receipts;
    });
  }

  query(topics: TopicPosition[], limit: number): Promise<IncomingEnvelope[]> {
    return this.#reach(() => this.#log.behind(topics, limit));
  }

  newest(topics: string[]): Promise<(IncomingEnvelope | undefined)[]> {
    return this.#reach(() => this.#log.newest(topics));
  }

  lookup(identifiers: string[]): Promise<string[][]> {
    return this.#reach(() => this.#log.claims(identifiers));
  }

  subscribe(topics: string[], wake: (topic: string) => void): () => void {
    this.#channelOf();
    for (const topic of topics) {
      const wakes = this.#wakes.get(topic) ?? new Set();
      this.#wakes.set(topic, wakes.add(wake));
    }
    return () => {
      for (const topic of topics) {
        const wakes = this.#wakes.get(topic);
        wakes?.delete(wake);
        if (wakes?.size === 0) this.#wakes.delete(topic);
      }
    };
  }

  /** Ends subscriptions and closes the database; later calls fail. The log stays. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wakes.clear();
    this.#channel?.close();
    this.#channel = undefined;
    globalThis.removeEventListener?.("pageshow", this.#wakeAll);
    globalThis.document?.removeEventListener("visibilitychange", this.#wakeAll);
    await this.#log.close();
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    this.#check();
    const answer = await call();
    this.#check();
    return answer;
  }

  #check(): void {
    if (this.#closed) throw new Error("this BrowserDelivery is closed");
    if (this.#offline) throw new Error("offline");
  }

  /** Tells this object's subscribers and those of all others with the same log. */
  #announce(topics: string[]): void {
    this.#wake(topics);
    this.#channelOf()?.postMessage(topics);
  }

  /** From a task of its own: whoever published is still on the stack. */
  #wake(topics: string[]): void {
    queueMicrotask(() => {
      for (const topic of topics) {
        if (this.#offline) return;
        for (const wake of [...(this.#wakes.get(topic) ?? [])]) wake(topic);
      }
    });
  }

  #wakeAll = (): void => this.#wake([...this.#wakes.keys()]);

  #channelOf(): BroadcastChannel | undefined {
    if (!this.#channel && !this.#closed && typeof BroadcastChannel === "function") {
      this.#channel = new BroadcastChannel(this.#channelName);
      this.#channel.onmessage = ({ data }: MessageEvent<string[]>) => this.#wake(data);
      // A page that was frozen missed what was told meanwhile.
      globalThis.addEventListener?.("pageshow", this.#wakeAll);
      globalThis.document?.addEventListener("visibilitychange", this.#wakeAll);
    }
    return this.#channel;
  }
}

function checkBatch(batch: OutgoingEnvelope[]): void {
  let total = 0;
  for (const { topic, payload, hash } of batch) {
    if (typeof topic !== "string" || !TOPIC.test(topic)) throw new DeliveryRefused("a topic is not lowercase hexadecimal");
    if (!check.isBytes(payload) || !check.isBytes(hash) || hash.length !== 32) {
      throw new DeliveryRefused("an envelope needs a payload and its SHA-256");
    }
    if (payload.length > MAX_ENVELOPE) throw new DeliveryRefused(`an envelope of ${payload.length} bytes is too large`);
    total += payload.length;
  }
  if (total > MAX_BATCH) throw new DeliveryRefused(`a batch of ${total} bytes is too large`);
}
