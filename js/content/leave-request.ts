// LeaveRequest: what a member sends who wants to be removed from a group.

import type { EncodedContent } from "../types.js";
import { readFields, repeated, writeFields } from "./protobuf.js";
import { StandardCodec, type Written, guard, typeOf } from "./standard.js";

/** A request to be removed. Whom it is about says the message's sender alone. */
export interface LeaveRequest {
  /** A note of the sender's app, if it sent one. */
  authenticatedNote?: Uint8Array;
}

/** Requests to be removed. They are sent by `Group.requestRemoval()` only. */
export class LeaveRequestCodec extends StandardCodec<LeaveRequest> {
  constructor() {
    super("leave_request");
  }

  protected write({ authenticatedNote }: LeaveRequest): Written {
    return { content: writeFields([1, authenticatedNote]) };
  }

  decode({ content }: EncodedContent): LeaveRequest {
    const note = repeated(readFields(content), 1).at(-1);
    return note ? { authenticatedNote: note.slice() } : {};
  }

  override fallback(): string {
    return "A member asked to leave the group";
  }

  override shouldPush(): boolean {
    return false;
  }
}

/** @internal */
export const LEAVE_REQUEST = new LeaveRequestCodec();

/** The content type of requests to be removed. */
export const contentTypeLeaveRequest = typeOf(LEAVE_REQUEST);

/** Whether a message is a request to be removed. */
export const isLeaveRequest = guard<LeaveRequest>("leave_request");
