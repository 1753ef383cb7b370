// What handles of DMs and groups have in common. A handle holds plain values, never wasm memory:
// keep it, drop it, as you like.

import * as check from "./check.js";
import { TextCodec } from "./content/text.js";
import type { Core } from "./core.js";
import { type ConsentState, MetadataField } from "./enums.js";
import { DovetailError } from "./errors.js";
import { DecodedMessage, toDate } from "./message.js";
import { consentState, rawListMessages, rawSend } from "./options.js";
import type { RawChange, RawConversation, RawMessage } from "./raw.js";
import { type AsyncStreamProxy, type StreamOptions, createStream } from "./streams.js";
import type {
  AddMembersResult,
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

const TEXT_CODEC = new TextCodec();

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
    return message && this.decoded(message);
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
    const encoded = check.encodedContent(content, "content");
    const sending = rawSend(options);
    return this.core.call((raw) => raw.send(this.id, encoded, sending));
  }

  /** Sends a text; see {@link send}. */
  async sendText(text: string, options?: SendOpts): Promise<string> {
    return this.send(TEXT_CODEC.encode(check.string(text, "text")), options);
  }

  /** Publishes now what waits to be published; rejects if that is not possible now. */
  publishMessages(): Promise<void> {
    return this.core.call((raw) => raw.publishMessages(this.id));
  }

  /** Messages, oldest first unless told otherwise; of a stitched DM those of all its groups. */
  async messages(options?: ListMessagesOptions): Promise<DecodedMessage<ContentTypes>[]> {
    const filter = rawListMessages(options);
    const messages = await this.core.call((raw) => raw.messages(this.id, filter));
    return messages.map((message) => this.decoded(message));
  }

  /** How many messages there are; in a DM without the changes of its members. */
  async countMessages(options?: Omit<ListMessagesOptions, "limit" | "direction">): Promise<bigint> {
    const filter = rawListMessages(options);
    return this.core.call((raw) => raw.countMessages(this.id, filter));
  }

  /** What the user decided about it. */
  async consentState(): Promise<ConsentState> {
    return (await this.current()).consentState;
  }

  /** Records a decision, in a stitched DM for all its groups. */
  async updateConsentState(state: ConsentState): Promise<void> {
    const decided = consentState(state, "state");
    return this.core.call((raw) => raw.setConversationConsent(this.id, decided));
  }

  /**
   * Messages from now on, own ones included, whatever the consent.
   *
   * @param options With `recent`, first so many of the newest messages there are, by delivery, then
   *   what follows them, without a gap and none twice; own ones come once they are published, and
   *   values go to `onValue` or to the loop, not to both.
   */
  async stream(
    options: StreamOptions<RawMessage, DecodedMessage<ContentTypes>> & { recent?: number } = {},
  ): Promise<AsyncStreamProxy<DecodedMessage<ContentTypes>>> {
    check.object(options, "options");
    const recent = check.optional(options.recent, "recent", check.count);
    if (recent !== undefined) {
      // Offline it opens all the same.
      if (!options.disableSync) await this.sync().catch(() => {});
      return this.core.pull((raw) => raw.replayRecent(this.id, recent), (message) => this.decoded(message), options);
    }
    const source = this.core.source(
      { of: "messages", conversationId: this.id },
      options.disableSync ? undefined : (raw) => raw.syncConversation(this.id),
      (event) => (event.type === "message" ? event.message : undefined),
    );
    return createStream(source, (message) => this.decoded(message), options);
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

  /** @internal */
  protected decoded(message: RawMessage): DecodedMessage<ContentTypes> {
    return new DecodedMessage<ContentTypes>(this.core.codecs, message);
  }
}
