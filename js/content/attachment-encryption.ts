// Files for remote attachments: encrypted before they are uploaded, checked and opened when they
// were downloaded.

import { toHex } from "../bytes.js";
import * as check from "../check.js";
import { DovetailError } from "../errors.js";
import { ATTACHMENT, type Attachment } from "./attachment.js";
import { CodecRegistry, malformed } from "./codec.js";
import { decompressContent } from "./compression.js";
import { readContent, writeContent } from "./protobuf.js";
import { type RemoteAttachment, remoteAttachment } from "./remote-attachment.js";

/** An encrypted file: upload `payload`, send the rest with its URL as a remote attachment. */
export interface EncryptedAttachment extends Omit<RemoteAttachment, "url" | "scheme" | "contentLength"> {
  payload: Uint8Array;
  /** Bytes of `payload`. */
  contentLength: number;
}

/** Bytes of what opens a file. */
const SIZES = { secret: 32, salt: 32, nonce: 12 };

/**
 * Encrypts a file with a key of its own.
 *
 * @throws DovetailError `input.value`, `client.insecure_context`.
 */
export async function encryptAttachment(attachment: Attachment): Promise<EncryptedAttachment> {
  const plain = writeContent(ATTACHMENT.encode(attachment));
  const [secret, salt, nonce] = [random(SIZES.secret), random(SIZES.salt), random(SIZES.nonce)];
  const key = await keyOf(secret, salt, "encrypt");
  const payload = new Uint8Array(await subtle().encrypt({ name: "AES-GCM", iv: nonce }, key, plain));
  const { filename } = attachment;
  return check.present<EncryptedAttachment>({
    payload,
    contentDigest: await digestOf(payload),
    secret,
    salt,
    nonce,
    contentLength: payload.length,
    filename,
  });
}

/**
 * Opens a file that was downloaded from a remote attachment's URL.
 *
 * @throws DovetailError `content.digest_mismatch` if it is another file than was sent;
 *   `content.decrypt` if what was sent does not open it; `content.malformed` and
 *   `content.too_large` if it is no attachment; `input.value`, `client.insecure_context`.
 */
export async function decryptAttachment(payload: Uint8Array, remote: RemoteAttachment): Promise<Attachment> {
  // A copy: what is checked is what is opened.
  const bytes = check.bytes(payload, "payload").slice();
  const { contentDigest, secret, salt, nonce } = remoteAttachment(remote, "remoteAttachment");
  if ((await digestOf(bytes)) !== contentDigest) {
    throw new DovetailError("content.digest_mismatch", "the file is not the one that was sent: download it again");
  }
  const content = await decompressContent(await readable(bytes, secret, salt, nonce));
  const { content: attachment, error } = new CodecRegistry([ATTACHMENT]).decode(content);
  if (error) throw error;
  return attachment as Attachment;
}

async function readable(payload: BufferSource, secret: Uint8Array, salt: Uint8Array, nonce: Uint8Array) {
  const sizes = secret.length === SIZES.secret && salt.length === SIZES.salt && nonce.length === SIZES.nonce;
  const key = sizes && (await keyOf(secret, salt, "decrypt"));
  const plain = key && (await subtle().decrypt({ name: "AES-GCM", iv: nonce.slice() }, key, payload).catch(() => undefined));
  if (!plain) {
    throw new DovetailError("content.decrypt", "what came with the message does not open the file: ask for it again");
  }
  try {
    return readContent(new Uint8Array(plain));
  } catch (error) {
    throw malformed(error);
  }
}

const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));

const digestOf = async (bytes: BufferSource): Promise<string> =>
  toHex(new Uint8Array(await subtle().digest("SHA-256", bytes)));

async function keyOf(secret: Uint8Array, salt: Uint8Array, use: "encrypt" | "decrypt"): Promise<CryptoKey> {
  const raw = await subtle().importKey("raw", secret.slice(), "HKDF", false, ["deriveKey"]);
  const how = { name: "HKDF", hash: "SHA-256", salt: salt.slice(), info: new Uint8Array() };
  return subtle().deriveKey(how, raw, { name: "AES-GCM", length: 256 }, false, [use]);
}

function subtle(): SubtleCrypto {
  // Absent on pages without HTTPS, whatever the types say.
  const found: SubtleCrypto | undefined = crypto.subtle;
  if (found) return found;
  throw new DovetailError("client.insecure_context", "no WebCrypto here: serve the page over HTTPS or from localhost");
}
