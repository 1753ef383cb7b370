// Databases behind the store's back, and faults put into IndexedDB.

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const ended = (transaction) =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });

/** A connection that ignores versionchange events, as one of a hanging tab. */
export async function openRaw(name, version) {
  const request = indexedDB.open(name, version);
  return done(request);
}

/** A database in the layout of version 1. */
export async function openVersion1(name) {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    const tables =
      "keys meta mls groups threads listing messages consent intents attempts envelopes positions associations transcripts";
    for (const table of tables.split(" ")) {
      const store = request.result.createObjectStore(table);
      if (table === "messages") for (const index of ["a", "b", "c"]) store.createIndex(index, index);
    }
  };
  return done(request);
}

async function withStore(name, mode, table, work) {
  const database = await openRaw(name);
  try {
    const transaction = database.transaction(table, mode);
    const finished = ended(transaction);
    const result = await work(transaction.objectStore(table));
    await finished;
    return result;
  } finally {
    database.close();
  }
}

export const readRaw = (name, table, key) => withStore(name, "readonly", table, (store) => done(store.get(key)));
export const writeRaw = (name, table, key, value) =>
  withStore(name, "readwrite", table, (store) => done(store.put(value, key)));
export const deleteRaw = (name, table, key) =>
  withStore(name, "readwrite", table, (store) => done(store.delete(key)));

/** Copies every record of one database into the tables that another has, too. */
export async function copyRecords(from, to) {
  const source = await openRaw(from);
  const target = await openRaw(to);
  for (const table of target.objectStoreNames) {
    const store = source.transaction(table).objectStore(table);
    const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
    const transaction = target.transaction(table, "readwrite");
    const finished = ended(transaction);
    values.forEach((value, at) => transaction.objectStore(table).put(value, keys[at]));
    await finished;
  }
  source.close();
  target.close();
}

/** Every byte stored under any table: keys, and all byte strings within values. */
export async function allBytes(name) {
  const found = [];
  const walk = (value) => {
    if (value instanceof ArrayBuffer) found.push(new Uint8Array(value));
    else if (value instanceof Uint8Array) found.push(value);
    else if (typeof value === "string") found.push(new TextEncoder().encode(value));
    else if (value && typeof value === "object" && !(value instanceof CryptoKey)) Object.values(value).forEach(walk);
  };
  const database = await openRaw(name);
  for (const table of database.objectStoreNames) {
    const store = database.transaction(table).objectStore(table);
    const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
    keys.forEach(walk);
    values.forEach(walk);
  }
  database.close();
  return new Uint8Array(await new Blob(found).arrayBuffer());
}

/** `table:index,index` of every table, sorted. */
export async function layout(name) {
  const database = await openRaw(name);
  const lines = [...database.objectStoreNames].map((table) => {
    const { indexNames } = database.transaction(table).objectStore(table);
    return `${table}:${[...indexNames].sort().join(",")}`;
  });
  database.close();
  return lines.sort().join(" ");
}

export async function versionOf(name) {
  const database = await openRaw(name);
  const { version } = database;
  database.close();
  return version;
}

/** WebKit goes on listing a database whose making was aborted, at version 0. */
export async function exists(name) {
  return (await indexedDB.databases()).some((database) => database.name === name && database.version > 0);
}

// Faults. Each is in place until `heal()`; the n-th call from now on (from 1) is the faulty one,
// or every call for 0.

const healing = [];

export function heal() {
  while (healing.length > 0) healing.pop()();
}

function patch(object, name, descriptor) {
  const before = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { configurable: true, ...descriptor });
  healing.push(() => {
    if (before) Object.defineProperty(object, name, before);
    else delete object[name];
  });
}

function onCall(prototype, method, nth, fault) {
  const original = prototype[method];
  let calls = 0;
  patch(prototype, method, {
    writable: true,
    value(...args) {
      calls += 1;
      return nth === 0 || calls === nth ? fault.call(this, original, args) : original.apply(this, args);
    },
  });
}

export function throwOn(method, nth, error) {
  const prototype = method === "transaction" ? IDBDatabase.prototype : IDBObjectStore.prototype;
  onCall(prototype, method, nth, () => {
    throw new DOMException("put here by a test", error);
  });
}

/** The n-th put aborts its transaction, as a browser in trouble does. */
export function abortOnPut(nth) {
  onCall(IDBObjectStore.prototype, "put", nth, function (put, args) {
    const request = put.apply(this, args);
    this.transaction.abort();
    return request;
  });
}

/** The request of the n-th put fails, and with it the transaction. */
export function failPut(nth, error) {
  onCall(IDBObjectStore.prototype, "put", nth, function (put, args) {
    const request = put.apply(this, args);
    const { transaction } = this;
    const exception = new DOMException("put here by a test", error);
    Object.defineProperty(transaction, "error", { value: exception });
    // Once the whole unit has been asked for.
    queueMicrotask(() => transaction.abort());
    return request;
  });
}

/** The n-th transaction is refused, and its database then told that it was closed. */
export function closeOnTransaction(nth) {
  onCall(IDBDatabase.prototype, "transaction", nth, function () {
    this.close();
    setTimeout(() => closeEvent(this), 0);
    throw new DOMException("The database connection is closing.", "InvalidStateError");
  });
}

/** What a database sees when the browser closes it. */
export function closeEvent(database) {
  database.close();
  database.dispatchEvent(new Event("close"));
}

/** Collects the databases of transactions from now on. */
export function watchConnections() {
  const seen = [];
  onCall(IDBDatabase.prototype, "transaction", 0, function (transaction, args) {
    if (!seen.includes(this)) seen.push(this);
    return transaction.apply(this, args);
  });
  return seen;
}

export function failOpening(error) {
  onCall(IDBFactory.prototype, "open", 0, () => {
    throw new DOMException("put here by a test", error);
  });
}

export function hideIndexedDb() {
  patch(globalThis, "indexedDB", { value: undefined });
}

export function forbidIndexedDb() {
  patch(globalThis, "indexedDB", {
    get() {
      throw new DOMException("put here by a test", "SecurityError");
    },
  });
}

export function hideWebCrypto() {
  patch(crypto, "subtle", { value: undefined });
}

/** As in browsers that do not have `getAllRecords` yet. */
export function hideGetAllRecords() {
  for (const { prototype } of [IDBObjectStore, IDBIndex]) patch(prototype, "getAllRecords", { value: undefined });
}

/** Notes the mode of every transaction from now on, and the durability asked for. */
export function watchTransactions() {
  const seen = [];
  onCall(IDBDatabase.prototype, "transaction", 0, function (transaction, args) {
    seen.push([args[1], args[2]?.durability].filter(Boolean).join(" "));
    return transaction.apply(this, args);
  });
  return () => seen.splice(0).join(", ");
}

/** Swaps the values of two records, in one table or between two. */
export async function swapRaw(name, [tableA, keyA], [tableB, keyB]) {
  const [a, b] = [await readRaw(name, tableA, keyA), await readRaw(name, tableB, keyB)];
  await writeRaw(name, tableA, keyA, b);
  await writeRaw(name, tableB, keyB, a);
}

export const now = () => performance.now();
