// The envelope log of BrowserDelivery in IndexedDB: one database, one transaction a step.
//
// Keys are [topic, sequence id], so the envelopes of a topic are one ascending range. The head row
// holds the last sequence id and time; both are read and written in the transaction that stores
// envelopes, so they rise across all topics whatever the number of tabs.

import type { EnvelopeReceipt, IncomingEnvelope, OutgoingEnvelope, TopicPosition } from "./delivery.js";

const SCHEMA = 1;
const HEAD = "head";
const IDENTITY_TOPIC = /^02([0-9a-f]{64})$/;

/** A stored envelope; its key is [topic, sequenceId], its identity [topic, hash]. */
interface Row {
  topic: string;
  sequenceId: number;
  serverNs: bigint;
  hash: Uint8Array;
  payload: Uint8Array;
}

interface Claim {
  inboxId: string;
  sequenceId: number;
}

/** A batch waiting to be stored. */
interface Waiting {
  batch: OutgoingEnvelope[];
  resolve: (receipts: EnvelopeReceipt[]) => void;
  reject: (error: unknown) => void;
}

/** @internal */
export class BrowserLog {
  #name: string;
  #database: Promise<IDBDatabase> | undefined;
  #waiting: Waiting[] = [];
  #storing = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** Stores a batch; batches of one moment share a transaction. */
  store(batch: OutgoingEnvelope[]): Promise<EnvelopeReceipt[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject });
      if (!this.#storing) void this.#storeWaiting();
    });
  }

  async behind(topics: TopicPosition[], limit: number): Promise<IncomingEnvelope[]> {
    // A count of 0 would mean "all" to getAll.
    if (topics.length === 0 || limit === 0) return [];
    const unit = await this.#begin(["envelopes"], "readonly");
    const store = unit.objectStore("envelopes");
    const rows = await Promise.all(
      topics.map(({ topic, after }) => {
        const range = IDBKeyRange.bound([topic, after], [topic, Number.MAX_SAFE_INTEGER], true);
        return done<Row[]>(store.getAll(range, limit));
      }),
    );
    return rows.flat();
  }

  async newest(topics: string[]): Promise<(IncomingEnvelope | undefined)[]> {
    if (topics.length === 0) return [];
    const unit = await this.#begin(["envelopes"], "readonly");
    const store = unit.objectStore("envelopes");
    return Promise.all(
      topics.map(async (topic) => {
        const range = IDBKeyRange.bound([topic, 0], [topic, Number.MAX_SAFE_INTEGER]);
        const cursor = await done(store.openCursor(range, "prev"));
        return cursor?.value as Row | undefined;
      }),
    );
  }

  async claims(identifiers: string[]): Promise<string[][]> {
    if (identifiers.length === 0) return [];
    const unit = await this.#begin(["claims"], "readonly");
    const store = unit.objectStore("claims");
    const found = await Promise.all(
      identifiers.map((identifier) => done<Claim[]>(store.getAll(IDBKeyRange.bound([identifier], [identifier, []])))),
    );
    return found.map((claims) => claims.sort((a, b) => b.sequenceId - a.sequenceId).map((claim) => claim.inboxId));
  }

  async close(): Promise<void> {
    const opening = this.#database;
    this.#database = undefined;
    (await opening?.catch(() => undefined))?.close();
  }

  async #storeWaiting(): Promise<void> {
    this.#storing = true;
    // What else is sent in this task joins in.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const together = this.#waiting.splice(0);
      try {
        await this.#storeTogether(together);
      } catch (error) {
        if (together.length === 1) together[0]?.reject(error);
        else await this.#storeApart(together);
      }
    }
    this.#storing = false;
  }

  /** Each batch on its own, so that one that cannot be stored does not take others with it. */
  async #storeApart(all: Waiting[]): Promise<void> {
    for (const one of all) {
      try {
        await this.#storeTogether([one]);
      } catch (error) {
        one.reject(error);
      }
    }
  }

  async #storeTogether(all: Waiting[]): Promise<void> {
    const unit = await this.#begin(["envelopes", "claims", "state"], "readwrite");
    const stored = finished(unit);
    let receipts: EnvelopeReceipt[];
    try {
      receipts = await write(unit, all.flatMap(({ batch }) => batch));
      unit.commit?.();
    } catch (error) {
      abort(unit);
      await stored.catch(() => {});
      throw unit.error ?? error;
    }
    await stored;
    let from = 0;
    for (const { batch, resolve } of all) resolve(receipts.slice(from, (from += batch.length)));
  }

  async #begin(stores: string[], mode: IDBTransactionMode): Promise<IDBTransaction> {
    const options: IDBTransactionOptions = mode === "readwrite" ? { durability: "strict" } : {};
    try {
      return (await this.#open()).transaction(stores, mode, options);
    } catch (error) {
      // The browser closed the connection without an event; once more with a new one.
      if (!(error instanceof DOMException) || error.name !== "InvalidStateError") throw error;
      this.#database = undefined;
      return (await this.#open()).transaction(stores, mode, options);
    }
  }

  #open(): Promise<IDBDatabase> {
    if (!this.#database) {
      const opening = open(this.#name, () => {
        if (this.#database === opening) this.#database = undefined;
      });
      this.#database = opening;
      opening.catch(() => {
        if (this.#database === opening) this.#database = undefined;
      });
    }
    return this.#database;
  }
}

/** Writes what is new of `envelopes` and answers with a receipt for each. */
async function write(unit: IDBTransaction, envelopes: OutgoingEnvelope[]): Promise<EnvelopeReceipt[]> {
  const store = unit.objectStore("envelopes");
  const state = unit.objectStore("state");
  const known = store.index("once");
  const [head, ...found] = await Promise.all([
    done<EnvelopeReceipt | undefined>(state.get(HEAD)),
    ...envelopes.map(({ topic, hash }) => done<Row | undefined>(known.get([topic, hash as Uint8Array<ArrayBuffer>]))),
  ]);
  let { sequenceId, serverNs } = head ?? { sequenceId: 0, serverNs: -1n };
  const now = BigInt(Date.now()) * 1_000_000n;
  const fresh = new Map<string, EnvelopeReceipt>();
  const receipts = envelopes.map((envelope, at): EnvelopeReceipt => {
    const { topic, hash, payload } = envelope;
    const identity = `${topic} ${hash.join()}`;
    const earlier = found[at] ?? fresh.get(identity);
    if (earlier) return { sequenceId: earlier.sequenceId, serverNs: earlier.serverNs };
    sequenceId += 1;
    serverNs = serverNs + 1n > now ? serverNs + 1n : now;
    const receipt = { sequenceId, serverNs };
    fresh.set(identity, receipt);
    store.add({ topic, sequenceId, serverNs, hash, payload } satisfies Row);
    writeClaims(unit, envelope, sequenceId);
    return receipt;
  });
  if (fresh.size > 0) state.put({ sequenceId, serverNs }, HEAD);
  return receipts;
}

function writeClaims(unit: IDBTransaction, envelope: OutgoingEnvelope, sequenceId: number): void {
  const inboxId = IDENTITY_TOPIC.exec(envelope.topic)?.[1];
  if (inboxId === undefined) return;
  for (const identifier of envelope.identifiers ?? []) {
    unit.objectStore("claims").put({ inboxId, sequenceId } satisfies Claim, [identifier, inboxId]);
  }
}

function open(name: string, onGone: () => void): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    if (typeof indexedDB === "undefined") throw new Error("this environment has no IndexedDB");
    const opening = indexedDB.open(name, SCHEMA);
    opening.onupgradeneeded = () => {
      const database = opening.result;
      const envelopes = database.createObjectStore("envelopes", { keyPath: ["topic", "sequenceId"] });
      envelopes.createIndex("once", ["topic", "hash"], { unique: true });
      database.createObjectStore("claims");
      database.createObjectStore("state");
    };
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      database.onclose = onGone;
      database.onversionchange = () => {
        onGone();
        database.close();
      };
      resolve(database);
    };
  });
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function abort(unit: IDBTransaction): void {
  try {
    unit.abort();
  } catch {
    // It is over already.
  }
}

function finished(unit: IDBTransaction): Promise<void> {
  const end = new Promise<void>((resolve, reject) => {
    unit.oncomplete = () => resolve();
    unit.onabort = () => reject(unit.error ?? new Error("the transaction was aborted"));
  });
  // It is awaited only after the writes were made.
  end.catch(() => {});
  return end;
}
