// Codecs: what turns content into bytes and back, and how one is found.

import { DovetailError } from "../errors.js";
import type { ContentTypeId, EncodedContent } from "../types.js";

/** Turns the content of one content type into bytes and back. */
export interface ContentCodec<ContentType = any> {
  /** The type it handles; messages of any minor version are given to it. */
  contentType: ContentTypeId;
  encode(content: ContentType): EncodedContent;
  /**
   * @param content Never compressed.
   * @param codecs All codecs of the client, for content within the content.
   */
  decode(content: EncodedContent, codecs?: CodecRegistry): ContentType;
  /** What apps that do not know the type show instead. */
  fallback(content: ContentType): string | undefined;
  /** Whether receivers are notified of a message with this content. */
  shouldPush(content: ContentType): boolean;
}

/** What decoding gives: content or an error. */
export interface Decoded {
  content?: unknown;
  /** `content.unknown_type`, `content.malformed` or `content.too_large`. */
  error?: DovetailError;
}

/** The type of content that names none. @internal */
export const UNNAMED: Readonly<ContentTypeId> = { authorityId: "", typeId: "", versionMajor: 0, versionMinor: 0 };

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

  /** Decodes content with its codec. Never throws; what is wrong is the error. */
  decode(content: EncodedContent): Decoded {
    const type = content.type ?? UNNAMED;
    const codec = this.codecFor(type);
    if (!codec) {
      const message = `No codec found for content type "${contentTypeToString(type)}"`;
      return { error: new DovetailError("content.unknown_type", message) };
    }
    try {
      if (content.compression !== undefined) throw new Error("the content is compressed: decompress it first");
      return { content: codec.decode(content, this) };
    } catch (error) {
      return { error: malformed(error) };
    }
  }
}

/** The error for whatever a decoder threw. @internal */
export const malformed = (cause: unknown): DovetailError =>
  cause instanceof DovetailError && cause.code.startsWith("content.")
    ? cause
    : new DovetailError("content.malformed", `Error decoding custom content: ${textOf(cause)}`, { cause });

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What a codec is found by. @internal */
export const keyOf = (type: ContentTypeId): string => `${type.authorityId}/${type.typeId}:${type.versionMajor}`;
