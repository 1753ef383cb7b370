// The conversations of a client: find, make, list, fetch and stream them.

import * as check from "./check.js";
import type { Core } from "./core.js";
import { Dm } from "./dm.js";
import { type ConsentState, ConversationType } from "./enums.js";
import { DovetailError } from "./errors.js";
import { Group } from "./group.js";
import { handleOf } from "./handle.js";
import { inboxesOf } from "./inboxes.js";
import { type DecodedMessage, isThere, readMessage } from "./message.js";
import { consentStates, conversationType, rawCreateGroup, rawListConversations, rawTypes } from "./options.js";
import type { RawConversation, RawMessage } from "./raw.js";
import type { RawFilter } from "./raw-readers.js";
import { type ConsumeOptions, type ReplayOptions, consume, replay } from "./readers.js";
import { type AsyncStreamProxy, type StreamOptions, createStream } from "./streams.js";
import type { ContentTypesFilter, CreateGroupOptions, Identifier, ListConversationsOptions } from "./types.js";

/** Which conversations a message stream covers. */
export interface MessageStreamFilter extends ContentTypesFilter {
  conversationType?: ConversationType;
  /** Only conversations in these states; empty: none. Default: allowed and unknown. */
  consentStates?: ConsentState[];
}

/** Which new conversations a stream brings. */
export interface ConversationStreamFilter {
  /** Further groups of a DM that is known too, each under its own id. */
  includeDuplicateDms?: boolean;
}

const ADDRESS = /^\s*0x[0-9a-f]{40}\s*$/i;

type Messages<C> = AsyncStreamProxy<DecodedMessage<C>>;
type MessageOptions<C> = StreamOptions<RawMessage, DecodedMessage<C>>;
type ConversationOptions<V> = StreamOptions<RawConversation, V> & ConversationStreamFilter;

/** The conversations of a client. */
export class Conversations<ContentTypes = unknown> {
  #core: Core;

  /** @internal */
  constructor(core: Core) {
    this.#core = core;
  }

  /** Topic on which this installation is added to conversations. */
  get topic(): string {
    return `/xmtp/mls/1/w-${this.#core.installationId}/proto`;
  }

  /** Fetches new conversations. */
  sync(): Promise<void> {
    return this.#core.call((raw) => raw.sync());
  }

  /**
   * Fetches new conversations, and what is new in all of them.
   *
   * @param states At least conversations in these states. Default: allowed and unknown.
   */
  async syncAll(states?: ConsentState[]): Promise<void> {
    const wanted = check.optional(states, "consentStates", consentStates);
    return this.#core.call((raw) => raw.syncAll(wanted));
  }

  /** The conversation with an id; for any group of a stitched DM, the DM. */
  async getConversationById(id: string): Promise<Dm<ContentTypes> | Group<ContentTypes> | undefined> {
    const wanted = check.string(id, "id");
    const view = await this.#core.call((raw) => raw.conversation(wanted));
    return view && handleOf<ContentTypes>(this.#core, view);
  }

  async getMessageById(id: string): Promise<DecodedMessage<ContentTypes> | undefined> {
    const wanted = check.string(id, "id");
    const message = await this.#core.call((raw) => raw.message(wanted));
    return message && readMessage<ContentTypes>(this.#core.codecs, message);
  }

  /** The DM with an inbox, if there is one. */
  async getDmByInboxId(inboxId: string): Promise<Dm<ContentTypes> | undefined> {
    const peer = check.string(inboxId, "inboxId");
    const view = await this.#core.call((raw) => raw.dmWith(peer));
    return view && new Dm<ContentTypes>(this.#core, view);
  }

  /** The DM with the inbox of an account, if there is one. */
  async fetchDmByIdentifier(identifier: Identifier): Promise<Dm<ContentTypes> | undefined> {
    const inboxId = await this.#inboxOf(identifier);
    return inboxId === undefined ? undefined : this.getDmByInboxId(inboxId);
  }

  /**
   * The DM with an inbox: the one there is, else a new one. Resolves when it is durable here,
   * online or not.
   */
  async createDm(inboxId: string): Promise<Dm<ContentTypes>> {
    const peer = check.string(inboxId, "inboxId");
    if (ADDRESS.test(peer)) {
      throw new DovetailError("input.id", "inboxId is an account's address: use createDmWithIdentifier");
    }
    return new Dm<ContentTypes>(this.#core, await this.#core.call((raw) => raw.createDm(peer)));
  }

  /** The DM with the inbox of an account; see {@link createDm}. */
  async createDmWithIdentifier(identifier: Identifier): Promise<Dm<ContentTypes>> {
    const inboxId = await this.#inboxOf(identifier);
    if (inboxId === undefined) {
      throw new DovetailError("dm.unknown_inbox", "no inbox has this account; its owner has to register first");
    }
    return this.createDm(inboxId);
  }

  /**
   * A new group with these inboxes and the own one. Resolves when it is durable here, online or
   * not; adding the members goes on in the background, and `publishMessages()` waits for it.
   * Inboxes that do not exist or have no usable device are left out.
   */
  async createGroup(inboxIds: string[], options?: CreateGroupOptions): Promise<Group<ContentTypes>> {
    const group = rawCreateGroup(inboxIds, options);
    return new Group<ContentTypes>(this.#core, await this.#core.call((raw) => raw.createGroup(group)));
  }

  /** A new group with the inboxes of accounts, which all have to exist; see {@link createGroup}. */
  async createGroupWithIdentifiers(
    identifiers: Identifier[],
    options?: CreateGroupOptions,
  ): Promise<Group<ContentTypes>> {
    rawCreateGroup([], options);
    return this.createGroup(await inboxesOf(this.#core, identifiers), options);
  }

  /** Conversations, the last active first. */
  async list(options?: ListConversationsOptions): Promise<(Dm<ContentTypes> | Group<ContentTypes>)[]> {
    const filter = rawListConversations(options);
    const views = await this.#core.call((raw) => raw.list(filter));
    return views.map((view) => handleOf<ContentTypes>(this.#core, view));
  }

  async listDms(options?: Omit<ListConversationsOptions, "conversationType">): Promise<Dm<ContentTypes>[]> {
    const all = await this.list({ ...options, conversationType: ConversationType.Dm });
    return all.filter((one) => one instanceof Dm);
  }

  async listGroups(options?: Omit<ListConversationsOptions, "conversationType">): Promise<Group<ContentTypes>[]> {
    const all = await this.list({ ...options, conversationType: ConversationType.Group });
    return all.filter((one) => one instanceof Group);
  }

  /**
   * New conversations from now on, of every consent state, and groups that were left or lost and are
   * back. A second group of a DM is no new one, unless duplicates are asked for.
   */
  stream(
    options: ConversationOptions<Dm<ContentTypes> | Group<ContentTypes>> & { conversationType?: ConversationType } = {},
  ): Promise<AsyncStreamProxy<Dm<ContentTypes> | Group<ContentTypes>>> {
    return this.#conversations(options, (view) => handleOf<ContentTypes>(this.#core, view));
  }

  streamDms(options: ConversationOptions<Dm<ContentTypes>> = {}): Promise<AsyncStreamProxy<Dm<ContentTypes>>> {
    const only = { ...options, conversationType: ConversationType.Dm };
    return this.#conversations(only, (view) => new Dm<ContentTypes>(this.#core, view));
  }

  streamGroups(options: ConversationOptions<Group<ContentTypes>> = {}): Promise<AsyncStreamProxy<Group<ContentTypes>>> {
    const only = { ...options, conversationType: ConversationType.Group };
    return this.#conversations(only, (view) => new Group<ContentTypes>(this.#core, view));
  }

  /**
   * Messages of all conversations from now on, own ones included. Without reactions and read
   * receipts, unless they are asked for by type.
   */
  async streamAllMessages(
    options: MessageOptions<ContentTypes> & MessageStreamFilter = {},
  ): Promise<Messages<ContentTypes>> {
    check.object(options, "options");
    const types = rawTypes({ ...options });
    const filter = check.present<Extract<RawFilter, { of: "messages" }>>({
      of: "messages",
      conversationId: undefined,
      conversationType: check.optional(options.conversationType, "conversationType", conversationType),
      consentStates: check.optional(options.consentStates, "consentStates", consentStates),
      contentTypes: types.contentTypes,
      alsoTypes: types.alsoTypes,
      excludeContentTypes: types.excludeContentTypes,
    });
    const source = this.#core.source(
      filter,
      options.disableSync ? undefined : (raw) => raw.syncAll(filter.consentStates),
      (event) => (event.type === "message" ? event.message : undefined),
    );
    return createStream(source, (message) => readMessage<ContentTypes>(this.#core.codecs, message), options, isThere);
  }

  /**
   * Messages that go, from now on, each once: those that are deleted, and those that disappear, as
   * they were.
   */
  async streamDeletedMessages(options: MessageOptions<ContentTypes> = {}): Promise<Messages<ContentTypes>> {
    return this.#deletions(options, (message) => readMessage<ContentTypes>(this.#core.codecs, message));
  }

  /** The ids of the same messages. */
  async streamMessageDeletions(options: StreamOptions<RawMessage, string> = {}): Promise<AsyncStreamProxy<string>> {
    return this.#deletions(options, (message) => message.id);
  }

  #deletions<V>(
    options: StreamOptions<RawMessage, V>,
    make: (message: RawMessage) => V | Promise<V>,
  ): Promise<AsyncStreamProxy<V>> {
    check.object(options, "options");
    const source = this.#core.source({ of: "deletions" }, undefined, (event) =>
      event.type === "deletion" ? event.message : undefined,
    );
    return createStream(source, make, options);
  }

  /**
   * The durable stream: every message that was published in any conversation, own ones included,
   * once and in the order they became deliverable here, whether or not a tab was open meanwhile. It
   * goes on behind the last one that was acknowledged, after a reload or a kill too; the very first
   * time it begins with the oldest message there is.
   *
   * A message is acknowledged when the next one is asked for, or when what `onValue` returned is
   * settled. Leaving a loop at a message does not acknowledge it, nor does a callback that fails,
   * which ends the stream; it then comes first the next time.
   *
   * One reader at a time has it, across tabs: meanwhile others reject with `stream.owned`. It is
   * free again once that one has ended, its client is closed or its page is gone. (Where pages have
   * no Web Locks, a new one takes it, and the one before fails with `stream.owned`.)
   */
  async consume(options: ConsumeOptions<DecodedMessage<ContentTypes>> = {}): Promise<Messages<ContentTypes>> {
    check.object(options, "options");
    return consume<ContentTypes>(this.#core, options);
  }

  /**
   * Messages that became deliverable here behind a message, in that order, and then what follows.
   * It leaves the durable stream alone; any number can read at once.
   *
   * @param cursor The `cursor` of a message of this database; undefined: from the oldest on. One of
   *   another database rejects with `stream.foreign_cursor`.
   */
  async replay(
    cursor?: string,
    options: ReplayOptions<DecodedMessage<ContentTypes>> = {},
  ): Promise<Messages<ContentTypes>> {
    check.object(options, "options");
    return replay<ContentTypes>(this.#core, cursor, options);
  }

  streamAllDmMessages(
    options: MessageOptions<ContentTypes> & Omit<MessageStreamFilter, "conversationType"> = {},
  ): Promise<Messages<ContentTypes>> {
    return this.streamAllMessages({ ...options, conversationType: ConversationType.Dm });
  }

  streamAllGroupMessages(
    options: MessageOptions<ContentTypes> & Omit<MessageStreamFilter, "conversationType"> = {},
  ): Promise<Messages<ContentTypes>> {
    return this.streamAllMessages({ ...options, conversationType: ConversationType.Group });
  }

  async #conversations<V>(
    options: ConversationOptions<V> & { conversationType?: ConversationType },
    make: (view: RawConversation) => V,
  ): Promise<AsyncStreamProxy<V>> {
    check.object(options, "options");
    const filter = check.present<Extract<RawFilter, { of: "conversations" }>>({
      of: "conversations",
      conversationType: check.optional(options.conversationType, "conversationType", conversationType),
      consentStates: undefined,
      includeDuplicateDms: check.optional(options.includeDuplicateDms, "includeDuplicateDms", check.boolean),
    });
    const source = this.#core.source(
      filter,
      options.disableSync ? undefined : (raw) => raw.sync(),
      (event) => (event.type === "conversation" ? event.conversation : undefined),
    );
    return createStream(source, make, options);
  }

  async #inboxOf(identifier: Identifier): Promise<string | undefined> {
    const account = check.identifier(identifier, "identifier");
    const [inboxId] = await this.#core.call((raw) => raw.findInboxes([account]));
    return inboxId;
  }
}
