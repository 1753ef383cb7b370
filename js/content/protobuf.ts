// The part of the protobuf wire format that built-in content types need, and the message all content
// travels in.

import { concat, fromUtf8, toUtf8 } from "../bytes.js";
import type { ContentTypeId, EncodedContent } from "../types.js";

/** A field of a message: its number, and its value as bytes or as a number. */
export interface Field {
  number: number;
  value: Uint8Array | bigint;
}

/**
 * Reads the fields of a message in their order; those of a fixed size, which no content type here
 * has, are passed over.
 *
 * @throws if the bytes are not a message.
 */
export function readFields(bytes: Uint8Array): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new Error("malformed protobuf: a number does not end");
  };
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new Error("malformed protobuf: a field is cut off");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = varint();
    const number = Number(key >> 3n);
    const kind = Number(key & 7n);
    if (kind === 0) fields.push({ number, value: varint() });
    else if (kind === 1) take(8);
    else if (kind === 2) fields.push({ number, value: take(Number(varint())) });
    else if (kind === 5) take(4);
    else throw new Error(`malformed protobuf: unknown kind ${kind}`);
  }
  return fields;
}

/** The values of a repeated field of bytes, messages or strings. */
export function repeated(fields: Field[], number: number): Uint8Array[] {
  return fields.flatMap((field) => (field.number === number && field.value instanceof Uint8Array ? [field.value] : []));
}

/** A string field; the last one counts, undefined if there is none. */
export function text(fields: Field[], number: number): string | undefined {
  const last = repeated(fields, number).at(-1);
  return last && fromUtf8(last);
}

/** A number of 32 bits; the last one counts, undefined if there is none. */
export function uint(fields: Field[], number: number): number | undefined {
  const last = fields.findLast((field) => field.number === number && typeof field.value === "bigint");
  return last && Number(BigInt.asUintN(32, last.value as bigint));
}

/** The bytes of a field as a copy; empty if there is none. */
export const bytes = (fields: Field[], number: number): Uint8Array =>
  repeated(fields, number).at(-1)?.slice() ?? new Uint8Array();

/** Writes fields in the order given, with numbers below 16; undefined ones are left out. */
export function writeFields(...fields: [number: number, value: string | Uint8Array | number | undefined][]) {
  const parts: Uint8Array[] = [];
  for (const [number, value] of fields) {
    if (value === undefined) continue;
    if (typeof value === "number") {
      parts.push(varint(number << 3, value));
    } else {
      const bytes = typeof value === "string" ? toUtf8(value) : value;
      parts.push(varint((number << 3) | 2, bytes.length), bytes);
    }
  }
  return concat(parts);
}

function varint(key: number, value: number): Uint8Array {
  const bytes = [key];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
  bytes.push(value);
  return Uint8Array.from(bytes);
}

/** The bytes of an `EncodedContent`, parameters in key order: the same everywhere. */
export function writeContent({ type, parameters, fallback, content, compression }: EncodedContent): Uint8Array<ArrayBuffer> {
  const id = type && [type.authorityId, type.typeId, type.versionMajor, type.versionMinor];
  const entries = Object.keys(parameters).sort();
  return writeFields(
    [1, id && writeFields(...id.map((part, at): [number, string | number | undefined] => [at + 1, part || undefined]))],
    ...entries.map((key): [number, Uint8Array] => [2, writeFields([1, key], [2, parameters[key]])]),
    [3, fallback],
    [4, content.length > 0 ? content : undefined],
    [5, compression],
  );
}

/**
 * Reads an `EncodedContent`.
 *
 * @throws if the bytes are none, or do not name a type.
 */
export function readContent(encoded: Uint8Array): EncodedContent & { type: ContentTypeId } {
  const fields = readFields(encoded);
  const type = readFields(bytes(fields, 1));
  const [authorityId, typeId] = [text(type, 1), text(type, 2)];
  if (!authorityId || !typeId) throw new Error("the content has no type");
  const parameters = repeated(fields, 2).map((entry) => {
    const pair = readFields(entry);
    return [text(pair, 1) ?? "", text(pair, 2) ?? ""];
  });
  const content: EncodedContent & { type: ContentTypeId } = {
    type: { authorityId, typeId, versionMajor: uint(type, 3) ?? 0, versionMinor: uint(type, 4) ?? 0 },
    parameters: Object.fromEntries(parameters) as Record<string, string>,
    content: bytes(fields, 4),
  };
  const fallback = text(fields, 3);
  if (fallback !== undefined) content.fallback = fallback;
  const compression = uint(fields, 5);
  if (compression !== undefined) content.compression = compression;
  return content;
}
