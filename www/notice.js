// What the page says beside its content: errors in a banner, arrivals to screen readers.

import { setText } from "./dom.js";
import { errorText } from "./format.js";

const SHOWN_MS = 12_000;

const box = document.querySelector("#notice");
const announcer = document.querySelector("#announcer");
let hiding;

box.querySelector("button").addEventListener("click", () => {
  box.hidden = true;
});

export function showNotice(text) {
  setText(box.querySelector("p"), text);
  box.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    box.hidden = true;
  }, SHOWN_MS);
}

export const showError = (error) => showNotice(errorText(error));

/** Runs what a click or key asked for; what goes wrong is shown. */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    showError(error);
    return undefined;
  }
}

/** For people who do not see the page change. */
export function announce(text) {
  announcer.textContent = text;
}
