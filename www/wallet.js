// What the page remembers outside the databases of its people.
//
// A real app asks a wallet to sign and never sees its key. This demo has no wallet, so each person's
// key is a random one that lies open in localStorage: fine for two people who only talk to each other
// here, and for nothing else.

import { createEOASigner } from "/dist/index.js";

const PREFIX = "dovetail-demo.";
const keyName = (person) => `${PREFIX}key.${person}`;
const offlineName = (person) => `${PREFIX}offline.${person}`;
const openName = (person) => `${PREFIX}open.${person}`;
const deviceName = (device) => `${PREFIX}device.${device}`;

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

/**
 * The key that seals a person's archives. A real app keeps one of its own, or makes it of a passphrase;
 * here it comes from the wallet, so that each device of the person has it.
 */
export async function archiveKeyOf(person) {
  const text = `dovetail demo archive ${localStorage.getItem(keyName(person))}`;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** Whether a person is offline, the same in every tab. */
export const offline = {
  read: (person) => localStorage.getItem(offlineName(person)) !== null,
  write(person, value) {
    if (value) localStorage.setItem(offlineName(person), "yes");
    else localStorage.removeItem(offlineName(person));
  },
};

/** Whether a further device was opened once: it is there again after a reload. */
export const device = {
  read: (key) => localStorage.getItem(deviceName(key)) !== null,
  write: (key) => localStorage.setItem(deviceName(key), "yes"),
};

/** The chat this tab shows of a person, kept over a reload. */
export const openChat = {
  read: (person) => sessionStorage.getItem(openName(person)) ?? undefined,
  write(person, id) {
    if (id === undefined) sessionStorage.removeItem(openName(person));
    else sessionStorage.setItem(openName(person), id);
  },
};

/**
 * Tells what another tab did: `onSwitch(person)` for the network switch, `onDevice()` for a further
 * device, `onNewKey()` after it started over.
 */
export function followOtherTabs({ onSwitch, onDevice, onNewKey }) {
  addEventListener("storage", ({ key, newValue }) => {
    const [kind, person] = key?.startsWith(PREFIX) ? key.slice(PREFIX.length).split(".") : [];
    if (kind === "offline") onSwitch(person);
    if (kind === "device" && newValue !== null) onDevice();
    if (kind === "key" && newValue !== null) onNewKey();
  });
}

/** Forgets everything the page remembers. */
export function forget() {
  for (const storage of [localStorage, sessionStorage]) {
    for (const name of Object.keys(storage)) if (name.startsWith(PREFIX)) storage.removeItem(name);
  }
}
