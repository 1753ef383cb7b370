// Plain values of the public surface.

import type { ContentCodec } from "./content/codec.js";
import type { Delivery } from "./delivery.js";
import type {
  BackupElementSelectionOption,
  Compression,
  ConsentEntityType,
  ConsentState,
  ContentType,
  ConversationType,
  DeliveryStatus,
  GroupMessageKind,
  GroupPermissionsOptions,
  IdentifierKind,
  ListConversationsOrderBy,
  MessageSortBy,
  PermissionLevel,
  PermissionPolicy,
  SortDirection,
} from "./enums.js";

/** An account. */
export interface Identifier {
  /** For Ethereum the address, `0x` and 40 hexadecimal digits; case does not matter. */
  identifier: string;
  identifierKind: IdentifierKind;
}

/** Signs for an account: a wallet, viem or wagmi account, or {@link createEOASigner}. */
export interface Signer {
  /** An externally owned account; contract wallets are not supported. */
  type: "EOA";
  getIdentifier(): Identifier | Promise<Identifier>;
  /** An ERC-191 signature of 65 bytes, or the same as `0x` and hexadecimal digits. */
  signMessage(message: string): Uint8Array | string | Promise<Uint8Array | string>;
}

/** An inbox: the accounts it is reached by and the installations that speak for it. */
export interface InboxState {
  inboxId: string;
  /** The account that may revoke installations; not always one of the accounts. */
  recoveryIdentifier: Identifier;
  installations: Installation[];
  accountIdentifiers: Identifier[];
}

/** An installation of an inbox. */
export interface Installation {
  /** Public key, in hexadecimal digits. */
  id: string;
  /** Public key. */
  bytes: Uint8Array;
  /** When it was added, by the clock of the device that did. */
  clientTimestampNs?: bigint;
}

/** Whether an installation can be added to conversations. */
export interface KeyPackageStatus {
  /** How long others can add it; absent when they cannot. Seconds since 1970. */
  lifetime?: { notBefore: bigint; notAfter: bigint };
  /** Why it cannot be added; absent when it can. */
  validationError?: string;
}

/** Where calls that need no client ask. */
export interface DeliveryOptions {
  /** Default: the `BrowserDelivery` shared by all clients of the page. */
  delivery?: Delivery;
}

/** Options of `Client.create` and `Client.build`. */
export interface ClientOptions {
  /** Where envelopes go. Default: a `BrowserDelivery` shared by all clients of the page. */
  delivery?: Delivery;
  /** Database name. Default: derived from the inbox id. `null`: memory only, gone with the page. */
  dbPath?: string | null;
  /**
   * 32 bytes that seal the database. Default: a key kept by the browser that pages cannot read.
   * A database opens only with the key it was created with.
   */
  dbEncryptionKey?: Uint8Array;
  /** Codecs for further content types. */
  codecs?: ContentCodec[];
  /** Do not register in `Client.create`; call `client.register()` later. */
  disableAutoRegister?: boolean;
  /** Nonce of the inbox to make for a new account. Default 1. */
  nonce?: bigint;
  /** Name and version of the app, for its own use. */
  appVersion?: string;
  /** Accepted for compatibility with other SDKs and not used: delivery decides where to. */
  env?: string;
}

/** What goes into an archive. */
export interface ArchiveOptions {
  /** Default: everything. */
  elements?: BackupElementSelectionOption[];
  /** Only messages sent later than this. */
  startNs?: bigint;
  /** Only messages not sent later than this. */
  endNs?: bigint;
  /** Leave out messages that will disappear. */
  excludeDisappearingMessages?: boolean;
}

/** What an archive says of itself. */
export interface ArchiveMetadata {
  /** The version of its format. */
  backupVersion: number;
  elements: BackupElementSelectionOption[];
  /** When it was made, by the clock of the device that did. */
  exportedAtNs: bigint;
  /** The beginning of its window, if it has one. */
  startNs?: bigint;
  /** The end of its window, if it has one. */
  endNs?: bigint;
}

/** How far an import got. */
export interface ArchiveProgress {
  /** Bytes of the archive that were read. */
  readBytes: number;
  /** How many it has. */
  totalBytes: number;
  /** Conversations, messages and decisions that were read. */
  elements: number;
}

/** Options of `client.importArchive`. */
export interface ImportArchiveOptions {
  /** Called again and again while the import goes on, the last time when all is applied. */
  onProgress?: (progress: ArchiveProgress) => void;
}

/** Name and version of a content type. */
export interface ContentTypeId {
  /** Who defines it, for example `xmtp.org`. */
  authorityId: string;
  /** For example `text`. */
  typeId: string;
  versionMajor: number;
  versionMinor: number;
}

/** Content as it is sent. */
export interface EncodedContent {
  type?: ContentTypeId;
  parameters: Record<string, string>;
  /** Shown by apps that do not know the type. */
  fallback?: string;
  /** 0 deflate, 1 gzip; absent for none. */
  compression?: number;
  content: Uint8Array;
}

/** A decision about a conversation or an inbox. */
export interface Consent {
  entityType: ConsentEntityType;
  /** A conversation id or an inbox id. */
  entity: string;
  state: ConsentState;
}

/** A change of the user's preferences. */
export type UserPreferenceUpdate = { type: "ConsentUpdate"; consent: Consent };

/** A member of a conversation. */
export interface GroupMember {
  inboxId: string;
  /** Accounts of the inbox, as far as they are known here. */
  accountIdentifiers: Identifier[];
  installationIds: string[];
  /** Installations the group could not add: they had no usable key package. */
  failedInstallationIds: string[];
  permissionLevel: PermissionLevel;
  /** Consent about the inbox. */
  consentState: ConsentState;
}

/** Kind and creator of a conversation. */
export interface GroupMetadata {
  conversationType: ConversationType;
  creatorInboxId: string;
}

/** When messages disappear. Both 0: never. */
export interface MessageDisappearingSettings {
  /** Messages sent from this time on disappear, in nanoseconds since 1970. */
  fromNs: bigint;
  /** So many nanoseconds after they were sent. */
  inNs: bigint;
}

/** Who may do what in a group. */
export interface PermissionPolicySet {
  addMemberPolicy: PermissionPolicy;
  removeMemberPolicy: PermissionPolicy;
  /** Not `Allow`: an admin list is never open to every member (PERM-017). */
  addAdminPolicy: PermissionPolicy;
  /** Not `Allow` either. */
  removeAdminPolicy: PermissionPolicy;
  updateGroupNamePolicy: PermissionPolicy;
  updateGroupDescriptionPolicy: PermissionPolicy;
  updateGroupImageUrlSquarePolicy: PermissionPolicy;
  updateMessageDisappearingPolicy: PermissionPolicy;
  updateAppDataPolicy: PermissionPolicy;
}

/** The policies of a group. */
export interface GroupPermissions {
  policyType: GroupPermissionsOptions;
  policySet: PermissionPolicySet;
}

/** Options of a new group. */
export interface CreateGroupOptions {
  /** Default: `GroupPermissionsOptions.Default`. */
  permissions?: GroupPermissionsOptions;
  /** With `GroupPermissionsOptions.CustomPolicy`, and only then. */
  customPermissionPolicySet?: PermissionPolicySet;
  /** At most 100 bytes of UTF-8. */
  groupName?: string;
  /** At most 1000 bytes. */
  groupDescription?: string;
  /** At most 2048 bytes. */
  groupImageUrlSquare?: string;
  /** For the app's own use; at most 8192 bytes. */
  appData?: string;
  messageDisappearingSettings?: MessageDisappearingSettings;
}

/** Whom `addMembers` could not bring in; both empty when everybody is in. */
export interface AddMembersResult {
  /** Installations without a usable key package, of inboxes that were added. */
  failedInstallations: string[];
  /** Inboxes without a single usable installation: they are not members. */
  notAdded: string[];
}

/** Filters of a conversation list. */
export interface ListConversationsOptions {
  /** Only these states; empty: none. Default: allowed and unknown. */
  consentStates?: ConsentState[];
  conversationType?: ConversationType;
  /** Exclusive. */
  createdAfterNs?: bigint;
  /** Exclusive. */
  createdBeforeNs?: bigint;
  /** List every group of each DM. */
  includeDuplicateDms?: boolean;
  /** Default: last activity. */
  orderBy?: ListConversationsOrderBy;
  limit?: bigint | number;
}

/** Which content types are given. */
export interface ContentTypesFilter {
  /** Only these. Default: all but reactions and read receipts. */
  contentTypes?: ContentType[];
  excludeContentTypes?: ContentType[];
}

/** Filters of a message list. */
export interface ListMessagesOptions extends ContentTypesFilter {
  excludeSenderInboxIds?: string[];
  /**
   * Exclusive. Own messages that wait to be sent are after every time; the time of one of them
   * stands for its place, so that an app can read on from the last message of a page.
   */
  sentAfterNs?: bigint;
  /** Exclusive; as above. */
  sentBeforeNs?: bigint;
  deliveryStatus?: DeliveryStatus;
  kind?: GroupMessageKind;
  /** Default: the time it was sent. */
  sortBy?: MessageSortBy;
  /** Default: ascending. */
  direction?: SortDirection | "ascending" | "descending";
  limit?: bigint | number;
}

/** Options of `sendText` and its kind. */
export interface SendOpts {
  /** The same content with the same key is one message with one id. Default: a new key. */
  idempotencyKey?: string;
  /** Compresses the content. Default: it is not. Apps that cannot decompress show its fallback. */
  compression?: Compression;
}

/** Options of `send`. */
export interface SendMessageOpts extends SendOpts {
  /** Whether receivers are to be notified. Default: as is usual for the content type. */
  shouldPush?: boolean;
}

/** A position in an ordered log. */
export interface Cursor {
  originatorId: number;
  sequenceId: bigint;
}

/** Why a conversation waits. Nothing is read or written in it until that is over. */
export interface Hold {
  /** `floor`: it needs a newer version of this package; `identity`: an identity update is missing; … */
  code: string;
  /** A sentence for people. */
  message: string;
  /** The position in the conversation's log it waits at. */
  sequenceId: number;
}

/** Something refused for good. */
export interface Rejection {
  /** Its position in the conversation's log. */
  sequenceId: number;
  /** The rule it breaks. */
  code: string;
  /** A sentence for people. */
  reason: string;
}

/** An operation on a conversation that is not finished. */
export interface PendingIntent {
  /** Operations are done in this order. */
  number: number;
  kind: "addMembers" | "removeMembers" | "refreshMembers" | "change" | "selfUpdate" | "send";
  /** Nothing handed out yet; handed out and not seen again; applied, with Welcomes to publish. */
  state: "toPublish" | "published" | "committed";
  /** How often its commit was built: more than once when others were first. */
  builds: number;
}

/** An installation that a group could not add, for want of a usable key package. */
export interface FailedInstallation {
  inboxId: string;
  installationId: string;
}

/** State of a conversation for people who look into a problem. */
export interface ConversationDebugInfo {
  epoch: bigint;
  /** Equal at all members in the same state of the same epoch. */
  epochAuthenticator: string;
  /** Why it waits; undefined when it does not. */
  held: Hold | undefined;
  rejected: Rejection[];
  pendingIntents: PendingIntent[];
  failedInstallations: FailedInstallation[];
  /** Always false: a member in doubt stops instead of going on. */
  maybeForked: boolean;
  forkDetails: string;
  /** Always undefined: no commit log is kept. */
  isCommitLogForked: boolean | undefined;
  localCommitLog: string;
  remoteCommitLog: string;
  /** How far the conversation's log was applied. */
  cursor: Cursor[];
}

/** A physical group behind a conversation. */
export interface InspectedGroup {
  groupId: string;
  /** Listed and written in. */
  isWinner: boolean;
  state: "active" | "inactive" | "restored" | "failed";
  /** The last applied epoch; 0 where no MLS state is held. */
  epoch: bigint;
  /** Equal at all members in the same state of the same epoch; empty where no MLS state is held. */
  epochAuthenticator: string;
  /** The last position of its log that was applied or rejected. */
  sequenceId: number;
  /** What was decided about this group; the newest decision about any of them counts. */
  consentState: ConsentState;
  /** Time of the last consent decision; undefined without one. */
  consentedAtNs?: bigint;
  /** Retained activity; undefined if there never was a message. */
  lastMessageNs?: bigint;
  createdAtNs: bigint;
  creatorInboxId: string;
  addedByInboxId: string;
  pendingIntents: PendingIntent[];
  /** Why it waits, if it does. */
  hold?: Hold;
  /** Envelopes refused for good, with the rule they break: the newest 127. */
  rejected: Rejection[];
  failedInstallations: FailedInstallation[];
}

/** What a conversation is made of. */
export interface Inspection {
  /** The id it is listed under. */
  conversationId: string;
  dmId?: string;
  /** Consent of the conversation. */
  consentState: ConsentState;
  groups: InspectedGroup[];
}
