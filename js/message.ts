// A message as an app reads it.

import { type CodecRegistry, contentTypeToString } from "./content/codec.js";
import { GROUP_UPDATED, decodeGroupUpdated } from "./content/group-updated.js";
import { LEAVE_REQUEST, decodeLeaveRequest } from "./content/leave-request.js";
import { TEXT, TextCodec } from "./content/text.js";
import { type DeliveryStatus, GroupMessageKind } from "./enums.js";
import type { RawMessage } from "./raw.js";
import type { ContentTypeId, EncodedContent } from "./types.js";

const TEXT_CODEC = new TextCodec();
const UNNAMED: ContentTypeId = { authorityId: "", typeId: "", versionMajor: 0, versionMinor: 0 };

/** Nanoseconds as a date, to the millisecond. @internal */
export const toDate = (ns: bigint): Date => new Date(Number(ns / 1_000_000n));

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
  /** Undefined when no codec knows the type or the bytes are not what the type says. */
  readonly content: ContentTypes | undefined;
  /** What to show instead, as the sender wrote it. */
  declare readonly fallback?: string;
  /** The content as it was sent. */
  readonly encodedContent: EncodedContent;

  /** @internal */
  constructor(codecs: CodecRegistry, raw: RawMessage) {
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
    this.content = decode(codecs, raw, this.contentType) as ContentTypes | undefined;
  }
}

const isOf = (type: ContentTypeId, known: Readonly<ContentTypeId>): boolean =>
  type.authorityId === known.authorityId && type.typeId === known.typeId && type.versionMajor === known.versionMajor;

function decode(codecs: CodecRegistry, raw: RawMessage, type: ContentTypeId): unknown {
  try {
    // A change counts by where it comes from: a member who sends one claims what did not happen.
    if (isOf(type, GROUP_UPDATED)) {
      return raw.kind === GroupMessageKind.MembershipChange ? decodeGroupUpdated(raw.content) : undefined;
    }
    if (isOf(type, TEXT)) return TEXT_CODEC.decode(raw.content);
    if (isOf(type, LEAVE_REQUEST)) return decodeLeaveRequest(raw.content);
    const codec = codecs.codecFor(type);
    if (codec) return codec.decode(raw.content);
    console.warn(`No codec found for content type "${contentTypeToString(type)}"`);
  } catch (error) {
    console.warn(`Error decoding custom content: ${error instanceof Error ? error.message : String(error)}`);
  }
  return undefined;
}
