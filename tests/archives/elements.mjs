// Archives made without any code of the package: protobuf by hand, sealing by Node.

import { createCipheriv, createHash } from "node:crypto";

export const KEY = Buffer.alloc(32, 7);
const NONCE = Buffer.alloc(12, 0xff);

const varint = (number) => {
  const bytes = [];
  for (let rest = BigInt.asUintN(64, BigInt(number)); ; rest >>= 7n) {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    if (rest <= 0x7fn) return Buffer.from(bytes);
  }
};

/** A field of a message. */
export const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
export const bytes = (field, value) => {
  const body = Buffer.from(value);
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
};
export const message = (...fields) => Buffer.concat(fields);

/** The archive's nonce plus the number of a frame, little-endian. */
function nonceOf(frame) {
  const nonce = Buffer.from(NONCE);
  let carry = frame;
  for (let at = 0; at < 12 && carry > 0; at++) {
    carry += nonce[at];
    nonce[at] = carry & 0xff;
    carry = Math.floor(carry / 256);
  }
  return nonce;
}

/** A zstd stream of raw blocks. */
function rawBlocks(plain) {
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38])];
  for (let at = 0; ; at += 0x20000) {
    const block = plain.subarray(at, at + 0x20000);
    const last = at + 0x20000 >= plain.length;
    const header = Buffer.alloc(4);
    header.writeUInt32LE(block.length * 8 + (last ? 1 : 0));
    parts.push(header.subarray(0, 3), block);
    if (last) return Buffer.concat(parts);
  }
}

/** An archive; `counted` is false for the one nonce of older writers. */
export function archive(elements, { counted = true, compress = rawBlocks } = {}) {
  const frames = elements.map((element, at) => {
    const cipher = createCipheriv("aes-256-gcm", KEY, nonceOf(counted ? at : 0));
    const sealed = Buffer.concat([cipher.update(element), cipher.final(), cipher.getAuthTag()]);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(sealed.length);
    return Buffer.concat([length, sealed]);
  });
  return Buffer.concat([Buffer.from([0, 0]), NONCE, compress(Buffer.concat(frames))]);
}

export const inbox = (byte) => Buffer.alloc(32, byte).toString("hex");

const text = (words) =>
  message(
    bytes(1, message(bytes(1, "xmtp.org"), bytes(2, "text"), number(3, 1))),
    bytes(2, message(bytes(1, "encoding"), bytes(2, "UTF-8"))),
    bytes(4, words),
  );

export const metadata = bytes(1, message(bytes(2, [1, 2]), number(3, 1000)));

/** A DM of two inboxes, by the byte of its id. */
export const dm = (id, [one, other], last) =>
  bytes(
    2,
    message(
      bytes(1, Buffer.alloc(16, id)),
      number(2, 20),
      number(3, 1),
      bytes(5, one),
      number(8, 2),
      bytes(9, `dm:${[one, other].sort().join(":")}`),
      number(10, last),
      bytes(13, bytes(1, other)),
      bytes(14, ""),
    ),
  );

/** A text in a group, by the byte of the group's id. */
export const said = (name, group, sender, at, words) =>
  bytes(
    3,
    message(
      bytes(1, createHash("sha256").update(name).digest()),
      bytes(2, Buffer.alloc(16, group)),
      bytes(3, text(words)),
      number(4, at),
      number(5, 1),
      bytes(6, Buffer.alloc(32, 0xd0)),
      bytes(7, sender),
      number(8, 2),
      number(9, 2),
      number(10, 1),
      bytes(12, "xmtp.org"),
      bytes(16, "text"),
    ),
  );

/** A decision: type 1 conversation, 2 inbox; state 1 unknown, 2 allowed, 3 denied. */
export const decided = (type, entity, state, at) =>
  bytes(4, message(number(1, type), number(2, state), bytes(3, entity), number(4, at)));
