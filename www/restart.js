// Deletes what the demo stored in this browser.

import { SECOND } from "./device.js";
import { LOG_NAME, databaseOf } from "./person.js";
import { forget } from "./wallet.js";

const PATIENCE_MS = 3_000;

/** Ends all people and deletes their databases, the log between them, and their keys. */
export async function eraseAll(people) {
  await Promise.all(people.map((person) => person.close()));
  // The second device may be open in another tab only.
  const keys = new Set([...people.map(({ key }) => key), SECOND]);
  const names = [...[...keys].map(databaseOf), `dovetail-delivery-${LOG_NAME}`];
  await Promise.all(names.map(deleteDatabase));
  forget();
}

function deleteDatabase(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
    // Another tab has a moment to let go.
    setTimeout(() => reject(new Error("Another tab keeps the demo open: close it, then start over again.")), PATIENCE_MS);
  });
}
