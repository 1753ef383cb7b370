// The public package. Importing it runs nothing: wasm loads with the first client or `init()`.

export { BrowserDelivery, type BrowserDeliveryOptions } from "./browser-delivery.js";
export { type BuiltInContentTypes, Client, type ExtractCodecContentTypes, generateInboxId } from "./client.js";
export {
  CodecRegistry,
  type ContentCodec,
  contentTypeToString,
  contentTypesAreEqual,
} from "./content/codec.js";
export {
  type GroupUpdated,
  type Inbox,
  type MetadataFieldChange,
  contentTypeGroupUpdated,
  isGroupUpdated,
} from "./content/group-updated.js";
export { type LeaveRequest, contentTypeLeaveRequest, isLeaveRequest } from "./content/leave-request.js";
export { TextCodec, contentTypeText, encodeText, isText } from "./content/text.js";
export { Conversation } from "./conversation.js";
export { Conversations, type MessageStreamFilter } from "./conversations.js";
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
export { Group } from "./group.js";
export { DecodedMessage } from "./message.js";
export { metadataFieldName } from "./permissions.js";
export { Preferences } from "./preferences.js";
export { type LocalSigner, createEOASigner } from "./signer.js";
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
} from "./types.js";
export { type WasmSource, init, initArchives } from "./wasm.js";
