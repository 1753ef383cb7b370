// Signers: a local key for demos and tests, and what the wasm side calls to have a text signed.

import { fromHex } from "./bytes.js";
import { withModule } from "./calls.js";
import * as check from "./check.js";
import { addressOf } from "./ethereum.js";
import { IdentifierKind } from "./enums.js";
import { DovetailError } from "./errors.js";
import type { Identifier, Signer } from "./types.js";

/** A signer that knows its account at once. */
export interface LocalSigner extends Signer {
  getIdentifier(): Identifier;
  signMessage(message: string): Promise<Uint8Array>;
}

/**
 * A signer with a secp256k1 key of its own, for demos and tests: the key lives in the page.
 *
 * @param key `0x` and 64 hexadecimal digits, or 32 bytes. Default: a new random key.
 */
export function createEOASigner(key?: string | Uint8Array): LocalSigner {
  const secret =
    key === undefined ? randomKey() : typeof key === "string" ? bytesOf(key, "the key") : check.bytes(key, "key").slice();
  const identifier: Identifier = { identifier: addressOf(secret), identifierKind: IdentifierKind.Ethereum };
  return {
    type: "EOA",
    getIdentifier: () => ({ ...identifier }),
    signMessage: async (message) => {
      const text = check.string(message, "message");
      return withModule((module) => module.signWithKey(secret, text));
    },
  };
}

/**
 * What a signer says, as bytes; whatever goes wrong in it becomes `client.signature`.
 *
 * @internal
 */
export function signWith(signer: Signer, onFailure: (error: unknown) => void): (text: string) => Promise<Uint8Array> {
  return async (text) => {
    try {
      const signature = await signer.signMessage(text);
      if (typeof signature === "string") return bytesOf(signature, "the signature");
      if (check.isBytes(signature)) return signature;
      throw new TypeError("signMessage must give a Uint8Array or a 0x string");
    } catch (error) {
      onFailure(error);
      throw error;
    }
  };
}

/** @internal */
export async function identifierOf(signer: Signer): Promise<Identifier> {
  try {
    return await signer.getIdentifier();
  } catch (error) {
    throw new DovetailError("client.signature", "the signer did not tell its account", { cause: error });
  }
}

function randomKey(): Uint8Array {
  // All but a few in 2^128 are valid; an invalid one is refused by addressOf.
  return crypto.getRandomValues(new Uint8Array(32));
}

function bytesOf(text: string, what: string): Uint8Array {
  const bytes = fromHex(text.replace(/^0x/, ""));
  if (!bytes) throw new DovetailError("input.value", `${what} is not a hexadecimal text`);
  return bytes;
}
