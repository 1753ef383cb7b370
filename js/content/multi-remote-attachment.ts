// Several remote attachments in one message.

import * as check from "../check.js";
import type { EncodedContent } from "../types.js";
import { cannotShow } from "./attachment.js";
import { bytes, readFields, repeated, text, uint, writeFields } from "./protobuf.js";
import { type RemoteAttachment, remoteAttachment } from "./remote-attachment.js";
import { StandardCodec, type Written, encoder, guard, typeOf } from "./standard.js";

/** Encrypted files somewhere else. */
export interface MultiRemoteAttachment {
  attachments: RemoteAttachment[];
}

/** Several remote attachments. */
export class MultiRemoteAttachmentCodec extends StandardCodec<MultiRemoteAttachment> {
  constructor() {
    super("multiRemoteStaticAttachment");
  }

  protected write({ attachments }: MultiRemoteAttachment): Written {
    const entries = check.list(remoteAttachment)(attachments, "attachments").map(entry);
    return { content: writeFields(...entries.map((bytes): [number, Uint8Array] => [1, bytes])) };
  }

  decode({ content }: EncodedContent): MultiRemoteAttachment {
    return { attachments: repeated(readFields(content), 1).map(remoteOf) };
  }

  override fallback(): string {
    return cannotShow(undefined, "multiple remote attachments");
  }
}

const entry = (remote: RemoteAttachment): Uint8Array =>
  writeFields(
    [1, remote.contentDigest || undefined],
    [2, remote.secret],
    [3, remote.nonce],
    [4, remote.salt],
    [5, remote.scheme || undefined],
    [6, remote.url || undefined],
    [7, remote.contentLength],
    [8, remote.filename],
  );

function remoteOf(encoded: Uint8Array): RemoteAttachment {
  const fields = readFields(encoded);
  return check.present<RemoteAttachment>({
    url: text(fields, 6) ?? "",
    contentDigest: text(fields, 1) ?? "",
    secret: bytes(fields, 2),
    salt: bytes(fields, 4),
    nonce: bytes(fields, 3),
    scheme: text(fields, 5) ?? "",
    contentLength: uint(fields, 7),
    filename: text(fields, 8),
  });
}

/** @internal */
export const MULTI_REMOTE_ATTACHMENT = new MultiRemoteAttachmentCodec();

/** The content type of several remote attachments. */
export const contentTypeMultiRemoteAttachment = typeOf(MULTI_REMOTE_ATTACHMENT);

/** Several remote attachments as they are sent. */
export const encodeMultiRemoteAttachment = encoder(MULTI_REMOTE_ATTACHMENT);

/** Whether a message is several remote attachments. */
export const isMultiRemoteAttachment = guard<MultiRemoteAttachment>("multiRemoteStaticAttachment");
