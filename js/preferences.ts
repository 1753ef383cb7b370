// Decisions of the user about conversations and inboxes, and the state of inboxes.

import * as check from "./check.js";
import type { Core } from "./core.js";
import { ConsentEntityType, type ConsentState } from "./enums.js";
import { consentState } from "./options.js";
import { type AsyncStreamProxy, type StreamOptions, createStream } from "./streams.js";
import type { Consent, InboxState, UserPreferenceUpdate } from "./types.js";

const entityType = check.member<ConsentEntityType>(ConsentEntityType);

const inboxIds = check.list(check.string);

/** What the user decided about conversations and inboxes, and the state of inboxes. */
export class Preferences {
  #core: Core;

  /** @internal */
  constructor(core: Core) {
    this.#core = core;
  }

  /** The own inbox as far as it was read here; own changes show at once. */
  inboxState(): Promise<InboxState> {
    return this.#core.call((raw) => raw.ownState(false));
  }

  /** The own inbox, fetched. */
  fetchInboxState(): Promise<InboxState> {
    return this.#core.call((raw) => raw.ownState(true));
  }

  /** Inboxes as far as they were read here, in the order asked; one that was not is left out. */
  async getInboxStates(ids: string[]): Promise<InboxState[]> {
    const asked = inboxIds(ids, "inboxIds");
    return this.#core.call((raw) => raw.inboxStates(asked, false));
  }

  /** Inboxes, fetched, in the order asked; one that does not exist is left out. */
  async fetchInboxStates(ids: string[]): Promise<InboxState[]> {
    const asked = inboxIds(ids, "inboxIds");
    return this.#core.call((raw) => raw.inboxStates(asked, true));
  }

  /** Records decisions, each about exactly the entity it names. */
  async setConsentStates(records: Consent[]): Promise<void> {
    const decided = check.consents(records, "records", entityType, consentState);
    return this.#core.call((raw) => raw.setConsent(decided));
  }

  /**
   * What was decided about exactly this entity; unknown without a decision. A DM of several groups
   * goes by the newest decision about any of them: that is `consentState()` of the conversation.
   */
  async getConsentState(type: ConsentEntityType, entity: string): Promise<ConsentState> {
    const kind = entityType(type, "entityType");
    const name = check.string(entity, "entity");
    return this.#core.call((raw) => raw.consent(kind, name));
  }

  /**
   * Fetches what the inbox's other installations decided, and tells them what was decided here. Both
   * also happen in the background, and with `conversations.syncAll()`.
   */
  sync(): Promise<void> {
    return this.#core.call((raw) => raw.syncDevices());
  }

  /** Changes of consent from now on, made here or on another installation; one call is one array. */
  async streamConsent(options: StreamOptions<Consent[]> = {}): Promise<AsyncStreamProxy<Consent[]>> {
    return this.#stream(options, (records) => records);
  }

  /** The same as updates of preferences. */
  async streamPreferences(
    options: StreamOptions<UserPreferenceUpdate[]> = {},
  ): Promise<AsyncStreamProxy<UserPreferenceUpdate[]>> {
    return this.#stream(options, (records) => records.map((consent) => ({ type: "ConsentUpdate", consent })));
  }

  #stream<T>(options: StreamOptions<T>, make: (records: Consent[]) => T): Promise<AsyncStreamProxy<T>> {
    check.object(options, "options");
    const pick = this.#core.source(
      { of: "consent" },
      undefined,
      (event) => (event.type === "consent" ? make(event.records) : undefined),
    );
    return createStream<T>(pick, undefined, options);
  }
}
