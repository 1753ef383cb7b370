// Intents: the answer chosen of actions.

import { toUtf8 } from "../bytes.js";
import * as check from "../check.js";
import { DovetailError } from "../errors.js";
import { COINBASE, JsonCodec, encoder, guard, may, must, typeOf } from "./standard.js";

/** A chosen answer. */
export interface Intent {
  /** The id of the question. */
  id: string;
  /** The id of the answer. */
  actionId: string;
  /** Anything that is JSON; at most 10,240 bytes of it. */
  metadata?: Record<string, unknown>;
}

const MOST_METADATA = 10_240;

/** Chosen answers. */
export class IntentCodec extends JsonCodec<Intent> {
  constructor() {
    super("intent", 1, COINBASE);
  }

  protected read(given: Record<string, unknown>): Intent {
    return check.present<Intent>({
      id: must(given, "id", check.string),
      actionId: may(given, "actionId", check.string) ?? must(given, "action_id", check.string),
      metadata: may(given, "metadata", check.object),
    });
  }

  protected override json(intent: Intent): unknown {
    if (toUtf8(JSON.stringify(intent.metadata) ?? "").length > MOST_METADATA) {
      throw new DovetailError("input.value", `metadata has more than ${MOST_METADATA} bytes as JSON`);
    }
    return intent;
  }

  override fallback({ actionId }: Intent): string {
    return `User selected action: ${actionId}`;
  }
}

/** @internal */
export const INTENT = new IntentCodec();

/** The content type of chosen answers. */
export const contentTypeIntent = typeOf(INTENT);

/** A chosen answer as it is sent. */
export const encodeIntent = encoder(INTENT);

/** Whether a message is a chosen answer. */
export const isIntent = guard<Intent>("intent", COINBASE);
