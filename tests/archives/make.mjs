// Makes the archives that the native tests read; needs the `zstd` program.
//
//   node tests/archives/make.mjs
//
// - counted.archive: a nonce a frame; a group, a DM of two other inboxes, messages, decisions, a
//   retired element, a field of a later version.
// - constant.archive: one nonce for all frames, as older writers did; 300 equal decisions, so that
//   the stream is truly compressed; a checksum.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { archive, bytes, decided, dm, inbox, message, metadata, number, said } from "./elements.mjs";

const zstd = (...options) => (input) => execFileSync("zstd", ["-c", "-q", ...options], { input });

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
const retired = bytes(5, message(number(1, 3)));

writeFileSync(
  new URL("counted.archive", import.meta.url),
  archive(
    [
      metadata,
      group,
      dm(2, [inbox(0xa0), inbox(0xb0)], 40),
      retired,
      said("one", 1, inbox(0xa0), 30, "Who sails on Sunday?"),
      said("two", 2, inbox(0xa0), 39, "Hello B"),
      said("three", 2, inbox(0xb0), 40, "Hello A"),
      decided(1, "01".repeat(16), 2, 500),
      decided(2, inbox(0xb0), 3, 600),
      // Retired, and in upper case: dropped one by one.
      decided(3, "0xabc", 2, 700),
      decided(2, inbox(0xc0).toUpperCase(), 3, 800),
    ],
    { compress: zstd() },
  ),
);
writeFileSync(
  new URL("constant.archive", import.meta.url),
  archive([metadata, ...Array(300).fill(decided(2, inbox(0xb0), 3, 600)), decided(2, inbox(0xc0), 2, 601)], {
    counted: false,
    compress: zstd("--check"),
  }),
);
