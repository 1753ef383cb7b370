// Text, the default content type.

import { fromUtf8, toUtf8 } from "../bytes.js";
import * as check from "../check.js";
import type { EncodedContent } from "../types.js";
import { StandardCodec, type Written, encoder, guard, typeOf } from "./standard.js";

/** Text in UTF-8. */
export class TextCodec extends StandardCodec<string> {
  constructor(typeId = "text") {
    super(typeId);
  }

  protected write(content: string): Written {
    return { content: toUtf8(check.string(content, "text")), parameters: { encoding: "UTF-8" } };
  }

  /** @throws if the encoding is another one or the bytes are no UTF-8. */
  decode({ content, parameters }: EncodedContent): string {
    const encoding = parameters["encoding"];
    if (encoding !== undefined && encoding !== "UTF-8") throw new Error(`unknown text encoding ${encoding}`);
    return fromUtf8(content);
  }
}

/** @internal */
export const TEXT = new TextCodec();

/** The content type of texts. */
export const contentTypeText = typeOf(TEXT);

/** A text as it is sent. */
export const encodeText = encoder(TEXT);

/** Whether a message is a text. */
export const isText = guard<string>("text");
