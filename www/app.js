// Starts the demo, or says why it cannot start. The package is not imported statically: the page
// can speak even when the package cannot be loaded.

import { hintOf, sentence } from "./format.js";

const SLOW_MS = 900;

const starting = document.querySelector("#starting");
const broken = document.querySelector("#broken");
broken.querySelector("button").addEventListener("click", () => location.reload());

/** Whether this browser lets the page keep a database; the answer is there before the encryption module is. */
async function checkStorage() {
  const name = "dovetail-demo-check";
  try {
    await new Promise((resolve, reject) => {
      const opening = indexedDB.open(name);
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        opening.result.close();
        resolve();
      };
    });
    indexedDB.deleteDatabase(name);
  } catch (cause) {
    throw Object.assign(new Error("This browser does not let the page store data", { cause }), { code: "store.unavailable" });
  }
}

const slow = setTimeout(() => {
  starting.querySelector("p").textContent = "Still opening: the first visit fetches the encryption module and makes two installations…";
}, SLOW_MS);

try {
  // All at once: whatever cannot work says so first.
  const [{ startDemo }] = await Promise.all([
    import("./demo.js"),
    import("/dist/index.js").then(({ init }) => init()),
    checkStorage(),
  ]);
  await startDemo();
} catch (error) {
  const [text, hint] = broken.querySelectorAll("p");
  text.textContent = sentence(String(error?.message ?? error));
  hint.textContent = hintOf(error) ?? "";
  broken.hidden = false;
} finally {
  clearTimeout(slow);
  starting.hidden = true;
}
