// What handles of DMs and groups have in common. A handle holds plain values, never wasm memory:
// keep it, drop it, as you like.

import * as check from "./check.js";
import { ACTIONS, type Actions } from "./content/actions.js";
import { ATTACHMENT, type Attachment } from "./content/attachment.js";
import { compressContent } from "./content/compression.js";
import { DELETE_MESSAGE } from "./content/delete-message.js";
import { EDIT_MESSAGE } from "./content/edit-message.js";
import { INTENT, type Intent } from "./content/intent.js";
import { MARKDOWN } from "./content/markdown.js";
import { MULTI_REMOTE_ATTACHMENT, type MultiRemoteAttachment } from "./content/multi-remote-attachment.js";
import { REACTION, type Reaction } from "./content/reaction.js";
import { READ_RECEIPT } from "./content/read-receipt.js";
import { REMOTE_ATTACHMENT, type RemoteAttachment } from "./content/remote-attachment.js";
import { REPLY, type Reply } from "./content/reply.js";
import type { StandardCodec } from "./content/standard.js";
import { TEXT } from "./content/text.js";
import { TRANSACTION_REFERENCE, type TransactionReference } from "./content/transaction-reference.js";
import { WALLET_SEND_CALLS, type WalletSendCalls } from "./content/wallet-send-calls.js";
import type { Core } from "./core.js";
import { type ConsentState, MetadataField } from "./enums.js";
import { DovetailError } from "./errors.js";
import { type DecodedMessage, isThere, readMessage, readMessages } from "./message.js";
import { consentState, rawListMessages, rawSend, rawTypes } from "./options.js";
import type { RawChange, RawConversation, RawMessage } from "./raw.js";
import { type AsyncStreamProxy, type StreamOptions, createStream } from "./streams.js";
import { toDate } from "./time.js";
import type {
  AddMembersResult,
  ContentTypesFilter,
  ConversationDebugInfo,
  EncodedContent,
  GroupMember,
  GroupMetadata,
  Hold,
  Inspection,
  ListMessagesOptions,
  MessageDisappearingSettings,
  SendMessageOpts,
  SendOpts,
} from "./types.js";

/** What DMs and groups have in common. */
export class Conversation<ContentTypes = unknown> {
  /** @internal */
  protected readonly core: Core;
  #view: RawConversation;

  /** @internal */
  constructor(core: Core, view: RawConversation) {
    this.core = core;
    this.#view = view;
  }

  /** The id it was listed under. Any id of a stitched DM leads to the same conversation. */
  get id(): string {
    return this.#view.id;
  }

  /** Topic of its messages, in the form push services know. */
  get topic(): string {
    return `/xmtp/mls/1/g-${this.#view.id}/proto`;
  }

  /** Who added the own inbox; the own inbox id in a conversation it created. */
  get addedByInboxId(): string {
    return this.#view.addedByInboxId;
  }

  get createdAtNs(): bigint {
    return this.#view.createdAtNs;
  }

  get createdAt(): Date {
    return toDate(this.#view.createdAtNs);
  }

  /** Kind and creator. */
  get metadata(): GroupMetadata {
    return { conversationType: this.#view.conversationType, creatorInboxId: this.#view.creatorInboxId };
  }

  /** The newest message; undefined without any. */
  async lastMessage(): Promise<DecodedMessage<ContentTypes> | undefined> {
    const message = await this.core.call((raw) => raw.lastMessage(this.id));
    return message && readMessage<ContentTypes>(this.core.codecs, message);
  }

  /** Whether the own inbox is a member and can send. */
  async isActive(): Promise<boolean> {
    return (await this.current()).state === "active";
  }

  /** The version of this package it waits for; undefined when it does not. */
  async pausedForVersion(): Promise<string | undefined> {
    return (await this.current()).pausedForVersion;
  }

  /** Why it waits; undefined when it does not. A send then rejects, with the same sentence. */
  async hold(): Promise<Hold | undefined> {
    return (await this.current()).hold;
  }

  /** When messages disappear; both 0 when they do not. */
  async messageDisappearingSettings(): Promise<MessageDisappearingSettings> {
    const { disappearFromNs, disappearInNs } = await this.current();
    return { fromNs: BigInt(disappearFromNs ?? 0), inNs: BigInt(disappearInNs ?? 0) };
  }

  async isMessageDisappearingEnabled(): Promise<boolean> {
    const { fromNs, inNs } = await this.messageDisappearingSettings();
    return fromNs > 0n && inNs > 0n;
  }

  /**
   * Lets messages disappear, at every member.
   *
   * @param fromNs Those sent from this time on, in nanoseconds since 1970.
   * @param inNs So many nanoseconds after they were sent.
   */
  async updateMessageDisappearingSettings(fromNs: bigint, inNs: bigint): Promise<void> {
    const [from, after] = [check.bigint(fromNs, "fromNs"), check.bigint(inNs, "inNs")];
    // The two are settings of their own, and each change is told as one.
    await this.change("setting", MetadataField.MessageExpirationFromNs, from);
    await this.change("setting", MetadataField.MessageExpirationInNs, after);
  }

  /** Messages disappear no more. */
  removeMessageDisappearingSettings(): Promise<void> {
    return this.updateMessageDisappearingSettings(0n, 0n);
  }

  /** Members with their installations. */
  members(): Promise<GroupMember[]> {
    return this.core.call((raw) => raw.members(this.id));
  }

  /** Fetches and applies what is new in this conversation. */
  sync(): Promise<void> {
    return this.core.call((raw) => raw.syncConversation(this.id));
  }

  /**
   * Sends content. Resolves with the message id once the message is durable here, online or not;
   * it is published as soon as that is possible. A first send allows the conversation.
   */
  async send(content: EncodedContent, options?: SendMessageOpts): Promise<string> {
    const { compression, ...sending } = rawSend(options);
    const encoded = check.encodedContent(content, "content");
    const sent = compression === undefined ? encoded : await compressContent(encoded, compression);
    return this.core.call((raw) => raw.send(this.id, sent, sending));
  }

  /** Sends a text; see {@link send}. */
  async sendText(text: string, options?: SendOpts): Promise<string> {
    return this.#send(TEXT, text, options);
  }

  async sendMarkdown(markdown: string, options?: SendOpts): Promise<string> {
    return this.#send(MARKDOWN, markdown, options);
  }

  /** Reacts to a message, or takes a reaction away again. */
  async sendReaction(reaction: Reaction, options?: SendOpts): Promise<string> {
    return this.#send(REACTION, reaction, options);
  }

  /** Tells the others that everything was read up to now. */
  async sendReadReceipt(options?: SendOpts): Promise<string> {
    return this.#send(READ_RECEIPT, {}, options);
  }

  /** Answers a message with content of any type. */
  async sendReply(reply: Reply, options?: SendOpts): Promise<string> {
    return this.#send(REPLY, reply, options);
  }

  /** Sends a small file; a larger one is encrypted, uploaded and sent as a remote attachment. */
  async sendAttachment(attachment: Attachment, options?: SendOpts): Promise<string> {
    return this.#send(ATTACHMENT, attachment, options);
  }

  /** Sends where a file lies that `encryptAttachment` encrypted. */
  async sendRemoteAttachment(attachment: RemoteAttachment, options?: SendOpts): Promise<string> {
    return this.#send(REMOTE_ATTACHMENT, attachment, options);
  }

  async sendMultiRemoteAttachment(attachments: MultiRemoteAttachment, options?: SendOpts): Promise<string> {
    return this.#send(MULTI_REMOTE_ATTACHMENT, attachments, options);
  }

  async sendTransactionReference(transaction: TransactionReference, options?: SendOpts): Promise<string> {
    return this.#send(TRANSACTION_REFERENCE, transaction, options);
  }

  async sendWalletSendCalls(calls: WalletSendCalls, options?: SendOpts): Promise<string> {
    return this.#send(WALLET_SEND_CALLS, calls, options);
  }

  async sendActions(actions: Actions, options?: SendOpts): Promise<string> {
    return this.#send(ACTIONS, actions, options);
  }

  async sendIntent(intent: Intent, options?: SendOpts): Promise<string> {
    return this.#send(INTENT, intent, options);
  }

  /**
   * Asks all members to show a message no more. Only its sender and super admins can.
   *
   * @returns The id of the deletion, a message of its own.
   */
  async deleteMessage(messageId: string): Promise<string> {
    await this.#mayChange(messageId, true);
    return this.#send(DELETE_MESSAGE, { messageId });
  }

  /**
   * Gives an own message new content.
   *
   * @param content A text, or content from an `encodeX` function or a codec.
   * @returns The id of the edit, a message of its own.
   */
  async editMessage(messageId: string, content: EncodedContent | string): Promise<string> {
    const editedContent = typeof content === "string" ? TEXT.encode(content) : content;
    await this.#mayChange(messageId, false);
    return this.#send(EDIT_MESSAGE, { messageId, editedContent });
  }

  /** Publishes now what waits to be published; rejects if that is not possible now. */
  publishMessages(): Promise<void> {
    return this.core.call((raw) => raw.publishMessages(this.id));
  }

  /** Messages, oldest first unless told otherwise; of a stitched DM those of all its groups. */
  async messages(options?: ListMessagesOptions): Promise<DecodedMessage<ContentTypes>[]> {
    const filter = rawListMessages(options);
    const messages = await this.core.call((raw) => raw.messages(this.id, filter));
    return readMessages<ContentTypes>(this.core.codecs, messages);
  }

  /** When each inbox last sent a read receipt, the own one included: inbox ids to nanoseconds. */
  async lastReadTimes(): Promise<Map<string, bigint>> {
    return new Map(await this.core.call((raw) => raw.lastReadTimes(this.id)));
  }

  /** How many messages there are; in a DM without the changes of its members. */
  async countMessages(options?: Omit<ListMessagesOptions, "limit" | "direction">): Promise<bigint> {
    const filter = rawListMessages(options);
    return this.core.call((raw) => raw.countMessages(this.id, filter));
  }

  /** What the user decided about it; in a stitched DM the newest decision about any of its groups. */
  async consentState(): Promise<ConsentState> {
    return (await this.current()).consentState;
  }

  /** Records a decision, in a stitched DM for all its groups. */
  async updateConsentState(state: ConsentState): Promise<void> {
    const decided = consentState(state, "state");
    return this.core.call((raw) => raw.setConversationConsent(this.id, decided));
  }

  /**
   * Messages from now on, own ones included, whatever the consent. Without reactions and read
   * receipts, unless they are asked for by type.
   *
   * @param options With `recent`, first so many of the newest messages there are, by delivery, then
   *   what follows them, without a gap and none twice; own ones come once they are published, and
   *   values go to `onValue` or to the loop, not to both.
   */
  async stream(
    options: StreamOptions<RawMessage, DecodedMessage<ContentTypes>> & ContentTypesFilter & { recent?: number } = {},
  ): Promise<AsyncStreamProxy<DecodedMessage<ContentTypes>>> {
    check.object(options, "options");
    const recent = check.optional(options.recent, "recent", check.count);
    if (recent !== undefined) {
      // Offline it opens all the same.
      if (!options.disableSync) await this.sync().catch(() => {});
      const read = (message: RawMessage) => readMessage<ContentTypes>(this.core.codecs, message);
      return this.core.pull((raw) => raw.replayRecent(this.id, recent), read, options);
    }
    const source = this.core.source(
      { of: "messages", conversationId: this.id, ...rawTypes({ ...options }) },
      options.disableSync ? undefined : (raw) => raw.syncConversation(this.id),
      (event) => (event.type === "message" ? event.message : undefined),
    );
    return createStream(source, (message) => readMessage<ContentTypes>(this.core.codecs, message), options, isThere);
  }

  /** State for people who look into a problem. */
  async debugInfo(): Promise<ConversationDebugInfo> {
    const { conversationId, groups } = await this.inspect();
    const group = groups.find(({ groupId }) => groupId === conversationId);
    if (!group) throw new DovetailError("bug.internal", "a conversation without its own group; please report it");
    return {
      epoch: group.epoch,
      epochAuthenticator: group.epochAuthenticator,
      held: group.hold,
      rejected: group.rejected,
      pendingIntents: group.pendingIntents,
      failedInstallations: group.failedInstallations,
      maybeForked: false,
      forkDetails: "",
      isCommitLogForked: undefined,
      localCommitLog: "",
      remoteCommitLog: "",
      cursor: [{ originatorId: 0, sequenceId: BigInt(group.sequenceId) }],
    };
  }

  /** The physical groups behind it. */
  inspect(): Promise<Inspection> {
    return this.core.call((raw) => raw.inspect(this.id));
  }

  /** @internal */
  protected async current(): Promise<RawConversation> {
    const view = await this.core.call((raw) => raw.conversation(this.id));
    if (view) return view;
    throw new DovetailError("conversation.not_found", `no conversation ${this.id} is stored`);
  }

  /** @internal */
  protected async change(...change: RawChange): Promise<AddMembersResult | undefined> {
    const result = await this.core.call((raw) => raw.changeGroup(this.id, ...change));
    // It is done, whatever comes of reading how things stand now.
    await this.current().catch(() => {});
    return result;
  }

  #send<Sent>(codec: StandardCodec<unknown, Sent>, content: Sent, options?: SendOpts): Promise<string> {
    return this.send(codec.encode(content), options);
  }

  /** Rejects unless the message is here and the own inbox may change it. */
  async #mayChange(messageId: string, asSuperAdmin: boolean): Promise<void> {
    const wanted = check.string(messageId, "messageId");
    const message = await this.core.call((raw) => raw.message(wanted));
    const { id, superAdmins } = await this.current();
    if (message?.conversationId !== id) {
      throw new DovetailError("message.not_found", `no message ${wanted} is stored in this conversation`);
    }
    const { inboxId } = this.core;
    if (message.senderInboxId === inboxId || (asSuperAdmin && superAdmins?.split(" ").includes(inboxId))) return;
    const others = asSuperAdmin ? " and super admins" : "";
    throw new DovetailError("group.permission_denied", `only its sender${others} can change a message so`);
  }
}
