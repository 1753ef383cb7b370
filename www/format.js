// How ids, times and errors read.

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const EXACT = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
});
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const SHORT_DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** The two ends of an id. */
export const shortId = (id) => `${id.slice(0, 4)}…${id.slice(-4)}`;

export const clock = (date) => CLOCK.format(date);

/** Nanoseconds since 1970 as a time of day, to the millisecond. */
export const exact = (ns) => EXACT.format(new Date(Number(ns / 1_000_000n)));

/** The same, with the day unless it is today. */
export function moment(ns) {
  const date = new Date(Number(ns / 1_000_000n));
  return dayKey(date) === dayKey(new Date()) ? exact(ns) : `${SHORT_DAY.format(date)} ${date.getFullYear()}, ${exact(ns)}`;
}

export const dayKey = (date) => `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;

export function day(date) {
  const today = new Date();
  if (dayKey(date) === dayKey(today)) return "Today";
  today.setDate(today.getDate() - 1);
  return dayKey(date) === dayKey(today) ? "Yesterday" : DAY.format(date);
}

/** For a list: the time today, else the day. */
export const when = (date) => (dayKey(date) === dayKey(new Date()) ? clock(date) : SHORT_DAY.format(date));

export const sentence = (text) => {
  const trimmed = text.trim();
  const begun = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
};

const FAILURES = new Map([
  ["dm.unknown_inbox", "nobody has this inbox id"],
  ["message.too_large", "it is too long"],
  ["delivery.refused", "the delivery service refused it"],
]);

/** Why a message was given up, from its code. */
export const failureText = (code) => FAILURES.get(code) ?? code ?? "it could not be sent";

const HINTS = new Map([
  ["archive.key", "Only the person who saved an archive can restore it, and not after starting over."],
  ["archive.truncated", "What came before the end is restored."],
  ["client.closed", "Reload the page to go on."],
  ["client.crashed", "Reload the page to go on; nothing that was stored is lost."],
  ["client.insecure_context", "Open this page over https, or from localhost."],
  ["store.blocked", "Close the other tabs of this demo, then try again."],
  ["store.closed", "Reload the page to go on."],
  ["store.newer", "Reload the page to get its newer version."],
  ["store.quota", "Free some space in this browser, then try again."],
  ["store.unavailable", "Private windows and blocked site data do this. Allow this site to store data, or use an ordinary window."],
  ["wasm.load_failed", "Check the connection, and that the server serves the files of the package."],
  ["wasm.unsupported", "Dovetail encrypts in WebAssembly. Switch it on for this site, or use another browser."],
]);

/** What a person can do about an error, where this page knows. */
export const hintOf = (error) => HINTS.get(error?.code);

/** An error of the package, or any other, for people. */
export function errorText(error) {
  const text = sentence(error instanceof Error && error.message ? error.message : String(error));
  return [text, hintOf(error)].filter(Boolean).join(" ");
}
