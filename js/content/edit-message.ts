// EditMessage: new content for a message.

import * as check from "../check.js";
import type { EncodedContent } from "../types.js";
import { bytes, readContent, readFields, text, writeContent, writeFields } from "./protobuf.js";
import { StandardCodec, type Written, encoder, guard, typeOf } from "./standard.js";

/** An edit. It counts if it is from the sender of the message. */
export interface EditMessage {
  messageId: string;
  /** The content from now on. */
  editedContent: EncodedContent;
}

/** Edits. */
export class EditMessageCodec extends StandardCodec<EditMessage> {
  constructor() {
    super("editMessage");
  }

  protected write({ messageId, editedContent }: EditMessage): Written {
    const content = check.encodedContent(editedContent, "editedContent");
    return { content: writeFields([1, check.string(messageId, "messageId") || undefined], [2, writeContent(content)]) };
  }

  decode({ content }: EncodedContent): EditMessage {
    const fields = readFields(content);
    return { messageId: text(fields, 1) ?? "", editedContent: readContent(bytes(fields, 2)) };
  }

  override shouldPush(): boolean {
    return false;
  }
}

/** @internal */
export const EDIT_MESSAGE = new EditMessageCodec();

/** The content type of edits. */
export const contentTypeEditMessage = typeOf(EDIT_MESSAGE);

/** An edit as it is sent. */
export const encodeEditMessage = encoder(EDIT_MESSAGE);

/** Whether a message is an edit. */
export const isEditMessage = guard<EditMessage>("editMessage");
