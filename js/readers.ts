// Readers of the stored messages: the durable stream, and from a cursor on.

import * as check from "./check.js";
import type { Core } from "./core.js";
import type { ConsentState, ContentType, ConversationType } from "./enums.js";
import { type DecodedMessage, readMessage } from "./message.js";
import { consentStates, conversationType, rawTypes } from "./options.js";
import type { PullOptions } from "./pull.js";
import type { RawClient, RawMessage, RawTypes } from "./raw.js";
import type { RawSelection, RawTaken } from "./raw-readers.js";
import type { AsyncStreamProxy } from "./streams.js";

/** Which conversations a durable stream is about at all. */
export interface ConsumeScope {
  /** Only these; any id of a stitched DM stands for all of it. */
  conversationIds?: string[];
  /** Only of this kind. */
  conversationType?: ConversationType;
  /** Only while they are in these states. */
  consentStates?: ConsentState[];
}

/** Which messages are handed out. */
export interface MessageFilter {
  /**
   * Of conversations in these states. Default: allowed and unknown; all of those that are named by
   * their ids.
   */
  consentStates?: ConsentState[];
  /** Only with such content; default: as in `messages()`, without reactions, edits, deletions and receipts. */
  contentTypes?: ContentType[];
  /** None with such content. */
  excludeContentTypes?: ContentType[];
}

/** Options of the durable stream. */
export interface ConsumeOptions<V = DecodedMessage> extends PullOptions<V>, MessageFilter {
  /**
   * What is outside keeps its backlog for a later stream with another scope. What is inside and left
   * out by the filter beside is passed over for good. Default: everything.
   */
  scope?: ConsumeScope;
}

/** Options of a replay. */
export interface ReplayOptions<V = DecodedMessage> extends PullOptions<V>, MessageFilter {
  /** Only these; any id of a stitched DM stands for all of it. */
  conversationIds?: string[];
  /** Only conversations of this kind. */
  conversationType?: ConversationType;
}

/** @internal */
export function consume<C>(core: Core, options: ConsumeOptions<DecodedMessage<C>>) {
  const { consentStates: scopeStates, ...scope } = check.object(options.scope ?? {}, "scope") as ConsumeScope;
  return read(core, options, { ...scope, scopeStates }, (raw, selection) => raw.consume(selection));
}

/** @internal */
export function replay<C>(core: Core, cursor: string | undefined, options: ReplayOptions<DecodedMessage<C>>) {
  const from = check.optional(cursor, "cursor", check.string);
  return read(core, options, options, (raw, selection) => raw.replay(from, selection));
}

function read<C>(
  core: Core,
  options: PullOptions<DecodedMessage<C>> & MessageFilter,
  scope: Omit<ConsumeScope, "consentStates"> & { scopeStates?: ConsentState[] | undefined },
  open: (raw: RawClient, selection: RawSelection) => Promise<RawTaken<RawMessage>>,
): Promise<AsyncStreamProxy<DecodedMessage<C>>> {
  const selection: RawSelection = {
    ...rawTypes({ ...options }),
    ...check.present<Omit<RawSelection, keyof RawTypes>>({
      conversationIds: check.optional(scope.conversationIds, "conversationIds", check.list(check.string)),
      conversationType: check.optional(scope.conversationType, "conversationType", conversationType),
      scopeStates: check.optional(scope.scopeStates, "scope.consentStates", consentStates),
      consentStates: check.optional(options.consentStates, "consentStates", consentStates),
    }),
  };
  return core.pull((raw) => open(raw, selection), (message) => readMessage<C>(core.codecs, message), options);
}
