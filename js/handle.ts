// The handle that fits a conversation.

import type { Core } from "./core.js";
import { Dm } from "./dm.js";
import { ConversationType } from "./enums.js";
import { Group } from "./group.js";
import type { RawConversation } from "./raw.js";

/** @internal */
export function handleOf<C>(core: Core, view: RawConversation): Dm<C> | Group<C> {
  return view.conversationType === ConversationType.Dm ? new Dm<C>(core, view) : new Group<C>(core, view);
}
