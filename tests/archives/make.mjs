// Makes the archives the tests read, without any code of the package: protobuf by hand, sealing by
// Node, compression by the `zstd` program.
//
//   node tests/archives/make.mjs
//
// - counted.archive: a nonce a frame; a group, a DM of two other inboxes, messages, decisions, a
//   retired element, a field of a later version.
// - constant.archive: one nonce for all frames, as older writers did; 300 equal decisions, so that
//   the stream is truly compressed; a checksum.

import { execFileSync } from "node:child_process";
import { createCipheriv, createHash } from "node:crypto";
import { writeFileSync } from "node:fs";

const KEY = Buffer.alloc(32, 7);
const NONCE = Buffer.alloc(12, 0xff);

const varint = (number) => {
  const bytes = [];
  for (let rest = BigInt.asUintN(64, BigInt(number)); ; rest >>= 7n) {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    if (rest <= 0x7fn) return Buffer.from(bytes);
  }
};
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => {
  const body = Buffer.from(value);
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
};
const message = (...fields) => Buffer.concat(fields);

/** The number of a frame's nonce, added to the archive's, little-endian. */
function nonceOf(frame) {
  const nonce = Buffer.from(NONCE);
  let carry = frame;
  for (let at = 0; at < 12 && carry > 0; at++) {
    carry += nonce[at];
    nonce[at] = carry & 0xff;
    carry >>= 8;
  }
  return nonce;
}

function archive(elements, { counted, options = [] }) {
  const frames = elements.map((element, at) => {
    const cipher = createCipheriv("aes-256-gcm", KEY, nonceOf(counted ? at : 0));
    const sealed = Buffer.concat([cipher.update(element), cipher.final(), cipher.getAuthTag()]);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(sealed.length);
    return Buffer.concat([length, sealed]);
  });
  const stream = execFileSync("zstd", ["-c", "-q", ...options], { input: Buffer.concat(frames) });
  return Buffer.concat([Buffer.from([0, 0]), NONCE, stream]);
}

const inbox = (byte) => Buffer.alloc(32, byte).toString("hex");
const text = (words) =>
  message(
    bytes(1, message(bytes(1, "xmtp.org"), bytes(2, "text"), number(3, 1))),
    bytes(2, message(bytes(1, "encoding"), bytes(2, "UTF-8"))),
    bytes(4, words),
  );

const metadata = bytes(1, message(bytes(2, [1, 2]), number(3, 1000)));
const group = bytes(
  2,
  message(
    bytes(1, Buffer.alloc(16, 1)),
    number(2, 10),
    number(3, 1),
    number(4, 99),
    bytes(5, inbox(0xb0)),
    number(8, 1),
    number(10, 30),
    bytes(13, bytes(1, inbox(0xa0))),
    bytes(
      14,
      message(
        bytes(1, message(bytes(1, "group_name"), bytes(2, "Sailing"))),
        bytes(1, message(bytes(1, "description"), bytes(2, "On the lake"))),
        bytes(3, inbox(0xa0)),
      ),
    ),
    // A field of a later version.
    bytes(99, "later"),
  ),
);
const dm = bytes(
  2,
  message(
    bytes(1, Buffer.alloc(16, 2)),
    number(2, 20),
    number(3, 1),
    bytes(5, inbox(0xa0)),
    number(8, 2),
    bytes(9, `dm:${inbox(0xa0)}:${inbox(0xb0)}`),
    number(10, 40),
    bytes(13, bytes(1, inbox(0xb0))),
    bytes(14, ""),
  ),
);
const said = (id, groupByte, senderByte, at, words) =>
  bytes(
    3,
    message(
      bytes(1, createHash("sha256").update(id).digest()),
      bytes(2, Buffer.alloc(16, groupByte)),
      bytes(3, text(words)),
      number(4, at),
      number(5, 1),
      bytes(6, Buffer.alloc(32, 0xd0)),
      bytes(7, inbox(senderByte)),
      number(8, 2),
      number(9, 2),
      number(10, 1),
      bytes(12, "xmtp.org"),
      bytes(16, "text"),
    ),
  );
const decided = (type, entity, state, at) =>
  bytes(4, message(number(1, type), number(2, state), bytes(3, entity), number(4, at)));
const retired = bytes(5, message(number(1, 3)));

writeFileSync(
  new URL("counted.archive", import.meta.url),
  archive(
    [
      metadata,
      group,
      dm,
      retired,
      said("one", 1, 0xa0, 30, "Who sails on Sunday?"),
      said("two", 2, 0xa0, 39, "Hello B"),
      said("three", 2, 0xb0, 40, "Hello A"),
      decided(1, "01".repeat(16), 2, 500),
      decided(2, inbox(0xb0), 3, 600),
      // Retired, and in upper case: dropped one by one.
      decided(3, "0xabc", 2, 700),
      decided(2, inbox(0xc0).toUpperCase(), 3, 800),
    ],
    { counted: true },
  ),
);
writeFileSync(
  new URL("constant.archive", import.meta.url),
  archive([metadata, ...Array(300).fill(decided(2, inbox(0xb0), 3, 600)), decided(2, inbox(0xc0), 2, 601)], {
    counted: false,
    options: ["--check"],
  }),
);
