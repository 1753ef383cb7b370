// Handles of DMs.

import { Conversation } from "./conversation.js";

/** A conversation of two inboxes. Groups that both sides made at once are one `Dm`. */
export class Dm<ContentTypes = unknown> extends Conversation<ContentTypes> {
  /** The other inbox; undefined for a restored DM of two other inboxes. */
  async peerInboxId(): Promise<string | undefined> {
    return (await this.current()).peerInboxId;
  }

  /** The groups of this DM besides the one of this handle; empty unless both sides created one. */
  async duplicateDms(): Promise<Dm<ContentTypes>[]> {
    const views = await this.core.call((raw) => raw.duplicateDms(this.id));
    return views.map((view) => new Dm<ContentTypes>(this.core, view));
  }
}
