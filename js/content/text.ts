// Text, the default content type.

import type { DecodedMessage } from "../message.js";
import type { ContentTypeId, EncodedContent } from "../types.js";
import type { ContentCodec } from "./codec.js";

/** @internal */
export const TEXT: Readonly<ContentTypeId> = Object.freeze({
  authorityId: "xmtp.org",
  typeId: "text",
  versionMajor: 1,
  versionMinor: 0,
});

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Text in UTF-8. */
export class TextCodec implements ContentCodec<string> {
  get contentType(): ContentTypeId {
    return { ...TEXT };
  }

  encode(content: string): EncodedContent {
    return { type: { ...TEXT }, parameters: { encoding: "UTF-8" }, content: new TextEncoder().encode(content) };
  }

  /** @throws if the encoding is another one or the bytes are no UTF-8. */
  decode(content: EncodedContent): string {
    const encoding = content.parameters["encoding"];
    if (encoding !== undefined && encoding !== "UTF-8") throw new Error(`unknown text encoding ${encoding}`);
    return UTF_8.decode(content.content);
  }

  fallback(): undefined {
    return undefined;
  }

  shouldPush(): boolean {
    return true;
  }
}

/** The content type of texts. */
export const contentTypeText = async (): Promise<ContentTypeId> => ({ ...TEXT });

/** A text as it is sent. */
export const encodeText = async (text: string): Promise<EncodedContent> => new TextCodec().encode(text);

/** Whether a message is a text. */
export const isText = (message: DecodedMessage<unknown>): message is DecodedMessage<string> =>
  message.contentType.typeId === TEXT.typeId;
