// Reactions: a sign that somebody puts to a message, or takes away again.

import { fromUtf8 } from "../bytes.js";
import * as check from "../check.js";
import { ReactionAction, ReactionSchema } from "../enums.js";
import type { EncodedContent } from "../types.js";
import { readFields, text, uint, writeFields } from "./protobuf.js";
import { StandardCodec, type Written, encoder, guard, may, must, typeOf } from "./standard.js";

/** A reaction. */
export interface Reaction {
  /** The id of the message it is about. */
  reference: string;
  /** Who sent that message; may be empty. */
  referenceInboxId: string;
  action: ReactionAction;
  /** For example an emoji. */
  content: string;
  /** What `content` is. */
  schema: ReactionSchema;
}

/** Reactions 2.0. Those of version 1, which are JSON, it reads too. */
export class ReactionCodec extends StandardCodec<Reaction> {
  constructor() {
    super("reaction", 2);
  }

  protected write(reaction: Reaction): Written {
    return {
      content: writeFields(
        [1, check.string(reaction.reference, "reference") || undefined],
        [2, check.optional(reaction.referenceInboxId, "referenceInboxId", check.string) || undefined],
        [3, check.member<ReactionAction>(ReactionAction)(reaction.action, "action") || undefined],
        [4, check.string(reaction.content, "content") || undefined],
        [5, check.member<ReactionSchema>(ReactionSchema)(reaction.schema, "schema") || undefined],
      ),
    };
  }

  decode({ type, content }: EncodedContent): Reaction {
    if (type?.versionMajor === 1) return fromJson(content);
    const fields = readFields(content);
    return {
      reference: text(fields, 1) ?? "",
      referenceInboxId: text(fields, 2) ?? "",
      action: known(ReactionAction, uint(fields, 3)),
      content: text(fields, 4) ?? "",
      schema: known(ReactionSchema, uint(fields, 5)),
    };
  }

  override fallback({ action, content }: Reaction): string {
    return action === ReactionAction.Removed
      ? `Removed "${content}" from an earlier message`
      : `Reacted with "${content}" to an earlier message`;
  }

  override shouldPush(): boolean {
    return false;
  }
}

/** A value of an enum; `Unknown` for what a later version may have. */
const known = (values: object, value: number | undefined): number =>
  value !== undefined && value in values ? value : 0;

function fromJson(content: Uint8Array): Reaction {
  const given = check.object(JSON.parse(fromUtf8(content)), "content");
  const [action, schema] = [must(given, "action", check.string), must(given, "schema", check.string)];
  return {
    reference: must(given, "reference", check.string),
    referenceInboxId: may(given, "referenceInboxId", check.string) ?? "",
    action: named(ReactionAction, action),
    content: must(given, "content", check.string),
    schema: named(ReactionSchema, schema),
  };
}

/** The value of an enum that is written as its name in lower case. */
function named(values: Record<string, string | number>, name: string): number {
  const value = values[name.charAt(0).toUpperCase() + name.slice(1)];
  return typeof value === "number" ? value : 0;
}

/** @internal */
export const REACTION = new ReactionCodec();

/** The content type of reactions. */
export const contentTypeReaction = typeOf(REACTION);

/** A reaction as it is sent. */
export const encodeReaction = encoder(REACTION);

/** Whether a message is a reaction. */
export const isReaction = guard<Reaction>("reaction");
