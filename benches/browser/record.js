// Counts what IndexedDB is asked, and keeps the very values and requests, so that the floor can write
// the same bytes in the same number of puts with the same indexes and durability, and read the same
// rows in the same requests.

let recording;

const put = IDBObjectStore.prototype.put;
const add = IDBObjectStore.prototype.add;
const remove = IDBObjectStore.prototype.delete;

function wrap(original) {
  return function (value, key) {
    if (recording && this.transaction.db.name === recording.database) {
      const { durability } = this.transaction;
      recording.puts.push({ store: this.name, value: structuredClone(value), key: structuredClone(key), durability });
      recording.transactions.add(this.transaction);
    }
    return key === undefined ? original.call(this, value) : original.call(this, value, key);
  };
}

IDBObjectStore.prototype.put = wrap(put);
IDBObjectStore.prototype.add = wrap(add);
IDBObjectStore.prototype.delete = function (key) {
  if (recording && this.transaction.db.name === recording.database) recording.deletes += 1;
  return remove.call(this, key);
};

const READS = ["get", "getAll", "getAllKeys", "getAllRecords", "count", "openCursor", "openKeyCursor"];
for (const { prototype } of [IDBObjectStore, IDBIndex]) {
  for (const method of READS.filter((name) => prototype[name])) {
    const original = prototype[method];
    prototype[method] = function (...args) {
      const [store, index] = this instanceof IDBIndex ? [this.objectStore, this.name] : [this];
      const request = original.apply(this, args);
      if (recording && store.transaction.db.name === recording.database) {
        const read = { store: store.name, index, method, args, rows: 0, bytes: 0 };
        recording.reads.push(read);
        recording.snapshots.add(store.transaction);
        request.addEventListener("success", () => {
          const found = [request.result].flat().filter((one) => one !== undefined);
          read.rows = found.length;
          for (const one of found) read.bytes += bytesIn("primaryKey" in Object(one) ? [one.primaryKey, one.value] : one);
        });
      }
      return request;
    };
  }
}

/** Runs `task` and returns what was read from and written to `database` meanwhile. */
export async function recorded(database, task) {
  recording = { database, puts: [], reads: [], deletes: 0, transactions: new Set(), snapshots: new Set() };
  await task();
  const { puts, reads, deletes, transactions, snapshots } = recording;
  recording = undefined;
  return {
    puts,
    reads,
    deletes,
    transactions: transactions.size,
    snapshots: snapshots.size,
    bytes: puts.reduce((sum, p) => sum + sizeOf(p), 0),
  };
}

function sizeOf({ value, key }) {
  return bytesIn(value) + bytesIn(key);
}

function bytesIn(value) {
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return value.byteLength;
  if (typeof value === "number") return 8;
  if (value && typeof value === "object") return Object.values(value).reduce((sum, v) => sum + bytesIn(v), 0);
  return 0;
}
