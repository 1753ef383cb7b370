// What the page remembers outside the databases of its people.
//
// A real app asks a wallet to sign and never sees its key. This demo has no wallet, so each person's
// key is a random one that lies open in localStorage: fine for two people who only talk to each other
// here, and for nothing else.

import { createEOASigner } from "/dist/index.js";

const PREFIX = "dovetail-demo.";
const keyName = (person) => `${PREFIX}key.${person}`;

/** The signer of a person, the same one after a reload. */
export function signerOf(person) {
  let key = localStorage.getItem(keyName(person));
  if (key === null) {
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    key = `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
    localStorage.setItem(keyName(person), key);
  }
  return createEOASigner(key);
}

/** What this tab remembers over a reload: the open chat, the offline switch. */
export const tab = {
  read: (name) => sessionStorage.getItem(PREFIX + name) ?? undefined,
  write(name, value) {
    if (value === undefined) sessionStorage.removeItem(PREFIX + name);
    else sessionStorage.setItem(PREFIX + name, value);
  },
};

/** Forgets everything the page remembers. */
export function forget() {
  for (const storage of [localStorage, sessionStorage]) {
    for (const name of Object.keys(storage)) if (name.startsWith(PREFIX)) storage.removeItem(name);
  }
}
