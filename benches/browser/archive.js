// Writes archives of any size, so that a benchmark has a large database without making it by hand.
// The compressed stream is one that stores its blocks as they are.

const text = new TextEncoder();

/** A message of protobuf fields: `[number, value]`; bigint and number are varints, undefined is absent. */
export function message(...fields) {
  const out = [];
  const varint = (value) => {
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
    out.push(Number(rest));
  };
  for (const [number, value] of fields) {
    if (value === undefined) continue;
    if (typeof value === "bigint" || typeof value === "number") {
      varint(number << 3);
      varint(value);
      continue;
    }
    const bytes = typeof value === "string" ? text.encode(value) : value;
    varint((number << 3) | 2);
    varint(bytes.length);
    for (const byte of bytes) out.push(byte);
  }
  return Uint8Array.from(out);
}

export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** An id of so many bytes that says what it is of. */
export function id(length, kind, number) {
  const bytes = new Uint8Array(length).fill(kind);
  new DataView(bytes.buffer).setUint32(0, Math.imul(number + 1, 0x9e3779b1));
  new DataView(bytes.buffer).setUint32(4, number);
  return bytes;
}

export const dmId = (...inboxes) => `dm:${inboxes.sort().join(":")}`;

/** A conversation of `creator`; with `dm`, the DM of that id. */
export const group = ({ id, creator, createdNs, lastNs, dm }) =>
  message([2, message([1, id], [2, createdNs], [3, 1], [5, creator], [8, dm ? 2 : 1], [9, dm], [10, lastNs], [13, message([1, creator])])]);

const TEXT = message([1, message([1, "xmtp.org"], [2, "text"], [3, 1])], [4, text.encode("The quick brown fox, and then some more of it.")]);

/** A text in a group. */
export const said = ({ id, group, sender, sentNs, sequence }) =>
  message([
    3,
    message(
      [1, id],
      [2, group],
      [3, TEXT],
      [4, sentNs],
      [5, 1],
      [6, new Uint8Array(32).fill(5)],
      [7, sender],
      [8, 2],
      [10, 1],
      [12, "xmtp.org"],
      [14, sequence],
      [16, "text"],
    ),
  ]);

/** A decision: state 1 unknown, 2 allowed, 3 denied. */
export const consent = ({ inbox, entity, state, atNs }) => message([4, message([1, inbox ? 2 : 1], [2, state], [3, entity], [4, atNs])]);

/** The archive of these elements. */
export async function archive(elements, key) {
  const secret = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  const nonce = crypto.getRandomValues(new Uint8Array(12));
  // Room for every number to come.
  nonce[11] = 0;
  const numbered = (number) => {
    const iv = nonce.slice();
    for (let at = 0, carry = number; carry > 0; at += 1) {
      carry += iv[at];
      iv[at] = carry % 256;
      carry = Math.floor(carry / 256);
    }
    return iv;
  };
  const metadata = message([1, message([2, Uint8Array.of(1, 2)], [3, BigInt(Date.now()) * 1_000_000n])]);
  const all = [metadata, ...elements];
  const parts = [];
  for (let from = 0; from < all.length; from += 1000) {
    const sealed = all.slice(from, from + 1000).map((element, at) => crypto.subtle.encrypt({ name: "AES-GCM", iv: numbered(from + at) }, secret, element));
    for (const bytes of await Promise.all(sealed)) {
      const length = new Uint8Array(4);
      new DataView(length.buffer).setUint32(0, bytes.byteLength, true);
      parts.push(length, new Uint8Array(bytes));
    }
  }
  const stream = new Uint8Array(await new Blob(parts).arrayBuffer());
  const blocks = [Uint8Array.of(0, 0), nonce, Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50)];
  const BLOCK = 128 * 1024;
  for (let from = 0; from < stream.length; from += BLOCK) {
    const block = stream.subarray(from, from + BLOCK);
    const head = (block.length << 3) | Number(from + BLOCK >= stream.length);
    blocks.push(Uint8Array.of(head & 255, (head >> 8) & 255, head >> 16), block);
  }
  return new Uint8Array(await new Blob(blocks).arrayBuffer());
}
