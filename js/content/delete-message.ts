// DeleteMessage: asks all members to show a message no more.

import * as check from "../check.js";
import type { EncodedContent } from "../types.js";
import { readFields, text, writeFields } from "./protobuf.js";
import { StandardCodec, type Written, encoder, guard, typeOf } from "./standard.js";

/** A deletion. It counts if it is from the sender of the message or from a super admin. */
export interface DeleteMessage {
  messageId: string;
}

/** Deletions. */
export class DeleteMessageCodec extends StandardCodec<DeleteMessage> {
  constructor() {
    super("deleteMessage");
  }

  protected write({ messageId }: DeleteMessage): Written {
    return { content: writeFields([1, check.string(messageId, "messageId") || undefined]) };
  }

  decode({ content }: EncodedContent): DeleteMessage {
    return { messageId: text(readFields(content), 1) ?? "" };
  }

  override shouldPush(): boolean {
    return false;
  }
}

/** @internal */
export const DELETE_MESSAGE = new DeleteMessageCodec();

/** The content type of deletions. */
export const contentTypeDeleteMessage = typeOf(DELETE_MESSAGE);

/** A deletion as it is sent. */
export const encodeDeleteMessage = encoder(DELETE_MESSAGE);

/** Whether a message is a deletion. */
export const isDeleteMessage = guard<DeleteMessage>("deleteMessage");
