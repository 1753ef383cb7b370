// Options of lists, streams and sends, checked and brought into the raw form.

import * as check from "./check.js";
import {
  Compression,
  ConsentState,
  ContentType,
  ConversationType,
  DeliveryStatus,
  GroupMessageKind,
  ListConversationsOrderBy,
  MessageSortBy,
  SortDirection,
} from "./enums.js";
import { rawPolicies } from "./permissions.js";
import type { RawCreateGroup, RawListConversations, RawListMessages, RawSend, RawTypes } from "./raw.js";
import type { CreateGroupOptions, ListConversationsOptions, ListMessagesOptions, SendMessageOpts } from "./types.js";

/** Type ids of the content types known by name. */
const TYPE_IDS: ReadonlyMap<ContentType, string> = new Map([
  [ContentType.Actions, "actions"],
  [ContentType.Attachment, "attachment"],
  [ContentType.GroupMembershipChange, "group_membership_change"],
  [ContentType.GroupUpdated, "group_updated"],
  [ContentType.Intent, "intent"],
  [ContentType.LeaveRequest, "leave_request"],
  [ContentType.Markdown, "markdown"],
  [ContentType.MultiRemoteAttachment, "multiRemoteStaticAttachment"],
  [ContentType.Reaction, "reaction"],
  [ContentType.ReadReceipt, "readReceipt"],
  [ContentType.RemoteAttachment, "remoteStaticAttachment"],
  [ContentType.Reply, "reply"],
  [ContentType.Text, "text"],
  [ContentType.TransactionReference, "transactionReference"],
  [ContentType.WalletSendCalls, "walletSendCalls"],
]);

/** Those that are no messages of their own: only who names them gets them. */
const SILENT = [ContentType.Reaction, ContentType.ReadReceipt];

const contentTypes = check.list(check.member<ContentType>(ContentType));

/**
 * The content types of a list or stream, by type id; `Custom`, being all others, turns those to
 * include and to exclude into each other.
 *
 * @internal
 */
export function rawTypes(given: Record<string, unknown>): RawTypes {
  const wanted = check.optional(given["contentTypes"], "contentTypes", contentTypes);
  const unwanted = check.optional(given["excludeContentTypes"], "excludeContentTypes", contentTypes) ?? [];
  const idsOf = (types: ContentType[]) => types.flatMap((type) => TYPE_IDS.get(type) ?? []);
  const othersThan = (types: ContentType[]) => idsOf([...TYPE_IDS.keys()].filter((type) => !types.includes(type)));
  let include = wanted && idsOf(wanted);
  let also: string[] | undefined;
  let exclude = idsOf(unwanted);
  if (wanted?.includes(ContentType.Custom)) {
    [include, also] = [undefined, include];
    exclude = [...exclude, ...othersThan(wanted)];
  }
  if (unwanted.includes(ContentType.Custom)) include ??= also ?? othersThan(SILENT);
  return check.present<RawTypes>({
    contentTypes: include,
    alsoTypes: also,
    excludeContentTypes: exclude.length > 0 ? exclude : undefined,
  });
}

/** Type ids of content types, given by name or, for those of an app, by type id. @internal */
export const typeIds = check.list((value, name) =>
  typeof value === "string" ? value : check.string(TYPE_IDS.get(value as ContentType), name),
);

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
export function rawCreateGroup(inboxIds: string[], options: CreateGroupOptions = {}): RawCreateGroup {
  const given = check.object(options, "options");
  const text = (name: keyof CreateGroupOptions) => check.optional(given[name], name, check.string);
  const { permissions, policies } = rawPolicies(given["permissions"], given["customPermissionPolicySet"]);
  const disappearing = check.optional(given["messageDisappearingSettings"], "messageDisappearingSettings", check.object);
  const time = (name: string) => disappearing && check.bigint(disappearing[name], `messageDisappearingSettings.${name}`);
  return check.present<RawCreateGroup>({
    members: check.list(check.string)(inboxIds, "inboxIds"),
    permissions,
    policies,
    name: text("groupName"),
    description: text("groupDescription"),
    imageUrl: text("groupImageUrlSquare"),
    appData: text("appData"),
    disappearFromNs: time("fromNs"),
    disappearInNs: time("inNs"),
  });
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
  const { contentTypes, alsoTypes, excludeContentTypes } = rawTypes(given);
  return check.present<RawListMessages>({
    contentTypes,
    alsoTypes,
    excludeContentTypes,
    excludeSenderInboxIds: check.optional(
      given["excludeSenderInboxIds"],
      "excludeSenderInboxIds",
      check.list(check.string),
    ),
    sentAfterNs: check.optional(given["sentAfterNs"], "sentAfterNs", check.bigint),
    sentBeforeNs: check.optional(given["sentBeforeNs"], "sentBeforeNs", check.bigint),
    deliveryStatus: check.optional(given["deliveryStatus"], "deliveryStatus", check.member<DeliveryStatus>(DeliveryStatus)),
    kind: check.optional(given["kind"], "kind", check.member<GroupMessageKind>(GroupMessageKind)),
    sortBy: check.optional(given["sortBy"], "sortBy", check.member<MessageSortBy>(MessageSortBy)),
    direction: check.optional(given["direction"], "direction", direction),
    limit: check.optional(given["limit"], "limit", check.count),
  });
}

/** @internal */
export function rawSend(options: SendMessageOpts = {}): RawSend & { compression: Compression | undefined } {
  const given = check.object(options, "options");
  return {
    shouldPush: check.optional(given["shouldPush"], "shouldPush", check.boolean),
    idempotencyKey: check.optional(given["idempotencyKey"], "idempotencyKey", check.string),
    compression: check.optional(given["compression"], "compression", check.member<Compression>(Compression)),
  };
}
