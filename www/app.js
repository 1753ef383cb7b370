// Starts the demo, or says why it cannot start. The package is not imported statically: the page
// can speak even when the package cannot be loaded.

import { hintOf, sentence } from "./format.js";

const SLOW_MS = 900;

const starting = document.querySelector("#starting");
const broken = document.querySelector("#broken");
broken.querySelector("button").addEventListener("click", () => location.reload());

const slow = setTimeout(() => {
  starting.querySelector("p").textContent = "Still opening: the first visit fetches the encryption module and makes two installations…";
}, SLOW_MS);

try {
  if (!globalThis.indexedDB) throw Object.assign(new Error("This browser does not let the page store data."), { code: "store.unavailable" });
  const { startDemo } = await import("./demo.js");
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
