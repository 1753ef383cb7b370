// The floor of every figure: the same rows written by hand, beside bare MLS in memory.

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const committed = (transaction) =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });

/** The object stores and indexes of a database. */
export async function shapeOf(name) {
  const database = await done(indexedDB.open(name));
  const shape = [...database.objectStoreNames].map((store) => {
    const object = database.transaction(store).objectStore(store);
    const indexes = [...object.indexNames].map((index) => ({ index, keyPath: object.index(index).keyPath }));
    return { store, keyPath: object.keyPath, indexes };
  });
  database.close();
  return shape;
}

/** An empty database of that shape. */
export function made(name, shape) {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => {
    for (const { store, keyPath, indexes } of shape) {
      const object = opening.result.createObjectStore(store, keyPath === null ? {} : { keyPath });
      for (const { index, keyPath } of indexes) object.createIndex(index, keyPath);
    }
  };
  return done(opening);
}

/** An empty database with the object stores and indexes of another. */
export const twin = async (name, of) => made(name, await shapeOf(of));

let fresh = 0;

/** The same key with its last bytes replaced, so that rows are inserted as they were. */
function another(key) {
  if (!(key instanceof Uint8Array) && !(key instanceof ArrayBuffer)) return key;
  const copy = new Uint8Array(key.slice(0));
  const view = new DataView(copy.buffer);
  if (copy.length >= 4) view.setUint32(copy.length - 4, (fresh += 1));
  return copy;
}

const INSERTED = new Set(["messages", "intents", "attempts"]);

/** Writes recorded puts in one transaction. */
export async function write(database, puts) {
  const stores = [...new Set(puts.map((p) => p.store))];
  const durability = puts.some((p) => p.durability === "strict") ? "strict" : "relaxed";
  const transaction = database.transaction(stores, "readwrite", { durability });
  for (const { store, value, key } of puts) {
    transaction.objectStore(store).put(value, INSERTED.has(store) ? another(key) : key);
  }
  transaction.commit();
  await committed(transaction);
}

const asks = (transaction, { store, index, method, args }) => {
  const object = transaction.objectStore(store);
  return (index === undefined ? object : object.index(index))[method](...args);
};

/** A row's key and value: a record is made of both only when they are asked for. */
const row = (one) => ("primaryKey" in Object(one) ? [one.primaryKey, one.value] : one);

/** Issues recorded reads at once in one transaction, and takes the rows out of the answers. */
export async function read(database, reads) {
  const transaction = database.transaction([...new Set(reads.map(({ store }) => store))]);
  const requests = reads.map((one) => asks(transaction, one));
  await done(requests.at(-1));
  return requests.map(({ result }) => (Array.isArray(result) ? result.map(row) : result));
}

export const connect = (name) => done(indexedDB.open(name));

/** Opens a database, does recorded reads of it, and closes it. */
export async function open(name, reads) {
  const database = await connect(name);
  await read(database, reads);
  database.close();
}
