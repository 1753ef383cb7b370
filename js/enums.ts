// Numeric enums with the values other SDKs of this protocol use. They are not the wire values.

/** How a choice is to look. */
export enum ActionStyle {
  Primary = 0,
  Secondary = 1,
  Danger = 2,
}

/** What an archive can hold. */
export enum BackupElementSelectionOption {
  /** Conversations and their messages. */
  Messages = 0,
  /** What the user decided about conversations and inboxes. */
  Consent = 1,
}

/** How content is compressed. */
export enum Compression {
  /** In the zlib format. */
  Deflate = 0,
  Gzip = 1,
}

/** What the user decided about a conversation or an inbox. */
export enum ConsentState {
  /** No decision. */
  Unknown = 0,
  /** Wanted. */
  Allowed = 1,
  /** Blocked. */
  Denied = 2,
}

/** What a consent record is about. */
export enum ConsentEntityType {
  /** A conversation, by its id. */
  GroupId = 0,
  /** An inbox, by its id. */
  InboxId = 1,
}

/** Content types known by name. */
export enum ContentType {
  Actions = 0,
  Attachment = 1,
  /** Any type that is not in this list. */
  Custom = 2,
  GroupMembershipChange = 3,
  GroupUpdated = 4,
  Intent = 5,
  LeaveRequest = 6,
  Markdown = 7,
  MultiRemoteAttachment = 8,
  Reaction = 9,
  ReadReceipt = 10,
  RemoteAttachment = 11,
  Reply = 12,
  Text = 13,
  TransactionReference = 14,
  WalletSendCalls = 15,
}

/** Kinds of conversation. */
export enum ConversationType {
  Dm = 0,
  Group = 1,
  Sync = 2,
  Oneshot = 3,
}

/** How far a message got. */
export enum DeliveryStatus {
  /** Stored here, not yet seen in the conversation's log. */
  Unpublished = 0,
  /** At its place in the conversation's log. */
  Published = 1,
  /** Given up. */
  Failed = 2,
}

/** Where a message comes from. */
export enum GroupMessageKind {
  /** Sent by a member. */
  Application = 0,
  /** Made here from a change of the conversation. */
  MembershipChange = 1,
}

/** Policies of a new group, or of a group as it is. */
export enum GroupPermissionsOptions {
  /** Every member adds members and changes name, description, image and app data. */
  Default = 0,
  /** Admins and super admins do. */
  AdminOnly = 1,
  /** Policies of their own. */
  CustomPolicy = 2,
}

/** What an account is. */
export enum IdentifierKind {
  /** An Ethereum account, by its address. */
  Ethereum = 0,
  /** A passkey, by its public key. */
  Passkey = 1,
}

/** Order of a conversation list, newest first in both cases. */
export enum ListConversationsOrderBy {
  CreatedAt = 0,
  LastActivity = 1,
}

/** Settings of a conversation that a policy can be about. */
export enum MetadataField {
  AppData = 0,
  Description = 1,
  GroupName = 2,
  GroupImageUrlSquare = 3,
  /** From when messages disappear; its policy is that of the next one too. */
  MessageExpirationFromNs = 4,
  /** After how long messages disappear. */
  MessageExpirationInNs = 5,
}

/** What messages are sorted by. */
export enum MessageSortBy {
  SentAt = 0,
  InsertedAt = 1,
  /** The order in which they became deliverable here; those not published are left out. */
  Delivered = 2,
}

/** A member's role. */
export enum PermissionLevel {
  Member = 0,
  Admin = 1,
  SuperAdmin = 2,
}

/** Who may do something. */
export enum PermissionPolicy {
  /** Every member. */
  Allow = 0,
  /** Nobody. */
  Deny = 1,
  /** Admins and super admins. */
  Admin = 2,
  /** Super admins. */
  SuperAdmin = 3,
  /** The group has no such policy, so nobody; it can be read and not set. */
  DoesNotExist = 4,
  /** A combination; it can be read and not set. */
  Other = 5,
}

/** What a policy is about. */
export enum PermissionUpdateType {
  AddMember = 0,
  RemoveMember = 1,
  AddAdmin = 2,
  RemoveAdmin = 3,
  /** Changing a setting, named by its {@link MetadataField}. */
  UpdateMetadata = 4,
}

/** What a reaction does. */
export enum ReactionAction {
  /** What a later version may have. */
  Unknown = 0,
  Added = 1,
  Removed = 2,
}

/** What the content of a reaction is. */
export enum ReactionSchema {
  /** What a later version may have. */
  Unknown = 0,
  /** The sign itself, for example an emoji. */
  Unicode = 1,
  /** A name of it, for example `:thumbsup:`. */
  Shortcode = 2,
  /** Whatever the app makes of it. */
  Custom = 3,
}

/** Order of a message list. */
export enum SortDirection {
  Ascending = 0,
  Descending = 1,
}
