// Read receipts: the sender has read up to here.

import type { EncodedContent } from "../types.js";
import { StandardCodec, type Written, guard, typeOf } from "./standard.js";

/** A read receipt says nothing but that it is there. */
export type ReadReceipt = Record<string, never>;

/** Read receipts. */
export class ReadReceiptCodec extends StandardCodec<ReadReceipt> {
  constructor() {
    super("readReceipt");
  }

  protected write(): Written {
    return { content: new Uint8Array() };
  }

  decode(): ReadReceipt {
    return {};
  }

  override shouldPush(): boolean {
    return false;
  }
}

/** @internal */
export const READ_RECEIPT = new ReadReceiptCodec();

/** The content type of read receipts. */
export const contentTypeReadReceipt = typeOf(READ_RECEIPT);

/** A read receipt as it is sent. */
export const encodeReadReceipt = async (content: ReadReceipt = {}): Promise<EncodedContent> => READ_RECEIPT.encode(content);

/** Whether a message is a read receipt. */
export const isReadReceipt = guard<ReadReceipt>("readReceipt");
