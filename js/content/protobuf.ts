// The part of the protobuf wire format that built-in content types need.

/** A field of a message: its number, and its value as bytes or as a number. */
export interface Field {
  number: number;
  value: Uint8Array | bigint;
}

/**
 * Reads the fields of a message in their order.
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
    else if (kind === 1) fields.push({ number, value: take(8) });
    else if (kind === 2) fields.push({ number, value: take(Number(varint())) });
    else if (kind === 5) fields.push({ number, value: take(4) });
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
  return last && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(last);
}
