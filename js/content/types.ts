// What the content of a message can be.

import type { Actions } from "./actions.js";
import type { Attachment } from "./attachment.js";
import type { DeleteMessage } from "./delete-message.js";
import type { EditMessage } from "./edit-message.js";
import type { GroupUpdated } from "./group-updated.js";
import type { Intent } from "./intent.js";
import type { LeaveRequest } from "./leave-request.js";
import type { MultiRemoteAttachment } from "./multi-remote-attachment.js";
import type { Reaction } from "./reaction.js";
import type { ReadReceipt } from "./read-receipt.js";
import type { RemoteAttachment } from "./remote-attachment.js";
import type { EnrichedReply } from "./reply.js";
import type { TransactionReference } from "./transaction-reference.js";
import type { WalletSendCalls } from "./wallet-send-calls.js";

/** Content that needs no codec of the app. A `string` is a text or Markdown. */
export type BuiltInContentTypes = WithReplies<never>;

/** Built-in content and further content, alone or in a reply. */
export type WithReplies<Further> = Further | Plain | EnrichedReply<Further | Plain, unknown>;

type Plain =
  | string
  | Actions
  | Attachment
  | DeleteMessage
  | EditMessage
  | GroupUpdated
  | Intent
  | LeaveRequest
  | MultiRemoteAttachment
  | Reaction
  | ReadReceipt
  | RemoteAttachment
  | TransactionReference
  | WalletSendCalls;
