// Checks of JavaScript types at the edge. Ids, sizes and rules are checked in Rust.

import { toHex } from "./bytes.js";
import { DovetailError } from "./errors.js";
import { IdentifierKind } from "./enums.js";
import type { Consent, ContentTypeId, EncodedContent, Identifier } from "./types.js";

/** Whether a value is a Uint8Array, of this realm or of another (an iframe, a test runner). @internal */
export const isBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";

const describe = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "an array" : isBytes(value) ? "bytes" : plain(value);

/** Numbers are shown, texts never: they may be a message or a key. */
const plain = (value: unknown): string =>
  typeof value === "number" || typeof value === "bigint" ? String(value) : typeof value;

const fail = (name: string, expected: string, value: unknown): never => {
  throw new DovetailError("input.value", `${name} must be ${expected}, not ${describe(value)}`);
};

/** @internal */
export function string(value: unknown, name: string): string {
  return typeof value === "string" ? value : fail(name, "a string", value);
}

/** @internal */
export function optional<T>(value: unknown, name: string, check: (value: unknown, name: string) => T): T | undefined {
  return value === undefined ? undefined : check(value, name);
}

/** @internal */
export function boolean(value: unknown, name: string): boolean {
  return typeof value === "boolean" ? value : fail(name, "true or false", value);
}

/** @internal */
export function bytes(value: unknown, name: string): Uint8Array {
  return isBytes(value) ? value : fail(name, "a Uint8Array", value);
}

/** @internal */
export function callback<F>(value: F, name: string): F {
  return typeof value === "function" ? value : fail(name, "a function", value);
}

/** A finite number. @internal */
export function number(value: unknown, name: string): number {
  return typeof value === "number" && Number.isFinite(value) ? value : fail(name, "a number", value);
}

/** A time or another 64-bit number; a number must be a whole one that is exact. @internal */
export function bigint(value: unknown, name: string): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  return fail(name, "a bigint", value);
}

/** How many: 0 to 2^32 - 1. @internal */
export function count(value: unknown, name: string): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number === "number" && Number.isInteger(number) && number >= 0 && number < 2 ** 32) return number;
  if (typeof value === "bigint" && value >= 0n) return 2 ** 32 - 1;
  return fail(name, "a whole number from 0", value);
}

/** A value of a numeric enum. @internal */
export function member<E extends number>(values: object): (value: unknown, name: string) => E {
  return (value, name) => {
    if (typeof value === "number" && (values as Record<number, string>)[value] !== undefined) return value as E;
    throw new DovetailError("input.value", `${name} has no value ${String(value)}`);
  };
}

/** @internal */
export function list<T>(check: (value: unknown, name: string) => T): (value: unknown, name: string) => T[] {
  return (value, name) =>
    Array.isArray(value) ? value.map((item, at) => check(item, `${name}[${at}]`)) : fail(name, "an array", value);
}

/** @internal */
export function object(value: unknown, name: string): Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : fail(name, "an object", value);
}

/** @internal */
export function identifier(value: unknown, name: string): Identifier {
  const given = object(value, name);
  return {
    identifier: string(given["identifier"], `${name}.identifier`),
    identifierKind: member<IdentifierKind>(IdentifierKind)(given["identifierKind"], `${name}.identifierKind`),
  };
}

/** The id of an installation: hexadecimal digits, or its bytes. @internal */
export function installation(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  return toHex(bytes(value, name));
}

/** An object of texts, under whatever names. @internal */
export function texts(value: unknown, name: string): Record<string, string> {
  const entries = Object.entries(object(value, name));
  return Object.fromEntries(entries.map(([key, text]) => [key, string(text, `${name}.${key}`)]));
}

const word = (value: unknown, name: string): string => string(value, name) || fail(name, "a text that is not empty", value);

/** @internal */
export function encodedContent(value: unknown, name: string): EncodedContent & { type: ContentTypeId } {
  const given = object(value, name);
  const type = object(given["type"], `${name}.type`);
  const content: EncodedContent & { type: ContentTypeId } = {
    type: {
      authorityId: word(type["authorityId"], `${name}.type.authorityId`),
      typeId: word(type["typeId"], `${name}.type.typeId`),
      versionMajor: count(type["versionMajor"], `${name}.type.versionMajor`),
      versionMinor: count(type["versionMinor"], `${name}.type.versionMinor`),
    },
    parameters: texts(given["parameters"] ?? {}, `${name}.parameters`),
    content: bytes(given["content"], `${name}.content`),
  };
  const fallback = optional(given["fallback"], `${name}.fallback`, string);
  if (fallback !== undefined) content.fallback = fallback;
  const compression = optional(given["compression"], `${name}.compression`, count);
  if (compression !== undefined) content.compression = compression;
  return content;
}

/** @internal */
export function consents(
  value: unknown,
  name: string,
  entityType: (value: unknown, name: string) => Consent["entityType"],
  state: (value: unknown, name: string) => Consent["state"],
): Consent[] {
  return list((item, at) => {
    const given = object(item, at);
    return {
      entityType: entityType(given["entityType"], `${at}.entityType`),
      entity: string(given["entity"], `${at}.entity`),
      state: state(given["state"], `${at}.state`),
    };
  })(value, name);
}

/** Drops what is undefined, so that absent stays absent. @internal */
export function present<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
