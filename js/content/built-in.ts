// The codecs every client has.

import { ACTIONS } from "./actions.js";
import { ATTACHMENT } from "./attachment.js";
import { type ContentCodec, CodecRegistry } from "./codec.js";
import { DELETE_MESSAGE } from "./delete-message.js";
import { EDIT_MESSAGE } from "./edit-message.js";
import { INTENT } from "./intent.js";
import { LEAVE_REQUEST } from "./leave-request.js";
import { MARKDOWN } from "./markdown.js";
import { MULTI_REMOTE_ATTACHMENT } from "./multi-remote-attachment.js";
import { REACTION } from "./reaction.js";
import { READ_RECEIPT } from "./read-receipt.js";
import { REMOTE_ATTACHMENT } from "./remote-attachment.js";
import { REPLY } from "./reply.js";
import { TEXT } from "./text.js";
import { TRANSACTION_REFERENCE } from "./transaction-reference.js";
import { WALLET_SEND_CALLS } from "./wallet-send-calls.js";

/** An old type that a codec reads beside its own. */
const REACTION_1: ContentCodec = Object.create(REACTION, {
  contentType: { value: { ...REACTION.contentType, versionMajor: 1 } },
});

const BUILT_IN = [
  ACTIONS,
  ATTACHMENT,
  DELETE_MESSAGE,
  EDIT_MESSAGE,
  INTENT,
  LEAVE_REQUEST,
  MARKDOWN,
  MULTI_REMOTE_ATTACHMENT,
  REACTION,
  REACTION_1,
  READ_RECEIPT,
  REMOTE_ATTACHMENT,
  REPLY,
  TEXT,
  TRANSACTION_REFERENCE,
  WALLET_SEND_CALLS,
];

/** An app's codecs and the built-in ones, which win. @internal */
export const allCodecs = (codecs: readonly ContentCodec[]): CodecRegistry => new CodecRegistry([...codecs, ...BUILT_IN]);
