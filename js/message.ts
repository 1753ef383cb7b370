// A message as an app reads it.

import { type CodecRegistry, type Decoded, UNNAMED, malformed } from "./content/codec.js";
import { Room, isPacked, unpack } from "./content/compression.js";
import { decodeGroupUpdated, isGroupUpdated } from "./content/group-updated.js";
import { type DeliveryStatus, GroupMessageKind } from "./enums.js";
import type { DovetailError } from "./errors.js";
import type { RawMessage } from "./raw.js";
import { toDate } from "./time.js";
import type { ContentTypeId, EncodedContent } from "./types.js";

/** A message. */
export class DecodedMessage<ContentTypes = unknown> {
  /** Also known before the message is published, and the same at every reader. */
  readonly id: string;
  /** The conversation it is listed in. */
  readonly conversationId: string;
  /** The physical group it was sent in; differs where a DM has several. */
  readonly groupId: string;
  readonly senderInboxId: string;
  readonly senderInstallationId: string;
  /** Time of the delivery service; the local time until it is published. */
  readonly sentAt: Date;
  readonly sentAtNs: bigint;
  /** When it was first stored here. */
  readonly insertedAtNs: bigint;
  /** When it disappears, if it does. */
  declare readonly expiresAt?: Date;
  declare readonly expiresAtNs?: bigint;
  readonly kind: GroupMessageKind;
  readonly deliveryStatus: DeliveryStatus;
  /** Why it was given up: an error code. */
  declare readonly failure?: string;
  readonly contentType: ContentTypeId;
  /** Undefined when no codec knows the type or the bytes are not what the type says. */
  readonly content: ContentTypes | undefined;
  /** Why there is no content: `content.unknown_type`, `content.malformed` or `content.too_large`. */
  declare readonly contentError?: DovetailError;
  /** What to show instead, as the sender wrote it. */
  declare readonly fallback?: string;
  /** The content as it was sent, compressed if it was. */
  readonly encodedContent: EncodedContent;

  /**
   * @param opened The content without compression, or why there is none. See {@link readMessage}.
   * @internal
   */
  constructor(codecs: CodecRegistry, raw: RawMessage, opened: EncodedContent | DovetailError = raw.content) {
    this.id = raw.id;
    this.conversationId = raw.conversationId;
    this.groupId = raw.groupId;
    this.senderInboxId = raw.senderInboxId;
    this.senderInstallationId = raw.senderInstallationId;
    this.sentAtNs = raw.sentAtNs;
    this.sentAt = toDate(raw.sentAtNs);
    this.insertedAtNs = raw.insertedAtNs;
    if (raw.expiresAtNs !== undefined) {
      this.expiresAtNs = raw.expiresAtNs;
      this.expiresAt = toDate(raw.expiresAtNs);
    }
    this.kind = raw.kind;
    this.deliveryStatus = raw.deliveryStatus;
    if (raw.failure !== undefined) this.failure = raw.failure;
    this.encodedContent = raw.content;
    this.contentType = raw.content.type ?? { ...UNNAMED };
    if (raw.content.fallback !== undefined) this.fallback = raw.content.fallback;
    const { content, error } = opened instanceof Error ? { error: opened } : this.#decode(codecs, opened);
    this.content = content as ContentTypes | undefined;
    if (error) {
      this.contentError = error;
      console.warn(error.message);
    }
  }

  #decode(codecs: CodecRegistry, content: EncodedContent): Decoded {
    if (!isGroupUpdated(this)) return codecs.decode(content);
    try {
      // A change counts by where it comes from: a member who sends one claims what did not happen.
      if (this.kind === GroupMessageKind.MembershipChange) return { content: decodeGroupUpdated(content) };
      throw new Error("a change that a member claims");
    } catch (error) {
      return { error: malformed(error) };
    }
  }
}

/**
 * A message as an app reads it. Its content is decompressed first, so a promise only where it is
 * compressed and some codec knows it.
 *
 * @internal
 */
export function readMessage<ContentTypes>(
  codecs: CodecRegistry,
  raw: RawMessage,
  room = new Room(),
): DecodedMessage<ContentTypes> | Promise<DecodedMessage<ContentTypes>> {
  const make = (opened: EncodedContent | DovetailError) => new DecodedMessage<ContentTypes>(codecs, raw, opened);
  if (!isPacked(raw.content) || !codecs.codecFor(raw.content.type ?? UNNAMED)) return make(raw.content);
  return unpack(raw.content, room).catch(malformed).then(make);
}

/**
 * A list of messages. All together decompress to so much at most that no sender can fill the page's
 * memory.
 *
 * @internal
 */
export async function readMessages<ContentTypes>(
  codecs: CodecRegistry,
  raws: RawMessage[],
): Promise<DecodedMessage<ContentTypes>[]> {
  const room = new Room();
  const messages: DecodedMessage<ContentTypes>[] = [];
  for (const raw of raws) messages.push(await readMessage<ContentTypes>(codecs, raw, room));
  return messages;
}
