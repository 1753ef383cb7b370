// The public package. Importing it runs nothing: wasm loads with the first client or `init()`.

export { initArchives } from "./archives.js";
export { BrowserDelivery, type BrowserDeliveryOptions } from "./browser-delivery.js";
export { Client, type ExtractCodecContentTypes, generateInboxId } from "./client.js";
export {
  type Action,
  type Actions,
  ActionsCodec,
  contentTypeActions,
  encodeActions,
  isActions,
} from "./content/actions.js";
export {
  type Attachment,
  AttachmentCodec,
  contentTypeAttachment,
  encodeAttachment,
  isAttachment,
} from "./content/attachment.js";
export { type EncryptedAttachment, decryptAttachment, encryptAttachment } from "./content/attachment-encryption.js";
export {
  CodecRegistry,
  type ContentCodec,
  type Decoded,
  contentTypeToString,
  contentTypesAreEqual,
} from "./content/codec.js";
export { compressContent, decompressContent } from "./content/compression.js";
export {
  type DeleteMessage,
  DeleteMessageCodec,
  contentTypeDeleteMessage,
  encodeDeleteMessage,
  isDeleteMessage,
} from "./content/delete-message.js";
export {
  type EditMessage,
  EditMessageCodec,
  contentTypeEditMessage,
  encodeEditMessage,
  isEditMessage,
} from "./content/edit-message.js";
export {
  type GroupUpdated,
  type Inbox,
  type MetadataFieldChange,
  contentTypeGroupUpdated,
  isGroupUpdated,
} from "./content/group-updated.js";
export { type Intent, IntentCodec, contentTypeIntent, encodeIntent, isIntent } from "./content/intent.js";
export {
  type LeaveRequest,
  LeaveRequestCodec,
  contentTypeLeaveRequest,
  isLeaveRequest,
} from "./content/leave-request.js";
export { MarkdownCodec, contentTypeMarkdown, encodeMarkdown, isMarkdown } from "./content/markdown.js";
export {
  type MultiRemoteAttachment,
  MultiRemoteAttachmentCodec,
  contentTypeMultiRemoteAttachment,
  encodeMultiRemoteAttachment,
  isMultiRemoteAttachment,
} from "./content/multi-remote-attachment.js";
export { type Reaction, ReactionCodec, contentTypeReaction, encodeReaction, isReaction } from "./content/reaction.js";
export {
  type ReadReceipt,
  ReadReceiptCodec,
  contentTypeReadReceipt,
  encodeReadReceipt,
  isReadReceipt,
} from "./content/read-receipt.js";
export {
  type RemoteAttachment,
  RemoteAttachmentCodec,
  contentTypeRemoteAttachment,
  encodeRemoteAttachment,
  isRemoteAttachment,
} from "./content/remote-attachment.js";
export {
  type EnrichedReply,
  type Reply,
  ReplyCodec,
  contentTypeReply,
  encodeReply,
  isReply,
  isTextReply,
} from "./content/reply.js";
export { TextCodec, contentTypeText, encodeText, isText } from "./content/text.js";
export {
  type TransactionMetadata,
  type TransactionReference,
  TransactionReferenceCodec,
  contentTypeTransactionReference,
  encodeTransactionReference,
  isTransactionReference,
} from "./content/transaction-reference.js";
export type { BuiltInContentTypes } from "./content/types.js";
export {
  type WalletCall,
  type WalletCallMetadata,
  type WalletSendCalls,
  WalletSendCallsCodec,
  contentTypeWalletSendCalls,
  encodeWalletSendCalls,
  isWalletSendCalls,
} from "./content/wallet-send-calls.js";
export { Conversation } from "./conversation.js";
export { type ConversationStreamFilter, Conversations, type MessageStreamFilter } from "./conversations.js";
export {
  type Delivery,
  DeliveryRefused,
  type EnvelopeReceipt,
  type IncomingEnvelope,
  type OutgoingEnvelope,
  type TopicPosition,
} from "./delivery.js";
export { Dm } from "./dm.js";
export * from "./enums.js";
export {
  DovetailError,
  type DovetailErrorOptions,
  type ErrorCode,
  SignerUnavailableError,
  StreamFailedError,
  StreamInvalidRetryAttemptsError,
} from "./errors.js";
export type {
  ArchiveRestored,
  ClientEvent,
  ClientEventType,
  ConsentChanged,
  ConversationJoined,
  ConversationPaused,
  ConversationRemoved,
  EventStreamOptions,
  IdentityRegistered,
  Lagged,
  MembershipChanged,
  MessageDeleted,
  MessageExpired,
  MessageReceived,
  MessageStatusChanged,
  MetadataChanged,
  OwnInstallationAdded,
  OwnInstallationRevoked,
} from "./events.js";
export { Group } from "./group.js";
export { DecodedMessage } from "./message.js";
export { metadataFieldName } from "./permissions.js";
export { Preferences } from "./preferences.js";
export type { PullOptions } from "./pull.js";
export type { ConsumeOptions, ConsumeScope, MessageFilter, ReplayOptions } from "./readers.js";
export { type LocalSigner, createEOASigner } from "./signer.js";
export type { WasmSource } from "./source.js";
export {
  type AsyncStreamProxy,
  DEFAULT_RETRY_ATTEMPTS,
  DEFAULT_RETRY_DELAY,
  type StreamCallback,
  type StreamFunction,
  type StreamOptions,
  type StreamValueMutator,
  createStream,
} from "./streams.js";
export type {
  AddMembersResult,
  ArchiveMetadata,
  ArchiveOptions,
  ArchiveProgress,
  ClientOptions,
  Consent,
  ContentTypeId,
  ContentTypesFilter,
  ConversationDebugInfo,
  CreateGroupOptions,
  Cursor,
  DeliveryOptions,
  EncodedContent,
  FailedInstallation,
  GroupMember,
  GroupMetadata,
  GroupPermissions,
  Hold,
  Identifier,
  ImportArchiveOptions,
  InboxState,
  InspectedGroup,
  Inspection,
  Installation,
  KeyPackageStatus,
  ListConversationsOptions,
  ListMessagesOptions,
  MessageDisappearingSettings,
  PendingIntent,
  PermissionPolicySet,
  Rejection,
  SendMessageOpts,
  SendOpts,
  Signer,
  UserPreferenceUpdate,
} from "./types.js";
export { init } from "./wasm.js";
