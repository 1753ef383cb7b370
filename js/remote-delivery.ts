// Delivery services for a client in the worker. An app's own object stays on the page and is called
// from there; a BrowserDelivery is made in the worker, so that its log is read and written there.

import { type Link, ROOT } from "./bridge.js";
import { BrowserDelivery as LocalDelivery, type BrowserDeliveryOptions } from "./browser-delivery.js";
import { isBytes } from "./check.js";
import type { Delivery } from "./delivery.js";

/** A delivery service as the worker is told of it. @internal */
export interface LentDelivery {
  at: number;
  /** Of one that is made in the worker. */
  browser?: { name: string | undefined; offline: boolean; closed: boolean };
}

/** What of a BrowserDelivery is the same in the worker. */
interface State {
  name: string | undefined;
  closed: boolean;
  /** The workers' sides of it. */
  sides: Set<{ offline(value: boolean): void; close(): Promise<unknown> }>;
}

const states = new WeakMap<object, State>();

/** As on the page; clients use its other side, in the worker. */
export class BrowserDelivery extends LocalDelivery {
  #state: State;

  constructor(options: BrowserDeliveryOptions = {}) {
    super(options);
    this.#state = { name: options.name, closed: false, sides: new Set() };
    states.set(this, this.#state);
  }

  override get offline(): boolean {
    return super.offline;
  }

  override set offline(value: boolean) {
    super.offline = value;
    for (const side of this.#state.sides) side.offline(value);
  }

  override async close(): Promise<void> {
    this.#state.closed = true;
    // A worker that is gone has closed everything.
    const closing = [...this.#state.sides].map((side) => side.close().catch(() => {}));
    await Promise.all([super.close(), ...closing]);
  }
}

const METHODS = ["publish", "query", "newest", "lookup", "subscribe"];

/** Its state, unless an app has changed what it does. */
function stateOf(delivery: Delivery): State | undefined {
  const changed = Object.getPrototypeOf(delivery) !== BrowserDelivery.prototype || METHODS.some((name) => Object.hasOwn(delivery, name));
  return changed ? undefined : states.get(delivery);
}

/** The delivery services that one worker uses now. @internal */
export class Deliveries {
  #link: Link;
  #lent = new Map<Delivery, { as: LentDelivery; uses: number; end: () => void }>();

  constructor(link: Link) {
    this.#link = link;
  }

  /** Lends one for a while, under one number for all who use it at the same time. */
  lend(delivery: Delivery): { as: LentDelivery; giveBack: () => void } {
    const lent = this.#lent.get(delivery) ?? { ...this.#begin(delivery), uses: 0 };
    this.#lent.set(delivery, lent);
    lent.uses += 1;
    let given = false;
    const giveBack = () => {
      if (given) return;
      given = true;
      lent.uses -= 1;
      if (lent.uses > 0) return;
      this.#lent.delete(delivery);
      lent.end();
      this.#link.takeBack(lent.as.at);
      this.#link.tell(ROOT, "returned", lent.as.at);
    };
    return { as: lent.as, giveBack };
  }

  #begin(delivery: Delivery): { as: LentDelivery; end: () => void } {
    const state = stateOf(delivery);
    return state ? this.#browser(delivery as BrowserDelivery, state) : this.#custom(delivery);
  }

  #browser(delivery: BrowserDelivery, { name, closed, sides }: State) {
    const at = this.#link.lend(() => {});
    const side = {
      offline: (value: boolean) => this.#link.tell(ROOT, "offline", at, value),
      close: () => this.#link.call(ROOT, "closeDelivery", at),
    };
    sides.add(side);
    return { as: { at, browser: { name, offline: delivery.offline, closed } }, end: () => void sides.delete(side) };
  }

  #custom(delivery: Delivery) {
    const ends = new Map<number, unknown>();
    const end = (woken: number) => {
      const one = ends.get(woken);
      ends.delete(woken);
      if (typeof one === "function") one();
    };
    const at = this.#link.lend((method, args) => {
      if (method === "subscribe") {
        const [topics, woken] = args as [string[], number];
        const wake = (topic: unknown) => this.#link.tell(woken, "wake", typeof topic === "string" ? topic : undefined);
        ends.set(woken, delivery.subscribe(topics, wake));
      } else if (method === "unsubscribe") {
        end(args[0] as number);
      } else {
        return asked(delivery, method as keyof typeof ANSWERS, args);
      }
    });
    return { as: { at }, end: () => [...ends.keys()].forEach(end) };
  }
}

async function asked(delivery: Delivery, method: keyof typeof ANSWERS, args: unknown[]): Promise<unknown> {
  const ask = delivery[method] as (...args: unknown[]) => unknown;
  return ANSWERS[method](await ask.apply(delivery, args));
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;

const isMissing = (value: unknown): boolean => value === undefined || value === null;

/** What has the wrong form becomes false: the worker drops the answer as one that breaks the contract. */
const simple = (value: unknown): unknown => (["number", "bigint", "string"].includes(typeof value) ? value : false);
const bytes = (value: unknown): unknown => isBytes(value) && value;
const listOf = (value: unknown, one: (item: unknown) => unknown): unknown => Array.isArray(value) && value.map(one);
const receipt = (item: unknown): Fields | false =>
  isObject(item) && { sequenceId: simple(item["sequenceId"]), serverNs: simple(item["serverNs"]) };
const envelope = (item: unknown): Fields | false =>
  isObject(item) && {
    ...receipt(item),
    topic: simple(item["topic"]),
    payload: bytes(item["payload"]),
    hash: isMissing(item["hash"]) ? undefined : bytes(item["hash"]),
  };

/** Answers as plain values: only they can be sent, and the fields of an app's classes may be getters. */
const ANSWERS = {
  publish: (value: unknown) => listOf(value, receipt),
  query: (value: unknown) => listOf(value, envelope),
  newest: (value: unknown) => listOf(value, (item) => (isMissing(item) ? undefined : envelope(item))),
  lookup: (value: unknown) => listOf(value, (claims) => listOf(claims, simple)),
};
