// Bytes: as hexadecimal digits, as text, joined.

/** Lower-case digits. @internal */
export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The bytes of digits; undefined if the text is anything else. @internal */
export const fromHex = (text: string): Uint8Array | undefined =>
  /^([0-9a-f]{2})*$/i.test(text)
    ? Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
    : undefined;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @internal */
export const toUtf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text);

/** @throws if the bytes are not UTF-8. @internal */
export const fromUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes);

/** @internal */
export function concat(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
