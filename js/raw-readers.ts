// What is followed and read on through the wasm module: subscriptions, readers and their selections.
// The rules of raw.ts hold here too.

import type { ConsentState, ConversationType } from "./enums.js";
import type { RawConversation, RawMessage, RawTypes } from "./raw.js";
import type { Consent } from "./types.js";

/** What a subscription reports; the defaults of absent fields are CONS-042, 043 and 044. */
export type RawFilter =
  | ({
      of: "messages";
      conversationId?: string;
      conversationType?: ConversationType;
      consentStates?: ConsentState[];
    } & RawTypes)
  | { of: "deletions" }
  | {
      of: "conversations";
      conversationType?: ConversationType;
      consentStates?: ConsentState[];
      includeDuplicateDms?: boolean;
    }
  | { of: "consent" };

/** Something taken one by one. */
export interface RawTaken<T> {
  /** The next one; undefined once it has ended. Asked for once at a time. */
  next(): Promise<T | undefined>;
  /** Where it matters: acknowledges the last one. `next` does so too. */
  acknowledge?(): Promise<void>;
  /** Lets a pending `next` go. */
  end(): void;
}

/** Which events: absent fields select everything. */
export interface RawEventFilter {
  kinds?: string[];
  conversationIds?: string[];
  contentTypes?: string[];
}

/** Scope and filter of a reader; the defaults of absent states are CONS-042 and 043. */
export interface RawSelection extends RawTypes {
  conversationIds?: string[];
  conversationType?: ConversationType;
  scopeStates?: ConsentState[];
  consentStates?: ConsentState[];
}

export type RawEvent =
  /** Each message once, own ones too, in the order they became deliverable. */
  | { type: "message"; message: RawMessage }
  /** A message that was taken back, or as it was before it disappeared: each once. */
  | { type: "deletion"; message: RawMessage }
  | { type: "conversation"; conversation: RawConversation }
  /** The records of one act or one received batch. */
  | { type: "consent"; records: Consent[] };
