// Replies: content of any type that answers a message.

import * as check from "../check.js";
import type { DecodedMessage } from "../message.js";
import type { ContentTypeId, EncodedContent } from "../types.js";
import { CodecRegistry, contentTypeToString, keyOf } from "./codec.js";
import { readContent, writeContent } from "./protobuf.js";
import { StandardCodec, type Written, encoder, guard, typeOf } from "./standard.js";
import { TEXT } from "./text.js";

/** A reply to send. */
export interface Reply {
  /** The id of the message it answers. */
  reference: string;
  /** Who sent that message. */
  referenceInboxId?: string;
  /** What it says, from an `encodeX` function or a codec. */
  content: EncodedContent;
}

/** A reply as it is read. */
export interface EnrichedReply<Content = unknown, InReplyTo = Content> {
  /** The id of the message it answers. */
  referenceId: string;
  /** Who sent that message, as the reply says. */
  referenceInboxId?: string;
  /** What it says; undefined when no codec knows its type or the codec fails. */
  content: Content | undefined;
  /** The same as it was sent, but not compressed. */
  encodedContent: EncodedContent;
  /** The type of what it says. */
  contentType(): Promise<ContentTypeId>;
  /** The message it answers; null when that is not stored here. */
  inReplyTo: DecodedMessage<InReplyTo> | null;
}

const ONLY_TEXT = new CodecRegistry([TEXT]);

/** Replies. A reply within a reply is not read. */
export class ReplyCodec extends StandardCodec<EnrichedReply, Reply> {
  constructor() {
    super("reply");
  }

  protected write(reply: Reply): Written {
    const content = check.encodedContent(reply.content, "content");
    const referenceInboxId = check.optional(reply.referenceInboxId, "referenceInboxId", check.string);
    return {
      content: writeContent(content),
      parameters: {
        reference: check.string(reply.reference, "reference"),
        contentType: contentTypeToString(content.type),
        ...(referenceInboxId !== undefined && { referenceInboxId }),
      },
    };
  }

  /** The type of the content within counts, not the one the parameter names. */
  decode({ content, parameters }: EncodedContent, codecs = ONLY_TEXT): EnrichedReply {
    const encodedContent = readContent(content);
    if (isReplyType(encodedContent.type)) throw new Error("a reply within a reply");
    const said = codecs.decode(encodedContent);
    if (said.error) console.warn(said.error.message);
    const referenceInboxId = parameters["referenceInboxId"];
    return {
      referenceId: parameters["reference"] ?? "",
      ...(referenceInboxId !== undefined && { referenceInboxId }),
      content: said.content,
      encodedContent,
      contentType: async () => ({ ...encodedContent.type }),
      inReplyTo: null,
    };
  }

  override fallback({ content }: Reply): string {
    const text = ONLY_TEXT.decode(content).content;
    return text === undefined ? "Replied to an earlier message" : `Replied with "${text}" to an earlier message`;
  }
}

/** @internal */
export const REPLY = new ReplyCodec();

/** @internal */
export const isReplyType = (type: ContentTypeId): boolean => keyOf(type) === keyOf(REPLY.contentType);

/** The content type of replies. */
export const contentTypeReply = typeOf(REPLY);

/** A reply as it is sent. */
export const encodeReply = encoder(REPLY);

/** Whether a message is a reply. */
export const isReply = guard<EnrichedReply>("reply");

/** Whether a message is a reply that says a text. */
export const isTextReply = (message: DecodedMessage<unknown>): message is DecodedMessage<EnrichedReply<string>> =>
  isReply(message) && typeof message.content?.content === "string";
