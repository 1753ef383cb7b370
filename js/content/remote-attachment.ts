// Remote attachments: where a file lies that was encrypted and uploaded, and what opens it.

import { fromHex, fromUtf8, toHex, toUtf8 } from "../bytes.js";
import * as check from "../check.js";
import type { EncodedContent } from "../types.js";
import { cannotShow } from "./attachment.js";
import { StandardCodec, type Written, encoder, guard, typeOf } from "./standard.js";

/** An encrypted file somewhere else. The secret parts come from `encryptAttachment`. */
export interface RemoteAttachment {
  url: string;
  /** SHA-256 of the encrypted file, in lower-case hexadecimal digits. */
  contentDigest: string;
  /** 32 bytes. */
  secret: Uint8Array;
  /** 32 bytes. */
  salt: Uint8Array;
  /** 12 bytes. */
  nonce: Uint8Array;
  /** For example `https://`. */
  scheme: string;
  /** Bytes of the encrypted file. */
  contentLength?: number;
  filename?: string;
}

const SECRETS = ["secret", "salt", "nonce"] as const;

/** Remote attachments. */
export class RemoteAttachmentCodec extends StandardCodec<RemoteAttachment> {
  constructor() {
    super("remoteStaticAttachment");
  }

  protected write(content: RemoteAttachment): Written {
    const { url, ...remote } = remoteAttachment(content, "content");
    const texts = Object.entries(remote).map(([name, value]) => [name, check.isBytes(value) ? toHex(value) : String(value)]);
    return { content: toUtf8(url), parameters: Object.fromEntries(texts) as Record<string, string> };
  }

  decode({ content, parameters }: EncodedContent): RemoteAttachment {
    const { contentDigest = "", scheme = "", filename, contentLength } = parameters;
    const secrets = SECRETS.map((name) => fromHex(parameters[name] ?? ""));
    const [secret, salt, nonce] = secrets;
    if (!secret || !salt || !nonce) throw new Error("a secret that is not hexadecimal");
    if (contentLength !== undefined && !/^\d{1,10}$/.test(contentLength)) throw new Error("contentLength is no number");
    const remote = { url: fromUtf8(content), contentDigest, secret, salt, nonce, scheme, filename };
    return remoteAttachment({ ...remote, contentLength: contentLength && Number(contentLength) }, "content");
  }

  override fallback({ filename }: RemoteAttachment): string {
    return cannotShow(filename, "remote attachments");
  }
}

/** Checks a remote attachment. @internal */
export function remoteAttachment(value: unknown, name: string): RemoteAttachment {
  const given = check.object(value, name);
  const text = (field: string) => check.string(given[field], `${name}.${field}`);
  const bytes = (field: string) => check.bytes(given[field], `${name}.${field}`);
  return check.present<RemoteAttachment>({
    url: text("url"),
    contentDigest: text("contentDigest"),
    secret: bytes("secret"),
    salt: bytes("salt"),
    nonce: bytes("nonce"),
    scheme: text("scheme"),
    contentLength: check.optional(given["contentLength"], `${name}.contentLength`, check.count),
    filename: check.optional(given["filename"], `${name}.filename`, check.string),
  });
}

/** @internal */
export const REMOTE_ATTACHMENT = new RemoteAttachmentCodec();

/** The content type of remote attachments. */
export const contentTypeRemoteAttachment = typeOf(REMOTE_ATTACHMENT);

/** A remote attachment as it is sent. */
export const encodeRemoteAttachment = encoder(REMOTE_ATTACHMENT);

/** Whether a message is a remote attachment. */
export const isRemoteAttachment = guard<RemoteAttachment>("remoteStaticAttachment");
