// The address of a local key, computed without wasm so that a signer knows its account at once.
//
// Only for keys made for demos and tests: big-integer arithmetic takes time that depends on the key.

import { toHex } from "./bytes.js";
import { DovetailError } from "./errors.js";

const P = 2n ** 256n - 2n ** 32n - 977n;
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const G = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
};

/** A point of secp256k1; undefined is the one at infinity. */
type Point = { x: bigint; y: bigint } | undefined;

/**
 * The Ethereum address of a secret key, in lowercase.
 *
 * @internal
 */
export function addressOf(key: Uint8Array): string {
  const secret = key.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  if (key.length !== 32 || secret === 0n || secret >= N) {
    throw new DovetailError("input.value", "the key is not a secp256k1 key of 32 bytes");
  }
  const point = multiply(G, secret);
  if (!point) throw new DovetailError("bug.internal", "the key has no public key");
  const hash = keccak256(Uint8Array.from([...toBytes(point.x), ...toBytes(point.y)]));
  return `0x${toHex(hash.subarray(12))}`;
}

function toBytes(value: bigint): number[] {
  return Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * (31 - at))) & 0xffn));
}

const modulo = (value: bigint): bigint => ((value % P) + P) % P;

function inverse(value: bigint): bigint {
  let [low, high, a, b] = [modulo(value), P, 1n, 0n];
  while (low > 1n) {
    const times = high / low;
    [low, high, a, b] = [high % low, low, b - times * a, a];
  }
  return modulo(a);
}

function add(one: Point, two: Point): Point {
  if (!one) return two;
  if (!two) return one;
  if (one.x === two.x && modulo(one.y + two.y) === 0n) return undefined;
  const slope =
    one.x === two.x ? 3n * one.x * one.x * inverse(2n * one.y) : (two.y - one.y) * inverse(two.x - one.x);
  const x = modulo(slope * slope - one.x - two.x);
  return { x, y: modulo(slope * (one.x - x) - one.y) };
}

function multiply(point: Point, times: bigint): Point {
  let sum: Point;
  let doubled = point;
  for (let left = times; left > 0n; left >>= 1n) {
    if (left & 1n) sum = add(sum, doubled);
    doubled = add(doubled, doubled);
  }
  return sum;
}

const LANE = (1n << 64n) - 1n;
const RATE = 136;

/** Keccak-256 as Ethereum uses it (not SHA-3: the padding differs). @internal */
export function keccak256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 1) / RATE) * RATE);
  padded.set(message);
  padded[message.length] = 0x01;
  padded[padded.length - 1] = (padded[padded.length - 1] ?? 0) | 0x80;
  const blocks = new DataView(padded.buffer);
  const state: bigint[] = new Array<bigint>(25).fill(0n);
  for (let from = 0; from < padded.length; from += RATE) {
    for (let at = 0; at < RATE / 8; at++) state[at] = (state[at] ?? 0n) ^ blocks.getBigUint64(from + 8 * at, true);
    permute(state);
  }
  const out = new DataView(new ArrayBuffer(32));
  for (let at = 0; at < 4; at++) out.setBigUint64(8 * at, state[at] ?? 0n, true);
  return new Uint8Array(out.buffer);
}

const rotate = (lane: bigint, by: bigint): bigint => ((lane << by) | (lane >> (64n - by))) & LANE;

/** Keccak-f[1600] (FIPS 202 section 3.2), lanes at x + 5y. */
function permute(state: bigint[]): void {
  const lane = (x: number, y: number): bigint => state[(x % 5) + 5 * (y % 5)] ?? 0n;
  let shift = 1;
  for (let round = 0; round < 24; round++) {
    const columns = [0, 1, 2, 3, 4].map((x) => lane(x, 0) ^ lane(x, 1) ^ lane(x, 2) ^ lane(x, 3) ^ lane(x, 4));
    for (let at = 0; at < 25; at++) {
      const mix = (columns[(at + 4) % 5] ?? 0n) ^ rotate(columns[(at + 1) % 5] ?? 0n, 1n);
      state[at] = (state[at] ?? 0n) ^ mix;
    }
    // Rotate and move along the one orbit that visits every lane but (0, 0).
    let [x, y, carried] = [1, 0, lane(1, 0)];
    for (let step = 0; step < 24; step++) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const by = BigInt((((step + 1) * (step + 2)) / 2) % 64);
      const next = lane(x, y);
      state[x + 5 * y] = rotate(carried, by);
      carried = next;
    }
    for (let row = 0; row < 25; row += 5) {
      const old = state.slice(row, row + 5);
      for (let x = 0; x < 5; x++) {
        state[row + x] = (old[x] ?? 0n) ^ (~(old[(x + 1) % 5] ?? 0n) & LANE & (old[(x + 2) % 5] ?? 0n));
      }
    }
    // Round constants come from a linear feedback shift register.
    for (let bit = 0; bit < 7; bit++) {
      if (shift & 1) state[0] = (state[0] ?? 0n) ^ (1n << BigInt(2 ** bit - 1));
      shift = (shift << 1) ^ (shift >> 7 ? 0x171 : 0);
    }
  }
}
