// What the codecs of standard content types have in common.

import { fromUtf8, toUtf8 } from "../bytes.js";
import * as check from "../check.js";
import { DovetailError } from "../errors.js";
import type { DecodedMessage } from "../message.js";
import type { ContentTypeId, EncodedContent } from "../types.js";
import type { CodecRegistry, ContentCodec } from "./codec.js";

/** The authority of most standard types. @internal */
export const XMTP = "xmtp.org";
/** The authority of actions and intents. @internal */
export const COINBASE = "coinbase.com";

/** What a codec writes of its own. */
export interface Written {
  content: Uint8Array;
  parameters?: Record<string, string>;
}

/** The codec of a standard type. `Sent` is what is encoded where that is not what is decoded. */
export abstract class StandardCodec<Content, Sent = Content> implements ContentCodec<any> {
  readonly #type: ContentTypeId;

  constructor(typeId: string, versionMajor = 1, authorityId = XMTP) {
    this.#type = { authorityId, typeId, versionMajor, versionMinor: 0 };
  }

  get contentType(): ContentTypeId {
    return { ...this.#type };
  }

  /** @throws DovetailError `input.value` if the content is not what the type demands. */
  encode(content: Sent): EncodedContent {
    try {
      const encoded: EncodedContent = { type: this.contentType, parameters: {}, ...this.write(content) };
      const fallback = this.fallback(content);
      if (fallback !== undefined) encoded.fallback = fallback;
      return encoded;
    } catch (cause) {
      if (cause instanceof DovetailError) throw cause;
      throw new DovetailError("input.value", `the content is none of its type: ${String(cause)}`, { cause });
    }
  }

  /** Checks content and writes it. */
  protected abstract write(content: Sent): Written;

  /** @throws if the bytes are not what the type says. */
  abstract decode(content: EncodedContent, codecs?: CodecRegistry): Content;

  fallback(_content: Sent): string | undefined {
    return undefined;
  }

  shouldPush(): boolean {
    return true;
  }
}

/** The codec of a standard type that is JSON. */
export abstract class JsonCodec<Content> extends StandardCodec<Content> {
  /** Checks what the JSON holds and takes what the type has. */
  protected abstract read(json: Record<string, unknown>): Content;

  /** The JSON of content. */
  protected json(content: Content): unknown {
    return content;
  }

  protected write(content: Content): Written {
    const json = check.object(this.json(content), "content");
    this.read(json);
    return { content: toUtf8(JSON.stringify(json)) };
  }

  decode({ content }: EncodedContent): Content {
    return this.read(check.object(JSON.parse(fromUtf8(content)), "content"));
  }
}

/** A member that has to be there. @internal */
export function must<T>(given: Record<string, unknown>, name: string, checked: Check<T>): T {
  if (given[name] === undefined) throw new DovetailError("input.value", `missing field \`${name}\``);
  return checked(given[name], name);
}

/** A member that may be absent or null. @internal */
export const may = <T>(given: Record<string, unknown>, name: string, checked: Check<T>): T | undefined =>
  check.optional(given[name] ?? undefined, name, checked);

type Check<T> = (value: unknown, name: string) => T;

/** The function that tells a codec's type. @internal */
export const typeOf = (codec: ContentCodec) => async (): Promise<ContentTypeId> => codec.contentType;

/** The function that encodes with a codec. @internal */
export const encoder =
  <Sent>(codec: StandardCodec<any, Sent>) =>
  async (content: Sent): Promise<EncodedContent> =>
    codec.encode(content);

/** Whether messages are of a type; any version of it. @internal */
export const guard =
  <Content>(typeId: string, authorityId = XMTP) =>
  (message: DecodedMessage<unknown>): message is DecodedMessage<Content> =>
    message.contentType.typeId === typeId && message.contentType.authorityId === authorityId;
