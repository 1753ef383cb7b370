// Attachments: a file within the message.

import * as check from "../check.js";
import type { EncodedContent } from "../types.js";
import { StandardCodec, type Written, encoder, guard, typeOf } from "./standard.js";

/** A file. */
export interface Attachment {
  filename?: string;
  mimeType: string;
  content: Uint8Array;
}

/** Files within the message: at most 1 MiB, less room for the envelope. Larger ones are sent as remote attachments. */
export class AttachmentCodec extends StandardCodec<Attachment> {
  constructor() {
    super("attachment");
  }

  protected write(attachment: Attachment): Written {
    const parameters = {
      filename: check.optional(attachment.filename, "filename", check.string),
      mimeType: check.string(attachment.mimeType, "mimeType"),
    };
    return { content: check.bytes(attachment.content, "content"), parameters: check.present<Record<string, string>>(parameters) };
  }

  decode({ content, parameters }: EncodedContent): Attachment {
    const { filename, mimeType = "" } = parameters;
    return check.present<Attachment>({ filename, mimeType, content });
  }

  override fallback({ filename }: Attachment): string {
    return cannotShow(filename, "attachments");
  }
}

/** The fallback of files. @internal */
export const cannotShow = (filename: string | undefined, what: string): string =>
  `Can't display ${filename ?? "this content"}. This app doesn't support ${what}.`;

/** @internal */
export const ATTACHMENT = new AttachmentCodec();

/** The content type of attachments. */
export const contentTypeAttachment = typeOf(ATTACHMENT);

/** An attachment as it is sent. */
export const encodeAttachment = encoder(ATTACHMENT);

/** Whether a message is an attachment. */
export const isAttachment = guard<Attachment>("attachment");
