// The narrow contract between the classes of this package and the wasm module.
//
// - Values are plain: ids are lowercase hex strings, bytes are `Uint8Array`s that own their memory
//   (never views into wasm memory), nanosecond times are bigints, counts and enums are numbers
//   (enums as in enums.ts). Absent optional fields are absent or undefined, never null.
// - Every function marked so returns a promise; none throws. A failure is rejected with a plain
//   `{ code, message, retryable }` (codes: ErrorCode in errors.ts).
// - A conversation is named by the id of any group of its stitched DM; it resolves to the winner.
// - Callbacks are called from a task of their own, never while a call is on the stack.
// - Arguments have been checked for their JavaScript types; ids and sizes are checked in Rust.

import type { Delivery } from "./delivery.js";
import type {
  ConsentEntityType,
  ConsentState,
  ConversationType,
  DeliveryStatus,
  GroupMessageKind,
  GroupPermissionsOptions,
  ListConversationsOrderBy,
  MessageSortBy,
  MetadataField,
  PermissionPolicy,
  SortDirection,
} from "./enums.js";
import type { ClientEvent } from "./events.js";
import type { RawEvent, RawEventFilter, RawFilter, RawSelection, RawTaken } from "./raw-readers.js";
import type {
  AddMembersResult,
  Consent,
  EncodedContent,
  GroupMember,
  Hold,
  Identifier,
  InboxState,
  Inspection,
} from "./types.js";

export type { RawEvent, RawEventFilter, RawFilter, RawSelection, RawTaken } from "./raw-readers.js";

/** What the wasm glue exports besides its own initialiser. */
export interface RawModule {
  /** The package's version. */
  version(): string;

  /**
   * Called with the text of a panic, before the trap. Every client made before it is then dead:
   * its calls reject with `client.crashed`, its tasks start nothing more. Clients made after it
   * work.
   */
  onPanic(handler: (message: string) => void): void;

  /** Opens a client on a database, making an installation if there is none. */
  createClient(options: RawClientOptions): Promise<RawClient>;

  /** The id of the inbox that an identifier and a nonce make. */
  generateInboxId(identifier: Identifier, nonce: bigint): Promise<string>;

  /** The newest state of each inbox, in order; one that does not exist is left out. */
  inboxStates(delivery: Delivery, inboxIds: string[]): Promise<InboxState[]>;

  /** Whether each identifier has an inbox with an installation to write to, in order. */
  canMessage(delivery: Delivery, identifiers: Identifier[]): Promise<boolean[]>;

  /** Revokes installations of an inbox, signed by its recovery account; no database is needed. */
  revokeInstallations(options: RawRevocation): Promise<void>;

  /** Signs a text with a secp256k1 key as wallets do (ERC-191): 65 bytes. */
  signWithKey(key: Uint8Array, text: string): Promise<Uint8Array>;
}

export interface RawClientOptions {
  /** The account; its inbox is looked up, and made if no inbox claims it. */
  identifier: Identifier;
  /** Nonce of an inbox to make. */
  nonce: bigint;
  /** Database name; undefined: derived from the inbox id; null: memory only. */
  dbPath: string | null | undefined;
  /** 32 bytes; undefined: a key kept by the browser. */
  dbEncryptionKey: Uint8Array | undefined;
  delivery: Delivery;
  /** Register before resolving, if the installation is not registered yet; needs `sign`. */
  register: boolean;
  /**
   * Signs a text with the account. If it rejects, the call fails with `client.signature`. Without it calls
   * that need it reject with `client.no_signer`.
   */
  sign: ((text: string) => Promise<Uint8Array>) | undefined;
}

export interface RawRevocation {
  delivery: Delivery;
  inboxId: string;
  installationIds: string[];
  /** The account that signs. */
  identifier: Identifier;
  /** As in RawClientOptions. */
  sign: (text: string) => Promise<Uint8Array>;
}

export interface RawKeyPackageStatus {
  usable: boolean;
  /** When it expires, if it does. */
  expiresNs?: bigint;
  /** Why it is not usable. */
  problem?: string;
}

/** A client. Freed with `close`. */
export interface RawClient {
  readonly inboxId: string;
  readonly installationId: string;

  isRegistered(): Promise<boolean>;
  /** Publishes the identity update and a key package; nothing if that is done. */
  register(): Promise<void>;
  /** Ends background work and subscriptions, closes the database; idempotent. */
  close(): Promise<void>;

  /** The inbox of each identifier, in order; a claim counts only after its log was verified. */
  findInboxes(identifiers: Identifier[]): Promise<(string | undefined)[]>;
  /** Whether each identifier has an inbox with an installation to write to, in order. */
  canMessage(identifiers: Identifier[]): Promise<boolean[]>;

  /**
   * The state of each inbox, in order; one that is not known is left out. `fetch` reads on, else
   * states are as far as they were read here.
   */
  inboxStates(inboxIds: string[], fetch: boolean): Promise<InboxState[]>;
  /** The own inbox. */
  ownState(fetch: boolean): Promise<InboxState>;
  /** Of the own inbox; undefined: all but this one. Those revoked before are passed over. */
  revokeInstallations(installationIds: string[] | undefined): Promise<void>;
  /** In the order asked. */
  keyPackageStatuses(installationIds: string[]): Promise<RawKeyPackageStatus[]>;

  /** DMS-005; resolves when durable, online or not. */
  createDm(peerInboxId: string): Promise<RawConversation>;
  /** Resolves when durable, online or not; adding the members goes on in the background. */
  createGroup(options: RawCreateGroup): Promise<RawConversation>;
  /**
   * Makes one change on what the conversation's log holds now. Resolves when it is applied and its
   * Welcomes are accepted, after adding with whom it could not bring in.
   */
  changeGroup(id: string, ...change: RawChange): Promise<AddMembersResult | undefined>;
  /** The set of policies, then the policy of each {@link RawAction} in order. */
  permissions(id: string): Promise<[GroupPermissionsOptions, ...PermissionPolicy[]]>;
  list(options: RawListConversations): Promise<RawConversation[]>;
  /** Undefined for an id that is not stored. */
  conversation(id: string): Promise<RawConversation | undefined>;
  /** The conversation of the DM with an inbox, if there is one. */
  dmWith(peerInboxId: string): Promise<RawConversation | undefined>;
  /** The other groups of a stitched DM, each described as itself (DMS-017). */
  duplicateDms(id: string): Promise<RawConversation[]>;
  members(id: string): Promise<GroupMember[]>;
  inspect(id: string): Promise<Inspection>;

  /** Resolves with the message id when durable. */
  send(id: string, content: EncodedContent, options: RawSend): Promise<string>;
  /** Publishes now what waits to be published. */
  publishMessages(id: string): Promise<void>;
  /** One filter and one limit over the union (DMS-009). */
  messages(id: string, options: RawListMessages): Promise<RawMessage[]>;
  countMessages(id: string, options: RawListMessages): Promise<bigint>;
  lastMessage(id: string): Promise<RawMessage | undefined>;
  /** The time of the newest read receipt of each inbox. */
  lastReadTimes(id: string): Promise<[inboxId: string, atNs: bigint][]>;
  message(messageId: string): Promise<RawMessage | undefined>;

  /** Fetches at least new conversations. */
  sync(): Promise<void>;
  /** `sync`, and at least every conversation in these states (undefined: allowed and unknown). */
  syncAll(consentStates: ConsentState[] | undefined): Promise<void>;
  /** Every group of one conversation. */
  syncConversation(id: string): Promise<void>;
  /** The own other installations: what they decided, and what is to be told to them. */
  syncDevices(): Promise<void>;

  /** The record of exactly this entity. */
  consent(entityType: ConsentEntityType, entity: string): Promise<ConsentState>;
  /** Each record names exactly one entity; one act, one time, one event. */
  setConsent(records: Consent[]): Promise<void>;
  /** Acts on every group of the set, all with one time. */
  setConversationConsent(id: string, state: ConsentState): Promise<void>;

  /**
   * At most `limit` rows of a part (0 groups, 1 messages, 2 consent) from where the rows before
   * ended, packed for the module for archives; and where the next ones begin, if there are more.
   */
  archiveRows(part: number, from: Uint8Array | undefined, limit: number): Promise<[rows: Uint8Array, next?: Uint8Array]>;
  /**
   * Applies rows that the module for archives packed, in one durable unit; of rows that are refused,
   * what comes before the first. `end` says that the import ends with them, and whether the archive
   * ended too.
   */
  importRows(rows: Uint8Array, end: boolean | undefined): Promise<void>;

  /** Resolves when subscribed: everything that happens afterwards is reported. */
  subscribe(filter: RawFilter, listener: (event: RawEvent) => void): Promise<RawSubscription>;
  /** Events from now on. `callback`: the one taken counts as held until the next is asked for. */
  events(filter: RawEventFilter, callback: boolean): Promise<RawTaken<ClientEvent>>;

  /** The durable stream; rejects with `stream.owned` while another has it. */
  consume(selection: RawSelection): Promise<RawTaken<RawMessage>>;
  /** Messages behind a cursor; undefined: from the oldest on. */
  replay(cursor: string | undefined, selection: RawSelection): Promise<RawTaken<RawMessage>>;
  /** The newest messages of a conversation by delivery, then what follows them. */
  replayRecent(id: string, count: number): Promise<RawTaken<RawMessage>>;
}

/** A subscription. */
export interface RawSubscription {
  /** Reports nothing more; frees it. */
  end(): void;
}

export interface RawConversation {
  /** The group it is listed and written in: the winner. */
  id: string;
  conversationType: ConversationType;
  /** Only of a DM. */
  dmId?: string;
  /** Only of a DM the own inbox is one of the pair of. */
  peerInboxId?: string;
  createdAtNs: bigint;
  addedByInboxId: string;
  creatorInboxId: string;
  state: "active" | "inactive" | "restored" | "failed";
  /** Why it failed: a code. */
  failure?: string;
  /** Why it waits, if it does. */
  hold?: Hold;
  /** The version it needs, if it is paused for one. */
  pausedForVersion?: string;
  /** Of the conversation, for every group of it. */
  consentState: ConsentState;
  // What is empty or 0 of the following is absent. Numbers are in decimal digits; lists of inbox
  // ids have spaces between them.
  name?: string;
  description?: string;
  imageUrl?: string;
  appData?: string;
  /** The lowest version that may take part. */
  floor?: string;
  disappearFromNs?: string;
  disappearInNs?: string;
  admins?: string;
  superAdmins?: string;
  /** Members who asked to leave and are still there. */
  leaving?: string;
}

/** A new group. */
export interface RawCreateGroup {
  members: string[];
  permissions: GroupPermissionsOptions;
  /** With `CustomPolicy`: the policy of each {@link RawAction} in order. */
  policies?: PermissionPolicy[];
  name?: string;
  description?: string;
  imageUrl?: string;
  appData?: string;
  disappearFromNs?: bigint;
  disappearInNs?: bigint;
}

/** What a policy is about. */
export enum RawAction {
  AddMember,
  RemoveMember,
  AddAdmin,
  RemoveAdmin,
  Name,
  Description,
  ImageUrl,
  Disappearing,
  AppData,
}

/** The number behind the {@link MetadataField}s: the floor. */
export const RAW_FLOOR = 6;

/** A change of a conversation. */
export type RawChange =
  | [what: "add" | "remove", inboxIds: string[]]
  /** The two times are bigints, the others texts. */
  | [what: "setting", setting: MetadataField | typeof RAW_FLOOR, value: string | bigint]
  | [what: "policy", action: RawAction, policy: PermissionPolicy]
  | [what: "admin" | "superAdmin", inboxId: string, given: boolean]
  /** Sends a request; the removal is another member's change. */
  | [what: "leave"];

export interface RawMessage {
  id: string;
  /** The conversation as it is listed now. */
  conversationId: string;
  /** The physical group it was sent in. */
  groupId: string;
  senderInboxId: string;
  senderInstallationId: string;
  sentAtNs: bigint;
  insertedAtNs: bigint;
  kind: GroupMessageKind;
  deliveryStatus: DeliveryStatus;
  /** Why it failed: a code. */
  failure?: string;
  /** The place behind it; absent while it is not published. */
  cursor?: string;
  expiresAtNs?: bigint;
  /** The latest of an edited message; of one that was taken back its type and nothing else. */
  content: EncodedContent;
  /** When it was edited last. */
  editedAtNs?: bigint;
  /** Who took it back. */
  deletedByInboxId?: string;
  /** Reactions to it in their order, those that take one back among them: the newest 500. */
  reactions?: RawMessage[];
  /** What it answers, if that is still there; without what hangs on that. */
  inReplyTo?: RawMessage;
}

export interface RawSend {
  /** Undefined: as the content type does by default. */
  shouldPush: boolean | undefined;
  idempotencyKey: string | undefined;
}

export interface RawListConversations {
  consentStates?: ConsentState[];
  conversationType?: ConversationType;
  createdAfterNs?: bigint;
  createdBeforeNs?: bigint;
  includeDuplicateDms?: boolean;
  orderBy?: ListConversationsOrderBy;
  limit?: number;
}

/** Content types by type id, for example `text`. */
export interface RawTypes {
  /** Only these. Default: all but reactions, edits, deletions and read receipts. */
  contentTypes?: string[];
  /** With all others, these of the types that are left out by default. */
  alsoTypes?: string[];
  excludeContentTypes?: string[];
}

export interface RawListMessages extends RawTypes {
  excludeSenderInboxIds?: string[];
  sentAfterNs?: bigint;
  sentBeforeNs?: bigint;
  deliveryStatus?: DeliveryStatus;
  kind?: GroupMessageKind;
  sortBy?: MessageSortBy;
  direction?: SortDirection;
  limit?: number;
}
