// One person at one device: a client with a database and a link to the log of its own, and what a pane shows of it.
//
// State changes only in `refresh`, which reads everything anew; streams say when. There is no polling.

import {
  BrowserDelivery,
  Client,
  ConsentEntityType,
  ConsentState,
  ContentType,
  DeliveryStatus,
  GroupMessageKind,
  ReactionAction,
  ReactionSchema,
  encodeText,
} from "/dist/index.js";
import { shortId } from "./format.js";
import { reactionsOf } from "./message.js";
import { archiveKeyOf, offline, openChat, signerOf } from "./wallet.js";

export const LOG_NAME = "dovetail-demo";
export const databaseOf = (key) => `dovetail-demo-${key}`;

const EVERY_STATE = [ConsentState.Unknown, ConsentState.Allowed, ConsentState.Denied];
const PAGE = 50;
/** What no other stream tells of: reactions, edits and deletions among them. */
const EVENTS = ["message.received", "message.status_changed", "message.deleted", "message.expired", "conversation.removed", "archive.restored"];

/** Fires `change` when there is something new to show, `arrival` for each message from others, `trouble` with an error. */
export class Person extends EventTarget {
  /** What the list shows: `{ id, peer, consent, last }`, newest first. */
  rows = [];
  /** The open conversation, or a draft without an `id`: nothing exists for it until the first message. */
  current;
  /** Of the open conversation, oldest first. */
  messages = [];
  hasEarlier = false;
  /** What the open conversation is made of. */
  inspection;
  /** What is decided about the inbox of the other side of the open conversation. */
  inboxConsent;
  /** What the conversation with the other person is made of. */
  sharedInspection;
  /** Ids of conversations with something not looked at. */
  unread = new Set();

  #limit = PAGE;
  #stale = false;
  #reading;

  /** `wallet`: the key of the person whose further device this is. */
  constructor(key, name, wallet = key) {
    super();
    this.key = key;
    this.name = name;
    this.wallet = wallet;
    this.delivery = new BrowserDelivery({ name: LOG_NAME });
    this.delivery.offline = offline.read(key);
  }

  async open() {
    this.client = await Client.create(signerOf(this.wallet), {
      dbPath: databaseOf(this.key),
      delivery: this.delivery,
    });
    const { conversations, preferences } = this.client;
    const [opened, events, messages, consent] = await Promise.all([
      conversations.stream(),
      this.client.streamEvents({ kinds: EVENTS }),
      conversations.streamAllMessages({ consentStates: EVERY_STATE }),
      preferences.streamConsent(),
    ]);
    this.#follow(opened);
    this.#follow(events);
    this.#follow(messages, (message) => this.#arrived(message));
    this.#follow(consent);
    const id = openChat.read(this.key);
    if (id) this.current = { id };
    await this.refresh();
  }

  /** How the pane is called. */
  get title() {
    return this.key === this.wallet ? this.name : `${this.name}’s second device`;
  }

  get online() {
    return !this.delivery.offline;
  }

  get inboxId() {
    return this.client.inboxId;
  }

  /** The row of the conversation with the other person of this page. */
  get shared() {
    return this.rows.find((row) => row.peer === this.other.inboxId);
  }

  /** The name of an inbox; undefined for one this page does not know. */
  nameOf(inboxId) {
    return [this, this.other].find((person) => person.client && person.inboxId === inboxId)?.name;
  }

  /** How an inbox is called in this person's pane. */
  callOf(inboxId) {
    if (inboxId === this.inboxId) return "You";
    return this.nameOf(inboxId) ?? shortId(inboxId);
  }

  /** Whether the open conversation can be written in. */
  get mayWrite() {
    return this.current !== undefined && this.current.consent !== ConsentState.Denied;
  }

  async setOnline(online) {
    offline.write(this.key, !online);
    await this.followSwitch();
  }

  /** Does what the network switch says, which is one for all tabs. */
  async followSwitch() {
    const online = !offline.read(this.key);
    this.delivery.offline = !online;
    this.#changed();
    if (online) await this.#sync(() => this.client.conversations.syncAll(EVERY_STATE));
    await this.refresh();
  }

  /** Exchanges decisions with the other devices of this person, and takes what came in meanwhile. */
  async syncDevices() {
    await this.#sync(async () => {
      await this.client.conversations.syncAll(EVERY_STATE);
      await this.client.preferences.sync();
    });
    await this.refresh();
  }

  /** Opens a conversation, or nothing. */
  async show(id) {
    this.#setCurrent(id === undefined ? undefined : { id });
    await this.refresh();
  }

  /** Opens the conversation with an inbox; without one, a draft. Creates nothing. */
  async showWith(peer) {
    const dm = await this.client.conversations.getDmByInboxId(peer);
    this.#setCurrent(dm ? { id: dm.id } : { peer });
    await this.refresh();
  }

  async showEarlier() {
    this.#limit += PAGE;
    await this.refresh();
  }

  /**
   * Sends in the open conversation; the first message of a draft makes it.
   * `about` makes it a reply to a message or an edit of it.
   */
  async send(text, about) {
    const asked = this.current;
    const handle = asked.id ? await this.#find(asked.id) : await this.client.conversations.createDm(asked.peer);
    if (about?.kind === "edit") await handle.editMessage(about.message.id, text);
    else if (about) await handle.sendReply({ ...referenceTo(about.message), content: await encodeText(text) });
    else await handle.sendText(text);
    // Unless something else was opened meanwhile.
    if (this.current === asked && !asked.id) this.#setCurrent({ id: handle.id });
    await this.refresh();
  }

  /** Sends to an inbox and opens the conversation. */
  async sendTo(peer, text) {
    const handle = await this.client.conversations.createDm(peer);
    await handle.sendText(text);
    await this.show(handle.id);
  }

  /** Puts an emoji to a message, or takes it back. */
  async react(message, emoji) {
    const handle = await this.#find(message.conversationId);
    const action = reactionsOf(message).get(emoji)?.has(this.inboxId) ? ReactionAction.Removed : ReactionAction.Added;
    await handle.sendReaction({ ...referenceTo(message), action, content: emoji, schema: ReactionSchema.Unicode });
    await this.refresh();
  }

  /** Deletes an own message for everybody. */
  async remove(message) {
    const handle = await this.#find(message.conversationId);
    await handle.deleteMessage(message.id);
    await this.refresh();
  }

  async decide(state) {
    const handle = await this.#find(this.current.id);
    await handle.updateConsentState(state);
    await this.refresh();
  }

  /** Everything that is stored here, sealed. */
  async createArchive() {
    return this.client.createArchive({}, await archiveKeyOf(this.wallet));
  }

  /** Restores what an archive of this person has; what is here already stays. Also what came before an error. */
  async importArchive(bytes, onProgress) {
    try {
      await this.client.importArchive(bytes, await archiveKeyOf(this.wallet), { onProgress });
    } finally {
      await this.refresh();
    }
  }

  async close() {
    await this.client?.close();
    await this.delivery.close();
  }

  /** Reads everything anew. Calls during a run share one further run. */
  refresh() {
    this.#stale = true;
    return (this.#reading ??= this.#run());
  }

  async #run() {
    try {
      while (this.#stale) {
        this.#stale = false;
        await this.#read();
        this.#changed();
      }
    } finally {
      this.#reading = undefined;
    }
  }

  async #read() {
    const { conversations } = this.client;
    const lists = await Promise.all(
      EVERY_STATE.map(async (consent) => {
        const handles = await conversations.list({ consentStates: [consent] });
        return Promise.all(handles.map((handle) => rowOf(handle, consent)));
      }),
    );
    this.rows = lists.flat();
    const wanted = this.current;
    // Any group of a conversation leads to the one it is listed under now.
    const handle = wanted?.id && (await conversations.getConversationById(wanted.id));
    const [messages, inspection, sharedInspection] = await Promise.all([
      handle ? this.#page(handle) : [],
      handle?.inspect(),
      this.shared?.handle.inspect(),
    ]);
    const peer = await handle?.peerInboxId();
    const inboxConsent = peer && (await this.client.preferences.getConsentState(ConsentEntityType.InboxId, peer));
    this.sharedInspection = sharedInspection;
    if (this.current !== wanted) return;
    this.inspection = inspection;
    this.inboxConsent = inboxConsent;
    this.hasEarlier = messages.length > this.#limit;
    this.messages = messages.slice(0, this.#limit).reverse();
    if (handle) this.current = { id: handle.id, peer, consent: await handle.consentState() };
    else if (wanted?.id) this.#setCurrent(undefined);
    if (handle) this.unread.delete(handle.id);
  }

  /** The handle of a conversation. */
  async #find(id) {
    const handle = await this.client.conversations.getConversationById(id);
    if (!handle) throw new Error("This conversation is gone. Open another one.");
    return handle;
  }

  #page(handle) {
    return handle.messages({
      direction: "descending",
      // One more tells whether there are earlier ones.
      limit: this.#limit + 1,
      excludeContentTypes: [ContentType.GroupUpdated],
    });
  }

  #setCurrent(current) {
    this.current = current;
    this.#limit = PAGE;
    openChat.write(this.key, current?.id);
  }

  /** Being offline is a state that shows, not an error to report. */
  async #sync(run) {
    if (!this.online) return;
    try {
      await run();
    } catch (error) {
      if (error.code !== "delivery.unavailable") throw error;
    }
  }

  async #follow(stream, onValue) {
    for await (const value of stream) {
      const shown = Promise.all([onValue?.(value), this.refresh()]);
      shown.catch((error) => this.dispatchEvent(new CustomEvent("trouble", { detail: error })));
    }
  }

  async #arrived(message) {
    if (message.deliveryStatus === DeliveryStatus.Unpublished) return this.#settle(message);
    if (message.senderInboxId === this.inboxId || message.kind === GroupMessageKind.MembershipChange) return;
    if (message.conversationId !== this.current?.id) this.unread.add(message.conversationId);
    this.dispatchEvent(new CustomEvent("arrival", { detail: message }));
  }

  /** An own message is told of once, when it is durable here: this waits until it has its place in the log. */
  async #settle(message) {
    const handle = await this.#find(message.conversationId);
    await this.#sync(() => handle.sync());
    await this.refresh();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

const referenceTo = (message) => ({ reference: message.id, referenceInboxId: message.senderInboxId });

async function rowOf(handle, consent) {
  const [peer, last] = await Promise.all([handle.peerInboxId(), handle.lastMessage()]);
  return { handle, id: handle.id, peer, consent, last };
}
