// Compressed content. What is read is decompressed by the browser, with a limit, before an app sees
// the message; what is sent is compressed only where the app asks for it.

import { concat } from "../bytes.js";
import * as check from "../check.js";
import { Compression } from "../enums.js";
import { DovetailError } from "../errors.js";
import type { EncodedContent } from "../types.js";
import { malformed } from "./codec.js";
import { readContent, writeContent } from "./protobuf.js";
import { isReplyType } from "./reply.js";

/** Bytes that content decompresses to at most: 16 MiB. */
const LIMIT = 16_777_216;
/** Bytes given to a decompressor at a time: what it makes of them is held before anyone can stop it. */
const PIECE = 8_192;

/** How many bytes may still be decompressed. @internal */
export class Room {
  left = 4 * LIMIT;
}

/**
 * Compresses content. Apps that cannot decompress show its fallback.
 *
 * @throws DovetailError `input.value` if it is compressed.
 */
export async function compressContent(
  content: EncodedContent,
  compression: Compression = Compression.Deflate,
): Promise<EncodedContent> {
  const { content: bytes, ...rest } = check.encodedContent(content, "content");
  const how = check.member<Compression>(Compression)(compression, "compression");
  if (rest.compression !== undefined) throw new DovetailError("input.value", "the content is compressed already");
  const format = how === Compression.Gzip ? "gzip" : "deflate";
  return { ...rest, content: await through(bytes, new CompressionStream(format), Infinity), compression: how };
}

/**
 * Decompresses content; what is not compressed stays as it is.
 *
 * @throws DovetailError `content.too_large` beyond 16 MiB; `content.malformed`.
 */
export async function decompressContent(content: EncodedContent): Promise<EncodedContent> {
  return open(content, new Room());
}

/** Whether content or, in a reply, the content within is compressed. @internal */
export const isPacked = (content: EncodedContent): boolean =>
  content.compression !== undefined || within(content)?.compression !== undefined;

/** Decompresses content and the content within. @throws as {@link decompressContent}. @internal */
export async function unpack(content: EncodedContent, room: Room): Promise<EncodedContent> {
  const opened = await open(content, room);
  const inner = within(opened);
  if (inner?.compression === undefined) return opened;
  return { ...opened, content: writeContent(await open(inner, room)) };
}

/** What a reply holds; undefined in other content, and where a codec is yet to say what is wrong. */
function within({ type, compression, content }: EncodedContent): EncodedContent | undefined {
  if (!type || compression !== undefined || !isReplyType(type)) return undefined;
  try {
    return readContent(content);
  } catch {
    return undefined;
  }
}

async function open({ compression, ...content }: EncodedContent, room: Room): Promise<EncodedContent> {
  if (compression === undefined) return content;
  const limit = Math.min(LIMIT, room.left);
  // Taken first and given back: what fails has cost as much as it could.
  room.left -= limit;
  const bytes = await inflate(content.content, compression, limit);
  room.left += limit - bytes.length;
  return { ...content, content: bytes };
}

async function inflate(bytes: Uint8Array, compression: number, limit: number): Promise<Uint8Array> {
  try {
    if (compression === Compression.Gzip) return await through(bytes, new DecompressionStream("gzip"), limit);
    if (compression !== Compression.Deflate) throw new Error(`unknown compression ${compression}`);
    return await through(bytes, new DecompressionStream("deflate"), limit).catch((error: unknown) => {
      if (error instanceof DovetailError) throw error;
      // Some apps send it without its frame.
      return through(bytes, new DecompressionStream("deflate-raw"), limit);
    });
  } catch (error) {
    throw malformed(error);
  }
}

/** What a stream makes of bytes, up to a limit. */
async function through(bytes: Uint8Array, stream: GenericTransformStream, limit: number): Promise<Uint8Array> {
  let at = 0;
  const pieces = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at >= bytes.length) controller.close();
        else controller.enqueue(bytes.subarray(at, (at += PIECE)));
      },
    },
    { highWaterMark: 0 },
  );
  const reader = pieces.pipeThrough<Uint8Array>(stream).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concat(parts);
    size += value.length;
    parts.push(value);
    if (size > limit) {
      await reader.cancel();
      throw new DovetailError("content.too_large", TOO_LARGE);
    }
  }
}

const TOO_LARGE = `the content decompresses to more than ${LIMIT} bytes, or too many messages do in one list: read it alone with getMessageById`;
