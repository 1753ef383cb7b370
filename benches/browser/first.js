// The first client of a browser that has loaded nothing yet: import to registration. Ours and the
// floor run in a browser each.

import * as floorWrites from "./floor.js";
import { recorded } from "./record.js";

const timed = async (task) => {
  const begun = performance.now();
  await task();
  return performance.now() - begun;
};
const isBytes = (value) => value instanceof Uint8Array || value instanceof ArrayBuffer;

/** What of a value can be told to another browser: of bytes how many, of a browser's key that it is one. */
const told = (value) => {
  if (isBytes(value)) return { length: value.byteLength };
  if (value instanceof CryptoKey) return { kept: true };
  if (value === null || typeof value !== "object") return { plain: value };
  return { fields: Object.entries(value).map(([name, field]) => [name, told(field)]) };
};

/** A value like it. */
const like = ({ length, kept, fields, plain }, key) => {
  if (length !== undefined) return crypto.getRandomValues(new Uint8Array(length));
  if (kept) return key;
  return fields ? Object.fromEntries(fields.map(([name, field]) => [name, like(field, key)])) : plain;
};

async function ours() {
  const name = `first-${Date.now()}`;
  let ms;
  const { puts, deletes, transactions, bytes } = await recorded(name, async () => {
    ms = await timed(async () => {
      const { BrowserDelivery, Client, createEOASigner } = await import("/dist/index.js");
      await Client.create(createEOASigner(), { dbPath: name, delivery: new BrowserDelivery({ name: `${name}-log` }) });
    });
  });
  const rows = puts.map(({ store, value, key, durability }) => ({ store, value: told(value), key: told(key), durability }));
  return { ms, stores: await floorWrites.shapeOf(name), rows, deletes, transactions, bytes };
}

async function floor({ stores, rows }) {
  const kept = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  const puts = rows.map(({ value, key, ...rest }) => ({ ...rest, value: like(value, kept), key: like(key, kept) }));
  return timed(async () => {
    const { default: init } = await import("/floor/dovetail.js");
    await init();
    const database = await floorWrites.made(`floor-${Date.now()}`, stores);
    await floorWrites.write(database, puts);
    database.close();
  });
}

globalThis.first = { ours, floor };
