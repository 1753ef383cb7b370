// Events: what a client did, told as it happens, in every tab of its database.

import * as check from "./check.js";
import type { Core } from "./core.js";
import type { ConsentEntityType, ConsentState, ContentType, ConversationType, DeliveryStatus } from "./enums.js";
import { typeIds } from "./options.js";
import type { PullOptions } from "./pull.js";
import type { RawEventFilter } from "./raw.js";
import type { AsyncStreamProxy } from "./streams.js";
import type { ContentTypeId } from "./types.js";

interface OfGroup {
  /** The group it is about: of a stitched DM, that copy. Any call that takes a conversation's id takes it. */
  readonly groupId: string;
}

interface OfMessage extends OfGroup {
  readonly messageId: string;
}

/** A conversation was created here, or this installation was added to it; also when it was added again. */
export interface ConversationJoined extends OfGroup {
  readonly type: "conversation.joined";
  readonly conversationType: ConversationType;
  readonly origin: "created" | "welcomed";
  /** Who added it; absent when it was created here. */
  readonly addedByInboxId?: string;
}

/** This installation was removed from a conversation; its history stays readable. */
export interface ConversationRemoved extends OfGroup {
  readonly type: "conversation.removed";
  /** `left` when the own inbox had asked to leave. */
  readonly cause: "removed" | "left";
}

/** Inboxes were added to a conversation or removed from it, one event a change. */
export interface MembershipChanged extends OfGroup {
  readonly type: "conversation.membership_changed";
  readonly addedInboxIds: readonly string[];
  readonly removedInboxIds: readonly string[];
}

/** Settings, roles or policies of a conversation changed, one event a change. */
export interface MetadataChanged extends OfGroup {
  readonly type: "conversation.metadata_changed";
  /** Names as in `metadataFieldName`, else of the component, else `component:` and its number. */
  readonly changed: readonly string[];
}

/** A conversation waits for a newer version of this package. */
export interface ConversationPaused extends OfGroup {
  readonly type: "conversation.paused";
  readonly pausedForVersion: string;
}

/** A message of another installation, other devices of the own inbox among them, is readable. */
export interface MessageReceived extends OfMessage {
  readonly type: "message.received";
  readonly senderInboxId: string;
  /** Absent when the content has no type that can be read. */
  readonly contentType?: Readonly<Omit<ContentTypeId, "versionMinor">>;
}

/** A message of this installation was published, or given up. */
export interface MessageStatusChanged extends OfMessage {
  readonly type: "message.status_changed";
  readonly previous: DeliveryStatus;
  readonly current: DeliveryStatus;
}

/** A message was deleted. */
export interface MessageDeleted extends OfMessage {
  readonly type: "message.deleted";
  /** `deleted_locally`: by this app, here only. */
  readonly cause: "deleted" | "deleted_locally";
}

/** A disappearing message is gone. */
export interface MessageExpired extends OfMessage {
  readonly type: "message.expired";
}

/**
 * What was decided about a conversation or an inbox is now another state, wherever it was decided. Of
 * a stitched DM the entity can be any of its groups; `getConversationById` finds the conversation.
 */
export interface ConsentChanged {
  readonly type: "consent.changed";
  readonly entityType: ConsentEntityType;
  /** A group id or an inbox id. */
  readonly entity: string;
  readonly state: ConsentState;
}

/** This installation is known to others. */
export interface IdentityRegistered {
  readonly type: "identity.registered";
  readonly inboxId: string;
  readonly installationId: string;
}

/** The own inbox has one installation more. */
export interface OwnInstallationAdded {
  readonly type: "identity.own_installation_added";
  readonly installationId: string;
}

/** The own inbox has one installation less. */
export interface OwnInstallationRevoked {
  readonly type: "identity.own_installation_revoked";
  readonly installationId: string;
  readonly isThisInstallation: boolean;
}

/** An import that stored something has ended. What it stored is told by no other event. */
export interface ArchiveRestored {
  readonly type: "archive.restored";
  /** False when it ended with an error. */
  readonly complete: boolean;
}

/** Events were dropped because 1,024 were waiting already: read again what you show. */
export interface Lagged {
  readonly type: "lagged";
  /** How many since the last time. */
  readonly discarded: number;
}

/** Something a client did. Everything it says is readable by then. */
export type ClientEvent =
  | ConversationJoined
  | ConversationRemoved
  | MembershipChanged
  | MetadataChanged
  | ConversationPaused
  | MessageReceived
  | MessageStatusChanged
  | MessageDeleted
  | MessageExpired
  | ConsentChanged
  | IdentityRegistered
  | OwnInstallationAdded
  | OwnInstallationRevoked
  | ArchiveRestored
  | Lagged;

/** The names of events. */
export type ClientEventType = ClientEvent["type"];

/** Which events. `lagged` comes whatever is asked for. */
export interface EventStreamOptions extends PullOptions<ClientEvent> {
  /** Absent: all; empty: none. */
  kinds?: ClientEventType[];
  /** Of events about conversations those about these; any id of a stitched DM stands for all of it. */
  conversationIds?: string[];
  /** Of `message.received` those with such content: by name, or by the type id of an app's own. */
  contentTypes?: (ContentType | string)[];
}

/** @internal */
export async function streamEvents(core: Core, options: EventStreamOptions): Promise<AsyncStreamProxy<ClientEvent>> {
  check.object(options, "options");
  const filter = check.present<RawEventFilter>({
    kinds: check.optional(options.kinds, "kinds", check.list(check.string)),
    conversationIds: check.optional(options.conversationIds, "conversationIds", check.list(check.string)),
    contentTypes: check.optional(options.contentTypes, "contentTypes", typeIds),
  });
  return core.pull((raw) => raw.events(filter, options.onValue !== undefined), frozen, options);
}

function frozen(event: ClientEvent): ClientEvent {
  for (const value of Object.values(event)) Object.freeze(value);
  return Object.freeze(event);
}
