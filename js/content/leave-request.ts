// LeaveRequest: what a member sends who wants to be removed from a group.

import type { DecodedMessage } from "../message.js";
import type { ContentTypeId, EncodedContent } from "../types.js";
import { readFields, repeated } from "./protobuf.js";

/** A request to be removed. Whom it is about says the message's sender alone. */
export interface LeaveRequest {
  /** A note of the sender's app, if it sent one. */
  authenticatedNote?: Uint8Array;
}

/** @internal */
export const LEAVE_REQUEST: Readonly<ContentTypeId> = Object.freeze({
  authorityId: "xmtp.org",
  typeId: "leave_request",
  versionMajor: 1,
  versionMinor: 0,
});

/** Reads a request. It is sent by `Group.requestRemoval()` only. @internal */
export function decodeLeaveRequest(content: EncodedContent): LeaveRequest {
  const note = repeated(readFields(content.content), 1).at(-1);
  return note ? { authenticatedNote: note.slice() } : {};
}

/** The content type of requests to be removed. */
export const contentTypeLeaveRequest = async (): Promise<ContentTypeId> => ({ ...LEAVE_REQUEST });

/** Whether a message is a request to be removed. */
export const isLeaveRequest = (message: DecodedMessage<unknown>): message is DecodedMessage<LeaveRequest> =>
  message.contentType.typeId === LEAVE_REQUEST.typeId;
