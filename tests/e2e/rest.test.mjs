// Nothing readable at rest.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, world } from "./support.mjs";

const place = world();
const SECRET_TEXT = "the secret text nobody may read at rest";

/** Every byte of every row of a database, keys and values, as one hexadecimal text and one plain text. */
const dump = (page, name) =>
  page.evaluate(async (name) => {
    const done = (request) => new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const database = await done(indexedDB.open(name));
    const bytes = [];
    const rows = {};
    const collect = (value) => {
      if (value instanceof ArrayBuffer) bytes.push(...new Uint8Array(value), 0);
      else if (ArrayBuffer.isView(value)) bytes.push(...new Uint8Array(value.buffer, value.byteOffset, value.byteLength), 0);
      else if (typeof value === "string") bytes.push(...new TextEncoder().encode(value), 0);
      else if (value instanceof CryptoKey) {
        if (value.extractable) throw new Error("the wrapping key can be read out");
      } else if (value && typeof value === "object") Object.entries(value).forEach(([k, v]) => (collect(k), collect(v)));
    };
    for (const store of database.objectStoreNames) {
      const object = database.transaction(store).objectStore(store);
      const [keys, values] = await Promise.all([done(object.getAllKeys()), done(object.getAll())]);
      rows[store] = values.length;
      keys.forEach(collect);
      values.forEach(collect);
    }
    database.close();
    return { text: String.fromCharCode(...bytes.map((b) => b)), rows };
  }, name).then(({ text, rows }) => ({ bytes: Buffer.from(text, "latin1"), rows }));

for (const [how, options] of [["a key kept by the browser", {}], ["dbEncryptionKey", { key: true }]]) {
  test(`no text, account or key is readable, with ${how}`, async () => {
    const page = await place.page();
    const log = `rest-${options.key ? "own" : "kept"}`;
    const { me, database } = await page.evaluate(
      async ([log, withKey, text]) => {
        const extra = withKey ? { dbEncryptionKey: new Uint8Array(32).fill(9) } : {};
        const me = await open("ada", { log, ...extra });
        const ben = await open("ben", { log, ...extra });
        const dm = await people.ada.client.conversations.createDm(ben.inboxId);
        for (let i = 0; i < 5; i += 1) await dm.sendText(`${text} ${i}`);
        await people.ada.client.conversations.syncAll();
        await people.ben.client.conversations.syncAll();
        const [theirs] = await people.ben.client.conversations.list();
        await theirs.sendText(text);
        await people.ben.client.conversations.syncAll();
        await people.ada.client.conversations.syncAll();
        return { me, database: people.ada.dbPath };
      },
      [log, Boolean(options.key), SECRET_TEXT],
    );
    const { bytes, rows } = await dump(page, database);
    assert.ok(rows.messages >= 6 && rows.mls >= 3 && rows.meta >= 1, `rows are there: ${JSON.stringify(rows)}`);
    assert.ok(bytes.length > 10_000);
    assert.ok(bytes.includes(Buffer.from(me.inboxId, "hex")), "the search finds what may be readable");
    const address = me.account.replace(/^0x/, "");
    const secrets = {
      text: Buffer.from(SECRET_TEXT),
      "text in UTF-16": Buffer.from(SECRET_TEXT, "utf16le"),
      account: Buffer.from(address),
      "account bytes": Buffer.from(address, "hex"),
      "content type": Buffer.from("xmtp.org"),
    };
    for (const [what, secret] of Object.entries(secrets)) assert.ok(!bytes.includes(secret), `${what} is readable`);
    // Private keys: the wallet's, known to the test.
    const wallet = await page.evaluate(async (log) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${log} ada`)))], log);
    assert.ok(!bytes.includes(Buffer.from(wallet)));
    if (options.key) assert.ok(!bytes.includes(Buffer.alloc(32, 9)), "the database key is readable");
    const wrong = await failure(page, async ([log, dbPath]) => {
      await people.ada.client.close();
      await open("ada", { log, dbPath, dbEncryptionKey: new Uint8Array(32).fill(1) });
    }, [log, database]);
    assert.equal(wrong?.code, "store.wrong_key");
  });
}
