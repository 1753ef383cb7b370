// Counts what IndexedDB is asked to write, and keeps the very values, so that the floor can write
// the same bytes in the same number of puts with the same indexes and durability.

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

/** Runs `task` and returns what was written to `database` meanwhile. */
export async function recorded(database, task) {
  recording = { database, puts: [], deletes: 0, transactions: new Set() };
  await task();
  const { puts, deletes, transactions } = recording;
  recording = undefined;
  return { puts, deletes, transactions: transactions.size, bytes: puts.reduce((sum, p) => sum + sizeOf(p), 0) };
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
