// A message as an app reads it.

import { type CodecRegistry, type Decoded, UNNAMED, malformed } from "./content/codec.js";
import { Room, isPacked, unpack } from "./content/compression.js";
import { decodeGroupUpdated, isGroupUpdated } from "./content/group-updated.js";
import { type DeliveryStatus, GroupMessageKind } from "./enums.js";
import type { Reaction } from "./content/reaction.js";
import { isReply } from "./content/reply.js";
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
  /** The place behind it, for `conversations.replay`; absent while it is not published. */
  declare readonly cursor?: string;
  readonly contentType: ContentTypeId;
  /**
   * The latest of an edited message. Undefined when no codec knows the type, when the bytes are not
   * what the type says, and of a deleted message.
   */
  readonly content: ContentTypes | undefined;
  /** Why there is no content: `content.unknown_type`, `content.malformed` or `content.too_large`. */
  declare readonly contentError?: DovetailError;
  /** What to show instead, as the sender wrote it. */
  declare readonly fallback?: string;
  /** The content as it was sent, compressed if it was; of a deleted message empty. */
  readonly encodedContent: EncodedContent;
  /** When its sender edited it last. */
  declare readonly editedAt?: Date;
  declare readonly editedAtNs?: bigint;
  /** Who deleted it: its sender or a super admin. */
  declare readonly deletedByInboxId?: string;
  /**
   * Reactions to it, oldest first; one that is taken back is there twice, then with `Removed`. Of more
   * than 500 the newest 500; the others are in `messages({ contentTypes: [ContentType.Reaction] })`.
   */
  readonly reactions: DecodedMessage<Reaction>[];
  /** The message it answers; null unless it is a reply and that message is still there. */
  readonly inReplyTo: DecodedMessage<unknown> | null;

  /**
   * @param opened The content without compression, or why there is none. See {@link readMessage}.
   * @param hung Its reactions, then what it answers.
   * @internal
   */
  constructor(
    codecs: CodecRegistry,
    raw: RawMessage,
    opened: EncodedContent | DovetailError = raw.content,
    hung: DecodedMessage<unknown>[] = [],
  ) {
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
    if (raw.cursor !== undefined) this.cursor = raw.cursor;
    this.encodedContent = raw.content;
    this.contentType = raw.content.type ?? { ...UNNAMED };
    if (raw.content.fallback !== undefined) this.fallback = raw.content.fallback;
    if (raw.editedAtNs !== undefined) {
      this.editedAtNs = raw.editedAtNs;
      this.editedAt = toDate(raw.editedAtNs);
    }
    const reactions = raw.reactions?.length ?? 0;
    this.reactions = hung.slice(0, reactions) as DecodedMessage<Reaction>[];
    this.inReplyTo = hung[reactions] ?? null;
    if (raw.deletedByInboxId !== undefined) {
      this.deletedByInboxId = raw.deletedByInboxId;
      return;
    }
    const { content, error } = opened instanceof Error ? { error: opened } : this.#decode(codecs, opened);
    this.content = content as ContentTypes | undefined;
    if (isReply(this) && this.content) this.content.inReplyTo = this.inReplyTo;
    if (error) {
      this.contentError = error;
      console.warn(error.message);
    }
  }

  /** Whether it was deleted. It keeps its place, and its type. */
  get isDeleted(): boolean {
    return this.deletedByInboxId !== undefined;
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
  const { reactions = [], inReplyTo, content } = raw;
  const hung = [...reactions, ...(inReplyTo ? [inReplyTo] : [])].map((one) => readMessage<unknown>(codecs, one, room));
  const packed = isPacked(content) && codecs.codecFor(content.type ?? UNNAMED);
  const opened = packed ? unpack(content, room).catch(malformed) : content;
  const make = (opened: EncodedContent | DovetailError, hung: DecodedMessage<unknown>[]) =>
    new DecodedMessage<ContentTypes>(codecs, raw, opened, hung);
  const ready = (one: DecodedMessage<unknown> | Promise<unknown>) => one instanceof DecodedMessage;
  if (!(opened instanceof Promise) && hung.every(ready)) return make(opened, hung as DecodedMessage<unknown>[]);
  return Promise.all([opened, Promise.all(hung)]).then(([opened, hung]) => make(opened, hung));
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
  for (const raw of raws) {
    const read = readMessage<ContentTypes>(codecs, raw, room);
    messages.push(read instanceof Promise ? await read : read);
  }
  return messages;
}

/** Whether a message has not disappeared yet. @internal */
export const isThere = ({ expiresAtNs }: DecodedMessage<unknown>): boolean =>
  expiresAtNs === undefined || expiresAtNs > BigInt(Date.now()) * 1_000_000n;
