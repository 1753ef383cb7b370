// Codecs: what turns content into bytes and back, and how one is found.

import type { ContentTypeId, EncodedContent } from "../types.js";

/** Turns the content of one content type into bytes and back. */
export interface ContentCodec<ContentType = any> {
  /** The type it handles; messages of any minor version are given to it. */
  contentType: ContentTypeId;
  encode(content: ContentType): EncodedContent;
  decode(content: EncodedContent): ContentType;
  /** What apps that do not know the type show instead. */
  fallback(content: ContentType): string | undefined;
  /** Whether receivers are notified of a message with this content. */
  shouldPush(content: ContentType): boolean;
}

/** A content type as `authority/type:major.minor`. */
export function contentTypeToString(type: ContentTypeId): string {
  return `${type.authorityId}/${type.typeId}:${type.versionMajor}.${type.versionMinor}`;
}

/** Whether two content types are the same, versions included. */
export function contentTypesAreEqual(one: ContentTypeId, two: ContentTypeId): boolean {
  return contentTypeToString(one) === contentTypeToString(two);
}

/** Codecs by authority, type and major version: a minor version never breaks a reader. */
export class CodecRegistry {
  #codecs = new Map<string, ContentCodec>();

  /** Of two codecs for one type the later one is used. */
  constructor(codecs: readonly ContentCodec[]) {
    for (const codec of codecs) this.#codecs.set(keyOf(codec.contentType), codec);
  }

  /** The codec for a content type, if there is one. */
  codecFor(type: ContentTypeId): ContentCodec | undefined {
    return this.#codecs.get(keyOf(type));
  }
}

const keyOf = (type: ContentTypeId): string => `${type.authorityId}/${type.typeId}:${type.versionMajor}`;
