// Deletes what the demo stored in this browser.

import { LOG_NAME, databaseOf } from "./person.js";
import { forget } from "./wallet.js";

const PATIENCE_MS = 3_000;

/** Ends both people and deletes their databases, the log between them, and their keys. */
export async function eraseAll(people) {
  await Promise.all(people.map((person) => person.close()));
  const names = [...people.map((person) => databaseOf(person.key)), `dovetail-delivery-${LOG_NAME}`];
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
