// Markdown: text with marks of its form.

import { encoder, guard, typeOf } from "./standard.js";
import { TextCodec } from "./text.js";

/** Markdown in UTF-8. */
export class MarkdownCodec extends TextCodec {
  constructor() {
    super("markdown");
  }
}

/** @internal */
export const MARKDOWN = new MarkdownCodec();

/** The content type of Markdown. */
export const contentTypeMarkdown = typeOf(MARKDOWN);

/** Markdown as it is sent. */
export const encodeMarkdown = encoder(MARKDOWN);

/** Whether a message is Markdown. */
export const isMarkdown = guard<string>("markdown");
