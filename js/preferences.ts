// Decisions of the user about conversations and inboxes.

import * as check from "./check.js";
import type { Core } from "./core.js";
import { ConsentEntityType, type ConsentState } from "./enums.js";
import { consentState } from "./options.js";
import { type AsyncStreamProxy, type StreamOptions, createStream } from "./streams.js";
import type { Consent } from "./types.js";

const entityType = check.member<ConsentEntityType>(ConsentEntityType);

/** What the user decided about conversations and inboxes. */
export class Preferences {
  #core: Core;

  /** @internal */
  constructor(core: Core) {
    this.#core = core;
  }

  /** Records decisions, each about exactly the entity it names. */
  async setConsentStates(records: Consent[]): Promise<void> {
    const decided = check.consents(records, "records", entityType, consentState);
    return this.#core.call((raw) => raw.setConsent(decided));
  }

  /** What was decided about an entity; unknown without a decision. */
  async getConsentState(type: ConsentEntityType, entity: string): Promise<ConsentState> {
    const kind = entityType(type, "entityType");
    const name = check.string(entity, "entity");
    return this.#core.call((raw) => raw.consent(kind, name));
  }

  /** Decisions from now on, those made here included; one call is one array. */
  async streamConsent(options: StreamOptions<Consent[]> = {}): Promise<AsyncStreamProxy<Consent[]>> {
    check.object(options, "options");
    const pick = this.#core.source(
      { of: "consent" },
      undefined,
      (event) => (event.type === "consent" ? event.records : undefined),
    );
    return createStream<Consent[]>(pick, undefined, options);
  }
}
