// Options of lists, streams and sends, checked and brought into the raw form.

import * as check from "./check.js";
import {
  ConsentState,
  ContentType,
  ConversationType,
  DeliveryStatus,
  GroupMessageKind,
  ListConversationsOrderBy,
  MessageSortBy,
  SortDirection,
} from "./enums.js";
import type { RawListConversations, RawListMessages, RawSend } from "./raw.js";
import type { ListConversationsOptions, ListMessagesOptions, SendMessageOpts } from "./types.js";

const contentTypes = check.list(check.member<ContentType>(ContentType));

/** @internal */
export const consentStates = check.list(check.member<ConsentState>(ConsentState));

/** @internal */
export const consentState = check.member<ConsentState>(ConsentState);

/** @internal */
export const conversationType = check.member<ConversationType>(ConversationType);

function direction(value: unknown, name: string): SortDirection {
  if (value === "ascending") return SortDirection.Ascending;
  if (value === "descending") return SortDirection.Descending;
  return check.member<SortDirection>(SortDirection)(value, name);
}

/** @internal */
export function rawListConversations(options: ListConversationsOptions = {}): RawListConversations {
  const given = check.object(options, "options");
  return check.present<RawListConversations>({
    consentStates: check.optional(given["consentStates"], "consentStates", consentStates),
    conversationType: check.optional(given["conversationType"], "conversationType", conversationType),
    createdAfterNs: check.optional(given["createdAfterNs"], "createdAfterNs", check.bigint),
    createdBeforeNs: check.optional(given["createdBeforeNs"], "createdBeforeNs", check.bigint),
    includeDuplicateDms: check.optional(given["includeDuplicateDms"], "includeDuplicateDms", check.boolean),
    orderBy: check.optional(
      given["orderBy"],
      "orderBy",
      check.member<ListConversationsOrderBy>(ListConversationsOrderBy),
    ),
    limit: check.optional(given["limit"], "limit", check.count),
  });
}

/** @internal */
export function rawListMessages(options: ListMessagesOptions = {}): RawListMessages {
  const given = check.object(options, "options");
  return check.present<RawListMessages>({
    contentTypes: check.optional(given["contentTypes"], "contentTypes", contentTypes),
    excludeContentTypes: check.optional(given["excludeContentTypes"], "excludeContentTypes", contentTypes),
    excludeSenderInboxIds: check.optional(
      given["excludeSenderInboxIds"],
      "excludeSenderInboxIds",
      check.list(check.string),
    ),
    sentAfterNs: check.optional(given["sentAfterNs"], "sentAfterNs", check.bigint),
    sentBeforeNs: check.optional(given["sentBeforeNs"], "sentBeforeNs", check.bigint),
    insertedAfterNs: check.optional(given["insertedAfterNs"], "insertedAfterNs", check.bigint),
    insertedBeforeNs: check.optional(given["insertedBeforeNs"], "insertedBeforeNs", check.bigint),
    deliveryStatus: check.optional(given["deliveryStatus"], "deliveryStatus", check.member<DeliveryStatus>(DeliveryStatus)),
    kind: check.optional(given["kind"], "kind", check.member<GroupMessageKind>(GroupMessageKind)),
    sortBy: check.optional(given["sortBy"], "sortBy", check.member<MessageSortBy>(MessageSortBy)),
    direction: check.optional(given["direction"], "direction", direction),
    limit: check.optional(given["limit"], "limit", check.count),
  });
}

/** @internal */
export function rawSend(options: SendMessageOpts = {}): RawSend {
  const given = check.object(options, "options");
  return {
    shouldPush: check.optional(given["shouldPush"], "shouldPush", check.boolean) ?? true,
    optimistic: check.optional(given["optimistic"], "optimistic", check.boolean) ?? false,
    idempotencyKey: check.optional(given["idempotencyKey"], "idempotencyKey", check.string),
  };
}
